#pragma once

#include <functional>
#include <string>

#include <halftone/graph/graph.hpp>

namespace popart {

/// A change of a graph by the program: its tensors and nodes are the library's. Tensors that are anchors,
/// the loss or a model's weights keep their names.
using CustomTransform = std::function<halftone::Graph(halftone::Graph)>;

/// Gives a transform the name that experimentalSettings.customTransformApplierSettings asks for it with:
///
///   registerTransform("drop", [](halftone::Graph graph) { ...; return graph; });
///   options.experimentalSettings.customTransformApplierSettings["Fwd0"] = {"drop"};
///
/// Sessions run the transforms of a point in the order of the list: Fwd0 and Fwd1 before gradients are
/// recorded, Bwd0, PreAlias and Final behind updates. Throws popart::error for a name that is taken.
void registerTransform(const std::string& name, CustomTransform transform);

}  // namespace popart
