#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Convolutions with constant weights lose what lies at the edges of their kernels and sees nothing but
/// padding, as where dilations reach beyond the input. All infos must be known.
Graph crop_kernels(Graph graph);

}  // namespace halftone
