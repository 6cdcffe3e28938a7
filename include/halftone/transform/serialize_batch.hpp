#pragma once

#include <cstdint>

#include <halftone/graph/graph.hpp>

namespace halftone {

/// How the parts of a batch are cut out and put together.
///
/// source  popart::BatchSerializationMethod
enum class BatchMethod : std::uint8_t {
  unroll_static,   ///< each part has nodes of its own; Slice and Concat, whose places are known
  unroll_dynamic,  ///< the same with DynamicSlice and DynamicUpdate, whose code all parts share
  loop,            ///< nodes between two places where rows come together are the body of a Scan
};

/// A model that computes its batch in `factor` parts, one after the other: nodes that treat every row
/// by itself run once for each part of the rows, and a part's intermediate values are gone before
/// the next part needs room. Where rows come together (losses, statistics of a batch, random masks,
/// operators that are not known to treat rows alone) the parts are put together. Of a model that is to
/// be trained, before train(): its gradients are then computed in parts, too. With a loop, what only
/// the body uses is no tensor of the graph any more, and the gradient runs the body's nodes again.
///
/// The batch is dimension 0 of the first input that has dimensions, and of those with the same extent.
/// Results are those of the whole batch but for rounding: gradients are sums over the parts, and other
/// kernels may be chosen for a single row or in a loop.
///
/// errors  UsageError: a factor below 1, or that the batch is shorter than or no multiple of; a batch
///         that is not known; a graph that is trained already
/// source  PopART's batchSerializationSettings
Graph serialize_batch(Graph graph, std::int64_t factor,
                      BatchMethod method = BatchMethod::unroll_static);

}  // namespace halftone
