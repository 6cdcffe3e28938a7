#pragma once

namespace popart {

/// Tiles of a device that is only to be tried, and of a whole IPU.
constexpr int defaultFewTiles = 4;
constexpr int defaultManyTiles = 1216;

}  // namespace popart
