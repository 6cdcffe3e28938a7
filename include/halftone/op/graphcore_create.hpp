#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_CREATE_HPP
#define HALFTONE_OP_GRAPHCORE_CREATE_HPP

namespace halftone::op {

/// A new tensor of zeros.
///
/// shape        its extents
/// data_type    number of the element type in PopART's own order: uint8, int8, float8 with 3 bits,
///              float8 with 2 bits, uint16, int16, int32, int64, uint32, uint64, bool, float,
///              float16
/// init_type    0: the elements may be anything, 1: zeros; here zeros always
/// tensor_type  as what PopART counts it, without effect, as batch_axis
/// source       ai.graphcore Init-1
struct Init {
  Dims shape{};
  std::int64_t data_type = 11, init_type = 0, tensor_type = 0, batch_axis = -1;

  static constexpr OpId id{"ai.graphcore", "Init", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "-> y";

  constexpr void attributes(auto&& visit) {
    visit("shape", shape);
    visit("data_type", data_type);
    visit("init_type", init_type);
    visit("tensor_type", tensor_type);
    visit("batch_axis", batch_axis);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto&, std::size_t) const {
    constexpr ElementType types[] = {
        ElementType::uint8,           ElementType::int8,    ElementType::float8_e4m3fnuz,
        ElementType::float8_e5m2fnuz, ElementType::uint16,  ElementType::int16,
        ElementType::int32,           ElementType::int64,   ElementType::uint32,
        ElementType::uint64,          ElementType::boolean, ElementType::float32,
        ElementType::float16};
    if (data_type < 0 || data_type >= static_cast<std::int64_t>(std::size(types))) {
      fail(ErrorKind::model, {.what = "data_type is out of range"});
    }
    if (init_type != 0 && init_type != 1) {
      fail(ErrorKind::model, {.what = "init_type is not 0 or 1"});
    }
    return {constant_of_shape(constant(graph, shape), {.value_type = types[data_type]})};
  }
};

/// A new tensor of zeros. source  ai.graphcore Zeros-1
struct Zeros {
  Dims shape{};
  ElementType dtype = ElementType::float32;

  static constexpr OpId id{"ai.graphcore", "Zeros", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "-> y";

  constexpr void attributes(auto&& visit) {
    visit("shape", shape);
    visit("dtype", dtype);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto&, std::size_t) const {
    return {constant_of_shape(constant(graph, shape), {.value_type = dtype})};
  }
};

/// Zeros in the shape and type of x. source  ai.graphcore ZerosLike-1
struct ZerosLike {
  static constexpr OpId id{"ai.graphcore", "ZerosLike", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x -> y";

  constexpr AnyTensor expand(auto x) const {
    if (x.info().type == ElementType::undefined) {
      fail(ErrorKind::unsupported, {.what = "the element type of the input is not known"});
    }
    return constant_of_shape(shape_of(x), {.value_type = x.info().type});
  }
};

}  // namespace halftone::op

#endif
