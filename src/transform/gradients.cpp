#include <halftone/graph/gradient.hpp>
#include <halftone/op/list.hpp>

namespace halftone {
namespace {

using Gradient = void (*)(std::span<const Word> attributes, GradientScope& g);

template <class Op>
constexpr Gradient gradient_of() {
  if constexpr (detail::differentiable_op<Op>) {
    return &detail::gradient_thunk<Op>;
  } else {
    return nullptr;
  }
}

template <class... Op>
constexpr std::array<Gradient, sizeof...(Op)> gradients_of(Registry<Op...>) {
  return {gradient_of<Op>()...};
}

}  // namespace

bool record_gradient(const Descriptor& op, std::span<const Word> attributes, GradientScope& g) {
  static constexpr auto gradients = gradients_of(builtin{});
  const Gradient gradient =
      op.builtin < 0 ? op.gradient : gradients[static_cast<std::size_t>(op.builtin)];
  if (gradient == nullptr) return false;
  gradient(attributes, g);
  return true;
}

}  // namespace halftone
