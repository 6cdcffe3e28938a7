#include <halftone/transform/shard.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/op/list.hpp>
#include <halftone/train.hpp>
#include <halftone/train/operators.hpp>
#include <halftone/train/state.hpp>

namespace halftone {
namespace training = detail::training;
namespace {

/// A weight that the replicas update in parts.
struct Share {
  TensorId weight = no_tensor;
  TensorId gradient = no_tensor;  ///< as the update reads it
  TensorId total = no_tensor;     ///< of the micro-batches; no_tensor: a step has one
  bool is_mean = false;
  bool shares_total = false, shares_weight = false;
  TensorInfo part{};             ///< of the weight
  TensorId reduced = no_tensor;  ///< the gradient's part, once it is recorded
  TensorId next = no_tensor;     ///< the weight as the update leaves it
  bool is_updated = false;
  TensorId whole_gradient = no_tensor;
  TensorId before = no_tensor, after = no_tensor;  ///< the whole weight, once it is recorded
};

class Sharder {
 public:
  Sharder(Graph graph, const Sharding& sharding)
      : graph_(std::move(graph)),
        sharding_(sharding),
        update_(graph_, none),
        weight_(graph_, none),
        gradient_(graph_, none),
        total_(graph_, none),
        part_of_(graph_, none),
        all_{.grouping = {graph_.replicas, 1, graph_.replicas}} {}

  Graph run() {
    find_shares();
    if (shares_.empty()) return std::move(graph_);
    find_gradients();
    Vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (Node& node : nodes) {
      const PlaceScope there(graph_, node.place);
      rewrite(std::move(node));
    }
    for (TensorId& id : graph_.outputs) id = output(id);
    return std::move(graph_);
  }

 private:
  static constexpr int none = -1;

  void find_shares() {
    for (const Node& node : graph_.nodes) {
      if (node.op->id == training::StepGradient::id) {
        fail(ErrorKind::unsupported,
             {.what = "an update of the program's own is not shared by replicas: it may need the "
                      "whole weight",
              .tensor = graph_.name(node.inputs[1]),
              .hint = "the library's optimizers can be shared"});
      }
      if (node.op->id != op::Update::id) continue;
      const TensorId w = node.inputs[0];
      const TensorInfo info = graph_.info(w);
      const std::int64_t n = info.elements();
      Share share{.weight = w, .gradient = node.inputs[1]};
      share.shares_weight = sharding_.has(graph_.name(w), sharding_.weights, n);
      share.shares_total = is_shared(detail::sum_state, sharding_.accumulators, w);
      const bool is_any = share.shares_total || share.shares_weight || shares_state(w);
      if (!is_any || info.rank() == 0 || n == 0 || graph_.settings(w) != nullptr) continue;
      for (std::size_t i = 2; i < 5; ++i) {
        const TensorId state = node.inputs[i];
        if (state != no_tensor && !is_variable(graph_.tensor(state))) refuse_types(w);
      }
      share.part = {info.type, {(n + graph_.replicas - 1) / graph_.replicas}};
      share.next = node.outputs[0];
      const int number = static_cast<int>(shares_.size());
      update_[w] = number;
      if (share.shares_weight) weight_[w] = weight_[share.next] = number;
      shares_.push_back(share);
    }
  }

  [[noreturn]] void refuse_types(TensorId weight) const {
    fail(
        ErrorKind::unsupported,
        {.what = "replicas do not share an optimizer's state of other types than it is computed in",
         .tensor = graph_.name(weight),
         .hint = "leave TrainOptions::state_types alone, or keep the weight and its state whole"});
  }

  bool is_shared(const detail::StateName& state, const TensorKind& kind, TensorId weight) const {
    const std::string name = std::string(state.prefix) + std::string(graph_.name(weight));
    return sharding_.has(name, kind, graph_.info(weight).elements());
  }
  bool shares_state(TensorId weight) const {
    return std::any_of(std::begin(detail::weight_states), std::end(detail::weight_states),
                       [&](const detail::StateName& state) {
                         return state.state == State::moment &&
                                is_shared(state, sharding_.state, weight);
                       });
  }

  /// Finds the nodes that join the gradients of the replicas.
  void find_gradients() {
    for (Share& share : shares_) gradient_[share.gradient] = number_of(share);
    for (const Node& node : graph_.nodes) {
      if (node.op->id == op::ReplicatedAllReduce::id && gradient_[node.outputs[0]] != none) {
        const auto reduce = unpack<op::ReplicatedAllReduce>(node.attributes);
        share_of(gradient_[node.outputs[0]]).is_mean =
            reduce.collective.collective_operator == CollectiveOperator::mean;
      } else if (node.op->id == training::JoinTotal::id && gradient_[node.inputs[0]] != none) {
        Share& share = share_of(gradient_[node.inputs[0]]);
        share.total = node.inputs[0];
        share.is_mean = unpack<training::JoinTotal>(node.attributes).is_mean;
        gradient_[share.total] = none;
        gradient_[share.gradient = node.outputs[0]] = number_of(share);
        if (share.shares_total) total_[share.total] = number_of(share);
      }
    }
    for (const Share& share : shares_) {
      if (share.shares_total && share.total != no_tensor) divide(share.total);
    }
  }

  void rewrite(Node node) {
    const OpId& id = node.op->id;
    if (id == op::ReplicatedAllReduce::id && gradient_[node.outputs[0]] != none) {
      return reduce(share_of(gradient_[node.outputs[0]]), node);
    }
    if (id == training::JoinTotal::id && gradient_[node.outputs[0]] != none) {
      return join(share_of(gradient_[node.outputs[0]]), node);
    }
    if (id == op::Update::id && update_[node.inputs[0]] != none) {
      Share& share = share_of(update_[node.inputs[0]]);
      return update(share, std::move(node));
    }
    if (id == op::ReduceSumSquare::id && gradient_[node.inputs[0]] != none) {
      const Share& share = share_of(gradient_[node.inputs[0]]);
      return sum_squares(share, std::move(node));
    }
    if (id == training::RescaleState::id && update_[graph_.tensor(node.inputs[0]).of] != none) {
      divide(node.inputs[0]);
      graph_.tensor(node.outputs[0]).info = graph_.info(node.inputs[0]);
    } else if (changes_total(node)) {
      accumulate(node);
    } else {
      for_each_modified(node, [&](std::size_t i) { refuse_change(node.inputs[i]); });
      for (TensorId& input : node.inputs) input = whole(input);
    }
    graph_.nodes.push_back(std::move(node));
  }
  void refuse_change(TensorId id) const {
    if (!weight_.has(id) || weight_[id] == none) return;
    fail(ErrorKind::unsupported,
         {.what = "a weight that replicas hold in parts is changed by another node than its update",
          .tensor = graph_.name(id),
          .hint = "keep the weight whole"});
  }

  /// The gradient of the only micro-batch of a step.
  void reduce(Share& share, const Node& node) { share.reduced = scattered(share, node.inputs[0]); }
  void join(Share& share, const Node& node) {
    if (share.shares_total) {
      share.reduced = share.total;
      return;
    }
    const training::ScatterTotal scatter{.is_mean = share.is_mean, .replicas = graph_.replicas};
    share.reduced = detail::record(graph_, scatter, {share.total, node.inputs[1]}, 1)[0];
  }
  TensorId scattered(const Share& share, TensorId x) {
    op::Collective collective = all_;
    if (share.is_mean) collective.collective_operator = CollectiveOperator::mean;
    return detail::record(graph_, op::ReplicatedReduceScatter{.collective = collective},
                          {x, no_tensor}, 1)[0];
  }

  /// Whether a node belongs to the sum, or the running mean, of micro-batches that is shared.
  bool changes_total(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](TensorId id) { return total_of(id) != none; });
  }
  /// The share whose total, or a number for each of its elements, a tensor is.
  int total_of(TensorId id) const {
    if (id == no_tensor || !total_.has(id)) return none;
    return total_[id] != none ? total_[id] : part_of_[id];
  }
  /// These nodes work element by element: beside totals they read numbers, and gradients, of which
  /// they get the part.
  void accumulate(Node& node) {
    int number = none;
    for (const TensorId id : node.inputs) number = std::max(number, total_of(id));
    const Share& share = share_of(number);
    for (TensorId& id : node.inputs) {
      if (total_of(id) == none && graph_.info(id).shape == host_shape(share.total)) {
        id = scattered(share, id);
      }
    }
    for (const TensorId id : node.outputs) {
      graph_.tensor(id).info = graph_.info(share.total);
      part_of_[id] = number;
    }
  }

  void sum_squares(const Share& share, Node node) {
    const TensorId sum = node.outputs[0];
    node.inputs[0] = share.reduced;
    const TensorId own = graph_.add_tensor({.info = graph_.info(sum)}, {});
    node.outputs[0] = own;
    graph_.nodes.push_back(std::move(node));
    const TensorInfo infos[]{graph_.info(sum)};
    const std::size_t n = graph_.add_node(descriptor<op::ReplicatedAllReduce>,
                                          pack(op::ReplicatedAllReduce{}), {own}, infos);
    graph_.nodes[n].outputs[0] = sum;
  }

  void update(Share& share, Node node) {
    auto rule = unpack<op::Update>(node.attributes);
    // A total that is scattered is cleared there.
    rule.clear = share.shares_total && share.total != no_tensor;
    node.inputs[1] = share.reduced;
    for (std::size_t i = 2; i < 5; ++i) {
      if (node.inputs[i] != no_tensor) divide(node.inputs[i]);
    }
    const TensorId next = node.outputs[0];
    const TensorId apply = node.inputs.size() > 7 ? node.inputs[7] : no_tensor;
    const std::int64_t elements = product(shape_of(share.weight));
    share.is_updated = true;
    if (share.shares_weight) {
      divide(share.weight);
      graph_.tensor(next).info = share.part;
    } else {
      op::Collective own = all_;
      own.collective_operator = CollectiveOperator::local;
      node.inputs[0] = detail::record(graph_, op::ReplicatedReduceScatter{.collective = own},
                                      {share.weight, no_tensor}, 1)[0];
      node.outputs[0] = graph_.add_tensor({.info = share.part}, {});
    }
    if (rule.kind == op::Optimizing::lamb) {
      node.op = &descriptor<training::LambPart>;
      node.attributes = pack(training::LambPart{.update = rule, .elements = elements});
    } else {
      node.attributes = pack(rule);
    }
    const TensorId part = node.outputs[0];
    graph_.nodes.push_back(std::move(node));
    if (share.shares_weight) return;
    const TensorInfo infos[]{graph_.info(next)};
    const std::size_t at =
        graph_.add_node(descriptor<training::GatherParts>, pack(training::GatherParts{}),
                        {share.weight, part, apply}, infos);
    graph_.nodes[at].outputs[0] = next;
  }

  /// What other nodes than the update read: of what lies in parts, the whole.
  TensorId whole(TensorId id) {
    if (id == no_tensor || !weight_.has(id)) return id;
    if (gradient_[id] != none) {
      Share& share = share_of(gradient_[id]);
      if (share.whole_gradient == no_tensor) {
        share.whole_gradient = gathered(share.reduced, shape_of(share.weight));
      }
      return share.whole_gradient;
    }
    if (weight_[id] == none) return id;
    Share& share = share_of(weight_[id]);
    divide(share.weight);
    TensorId& collected = share.is_updated ? share.after : share.before;
    if (collected == no_tensor) {
      collected = gathered(share.is_updated ? share.next : id, host_shape(share.weight));
    }
    return collected;
  }
  TensorId output(TensorId id) {
    const bool is_weight = weight_.has(id) && weight_[id] != none;
    const VariableSettings* const settings = graph_.settings(id);
    const bool is_state = graph_.tensor(id).role == Role::state && settings != nullptr &&
                          settings->shard_over == graph_.replicas;
    return is_state && !is_weight ? gathered(id, host_shape(id)) : whole(id);
  }
  TensorId gathered(TensorId part, const Dims& shape) {
    AnyTensor all{&graph_, detail::record(graph_, op::ReplicatedAllGather{.collective = all_},
                                          {part, no_tensor}, 1)[0]};
    const std::int64_t n = product(shape);
    if (all.info().elements() != n) {
      all = op::slice(all, constant(graph_, Dims{0}), constant(graph_, Dims{n}));
    }
    if (all.info().shape != shape) all = op::reshape(all, constant(graph_, shape));
    return all.id;
  }
  Dims shape_of(TensorId weight) const {
    return graph_.settings(weight) != nullptr ? host_shape(weight) : graph_.info(weight).shape;
  }

  /// Makes a variable one that the replicas hold in parts, unless it is one.
  void divide(TensorId id) {
    if (graph_.settings(id) != nullptr) return;
    TensorInfo& info = graph_.tensor(id).info;
    VariableSettings settings{.grouping = ReplicaGrouping(graph_.replicas, 1, graph_.replicas),
                              .shard_over = graph_.replicas};
    settings.host_shape = info.shape;
    info.shape = {(info.elements() + graph_.replicas - 1) / graph_.replicas};
    graph_.set_variable(id, std::move(settings));
  }
  const Dims& host_shape(TensorId id) const { return graph_.settings(id)->host_shape; }

  Share& share_of(int number) { return shares_[static_cast<std::size_t>(number)]; }
  int number_of(const Share& share) const { return static_cast<int>(&share - shares_.data()); }

  Graph graph_;
  const Sharding& sharding_;
  std::vector<Share> shares_;
  /// Numbers of shares: by the weight that is updated, the weight that is divided, the gradient, and
  /// the total that is divided.
  TensorMap<int> update_, weight_, gradient_, total_;
  TensorMap<int> part_of_;  ///< by what is computed of such a total
  op::Collective all_;
};

}  // namespace

bool is_sharded(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (node.op->id == training::GatherParts::id) return true;
    if (node.op->id != op::Update::id && node.op->id != training::LambPart::id) return false;
    const VariableSettings* const settings = graph.settings(node.inputs[0]);
    return settings != nullptr && settings->shard_over > 1;
  });
}

Graph shard(Graph graph, const Sharding& sharding) {
  if (!sharding.any()) return graph;
  if (accumulation_of(graph) == 0) {
    fail(ErrorKind::usage, {.what = "replicas share the weights of a graph that is not trained",
                            .hint = "train() comes first"});
  }
  if (is_sharded(graph)) {
    fail(ErrorKind::usage, {.what = "the replicas share the weights of this graph already"});
  }
  if (sharding.activations.is_on) {
    fail(ErrorKind::usage, {.what = "replicas have activations of their own, and cannot share them",
                            .expected = "state, accumulators or weights"});
  }
  sharding.check_names(graph);
  if (graph.replicas == 1) return graph;
  return Sharder(std::move(graph), sharding).run();
}

}  // namespace halftone
