#pragma once

#include <halftone/graph/graph.hpp>
#include <halftone/transform/tensor_kind.hpp>

namespace halftone {

/// Which variables the replicas of a training hold in parts: each replica has one part of a tensor's
/// elements, in their order, the last part filled up with zeros. It updates that part of the weight
/// alone: if any of its tensors is shared, a weight's gradients are reduced to parts, and all of its
/// optimizer's state lies in parts.
///
/// accumulators  every micro-batch's gradients are joined before they are added up, so that sums have
///               another order than those of totals that are joined at the end of a step
/// weights       those that are trained; each is put together before the first node that reads it
using Sharding = TensorKinds;

/// A trained graph whose replicas share weights, accumulators and optimizer's state (replicated tensor
/// sharding). The host, files and model_of() still see whole tensors. Weights and losses are bit for
/// bit those of the graph that is given, up to the order of sums in Lamb's and clipped norms and in
/// shared accumulators. A graph of one replica stays as it is.
///
///   g.replicas = 4;
///   train(g, loss, Adam{}, {.accumulation = 2});
///   Session session(shard(std::move(g), {.state = {.is_on = true}}), {.accumulation = 2});
///
/// errors  UsageError: a graph that is not trained, or is shared already; activations;
///         UnsupportedError: an update of the program's own, which may need whole tensors;
///         ModelError: a name that is no variable's
/// source  PopART's TensorLocation::replicatedTensorSharding
Graph shard(Graph graph, const Sharding& sharding);

/// Whether the replicas of a trained graph update parts of weights.
bool is_sharded(const Graph& graph);

}  // namespace halftone
