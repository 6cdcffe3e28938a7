#pragma once

#include <cstdint>

namespace halftone {

/// What stands outside of a padded tensor: one value, the mirrored tensor (its border once), its
/// border, or the tensor again.
enum class PadMode : std::uint8_t { constant, reflect, edge, wrap };

namespace kernel {

/// Where an output position along one dimension comes from.
struct PaddedAxis {
  std::int64_t extent = 0;  ///< of the source, after cropping
  std::int64_t begin = 0;   ///< positions in front of it
  std::int64_t crop = 0;    ///< elements that are left out in front

  constexpr PaddedAxis() = default;
  /// Negative pads crop.
  constexpr PaddedAxis(std::int64_t source, std::int64_t pad_begin, std::int64_t pad_end)
      : extent(source + (pad_begin < 0 ? pad_begin : 0) + (pad_end < 0 ? pad_end : 0)),
        begin(pad_begin > 0 ? pad_begin : 0),
        crop(pad_begin < 0 ? -pad_begin : 0) {}

  /// Position in the source, -1 for the constant.
  constexpr std::int64_t source(std::int64_t position, PadMode mode) const {
    std::int64_t i = position - begin;
    if (i >= 0 && i < extent) return crop + i;
    if (mode == PadMode::constant) return -1;
    if (mode == PadMode::edge) {
      i = i < 0 ? 0 : extent - 1;
    } else {
      const std::int64_t period = mode == PadMode::wrap ? extent : extent == 1 ? 1 : 2 * extent - 2;
      i %= period;
      if (i < 0) i += period;
      if (i >= extent) i = period - i;
    }
    return crop + i;
  }
};

}  // namespace kernel
}  // namespace halftone
