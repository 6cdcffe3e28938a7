#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace halftone {

/// A buffer that is needed from step `first` to step `last`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  std::int32_t first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<std::int64_t> offsets;  ///< of each buffer in the arena, multiples of the alignment
  std::int64_t bytes = 0;             ///< size of the arena
};

/// Largest sum of bytes live at one step: no plan can do with less.
constexpr std::int64_t live_peak(std::span<const Lifetime> buffers, std::int64_t alignment = 64) {
  std::int32_t steps = 0;
  for (const Lifetime& b : buffers) steps = b.last + 1 > steps ? b.last + 1 : steps;
  std::vector<std::int64_t> change(static_cast<std::size_t>(steps) + 1, 0);
  for (const Lifetime& b : buffers) {
    const std::int64_t size = (b.bytes + alignment - 1) / alignment * alignment;
    change[static_cast<std::size_t>(b.first)] += size;
    change[static_cast<std::size_t>(b.last) + 1] -= size;
  }
  std::int64_t live = 0, peak = 0;
  for (const std::int64_t c : change) {
    live += c;
    peak = live > peak ? live : peak;
  }
  return peak;
}

/// Places buffers in one arena so that those that live at the same time do not overlap: the largest
/// first, each at the lowest place that is free for all of its life. Quadratic in their number.
constexpr MemoryPlan plan_memory(std::span<const Lifetime> buffers, std::int64_t alignment = 64) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<std::size_t> order(buffers.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // A merge sort: stable, and constexpr where std::stable_sort is not.
  std::vector<std::size_t> merged(order.size(), 0);
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t low = 0; low < order.size(); low += 2 * width) {
      const std::size_t middle = low + width < order.size() ? low + width : order.size();
      const std::size_t high = low + 2 * width < order.size() ? low + 2 * width : order.size();
      std::size_t a = low, b = middle;
      for (std::size_t at = low; at < high; ++at) {
        const bool left =
            a < middle && (b == high || buffers[order[a]].bytes >= buffers[order[b]].bytes);
        merged[at] = order[left ? a++ : b++];
      }
    }
    order.swap(merged);
  }

  std::vector<std::size_t> placed;  // in the order of their offsets
  for (const std::size_t i : order) {
    const Lifetime& buffer = buffers[i];
    const std::int64_t size = (buffer.bytes + alignment - 1) / alignment * alignment;
    if (size == 0) continue;
    std::int64_t at = 0;
    for (std::size_t p = 0; p < placed.size(); ++p) {
      const Lifetime& other = buffers[placed[p]];
      if (other.last < buffer.first || buffer.last < other.first) continue;
      const std::int64_t begin = plan.offsets[placed[p]];
      const std::int64_t end = begin + (other.bytes + alignment - 1) / alignment * alignment;
      if (begin >= at + size) break;
      at = end > at ? end : at;
    }
    plan.offsets[i] = at;
    plan.bytes = at + size > plan.bytes ? at + size : plan.bytes;
    std::size_t position = 0;
    while (position < placed.size() && plan.offsets[placed[position]] <= at) ++position;
    placed.insert(placed.begin() + static_cast<std::ptrdiff_t>(position), i);
  }
  return plan;
}

}  // namespace halftone
