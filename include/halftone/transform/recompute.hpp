#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/narrow_cuts.hpp>
#include <halftone/transform/schedule.hpp>

namespace halftone {

namespace detail {

inline bool is_normalization(const Node& node) {
  const OpId& id = node.op->id;
  return id == op::BatchNormalization::id || id == op::GroupNormalization::id ||
         id == op::InstanceNormalization::id || id == op::LayerNormalization::id ||
         id == op::RMSNormalization::id || id == op::LRN::id;
}

/// Whether something may be computed again: most graphs are not trained, and keep all. What has copies
/// already was divided before: another division would copy the part that the first one left.
inline bool may_recompute(const Graph& graph, Recomputation mode) {
  bool has_backward = false, is_asked_for = mode != Recomputation::none;
  for (const Node& node : graph.nodes) {
    if (is_recomputed(node.place)) return false;
    has_backward = has_backward || node.place.part == Part::backward;
    is_asked_for = is_asked_for || node.place.recompute == Recompute::recompute;
  }
  return has_backward && is_asked_for;
}

/// Chooses the nodes of the forward part whose outputs are computed again.
class RecomputedNodes {
 public:
  /// If no mode is given, element-wise nodes with element-wise gradients are chosen, and only where less is
  /// kept than before.
  RecomputedNodes(const Graph& graph, std::optional<Recomputation> mode)
      : graph_(graph),
        uses_(graph),
        aliases_(graph),
        again_(graph, false),
        is_changed_(graph, false) {
    find_changed();
    if (mode) {
      choose(*mode);
    } else {
      choose_elementwise();
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Recompute said = graph.nodes[n].place.recompute;
      if (said == Recompute::checkpoint) again_[n] = false;
      if (said == Recompute::recompute) again_[n] = may_repeat(n);
    }
    keep_inputs_of_stages();
    any_ = std::any_of(again_.begin(), again_.end(), [](bool again) { return again; });
  }
  bool any() const { return any_; }
  /// The node that a tensor is computed again by; no_node: it is kept.
  int repeated_by(TensorId id) const {
    if (id == no_tensor) return no_node;
    const int n = uses_.producer[id];
    return n != no_node && again_[static_cast<std::size_t>(n)] ? n : no_node;
  }

 private:
  static bool is_forward(const Node& node) { return node.place.part == Part::forward; }

  /// Memory that changes before the updates has another value when the backward part runs.
  void find_changed() {
    for (const Node& node : graph_.nodes) {
      if (node.place.part == Part::update) continue;
      for_each_modified(node,
                        [&](std::size_t i) { is_changed_[aliases_.root(node.inputs[i])] = true; });
    }
  }
  /// Whether a node's outputs are the same when it runs once more.
  bool may_repeat(std::size_t n) const {
    const Node& node = graph_.nodes[n];
    if (!is_forward(node) || has_effect(graph_, node)) return false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      // What a normalization of a batch gives is no matter of the statistics before it.
      if (node.op->id == op::BatchNormalization::id && i >= 3) break;
      const TensorId id = node.inputs[i];
      if (id != no_tensor && is_changed_[aliases_.root(id)]) return false;
    }
    return true;
  }

  void choose(Recomputation mode) {
    if (mode == Recomputation::none) return;
    if (mode == Recomputation::standard) return choose_parts();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const bool is_wanted = mode != Recomputation::norm_only || is_normalization(graph_.nodes[n]);
      again_[n] = is_wanted && may_repeat(n);
    }
    if (mode != Recomputation::pipeline) return;
    const bool has_stages = std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                                        [](const Node& node) { return node.place.stage >= 0; });
    if (has_stages) return;
    fail(ErrorKind::usage, {.what = "recomputation for a pipeline is asked for, and no node has a "
                                    "stage",
                            .hint = "record nodes within OnStage, or use Recomputation::standard"});
  }
  /// A stage keeps what it gets from others: it could not compute it again.
  void keep_inputs_of_stages() {
    for (const Node& node : graph_.nodes) {
      for (const TensorId id : node.inputs) {
        const int maker = id == no_tensor ? no_node : uses_.producer[id];
        if (maker == no_node || !is_forward(node)) continue;
        const auto at = static_cast<std::size_t>(maker);
        if (graph_.nodes[at].place.stage != node.place.stage) again_[at] = false;
      }
    }
  }

  // --- parts that little data flows between --------------------------------------------------------------

  /// The cuts with the least sum of what they keep and what the largest part needs when it is there
  /// again; positions in `cuts`.
  static Vector<std::size_t> best_cuts(const Vector<NarrowCut>& cuts) {
    constexpr std::int64_t sizes = 64;
    const std::size_t count = cuts.size();
    Vector<std::size_t> best;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t size = 1; size <= sizes; ++size) {
      const std::int64_t most = cuts.back().kept * size / sizes;
      constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 2;
      Vector<std::int64_t> sum(count, never);
      Vector<std::size_t> before(count, 0);
      sum[0] = 0;
      for (std::size_t j = 1; j < count; ++j) {
        const std::int64_t own = j + 1 == count ? 0 : cuts[j].bytes;
        for (std::size_t i = j; i-- > 0 && cuts[j].kept - cuts[i].kept <= most;) {
          if (sum[i] + own >= sum[j]) continue;
          sum[j] = sum[i] + own;
          before[j] = i;
        }
      }
      if (sum.back() == never || sum.back() + most >= least) continue;
      least = sum.back() + most;
      best.clear();
      for (std::size_t j = before[count - 1]; j > 0; j = before[j]) best.push_back(j);
    }
    std::reverse(best.begin(), best.end());
    return best;
  }

  void choose_parts() {
    const Vector<NarrowCut> cuts = narrow_cuts(graph_, aliases_, 256);
    const Vector<std::size_t> chosen = best_cuts(cuts);
    if (chosen.empty()) return;
    // The backward part begins with the last one, which is still there.
    const std::size_t end = cuts[chosen.back()].end;
    NodeMap<std::size_t> part(graph_, 0);
    std::size_t passed = 0;  // cuts before the node at hand
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      while (passed < chosen.size() && cuts[chosen[passed]].end <= n) ++passed;
      part[n] = passed;
      again_[n] = n < end && may_repeat(n);
      if (!is_forward(graph_.nodes[n])) continue;
      for (const TensorId id : graph_.nodes[n].inputs) {
        const int maker = id == no_tensor ? no_node : uses_.producer[aliases_.root(id)];
        if (maker == no_node) continue;
        const auto at = static_cast<std::size_t>(maker);
        if (part[at] < part[n]) again_[at] = false;
      }
    }
  }

  // --- element-wise nodes --------------------------------------------------------------------------------

  /// A value is computed again by these nodes, which need tensors that nobody would keep otherwise.
  struct Origin {
    Vector<std::size_t> nodes;
    Vector<TensorId> more;
  };

  /// Few nodes are run again for a value, so that time is not what memory costs.
  static constexpr std::size_t most_nodes = 12;

  /// GELU keeps three values for its gradient, which all follow from its input: one is enough.
  void choose_elementwise() {
    find_kept();
    Vector<TensorId> values;
    Vector<Origin> origins;
    TensorMap<TensorId> leader(graph_, no_tensor);  // of tensors that are kept for the same values
    const auto root = [&](TensorId id) {
      while (leader[id] != no_tensor) id = leader[id];
      return id;
    };
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_cheap(n)) continue;
      const TensorId value = graph_.nodes[n].outputs[0];
      if (!is_kept_[value] || is_read_whole_[value]) continue;
      Origin origin = origin_of(value);
      const bool has_sizes = std::all_of(origin.more.begin(), origin.more.end(),
                                         [&](TensorId id) { return graph_.info(id).is_static(); });
      if (origin.nodes.size() > most_nodes || !has_sizes) continue;
      for (const TensorId id : origin.more) {
        const TensorId a = root(id), b = root(origin.more[0]);
        if (a != b) leader[a] = b;
      }
      values.push_back(value);
      origins.push_back(std::move(origin));
    }
    TensorMap<std::int64_t> saved(graph_, 0);  // by those that follow from a leader's tensors
    TensorMap<bool> is_counted(graph_, false);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (origins[i].more.empty()) continue;
      std::int64_t& bytes = saved[root(origins[i].more[0])];
      bytes += graph_.info(values[i]).bytes();
      for (const TensorId id : origins[i].more) {
        if (!is_counted[id]) bytes -= graph_.info(id).bytes();
        is_counted[id] = true;
      }
    }
    for (const Origin& origin : origins) {
      if (!origin.more.empty() && saved[root(origin.more[0])] <= 0) continue;
      for (const std::size_t n : origin.nodes) again_[n] = true;
    }
  }

  /// A tensor is kept if a node behind the forward part reads it, and read whole if one of those is not
  /// element-wise: a copy of it would be in memory again.
  void find_kept() {
    is_kept_ = is_read_whole_ = TensorMap<bool>(graph_, false);
    for (const TensorId id : graph_.outputs) is_kept_[id] = is_read_whole_[id] = true;
    for (const Node& node : graph_.nodes) {
      if (is_forward(node)) continue;
      for (const TensorId id : node.inputs) {
        if (id == no_tensor) continue;
        is_kept_[id] = true;
        is_read_whole_[id] = is_read_whole_[id] || !node.op->in_groups;
      }
    }
  }
  bool is_cheap(std::size_t n) const {
    const Node& node = graph_.nodes[n];
    return node.op->in_groups && node.outputs.size() == 1 && !node.op->signature.has_seed() &&
           node.place.recompute != Recompute::checkpoint &&
           graph_.info(node.outputs[0]).is_static() && may_repeat(n);
  }
  Origin origin_of(TensorId value) const {
    Origin origin;
    Vector<TensorId> todo{value};
    const auto add = [](auto& list, auto item) {
      if (std::find(list.begin(), list.end(), item) != list.end()) return false;
      list.push_back(item);
      return true;
    };
    while (!todo.empty() && origin.nodes.size() <= most_nodes) {
      const TensorId id = todo.back();
      todo.pop_back();
      const int producer = uses_.producer[id];
      if (producer == no_node || is_read_whole_[id]) continue;
      const auto n = static_cast<std::size_t>(producer);
      if (is_cheap(n)) {
        if (!add(origin.nodes, n)) continue;
        for (const TensorId input : graph_.nodes[n].inputs) {
          if (input != no_tensor) todo.push_back(input);
        }
      } else if (!is_kept_[id]) {
        add(origin.more, id);
      }
    }
    return origin;
  }

  const Graph& graph_;
  Uses uses_;
  Aliases aliases_;
  TensorMap<bool> is_kept_, is_read_whole_;  ///< see find_kept()
  NodeMap<bool> again_;
  TensorMap<bool> is_changed_;
  bool any_ = false;
};

/// Puts copies of nodes before the first node behind the forward part that reads what they make.
class Recomputer {
 public:
  Recomputer(Graph graph, const RecomputedNodes& again)
      : graph_(std::move(graph)), again_(again), copy_of_(graph_, no_tensor) {
    is_read_ = TensorMap<bool>(graph_, false);
    for (const Node& node : graph_.nodes) {
      const bool is_read_again = node.place.part != Part::forward || makes_again(node);
      for (const TensorId id : node.inputs) {
        if (id != no_tensor && is_read_again) is_read_[id] = true;
      }
    }
  }

  Graph run() {
    const Vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (Node node : nodes) {
      if (node.place.part != Part::forward) {
        for (TensorId& id : node.inputs) id = computed_again(nodes, id, node.place);
      }
      graph_.nodes.push_back(std::move(node));
    }
    return std::move(graph_);
  }

 private:
  bool makes_again(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](TensorId id) { return again_.repeated_by(id) != no_node; });
  }
  TensorId copy(TensorId id) const {
    return id == no_tensor || copy_of_[id] == no_tensor ? id : copy_of_[id];
  }
  /// The tensor that stands for a tensor of the forward part. Adds the nodes that make it.
  TensorId computed_again(const Vector<Node>& nodes, TensorId wanted, const Place& reader) {
    if (again_.repeated_by(wanted) == no_node) return wanted;
    // Not by recursion: networks may be deeper than a stack.
    Vector<int> todo{again_.repeated_by(wanted)};
    while (copy_of_[wanted] == no_tensor) {
      const Node& original = nodes[static_cast<std::size_t>(todo.back())];
      const std::size_t before = todo.size();
      for (const TensorId id : original.inputs) {
        const int maker = again_.repeated_by(id);
        if (maker != no_node && copy_of_[id] == no_tensor) todo.push_back(maker);
      }
      if (todo.size() != before) continue;
      if (copy_of_[first_output(original)] == no_tensor) add_copy(original, reader);
      todo.pop_back();
    }
    return copy_of_[wanted];
  }
  static TensorId first_output(const Node& node) {
    return *std::find_if(node.outputs.begin(), node.outputs.end(),
                         [](TensorId id) { return id != no_tensor; });
  }

  void add_copy(const Node& original, const Place& reader) {
    Node node = original;
    node.order = {};
    node.place = {.ipu = reader.stage >= 0 ? reader.ipu : original.place.ipu,
                  .stage = reader.stage,
                  .phase = reader.phase,
                  .recompute = Recompute::recompute,
                  .part = Part::backward};
    for (TensorId& id : node.inputs) id = copy(id);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      TensorId& id = node.outputs[o];
      if (id == no_tensor) continue;
      const TensorId old = id;
      const bool is_needed = is_read_[old] || o < node.op->signature.required_outputs() ||
                             old == first_output(original);
      id = no_tensor;
      if (!is_needed) continue;
      id = graph_.add_tensor({.info = graph_.info(old)}, {});
      copy_of_.follow(graph_, no_tensor);
      copy_of_[old] = id;
    }
    if (!original.name.empty()) {
      graph_.rename(node, JoinedText({graph_.name(original), "__re"}));
    }
    graph_.nodes.push_back(std::move(node));
  }

  Graph graph_;
  const RecomputedNodes& again_;
  TensorMap<TensorId> copy_of_;
  TensorMap<bool> is_read_;  ///< behind the forward part, or by a node that may be copied
};

inline Graph with_copies(Graph graph, std::optional<Recomputation> mode) {
  if (!may_recompute(graph, mode.value_or(Recomputation::all))) return graph;
  const RecomputedNodes again(graph, mode);
  if (!again.any()) return graph;
  return Recomputer(graph, again).run();
}

}  // namespace detail

/// Has the backward part of a training step compute values of the forward part again, which then
/// need no memory between. Copies of nodes stand before the first node that reads what they make,
/// and draw the same random numbers: they read the same seeds. All infos must be known. A graph that
/// has copies stays as it is.
inline Graph recompute(Graph graph, Recomputation mode) {
  return detail::with_copies(std::move(graph), mode);
}

/// Has element-wise gradients compute element-wise values again that they read, in the registers of the same
/// group, where that keeps less memory between the parts of a training step. As recompute() otherwise.
inline Graph recompute_elementwise(Graph graph) {
  return detail::with_copies(std::move(graph), std::nullopt);
}

}  // namespace halftone
