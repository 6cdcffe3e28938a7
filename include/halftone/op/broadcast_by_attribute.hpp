#pragma once

#include <halftone/graph/model.hpp>

// Included by headers of operators, so not including their list.
namespace halftone {

namespace op {
struct Reshape;
}

namespace detail {

/// Operators before opset 7: with `broadcast`, b's dimensions are those of a from `axis` on, or the
/// last ones. Shapes that numpy's rule allows pass without it, as in PopART.
template <class New>
struct BroadcastByAttribute {
  Optional<std::int64_t> axis{};
  std::int64_t broadcast = 0;
  Dims consumed_inputs{};  ///< an old hint about memory, without effect

  static constexpr Signature signature = New::signature;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("broadcast", broadcast);
    visit("consumed_inputs", consumed_inputs);
  }
  constexpr AnyTensor expand(auto a, auto b) const {
    constexpr OpFunction<New> newer{};
    if (broadcast == 0 || !axis) return newer(a, b);
    const std::size_t rank = a.info().rank(), own = b.info().rank();
    const std::size_t first = normalized_axis(*axis, rank);
    if (!a.info().is_known() || !b.info().is_known() || (own != 0 && first + own > rank)) {
      fail(ErrorKind::model, {.what = "axis does not fit the shapes of a and b",
                              .node = New::id.name,
                              .tensor = b.name()});
    }
    if (own == 0 || first + own == rank) return newer(a, b);
    Dims shape = Dims::filled(own, 0);  // 0: as it is
    while (shape.size() + first < rank) shape.push_back(1);
    return newer(a, OpFunction<op::Reshape>{}(b, constant(*b.graph, shape)));
  }
};

}  // namespace detail

}  // namespace halftone
