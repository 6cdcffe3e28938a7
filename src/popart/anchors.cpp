#include "popart/anchors.hpp"

#include <algorithm>
#include <string_view>

#include <halftone/graph/index.hpp>
#include <halftone/streams.hpp>
#include <halftone/transform/dead_code.hpp>
#include <popart/error.hpp>

#include "popart/model.hpp"

namespace popart::detail {

halftone::Vector<halftone::TensorId> anchorsIn(const halftone::Graph& graph,
                                               const DataFlow& dataFlow) {
  halftone::Vector<halftone::TensorId> ids;
  for (const TensorId& id : dataFlow.anchors()) {
    const halftone::TensorId native = graph.find(id);
    if (native != halftone::no_tensor) ids.push_back(native);
  }
  return ids;
}

void checkAnchors(const halftone::Graph& graph, const DataFlow& dataFlow) {
  const std::vector<halftone::AnyDeviceToHost> streams = halftone::used_d2h_streams(graph);
  for (const TensorId& id : dataFlow.anchors()) {
    const bool isStream = std::any_of(streams.begin(), streams.end(),
                                      [&](const auto& stream) { return stream.name.view() == id; });
    if (!isStream && graph.find(id) == halftone::no_tensor) {
      throw error("Anchor tensor `{}' not in Ir Tensors.", id);
    }
  }
}

namespace {

void checkStrategy(const TensorId& id, ExchangeStrategy strategy, const SessionOptions& options) {
  if (strategy == ExchangeStrategy::OverlapStep) {
    throw error("Tensor {}: ExchangeStrategy::OverlapStep is not supported", id);
  }
  const bool isOverlapped =
      strategy == ExchangeStrategy::OverlapInnerLoop || strategy == ExchangeStrategy::OverlapLoops;
  if (isOverlapped && !(options.useHostCopyOps && options.enableExplicitMainLoops &&
                        options.virtualGraphMode != VirtualGraphMode::Off)) {
    throw error(
        "Tensor {}: overlapped IO needs useHostCopyOps, enableExplicitMainLoops and a "
        "virtualGraphMode",
        id);
  }
}

}  // namespace

void checkStrategies(const halftone::Graph& graph, const DataFlow& dataFlow,
                     const SessionOptions& options) {
  for (const halftone::TensorId id : graph.inputs) {
    const TensorId name(graph.name(id));
    const int strategy = settingOf(graph, sExchangeStrategyAttribute, name, 0);
    checkStrategy(name, static_cast<ExchangeStrategy>(strategy), options);
  }
  for (const TensorId& id : dataFlow.anchors()) {
    checkStrategy(id, dataFlow.art(id).exchangeStrategy(), options);
  }
}

std::vector<std::string> prune(halftone::Graph& graph, const DataFlow& dataFlow) {
  graph.outputs = anchorsIn(graph, dataFlow);
  graph = halftone::without_dead_code(std::move(graph));
  if (graph.nodes.empty()) {
    throw error("All operations in the main graph were pruned, nothing to compute");
  }
  halftone::TensorMap<bool> isUsed(graph, false);
  for (const halftone::Node& node : graph.nodes) {
    for (const halftone::TensorId id : node.inputs) {
      if (id != halftone::no_tensor) isUsed[id] = true;
    }
  }
  for (const halftone::TensorId id : graph.outputs) isUsed[id] = true;
  std::vector<std::string> unused;
  erase_if(graph.inputs, [&](halftone::TensorId id) {
    if (!isUsed[id]) unused.emplace_back(graph.name(id));
    return !isUsed[id];
  });
  return unused;
}

std::vector<std::string> anchoredGradients(const halftone::Graph& graph, halftone::TensorId loss,
                                           const DataFlow& dataFlow) {
  halftone::TensorMap<bool> isOnPath(graph, false);
  isOnPath[loss] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const halftone::Node& node = graph.nodes[n];
    const auto isUsed = [&](halftone::TensorId id) {
      return id != halftone::no_tensor && isOnPath[id];
    };
    if (std::none_of(node.outputs.begin(), node.outputs.end(), isUsed)) continue;
    for (const halftone::TensorId id : node.inputs) {
      if (id == halftone::no_tensor) continue;
      isOnPath[id] = halftone::is_floating_point(graph.info(id).type);
    }
  }
  constexpr std::string_view prefix = "Gradient___";
  std::vector<std::string> names;
  for (const TensorId& id : dataFlow.anchors()) {
    if (!id.starts_with(prefix)) continue;
    const std::string name = id.substr(prefix.size());
    const halftone::TensorId of = graph.find(name);
    if (of == halftone::no_tensor || !isOnPath[of]) continue;
    if (graph.tensor(of).role != halftone::Role::constant) names.push_back(name);
  }
  return names;
}

}  // namespace popart::detail
