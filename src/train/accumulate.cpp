#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/op/list.hpp>
#include <halftone/train.hpp>
#include <halftone/train/operators.hpp>
#include <halftone/train/state.hpp>
#include <halftone/transform/shard.hpp>

namespace halftone {
namespace training = detail::training;
namespace {

/// The node that counts the runs of a graph that is trained; null for other graphs.
template <class G>
auto* clock_of(G& graph) {
  const auto at = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op->id == training::TrainingStep::id;
  });
  return at == graph.nodes.end() ? nullptr : &*at;
}

/// The element type in which the gradients g of a weight are added up.
ElementType sum_type_of(const Graph& graph, TensorId g, TensorId weight,
                        const training::TrainingStep& step) {
  const auto asked = static_cast<ElementType>(step.sum_type);
  if (asked == ElementType::undefined && !step.sum_as_weight) return graph.info(g).type;
  const ElementType type =
      detail::stored_element_of(graph.info(weight).type, asked, step.sum_as_weight);
  if (type != graph.info(g).type && graph.replicas > 1) {
    fail(ErrorKind::unsupported,
         {.what = "replicas join sums of gradients only in the type that updates are computed in",
          .tensor = graph.name(weight),
          .expected = name(graph.info(g).type),
          .found = name(type)});
  }
  return type;
}

/// Adds a gradient to what the runs of a step have brought so far; gives the sum or mean.
TensorId record_accumulation(Graph& graph, TensorId g, TensorId weight,
                             const training::TrainingStep& step, TensorId position,
                             TensorId& total) {
  const TensorInfo computed = graph.info(g);
  TensorInfo info = computed;
  info.type = sum_type_of(graph, g, weight, step);
  const bool is_mean =
      static_cast<AccumulationReduction>(step.reduction) == AccumulationReduction::running_mean;
  total = detail::find_or_add_state(graph, info, detail::sum_state, weight).id;
  if (!is_mean && info.type == computed.type) {
    return detail::record(graph, op::Accumulate{}, {total, g}, 1)[0];
  }
  AnyTensor before{&graph, position};
  if (computed.type != ElementType::float32) before = op::cast(before, {.to = computed.type});
  if (computed.rank() == 0) before = op::reshape(before, constant(graph, Dims{}));
  AnyTensor so_far{&graph, total};
  if (info.type != computed.type) so_far = op::cast(so_far, {.to = computed.type});
  AnyTensor next{&graph, g};
  if (is_mean) {
    next = (so_far * before + next) / (before + 1);
  } else {
    next = so_far + next;
  }
  if (info.type != computed.type) next = op::cast(next, {.to = info.type});
  next.id = detail::record(graph, op::CopyVarUpdate{}, {total, next.id}, 1)[0];
  if (info.type != computed.type) next = op::cast(next, {.to = computed.type});
  return next.id;
}

/// Whether a node joins the gradients of the replicas, of which the weights are known.
bool is_join(const Node& node, const TensorMap<TensorId>& weight) {
  return node.op->id == op::ReplicatedAllReduce::id && weight[node.outputs[0]] != no_tensor;
}
/// The same for the replicas' totals, in the runs that end a step; gives the total.
TensorId record_join(Graph& graph, const Node& join, TensorId total, TensorId apply) {
  const auto reduce = unpack<op::ReplicatedAllReduce>(join.attributes);
  const bool is_mean = reduce.collective.collective_operator == CollectiveOperator::mean;
  const PlaceScope there(graph, join.place);
  return detail::record(
      graph, training::JoinTotal{.is_mean = is_mean, .grouping = reduce.collective.grouping},
      {total, apply}, 1)[0];
}

/// Records an update that uses the total of its gradient, in the runs that end a step.
void record_with_total(Graph& graph, Node node, TensorId total, TensorId apply) {
  auto update = unpack<op::Update>(node.attributes);
  update.clear = true;
  node.attributes = pack(update);
  const ElementType computed = graph.info(node.inputs[1]).type;
  const bool is_rounded = graph.info(total).type != computed;
  const Place place = node.place;
  node.inputs[1] = is_rounded ? op::cast(AnyTensor{&graph, total}, {.to = computed}).id : total;
  node.inputs.resize(descriptor<op::Update>.signature.inputs(), no_tensor);
  node.inputs.back() = apply;
  graph.nodes.push_back(std::move(node));
  if (!is_rounded) return;
  const PlaceScope there(graph, place);
  const AnyTensor next = op::where(AnyTensor{&graph, apply}, 0, AnyTensor{&graph, total});
  detail::record(graph, op::CopyVarUpdate{}, {total, next.id}, 1);
}

/// The nodes of a step that are right in every run of it as they are.
bool is_of_every_run(const Node& node) {
  constexpr const OpId* ids[] = {&training::TrainingStep::id, &training::Setting::id,
                                 &training::LossScalingRatio::id, &training::RescaleState::id,
                                 &training::AdjustLossScaling::id};
  return std::any_of(std::begin(ids), std::end(ids),
                     [&](const OpId* id) { return node.op->id == *id; });
}

/// What updates of the program's own change, as it was before a run.
struct Kept {
  TensorId variable = no_tensor, before = no_tensor;
};

/// Finds the variables that updates of the program's own change: behind the clock, where no
/// gradients are, every change is theirs.
std::vector<Kept> changed_by_own_updates(const Graph& graph, const Node* clock) {
  std::vector<Kept> kept;
  const Aliases aliases(graph);
  for (const Node* node = clock + 1; node != graph.nodes.data() + graph.nodes.size(); ++node) {
    if (is_of_every_run(*node)) continue;
    for_each_modified(*node, [&](std::size_t i) {
      const TensorId variable = aliases.root(node->inputs[i]);
      if (is_variable(graph.tensor(variable)) &&
          std::none_of(kept.begin(), kept.end(),
                       [&](const Kept& k) { return k.variable == variable; })) {
        kept.push_back({variable});
      }
    });
  }
  return kept;
}

/// Copies variables before the updates of a run.
void record_copies(Graph& graph, std::vector<Kept>& kept) {
  for (Kept& k : kept) {
    k.before =
        detail::find_or_add_state(graph, graph.info(k.variable), detail::kept_state, k.variable).id;
    detail::record(graph, op::CopyVarUpdate{}, {k.before, k.variable}, 1);
  }
}

/// Takes changes back in the runs that end no step; in the others the next step's totals start.
void record_end_of_own_updates(Graph& graph, const std::vector<Kept>& kept,
                               const Vector<TensorId>& totals, TensorId apply) {
  const AnyTensor ends{&graph, apply};
  for (const Kept& k : kept) {
    const AnyTensor after{&graph, k.variable}, before{&graph, k.before};
    const AnyTensor next = op::where(ends, after, before);
    detail::record(graph, op::CopyVarUpdate{}, {k.variable, next.id}, 1);
  }
  for (const TensorId id : totals) {
    const AnyTensor next = op::where(ends, 0, AnyTensor{&graph, id});
    detail::record(graph, op::CopyVarUpdate{}, {id, next.id}, 1);
  }
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
  if (is_sharded(graph)) {
    fail(ErrorKind::usage,
         {.what = "a graph whose replicas share weights cannot accumulate any more",
          .hint = "TrainOptions::accumulation, then shard()"});
  }
  step.runs = runs;
  clock->attributes = pack(step);
  const TensorId apply = clock->outputs[0], position = clock->outputs[1];

  std::vector<Kept> kept;
  const bool has_own = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op->id == training::StepGradient::id;
  });
  if (has_own) kept = changed_by_own_updates(graph, clock);
  TensorMap<TensorId> weight(graph, no_tensor), total(graph, no_tensor), sum(graph, no_tensor);
  for (const Node& node : graph.nodes) {
    if (node.op->id == training::StepGradient::id) weight[node.inputs[0]] = node.inputs[1];
    if (!has_own && node.op->id == op::Update::id) weight[node.inputs[1]] = node.inputs[0];
  }
  // A replica adds up its own gradients; they are joined once, when the step ends.
  for (const Node& node : graph.nodes) {
    if (is_join(node, weight)) weight[node.inputs[0]] = weight[node.outputs[0]];
  }
  Vector<TensorId> totals;
  const InPart backward(graph, Part::backward);
  Vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    if (is_join(node, weight)) {
      const TensorId own = node.inputs[0], g = node.outputs[0];
      total[g] = total[own];
      sum[g] = record_join(graph, node, total[own], apply);
      continue;
    }
    if (!has_own && node.op->id == op::Update::id) {
      const TensorId own = total[node.inputs[1]];
      record_with_total(graph, std::move(node), own, apply);
      continue;
    }
    for (TensorId& id : node.inputs) {
      if (id != no_tensor && sum[id] != no_tensor) id = sum[id];
    }
    if (node.op->id == training::AdjustLossScaling::id) node.inputs.push_back(apply);
    const bool is_clock = node.op->id == training::TrainingStep::id;
    const Vector<TensorId> outputs = node.outputs;
    graph.nodes.push_back(std::move(node));
    if (is_clock) record_copies(graph, kept);
    for (const TensorId g : outputs) {
      if (g == no_tensor || weight[g] == no_tensor) continue;
      sum[g] = record_accumulation(graph, g, weight[g], step, position, total[g]);
      if (has_own) totals.push_back(total[g]);
    }
  }
  const InPart update(graph, Part::update);
  if (has_own) record_end_of_own_updates(graph, kept, totals, apply);
}

}  // namespace halftone
