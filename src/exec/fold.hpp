#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <halftone/graph/graph.hpp>

#include "transform/infer_from_inputs.hpp"

namespace halftone {

/// The bytes of a constant where every kernel can read them (elements aligned); copies if it must.
const void* aligned_data(TensorRecord& tensor);

/// `Evaluate` for the pass `infer`: computes a node of constants and makes its outputs constants.
bool evaluate_constant(void* executor, Graph& graph, std::size_t node);
/// What shapes follow from is small; larger tensors can wait for a run.
inline constexpr std::int64_t most_small_bytes = std::int64_t{1} << 20;
/// evaluate_constant() for nodes whose outputs are small.
bool evaluate_small(void* executor, Graph& graph, std::size_t n);

/// Computes what follows from constants and from the shapes of inputs, so that the shapes of all
/// tensors are known that do not depend on the values of inputs. Throws what does not fit.
void fold_shapes(Graph& graph);

}  // namespace halftone
