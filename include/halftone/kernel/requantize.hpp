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
    bool is_finite() const {
      T sum = 0;
      for (std::int64_t i = 0; data != nullptr && i < count; ++i) sum += data[i] * 0;
      return sum == 0;
    }
  };
  Numbers<std::int32_t> addend;
  Numbers<float> scale, bias;
  bool by_columns = false;  ///< the numbers are those of columns
  float lower = 0, upper = 0, y_scale = 1, y_zero = 0;
  bool clamp = false, is_signed = false;
  /// prepare() sets these. A quicker way to the same bytes needs the inverse of y_scale and the
  /// limits that clamp and saturation have together, in front of the division.
  bool is_quick = false;
  float inverse = 0, low = 0, high = 0;

  float lowest() const { return is_signed ? -128 : 0; }
  float largest() const { return is_signed ? 127 : 255; }

  void prepare() {
    constexpr float most = 0x1p60f;
    const auto bits = __builtin_bit_cast(std::uint32_t, y_scale);
    const auto zero = static_cast<float>(static_cast<std::int32_t>(y_zero));
    // The correction of quotients needs products that are not rounded, and reciprocals that are
    // rounded as those of all ones are not.
    is_quick = has_fma && y_scale > 1 / most && y_scale < most && (bits & 0x7fffff) != 0x7fffff &&
               y_zero == zero && y_zero >= -128 && y_zero <= 255 && scale.is_finite() &&
               bias.is_finite();
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

/// Makes N bytes at once; `quick` is Requantize::is_quick. Values in a loop stay in registers only where
/// nothing in it is called.
template <int N, bool quick>
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
        zero_(quick ? static_cast<std::int32_t>(how.y_zero) : 0),
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
    if constexpr (quick) {
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
  V low_, high_, divisor_, inverse_;
};

namespace detail {

template <bool quick>
void requantize_rows(const Requantize& how, const std::int32_t* sums, std::int64_t ld,
                     std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns,
                     std::uint8_t* y, std::int64_t y_row) {
  constexpr int N = Vec<float>::size;
  using Sums = Vec<std::int32_t, N>;
  const Requantizer<N, quick> bytes(how);
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
  const auto run = how.is_quick ? &detail::requantize_rows<true> : &detail::requantize_rows<false>;
  run(how, sums, ld, row, column, rows, columns, y, y_row);
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
