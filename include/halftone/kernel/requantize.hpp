#pragma once

#include <cstdint>

#include <halftone/base/view.hpp>
#include <halftone/kernel/quantization.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

/// How the sums of an exact product become bytes: those that y makes of (sum + addend) * scale + bias,
/// with the roundings of the operators Add, Cast, Mul and Add.
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
  Quantization y;

  void prepare() {
    const double most_sum = 0x1p31 * double(scale.data == nullptr ? 1 : scale.most());
    y.prepare(most_sum + double(bias.most()));
  }
};

/// Makes N bytes at once, in the way of `how`.
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
        to_bytes_(how.y) {}

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
    return to_bytes_(apart(convert<float>(sums + terms.addend) * terms.scale) + terms.bias);
  }

 private:
  static constexpr std::int32_t no_addend = 0;
  static constexpr float no_scale = 1, no_bias = 0;

  const Requantize* how_;
  const std::int32_t* addends_;
  const float *scales_, *biases_;
  Quantizer<N, way> to_bytes_;
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
  with_way(how.y, [&]<ToBytes way>() {
    detail::requantize_rows<way>(how, sums, ld, row, column, rows, columns, y, y_row);
  });
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
