#pragma once

#include <cstdint>

#include <halftone/graph/graph.hpp>

namespace halftone {

namespace ipu {
struct Target;
}

/// How a model is divided by `place`.
struct PlaceOptions {
  std::int32_t ipus = 0;    ///< 0: as many as there are stages
  std::int32_t stages = 0;  ///< of a pipeline; 0: none, nodes get IPUs alone
  std::int32_t phases = 0;  ///< of execution, instead of stages; phase p is on IPU p modulo `ipus`
  const ipu::Target* target = nullptr;  ///< borrowed; whose cycles count; null: a GC200
};

/// Divides the nodes of a model into consecutive parts: stages or phases, or IPUs where there are none. The
/// slowest part is as fast as it can be, by the emulated cycles of its nodes and of what crosses its
/// ends, and weights fit into the memory of their IPU, if any division has them so. Several stages of one
/// IPU are neighbours.
///
/// It comes before train(), which gives gradients the places that mirror those of their nodes.
///
///   place(graph, {.stages = 2});
///   train(graph, loss, Adam{}, {.accumulation = 8});
///   Session session(std::move(graph), {.accumulation = 8, .schedule = Schedule::one_f_one_b});
///
/// errors  UsageError: numbers that are negative or too large, more IPUs than stages, fewer nodes than
///         stages, a graph that is trained already, nodes that have places already, stages and
///         phases together
/// source  PopART's AutoVirtualGraph and InferPipelineStages, by another rule
void place(Graph& graph, const PlaceOptions& options);

}  // namespace halftone
