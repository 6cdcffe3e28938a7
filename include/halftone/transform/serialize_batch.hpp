#pragma once

#include <cstdint>

#include <halftone/graph/graph.hpp>

namespace halftone {

/// A model that computes its batch in `factor` parts, one after the other: nodes that treat every row
/// by itself are repeated for each part of the rows, and a part's intermediate values are gone before
/// the next part needs room. Where rows come together (losses, statistics of a batch, random masks,
/// operators that are not known to treat rows alone) the parts are put together. For models that are
/// to be trained, before train().
///
/// The batch is dimension 0 of the first input that has dimensions, and of those with the same extent.
/// Results are those of the whole batch bit for bit, unless a part has a single row; gradients are
/// sums over the parts, so that they differ by rounding.
///
/// errors  UsageError: a factor below 1, or that the batch is shorter than or no multiple of; a batch
///         that is not known; a graph that is trained already
/// source  PopART's batchSerializationSettings, BatchSerializationMethod::UnrollStatic
Graph serialize_batch(Graph graph, std::int64_t factor);

}  // namespace halftone
