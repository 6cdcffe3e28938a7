#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/transform/infer.hpp>

namespace halftone {

/// `infer` from a graph's inputs, constants and variables alone. What the model states of tensors
/// that nodes compute is forgotten: the values of a run may give them other shapes. Operators on
/// sequences whose items are known are replaced.
std::vector<Defect> infer_from_inputs(Graph& graph, Evaluate evaluate, void* context);

/// Gives a graph that was inferred so what the model, `stated`, says of tensors whose shapes
/// inference did not find.
void recall_statements(Graph& graph, const Graph& stated);

/// What shapes follow from is small; larger tensors can wait for a run.
inline constexpr std::int64_t most_small_bytes = std::int64_t{1} << 20;
/// evaluate_constant() for nodes whose outputs are small.
bool evaluate_small(void* executor, Graph& graph, std::size_t n);

/// Computes what follows from constants and from the shapes of inputs, so that the shapes of all
/// tensors are known that do not depend on the values of inputs. Throws what does not fit.
void fold_shapes(Graph& graph);
/// The same, unless the shapes of all tensors are known already and none is a sequence.
void fold_unknown_shapes(Graph& graph);

}  // namespace halftone
