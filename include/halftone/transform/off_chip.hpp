#pragma once

#include <halftone/graph/graph.hpp>
#include <halftone/transform/tensor_kind.hpp>

namespace halftone {

/// A graph in which variables lie in remote buffers, in the streaming memory beside the machine: they
/// are loaded before the nodes that read them, anew in each part of a training step (forward,
/// backward, update), stage and phase, and stored behind those that change them. No result changes. The host sees the
/// same variables.
///
/// limits  variables that no node changes count as constants, and stay where they are
/// errors  ModelError: a name that is no variable's
/// source  PopART's TensorStorage::OffChip
Graph off_chip(Graph graph, const TensorKinds& variables);

}  // namespace halftone
