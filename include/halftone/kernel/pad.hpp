#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/view.hpp>
#include <halftone/kernel/copy.hpp>
#include <halftone/kernel/padding.hpp>

namespace halftone::kernel {

/// Pads x, whose dimensions `axes` describe, to y: the innermost dimension that changes is copied
/// in runs with all that lies behind it.
template <class T>
void pad(const Executor& executor, PadMode mode, const PaddedAxis* axes, T value, View<const T> x,
         View<T> y) {
  if (y.size() == 0) return;
  std::size_t inner = y.rank;
  while (inner > 0 && y.extent(inner - 1) == x.extent(inner - 1) && axes[inner - 1].begin == 0 &&
         axes[inner - 1].crop == 0) {
    --inner;
  }
  const std::int64_t run = y.size(inner, y.rank);
  if (inner == 0) {
    Box whole;
    whole.add(run, 1, 1);
    copy(executor, whole, x.data, y.data);
    return;
  }
  const std::size_t axis = inner - 1;
  const PaddedAxis columns = axes[axis];
  const std::int64_t width = y.extent(axis), rows = y.size(0, axis);
  const std::int64_t kept = columns.extent > 0 ? columns.extent : 0;
  std::int64_t tasks = detail::copy_tasks(y.size() * std::int64_t(sizeof(T)));
  if (tasks > rows) tasks = rows;
  parallel_for(executor, tasks, [&](std::int64_t task) {
    const std::int64_t end = rows * (task + 1) / tasks;
    for (std::int64_t row = rows * task / tasks; row < end; ++row) {
      std::int64_t rest = row, stride = x.extent(axis), from = 0;
      bool is_outside = false;
      for (std::size_t d = axis; d-- > 0;) {
        const std::int64_t at = axes[d].source(rest % y.extent(d), mode);
        is_outside = is_outside || at < 0;
        rest /= y.extent(d);
        from += at * stride;
        stride *= x.extent(d);
      }
      T* const to = y.data + row * width * run;
      const auto outside = [&](std::int64_t first, std::int64_t last) {
        if (mode == PadMode::constant) {
          for (std::int64_t i = first * run; i < last * run; ++i) to[i] = value;
          return;
        }
        for (std::int64_t i = first; i < last; ++i) {
          const T* const source = x.data + (from + columns.source(i, mode)) * run;
          for (std::int64_t r = 0; r < run; ++r) to[i * run + r] = source[r];
        }
      };
      if (is_outside) {
        outside(0, width);
        continue;
      }
      outside(0, columns.begin);
      __builtin_memcpy(to + columns.begin * run, x.data + (from + columns.crop) * run,
                       std::size_t(kept * run) * sizeof(T));
      outside(columns.begin + kept, width);
    }
  });
}

}  // namespace halftone::kernel
