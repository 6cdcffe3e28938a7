#pragma once

#include <halftone/graph/graph.hpp>
#include <halftone/transform/tensor_kind.hpp>

namespace halftone {

/// A graph in which tensors lie in remote buffers, in the streaming memory beside the machine. No
/// result changes.
///
/// variables    They are loaded before the nodes that read them, anew in each part of a training step
///              (forward, backward, update), stage and phase, and stored behind those that change
///              them. The host sees the same variables.
/// activations  They are stored where they are computed, and loaded before the first gradient that
///              reads them.
///
/// limits  variables that no node changes count as constants, and stay where they are; a pipeline
///         stores nothing while micro-batches are under way, so that its activations have to stay
/// errors  ModelError: a name of neither a variable nor a value
/// source  PopART's TensorStorage::OffChip
Graph off_chip(Graph graph, const TensorKinds& tensors);

}  // namespace halftone
