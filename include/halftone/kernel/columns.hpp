#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/base/window.hpp>
#include <halftone/kernel/copy.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

namespace detail {

/// A column has one element of a window at all its positions over an image; `box` is the positions at
/// which the element lies in the image. `box.to` has strides of positions, `box.from` of pixels.
struct Column {
  Box box;
  std::int64_t position = 0, pixel = 0;  ///< offsets of the first element of the box
  bool is_empty = false;

  constexpr Column(const Window& window, const std::int64_t* image, const std::int64_t* positions,
                   std::int64_t element) {
    std::int64_t position_stride = 1, pixel_stride = 1;
    box.rank = window.rank();
    for (std::size_t d = box.rank; d-- > 0; element /= window.kernel[d]) {
      const std::int64_t start =
          element % window.kernel[d] * window.dilations[d] - window.pad_begin(d);
      const std::int64_t step = window.strides[d], room = image[d] - start;
      const std::int64_t first = start < 0 ? (-start + step - 1) / step : 0;
      std::int64_t last = room > 0 ? (room + step - 1) / step : 0;
      if (last > positions[d]) last = positions[d];
      is_empty = is_empty || first >= last;
      position += first * position_stride;
      pixel += (start + first * step) * pixel_stride;
      box.extents[d] = last - first;
      box.to[d] = position_stride;
      box.from[d] = step * pixel_stride;
      position_stride *= positions[d];
      pixel_stride *= image[d];
    }
  }
};

}  // namespace detail

/// Adds the columns of a plane, [elements of the window, positions], to the pixels that they stand
/// for. Every pixel gets its terms in the order of the window's elements.
template <class T, class S>
void add_columns(const Window& window, const std::int64_t* image, const std::int64_t* positions,
                 const T* columns, S* pixels) {
  std::int64_t elements = 1, count = 1;
  for (std::size_t d = 0; d < window.rank(); ++d) {
    elements *= window.kernel[d];
    count *= positions[d];
  }
  for (std::int64_t k = 0; k < elements; ++k) {
    detail::Column column(window, image, positions, k);
    if (column.is_empty) continue;
    const detail::Axis row(column.box, --column.box.rank);
    const T* const from = columns + k * count + column.position;
    S* const to = pixels + column.pixel;
    detail::for_each_offset(column.box, [&](std::int64_t position, std::int64_t pixel) {
      const T* const x = from + position;
      S* const y = to + pixel;
      if (row.from == 1) {
        std::int64_t i = 0;
        if constexpr (std::is_same_v<compute_t<T>, S>) {
          using V = Vec<S>;
          for (; i + V::size <= row.n; i += V::size)
            (V::load(y + i) + load_compute(x + i)).store(y + i);
        }
        for (; i < row.n; ++i) y[i] += static_cast<S>(x[i]);
      } else if (row.from == 2) {
        for (std::int64_t i = 0; i < row.n; ++i) y[2 * i] += static_cast<S>(x[i]);
      } else {
        for (std::int64_t i = 0; i < row.n; ++i) y[row.from * i] += static_cast<S>(x[i]);
      }
    });
  }
}

/// The pixels under one element of a window as a column, [positions]; it stays as it is where the
/// element lies outside the image.
template <class T>
void copy_column(const Window& window, const std::int64_t* image, const std::int64_t* positions,
                 std::int64_t element, const T* pixels, T* to) {
  const detail::Column column(window, image, positions, element);
  if (column.is_empty) return;
  copy(Executor{}, column.box, pixels + column.pixel, to + column.position);
}

}  // namespace halftone::kernel
