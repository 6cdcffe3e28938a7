#pragma once

#include <cstdint>
#include <span>

#include <halftone/base/vector.hpp>

namespace halftone {

/// A buffer that is needed from step `first` to step `last`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  std::int32_t first = 0, last = 0;
};

struct MemoryPlan {
  Vector<std::int64_t> offsets;  ///< of each buffer in the arena, multiples of the alignment
  std::int64_t bytes = 0;        ///< size of the arena
};

namespace detail {

constexpr std::int64_t aligned_size(const Lifetime& buffer, std::int64_t alignment) {
  return (buffer.bytes + alignment - 1) / alignment * alignment;
}

/// Bytes live at each step.
constexpr Vector<std::int64_t> live_bytes(std::span<const Lifetime> buffers,
                                          std::int64_t alignment) {
  std::int32_t steps = 0;
  for (const Lifetime& b : buffers) steps = b.last + 1 > steps ? b.last + 1 : steps;
  Vector<std::int64_t> live(static_cast<std::size_t>(steps) + 1, 0);
  for (const Lifetime& b : buffers) {
    const std::int64_t size = aligned_size(b, alignment);
    live[static_cast<std::size_t>(b.first)] += size;
    live[static_cast<std::size_t>(b.last) + 1] -= size;
  }
  for (std::size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
  return live;
}

/// 0, 1, ... by what comes first. A merge sort: stable, and constexpr where std::stable_sort is
/// not.
template <class Before>
constexpr Vector<std::size_t> sorted(std::size_t count, Before before) {
  Vector<std::size_t> order(count, 0), merged(count, 0);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  for (std::size_t width = 1; width < count; width *= 2) {
    for (std::size_t low = 0; low < count; low += 2 * width) {
      const std::size_t middle = low + width < count ? low + width : count;
      const std::size_t high = low + 2 * width < count ? low + 2 * width : count;
      std::size_t a = low, b = middle;
      for (std::size_t at = low; at < high; ++at) {
        const bool left = a < middle && (b == high || !before(order[b], order[a]));
        merged[at] = order[left ? a++ : b++];
      }
    }
    order.swap(merged);
  }
  return order;
}

/// Each buffer in this order at the lowest place that is free for all of its life.
constexpr MemoryPlan place(std::span<const Lifetime> buffers, std::span<const std::size_t> order,
                           std::int64_t alignment) {
  struct Placed {
    std::int64_t begin, end;
    std::int32_t first, last;
  };
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  Vector<Placed> placed;  // in the order of their offsets
  for (const std::size_t i : order) {
    const std::int32_t first = buffers[i].first, last = buffers[i].last;
    const std::int64_t size = aligned_size(buffers[i], alignment);
    if (size == 0) continue;
    std::int64_t at = 0;
    // Through a pointer, which constant evaluation is quick with.
    const Placed* other = placed.data();
    for (const Placed* const end = other + placed.size(); other != end; ++other) {
      if (other->last < first || last < other->first) continue;
      if (other->begin >= at + size) break;
      if (other->end > at) at = other->end;
    }
    plan.offsets[i] = at;
    plan.bytes = at + size > plan.bytes ? at + size : plan.bytes;
    placed.push_back({at, at + size, first, last});
    for (Placed* own = placed.data() + placed.size() - 1; own != placed.data(); --own) {
      if (own[-1].begin <= at) break;
      const Placed moved = own[-1];
      own[-1] = *own;
      *own = moved;
    }
  }
  return plan;
}

}  // namespace detail

/// Largest sum of bytes live at one step: no plan can do with less.
constexpr std::int64_t live_peak(std::span<const Lifetime> buffers, std::int64_t alignment = 64) {
  std::int64_t peak = 0;
  for (const std::int64_t live : detail::live_bytes(buffers, alignment)) {
    peak = live > peak ? live : peak;
  }
  return peak;
}

/// Places buffers in one arena so that those that live at the same time do not overlap: the largest
/// first or, if that leaves gaps and this leaves less, those of the steps where the most is live
/// first, of those the ones that live longest. Quadratic in their number.
constexpr MemoryPlan plan_memory(std::span<const Lifetime> buffers, std::int64_t alignment = 64) {
  const auto is_larger = [&](std::size_t a, std::size_t b) {
    return buffers[a].bytes > buffers[b].bytes;
  };
  MemoryPlan plan = detail::place(buffers, detail::sorted(buffers.size(), is_larger), alignment);
  if (plan.bytes == live_peak(buffers, alignment)) return plan;

  const Vector<std::int64_t> live = detail::live_bytes(buffers, alignment);
  Vector<std::int64_t> most(buffers.size(), 0);  // live during its life
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::int64_t* at = live.data() + buffers[i].first;
    std::int64_t peak = 0;
    for (const std::int64_t* const end = live.data() + buffers[i].last; at <= end; ++at) {
      if (*at > peak) peak = *at;
    }
    most[i] = peak;
  }
  const auto is_tighter = [&](std::size_t a, std::size_t b) {
    if (most[a] != most[b]) return most[a] > most[b];
    const std::int32_t life_a = buffers[a].last - buffers[a].first;
    const std::int32_t life_b = buffers[b].last - buffers[b].first;
    return life_a != life_b ? life_a > life_b : is_larger(a, b);
  };
  MemoryPlan other = detail::place(buffers, detail::sorted(buffers.size(), is_tighter), alignment);
  return other.bytes < plan.bytes ? other : plan;
}

}  // namespace halftone
