#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/matmul.hpp>

namespace halftone::kernel {

namespace detail {

/// Number i of a row of numbers with `bits` bits each, the first in the lowest bits of a byte.
inline int bits_at(const std::uint8_t* row, std::int64_t i, int bits) {
  const std::int64_t at = i * bits;
  return row[at / 8] >> (at % 8) & ((1 << bits) - 1);
}

/// y = (x - zero) * scale of n numbers with 2, 4 or 8 bits. Writes whole bytes of x: y has room for
/// n rounded up to a multiple of 4.
template <class T>
void widen_bits(const std::uint8_t* x, int bits, std::int64_t n, float zero, float scale, T* y) {
  const auto real = [&](int number) {
    return static_cast<T>((static_cast<float>(number) - zero) * scale);
  };
  if (bits == 8) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = real(x[i]);
  } else if (bits == 4) {
    for (std::int64_t i = 0; i < n / 2 + n % 2; ++i) {
      y[2 * i] = real(x[i] & 15);
      y[2 * i + 1] = real(x[i] >> 4);
    }
  } else {
    for (std::int64_t i = 0; i < (n + 3) / 4; ++i) {
      for (int j = 0; j < 4; ++j) y[4 * i + j] = real(x[i] >> (2 * j) & 3);
    }
  }
}

}  // namespace detail

/// Columns of b that are widened at once.
inline constexpr std::int64_t bits_strip = 32;

/// Extents of a product with b in few bits, see op::MatMulNBits.
struct BitsProduct {
  std::int64_t m = 0, n = 0, k = 0, block = 0;
  int bits = 0;

  constexpr std::int64_t blocks() const { return (k + block - 1) / block; }
  std::int64_t block_bytes() const { return block * bits / 8; }
  /// Elements between the columns of b that are widened.
  constexpr std::int64_t stride() const { return blocks() * block; }
  constexpr std::int64_t strips() const { return (n + bits_strip - 1) / bits_strip; }
  constexpr std::int64_t tasks() const { return strips() < 16 ? strips() : 16; }
};

namespace detail {

/// So few rows of a are multiplied with b as it is packed.
inline constexpr std::int64_t packed_rows = 4;

constexpr std::int64_t padded_rows(std::int64_t m) { return m == 1 ? 1 : packed_rows; }

/// Rows of a for products with packed numbers: those that meet the first number of a byte, then
/// those that meet the second one, and so on; and the sum of each block. Missing rows and elements
/// are 0.
template <class T>
void take_rows_apart(const BitsProduct& p, const T* a, float* apart, float* sums) {
  const std::int64_t parts = 8 / p.bits, length = p.stride() / parts;
  for (std::int64_t row = 0; row < padded_rows(p.m); ++row) {
    for (std::int64_t j = 0; j < p.blocks(); ++j) {
      float sum = 0;
      for (std::int64_t k = j * p.block; k < (j + 1) * p.block; ++k) {
        const float v = row < p.m && k < p.k ? static_cast<float>(a[row * p.k + k]) : 0.f;
        apart[(row * parts + k % parts) * length + k / parts] = v;
        sum += v;
      }
      sums[row * p.blocks() + j] = sum;
    }
  }
}

/// One column of the product with Rows rows: for each block scale * (sum of a * number - zero * sum
/// of a).
template <int Bits, int Rows>
void multiply_packed_column(const BitsProduct& p, const float* apart, const float* sums,
                            const std::uint8_t* b, const float* scales, const float* zeros,
                            float* y) {
  constexpr int parts = 8 / Bits, lanes = register_bytes / 4 > 8 ? register_bytes / 4 : 8;
  using Reals = Vec<float, lanes>;
  using Numbers = Vec<std::int32_t, lanes>;
  const std::int64_t bytes = p.block_bytes(), length = p.stride() / parts;
  Reals total[Rows]{};
  float less[Rows]{};
  for (std::int64_t j = 0; j < p.blocks(); ++j) {
    Reals sum[Rows]{};
    const std::uint8_t* const block = b + j * bytes;
    const float* const first = apart + j * bytes;
    const auto step = [&](std::int64_t i, auto&& load) {
      const Numbers number = convert<std::int32_t>(load(block + i));
      for (int part = 0; part < parts; ++part) {
        const Numbers one = number >> Numbers(part * Bits) & Numbers((1 << Bits) - 1);
        for (int row = 0; row < Rows; ++row) {
          sum[row] =
              fma(convert<float>(one), load(first + (row * parts + part) * length + i), sum[row]);
        }
      }
    };
    std::int64_t i = 0;
    for (; i + lanes <= bytes; i += lanes) {
      step(i, []<class E>(const E* from) { return Vec<E, lanes>::load(from); });
    }
    if (i < bytes) {
      const auto rest = static_cast<std::ptrdiff_t>(bytes - i);
      step(i, [rest]<class E>(const E* from) { return Vec<E, lanes>::load_partial(from, rest); });
    }
    for (int row = 0; row < Rows; ++row) {
      total[row] = fma(sum[row], Reals(scales[j]), total[row]);
      less[row] += scales[j] * zeros[j] * sums[row * p.blocks() + j];
    }
  }
  for (int row = 0; row < Rows; ++row) y[row] = reduce_add(total[row]) - less[row];
}

template <int Rows>
void multiply_packed_column(const BitsProduct& p, const float* apart, const float* sums,
                            const std::uint8_t* b, const float* scales, const float* zeros,
                            float* y) {
  if (p.bits == 2) {
    multiply_packed_column<2, Rows>(p, apart, sums, b, scales, zeros, y);
  } else if (p.bits == 4) {
    multiply_packed_column<4, Rows>(p, apart, sums, b, scales, zeros, y);
  } else {
    multiply_packed_column<8, Rows>(p, apart, sums, b, scales, zeros, y);
  }
}

/// The zero points of a column, in float; of T, one for each block, or of bytes, packed like b,
/// each column from a new byte on; null: half of the largest number.
template <class Z>
void zeros_of_column(const BitsProduct& p, const Z* zeros, std::int64_t column, float* to) {
  const std::int64_t blocks = p.blocks(), bytes = (blocks * p.bits + 7) / 8;
  for (std::int64_t j = 0; j < blocks; ++j) {
    if (zeros == nullptr) {
      to[j] = static_cast<float>(1 << (p.bits - 1));
    } else if constexpr (sizeof(Z) == 1) {
      to[j] = static_cast<float>(bits_at(zeros + column * bytes, j, p.bits));
    } else {
      to[j] = static_cast<float>(zeros[column * blocks + j]);
    }
  }
}

}  // namespace detail

/// Bytes that each task needs: a strip of b and gemm's workspace, or nothing; and scales and zero
/// points of a column.
template <class T>
constexpr std::int64_t bits_task_bytes(const BitsProduct& p) {
  const std::int64_t numbers = detail::aligned(2 * p.blocks() * std::int64_t{sizeof(float)});
  if (p.m <= detail::packed_rows) return numbers;
  const std::int64_t strip = p.stride() * bits_strip * std::int64_t{sizeof(T)};
  return numbers + detail::aligned(strip) +
         detail::aligned(gemm_workspace_bytes<T>(p.m, bits_strip, p.k));
}

template <class T>
constexpr std::size_t bits_workspace(const BitsProduct& p) {
  const std::int64_t rows = detail::padded_rows(p.m) * (p.stride() + p.blocks());
  const std::int64_t shared = p.m <= detail::packed_rows ? rows * std::int64_t{sizeof(float)} : 0;
  return static_cast<std::size_t>(detail::aligned(shared) + p.tasks() * bits_task_bytes<T>(p));
}

/// y[m, n] = a[m, k] b[k, n] + bias[n]. Few rows are multiplied with b as it is; for more, a strip
/// of b's columns at a time is widened to T.
template <class T, class Z>
void bits_product(const Executor& executor, const BitsProduct& p, const T* a, const std::uint8_t* b,
                  const T* scales, const Z* zeros, const T* bias, T* y, void* workspace) {
  const std::int64_t blocks = p.blocks(), number_bytes = detail::aligned(2 * blocks * 4);
  const std::int64_t strip_bytes =
      detail::aligned(p.stride() * bits_strip * std::int64_t{sizeof(T)});
  const bool is_packed = p.m <= detail::packed_rows;
  auto* const apart = static_cast<float*>(workspace);
  float* const sums = apart + detail::padded_rows(p.m) * p.stride();
  char* tasks = static_cast<char*>(workspace);
  if (is_packed) {
    detail::take_rows_apart(p, a, apart, sums);
    tasks += detail::aligned(detail::padded_rows(p.m) * (p.stride() + blocks) * 4);
  }
  parallel_for(executor, p.tasks(), [&](std::int64_t task) {
    char* const room = tasks + task * bits_task_bytes<T>(p);
    auto* const scale = reinterpret_cast<float*>(room);
    float* const zero = scale + blocks;
    T* const wide = reinterpret_cast<T*>(room + number_bytes);
    for (std::int64_t strip = p.strips() * task / p.tasks();
         strip < p.strips() * (task + 1) / p.tasks(); ++strip) {
      const std::int64_t first = strip * bits_strip;
      const std::int64_t columns = p.n - first < bits_strip ? p.n - first : bits_strip;
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t column = first + c;
        for (std::int64_t j = 0; j < blocks; ++j) {
          scale[j] = static_cast<float>(scales[column * blocks + j]);
        }
        detail::zeros_of_column(p, zeros, column, zero);
        const std::uint8_t* const numbers = b + column * blocks * p.block_bytes();
        if (is_packed) {
          float sum[detail::packed_rows];
          if (p.m == 1) {
            detail::multiply_packed_column<1>(p, apart, sums, numbers, scale, zero, sum);
          } else {
            detail::multiply_packed_column<int{detail::packed_rows}>(p, apart, sums, numbers, scale,
                                                                     zero, sum);
          }
          for (std::int64_t row = 0; row < p.m; ++row) {
            const float added = bias != nullptr ? static_cast<float>(bias[column]) : 0.f;
            y[row * p.n + column] = static_cast<T>(sum[row] + added);
          }
          continue;
        }
        for (std::int64_t j = 0; j < blocks; ++j) {
          detail::widen_bits<T>(numbers + j * p.block_bytes(), p.bits, p.block, zero[j], scale[j],
                                wide + c * p.stride() + j * p.block);
        }
      }
      if (is_packed) continue;
      Epilogue<T> epilogue;
      if (bias != nullptr) {
        epilogue.beta = 1;
        epilogue.addend = bias + first;
        epilogue.addend_column_stride = 1;
        epilogue.addend_row_stride = 0;
      }
      const Matrix<const T> right{wide, p.k, columns, 1, p.stride()};
      const Matrix<T> out{y + first, p.m, columns, p.n, 1};
      gemm<T>(row_major(a, p.m, p.k), right, out, epilogue, room + number_bytes + strip_bytes);
    }
  });
}

}  // namespace halftone::kernel
