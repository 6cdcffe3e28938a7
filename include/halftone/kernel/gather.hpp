#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/kernel/copy.hpp>
#include <halftone/kernel/fault.hpp>

namespace halftone::kernel {

/// y[o, i, r] = data[o, indices[i], r] for data [outer, extent, run] and `count` indices, which may
/// count from the end. Reports an index that is out of range before anything is written.
template <class T, class I>
void gather(const Executor& executor, const T* data, std::int64_t outer, std::int64_t extent,
            std::int64_t run, const I* indices, std::int64_t count, T* y) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = indices[i];
    if (index < -extent || index >= extent) halftone_index_error(index, extent);
  }
  const std::int64_t rows = outer * count;
  if (rows == 0 || run == 0) return;
  const std::int64_t row_bytes = run * std::int64_t(sizeof(T)), bytes = rows * row_bytes;
  const bool streams =
      has_stream && bytes >= detail::beyond_caches && detail::is_in_lines(y, row_bytes);
  std::int64_t tasks = detail::copy_tasks(bytes);
  if (tasks > rows) tasks = rows;
  parallel_for(executor, tasks, [&](std::int64_t task) {
    const std::int64_t end = rows * (task + 1) / tasks;
    for (std::int64_t row = rows * task / tasks; row < end;) {
      // The rest of one outer position, as far as the task goes.
      const std::int64_t o = row / count, first = row % count;
      const std::int64_t stop = count - first < end - row ? count : first + end - row;
      const T* const from = data + o * extent * run;
      T* const to = y + o * count * run;
      if (run == 1) {
        for (std::int64_t i = first; i < stop; ++i) {
          const std::int64_t index = indices[i];
          to[i] = from[index < 0 ? index + extent : index];
        }
      } else {
        const auto source = [&](std::int64_t i) {
          const std::int64_t index = indices[i < stop ? i : stop - 1];
          return from + (index < 0 ? index + extent : index) * run;
        };
        if (streams) {
          for (std::int64_t i = first; i < stop; ++i) {
            detail::stream_row(source(i), to + i * run, row_bytes, source(i + 2));
          }
        } else {
          for (std::int64_t i = first; i < stop; ++i) {
            __builtin_memcpy(to + i * run, source(i), std::size_t(row_bytes));
          }
        }
      }
      row += stop - first;
    }
    if (streams) stream_end();
  });
}

}  // namespace halftone::kernel
