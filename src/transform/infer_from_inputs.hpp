#pragma once

#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/transform/defects.hpp>

namespace halftone {

/// `infer` from a graph's inputs, constants and variables alone. What the model states of tensors
/// that nodes compute is forgotten: the values of a run may give them other shapes. Operators on
/// sequences whose items are known are replaced.
Vector<Defect> infer_from_inputs(Graph& graph, Evaluate evaluate, void* context);

/// Gives a graph that was inferred so what the model, `stated`, says of tensors whose shapes
/// inference did not find.
void recall_statements(Graph& graph, const Graph& stated);

}  // namespace halftone
