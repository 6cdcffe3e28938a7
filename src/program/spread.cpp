#include <halftone/program/spread.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <string>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/train/operators.hpp>
#include <halftone/transform/dead_code.hpp>

#include "base/describe.hpp"
#include "program/step_nodes.hpp"

namespace halftone {
namespace {

namespace training = detail::training;

/// What tells fragments apart, in their order.
struct Key {
  bool is_of_step = false;
  std::int32_t round = 0;  ///< of a step: behind what earlier rounds of all stages have computed
  std::int32_t stage = 0;
  bool is_update = false, is_of_weights = false;
  friend auto operator<=>(const Key&, const Key&) = default;
};

class Cutter {
 public:
  Cutter(const Graph& graph, Schedule schedule)
      : graph_(graph),
        schedule_(schedule),
        uses_(graph),
        aliases_(graph),
        is_of_step_(graph, false),
        is_of_weights_(graph, false),
        round_(graph, 0),
        fragment_of_(graph, Channel::none) {}

  Spread cut() {
    spread_.schedule = schedule_;
    check_nodes();
    for (const Node& node : graph_.nodes) {
      if (node.place.part == Part::forward) last_ = std::max<std::int32_t>(last_, stage(node));
    }
    spread_.stages = last_ + 1;
    if (schedule_ == Schedule::continuous) {
      check_continuous();
    } else {
      is_of_step_ = nodes_of_step(graph_);
      find_meetings();
      find_rounds();
    }
    if (schedule_ == Schedule::zero_bubble) {
      is_of_weights_ = nodes_of_weights(graph_, last_, is_of_step_);
    }
    add_fragments();
    check_order();
    check_variables();
    add_channels();
    for (std::size_t f = 0; f < spread_.fragments.size(); ++f) fill(f);
    return std::move(spread_);
  }

 private:
  static std::int32_t stage(const Node& node) { return node.place.stage; }
  static bool is_update(const Node& node) { return node.place.part == Part::update; }
  std::string text(const Node& node) const {
    return detail::node_text(*node.op, graph_.name(node));
  }
  int producer(TensorId id) const { return id == no_tensor ? no_node : uses_.producer[id]; }
  /// Whether a tensor is the memory of a constant or variable.
  bool is_weight(TensorId id) const {
    const TensorRecord& t = graph_.tensor(aliases_.root(id));
    return t.role == Role::constant || is_variable(t);
  }

  void check_nodes() const {
    for (const Node& node : graph_.nodes) {
      // Variables off the chip are stored when a step ends, and do not change before.
      const bool is_store = node.op->id == op::RemoteStore::id;
      const bool is_remote = is_store || node.op->id == op::RemoteLoad::id;
      const bool may_be = is_remote && schedule_ != Schedule::continuous &&
                          !(is_store && node.place.part != Part::update);
      if (node.op->reaches == Reaches::host && !may_be) {
        fail(ErrorKind::unsupported,
             {.what = is_remote ? "a pipeline changes a remote buffer while micro-batches use it"
                                : "a pipeline has a node that uses streams",
              .node = text(node),
              .hint = is_remote ? "" : "give the graph inputs and outputs"});
      }
      if (stage(node) < 0) {
        fail(ErrorKind::internal, {.what = "a node has no stage", .node = text(node)});
      }
    }
  }

  /// Throws UnsupportedError for what a pipeline without steps cannot do.
  void check_continuous() const {
    for (const Node& node : graph_.nodes) {
      if (node.op->id != training::AdjustLossScaling::id) continue;
      fail(ErrorKind::unsupported,
           {.what = "the loss scaling cannot change while a continuous pipeline runs",
            .node = text(node),
            .hint = "accumulate gradients, with another schedule"});
    }
  }

  /// Finds the stages that change or read the same variable when a step ends: their nodes of a step run
  /// in the latest of them, one after the other.
  void find_meetings() {
    TensorMap<std::int32_t> at(graph_, Channel::none);
    for (const bool looks_at_changes : {true, false}) {
      for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
        if (!is_of_step_[n]) continue;
        const Node& node = graph_.nodes[n];
        const auto look = [&](TensorId id) {
          std::int32_t& other = at[aliases_.root(id)];
          if (other >= 0) meet(other, stage(node));
          if (looks_at_changes) other = stage(node);
        };
        if (looks_at_changes) {
          for_each_modified(node, [&](std::size_t i) { look(node.inputs[i]); });
        } else {
          for (const TensorId id : node.inputs) {
            if (id != no_tensor) look(id);
          }
        }
      }
    }
  }
  void meet(std::int32_t a, std::int32_t b) {
    a = meeting(a);
    b = meeting(b);
    if (a != b) later_[std::min(a, b)] = std::max(a, b);
  }
  std::int32_t meeting(std::int32_t stage) const {
    const auto later = later_.find(stage);
    return later == later_.end() ? stage : meeting(later->second);
  }
  std::int32_t step_stage(std::size_t n) const { return meeting(stage(graph_.nodes[n])); }
  /// The node of a step that computes a tensor; no_node: none does.
  int step_producer(TensorId id) const {
    const int maker = producer(id);
    return maker != no_node && is_of_step_[static_cast<std::size_t>(maker)] ? maker : no_node;
  }

  /// Nodes of a step that several stages need, such as the norm of all gradients or an optimizer's
  /// numbers. They change no variable, so that they can run before the updates, which then wait for
  /// nothing else.
  NodeMap<bool> nodes_for_all(const TensorMap<bool>& is_changed) const {
    NodeMap<bool> is_for_all(graph_, false);
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      if (!is_of_step_[n]) continue;
      for (const TensorId id : graph_.nodes[n].inputs) {
        const int maker = step_producer(id);
        if (maker == no_node) continue;
        const auto m = static_cast<std::size_t>(maker);
        is_for_all[m] = is_for_all[m] || is_for_all[n] || step_stage(m) != step_stage(n);
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_for_all[n]) continue;
      bool waits = has_effect(graph_, graph_.nodes[n]);
      for (const TensorId id : graph_.nodes[n].inputs) {
        const int maker = step_producer(id);
        waits = waits || (id != no_tensor && is_changed[aliases_.root(id)]) ||
                (maker != no_node && !is_for_all[static_cast<std::size_t>(maker)]);
      }
      is_for_all[n] = !waits;
    }
    return is_for_all;
  }

  /// What all stages need comes first. Nodes may need what a later stage computes: these wait for the
  /// next round.
  void find_rounds() {
    TensorMap<bool> is_changed(graph_, false);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_of_step_[n]) continue;
      const Node& node = graph_.nodes[n];
      for_each_modified(node,
                        [&](std::size_t i) { is_changed[aliases_.root(node.inputs[i])] = true; });
    }
    const NodeMap<bool> is_for_all = nodes_for_all(is_changed);
    TensorMap<std::int32_t> last_use(graph_, 0);
    std::int32_t first = 0;  // of the other nodes
    for (const bool are_for_all : {true, false}) {
      for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
        if (!is_of_step_[n] || (is_for_all[n] != 0) != are_for_all) continue;
        const Node& node = graph_.nodes[n];
        std::int32_t& round = round_[n];
        if (!are_for_all) round = first;
        for (const TensorId id : node.inputs) {
          if (id == no_tensor) continue;
          round = std::max(round, last_use[aliases_.root(id)]);
          const int maker = step_producer(id);
          if (maker == no_node) continue;
          const auto m = static_cast<std::size_t>(maker);
          round = std::max(round, round_[m] + (step_stage(m) > step_stage(n) ? 1 : 0));
        }
        for (const TensorId id : node.inputs) {
          if (id == no_tensor || !is_changed[aliases_.root(id)]) continue;
          last_use[aliases_.root(id)] = round;
        }
      }
      for (std::size_t n = 0; n < graph_.nodes.size() && are_for_all; ++n) {
        if (is_for_all[n]) first = std::max(first, round_[n] + 1);
      }
    }
  }

  Key key(std::size_t n) const {
    const Node& node = graph_.nodes[n];
    return {.is_of_step = is_of_step_[n] != 0,
            .round = round_[n],
            .stage = is_of_step_[n] ? step_stage(n) : stage(node),
            .is_update = is_update(node) && schedule_ == Schedule::continuous,
            .is_of_weights = is_of_weights_[n] != 0};
  }

  void add_fragments() {
    std::map<Key, std::int32_t> numbers;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_evaluated(graph_.nodes[n])) numbers[key(n)] = 0;
    }
    for (auto& [k, number] : numbers) {
      number = static_cast<std::int32_t>(spread_.fragments.size());
      Part part = k.stage > last_ ? Part::backward : Part::forward;
      if (k.is_of_step || k.is_update) part = Part::update;
      spread_.fragments.push_back({.stage = k.stage,
                                   .part = part,
                                   .is_of_weights = k.is_of_weights,
                                   .is_of_step = k.is_of_step});
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_evaluated(graph_.nodes[n])) fragment_of_[n] = numbers[key(n)];
    }
    find_ipus();
  }

  void find_ipus() {
    std::map<std::int32_t, std::int32_t> ipu_of;  // of stages
    for (const Node& node : graph_.nodes) {
      if (node.place.ipu < 0) continue;
      const auto [place, is_new] = ipu_of.emplace(stage(node), node.place.ipu);
      if (is_new || place->second == node.place.ipu) continue;
      fail(ErrorKind::usage,
           {.what = "nodes of one stage of a pipeline are on different IPUs",
            .node = text(node),
            .expected = fmt::format("IPU {} of stage {}", place->second, stage(node)),
            .found = fmt::format("IPU {}", node.place.ipu)});
    }
    for (Fragment& f : spread_.fragments) {
      const std::int32_t forward = f.stage > last_ ? 2 * last_ - f.stage : f.stage;
      const auto own = ipu_of.find(f.stage), mirrored = ipu_of.find(forward);
      f.ipu = own != ipu_of.end()        ? own->second
              : mirrored != ipu_of.end() ? mirrored->second
                                         : std::max(forward, 0);
      spread_.ipus = std::max(spread_.ipus, f.ipu + 1);
    }
  }

  void check_order() const {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const TensorId id : graph_.nodes[n].inputs) {
        const int maker = producer(id);
        if (maker == no_node || fragment_of_[static_cast<std::size_t>(maker)] <= fragment_of_[n]) {
          continue;
        }
        const Node& from = graph_.nodes[static_cast<std::size_t>(maker)];
        fail(ErrorKind::usage, {.what = "a node of a pipeline reads what a later stage computes",
                                .node = text(graph_.nodes[n]),
                                .tensor = graph_.name(id),
                                .expected = fmt::format("stage {} or later", stage(from)),
                                .found = fmt::format("stage {}", stage(graph_.nodes[n]))});
      }
    }
  }

  /// What a micro-batch changes in one stage must not be seen by another micro-batch in another stage.
  void check_variables() const {
    TensorMap<std::int32_t> changed_in(graph_, Channel::none);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (is_of_step_[n] || fragment_of_[n] == Channel::none) continue;
      for_each_modified(node, [&](std::size_t i) {
        changed_in[aliases_.root(node.inputs[i])] = fragment_of_[n];
      });
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (is_of_step_[n] || fragment_of_[n] == Channel::none || is_recomputed(node.place)) continue;
      for (const TensorId id : node.inputs) {
        if (id == no_tensor) continue;
        const TensorId root = aliases_.root(id);
        const std::int32_t where = changed_in[root];
        // The loss scaling changes when a step ends.
        if (where == Channel::none || where == fragment_of_[n] || root != id ||
            graph_.tensor(root).state == State::loss_scaling) {
          continue;
        }
        const Fragment &one = spread_.fragments[static_cast<std::size_t>(where)],
                       &other = spread_.fragments[static_cast<std::size_t>(fragment_of_[n])];
        const bool is_update_seen = one.part == Part::update;
        if (is_update_seen && one.ipu == other.ipu) continue;
        fail(is_update_seen ? ErrorKind::unsupported : ErrorKind::usage,
             {.what = "a variable of a pipeline is changed in one stage and read in another one",
              .node = text(node),
              .tensor = graph_.name(root),
              .expected = fmt::format("stage {}", one.stage),
              .found = fmt::format("stage {}", stage(node)),
              .hint = is_update_seen
                          ? "a continuous pipeline updates each weight in the stage that has it"
                          : "use it in the stage that changes it"});
      }
    }
  }

  std::int32_t channel(TensorId id, std::int32_t from) {
    const auto [place, is_new] =
        channel_of_.emplace(id, static_cast<std::int32_t>(spread_.channels.size()));
    if (!is_new) return place->second;
    spread_.channels.push_back({.tensor = id, .from = from});
    if (from == Channel::none) {
      spread_.channels.back().input = input_number(id);
    } else {
      Fragment& f = spread_.fragments[static_cast<std::size_t>(from)];
      f.program.graph.outputs.push_back(id);
      f.passed.push_back(place->second);
    }
    return place->second;
  }

  /// Channel::none: the tensor is no input of the graph.
  std::int32_t input_number(TensorId id) const {
    const auto at = std::find(graph_.inputs.begin(), graph_.inputs.end(), id);
    return at == graph_.inputs.end() ? Channel::none
                                     : static_cast<std::int32_t>(at - graph_.inputs.begin());
  }

  void add_channels() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const std::int32_t to = fragment_of_[n];
      if (to == Channel::none) continue;
      for (const TensorId id : graph_.nodes[n].inputs) {
        if (id == no_tensor) continue;
        const int maker = producer(id);
        const std::int32_t from =
            maker == no_node ? Channel::none : fragment_of_[static_cast<std::size_t>(maker)];
        if (from == to) continue;
        if (from == Channel::none && input_number(id) == Channel::none) continue;
        if (from != Channel::none && is_memory_of_step(n, id)) continue;
        const std::int32_t c = channel(id, from);
        Vector<std::int32_t>& readers = spread_.channels[static_cast<std::size_t>(c)].to;
        if (std::find(readers.begin(), readers.end(), to) == readers.end()) readers.push_back(to);
      }
    }
    for (const TensorId id : graph_.outputs) add_output(id);
  }
  /// Whether a node of a step reads the memory of a variable that micro-batches change: no channel has
  /// to pass that on.
  bool is_memory_of_step(std::size_t n, TensorId id) const {
    const TensorId root = aliases_.root(id);
    return is_of_step_[n] && root != id && is_variable(graph_.tensor(root)) &&
           graph_.info(root) == graph_.info(id);
  }

  void add_output(TensorId id) {
    const int maker = producer(id);
    std::int32_t from =
        maker == no_node ? Channel::none : fragment_of_[static_cast<std::size_t>(maker)];
    if (const std::int32_t input = input_number(id); from == Channel::none && input >= 0) {
      spread_.outputs.push_back({.tensor = id, .number = input});
      return;
    }
    if (is_weight(id)) {
      // The last fragment has it as it is when all is done.
      if (from == Channel::none) {
        from = static_cast<std::int32_t>(spread_.fragments.size()) - 1;
      }
      Fragment& f = spread_.fragments[static_cast<std::size_t>(from)];
      spread_.outputs.push_back({id, from, static_cast<std::int32_t>(f.passed.size())});
      f.program.graph.outputs.push_back(id);
      f.passed.push_back(Channel::none);
      return;
    }
    const std::int32_t c = channel(id, from);
    spread_.channels[static_cast<std::size_t>(c)].is_output = true;
    const Fragment& f = spread_.fragments[static_cast<std::size_t>(from)];
    const auto at = std::find(f.passed.begin(), f.passed.end(), c);
    spread_.outputs.push_back({id, from, static_cast<std::int32_t>(at - f.passed.begin())});
  }

  /// Gives a fragment its graph: the whole one with fewer nodes, inputs and data.
  void fill(std::size_t number) {
    Fragment& f = spread_.fragments[number];
    const auto own = static_cast<std::int32_t>(number);
    const Vector<TensorId> outputs = std::move(f.program.graph.outputs);
    Graph& g = f.program.graph;
    g = graph_;
    g.nodes.clear();
    g.inputs.clear();
    g.outputs = outputs;
    TensorMap<bool> is_used(g, false);
    for (const TensorId id : outputs) is_used[id] = true;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (fragment_of_[n] != own) continue;
      Node node = graph_.nodes[n];
      for (TensorId& id : node.inputs) {
        if (id == no_tensor) continue;
        const int maker = producer(id);
        const bool is_foreign =
            maker != no_node && fragment_of_[static_cast<std::size_t>(maker)] != own;
        if (is_foreign && is_memory_of_step(n, id)) id = aliases_.root(id);
        is_used[id] = true;
      }
      for (const TensorId id : node.outputs) {
        if (id != no_tensor) is_used[id] = true;
      }
      g.nodes.push_back(std::move(node));
    }
    for (std::size_t c = 0; c < spread_.channels.size(); ++c) {
      const Channel& channel = spread_.channels[c];
      if (std::find(channel.to.begin(), channel.to.end(), own) == channel.to.end()) continue;
      f.given.push_back(static_cast<std::int32_t>(c));
      g.inputs.push_back(channel.tensor);
      g.tensor(channel.tensor).role = Role::input;
    }
    for (std::size_t i = 0; i < g.tensors.size(); ++i) {
      if (!is_used[static_cast<TensorId>(i)]) g.tensors[i].data = {};
    }
  }

  const Graph& graph_;
  const Schedule schedule_;
  Uses uses_;
  Aliases aliases_;
  NodeMap<bool> is_of_step_, is_of_weights_;
  NodeMap<std::int32_t> round_, fragment_of_;
  std::int32_t last_ = 0;                       ///< stage of the forward part
  std::map<std::int32_t, std::int32_t> later_;  ///< see find_meetings
  std::map<TensorId, std::int32_t> channel_of_;
  Spread spread_;
};

}  // namespace

NodeMap<bool> nodes_of_step(const Graph& graph) {
  NodeMap<bool> is_of_step(graph, false);
  TensorMap<bool> is_read(graph, false);  // in each micro-batch
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    bool is_of_each = node.place.part != Part::update ||
                      node.op->id == training::TrainingStep::id ||
                      node.op->id == training::AdjustLossScaling::id;
    for (const TensorId id : node.outputs) {
      is_of_each = is_of_each || (id != no_tensor && is_read[id]);
    }
    is_of_step[n] = !is_of_each;
    for (const TensorId id : node.inputs) {
      if (is_of_each && id != no_tensor) is_read[id] = true;
    }
  }
  return is_of_step;
}

NodeMap<bool> nodes_of_weights(const Graph& graph, std::int32_t last_stage,
                               const NodeMap<bool>& is_of_step) {
  const Uses uses(graph);
  NodeMap<bool> is_of_weights(graph, false);
  TensorMap<bool> is_awaited(graph, false);
  for (const TensorId id : graph.outputs) is_awaited[id] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    bool is_needed = node.place.part == Part::forward || node.place.stage < last_stage;
    for (const TensorId id : node.outputs) {
      is_needed = is_needed || (id != no_tensor && is_awaited[id]);
    }
    is_of_weights[n] = !is_needed && !is_of_step[n];
    for (const TensorId id : node.inputs) {
      const int maker = id == no_tensor ? no_node : uses.producer[id];
      if (maker == no_node) continue;
      const bool is_other =
          graph.nodes[static_cast<std::size_t>(maker)].place.stage != node.place.stage;
      if (!is_of_step[n] && (is_needed || is_other)) is_awaited[id] = true;
    }
  }
  return is_of_weights;
}

std::int32_t stages_of(const Graph& graph) {
  std::int32_t count = 0;
  for (const Node& node : graph.nodes) {
    if (node.place.part == Part::forward) count = std::max(count, node.place.stage + 1);
  }
  return count;
}

void check_depth(const Graph& graph, std::int64_t micro_batches, bool is_step) {
  const std::int32_t stages = stages_of(graph);
  if (micro_batches >= stages) return;
  const std::string what = fmt::format(
      "For pipelining, depth ({}) must equal at least the number of pipeline stages ({})",
      is_step ? "gradient accumulation factor" : "batchesPerStep", stages);
  fail(ErrorKind::usage, {.what = what, .found = std::to_string(micro_batches)});
}

Spread cut(const Graph& graph, Schedule schedule) { return Cutter(graph, schedule).cut(); }

}  // namespace halftone
