#include "popart/merged_updates.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/schedule.hpp>

namespace popart::detail {

namespace {

/// What updates of one group have in common.
using Kind = std::vector<std::int64_t>;

/// The kind of a node; none if it is no update that could be merged.
std::optional<Kind> kindOf(const halftone::Graph& graph, const halftone::Uses& uses,
                           const halftone::Node& node) {
  using halftone::op::Update;
  if (node.op->id != Update::id) return {};
  const auto update = halftone::unpack<Update>(node.attributes);
  // LAMB takes norms of whole weights.
  if (update.kind == halftone::op::Optimizing::lamb) return {};
  const halftone::TensorId weight = node.inputs[0], updated = node.outputs[0];
  if (!halftone::is_variable(graph.tensor(weight)) || graph.name(weight).empty()) return {};
  const bool isOutput =
      std::find(graph.outputs.begin(), graph.outputs.end(), updated) != graph.outputs.end();
  if (isOutput || uses.count[updated] != 0) return {};
  Kind kind(node.attributes.begin(), node.attributes.end());
  kind.push_back(node.place.ipu);
  kind.push_back(node.place.stage);
  // The numbers of steps that were made are equal for all weights.
  constexpr std::size_t steps = 5;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const halftone::TensorId id = node.inputs[i];
    if (id == halftone::no_tensor) {
      kind.push_back(-1);
      continue;
    }
    const bool isElementwise = graph.info(id).shape == graph.info(weight).shape && i < steps;
    // State that is stored in another type is stored behind the update.
    if (i > 1 && isElementwise && !halftone::is_variable(graph.tensor(id))) return {};
    kind.push_back(static_cast<std::int64_t>(graph.info(id).type));
    if (!isElementwise && i != steps) kind.push_back(id);
  }
  return kind;
}

/// The bytes that values of the graph take when each node has run.
std::vector<std::int64_t> liveBytes(const halftone::Graph& graph, const halftone::Uses& uses) {
  std::vector<std::int64_t> changes(graph.nodes.size() + 1, 0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const halftone::TensorId id : graph.nodes[n].outputs) {
      if (id == halftone::no_tensor || uses.last_read[id] < 0) continue;
      const std::int64_t bytes = halftone::detail::value_bytes(graph.tensor(id));
      changes[n] += bytes;
      const auto last = static_cast<std::size_t>(uses.last_read[id]);
      changes[std::min(last, graph.nodes.size())] -= bytes;
    }
  }
  std::vector<std::int64_t> live;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    live.push_back((live.empty() ? 0 : live.back()) + changes[n]);
  }
  return live;
}

struct Group {
  std::vector<std::string> weights;
  std::int64_t bytes = 0;
};

}  // namespace

std::vector<std::vector<std::string>> mergedUpdates(const halftone::Graph& graph,
                                                    const SessionOptions& options) {
  const MergeVarUpdateType type = options.mergeVarUpdate;
  if (type == MergeVarUpdateType::None) return {};
  const halftone::Uses uses(graph);
  const std::vector<std::int64_t> live = liveBytes(graph, uses);
  const std::int64_t peak = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
  std::vector<Group> groups;
  std::map<Kind, std::size_t> open;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::optional<Kind> kind = kindOf(graph, uses, graph.nodes[n]);
    if (!kind) continue;
    const halftone::TensorId weight = graph.nodes[n].inputs[0];
    const std::int64_t bytes = graph.info(weight).bytes();
    const auto [known, isNew] = open.emplace(*kind, groups.size());
    const std::int64_t most =
        std::min(options.mergeVarUpdateMemThreshold, peak - live[n] + options.looseThresholdAtPeak);
    const bool isFull =
        !isNew &&
        ((type == MergeVarUpdateType::AutoTight &&
          groups[known->second].bytes >= options.mergeVarUpdateMemThreshold) ||
         (type == MergeVarUpdateType::AutoLoose && groups[known->second].bytes + bytes > most));
    if (isNew || isFull) {
      known->second = groups.size();
      groups.emplace_back();
    }
    groups[known->second].weights.emplace_back(graph.name(weight));
    groups[known->second].bytes += bytes;
  }
  std::vector<std::vector<std::string>> merged;
  for (Group& group : groups) {
    if (group.weights.size() > 1) merged.push_back(std::move(group.weights));
  }
  return merged;
}

}  // namespace popart::detail
