#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <halftone/base/dims.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/box.hpp>
#include <halftone/kernel/copy.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/scatter_mode.hpp>

namespace halftone::kernel {

namespace detail {

/// Reports the first of n indices that is outside [-extent, extent); they are `stride` apart.
template <class I>
void check_indices(const I* indices, std::int64_t n, std::int64_t stride, std::int64_t extent) {
  bool is_bad = false;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t index = indices[i * stride];
    is_bad |= (index < -extent) | (index >= extent);
  }
  for (std::int64_t i = 0; is_bad && i < n; ++i) {
    const std::int64_t index = indices[i * stride];
    if (index < -extent || index >= extent) halftone_index_error(index, extent);
  }
}

/// f(begin, end) for parts of [0, n), where each of the n moves that many bytes.
template <class F>
void in_parts(const Executor& executor, std::int64_t n, std::int64_t bytes, F&& f) {
  if (n == 0) return;
  std::int64_t tasks = copy_tasks(n * bytes);
  if (tasks > n) tasks = n;
  parallel_for(executor, tasks, [&](std::int64_t i) { f(n * i / tasks, n * (i + 1) / tasks); });
}

/// Elements of so many bytes written to their places.
template <int Bytes>
void assign(std::byte* y, const std::int64_t* offsets, std::int64_t count,
            const std::byte* updates) {
  for (std::int64_t p = 0; p < count; ++p) {
    __builtin_memcpy(y + offsets[p] * Bytes, updates + p * Bytes, Bytes);
  }
}

template <class T>
T joined(ScatterMode mode, T a, T b) {
  using S = halftone::detail::Compute<T>;
  const S x = static_cast<S>(a), y = static_cast<S>(b);
  switch (mode) {
    case ScatterMode::add:
      if constexpr (integer<T>) {
        return static_cast<T>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
      } else {
        return static_cast<T>(x + y);
      }
    case ScatterMode::mul:
      if constexpr (integer<T>) {
        return static_cast<T>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
      } else {
        return static_cast<T>(x * y);
      }
    case ScatterMode::max:
      return x >= y || x != x ? a : b;
    case ScatterMode::min:
      return x <= y || x != x ? a : b;
    default:
      return b;
  }
}

}  // namespace detail

/// For every element of `indices`, of shape `extents`: where in a dense tensor of shape `data` the
/// element of the same position is, but along `axis` that of the index. Reports an index that is
/// out of range before anything is written.
template <class I>
void element_offsets(const Executor& executor, const I* indices,
                     std::span<const std::int64_t> extents, std::span<const std::int64_t> data,
                     std::size_t axis, std::int64_t* offsets) {
  const std::size_t rank = extents.size(), last = rank - 1;
  const std::int64_t n = product(extents), extent = data[axis], columns = extents[last];
  if (n == 0) return;
  detail::check_indices(indices, n, 1, extent);
  Dims strides = row_major_strides(data);
  const std::int64_t stride = strides[axis];
  strides[axis] = 0;
  const std::int64_t rows = n / columns, step = strides[last];
  detail::in_parts(executor, rows, columns * 16, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t index[max_rank] = {}, base = 0, rest = begin;
    for (std::size_t d = last; d-- > 0; rest /= extents[d]) {
      index[d] = rest % extents[d];
      base += index[d] * strides[d];
    }
    for (std::int64_t row = begin; row < end; ++row) {
      const I* const from = indices + row * columns;
      std::int64_t* const to = offsets + row * columns;
      for (std::int64_t i = 0; i < columns; ++i) {
        const std::int64_t k = from[i];
        to[i] = base + i * step + (k < 0 ? k + extent : k) * stride;
      }
      for (std::size_t d = last; d-- > 0;) {
        base += strides[d];
        if (++index[d] < extents[d]) break;
        base -= index[d] * strides[d];
        index[d] = 0;
      }
    }
  });
}

/// For each of `batches` times `count` tuples of `width` indices: where in a dense tensor of shape
/// `data` the part begins that a tuple names. The first `batch_dims` dimensions are the batches'.
/// Reports an index that is out of range before anything is written.
template <class I>
void tuple_offsets(const Executor& executor, const I* indices, std::int64_t batches,
                   std::int64_t count, std::size_t width, std::span<const std::int64_t> data,
                   std::size_t batch_dims, std::int64_t* offsets) {
  const auto step = static_cast<std::int64_t>(width);
  const std::int64_t n = batches * count;
  for (std::size_t k = 0; k < width; ++k) {
    detail::check_indices(indices + k, n, step, data[batch_dims + k]);
  }
  const Dims strides = row_major_strides(data);
  const std::int64_t per_batch = product(data.subspan(batch_dims));
  detail::in_parts(executor, n, 8 * step + 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t offset = i / count * per_batch;
      for (std::size_t k = 0; k < width; ++k) {
        const std::int64_t index = indices[i * step + static_cast<std::int64_t>(k)];
        const std::int64_t extent = data[batch_dims + k];
        offset += (index < 0 ? index + extent : index) * strides[batch_dims + k];
      }
      offsets[i] = offset;
    }
  });
}

/// y[p, r] = data[offsets[p] + r] for runs of r.
template <class T>
void pick(const Executor& executor, const T* data, const std::int64_t* offsets, std::int64_t count,
          std::int64_t run, T* y) {
  detail::in_parts(executor, count, run * std::int64_t(sizeof(T)),
                   [&](std::int64_t begin, std::int64_t end) {
                     if (run == 1) {
                       for (std::int64_t p = begin; p < end; ++p) y[p] = data[offsets[p]];
                       return;
                     }
                     for (std::int64_t p = begin; p < end; ++p) {
                       __builtin_memcpy(y + p * run, data + offsets[p],
                                        static_cast<std::size_t>(run) * sizeof(T));
                     }
                   });
}

/// y = x of so many elements, then updates[p, r] joined with y[offsets[p] + r] in ascending p.
/// Offsets are in `groups` parts of equal size that have no places in common. y may be x.
template <class T>
void scatter(const Executor& executor, ScatterMode mode, const T* x, std::int64_t size,
             const std::int64_t* offsets, std::int64_t count, std::int64_t run, std::int64_t groups,
             const T* updates, T* y) {
  constexpr auto bytes = std::int64_t(sizeof(T));
  if (x != y) {
    detail::in_parts(executor, size, bytes, [&](std::int64_t begin, std::int64_t end) {
      __builtin_memcpy(y + begin, x + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
    });
  }
  if (count == 0 || run == 0) return;
  if (run == 1) {
    const std::int64_t each = count / groups;
    detail::in_parts(executor, groups, each * bytes, [&](std::int64_t begin, std::int64_t end) {
      if (mode == ScatterMode::replace) {
        detail::assign<int(sizeof(T))>(reinterpret_cast<std::byte*>(y), offsets + begin * each,
                                       (end - begin) * each,
                                       reinterpret_cast<const std::byte*>(updates + begin * each));
        return;
      }
      for (std::int64_t p = begin * each; p < end * each; ++p) {
        y[offsets[p]] = detail::joined(mode, y[offsets[p]], updates[p]);
      }
    });
    return;
  }
  // Every task goes through all updates, but looks at its part of the runs alone.
  detail::in_parts(executor, run, count * bytes, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = 0; p < count; ++p) {
      T* const to = y + offsets[p];
      const T* const from = updates + p * run;
      if (mode == ScatterMode::replace) {
        __builtin_memcpy(to + begin, from + begin,
                         static_cast<std::size_t>(end - begin) * sizeof(T));
        continue;
      }
      for (std::int64_t r = begin; r < end; ++r) to[r] = detail::joined(mode, to[r], from[r]);
    }
  });
}

}  // namespace halftone::kernel
