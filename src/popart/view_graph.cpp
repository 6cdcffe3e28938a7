#include "popart/view_graph.hpp"

#include <algorithm>
#include <set>

#include <halftone/graph/index.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/op/list.hpp>
#include <halftone/program/buffers.hpp>
#include <halftone/transform/outline.hpp>
#include <halftone/transform/recompute.hpp>
#include <halftone/transform/schedule.hpp>

#include "exec/fold.hpp"
#include "popart/options.hpp"
#include "transform/pipeline.hpp"

namespace popart {

namespace {

/// Views without a name that change no shape, and those that only give another node's output a name, are
/// no steps of a program and nothing that PopART has.
void removeIdle(halftone::Graph& graph) {
  const halftone::Uses uses(graph);
  halftone::TensorMap<halftone::TensorId> same(graph, halftone::no_tensor);
  const auto isOutput = [&](halftone::TensorId id) {
    return std::count(graph.outputs.begin(), graph.outputs.end(), id) != 0;
  };
  for (halftone::Node& node : graph.nodes) {
    for (halftone::TensorId& id : node.inputs) {
      if (id != halftone::no_tensor && same[id] != halftone::no_tensor) id = same[id];
    }
    if (!halftone::is_view(node) || node.op->id == halftone::op::Detach::id) continue;
    const halftone::TensorId in = node.inputs[0], out = node.outputs[0];
    if (graph.info(in) != graph.info(out)) continue;
    if (graph.name(out).empty()) {
      if (isOutput(out)) continue;
      same[out] = in;
      node.outputs.clear();
    } else if (const int maker = uses.producer[in];
               graph.name(in).empty() && maker != halftone::no_node && uses.count[in] == 1) {
      halftone::Node& made = graph.nodes[static_cast<std::size_t>(maker)];
      std::replace(made.outputs.begin(), made.outputs.end(), in, out);
      node.outputs.clear();
    }
  }
  const auto end = std::remove_if(
      graph.nodes.begin(), graph.nodes.end(),
      [](const halftone::Node& node) { return halftone::is_view(node) && node.outputs.empty(); });
  graph.nodes.resize(static_cast<std::size_t>(end - graph.nodes.begin()));
}

/// Evaluates nodes none of whose constants another node reads as well, and those that shapes may follow
/// from.
bool evaluateUnshared(void* executor, halftone::Graph& graph, std::size_t n) {
  const halftone::Node& node = graph.nodes[n];
  const auto readers = [&](halftone::TensorId id) {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const halftone::Node& reader) {
      return std::count(reader.inputs.begin(), reader.inputs.end(), id) != 0;
    });
  };
  const bool isFloat =
      std::any_of(node.outputs.begin(), node.outputs.end(), [&](halftone::TensorId id) {
        return id != halftone::no_tensor && halftone::is_floating_point(graph.info(id).type);
      });
  const bool isShared = std::any_of(
      node.inputs.begin(), node.inputs.end(),
      [&](halftone::TensorId id) { return id != halftone::no_tensor && readers(id) > 1; });
  return !(isFloat && isShared) && halftone::evaluate_constant(executor, graph, n);
}

/// The outputs of nodes that run again for the gradients.
std::set<halftone::TensorId> recomputedTensors(const halftone::Graph& graph,
                                               halftone::Recomputation mode) {
  if (!halftone::detail::may_recompute(graph, mode)) return {};
  const halftone::detail::RecomputedNodes again(graph, mode);
  std::set<halftone::TensorId> found;
  for (const halftone::Node& node : graph.nodes) {
    for (const halftone::TensorId id : node.outputs) {
      if (again.repeated_by(id) != halftone::no_node) found.insert(id);
    }
  }
  return found;
}

/// Has nodes say whether they run again; with explicit recomputation other nodes do it for them.
void markRecomputed(halftone::Graph& graph, const std::set<halftone::TensorId>& recomputed,
                    bool isExplicit) {
  using halftone::Recompute;
  for (halftone::Node& node : graph.nodes) {
    Recompute& says = node.place.recompute;
    const bool isAgain =
        std::any_of(node.outputs.begin(), node.outputs.end(),
                    [&](halftone::TensorId id) { return recomputed.count(id) != 0; });
    if (isAgain) {
      says = isExplicit ? Recompute::checkpoint : Recompute::recompute;
    } else if (says == Recompute::recompute && !halftone::is_recomputed(node.place)) {
      says = Recompute::undefined;
    }
  }
}

}  // namespace

detail::ViewedGraph detail::viewedGraph(const IrSource& source, IrPoint point) {
  const bool isForward = point == IrPoint::Fwd0 || point == IrPoint::Fwd1;
  halftone::Graph graph = point == IrPoint::Fwd0   ? source.model
                          : point == IrPoint::Fwd1 ? source.rewritten
                                                   : source.graph;
  graph.model.clear();
  halftone::Vector<halftone::TensorId> kept;
  for (const TensorId& id : source.dataFlow.anchors()) {
    if (const halftone::TensorId anchor = graph.find(id); anchor != halftone::no_tensor) {
      kept.push_back(anchor);
    }
  }
  if (isForward && !source.loss.empty()) kept.push_back(graph.find(source.loss));
  if (!kept.empty() || !isForward) graph.outputs = std::move(kept);
  if (point == IrPoint::Fwd0) return {graph, graph.graphs.size()};
  halftone::kernel::Executor executor;
  const bool foldsShared = source.options.enableConstantFoldingOfMultipleConsumers;
  const halftone::PassOptions passes{
      .evaluate = foldsShared ? &halftone::evaluate_constant : &evaluateUnshared,
      .evaluate_context = &executor};
  if (!source.isTraining() && source.options.constantWeights) {
    graph = halftone::pass::constants(std::move(graph), passes);
  }
  graph = halftone::pass::random_seeds(std::move(graph), passes);
  graph = halftone::pass::infer(std::move(graph), passes);
  graph = halftone::without_dead_code(std::move(graph));
  removeIdle(graph);
  const halftone::Recomputation mode = recomputationOf(source.options);
  const std::set<halftone::TensorId> recomputed = recomputedTensors(graph, mode);
  const bool isExplicit = source.options.explicitRecomputation;
  if (isExplicit && point >= IrPoint::PreAlias) {
    graph = halftone::recompute(std::move(graph), mode);
  }
  markRecomputed(graph, recomputed, isExplicit);
  if (point >= IrPoint::PreAlias) graph = halftone::schedule(std::move(graph));
  const std::size_t bodies = graph.graphs.size();
  if (point == IrPoint::Final && source.options.enableOutlining) {
    graph = halftone::outline(std::move(graph), {.threshold = source.options.outlineThreshold});
  }
  return {std::move(graph), bodies};
}

detail::InPlace::InPlace(const halftone::Graph& graph) : over_(graph.nodes.size(), {-1, -1}) {
  // A program reads inputs from the caller's memory; on a device they are buffers that the host
  // has written, as if a node had made them.
  halftone::Graph made = graph;
  for (const halftone::TensorId id : graph.inputs) {
    halftone::Node load{.op = &halftone::descriptor<halftone::op::HostLoad>};
    load.outputs.push_back(id);
    made.tensor(id).role = halftone::Role::value;
    made.nodes.push_back(std::move(load));
  }
  std::rotate(made.nodes.begin(),
              made.nodes.begin() + static_cast<std::ptrdiff_t>(graph.nodes.size()),
              made.nodes.end());
  made.inputs.clear();
  const halftone::Buffers buffers(made, true, true);
  const std::size_t first = graph.inputs.size();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const halftone::Node& node = graph.nodes[n];
    for (std::size_t o = 0; o < node.outputs.size() && over_[n].first < 0; ++o) {
      const halftone::TensorId out = node.outputs[o];
      if (out == halftone::no_tensor || buffers.is_late[n + first]) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const halftone::TensorId in = node.inputs[i];
        if (in == halftone::no_tensor) continue;
        const bool isView =
            buffers.shares(made, n + first) && buffers.root[in] == buffers.root[out];
        const int buffer = buffers.of(out);
        if (!isView && (buffer == halftone::Buffers::none || buffer != buffers.of(in))) continue;
        over_[n] = {static_cast<int>(i), static_cast<int>(o)};
        break;
      }
    }
  }
}

}  // namespace popart
