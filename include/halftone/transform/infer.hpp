#pragma once

#include <halftone/base/vector.hpp>
#include <halftone/graph/graph.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/graph/some_attributes.hpp>
#include <halftone/graph/subgraphs.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>

namespace halftone {

/// A node whose inputs do not fit it, or whose outputs are not what the model says.
struct Defect {
  std::size_t node = 0;
  Inferred inferred = Inferred::unknown();
  TensorId tensor = no_tensor;  ///< the output that contradicts, if one does
  TensorInfo stated{};          ///< what the graph said of it until then
  /// The subgraph that holds the node: its index in the graph, then in that one, and so on.
  Vector<std::int32_t> path{};
};

/// The graph that holds a defect's node.
constexpr const Graph& holder_of(const Graph& graph, const Defect& defect) {
  const Graph* holder = &graph;
  for (const std::int32_t index : defect.path) {
    holder = &holder->graphs[static_cast<std::size_t>(index)];
  }
  return *holder;
}

/// Computes the outputs of a node whose inputs are constants; false if it cannot. In the core.
using Evaluate = bool (*)(void* context, Graph& graph, std::size_t node);

namespace detail {

/// Adds what `inferred` knows to what is known of a tensor; false if they contradict.
constexpr bool refine(TensorInfo& known, const TensorInfo& inferred, std::int64_t& expected,
                      std::int64_t& found) {
  if (!inferred.is_known()) return true;
  if (!known.is_known()) {
    known = inferred;
    return true;
  }
  if (known.type != inferred.type || known.rank() != inferred.rank()) {
    expected = static_cast<std::int64_t>(known.rank());
    found = static_cast<std::int64_t>(inferred.rank());
    return false;
  }
  for (std::size_t i = 0; i < known.rank(); ++i) {
    const std::int64_t both = agree(known.shape[i], inferred.shape[i]);
    if (both == contradictory) {
      expected = known.shape[i];
      found = inferred.shape[i];
      return false;
    }
    known.shape[i] = both;
  }
  return true;
}

}  // namespace detail

namespace detail {

/// Gives a node's Subgraph attributes other indices, in their order.
class SetGraphIndices final : public SomeAttributes {
 public:
  constexpr explicit SetGraphIndices(std::span<const std::int32_t> indices) : indices_(indices) {}

  constexpr void graph(std::string_view, std::int32_t& index) override { index = indices_[at_++]; }

 private:
  std::span<const std::int32_t> indices_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Where states, slices and stacked outputs of a node Loop or Scan are; false for other nodes, and
/// if the body does not fit the node.
constexpr bool describe_repeat(const Graph& graph, const Node& node, op::Repeat& repeat) {
  const bool is_loop = node.op->id == op::Loop::id;
  if (!is_loop && node.op->id != op::Scan::id) return false;
  const Graph& body = graph.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
  return is_loop ? op::Loop::describe(node, body, repeat) : op::Scan::describe(node, body, repeat);
}

namespace detail {

/// The tensor whose value an Identity, or a row of them, hands on; itself for others.
constexpr TensorId handed_on(const Graph& graph, TensorId id) {
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (node.op->id != op::Identity::id || node.outputs.empty()) continue;
    if (node.outputs[0] == id) id = node.inputs[0];
  }
  return id;
}

}  // namespace detail

/// How often a Loop or Scan runs its body, if that is known before the run; else `dynamic`.
constexpr std::int64_t pass_count(const Graph& graph, const Node& node, const op::Repeat& repeat) {
  const Graph& body = graph.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
  if (!repeat.is_loop) {
    std::int64_t count = dynamic;
    for (std::size_t i = 0; i < repeat.scanned; ++i) {
      const TensorInfo& x = graph.info(node.inputs[repeat.states + i]);
      if (!x.is_known()) continue;
      const std::size_t axis = normalized_axis(repeat.input_axis(i), x.rank());
      if (axis != x.rank() && x.shape[axis] != dynamic) count = x.shape[axis];
    }
    return count;
  }
  auto constant = [](const Graph& holder, TensorId id) {
    const InputInfo in = input_info(holder, id);
    return Inputs({&in, 1}, 0).integers(0);
  };
  if (has_input(node, 1)) {
    const Vector<std::int64_t> first = constant(graph, node.inputs[1]);
    if (first.size() != 1) return dynamic;
    if (first[0] == 0) return 0;
  }
  if (!has_input(node, 0)) return dynamic;
  const Vector<std::int64_t> most = constant(graph, node.inputs[0]);
  if (most.size() != 1) return dynamic;
  if (most[0] <= 0) return 0;
  // A body may hand on the condition that it got, which was true.
  if (has_input(node, 1) && detail::handed_on(body, body.outputs[0]) != body.inputs[1]) {
    const Vector<std::int64_t> next = constant(body, body.outputs[0]);
    if (next.size() != 1) return dynamic;
    if (next[0] == 0) return 1;
  }
  return most[0];
}

namespace detail {

/// Inference of a graph and of the graphs in it.
class Inference {
 public:
  constexpr Inference(Graph& graph, Evaluate evaluate, void* context, int depth)
      : graph_(graph), evaluate_(evaluate), context_(context), depth_(depth) {}

  Vector<Defect> defects;

  constexpr void run() {
    if (evaluate_ != nullptr) find_changed();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) node(n);
    if (evaluate_ == nullptr || !defects.empty()) return;
    erase_if(graph_.nodes, &is_evaluated);
  }

  constexpr void node(std::size_t n) {
    const Node& node = graph_.nodes[n];
    if (node.op->only_expands || is_evaluated(node)) return;
    const Vector<InputInfo> infos = input_infos(graph_, node.inputs);
    bool all_constant = true, all_static = true;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (node.inputs[i] == no_tensor) continue;
      all_constant = all_constant && infos[i].is_constant;
      all_static = all_static && infos[i].info.is_static();
    }

    for (const std::int32_t index : subgraphs_of(node)) {
      const auto count = static_cast<std::int64_t>(graph_.graphs.size());
      if (index < 0) return wrong(n, "a subgraph is missing");
      if (index >= count)
        return wrong(n, "a Subgraph names a graph that there is not", count, index);
    }
    const Vector<std::int32_t> graphs = bodies_of(n);
    Vector<Vector<TensorInfo>> graph_outputs;
    std::int64_t passes = dynamic;
    if (node.op->id == op::Loop::id || node.op->id == op::Scan::id) {
      op::Repeat repeat;
      if (!describe_repeat(graph_, node, repeat)) {
        return wrong(n, "the body has another number of inputs or outputs than the node needs");
      }
      if (repeat.is_loop && !given(node, 0) && !given(node, 1)) {
        return wrong(n, "a loop without a number of passes and a condition does not end");
      }
      for (std::size_t i = 0; i < repeat.states + repeat.scanned; ++i) {
        if (!given(node, repeat.first_state + i)) return wrong(n, "a state has no first value");
      }
      add_outputs(graph_outputs, run_repeated(node, repeat, graphs[0], passes));
    } else {
      for (const std::int32_t index : graphs) {
        const std::size_t size = graph_.graphs[static_cast<std::size_t>(index)].inputs.size();
        const bool is_call = node.op->id == op::Call::id;
        if (size > node.inputs.size() || (is_call && size != node.inputs.size())) {
          return wrong(n, "a subgraph has another number of inputs",
                       static_cast<std::int64_t>(size),
                       static_cast<std::int64_t>(node.inputs.size()));
        }
        add_outputs(graph_outputs, run_once(node, index));
      }
    }

    Inferred inferred =
        node.op->infer(node.attributes, Inputs(infos, node.outputs.size(), graph_outputs, passes));
    if (!inferred.ok()) {
      defects.push_back({.node = n, .inferred = std::move(inferred)});
      return;
    }
    bool outputs_static = true;
    for (std::size_t i = 0; i < node.outputs.size() && i < inferred.outputs.size(); ++i) {
      if (node.outputs[i] == no_tensor) continue;
      std::int64_t expected = 0, found = 0;
      TensorInfo& known = graph_.tensor(node.outputs[i]).info;
      const TensorInfo stated = known;
      if (!refine(known, inferred.outputs[i], expected, found)) {
        wrong(n, "the model states another shape or type", expected, found);
        defects.back().tensor = node.outputs[i];
        defects.back().stated = stated;
        known = inferred.outputs[i];
      }
      outputs_static = outputs_static && known.is_static();
    }
    const bool foldable = graph_outputs.empty() && !node.op->signature.has_seed() &&
                          !node.op->has_effect && outputs_static &&
                          (all_constant || (node.op->only_infos && all_static));
    if (evaluate_ != nullptr && foldable && !is_changed(node)) evaluate_(context_, graph_, n);
  }

 private:
  /// Tensors in memory that nodes change are computed in each run.
  constexpr void find_changed() {
    bool any = false;
    for (const Node& node : graph_.nodes) for_each_modified(node, [&](std::size_t) { any = true; });
    if (!any) return;
    const Aliases aliases(graph_);
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      changed_.push_back(aliases.is_modified(static_cast<TensorId>(i)));
    }
  }
  constexpr bool is_changed(const Node& node) const {
    for (const TensorId id : node.outputs) {
      const auto at = static_cast<std::size_t>(id);
      if (id != no_tensor && at < changed_.size() && changed_[at] != 0) return true;
    }
    return false;
  }

  /// Subgraphs that are nested more deeply than this are looked at once, not until their states
  /// are found.
  static constexpr int deepest_search = 3;

  static constexpr bool given(const Node& node, std::size_t input) {
    return input < node.inputs.size() && node.inputs[input] != no_tensor;
  }
  constexpr void wrong(std::size_t n, std::string_view reason, std::int64_t expected = 0,
                       std::int64_t found = 0) {
    defects.push_back({.node = n, .inferred = Inferred::mismatch(reason, expected, found)});
  }
  static constexpr void add_outputs(Vector<Vector<TensorInfo>>& list, const Graph& body) {
    Vector<TensorInfo> outputs;
    for (const TensorId id : body.outputs) outputs.push_back(body.info(id));
    list.push_back(std::move(outputs));
  }
  constexpr void take(Vector<Defect>&& found, std::int32_t index) {
    for (Defect& defect : found) {
      defect.path.insert(defect.path.begin(), index);
      defects.push_back(std::move(defect));
    }
  }
  /// A body that several nodes run, and what it has become for those that were looked at.
  struct SharedBody {
    struct Variant {
      std::int32_t index;
      Vector<TensorInfo> given;  ///< to the nodes that run it
    };
    Vector<std::size_t> nodes;
    Graph body{};  ///< as it was
    Vector<Variant> variants{};
  };

  /// The bodies of a node. One that several nodes run gets copies for those that give it others
  /// infos than the first one does.
  constexpr Vector<std::int32_t> bodies_of(std::size_t n) {
    Vector<std::int32_t> indices = subgraphs_of(graph_.nodes[n]);
    is_known_ = false;
    if (indices.empty()) return indices;
    if (shared_.empty()) find_shared();
    bool has_changed = false;
    for (std::int32_t& index : indices) {
      const auto at = static_cast<std::size_t>(index);
      if (index < 0 || at >= shared_.size() || shared_[at].nodes.size() < 2) continue;
      SharedBody& shared = shared_[at];
      Vector<TensorInfo> given;
      for (const InputInfo& x : input_infos(graph_, graph_.nodes[n].inputs)) {
        given.push_back(x.info);
      }
      const auto* known = find_variant(shared, given);
      if (known != nullptr) {
        is_known_ = indices.size() == 1;
        index = known->index;
      } else if (shared.variants.empty()) {
        shared.body = graph_.graphs[at];
        shared.variants.push_back({index, std::move(given)});
      } else {
        index = static_cast<std::int32_t>(graph_.graphs.size());
        graph_.graphs.push_back(shared.body);
        shared.variants.push_back({index, std::move(given)});
      }
      has_changed = has_changed || index != static_cast<std::int32_t>(at);
    }
    if (has_changed) {
      SetGraphIndices set(indices);
      graph_.nodes[n].op->attributes(graph_.nodes[n].attributes, set);
    }
    return indices;
  }
  constexpr void find_shared() {
    shared_.resize(graph_.graphs.size());
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const std::int32_t index : subgraphs_of(graph_.nodes[n])) {
        const auto at = static_cast<std::size_t>(index);
        if (index >= 0 && at < shared_.size()) shared_[at].nodes.push_back(n);
      }
    }
  }
  static constexpr const typename SharedBody::Variant* find_variant(
      const SharedBody& shared, const Vector<TensorInfo>& given) {
    for (const auto& variant : shared.variants) {
      if (variant.given == given) return &variant;
    }
    return nullptr;
  }
  /// Whether all nodes that run a node's bodies give them the same constant, by position.
  constexpr bool is_given_by_all(const Node& node, std::size_t input) const {
    for (const std::int32_t index : subgraphs_of(node)) {
      const auto at = static_cast<std::size_t>(index);
      if (at >= shared_.size()) return false;  // a copy for other infos
      for (const std::size_t other : shared_[at].nodes) {
        const Vector<TensorId>& inputs = graph_.nodes[other].inputs;
        if (input >= inputs.size() || inputs[input] != node.inputs[input]) return false;
      }
    }
    return true;
  }

  /// What a subgraph gets as it is; while constants are folded, the values of constants, too, unless
  /// it changes its copy of them.
  constexpr void hand_in(Graph& body, TensorId inner, const Node& node, std::size_t input) const {
    TensorRecord& to = body.tensor(inner);
    const TensorRecord& from = graph_.tensor(node.inputs[input]);
    if (from.info.is_known()) to.info = from.info;
    if (evaluate_ == nullptr || from.role != Role::constant) return;
    if (!is_given_by_all(node, input) || Aliases(body).is_modified(inner)) return;
    to.role = Role::constant;
    to.data = from.data;
  }

  /// A subgraph whose inputs are the last ones of the node.
  constexpr const Graph& run_once(const Node& node, std::int32_t index) {
    Graph& body = graph_.graphs[static_cast<std::size_t>(index)];
    if (is_known_) return body;
    const std::size_t first = node.inputs.size() - body.inputs.size();
    const bool maps = node.op->id == op::SequenceMap::id;
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      if (!given(node, first + i)) continue;
      // The body of a map gets the items of sequences, whose shapes differ.
      if (maps && is_sequence(graph_.info(node.inputs[first + i]).type)) continue;
      hand_in(body, body.inputs[i], node, first + i);
    }
    // The members of a group stay: it is run as a whole.
    const Evaluate evaluate = node.op->id == op::Fused::id ? nullptr : evaluate_;
    Inference inner(body, evaluate, context_, depth_ + 1);
    inner.run();
    take(std::move(inner.defects), index);
    return body;
  }

  /// The body of a loop. What is known of a state must hold in every pass: it begins with what is
  /// known of the first value, and is weakened while the body's results say otherwise.
  constexpr const Graph& run_repeated(const Node& node, const op::Repeat& repeat,
                                      std::int32_t index, std::int64_t& passes) {
    Graph& body = graph_.graphs[static_cast<std::size_t>(index)];
    if (is_known_) {
      passes = pass_count(graph_, node, repeat);
      return body;
    }
    Vector<TensorInfo> states;
    for (std::size_t i = 0; i < repeat.states; ++i) {
      const TensorInfo& first = graph_.info(node.inputs[repeat.first_state + i]);
      const bool search = depth_ <= deepest_search || repeat.is_kept(body, i);
      if (first.is_known()) {
        states.push_back(search ? first : TensorInfo{});
      } else {
        states.push_back(search ? body.info(body.inputs[repeat.body_state + i]) : TensorInfo{});
      }
    }
    for (int attempt = 0;; ++attempt) {
      Graph trial = body;
      hand_in(trial, node, repeat, states);
      Inference inner(trial, evaluate_, context_, depth_ + 1);
      inner.run();
      bool holds = true;
      for (std::size_t i = 0; i < repeat.states; ++i) {
        const TensorInfo& next = trial.info(trial.outputs[repeat.body_result + i]);
        if (states[i].is_known() && next.is_known() && states[i].type != next.type) {
          holds = true;  // infer() says that this must not be
          break;
        }
        const TensorInfo both = op::either(states[i], next);
        if (both == states[i]) continue;
        holds = false;
        states[i] = attempt == 0 ? both : TensorInfo{};
      }
      if (holds) {
        body = std::move(trial);
        take(std::move(inner.defects), index);
        break;
      }
      if (attempt < 2) continue;
      for (std::size_t i = 0; i < repeat.states; ++i) {
        if (!repeat.is_kept(body, i)) states[i] = {};
      }
    }
    passes = pass_count(graph_, node, repeat);
    return body;
  }
  constexpr void hand_in(Graph& trial, const Node& node, const op::Repeat& repeat,
                         const Vector<TensorInfo>& states) const {
    if (repeat.is_loop) {
      // Numbers may be stated as tensors of one element.
      for (std::size_t i = 0; i < 2; ++i) {
        TensorRecord& t = trial.tensor(trial.inputs[i]);
        const bool is_narrow = i == 0 && t.info.type == ElementType::int32;
        const ElementType type = i == 1      ? ElementType::boolean
                                 : is_narrow ? ElementType::int32
                                             : ElementType::int64;
        t.info = {type, t.info.is_known() && t.info.rank() == 1 ? Dims{1} : Dims{}};
      }
      if (evaluate_ != nullptr) {
        // A pass runs only while the condition holds.
        TensorRecord& condition = trial.tensor(trial.inputs[1]);
        condition.role = Role::constant;
        condition.data = Bytes(Vector<std::byte>{std::byte{1}});
      }
    }
    for (std::size_t i = 0; i < repeat.states; ++i) {
      const TensorId inner = trial.inputs[repeat.body_state + i];
      trial.tensor(inner).info = states[i];
      if (repeat.is_kept(trial, i)) hand_in(trial, inner, node, repeat.first_state + i);
    }
    for (std::size_t i = 0; i < repeat.scanned; ++i) {
      TensorInfo slice = graph_.info(node.inputs[repeat.first_state + repeat.states + i]);
      if (!slice.is_known()) continue;
      const std::size_t axis = normalized_axis(repeat.input_axis(i), slice.rank());
      if (axis == slice.rank()) continue;  // infer() says so
      slice.shape.erase(axis);
      trial.tensor(trial.inputs[repeat.body_state + repeat.states + i]).info = slice;
    }
  }
  Graph& graph_;
  Evaluate evaluate_;
  void* context_;
  int depth_;
  Vector<char> changed_{};     ///< of each tensor; empty: none is
  Vector<SharedBody> shared_;  ///< by index, once a node has a body
  bool is_known_ = false;      ///< the present node's body has been inferred for these infos
};

}  // namespace detail

/// Finds the infos of one node's outputs from those of its inputs; see `infer`.
constexpr void infer_node(Graph& graph, std::size_t n, Vector<Defect>& defects,
                          Evaluate evaluate = nullptr, void* context = nullptr) {
  detail::Inference inference(graph, evaluate, context, 0);
  inference.node(n);
  for (Defect& defect : inference.defects) defects.push_back(std::move(defect));
}

/// Finds the infos of all tensors from those of inputs, constants and variables, node after node.
/// What is already known of a tensor must agree, else that is a defect and what was inferred counts;
/// of a subgraph's inputs, what the node gives them counts. Goes on behind defects and returns all of
/// them.
///
/// With `evaluate`, nodes whose inputs are constants are computed, and their outputs become
/// constants (constant folding): shapes that are computed in the graph become known that way. The
/// nodes are dropped, unless there are defects, which count them.
constexpr Vector<Defect> infer(Graph& graph, Evaluate evaluate = nullptr, void* context = nullptr) {
  detail::Inference inference(graph, evaluate, context, 0);
  inference.run();
  return std::move(inference.defects);
}

}  // namespace halftone
