#include <halftone/transform/off_chip.hpp>

#include <cstddef>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/remote_buffers.hpp>

namespace halftone {
namespace {

/// A stretch of the nodes that use a variable, which work with one copy of it on the machine.
struct Stay {
  std::size_t first = 0, last = 0;
  int last_change = no_node;
  Place place{};
  TensorId copy = no_tensor;
  /// Whether a node belongs to it: parts of a step, stages and phases have copies of their own.
  bool is_at(const Place& other) const {
    return place.part == other.part && place.stage == other.stage && place.phase == other.phase;
  }
};

/// A variable that lies beside the machine.
struct Remote {
  TensorId variable = no_tensor;
  AnyRemoteBuffer buffer{};
  std::vector<Stay> stays{};
  bool has_other_views = false;  ///< of other types or shapes: they need their copy until the end
};

class Mover {
 public:
  Mover(Graph graph, const TensorKinds& variables)
      : graph_(std::move(graph)), aliases_(graph_), number_(graph_, none) {
    choose(variables);
  }

  Graph run() {
    if (remotes_.empty()) return std::move(graph_);
    find_stays();
    Vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const PlaceScope there(graph_, nodes[n].place);
      const std::vector<int> used = remotes_of(nodes[n]);
      for (TensorId& id : nodes[n].inputs) id = loaded(id, n);
      graph_.nodes.push_back(std::move(nodes[n]));
      for (const int k : used) store(remote(k), n);
    }
    return std::move(graph_);
  }

 private:
  static constexpr int none = -1;

  void choose(const TensorKinds& variables) {
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      const TensorRecord& t = graph_.tensor(id);
      if (!is_variable(t) || !aliases_.is_modified(id) || !t.info.is_static()) continue;
      const VariableSettings* const given = graph_.settings(id);
      if (given != nullptr && given->remote_buffer >= 0) continue;
      const std::int64_t elements = given != nullptr && given->shard_over > 1
                                        ? product(given->host_shape)
                                        : t.info.elements();
      const bool is_number = t.role == Role::state && t.state != State::moment &&
                             (t.state != State::partial || t.of == no_tensor);
      const TensorKind& kind = t.role == Role::variable    ? variables.weights
                               : t.state == State::partial ? variables.accumulators
                                                           : variables.state;
      const TensorKind of_kind = is_number ? TensorKind{} : kind;
      if (elements == 0 || !variables.has(graph_.name(id), of_kind, elements)) continue;
      VariableSettings settings = given != nullptr ? *given : VariableSettings{};
      const AnyRemoteBuffer buffer = remote_buffer(graph_, t.info, 1, settings.host_shape);
      settings.remote_buffer = buffer.id;
      graph_.set_variable(id, std::move(settings));
      number_[id] = static_cast<int>(remotes_.size());
      remotes_.push_back({.variable = id, .buffer = buffer});
    }
  }

  int number_of(TensorId id) const {
    return id == no_tensor || !number_.has(id) ? none : number_[aliases_.root(id)];
  }
  Remote& remote(int number) { return remotes_[static_cast<std::size_t>(number)]; }
  /// Each of them once.
  std::vector<int> remotes_of(const Node& node) const {
    std::vector<int> found;
    for (const TensorId id : node.inputs) {
      const int k = number_of(id);
      bool is_new = k != none;
      for (const int other : found) is_new = is_new && other != k;
      if (is_new) found.push_back(k);
    }
    return found;
  }

  void find_stays() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const TensorId id : graph_.nodes[n].outputs) {
        const int k = number_of(id);
        if (k == none) continue;
        Remote& r = remote(k);
        r.has_other_views = r.has_other_views || graph_.info(id) != graph_.info(r.variable);
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      for (const int k : remotes_of(node)) {
        Remote& r = remote(k);
        const bool is_new =
            r.stays.empty() || (!r.stays.back().is_at(node.place) && !r.has_other_views);
        if (is_new) r.stays.push_back({.first = n, .place = node.place});
        r.stays.back().last = n;
      }
      for_each_modified(node, [&](std::size_t i) {
        const int k = number_of(node.inputs[i]);
        if (k != none) remote(k).stays.back().last_change = static_cast<int>(n);
      });
    }
  }
  static Stay& stay_at(Remote& r, std::size_t n) {
    std::size_t i = 0;
    while (r.stays[i].last < n) ++i;
    return r.stays[i];
  }

  /// What node n reads instead of a variable, or of a view of it.
  TensorId loaded(TensorId id, std::size_t n) {
    const int k = number_of(id);
    if (k == none) return id;
    Remote& r = remote(k);
    Stay& stay = stay_at(r, n);
    if (stay.copy == no_tensor) stay.copy = remote_load(graph_, r.buffer).id;
    if (id == r.variable) return stay.copy;
    // A view belongs to the copy of its own stay.
    return r.has_other_views || has_view(stay, id) ? id : stay.copy;
  }
  bool has_view(const Stay& stay, TensorId id) const {
    for (const auto& [view, copy] : views_) {
      if (view == id) return copy == stay.copy;
    }
    return false;
  }

  void store(Remote& r, std::size_t n) {
    const Stay& stay = stay_at(r, n);
    for (const TensorId id : graph_.nodes.back().outputs) {
      if (id != no_tensor && number_.has(id) && aliases_.root(id) == r.variable) {
        views_.emplace_back(id, stay.copy);
      }
    }
    if (stay.last_change != static_cast<int>(n)) return;
    remote_store(r.buffer, 0, AnyTensor{&graph_, stay.copy});
  }

  Graph graph_;
  Aliases aliases_;
  TensorMap<int> number_;  ///< of a variable in `remotes_`
  std::vector<Remote> remotes_;
  std::vector<std::pair<TensorId, TensorId>>
      views_;  ///< and the copies that they share memory with
};

/// Stores what gradients read of the forward part, and loads it before the first one that does.
Graph move_activations(Graph graph, const TensorKinds& kinds) {
  const Aliases aliases(graph);
  const Uses uses(graph);
  const auto is_forward = [](const Node& node) { return node.place.part == Part::forward; };
  TensorMap<int> number(graph, -1);
  std::vector<AnyRemoteBuffer> buffers;
  for (const Node& node : graph.nodes) {
    if (is_forward(node)) continue;
    for (const TensorId id : node.inputs) {
      const int maker = id == no_tensor ? no_node : uses.producer[id];
      if (maker == no_node || !is_forward(graph.nodes[static_cast<std::size_t>(maker)])) continue;
      const TensorInfo& info = graph.info(id);
      if (number[id] >= 0 || aliases.is_modified(id) || !info.is_static() ||
          graph.tensor(aliases.root(id)).role != Role::value || info.elements() == 0 ||
          !kinds.has(graph.name(id), kinds.activations, info.elements())) {
        continue;
      }
      number[id] = static_cast<int>(buffers.size());
      buffers.push_back(remote_buffer(graph, info));
    }
  }
  std::vector<TensorId> loaded(buffers.size(), no_tensor);
  const auto number_of = [&](TensorId id) {
    return id == no_tensor || !number.has(id) ? -1 : number[id];
  };
  for (Node& node : std::exchange(graph.nodes, {})) {
    const PlaceScope there(graph, node.place);
    for (TensorId& id : node.inputs) {
      const int k = is_forward(node) ? -1 : number_of(id);
      if (k < 0) continue;
      TensorId& copy = loaded[static_cast<std::size_t>(k)];
      if (copy == no_tensor) copy = remote_load(graph, buffers[static_cast<std::size_t>(k)]).id;
      id = copy;
    }
    const Vector<TensorId> outputs = node.outputs;
    graph.nodes.push_back(std::move(node));
    for (const TensorId id : outputs) {
      if (const int k = number_of(id); k >= 0) {
        remote_store(buffers[static_cast<std::size_t>(k)], 0, AnyTensor{&graph, id});
      }
    }
  }
  return graph;
}

}  // namespace

Graph off_chip(Graph graph, const TensorKinds& tensors) {
  tensors.check_names(graph, true);
  if (!tensors.any()) return graph;
  return Mover(move_activations(std::move(graph), tensors), tensors).run();
}

}  // namespace halftone
