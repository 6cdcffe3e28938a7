#pragma once

#include <cstdint>

#include <halftone/kernel/math/basic.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

/// How bytes are made of numbers: not at all, as the operators do it, see Quantization::is_quick and
/// is_saturating.
enum class ToBytes { none, exactly, quickly, saturating };

/// How floats become bytes:
///
///     y = saturate(round(clamp(v) / scale) + zero)
///
/// with the roundings of the operators Clip and QuantizeLinear: the bytes are theirs. NaN becomes 0.
struct Quantization {
  float scale = 1, zero = 0;
  float lower = 0, upper = 0;
  bool clamp = false, is_signed = false;
  /// prepare() sets these. A quicker way to the same bytes needs the inverse of the scale and the
  /// limits that clamp and saturation have together, in front of the division. A quicker one yet
  /// corrects a quotient once, and leaves the limits to the instruction that makes bytes.
  bool is_quick = false, is_saturating = false;
  float inverse = 0, low = 0, high = 0;

  float lowest() const { return is_signed ? -128 : 0; }
  float largest() const { return is_signed ? 127 : 255; }
  ToBytes way() const {
    if (is_saturating) return ToBytes::saturating;
    return is_quick ? ToBytes::quickly : ToBytes::exactly;
  }

  /// `most` is above the magnitude of all numbers.
  void prepare(double most) {
    constexpr float limit = 0x1p60f;
    const auto bits = __builtin_bit_cast(std::uint32_t, scale);
    const auto whole = static_cast<float>(static_cast<std::int32_t>(zero));
    // The correction of quotients needs products that are not rounded, and reciprocals that are
    // rounded as those of all ones are not.
    is_quick = has_fma && scale > 1 / limit && scale < limit && (bits & 0x7fffff) != 0x7fffff &&
               zero == whole && zero >= -128 && zero <= 255 && most < 0x1p127;
    is_saturating = is_quick && has_saturation && most < 0x1p30 * double(scale) &&
                    (!clamp || (byte_of(lower) <= lowest() && byte_of(upper) >= largest())) &&
                    corrects_once();
    if (!is_quick) return;
    inverse = 1 / scale;
    low = (lowest() - zero) * scale;
    high = (largest() - zero) * scale;
    if (clamp) {
      low = lower > low ? lower : low;
      high = upper < high ? upper : high;
      if (low > high) low = high = lower > high ? high : low;
    }
  }

 private:
  /// The byte of a limit, before saturation.
  float byte_of(float limit) const { return __builtin_rintf(limit / scale) + zero; }
  /// Whether one correction of each quotient makes the right bytes: it leaves less than 2^-21 units of the
  /// last place, so that the quotient may be rounded to its other neighbour only from so near their
  /// middle. This asks for every number halfway between integers whether a float's quotient is that near
  /// to the middles beside it; the next floats are further away.
  bool corrects_once() const {
    const auto divisor = double(scale);
    const auto is_near = [&](double middle, double unit) {
      const double product = middle * divisor;  // 25 and 24 bits
      const double distance = double(float(product)) - product;
      return (distance < 0 ? -distance : distance) <= 0x1p-21 * unit * divisor;
    };
    // Below a half numbers are denser by one bit.
    int any = is_near(0.5 - 0x1p-26, 0x1p-25);
    any |= is_near(0.5 + 0x1p-25, 0x1p-24);
    double unit = 0x1p-23;
    for (int first = 1, last = 2; first < 384; first = last, last *= 2, unit *= 2) {
      for (int k = first; k < last; ++k) {
        const double half = k + 0.5;
        any |= is_near(half + unit / 2, unit);
        any |= is_near(half - unit / 2, unit);
      }
    }
    return any == 0;
  }
};

/// Makes N bytes at once, in the way of a quantization. Values in a loop stay in registers only where
/// nothing in it is called.
template <int N, ToBytes way>
class Quantizer {
 public:
  using V = Vec<float, N>;
  using Bytes = Vec<std::uint8_t, N>;

  HALFTONE_INLINE explicit Quantizer(const Quantization& how)
      : how_(&how),
        zero_(how.is_quick ? static_cast<std::int32_t>(how.zero) : 0),
        is_signed_(how.is_signed),
        low_(how.low),
        high_(how.high),
        divisor_(how.scale),
        inverse_(how.inverse) {}

  HALFTONE_INLINE Bytes operator()(V v) const {
    if constexpr (way == ToBytes::saturating) {
      return saturating(v);
    } else if constexpr (way == ToBytes::quickly) {
      return quickly(v);
    } else {
      return as_operators(v, *how_);
    }
  }

 private:
  /// The quotient of limited numbers as the division rounds it: Markstein's correction, twice. An
  /// addend whose unit is 1 rounds it and leaves the integer in the low bits.
  HALFTONE_INLINE Bytes quickly(V v) const {
    constexpr float whole = 0x1.8p23f;
    v = between(v, low_, high_);
    V q = v * inverse_;
    q = fma(fma(-q, divisor_, v), inverse_, q);
    q = fma(fma(-q, divisor_, v), inverse_, q);
    // GCC finds the instruction that keeps the low bytes only behind something else.
    return convert<std::uint8_t>(apart(bit_cast<std::int32_t>(q + V(whole)) + zero_));
  }
  /// Quotients are far from the limits of integers, and corrected once: see corrects_once().
  HALFTONE_INLINE Bytes saturating(V v) const {
    V q = v * inverse_;
    q = fma(fma(-q, divisor_, v), inverse_, q);
    return saturated_bytes(nearest(q) + zero_, is_signed_);
  }
  [[gnu::noinline]] static Bytes as_operators(V v, const Quantization& how) {
    if (how.clamp) v = between(v, how.lower, how.upper);
    v = round_even(v / V(how.scale)) + V(how.zero);
    // The instruction makes NaN the lowest integer, whose low byte is 0.
    v = between(v, how.lowest(), how.largest());
    return convert<std::uint8_t>(convert<std::int32_t>(v));
  }
  /// NaN stays NaN: the instructions give their second operand then.
  static HALFTONE_INLINE V between(V v, V low, V high) {
    return detail::lower<float>(high.v, detail::upper<float>(low.v, v.v));
  }

  const Quantization* how_;
  Vec<std::int32_t, N> zero_;
  bool is_signed_;
  V low_, high_, divisor_, inverse_;
};

/// Calls run.operator()<way>() for the way of a quantization.
void with_way(const Quantization& how, auto&& run) {
  switch (how.way()) {
    case ToBytes::saturating:
      if constexpr (has_saturation) return run.template operator()<ToBytes::saturating>();
      break;
    case ToBytes::quickly:
      return run.template operator()<ToBytes::quickly>();
    default:
      break;
  }
  run.template operator()<ToBytes::exactly>();
}

}  // namespace halftone::kernel
