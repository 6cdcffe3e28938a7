#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/kernel/top_k.hpp>

namespace halftone::kernel {

/// Boxes that do not overlap too much with better ones, of each batch and class. Data may be
/// unaligned.
struct NonMaxSuppression {
  const std::byte *boxes = nullptr, *scores = nullptr;  ///< [batches, n, 4], [batches, classes, n]
  std::int64_t batches = 0, classes = 0, n = 0;
  std::int64_t most_per_class = 0;
  float iou_threshold = 0, score_threshold = 0;
  bool has_score_threshold = false, is_centred = false;

  /// Bytes of scratch memory.
  std::int64_t workspace() const { return n * std::int64_t(sizeof(Coded) + sizeof(Box)); }

  /// How many are selected; their [batch, class, box] go to y if it is not null.
  std::int64_t run(void* memory, std::int64_t* y) const {
    auto* const heap = static_cast<Coded*>(memory);
    auto* const kept = reinterpret_cast<Box*>(heap + n);
    std::int64_t total = 0;
    for (std::int64_t line = 0; line < batches * classes; ++line) {
      std::int64_t left = 0, count = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const float score = number(scores, line * n + i);
        if (has_score_threshold && !(score > score_threshold)) continue;
        // The root of the heap is the best, of equal ones that with the lowest index.
        heap[left++] = {order_code(score), -i};
      }
      for (std::int64_t at = left / 2; at-- > 0;) detail::sift_down(heap, left, at);
      while (left > 0 && count < most_per_class) {
        const std::int64_t i = -heap[0].index;
        heap[0] = heap[--left];
        if (left > 0) detail::sift_down(heap, left, 0);
        const Box box(*this, line / classes * n + i);
        bool is_kept = true;
        for (std::int64_t k = 0; k < count && is_kept; ++k) is_kept = !overlap(box, kept[k]);
        if (!is_kept) continue;
        kept[count++] = box;
        if (y != nullptr) {
          y[3 * total] = line / classes;
          y[3 * total + 1] = line % classes;
          y[3 * total + 2] = i;
        }
        ++total;
      }
    }
    return total;
  }

 private:
  struct Box {
    float low[2], high[2];

    Box(const NonMaxSuppression& all, std::int64_t at) {
      float v[4];
      for (int k = 0; k < 4; ++k) v[k] = number(all.boxes, 4 * at + k);
      for (int k = 0; k < 2; ++k) {
        const float a = all.is_centred ? v[k] - v[k + 2] / 2 : v[k];
        const float b = all.is_centred ? v[k] + v[k + 2] / 2 : v[k + 2];
        low[k] = a < b ? a : b;
        high[k] = a < b ? b : a;
      }
    }
    float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
  };

  static float number(const std::byte* data, std::int64_t at) {
    float x;
    __builtin_memcpy(&x, data + at * 4, 4);
    return x;
  }
  /// Whether the share of both boxes' union that is common is above the threshold.
  bool overlap(const Box& a, const Box& b) const {
    float common = 1;
    for (int k = 0; k < 2; ++k) {
      const float low = a.low[k] > b.low[k] ? a.low[k] : b.low[k];
      const float high = a.high[k] < b.high[k] ? a.high[k] : b.high[k];
      if (!(high > low)) return false;
      common *= high - low;
    }
    const float all = a.area() + b.area() - common;
    return all > 0 && common / all > iou_threshold;
  }
};

}  // namespace halftone::kernel
