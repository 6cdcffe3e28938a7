#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <halftone/base/vector.hpp>
#include <halftone/static/plan.hpp>
#include <halftone/transform/memory_plan.hpp>

namespace halftone::detail {

/// Where the buffers of a plan lie, with the scratch memory and the packed weights that its kernels
/// ask for. A body's arena is a buffer of the step that runs it.
template <class Plan, class Kernels>
struct StaticMemory {
  static constexpr std::size_t steps = Plan::sizes.steps;

  struct Places {
    std::array<std::int64_t, Plan::sizes.buffers + 1> buffers{};  ///< offsets in the arena
    std::array<std::int64_t, steps + 1> scratch{}, packed{};      ///< of steps; -1: none
    std::int64_t arena_bytes = 0, packed_bytes = 0, scratch_steps = 0;
  };

  static constexpr Places places = [] {
    Places result;
    constexpr auto& t = Plan::tables;
    Vector<std::int64_t> own(steps, -1);  // offsets in the frame, at first
    Vector<std::int64_t> bodies(t.frames.size(), 0), sizes(t.frames.size(), 0);
    for (std::size_t f = t.frames.size(); f-- > 0;) {  // bodies come behind what runs them
      const StaticFrame& frame = t.frames[f];
      Vector<Lifetime> lives;
      const auto add = [&](std::int64_t bytes, std::size_t step) {
        const auto at = static_cast<std::int32_t>(step - frame.first_step);
        if (bytes != 0) lives.push_back({bytes, at, at});
      };
      for (std::size_t b = frame.first_buffer; b < frame.end_buffer; ++b) {
        lives.push_back({t.buffers[b].bytes, t.buffers[b].first, t.buffers[b].last});
      }
      for (std::size_t s = frame.first_step; s < frame.end_step; ++s) add(Kernels::scratch[s], s);
      for (std::size_t i = f + 1; i < t.frames.size(); ++i) {
        if (t.frames[i].parent == static_cast<std::int32_t>(f)) {
          add(sizes[i], static_cast<std::size_t>(t.frames[i].parent_step));
        }
      }
      const MemoryPlan plan = plan_memory(lives);
      sizes[f] = plan.bytes;
      std::size_t at = 0;
      for (std::size_t b = frame.first_buffer; b < frame.end_buffer; ++b) {
        result.buffers[b] = plan.offsets[at++];
      }
      for (std::size_t s = frame.first_step; s < frame.end_step; ++s) {
        if (Kernels::scratch[s] != 0) own[s] = plan.offsets[at++];
      }
      for (std::size_t i = f + 1; i < t.frames.size(); ++i) {
        if (t.frames[i].parent != static_cast<std::int32_t>(f)) continue;
        if (sizes[i] != 0) bodies[i] = plan.offsets[at++];
      }
    }
    Vector<std::int64_t> base(t.frames.size(), 0);
    for (std::size_t f = 0; f < t.frames.size(); ++f) {
      const StaticFrame& frame = t.frames[f];
      if (frame.parent >= 0) base[f] = base[static_cast<std::size_t>(frame.parent)] + bodies[f];
      for (std::size_t b = frame.first_buffer; b < frame.end_buffer; ++b) {
        result.buffers[b] += base[f];
      }
      for (std::size_t s = frame.first_step; s < frame.end_step; ++s) {
        const std::int32_t given = t.steps[s].scratch;
        result.scratch[s] = -1;
        if (Kernels::scratch[s] != 0) result.scratch[s] = base[f] + own[s];
        if (given >= 0) result.scratch[s] = result.buffers[static_cast<std::size_t>(given)];
        result.scratch_steps += result.scratch[s] >= 0;
        result.packed[s] = -1;
        if (Kernels::packed[s] == 0) continue;
        result.packed[s] = result.packed_bytes;
        result.packed_bytes += aligned_bytes(Kernels::packed[s]);
      }
    }
    if (!sizes.empty()) result.arena_bytes = aligned_bytes(sizes[0]);
    return result;
  }();

  // What programs have of it at run time.
  static constexpr auto buffers = places.buffers;
  static constexpr auto scratch = places.scratch;
  static constexpr auto packed = places.packed;
};

}  // namespace halftone::detail
