#include "cli/model.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include <halftone/onnx.hpp>

#include "base/describe.hpp"
#include "base/file.hpp"
#include "onnx/proto.hpp"

namespace halftone::cli {

Graph load_model(const ModelFile& model, std::vector<onnx::InputShape> inputs) {
  onnx::Report report(model.strict);
  return load_model(model, report, std::move(inputs));
}

Graph load_model(const ModelFile& model, onnx::Report& report,
                 std::vector<onnx::InputShape> inputs) {
  onnx::LoadOptions options{.inputs = std::move(inputs), .strict = model.strict};
  for (const Size& size : model.sizes) options.sizes.push_back({size.name, size.value});
  return onnx::load(model.path, options, report);
}

Versions versions_of(const std::string& path) {
  const Storage file = detail::map_file(path);
  const onnx::ModelMessage model = onnx::read_model({{file.data(), file.size()}, file.data()});
  Versions versions{model.ir_version, {}};
  for (const onnx::OpsetImport& opset : model.opsets) {
    versions.opsets.emplace_back(onnx::domain_of(opset.domain), opset.version);
  }
  return versions;
}

std::string text_of(const Versions& versions) {
  std::string text = fmt::format("ir {}", versions.ir);
  for (const auto& [domain, version] : versions.opsets) {
    text += domain == "ai.onnx" ? fmt::format("  opset {}", version)
                                : fmt::format("  {} {}", detail::escaped(domain), version);
  }
  return text;
}

Vector<TensorId> parameters_of(const Graph& graph) {
  Vector<TensorId> ids;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (is_variable(graph.tensors[i])) ids.push_back(static_cast<TensorId>(i));
  }
  return ids;
}

ModelFacts facts_of(const Graph& graph) {
  ModelFacts facts;
  facts.nodes = static_cast<std::int64_t>(graph.nodes.size());
  for (const TensorId id : parameters_of(graph)) {
    facts.parameters += graph.info(id).elements();
    facts.parameter_bytes += graph.info(id).bytes();
  }
  return facts;
}

std::string info_text(const Graph& graph, TensorId id) {
  const TensorInfo& info = graph.info(id);
  if (!info.is_known()) return "unknown";
  std::string shape;
  for (std::size_t axis = 0; axis < info.rank(); ++axis) {
    std::string extent = info.shape[axis] < 0 ? "?" : fmt::format("{}", info.shape[axis]);
    for (const Symbol& symbol : graph.symbols) {
      if (symbol.tensor == id && symbol.axis == axis && info.shape[axis] < 0) {
        extent = detail::escaped(graph.text(symbol.name));
      }
    }
    shape += (axis > 0 ? ", " : "") + extent;
  }
  return fmt::format("[{}] {}", shape, name(info.type));
}

}  // namespace halftone::cli
