#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ML_SCALING_HPP
#define HALFTONE_OP_ML_SCALING_HPP

#include <halftone/op/ml_post_transform.hpp>

namespace halftone {

namespace op {
/// By what a Normalizer divides a row.
enum class Norm : std::uint8_t { largest, magnitude, length };
}  // namespace op

namespace detail {
inline constexpr std::string_view norm_names[] = {"MAX", "L1", "L2"};
}

namespace op {
constexpr std::span<const std::string_view> names_of(Norm) { return halftone::detail::norm_names; }

/// y = (x - offset) * scale; recorded as these operators.
///
/// x              [n, c] or [c], float, double, int32 or int64
/// y              float, of x's shape
/// offset, scale  [c] or [1] each; absent: 0 and 1
/// limits         double is subtracted in double; integers in float
/// source         ai.onnx.ml Scaler-1
struct Scaler {
  static constexpr OpId id{"ai.onnx.ml", "Scaler", 1};
  static constexpr Signature signature = "x offset=?:F scale=?:F -> y:F";
  using types = TypeList<TypeList<float, double, std::int64_t, std::int32_t>, TypeList<float>>;

  constexpr AnyTensor expand(tensor_handle auto given, tensor_handle auto offset,
                             tensor_handle auto scale) const {
    using halftone::detail::cast_to;
    const bool is_double = halftone::detail::known_type(given) == ElementType::float64;
    const ElementType type = is_double ? ElementType::float64 : ElementType::float32;
    if (!offset.is_absent() && !scale.is_absent() && offset.info() != scale.info()) {
      fail(ErrorKind::model, {.what = "offset and scale have different lengths",
                              .expected = std::to_string(offset.info().elements()),
                              .found = std::to_string(scale.info().elements())});
    }
    AnyTensor y = cast_to(type, given);
    if (!offset.is_absent()) y = sub(y, cast_to(type, offset));
    if (!scale.is_absent()) y = mul(y, cast_to(type, scale));
    return cast_to(ElementType::float32, y);
  }
};

/// Each row divided by its largest number, the sum of its magnitudes, or its length; recorded as
/// these operators.
///
/// x       [n, c] or [c], float, double, int32 or int64; computed in float
/// y       float, of x's shape
/// norm    which of the three
/// limits  rows whose norm is 0 stay as they are. The largest number is not the largest magnitude:
///         a row of negative ones changes its sign
/// source  ai.onnx.ml Normalizer-1
struct Normalizer {
  Norm norm = Norm::largest;

  static constexpr OpId id{"ai.onnx.ml", "Normalizer", 1};
  static constexpr Signature signature = "x -> y:F";
  using types = TypeList<TypeList<float, double, std::int64_t, std::int32_t>, TypeList<float>>;

  constexpr void attributes(auto&& visit) { visit("norm", norm); }
  constexpr AnyTensor expand(tensor_handle auto given) const {
    const auto x = halftone::detail::cast_to(ElementType::float32, given);
    const auto axis = constant(*x.graph, Dims{-1});
    const auto size = norm == Norm::largest     ? max(x, axis)
                      : norm == Norm::magnitude ? l1(x, axis)
                                                : l2(x, axis);
    return div(x, where(equal(size, 0.0f), 1.0f, size));
  }
};

/// 1 where x is larger than a number, else 0; recorded as these operators.
///
/// x, y       any shape, float, double, int32 or int64
/// threshold  the number
/// source     ai.onnx.ml Binarizer-1
struct Binarizer {
  float threshold = 0;

  static constexpr OpId id{"ai.onnx.ml", "Binarizer", 1};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<TypeList<float, double, std::int64_t, std::int32_t>>;

  constexpr void attributes(auto&& visit) { visit("threshold", threshold); }
  constexpr AnyTensor expand(tensor_handle auto x) const {
    const ElementType type = halftone::detail::known_type(x);
    // In double every float and every int32 is exact, and an int64 on the right side of a float.
    const auto y = halftone::detail::cast_to(ElementType::float64, x);
    return cast(greater(y, static_cast<double>(threshold)), {.to = type});
  }
};

/// Replaces a value that stands for a missing one; recorded as these operators.
///
/// x, y                   [n, c] or [c], float, double, int32 or int64
/// replaced_value_float   of floating-point x: what is replaced; NaN means every NaN
/// imputed_value_floats   by what: [c] or [1]
/// replaced_value_int64, imputed_value_int64s  of integers
/// source                 ai.onnx.ml Imputer-1
struct Imputer {
  float replaced_value_float = 0;
  std::int64_t replaced_value_int64 = 0;

  static constexpr OpId id{"ai.onnx.ml", "Imputer", 1};
  static constexpr Signature signature = "x imputed_value_floats=?:F imputed_value_int64s=?:I -> y";
  using types = TypeList<TypeList<float, double, std::int64_t, std::int32_t>, TypeList<float>,
                         TypeList<std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("replaced_value_float", replaced_value_float);
    visit("replaced_value_int64", replaced_value_int64);
  }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto floats,
                             tensor_handle auto integers) const {
    const ElementType type = halftone::detail::known_type(x);
    const bool is_real = is_floating_point(type);
    const AnyTensor& values = is_real ? floats : integers;
    if (values.is_absent()) {
      fail(ErrorKind::model, {.what = is_real ? "attribute 'imputed_value_floats' is missing"
                                              : "attribute 'imputed_value_int64s' is missing"});
    }
    const bool is_nan = is_real && replaced_value_float != replaced_value_float;
    const AnyTensor is_missing = is_nan    ? isnan(x)
                                 : is_real ? equal(x, replaced_value_float)
                                           : equal(x, replaced_value_int64);
    return where(is_missing, halftone::detail::cast_to(type, values), x);
  }
};

}  // namespace op
}  // namespace halftone

#endif
