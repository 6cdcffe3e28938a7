#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/kernel/box.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/transpose.hpp>

namespace halftone::kernel {

namespace detail {

/// What a task moves, so that waking a thread costs little beside it.
inline constexpr std::int64_t bytes_per_task = 256 * 1024;
inline constexpr std::int64_t most_copy_tasks = 64;

/// Tasks that moving so many bytes is worth.
constexpr std::int64_t copy_tasks(std::int64_t bytes) {
  const std::int64_t tasks = bytes / bytes_per_task;
  return tasks < 1 ? 1 : tasks > most_copy_tasks ? most_copy_tasks : tasks;
}

/// Drops dimensions of one element and joins those that follow each other on both sides.
constexpr Box simplified(const Box& box) {
  Box s;
  for (std::size_t i = 0; i < box.rank; ++i) {
    if (box.extents[i] == 1) continue;
    if (s.rank > 0 && s.to[s.rank - 1] == box.extents[i] * box.to[i] &&
        s.from[s.rank - 1] == box.extents[i] * box.from[i]) {
      const std::size_t last = s.rank - 1;
      s.extents[last] *= box.extents[i];
      s.to[last] = box.to[i];
      s.from[last] = box.from[i];
    } else {
      s.add(box.extents[i], box.to[i], box.from[i]);
    }
  }
  return s;
}

/// f(offset in the output, offset in the source) for every position in the box.
template <class F>
HALFTONE_INLINE void for_each_offset(const Box& box, F&& f) {
  std::int64_t index[max_rank] = {};
  std::int64_t to = 0, from = 0;
  for (;;) {
    f(to, from);
    std::size_t d = box.rank;
    for (;; --d) {
      if (d == 0) return;
      to += box.to[d - 1];
      from += box.from[d - 1];
      if (++index[d - 1] < box.extents[d - 1]) break;
      to -= box.to[d - 1] * box.extents[d - 1];
      from -= box.from[d - 1] * box.extents[d - 1];
      index[d - 1] = 0;
    }
  }
}

/// Dimension d of a box alone: n elements, or rows, with their strides.
struct Axis {
  std::int64_t n = 1, to = 0, from = 0;
  constexpr Axis() = default;
  constexpr Axis(const Box& box, std::size_t d)
      : n(box.extents[d]), to(box.to[d]), from(box.from[d]) {}
};

template <int Bytes, class T>
void copy_short_rows(const T* from, T* to, Axis rows) {
  for (std::int64_t i = 0; i < rows.n; ++i) {
    __builtin_memcpy(to + i * rows.to, from + i * rows.from, Bytes);
  }
}

/// Rows of contiguous elements; short ones without a call of memcpy each.
template <class T>
void copy_rows(const T* from, T* to, Axis rows, std::int64_t n) {
  const std::int64_t bytes = n * std::int64_t(sizeof(T));
  switch (bytes) {
    case 2:
      return copy_short_rows<2>(from, to, rows);
    case 3:
      return copy_short_rows<3>(from, to, rows);
    case 4:
      return copy_short_rows<4>(from, to, rows);
    case 8:
      return copy_short_rows<8>(from, to, rows);
    case 12:
      return copy_short_rows<12>(from, to, rows);
    case 16:
      return copy_short_rows<16>(from, to, rows);
    case 32:
      return copy_short_rows<32>(from, to, rows);
    case 64:
      return copy_short_rows<64>(from, to, rows);
    default:
      for (std::int64_t i = 0; i < rows.n; ++i) {
        __builtin_memcpy(to + i * rows.to, from + i * rows.from, std::size_t(bytes));
      }
  }
}

/// A row of whole lines past the caches, while `next`, to come soon, is fetched.
template <class T>
HALFTONE_INLINE void stream_row(const T* from, T* to, std::int64_t bytes, const T* next) {
  using V = Vec<std::uint8_t>;
  const auto* source = reinterpret_cast<const std::uint8_t*>(from);
  const auto* later = reinterpret_cast<const std::uint8_t*>(next);
  auto* target = reinterpret_cast<std::uint8_t*>(to);
  for (std::int64_t i = 0; i < bytes; i += V::size) {
    __builtin_prefetch(later + i);
    V::load(source + i).stream(target + i);
  }
}

template <class T>
void copy_repeated(const T* from, T* to, Axis rows, std::int64_t n) {
  for (std::int64_t i = 0; i < rows.n; ++i) {
    const T value = from[i * rows.from];
    T* const row = to + i * rows.to;
    for (std::int64_t j = 0; j < n; ++j) row[j] = value;
  }
}

template <class T>
void copy_strided(const T* from, T* to, Axis rows, Axis columns) {
  for (std::int64_t i = 0; i < rows.n; ++i) {
    const T* const source = from + i * rows.from;
    T* const row = to + i * rows.to;
    for (std::int64_t j = 0; j < columns.n; ++j) row[j * columns.to] = source[j * columns.from];
  }
}

/// The dimension whose elements are side by side in the source of a transposition; else the rank.
constexpr std::size_t transposed_axis(const Box& box) {
  const std::size_t last = box.rank - 1;
  if (box.rank == 0 || box.to[last] != 1 || box.from[last] == 1 || box.from[last] == 0) {
    return box.rank;
  }
  std::size_t d = 0;
  while (d < last && box.from[d] != 1) ++d;
  return d < last ? d : box.rank;
}

/// A simplified box without empty dimensions, on one thread. `streams`: the output is too large for
/// the caches.
template <class T>
void copy_box(const Box& box, const T* from, T* to, bool streams) {
  if (box.rank == 0) {
    *to = *from;
    return;
  }
  const std::size_t last = box.rank - 1;
  const Axis columns(box, last);
  Box outer = box;
  outer.rank = last;
  const std::size_t d = transposed_axis(box);
  if (d < box.rank) {
    outer.rank = 0;
    for (std::size_t i = 0; i < last; ++i) {
      if (i != d) outer.add(box.extents[i], box.to[i], box.from[i]);
    }
    for_each_offset(outer, [&](std::int64_t y, std::int64_t x) {
      transpose_matrix(from + x, columns.from, to + y, box.to[d], box.extents[d], columns.n,
                       streams);
    });
    if (streams) stream_end();
    return;
  }
  Axis rows;
  if (last > 0) {
    rows = Axis(box, last - 1);
    outer.rank = last - 1;
  }
  for_each_offset(outer, [&](std::int64_t y, std::int64_t x) {
    if (columns.to == 1 && columns.from == 1) {
      copy_rows(from + x, to + y, rows, columns.n);
    } else if (columns.to == 1 && columns.from == 0) {
      copy_repeated(from + x, to + y, rows, columns.n);
    } else {
      copy_strided(from + x, to + y, rows, columns);
    }
  });
}

}  // namespace detail

/// Copies the elements of a box; source and output do not overlap. Its dimensions should be in the
/// order of the output's memory. Runs, repeated elements and transpositions go at the speed of
/// memory.
template <class T>
void copy(const Executor& executor, const Box& given, const T* from, T* to) {
  const Box box = detail::simplified(given);
  std::int64_t n = 1;
  for (std::size_t i = 0; i < box.rank; ++i) n *= box.extents[i];
  if (n == 0) return;
  const std::int64_t bytes = n * std::int64_t(sizeof(T)), tasks = detail::copy_tasks(bytes);
  const bool streams = bytes >= detail::beyond_caches;
  if (tasks == 1) {
    detail::copy_box(box, from, to, streams);
    return;
  }
  // Divided along the outermost dimension that is long enough, else the longest one; those that a
  // transposition exchanges in blocks.
  const std::size_t transposed = detail::transposed_axis(box);
  const auto grain = [&](std::size_t i) {
    if (transposed == box.rank || (i != transposed && i + 1 != box.rank)) return std::int64_t{1};
    // Whole pages of the source, see transpose_streaming().
    return std::int64_t{streams && i == transposed ? 4096 / int(sizeof(T)) : 64};
  };
  const auto units = [&](std::size_t i) { return (box.extents[i] + grain(i) - 1) / grain(i); };
  // Few parts will do: short runs of large arrays are slower to read than long ones.
  const std::int64_t enough = tasks < 16 ? tasks : 16;
  std::size_t axis = 0;
  for (std::size_t i = 1; i < box.rank && units(axis) < enough; ++i) {
    if (units(i) > units(axis)) axis = i;
  }
  const std::int64_t parts = units(axis) < tasks ? units(axis) : tasks;
  const auto place = [&](std::int64_t i) {
    return i == parts ? box.extents[axis] : units(axis) * i / parts * grain(axis);
  };
  parallel_for(executor, parts, [&](std::int64_t i) {
    const std::int64_t begin = place(i), end = place(i + 1);
    Box part = box;
    part.extents[axis] = end - begin;
    detail::copy_box(part, from + begin * box.from[axis], to + begin * box.to[axis], streams);
  });
}

/// n times the same element.
template <class T>
void fill(const Executor& executor, T value, T* to, std::int64_t n) {
  const std::int64_t tasks = detail::copy_tasks(n * std::int64_t(sizeof(T)));
  parallel_for(executor, tasks, [&](std::int64_t i) {
    const std::int64_t end = n * (i + 1) / tasks;
    for (std::int64_t j = n * i / tasks; j < end; ++j) to[j] = value;
  });
}

}  // namespace halftone::kernel
