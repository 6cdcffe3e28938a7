#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Normalizations with constants of channels that lie in blocks, and the Relu behind them, go into the
/// convolution that alone reads them: it copies its input anyway where products take bfloat16, so that
/// normalized values never go to memory. Comes after `block_channels`.
Graph fuse_normalizations(Graph graph);

}  // namespace halftone
