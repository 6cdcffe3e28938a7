#pragma once

#include <cstdint>

#include <halftone/base/view.hpp>
#include <halftone/kernel/math/basic.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

/// How the sums of an exact product become bytes:
///
///     y = saturate(round(clamp((sum + addend) * scale + bias) / y_scale) + y_zero)
///
/// with the roundings of the operators Add, Cast, Mul, Add, Clip and QuantizeLinear: the bytes are
/// theirs. NaN becomes 0.
struct Requantize {
  /// Numbers of the output's rows or of its columns, one for each or one for all; null: none.
  template <class T>
  struct Numbers {
    const T* data = nullptr;
    std::int64_t count = 0, stride = 0;

    Numbers() = default;
    Numbers(View<const T> numbers)
        : data(numbers.data), count(numbers.size()), stride(count == 1 ? 0 : 1) {}
    /// All of them, where `otherwise` stands for missing ones.
    const T* begin(const T& otherwise) const { return data == nullptr ? &otherwise : data; }
    /// Those of n <= N rows or columns that follow each other.
    template <int N>
    HALFTONE_INLINE Vec<T, N> at(std::int64_t first, std::int64_t n, T otherwise) const {
      using V = Vec<T, N>;
      if (data == nullptr || stride == 0) return V(*begin(otherwise));
      return n == N ? V::load(data + first) : V::load_partial(data + first, n);
    }
    /// The largest magnitude of floats; 0 without numbers, above all finite ones if one is NaN.
    float most() const {
      using V = Vec<std::int32_t>;
      constexpr std::int32_t magnitude = 0x7fffffff;
      V most(0);
      for (std::int64_t i = 0; data != nullptr && i < count; i += V::size) {
        const auto* const bits = reinterpret_cast<const std::int32_t*>(data + i);
        const V v = count - i < V::size ? V::load_partial(bits, count - i) : V::load(bits);
        most = max(most, v & V(magnitude));
      }
      return __builtin_bit_cast(float, reduce_max(most));
    }
  };
  Numbers<std::int32_t> addend;
  Numbers<float> scale, bias;
  bool by_columns = false;  ///< the numbers are those of columns
  float lower = 0, upper = 0, y_scale = 1, y_zero = 0;
  bool clamp = false, is_signed = false;
  /// prepare() sets these. A quicker way to the same bytes needs the inverse of y_scale and the
  /// limits that clamp and saturation have together, in front of the division. A quicker one yet
  /// corrects a quotient once, and leaves the limits to the instruction that makes bytes.
  bool is_quick = false, is_saturating = false;
  float inverse = 0, low = 0, high = 0;

  float lowest() const { return is_signed ? -128 : 0; }
  float largest() const { return is_signed ? 127 : 255; }

  /// The byte of a limit, before saturation.
  float byte_of(float limit) const { return __builtin_rintf(limit / y_scale) + y_zero; }
  /// Whether one correction of each quotient makes the right bytes: it leaves less than 2^-21 units of the
  /// last place, so that the quotient may be rounded to its other neighbour only from so near their
  /// middle. This asks for every number halfway between integers whether a float's quotient is that near
  /// to the middles beside it; the next floats are further away.
  bool corrects_once() const {
    const auto divisor = double(y_scale);
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
  void prepare() {
    constexpr float most = 0x1p60f;
    const auto bits = __builtin_bit_cast(std::uint32_t, y_scale);
    const auto zero = static_cast<float>(static_cast<std::int32_t>(y_zero));
    // The correction of quotients needs products that are not rounded, and reciprocals that are
    // rounded as those of all ones are not.
    is_quick = has_fma && y_scale > 1 / most && y_scale < most && (bits & 0x7fffff) != 0x7fffff &&
               y_zero == zero && y_zero >= -128 && y_zero <= 255;
    const double most_sum = 0x1p31 * double(scale.data == nullptr ? 1 : scale.most());
    const double most_value = most_sum + double(bias.most());
    is_quick = is_quick && most_value < 0x1p127;
    is_saturating = is_quick && has_saturation && most_value < 0x1p30 * double(y_scale) &&
                    (!clamp || (byte_of(lower) <= lowest() && byte_of(upper) >= largest())) &&
                    corrects_once();
    if (!is_quick) return;
    inverse = 1 / y_scale;
    low = (lowest() - y_zero) * y_scale;
    high = (largest() - y_zero) * y_scale;
    if (clamp) {
      low = lower > low ? lower : low;
      high = upper < high ? upper : high;
      if (low > high) low = high = lower > high ? high : low;
    }
  }
};

/// How bytes are made of sums: not at all, as the operators do it, see Requantize::is_quick and
/// is_saturating.
enum class ToBytes { none, exactly, quickly, saturating };

constexpr ToBytes way_of(const Requantize& how) {
  if (how.is_saturating) return ToBytes::saturating;
  return how.is_quick ? ToBytes::quickly : ToBytes::exactly;
}

/// Makes N bytes at once, in the way of `how`. Values in a loop stay in registers only where nothing in it
/// is called.
template <int N, ToBytes way>
class Requantizer {
 public:
  using Sums = Vec<std::int32_t, N>;
  using Bytes = Vec<std::uint8_t, N>;
  /// What belongs to N sums that follow each other in a row.
  struct Terms {
    Sums addend;
    Vec<float, N> scale, bias;
  };

  HALFTONE_INLINE explicit Requantizer(const Requantize& how)
      : how_(&how),
        addends_(how.addend.begin(no_addend)),
        scales_(how.scale.begin(no_scale)),
        biases_(how.bias.begin(no_bias)),
        zero_(how.is_quick ? static_cast<std::int32_t>(how.y_zero) : 0),
        is_signed_(how.is_signed),
        low_(how.low),
        high_(how.high),
        divisor_(how.y_scale),
        inverse_(how.inverse) {}

  HALFTONE_INLINE Terms of_row(std::int64_t row) const {
    return {addends_[row * how_->addend.stride], scales_[row * how_->scale.stride],
            biases_[row * how_->bias.stride]};
  }
  HALFTONE_INLINE Terms of_columns(std::int64_t first, std::int64_t n) const {
    return {how_->addend.template at<N>(first, n, no_addend),
            how_->scale.template at<N>(first, n, no_scale),
            how_->bias.template at<N>(first, n, no_bias)};
  }
  HALFTONE_INLINE Bytes operator()(const Terms& terms, Sums sums) const {
    const V v = apart(convert<float>(sums + terms.addend) * terms.scale) + terms.bias;
    if constexpr (way == ToBytes::saturating) {
      return saturating(v);
    } else if constexpr (way == ToBytes::quickly) {
      return quickly(v);
    } else {
      return as_operators(v, *how_);
    }
  }

 private:
  using V = Vec<float, N>;

  static constexpr std::int32_t no_addend = 0;
  static constexpr float no_scale = 1, no_bias = 0;

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
  [[gnu::noinline]] static Bytes as_operators(V v, const Requantize& how) {
    if (how.clamp) v = between(v, how.lower, how.upper);
    v = round_even(v / V(how.y_scale)) + V(how.y_zero);
    // The instruction makes NaN the lowest integer, whose low byte is 0.
    v = between(v, how.lowest(), how.largest());
    return convert<std::uint8_t>(convert<std::int32_t>(v));
  }
  /// NaN stays NaN: the instructions give their second operand then.
  static HALFTONE_INLINE V between(V v, V low, V high) {
    return detail::lower<float>(high.v, detail::upper<float>(low.v, v.v));
  }

  const Requantize* how_;
  const std::int32_t* addends_;
  const float *scales_, *biases_;
  Sums zero_;
  bool is_signed_;
  V low_, high_, divisor_, inverse_;
};

namespace detail {

template <ToBytes way>
void requantize_rows(const Requantize& how, const std::int32_t* sums, std::int64_t ld,
                     std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns,
                     std::uint8_t* y, std::int64_t y_row) {
  constexpr int N = Vec<float>::size;
  using Sums = Vec<std::int32_t, N>;
  const Requantizer<N, way> bytes(how);
  for (std::int64_t j = 0; how.by_columns && j < columns; j += N) {
    const std::int64_t n = columns - j < N ? columns - j : N;
    const auto terms = bytes.of_columns(column + j, n);
    const std::int32_t* from = sums + j;
    std::uint8_t* to = y + j;
    for (std::int64_t i = 0; i < rows; ++i, from += ld, to += y_row) {
      if (n == N) {
        bytes(terms, Sums::load(from)).store(to);
      } else {
        bytes(terms, Sums::load_partial(from, n)).store_partial(to, n);
      }
    }
  }
  if (how.by_columns) return;
  for (std::int64_t i = 0; i < rows; ++i, sums += ld, y += y_row) {
    const auto numbers = bytes.of_row(row + i);
    if (columns == 2 * N) {  // a panel of a product
      const auto first = bytes(numbers, Sums::load(sums));
      const auto second = bytes(numbers, Sums::load(sums + N));
      first.store(y);
      second.store(y + N);
      continue;
    }
    std::int64_t j = 0;
    for (; j + N <= columns; j += N) bytes(numbers, Sums::load(sums + j)).store(y + j);
    if (j == columns) continue;
    bytes(numbers, Sums::load_partial(sums + j, columns - j)).store_partial(y + j, columns - j);
  }
}

}  // namespace detail

/// The sums of rows [row, row + rows) and columns [column, column + columns) of the output, `ld` elements
/// from row to row, to bytes that are `y_row` elements from row to row.
inline void requantize(const Requantize& how, const std::int32_t* sums, std::int64_t ld,
                       std::int64_t row, std::int64_t column, std::int64_t rows,
                       std::int64_t columns, std::uint8_t* y, std::int64_t y_row) {
  const auto with = [&](auto run) { run(how, sums, ld, row, column, rows, columns, y, y_row); };
  switch (way_of(how)) {
    case ToBytes::saturating:
      if constexpr (has_saturation) return with(&detail::requantize_rows<ToBytes::saturating>);
      break;
    case ToBytes::quickly:
      return with(&detail::requantize_rows<ToBytes::quickly>);
    default:
      break;
  }
  with(&detail::requantize_rows<ToBytes::exactly>);
}

namespace detail {

/// The result of a product of bytes is its sums, or bytes that are made of them.
struct ByteOutput {
  std::int32_t* sums = nullptr;
  const Requantize* requantize = nullptr;
  std::uint8_t* bytes = nullptr;
  std::int64_t row = 0;  ///< of the first element

  /// The part from an element on, which begins a row.
  ByteOutput from(std::int64_t element, std::int64_t first_row) const {
    if (requantize == nullptr) return {sums + element};
    return {nullptr, requantize, bytes + element, first_row};
  }
};

}  // namespace detail
}  // namespace halftone::kernel
