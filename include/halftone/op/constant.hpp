#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CONSTANT_HPP
#define HALFTONE_OP_CONSTANT_HPP

namespace halftone::op {

/// A tensor that the model gives. The importer makes it a constant of the graph: there are no nodes
/// of this operator.
///
/// y       shape and type of the attribute that the model has: `value`, `value_float`, `value_int`,
///         `value_floats` or `value_ints`
/// limits  no strings and no sparse tensors
/// source  ai.onnx Constant-13
struct Constant {
  static constexpr OpId id{"ai.onnx", "Constant", 1, 9, 11, 12, 13, 19, 21, 23, 24, 25};
  static constexpr Signature signature = "-> y";
  using types = TypeList<AllTypes>;

  static constexpr Inferred infer(const Inputs&) {
    return Inferred::mismatch("a constant is a tensor of the graph, not a node");
  }
};

}  // namespace halftone::op

#endif
