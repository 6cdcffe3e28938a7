#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Activations in blocks that convolutions alone make and read, also through MaxPool and Concat, become pairs
/// of channels in bfloat16 (see op::PairedConv), to which their products round them anyway; those that are
/// added to a convolution's sums are rounded as well. Comes after what chooses forms of convolutions.
Graph pair_channels(Graph graph);

}  // namespace halftone
