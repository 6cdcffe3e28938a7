#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_IDENTITY_HPP
#define HALFTONE_OP_IDENTITY_HPP

namespace halftone::op {

/// The value itself, without a copy.
///
/// x       any type and shape
/// source  ai.onnx Identity-16
struct Identity {
  static constexpr OpId id{"ai.onnx", "Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25};
  static constexpr Signature signature = "x -> y@x";
  using types = TypeList<AnyTypes>;

  static constexpr Inferred infer(TensorInfo x) { return x; }
  static constexpr void gradient(auto& g) { g.dx(0) += g.dy(); }
};

}  // namespace halftone::op

#endif
