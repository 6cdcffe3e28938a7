#pragma once

#include <string>
#include <utility>
#include <vector>

#include <halftone/graph/graph.hpp>

#include "onnx/report.hpp"

#include "cli/commands.hpp"

namespace halftone::cli {

/// A model read from its file, with values for its symbolic extents. Throws what reading it throws,
/// and UsageError if the model has no such symbol. `inputs`: what some of its inputs are.
Graph load_model(const ModelFile& model, std::vector<onnx::InputShape> inputs = {});
/// The same; `report` says what is wrong and what is unusual, also if this throws.
Graph load_model(const ModelFile& model, onnx::Report& report,
                 std::vector<onnx::InputShape> inputs = {});

/// What a model file says about the language that it is written in.
struct Versions {
  std::int64_t ir = 0;
  std::vector<std::pair<std::string, std::int64_t>> opsets;  ///< domain, version
};
Versions versions_of(const std::string& path);
/// "ir 7  opset 13  ai.graphcore 1"
std::string text_of(const Versions& versions);

/// Weights: what has a value that training would change.
Vector<TensorId> parameters_of(const Graph& graph);

/// What a model is, in numbers. Nodes are those of its graph, without subgraphs.
struct ModelFacts {
  std::int64_t nodes = 0, parameters = 0, parameter_bytes = 0;
};
ModelFacts facts_of(const Graph& graph);

/// "[batch, 1, 8, 8] float": the info of a tensor with the symbols of the model for open extents.
std::string info_text(const Graph& graph, TensorId id);

}  // namespace halftone::cli
