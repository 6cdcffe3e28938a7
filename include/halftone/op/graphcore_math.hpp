#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_MATH_HPP
#define HALFTONE_OP_GRAPHCORE_MATH_HPP

#include <string_view>

#include <halftone/base/math.hpp>

namespace halftone {

/// The operators of BinaryConstScalar.
enum class BinaryOperator : std::uint8_t { add, subtract, multiply, divide, power };

namespace detail {
inline constexpr std::string_view binary_operator_names[] = {"Add", "Sub", "Mul", "Div", "Pow"};
}
constexpr std::span<const std::string_view> names_of(BinaryOperator) {
  return detail::binary_operator_names;
}

namespace op {

/// y = x * scale, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * scale
/// source  ai.graphcore Scale-1
struct Scale {
  float scale = 1;

  static constexpr OpId id{"ai.graphcore", "Scale", 1};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) { visit("scale", scale); }

  constexpr auto forward(auto x) const { return x * scale; }
  constexpr auto backward(auto dy, auto) const { return dy * scale; }
};

/// z = scale0 * x + scale1 * y, element by element.
///
/// x, y, z       one shape, floating point
/// a, b          one element each, to use as scale0 and scale1; a needs b
/// grad          dx = dz * scale0, dy = dz * scale1; of a and b the sums of dz * x and dz * y
/// limits        b with a scale0 other than 1 is refused, as PopART has it; a and b have the type
///               of x
/// source        ai.graphcore ScaledAdd-1
struct ScaledAdd {
  float scale0 = 1, scale1 = 1;

  static constexpr OpId id{"ai.graphcore", "ScaledAdd", 1};
  static constexpr Signature signature = "x y a? b? -> z";
  constexpr void attributes(auto&& visit) {
    visit("scale0", scale0);
    visit("scale1", scale1);
  }
  constexpr Inferred infer(const Inputs& in) const {
    TensorInfo z = in[0];
    if (in[1].rank() != z.rank()) {
      return Inferred::mismatch("the terms have different numbers of dimensions",
                                static_cast<std::int64_t>(z.rank()),
                                static_cast<std::int64_t>(in[1].rank()));
    }
    for (std::size_t i = 0; i < z.rank(); ++i) {
      const std::int64_t both = agree(z.shape[i], in[1].shape[i]);
      if (both == contradictory) {
        return Inferred::mismatch("the terms have different shapes", z.shape[i], in[1].shape[i]);
      }
      z.shape[i] = both;
    }
    for (std::size_t i = 2; i < 4; ++i) {
      if (!in.has(i)) continue;
      if (in[i].rank() > z.rank() || (in[i].elements() != dynamic && in[i].elements() != 1)) {
        return Inferred::mismatch("a scale is not a scalar", 1, in[i].elements());
      }
    }
    if (in.has(2) && !in.has(3)) return Inferred::mismatch("the second scale is missing");
    if (in.has(3) && scale0 != 1) {
      return Inferred::mismatch("scales are given both as inputs and as attributes");
    }
    return z;
  }
  template <class E>
  E absent(std::size_t) const {
    return static_cast<E>(1.f);
  }
  // A scale that is an input stands for the attribute, which is 1 then or has no say.
  constexpr auto forward(auto x, auto y, auto a, auto b) const {
    return x * (a * scale0) + y * (b * scale1);
  }
  constexpr void gradient(auto& g) const {
    const auto dy = g.dy(), a = g.x(2), b = g.x(3);
    if (g.needs(0)) g.dx(0) += a.is_absent() ? dy * scale0 : dy * a * scale0;
    if (g.needs(1)) g.dx(1) += b.is_absent() ? dy * scale1 : dy * b * scale1;
    if (g.needs(2)) g.dx(2) += dy * g.x(0) * scale0;
    if (g.needs(3)) g.dx(3) += dy * g.x(1) * scale1;
  }
};

/// y = e^x - 1, also accurate near 0.
///
/// x, y    any shape, floating point
/// grad    dx = dy * (y + 1)
/// source  ai.graphcore Expm1-1
struct Expm1 {
  static constexpr OpId id{"ai.graphcore", "Expm1", 1};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::expm1(x); }
  static constexpr auto backward(auto dy, auto x) { return dy * exp(x); }
};

/// y = log(1 + x), also accurate near 0.
///
/// x, y    any shape, floating point
/// grad    dx = dy / (1 + x)
/// limits  -1 gives -inf, less gives NaN
/// source  ai.graphcore Log1p-1
struct Log1p {
  static constexpr OpId id{"ai.graphcore", "Log1p", 1};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::log1p(x); }
  static constexpr auto backward(auto dy, auto x) { return dy / (1 + x); }
};

/// The angle of the point (x, y), in [-pi, pi].
///
/// y, x    floating point, of shapes that broadcast together; z has the common shape
/// grad    dy = dz * x / (x^2 + y^2), dx = -dz * y / (x^2 + y^2)
/// source  ai.graphcore Atan2-1
struct Atan2 {
  static constexpr OpId id{"ai.graphcore", "Atan2", 1};
  static constexpr Signature signature = "y x -> z";
  static constexpr auto forward(auto y, auto x) { return math::atan2(y, x); }
  static constexpr auto backward(auto dz, auto y, auto x) {
    const auto d = dz / (x * x + y * y);
    return std::tuple(d * x, -d * y);
  }
};

/// The nearest whole number, halves away from zero.
///
/// x, y    any shape, floating point
/// grad    0
/// source  ai.graphcore Round-1
struct GraphcoreRound {
  static constexpr OpId id{"ai.graphcore", "Round", 1};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) {
    // The fraction is exact; adding a half to x would not be, below 0.5 for example.
    const auto whole = math::trunc(x);
    return math::select(math::abs(x - whole) >= 0.5, whole + math::copysign(1.f, x), whole);
  }
  static constexpr auto backward(auto dy, auto) { return dy * 0; }
};

/// The nearest whole number, halves to the even one. source  ai.graphcore NearbyInt-1
struct NearbyInt {
  static constexpr OpId id{"ai.graphcore", "NearbyInt", 1};
  static constexpr Signature signature = "x -> y";
  constexpr auto expand(auto x) const { return round(x); }
};

/// Remainder with the sign of a, as C's fmod. source  ai.graphcore Fmod-1
struct Fmod {
  static constexpr OpId id{"ai.graphcore", "Fmod", 1};
  static constexpr Signature signature = "a b -> c";
  constexpr auto expand(auto a, auto b) const { return mod(a, b, {.fmod = 1}); }
};

/// Remainder with the sign of b. source  ai.graphcore Remainder-1
struct Remainder {
  static constexpr OpId id{"ai.graphcore", "Remainder", 1};
  static constexpr Signature signature = "a b -> c";
  constexpr auto expand(auto a, auto b) const { return mod(a, b); }
};

/// y = x^2, element by element. source  ai.graphcore Square-1
struct Square {
  static constexpr OpId id{"ai.graphcore", "Square", 1};
  static constexpr Signature signature = "x -> y";
  constexpr auto expand(auto x) const { return x * x; }
};

/// y = fmod(x + increment, modulus), element by element.
///
/// increment, modulus  become numbers of x's type first
/// source              ai.graphcore IncrementMod-1
struct IncrementMod {
  float increment = 0, modulus = 0;

  static constexpr OpId id{"ai.graphcore", "IncrementMod", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) {
    visit("increment", increment);
    visit("modulus", modulus);
  }
  constexpr auto expand(auto x) const { return mod(x + increment, modulus, {.fmod = 1}); }
};

/// y = x op value, or value op x, element by element.
///
/// value            becomes a number of x's type first
/// op               Add, Sub, Mul, Div or Pow
/// scalar_in_index  which operand the value is: 0 the first, 1 the second
/// source           ai.graphcore BinaryConstScalar-1
struct BinaryConstScalar {
  float value = 0;
  BinaryOperator op = BinaryOperator::add;
  std::int64_t scalar_in_index = 1;

  static constexpr OpId id{"ai.graphcore", "BinaryConstScalar", 1};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) {
    visit("value", value);
    visit("op", op);
    visit("scalar_in_index", scalar_in_index);
  }
  constexpr auto expand(auto x) const {
    if (scalar_in_index != 0 && scalar_in_index != 1) {
      fail(ErrorKind::model, {.what = "scalar_in_index is not 0 or 1"});
    }
    return scalar_in_index == 0 ? apply(value, x) : apply(x, value);
  }

 private:
  constexpr AnyTensor apply(const auto& a, const auto& b) const {
    switch (op) {
      case BinaryOperator::add:
        return a + b;
      case BinaryOperator::subtract:
        return a - b;
      case BinaryOperator::multiply:
        return a * b;
      case BinaryOperator::divide:
        return a / b;
      default:
        return pow(a, b);
    }
  }
};

}  // namespace op
}  // namespace halftone

#endif
