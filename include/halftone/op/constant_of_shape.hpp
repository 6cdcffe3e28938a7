#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CONSTANT_OF_SHAPE_HPP
#define HALFTONE_OP_CONSTANT_OF_SHAPE_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// A tensor of one value everywhere.
///
/// shape   the extents of y, not negative
/// value   ONNX's attribute, a tensor of one element: its type and its little-endian bits, those
///         above the element's size zero; a float 0 unless given
/// limits  while shape is not known, neither are y's extents
/// source  ai.onnx ConstantOfShape-9
struct ConstantOfShape {
  ElementType value_type = ElementType::float32;
  std::int64_t value_bits = 0;

  static constexpr OpId id{"ai.onnx", "ConstantOfShape", 9, 20, 21, 23, 24, 25};
  static constexpr Signature signature = "shape:I -> y:T";
  using types = TypeList<TypeList<std::int64_t>, BitTypes>;

  constexpr void attributes(auto&& visit) {
    visit("value_type", value_type);
    visit("value_bits", value_bits);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const int size = size_in_bytes(value_type);
    if (size == 0 || size > 8 || has_objects(value_type)) {
      return Inferred::types("element type is not offered", ElementType::undefined, value_type);
    }
    if (in[0].rank() != 1) {
      return Inferred::mismatch("the shape is not a vector", 1,
                                static_cast<std::int64_t>(in[0].rank()));
    }
    const std::int64_t rank = in[0].shape[0];
    if (rank > static_cast<std::int64_t>(max_rank)) {
      return Inferred::mismatch("too many dimensions", max_rank, rank);
    }
    if (!in.is_constant(0)) {
      if (rank == dynamic) return Inferred::unknown();
      return TensorInfo{value_type, Dims::filled(static_cast<std::size_t>(rank), dynamic)};
    }
    TensorInfo y{value_type, {}};
    for (const std::int64_t extent : in.integers(0)) {
      if (extent < 0) return Inferred::mismatch("an extent is negative", 0, extent);
      y.shape.push_back(extent);
    }
    return y;
  }
  template <class I, class T>
  void kernel(const KernelCall& call, View<const I>, View<T> y) const {
    kernel::fill<T>(*call.executor, static_cast<T>(value_bits), y.data, y.size());
  }
};

}  // namespace halftone::op

#endif
