#pragma once

#include <cstdint>
#include <type_traits>

namespace halftone::kernel {

/// A matrix that belongs to somebody else; strides in elements, so that a transposed matrix or one
/// row repeated (stride 0) needs no copy.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 1;

  constexpr T& operator()(std::int64_t i, std::int64_t j) const {
    return data[i * row_stride + j * column_stride];
  }
  constexpr Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
  constexpr operator Matrix<const T>() const
    requires(!std::is_const_v<T>)
  {
    return {data, rows, columns, row_stride, column_stride};
  }
};

/// Dense row-major matrix.
template <class T>
constexpr Matrix<T> row_major(T* data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns, columns, 1};
}

}  // namespace halftone::kernel
