#pragma once

#include <cstdint>

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Puts nodes that treat the samples of a batch one by one into BatchParts, where the values between
/// them would leave the cache before they are read: then a part of the samples goes through all of
/// these nodes before the next one does. Kernels have to be chosen already. All infos must be known.
///
/// cache_bytes  what a node may read and write at once; a part has one sample at least
Graph batch_parts(Graph graph, std::int64_t cache_bytes);

}  // namespace halftone
