#pragma once

#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/graph/model.hpp>
#include <halftone/op/list.hpp>

namespace halftone {

namespace detail {

/// Groups of element-wise nodes. A group runs where its first node stands, so a node may join only
/// if everything that it reads from outside is there by then.
class Fusion {
 public:
  static constexpr std::size_t max_nodes = 32, max_inputs = 24;
  static constexpr int no_group = -1;

  /// Whether a node may be in a group at all.
  using MayFuse = bool (*)(const Graph& graph, const Node& node);

  constexpr explicit Fusion(const Graph& graph, MayFuse may_fuse)
      : graph_(graph),
        may_fuse_(may_fuse),
        uses_(graph),
        aliases_(graph),
        group_of_node_(graph, no_group),
        changed_at_(graph, no_node) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (is_candidate(node)) place(n);
      if (node.order.block != 0) ordered_.push_back(n);
      for_each_modified(node, [&](std::size_t i) {
        changed_at_[aliases_.root(node.inputs[i])] = static_cast<int>(n);
      });
    }
  }

  struct Group {
    Vector<std::size_t> nodes;
    Vector<TensorId> inputs;  ///< read from outside, each once
  };

  constexpr const Vector<Group>& groups() const { return groups_; }
  constexpr int group_of(std::size_t node) const { return group_of_node_[node]; }
  constexpr const Uses& uses() const { return uses_; }

 private:
  constexpr bool is_candidate(const Node& node) const {
    if (!node.op->in_groups || node.outputs.size() != 1) return false;
    for (const TensorId id : node.inputs) {
      if (id != no_tensor && graph_.info(id).type == ElementType::string) return false;
    }
    const TensorInfo& y = graph_.info(node.outputs[0]);
    return y.is_static() && y.type != ElementType::string &&
           (may_fuse_ == nullptr || may_fuse_(graph_, node));
  }
  /// The group of the node that makes a tensor.
  constexpr int group_that_makes(TensorId id) const {
    const int p = uses_.producer[id];
    return p == no_node ? no_group : group_of_node_[static_cast<std::size_t>(p)];
  }
  /// Position at which a tensor is there: that of its node, or of its node's group; of what nodes
  /// change and what shares its memory, not before the last change so far.
  constexpr int ready_at(TensorId id) const {
    const int changed = changed_at_[aliases_.root(id)];
    const int p = uses_.producer[id], g = group_that_makes(id);
    if (p == no_node) return changed;
    const int made =
        g == no_group ? p : static_cast<int>(groups_[static_cast<std::size_t>(g)].nodes[0]);
    return made > changed ? made : changed;
  }
  /// Whether a node may be in a group, with all of another one if that is given.
  constexpr bool joins(std::size_t n, int g, int with = no_group) const {
    const Group& group = groups_[static_cast<std::size_t>(g)];
    const Node& node = graph_.nodes[n];
    const Node& first_node = graph_.nodes[group.nodes[0]];
    if (!may_merge(first_node.place, node.place)) return false;
    const TensorId first = first_node.outputs[0];
    if (graph_.info(first).shape != graph_.info(node.outputs[0]).shape) return false;
    std::size_t nodes = 1, inputs = group.inputs.size();
    if (with != no_group) {
      nodes += groups_[static_cast<std::size_t>(with)].nodes.size();
      inputs += groups_[static_cast<std::size_t>(with)].inputs.size();
    }
    if (group.nodes.size() + nodes > max_nodes) return false;
    for (const TensorId id : node.inputs) {
      if (id == no_tensor) continue;
      const bool is_changed = changed_at_[aliases_.root(id)] != no_node;
      const int maker = group_that_makes(id);
      if ((maker == g || (maker == with && with != no_group)) && !is_changed) continue;
      if (ready_at(id) >= static_cast<int>(group.nodes[0])) return false;
      ++inputs;
    }
    return inputs <= max_inputs && keeps_order(n, g);
  }
  /// Whether a node may be in a group together with all of a later one.
  constexpr bool takes_in(std::size_t n, int g, int later) const {
    if (!joins(n, g, later)) return false;
    for (const std::size_t other : groups_[static_cast<std::size_t>(later)].nodes) {
      if (!joins(other, g, later)) return false;
    }
    return true;
  }
  /// Whether a node that joins a group still runs behind all that its place puts before it.
  constexpr bool keeps_order(std::size_t n, int g) const {
    const Order& own = graph_.nodes[n].order;
    if (own.block == 0) return true;
    const std::size_t first = groups_[static_cast<std::size_t>(g)].nodes[0];
    for (const std::size_t other : ordered_) {
      const Order& order = graph_.nodes[other].order;
      if (order.block != own.block || order.position >= own.position) continue;
      const int group = group_of_node_[other];
      if (group == g) continue;
      const std::size_t at =
          group == no_group ? other : groups_[static_cast<std::size_t>(group)].nodes[0];
      if (at >= first) return false;
    }
    return true;
  }
  constexpr void place(std::size_t n) {
    int best = no_group;
    for (const TensorId id : graph_.nodes[n].inputs) {
      if (id == no_tensor) continue;
      const int g = group_that_makes(id);
      if (g > best && joins(n, g)) best = g;
    }
    // An earlier group, which is computed there, may take in the later one.
    for (const TensorId id : graph_.nodes[n].inputs) {
      if (id == no_tensor || best == no_group) continue;
      const int g = group_that_makes(id);
      if (g == no_group || g >= best || !takes_in(n, g, best)) continue;
      Group& later = groups_[static_cast<std::size_t>(best)];
      for (const std::size_t other : later.nodes) add(other, g);
      later = {};
      best = g;
    }
    if (best == no_group) {
      best = static_cast<int>(groups_.size());
      groups_.emplace_back();
    }
    add(n, best);
  }
  constexpr void add(std::size_t n, int g) {
    Group& group = groups_[static_cast<std::size_t>(g)];
    group.nodes.push_back(n);
    group_of_node_[n] = g;
    for (const TensorId id : graph_.nodes[n].inputs) {
      if (id == no_tensor || group_that_makes(id) == g) continue;
      bool there = false;
      for (const TensorId other : group.inputs) there = there || other == id;
      if (!there) group.inputs.push_back(id);
    }
  }

  const Graph& graph_;
  MayFuse may_fuse_;
  Uses uses_;
  Aliases aliases_;
  Vector<Group> groups_;
  NodeMap<int> group_of_node_;
  TensorMap<int> changed_at_;
  Vector<std::size_t> ordered_;  ///< nodes so far that have places
};

}  // namespace detail

/// Puts element-wise nodes of one output shape that feed each other into nodes `Fused`, which run
/// block by block in the first cache. All infos must be known. Single nodes stay as they are, and so
/// do those of which `may_fuse` is false.
constexpr Graph fuse_elementwise(Graph graph, detail::Fusion::MayFuse may_fuse = nullptr) {
  const detail::Fusion fusion(graph, may_fuse);
  Vector<Node> nodes;
  TensorMap<int> inner_uses(graph, 0);  // by the members of the group at hand
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const int g = fusion.group_of(n);
    if (g == detail::Fusion::no_group ||
        fusion.groups()[static_cast<std::size_t>(g)].nodes.size() == 1) {
      nodes.push_back(std::move(graph.nodes[n]));
      continue;
    }
    const detail::Fusion::Group& group = fusion.groups()[static_cast<std::size_t>(g)];
    if (group.nodes[0] != n) continue;

    Graph body;
    Vector<TensorId> outer, inner;
    auto inside = [&](TensorId id) {
      if (id == no_tensor) return no_tensor;
      for (std::size_t i = 0; i < outer.size(); ++i) {
        if (outer[i] == id) return inner[i];
      }
      return no_tensor;
    };
    Node fused{.op = &descriptor<op::Fused>};
    for (const TensorId id : group.inputs) {
      fused.inputs.push_back(id);
      outer.push_back(id);
      inner.push_back(body.add_input(graph.info(id), {}));
    }
    for (const std::size_t member : group.nodes) {
      for (const TensorId id : graph.nodes[member].inputs) {
        if (id != no_tensor) ++inner_uses[id];
      }
    }
    for (const std::size_t member : group.nodes) {
      Node& node = graph.nodes[member];
      Vector<TensorId> ids;
      for (const TensorId id : node.inputs) ids.push_back(inside(id));
      const TensorId y = node.outputs[0];
      const TensorInfo infos[]{graph.info(y)};
      const std::size_t added =
          body.add_node(*node.op, std::move(node.attributes), std::move(ids), infos);
      outer.push_back(y);
      inner.push_back(body.nodes[added].outputs[0]);
      if (fusion.uses().count[y] > inner_uses[y]) {
        fused.outputs.push_back(y);
        body.add_output(inner.back());
      }
    }
    for (const TensorId id : outer) inner_uses[id] = 0;
    fused.name = graph.nodes[group.nodes[0]].name;
    fused.place = graph.nodes[group.nodes[0]].place;
    for (const std::size_t member : group.nodes) {
      if (fused.order.block == 0) fused.order = graph.nodes[member].order;
    }
    fused.attributes = pack(op::Fused{{static_cast<std::int32_t>(graph.graphs.size())}});
    graph.graphs.push_back(std::move(body));
    nodes.push_back(std::move(fused));
  }
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace halftone
