#include <algorithm>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/train.hpp>
#include <halftone/train/operators.hpp>
#include <halftone/train/state.hpp>

namespace halftone {
namespace {

/// The node that counts the runs of a graph that is trained; null for other graphs.
template <class G>
auto* clock_of(G& graph) {
  const auto at = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op->id == training::TrainingStep::id;
  });
  return at == graph.nodes.end() ? nullptr : &*at;
}

/// Adds a gradient to what the runs of a step have brought so far; gives the sum or mean.
TensorId record_accumulation(Graph& graph, TensorId g, TensorId weight, std::int64_t reduction,
                             TensorId position, TensorId& total) {
  total = detail::find_or_add_state(graph, graph.info(g), detail::sum_state, weight).id;
  if (reduction != static_cast<std::int64_t>(AccumulationReduction::running_mean)) {
    return detail::record(graph, op::Accumulate{}, {total, g}, 1)[0];
  }
  AnyTensor before{&graph, position};
  if (graph.info(g).type != ElementType::float32) {
    before = op::cast(before, {.to = graph.info(g).type});
  }
  if (graph.info(g).rank() == 0) before = op::reshape(before, constant(graph, Dims{}));
  const AnyTensor so_far{&graph, total}, next{&graph, g};
  const AnyTensor mean = (so_far * before + next) / (before + 1);
  return detail::record(graph, op::CopyVarUpdate{}, {total, mean.id}, 1)[0];
}

/// Makes an update use the total of its gradient, in the runs that end a step.
void use_total(Node& node, TensorId total, TensorId apply) {
  auto update = unpack<op::Update>(node.attributes);
  update.clear = true;
  node.attributes = pack(update);
  node.inputs[1] = total;
  node.inputs.resize(descriptor<op::Update>.signature.inputs(), no_tensor);
  node.inputs.back() = apply;
}

}  // namespace

std::int64_t accumulation_of(const Graph& graph) {
  const Node* const clock = graph.model.empty() ? nullptr : clock_of(graph);
  return clock == nullptr ? 0 : unpack<training::TrainingStep>(clock->attributes).runs;
}

void accumulate_gradients(Graph& graph, std::int64_t runs) {
  Node* const clock = clock_of(graph);
  if (clock == nullptr) {
    fail(ErrorKind::usage, {.what = "gradients of a graph that is not trained are accumulated"});
  }
  auto step = unpack<training::TrainingStep>(clock->attributes);
  if (runs == step.runs) return;
  if (step.runs != 1 || runs < 1) {
    fail(ErrorKind::usage, {.what = "the graph takes another number of runs for a step",
                            .expected = DecimalText(step.runs),
                            .found = DecimalText(runs)});
  }
  step.runs = runs;
  clock->attributes = pack(step);
  const TensorId apply = clock->outputs[0], position = clock->outputs[1];

  TensorMap<TensorId> weight(graph, no_tensor), total(graph, no_tensor), sum(graph, no_tensor);
  for (const Node& node : graph.nodes) {
    if (node.op->id == op::Update::id) weight[node.inputs[1]] = node.inputs[0];
  }
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    if (node.op->id == op::Update::id) {
      use_total(node, total[node.inputs[1]], apply);
    } else {
      for (TensorId& id : node.inputs) {
        if (id != no_tensor && sum[id] != no_tensor) id = sum[id];
      }
      if (node.op->id == training::AdjustLossScaling::id) node.inputs.push_back(apply);
    }
    const std::vector<TensorId> outputs = node.outputs;
    graph.nodes.push_back(std::move(node));
    for (const TensorId g : outputs) {
      if (g == no_tensor || weight[g] == no_tensor) continue;
      sum[g] = record_accumulation(graph, g, weight[g], step.reduction, position, total[g]);
    }
  }
}

}  // namespace halftone
