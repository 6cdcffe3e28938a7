#pragma once

#include <cstdint>
#include <type_traits>

#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/simd.hpp>
#include <halftone/kernel/sort.hpp>

namespace halftone::kernel {

namespace detail {

/// Whether a stands before b: by code, equal ones by index.
constexpr bool precedes(const Coded& a, const Coded& b) {
  return a.code < b.code || (a.code == b.code && a.index < b.index);
}
constexpr bool precedes(const PackedCode& a, const PackedCode& b) { return a.both < b.both; }

/// Moves the item at `at` of a heap, whose root is the last one in order, down to its place.
template <class Item>
void sift_down(Item* heap, std::int64_t n, std::int64_t at) {
  const Item item = heap[at];
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

template <class Item>
void sort_in_place(Item* items, std::int64_t n) {
  for (std::int64_t at = n / 2; at-- > 0;) sift_down(items, n, at);
  for (std::int64_t end = n - 1; end > 0; --end) {
    const Item last = items[end];
    items[end] = items[0];
    items[0] = last;
    sift_down(items, end, 0);
  }
}

/// Item k in order, of n different ones, which change their places.
template <class Item>
Item select_item(Item* items, std::int64_t n, std::int64_t k) {
  std::int64_t first = 0, end = n;
  for (int round = 0; round < 48 && end - first > 16; ++round) {
    const std::int64_t middle = first + (end - first) / 2, last = end - 1;
    const Item x = items[first], y = items[middle], z = items[last];
    const bool xy = precedes(x, y), yz = precedes(y, z), xz = precedes(x, z);
    const std::int64_t median = xy == yz ? middle : xy == xz ? last : first;
    const Item pivot = items[median];
    items[median] = items[last];
    std::int64_t lower = first;
    for (std::int64_t i = first; i < last; ++i) {
      const Item item = items[i];
      items[i] = items[lower];
      items[lower] = item;
      lower += precedes(item, pivot);
    }
    items[last] = items[lower];
    items[lower] = pivot;
    if (lower == k) return pivot;
    if (lower < k) {
      first = lower + 1;
    } else {
      end = lower;
    }
  }
  // A few are left, or more after pivots that divided badly.
  sort_in_place(items + first, end - first);
  return items[k];
}

/// Lines of so few best elements are kept in order.
inline constexpr std::int64_t few_best = 16;
/// Lines of so few elements are not worth a search for those that may be among the best.
inline constexpr std::int64_t short_line = 48;

/// Items that have to be kept at least for the k best of n.
constexpr std::int64_t top_k_room(std::int64_t n, std::int64_t k) {
  const std::int64_t most = k < 32 ? 64 : 2 * k;
  return k <= few_best ? k : n < most ? n : most;
}
template <class T>
constexpr bool has_short_codes(std::int64_t n) {
  return sizeof(T) <= 4 && n <= std::int64_t{1} << 32;
}
template <class T>
constexpr std::int64_t top_k_line_bytes(std::int64_t n, std::int64_t k) {
  const auto size = std::int64_t(has_short_codes<T>(n) ? sizeof(PackedCode) : sizeof(Coded));
  return (k <= few_best ? 1 : 2) * top_k_room(n, k) * size;
}
inline constexpr std::int64_t most_top_k_columns = 32;
/// Lines that are side by side in memory and are read together.
template <class T>
constexpr std::int64_t top_k_columns(std::int64_t n, std::int64_t inner, std::int64_t k) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 18;
  const std::int64_t fitting = most_bytes / (top_k_line_bytes<T>(n, k) + 1) + 1;
  const std::int64_t columns = fitting < most_top_k_columns ? fitting : most_top_k_columns;
  return columns < inner ? columns : inner;
}

/// The k best elements of a line so far.
template <class T, class Item>
struct TopLine {
  Item *items, *scratch;  // room for `room` each; the scratch memory is for many only
  std::int64_t k, room, count = 0;
  Item worst{};  // is valid once is_full
  bool is_full = false;

  static constexpr bool is_packed = std::is_same_v<Item, PackedCode>;

  template <bool largest>
  static HALFTONE_INLINE Item item_of(T x, std::int64_t index) {
    if constexpr (is_packed) {
      const std::uint32_t code = short_order_code(x);
      return {std::uint64_t{largest ? ~code : code} << 32 | static_cast<std::uint64_t>(index)};
    } else {
      const std::uint64_t code = order_code(x);
      return {largest ? ~code : code, index};
    }
  }

  /// Takes the next element of the line; whether `worst` has changed.
  HALFTONE_INLINE bool take(Item item) {
    if (k <= few_best) {
      if (is_full && !precedes(item, worst)) return false;
      std::int64_t at = is_full ? k - 1 : count++;
      for (; at > 0 && precedes(item, items[at - 1]); --at) items[at] = items[at - 1];
      items[at] = item;
      is_full = count == k;
      worst = items[count - 1];
      return is_full;
    }
    items[count] = item;
    count += !is_full || precedes(item, worst);
    if (count != room) return false;
    keep_best();
    return true;
  }

  /// Leaves the k best, in the order of their indices.
  void keep_best() {
    if (count <= k) return;
    __builtin_memcpy(scratch, items, static_cast<std::size_t>(count) * sizeof(Item));
    worst = select_item(scratch, count, k - 1);
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const Item item = items[i];
      items[kept] = item;
      kept += !precedes(worst, item);
    }
    count = k;
    is_full = true;
  }

  /// Leaves the k best in order.
  void finish() {
    if (k <= few_best) return;
    keep_best();
    sort_codes(items, scratch, k);
  }
};

/// Some lines that are side by side: x[at * inner + i] is element `at` of line i.
template <bool largest, class T, class Item>
void top_k_lines(const T* x, std::int64_t n, std::int64_t inner, std::int64_t lines,
                 TopLine<T, Item>* tops) {
  using S = compute_t<T>;
  using V = Vec<S>;
  using Top = TopLine<T, Item>;
  constexpr std::int64_t N = V::size, wide = 4;
  const auto take = [&](std::int64_t at, std::int64_t i) {
    return tops[i].take(Top::template item_of<largest>(x[at * inner + i], at));
  };
  // Whether elements may be among the best: NaN has to be looked at, and all if the limit is NaN.
  const auto may_pass = [](V v, V limit) { return !(largest ? v <= limit : v >= limit); };
  if (lines == 1) {
    std::int64_t at = 0;
    if constexpr (Top::is_packed) {
      const std::int64_t k = tops->k;
      if (n <= short_line && k <= few_best) {
        // Branches would be foreseen badly, so that there are none. Any element stands before the first ones.
        Item* const items = tops->items;
        for (std::int64_t j = 0; j < k; ++j) items[j].both = ~std::uint64_t{0};
        for (; at < n; ++at) {
          Item item = Top::template item_of<largest>(x[at * inner], at);
          for (std::int64_t j = 0; j < k; ++j) {
            const Item other = items[j];
            const bool is_first = precedes(item, other);
            items[j].both = is_first ? item.both : other.both;
            item.both = is_first ? other.both : item.both;
          }
        }
        return;
      }
    }
    while (at < n && !tops->is_full) take(at++, 0);
    if (inner == 1 && at < n) {
      const auto limit = [&] { return V(static_cast<S>(x[index_of(tops->worst)])); };
      const auto load = [&](std::int64_t i) { return load_compute<V::size>(x + i); };
      V last = limit();
      for (; at + wide * N <= n; at += wide * N) {
        typename V::mask passes = may_pass(load(at), last);
        for (std::int64_t w = 1; w < wide; ++w) {
          passes = passes | may_pass(load(at + w * N), last);
        }
        if (!any(passes)) continue;
        bool has_changed = false;
        for (std::int64_t w = at; w < at + wide * N; w += N) {
          if (!any(may_pass(load(w), last))) continue;
          for (std::int64_t i = w; i < w + N; ++i) has_changed |= take(i, 0);
        }
        if (has_changed) last = limit();
      }
    }
    for (; at < n; ++at) take(at, 0);
    return;
  }
  // Limits are known for all lines at once.
  std::int64_t at = 0;
  for (; at < n && !tops->is_full; ++at) {
    for (std::int64_t i = 0; i < lines; ++i) take(at, i);
  }
  if (at == n) return;
  S limits[most_top_k_columns];
  const auto update = [&](std::int64_t i) {
    limits[i] = static_cast<S>(x[index_of(tops[i].worst) * inner + i]);
  };
  for (std::int64_t i = 0; i < lines; ++i) update(i);
  for (; at < n; ++at) {
    std::int64_t i = 0;
    for (; i + N <= lines; i += N) {
      if (!any(may_pass(load_compute<V::size>(x + at * inner + i), V::load(limits + i)))) continue;
      for (std::int64_t j = i; j < i + N; ++j) {
        if (take(at, j)) update(j);
      }
    }
    for (; i < lines; ++i) take(at, i);
  }
}

template <class T, class Item>
void top_k(const Executor& executor, bool largest, const T* x, std::int64_t outer, std::int64_t n,
           std::int64_t inner, std::int64_t k, T* values, std::int64_t* indices, void* workspace) {
  const std::int64_t lines = outer * inner, tasks = sort_tasks(lines, n);
  const std::int64_t columns = top_k_columns<T>(n, inner, k), room = top_k_room(n, k);
  const std::int64_t each = (k <= few_best ? 1 : 2) * room;
  parallel_for(executor, tasks, [&](std::int64_t task) {
    Item* const memory = static_cast<Item*>(workspace) + task * columns * each;
    const std::int64_t end = lines * (task + 1) / tasks;
    std::int64_t count = 0;
    TopLine<T, Item> tops[most_top_k_columns];
    for (std::int64_t line = lines * task / tasks; line < end; line += count) {
      const std::int64_t o = line / inner, i = line % inner;
      count = inner - i < columns ? inner - i : columns;
      count = end - line < count ? end - line : count;
      for (std::int64_t c = 0; c < count; ++c) {
        Item* const items = memory + c * each;
        tops[c] = {items, items + room, k, room};
      }
      const T* const from = x + o * n * inner + i;
      if (largest) {
        top_k_lines<true>(from, n, inner, count, tops);
      } else {
        top_k_lines<false>(from, n, inner, count, tops);
      }
      for (std::int64_t c = 0; c < count; ++c) {
        tops[c].finish();
        for (std::int64_t at = 0; at < k; ++at) {
          const std::int64_t index = index_of(tops[c].items[at]);
          const std::int64_t to = (o * k + at) * inner + i + c;
          values[to] = from[index * inner + c];
          indices[to] = index;
        }
      }
    }
  });
}

}  // namespace detail

/// Bytes of scratch memory of top_k.
template <class T>
constexpr std::int64_t top_k_workspace(std::int64_t outer, std::int64_t n, std::int64_t inner,
                                       std::int64_t k) {
  return sort_tasks(outer * inner, n) * detail::top_k_columns<T>(n, inner, k) *
         detail::top_k_line_bytes<T>(n, k);
}

/// The k largest (or smallest) of x[o, :, i], best first, and where they are; equal ones in the
/// order of their indices. x is [outer, n, inner], values and indices are [outer, k, inner].
template <class T>
void top_k(const Executor& executor, bool largest, const T* x, std::int64_t outer, std::int64_t n,
           std::int64_t inner, std::int64_t k, T* values, std::int64_t* indices, void* workspace) {
  if (k == 0 || outer * inner == 0) return;
  if constexpr (sizeof(T) <= 4) {
    if (detail::has_short_codes<T>(n)) {
      return detail::top_k<T, PackedCode>(executor, largest, x, outer, n, inner, k, values, indices,
                                          workspace);
    }
  }
  detail::top_k<T, Coded>(executor, largest, x, outer, n, inner, k, values, indices, workspace);
}

}  // namespace halftone::kernel
