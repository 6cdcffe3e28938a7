#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ARITHMETIC_HPP
#define HALFTONE_OP_ARITHMETIC_HPP

#include <halftone/base/math.hpp>
#include <halftone/op/broadcast_by_attribute.hpp>

namespace halftone::detail {

/// Whether a number, or each number of a vector, may be a negative zero.
template <class X>
inline constexpr bool has_signed_zero = std::is_floating_point_v<X>;
template <class X>
  requires requires { X::is_float; }
inline constexpr bool has_signed_zero<X> = X::is_float;

}  // namespace halftone::detail

namespace halftone::op {

/// Sum, element by element: c = a + b.
///
/// a, b    any numbers, of shapes that broadcast together as numpy has it; c has the common shape
/// grad    da = dc, db = dc, each summed over the dimensions that were broadcast
/// limits  integers wrap
/// source  ai.onnx Add-7
struct Add {
  static constexpr OpId id{"ai.onnx", "Add", 7, 13, 14};
  static constexpr Signature signature = "a b -> c";
  static constexpr bool is_short = true;
  using types = TypeList<NumericTypes>;

  static constexpr auto forward(auto a, auto b) { return math::add(a, b); }
  static constexpr auto backward(auto dc, auto, auto) { return std::tuple(dc, dc); }
};

/// Difference, element by element: c = a - b.
///
/// a, b    any numbers, of shapes that broadcast together; c has the common shape
/// grad    da = dc, db = -dc
/// limits  integers wrap
/// source  ai.onnx Sub-7
struct Sub {
  static constexpr OpId id{"ai.onnx", "Sub", 7, 13, 14};
  static constexpr Signature signature = "a b -> c";
  static constexpr bool is_short = true;
  using types = TypeList<NumericTypes>;

  static constexpr auto forward(auto a, auto b) { return math::subtract(a, b); }
  static constexpr auto backward(auto dc, auto, auto) { return std::tuple(dc, -dc); }
};

/// Product, element by element: c = a * b.
///
/// a, b    any numbers, of shapes that broadcast together; c has the common shape
/// grad    da = dc * b, db = dc * a
/// limits  integers wrap
/// source  ai.onnx Mul-7
struct Mul {
  static constexpr OpId id{"ai.onnx", "Mul", 7, 13, 14};
  static constexpr Signature signature = "a b -> c";
  static constexpr bool is_short = true;
  using types = TypeList<NumericTypes>;

  static constexpr auto forward(auto a, auto b) { return math::multiply(a, b); }
  static constexpr auto backward(auto dc, auto a, auto b) { return std::tuple(dc * b, dc * a); }
};

/// Quotient, element by element: c = a / b.
///
/// a, b    any numbers, of shapes that broadcast together; c has the common shape
/// grad    da = dc / b, db = -dc * a / b^2
/// limits  integers round to zero, and by zero give 0
/// source  ai.onnx Div-7
struct Div {
  static constexpr OpId id{"ai.onnx", "Div", 7, 13, 14};
  static constexpr Signature signature = "a b -> c";
  static constexpr bool is_short = true;
  using types = TypeList<NumericTypes>;

  static constexpr auto forward(auto a, auto b) { return math::divide(a, b); }
  static constexpr auto backward(auto dc, auto a, auto b) {
    const auto da = dc / b;
    return std::tuple(da, -da * a / b);
  }
};

/// Remainder, element by element.
///
/// a, b    numbers of shapes that broadcast together; c has the common shape
/// fmod    0: c has the sign of b, as Python's %; 1: the sign of a, as C's fmod
/// grad    da = dc; nothing reaches b
/// limits  integers by zero give 0; fmod 0 gives a zero the sign of b, as Python does
/// source  ai.onnx Mod-28; before, floats need fmod = 1, but 0 works for them too
struct Mod {
  std::int64_t fmod = 0;

  static constexpr OpId id{"ai.onnx", "Mod", 10, 13, 28};
  static constexpr Signature signature = "a b -> c";
  using types = TypeList<NumericTypes>;

  constexpr void attributes(auto&& visit) { visit("fmod", fmod); }

  constexpr auto forward(auto a, auto b) const {
    const auto rest = math::fmod(a, b);
    const auto moved =
        math::select(rest < 0, math::select(b > 0, rest + b, rest),
                     math::select(b < 0, math::select(rest > 0, rest + b, rest), rest));
    if constexpr (halftone::detail::has_signed_zero<decltype(rest)>) {
      return math::select(fmod != 0, rest, math::select(rest == 0, math::copysign(rest, b), moved));
    } else {
      return math::select(fmod != 0, rest, moved);
    }
  }
  static constexpr auto backward(auto dc, auto, auto) { return std::tuple(dc, none); }
};

/// y = -x, element by element.
///
/// x, y    any shape, numbers with a sign
/// grad    dx = -dy
/// limits  the lowest integer stays as it is
/// source  ai.onnx Neg-6
struct Neg {
  static constexpr OpId id{"ai.onnx", "Neg", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;
  using types =
      TypeList<Joined<FloatTypes, TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t>>>;

  static constexpr auto forward(auto x) { return math::negate(x); }
  static constexpr auto backward(auto dy, auto) { return -dy; }
};

/// Larger of two, element by element; NaN if one is NaN.
///
/// a, b    numbers of shapes that broadcast together; y has the common shape
/// grad    dy to each operand that equals y: in full to both if they are equal, as PopART has it
/// limits  ONNX's Max of any number of tensors is recorded as a chain of these
/// source  ai.onnx Max-8
struct Max {
  static constexpr OpId id{"ai.onnx", "Max", 1, 6, 8, 12, 13};
  static constexpr Signature signature = "a b -> y";
  static constexpr bool is_short = true;
  using types = TypeList<NumericTypes>;

  static constexpr auto forward(auto a, auto b) { return math::max(a, b); }
  static constexpr auto backward(auto dy, auto a, auto b) {
    return std::tuple(select(a >= b, dy, 0), select(b >= a, dy, 0));
  }
  static constexpr AnyTensor expand(auto&, const auto& inputs, std::size_t);
};

/// Smaller of two, element by element; NaN if one is NaN.
///
/// a, b    numbers of shapes that broadcast together; y has the common shape
/// grad    dy to each operand that equals y: in full to both if they are equal, as PopART has it
/// limits  ONNX's Min of any number of tensors is recorded as a chain of these
/// source  ai.onnx Min-8
struct Min {
  static constexpr OpId id{"ai.onnx", "Min", 1, 6, 8, 12, 13};
  static constexpr Signature signature = "a b -> y";
  static constexpr bool is_short = true;
  using types = TypeList<NumericTypes>;

  static constexpr auto forward(auto a, auto b) { return math::min(a, b); }
  static constexpr auto backward(auto dy, auto a, auto b) {
    return std::tuple(select(a <= b, dy, 0), select(b <= a, dy, 0));
  }
  static constexpr AnyTensor expand(auto&, const auto& inputs, std::size_t);
};

/// Sum of any number of tensors that broadcast together, from the first to the last.
/// source  ai.onnx Sum-8
struct Sum {
  static constexpr OpId id{"ai.onnx", "Sum", 1, 6, 8, 13};
  static constexpr Signature signature = "inputs... -> y";
  static constexpr AnyTensor expand(auto&, const auto& inputs, std::size_t);
};

/// Mean of any number of tensors that broadcast together.
/// source  ai.onnx Mean-8
struct Mean {
  static constexpr OpId id{"ai.onnx", "Mean", 1, 6, 8, 13};
  static constexpr Signature signature = "inputs... -> y";
  static constexpr AnyTensor expand(auto&, const auto& inputs, std::size_t);
};

}  // namespace halftone::op

namespace halftone::detail {

constexpr auto chained(std::string_view name, const auto& inputs, auto f) {
  if (inputs.empty()) {
    fail(ErrorKind::model, {.what = "needs at least one input", .node = name});
  }
  auto y = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) y = f(y, inputs[i]);
  return y;
}

}  // namespace halftone::detail

namespace halftone::op {

constexpr AnyTensor Max::expand(auto&, const auto& inputs, std::size_t) {
  return detail::chained("Max", inputs, maximum);
}
constexpr AnyTensor Min::expand(auto&, const auto& inputs, std::size_t) {
  return detail::chained("Min", inputs, minimum);
}
constexpr AnyTensor Sum::expand(auto&, const auto& inputs, std::size_t) {
  return detail::chained("Sum", inputs, add);
}
constexpr AnyTensor Mean::expand(auto&, const auto& inputs, std::size_t) {
  const auto y = detail::chained("Mean", inputs, add);
  return div(y, static_cast<std::int64_t>(inputs.size()));
}

/// Add with the attributes `broadcast` and `axis`.
struct Add_1 : detail::BroadcastByAttribute<Add> {
  static constexpr OpId id{"ai.onnx", "Add", 1, 6};
};
/// Sub with the attributes `broadcast` and `axis`.
struct Sub_1 : detail::BroadcastByAttribute<Sub> {
  static constexpr OpId id{"ai.onnx", "Sub", 1, 6};
};
/// Mul with the attributes `broadcast` and `axis`.
struct Mul_1 : detail::BroadcastByAttribute<Mul> {
  static constexpr OpId id{"ai.onnx", "Mul", 1, 6};
};
/// Div with the attributes `broadcast` and `axis`.
struct Div_1 : detail::BroadcastByAttribute<Div> {
  static constexpr OpId id{"ai.onnx", "Div", 1, 6};
};

}  // namespace halftone::op

#endif
