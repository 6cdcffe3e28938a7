#pragma once

#include <algorithm>
#include <cstdint>

#include <halftone/ipu/target.hpp>

/// Cycles of pooling on one tile. source: poplibs' popnn estimators.
namespace halftone::ipu {

enum class PoolVertex : std::uint8_t { sum, max, max_gradient, max_gradient_scale };

/// A tile's part of a pooling: `channel_groups` groups of `channels`, `outputs` positions to begin
/// with, and `rows` rows of outputs, whose windows take `items` runs of `width` positions each.
struct PoolShape {
  std::int64_t channel_groups = 1, channels = 4, outputs = 1, rows = 1, items = 1, width = 1;
};

/// `is_planned`: pointers are packed, as the planner takes them to be.
constexpr std::int64_t pool_cycles(const Target& t, PoolVertex vertex, const PoolShape& shape,
                                   ElementType type, bool is_planned = false) {
  const std::int64_t w = t.worker_contexts, vectors = shape.channels / t.vector_width(type);
  const bool is_gradient = vertex == PoolVertex::max_gradient;
  const std::int64_t pointer = is_planned ? 2 : 0, list = is_planned ? 2 : 5;
  std::int64_t most = 0;
  for (std::int64_t worker = 0; worker < w; ++worker) {
    const std::int64_t rows = shape.rows / w + (worker < shape.rows % w ? 1 : 0);
    const std::int64_t each = shape.outputs * vectors / w;
    // The estimator's numbers are unsigned: it gives every worker one vector more to begin with,
    // unless a channel's positions alone are more than all have.
    const std::int64_t left = shape.outputs - each * w;
    const std::int64_t begun = each + (left < 0 || worker < left ? 1 : 0);
    std::int64_t cycles = 23 + 2 * pointer + (4 + begun) * shape.channel_groups;
    if (rows > 0) {
      const std::int64_t run = is_gradient                 ? 7 + 5 * (shape.width - 1)
                               : vertex == PoolVertex::sum ? 5 + 3 * (shape.width - 1)
                                                           : 4 + 3 * (shape.width - 1);
      const std::int64_t group = 2 + vectors * (3 + run);
      const std::int64_t next = (shape.channel_groups - 1) * (is_gradient ? 6 : 4);
      cycles += 8 + 2 * list + (vertex == PoolVertex::sum ? 2 : 1) +
                (is_gradient ? 6 + 2 * pointer : 0) +
                rows * (15 + shape.items * (23 + shape.channel_groups * group + next));
    }
    most = std::max(most, cycles + 1);
  }
  return 13 + w * most;
}

}  // namespace halftone::ipu
