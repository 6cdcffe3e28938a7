#include <halftone/transform/gradient.hpp>

namespace halftone {
namespace detail {

template <class Op>
void library_gradient(std::span<const Word> attributes, GradientScope& g) {
  if constexpr (differentiable_op<Op>) record_gradient<Op>(attributes, g);
}

#define HALFTONE_INSTANTIATE(Struct, function) \
  template void library_gradient<op::Struct>(std::span<const Word>, GradientScope&);
#define HALFTONE_INSTANTIATE_OLD(Struct) HALFTONE_INSTANTIATE(Struct, )
HALFTONE_OPERATORS(HALFTONE_INSTANTIATE, HALFTONE_INSTANTIATE_OLD)
#undef HALFTONE_INSTANTIATE
#undef HALFTONE_INSTANTIATE_OLD

}  // namespace detail

}  // namespace halftone
