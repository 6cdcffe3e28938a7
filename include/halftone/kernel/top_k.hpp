#pragma once

#include <cstdint>

#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/sort.hpp>

namespace halftone::kernel {

namespace detail {

/// Whether a stands before b: by code, equal ones by index.
constexpr bool precedes(const Coded& a, const Coded& b) {
  return a.code < b.code || (a.code == b.code && a.index < b.index);
}

/// Moves the element at `at` of a heap, whose root is the last one in order, down to its place.
inline void sift_down(Coded* heap, std::int64_t n, std::int64_t at) {
  const Coded item = heap[at];
  for (;;) {
    std::int64_t child = 2 * at + 1;
    if (child >= n) break;
    if (child + 1 < n && precedes(heap[child], heap[child + 1])) ++child;
    if (!precedes(item, heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = item;
}

inline void sort_heap(Coded* heap, std::int64_t n) {
  for (std::int64_t end = n - 1; end > 0; --end) {
    const Coded last = heap[end];
    heap[end] = heap[0];
    heap[0] = last;
    sift_down(heap, end, 0);
  }
}

}  // namespace detail

/// Bytes of scratch memory of top_k.
constexpr std::int64_t top_k_workspace(std::int64_t outer, std::int64_t n, std::int64_t inner,
                                       std::int64_t k) {
  return sort_tasks(outer * inner, n) * k * std::int64_t(sizeof(Coded));
}

/// The k largest (or smallest) of x[o, :, i], best first, and where they are; equal ones in the
/// order of their indices. x is [outer, n, inner], values and indices are [outer, k, inner].
template <class T>
void top_k(const Executor& executor, bool largest, const T* x, std::int64_t outer, std::int64_t n,
           std::int64_t inner, std::int64_t k, T* values, std::int64_t* indices, void* workspace) {
  const std::int64_t lines = outer * inner, tasks = sort_tasks(lines, n);
  if (k == 0 || lines == 0) return;
  parallel_for(executor, tasks, [&](std::int64_t task) {
    Coded* const heap = static_cast<Coded*>(workspace) + task * k;
    for (std::int64_t line = lines * task / tasks; line < lines * (task + 1) / tasks; ++line) {
      const std::int64_t o = line / inner, i = line % inner;
      const T* const from = x + o * n * inner + i;
      const auto coded = [&](std::int64_t at) {
        const std::uint64_t code = order_code(from[at * inner]);
        return Coded{largest ? ~code : code, at};
      };
      for (std::int64_t at = 0; at < k; ++at) heap[at] = coded(at);
      for (std::int64_t at = k / 2; at-- > 0;) detail::sift_down(heap, k, at);
      for (std::int64_t at = k; at < n; ++at) {
        const Coded item = coded(at);
        if (item.code >= heap[0].code) continue;
        heap[0] = item;
        detail::sift_down(heap, k, 0);
      }
      detail::sort_heap(heap, k);
      for (std::int64_t at = 0; at < k; ++at) {
        const std::int64_t to = (o * k + at) * inner + i;
        values[to] = from[heap[at].index * inner];
        indices[to] = heap[at].index;
      }
    }
  });
}

}  // namespace halftone::kernel
