#include "popart/rewrites.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/schedule.hpp>
#include <popart/error.hpp>
#include <popart/tensorlocation.hpp>

#include "onnx/proto.hpp"
#include "popart/options.hpp"

namespace popart::detail {

namespace ops = halftone::op;
using halftone::no_node;
using halftone::no_tensor;
using halftone::Node;

namespace {

/// A graph that patterns change, with what they look up in it.
class Rewriting {
 public:
  Rewriting(halftone::Graph& changed, const NodeSettings& settings)
      : graph(changed), settings_(settings), uses_(changed), aliases_(changed) {}

  halftone::Graph& graph;

  /// Looks the graph over again, after a change.
  void look() {
    uses_ = halftone::Uses(graph);
    aliases_ = halftone::Aliases(graph);
  }
  bool isExcluded(const Node& node, std::string_view pattern) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](halftone::TensorId id) {
      if (id == no_tensor) return false;
      const auto found = settings_.excludedPatterns.find(TensorId(graph.name(id)));
      return found != settings_.excludedPatterns.end() &&
             found->second.contains(std::string(pattern));
    });
  }
  bool isOutput(halftone::TensorId id) const {
    return std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end() ||
           settings_.kept.contains(TensorId(graph.name(id)));
  }
  bool isModified(halftone::TensorId id) const { return aliases_.is_modified(id); }
  /// The node that computes a tensor which `reader` alone reads; null if there is none.
  Node* soleSource(halftone::TensorId id, const Node& reader) const {
    if (id == no_tensor || uses_.count[id] != 1 || uses_.producer[id] == no_node) return nullptr;
    Node& source = graph.nodes[static_cast<std::size_t>(uses_.producer[id])];
    const bool isPlain = source.outputs.size() == 1 && !isOutput(id) && !isModified(id);
    return isPlain && source.place == reader.place ? &source : nullptr;
  }
  bool isRead(halftone::TensorId id) const { return uses_.count[id] != 0; }

 private:
  const NodeSettings& settings_;
  halftone::Uses uses_;
  halftone::Aliases aliases_;
};

bool isIdentity(const Node& node) {
  const bool isOne = node.inputs.size() == 1 && node.outputs.size() == 1;
  return isOne && (node.op->id == ops::Identity::id || node.op->id == ops::Concat::id);
}

/// A node whose output only an Identity reads computes the Identity's output itself.
bool preUniRepl(Rewriting& r, Node& node) {
  if (!isIdentity(node)) return false;
  Node* const source = r.soleSource(node.inputs[0], node);
  if (source == nullptr || r.isModified(node.outputs[0])) return false;
  source->outputs[0] = node.outputs[0];
  node.outputs[0] = no_tensor;
  return true;
}

/// Nodes that read the output of an Identity read its input instead.
bool postNRepl(Rewriting& r, Node& node) {
  if (!isIdentity(node)) return false;
  const halftone::TensorId x = node.inputs[0], y = node.outputs[0];
  if (!r.isRead(y) || r.isOutput(y) || r.isModified(x) || r.isModified(y)) return false;
  for (Node& reader : r.graph.nodes) {
    for (halftone::TensorId& id : reader.inputs) {
      if (id == y) id = x;
    }
  }
  return true;
}

/// An operator that neither moves nor converts elements becomes an Identity.
bool opToIdentity(Rewriting& r, Node& node) {
  const halftone::OpId& id = node.op->id;
  if (node.outputs.size() != 1 || node.outputs[0] == no_tensor || node.inputs.empty()) return false;
  const halftone::TensorInfo& x = r.graph.info(node.inputs[0]);
  if (!x.is_static() || x != r.graph.info(node.outputs[0])) return false;
  bool isNothing = id == ops::Reshape::id || id == ops::Flatten::id || id == ops::Expand::id ||
                   id == ops::Squeeze::id || id == ops::Unsqueeze::id || id == ops::Cast::id;
  if (id == ops::Transpose::id) {
    const halftone::Dims perm = halftone::unpack<ops::Transpose>(node.attributes).perm;
    isNothing = !perm.empty() && std::is_sorted(perm.begin(), perm.end());
  }
  if (!isNothing) return false;
  node.op = &halftone::descriptor<ops::Identity>;
  node.attributes = halftone::pack(ops::Identity{});
  node.inputs.resize(1);
  return true;
}

bool negativeOneScale(Rewriting&, Node& node) {
  if (node.op->id != ops::Scale::id) return false;
  if (halftone::unpack<ops::Scale>(node.attributes).scale != -1) return false;
  node.op = &halftone::descriptor<ops::Neg>;
  node.attributes = halftone::pack(ops::Neg{});
  return true;
}

/// A Transpose of a Transpose becomes one Transpose.
bool transposeToIdentity(Rewriting& r, Node& node) {
  if (node.op->id != ops::Transpose::id) return false;
  const Node* const source = r.soleSource(node.inputs[0], node);
  if (source == nullptr || source->op->id != ops::Transpose::id) return false;
  const halftone::Dims first = halftone::unpack<ops::Transpose>(source->attributes).perm;
  ops::Transpose second = halftone::unpack<ops::Transpose>(node.attributes);
  if (first.empty() || second.perm.empty()) return false;
  for (std::int64_t& axis : second.perm) axis = first[static_cast<std::size_t>(axis)];
  node.attributes = halftone::pack(second);
  node.inputs[0] = source->inputs[0];
  return true;
}

/// A Cast of an Expand becomes an Expand of a Cast, which converts fewer elements.
bool expandCast(Rewriting& r, Node& node) {
  if (node.op->id != ops::Cast::id || node.outputs.size() != 1) return false;
  Node* const expand = r.soleSource(node.inputs[0], node);
  if (expand == nullptr || expand->op->id != ops::Expand::id) return false;
  const halftone::TensorId middle = r.graph.add_tensor(
      {.info = {r.graph.info(node.outputs[0]).type, r.graph.info(expand->inputs[0]).shape}}, {});
  const halftone::TensorId x = expand->inputs[0], shape = expand->inputs[1];
  std::swap(expand->op, node.op);
  std::swap(expand->attributes, node.attributes);
  std::swap(expand->name, node.name);
  expand->inputs = {x};
  expand->outputs = {middle};
  node.inputs = {middle, shape};
  return true;
}

struct Rewrite {
  const char* name;
  bool (*apply)(Rewriting& r, Node& node);
};

/// The rewrites in the order of their priorities.
constexpr Rewrite rewrites[] = {
    {"ExpandCast", &expandCast},
    {"PreUniRepl", &preUniRepl},
    {"PostNRepl", &postNRepl},
    {"OpToIdentity", &opToIdentity},
    {"NegativeOneScale", &negativeOneScale},
    {"TransposeToIdentityOrReshapePattern", &transposeToIdentity},
};

/// Applies one pattern to all nodes, and returns how often it was applied.
int applyOne(halftone::Graph& graph, const Rewrite& rewrite, const NodeSettings& settings) {
  int count = 0;
  Rewriting rewriting(graph, settings);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (rewriting.isExcluded(node, rewrite.name)) continue;
    if (!rewrite.apply(rewriting, node)) continue;
    ++count;
    rewriting.look();
  }
  if (count != 0) graph = halftone::without_dead_code(std::move(graph));
  return count;
}

void applyAll(halftone::Graph& graph, const Patterns& patterns, const NodeSettings& settings,
              PatternCounts& counts) {
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (const Rewrite& rewrite : rewrites) {
      if (!patterns.isPatternEnabled(rewrite.name)) continue;
      const int count = applyOne(graph, rewrite, settings);
      counts[rewrite.name] += count;
      isChanged = isChanged || count != 0;
    }
  }
  for (halftone::Graph& body : graph.graphs) applyAll(body, patterns, settings, counts);
}

}  // namespace

namespace {

/// A location from the numbers that Builder::outputTensorLocation writes; without the last two, the
/// sharding domain, all replicas.
TensorLocation locationOf(const std::vector<std::int64_t>& numbers, const TensorId& id) {
  const auto isBelow = [&](std::size_t i, auto end) {
    return numbers[i] >= 0 && numbers[i] < static_cast<std::int64_t>(end);
  };
  const bool hasDomain = numbers.size() == 6;
  const bool isLocation = (hasDomain || numbers.size() == 4) && isBelow(0, TensorStorage::N) &&
                          isBelow(1, TileSet::N) && isBelow(2, TileSet::N) &&
                          isBelow(3, ReplicatedTensorSharding::N);
  if (!isLocation || (hasDomain && (!isBelow(4, CommGroupType::N) || numbers[5] < 0))) {
    throw error(
        "The attribute {} of the node that computes {} is no tensor location: it has 4 or 6 "
        "numbers, storage, load and storage tile set, sharding, and the sharding domain",
        sOutputTensorLocationAttribute, id);
  }
  TensorLocation location(static_cast<TensorStorage>(numbers[0]), static_cast<TileSet>(numbers[1]),
                          static_cast<TileSet>(numbers[2]),
                          static_cast<ReplicatedTensorSharding>(numbers[3]));
  if (hasDomain) {
    location.shardingDomain =
        CommGroup(static_cast<CommGroupType>(numbers[4]), static_cast<unsigned>(numbers[5]));
  }
  return location;
}

}  // namespace

NodeSettings nodeSettings(const GivenModel& model) {
  using namespace halftone::onnx;
  NodeSettings settings;
  const std::span<const std::byte> bytes = model.bytes();
  for (const Message& message : read_graph(read_model({bytes, bytes.data()}).graph).nodes) {
    const NodeMessage node = read_node(message);
    if (node.outputs.empty()) continue;
    const TensorId output(node.outputs[0]);
    if (const AttributeMessage* a = node.find(sExcludePatternsAttribute); a != nullptr) {
      for (const std::string_view pattern : a->texts()) {
        settings.excludedPatterns[output].emplace(pattern);
      }
    }
    if (const AttributeMessage* a = node.find(sSerializeMatMulModeAttribute); a != nullptr) {
      SerializedMatMul& parts = settings.serializedMatMuls[output];
      parts.mode = a->text;
      if (const auto* f = node.find(sSerializeMatMulFactorAttribute)) parts.factor = f->integer;
      if (const auto* k = node.find(sSerializeMatMulPrecisionAttribute)) {
        parts.keepsPrecision = k->integer != 0;
      }
    }
    if (const AttributeMessage* a = node.find(sOutputTensorLocationAttribute); a != nullptr) {
      const TensorLocation location = locationOf(a->integers(), output);
      for (const std::string_view id : node.outputs) {
        if (!id.empty()) settings.locations[TensorId(id)] = location;
      }
    }
    if (const AttributeMessage* a = node.find(sSchedulePriority); a != nullptr) {
      settings.schedulePriorities[output] = a->real;
    }
  }
  return settings;
}

namespace {

/// The nodes that change weights and the optimizer's state at the end of a step, and the IPU of each: that of
/// the node which reads the variable first; -1: it has none.
std::vector<std::pair<std::size_t, int>> updatesOf(const halftone::Graph& graph) {
  halftone::TensorMap<int> ipu(graph, -1);
  std::vector<std::pair<std::size_t, int>> updates;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.place.part == halftone::Part::update) {
      std::optional<int> own;
      halftone::for_each_modified(node, [&](std::size_t i) {
        if (own.value_or(-1) < 0) own = ipu[node.inputs[i]];
      });
      if (own) updates.emplace_back(n, node.place.ipu < 0 ? *own : node.place.ipu);
      continue;
    }
    for (const halftone::TensorId id : node.inputs) {
      if (id != no_tensor && ipu[id] < 0) ipu[id] = node.place.ipu;
    }
  }
  return updates;
}

/// Whether the updates of a step's end have an order of virtual graphs.
bool ordersUpdates(const SessionOptions& options) {
  return options.enableGradientAccumulation && options.virtualGraphMode != VirtualGraphMode::Off &&
         options.accumulateOuterFragmentSettings.schedule !=
             AccumulateOuterFragmentSchedule::Scheduler;
}

/// The places of updates among each other: smaller ones are first.
std::vector<int> turnsOf(const std::vector<std::pair<std::size_t, int>>& updates,
                         const AccumulateOuterFragmentSettings& settings) {
  constexpr int most_ipus = 64, behind = 1 << 20;
  const auto& alone = settings.excludedVirtualGraphs;
  std::map<int, int> next;  // turns of the IPUs
  std::vector<int> turns;
  for (const auto& [n, ipu] : updates) {
    const bool isSerial = settings.schedule == AccumulateOuterFragmentSchedule::Serial;
    const bool isAlone = std::find(alone.begin(), alone.end(), ipu) != alone.end();
    turns.push_back(ipu < 0    ? 0
                    : isSerial ? ipu
                    : isAlone  ? behind + ipu
                               : std::min(behind - 1, next[ipu]++ * most_ipus + ipu));
  }
  return turns;
}

/// Chooses which of the nodes that could run is next.
class Chooser {
 public:
  Chooser(const halftone::Graph& graph, const SessionOptions& options, std::string_view tieBreaker,
          const NodeSettings& settings)
      : graph_(graph),
        isGreedy_(tieBreaker == "greedy"),
        isRandom_(tieBreaker == "random"),
        reads_(halftone::Uses(graph).count),
        priority_(graph, 0) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const halftone::TensorId id : graph.nodes[n].outputs) {
        if (id == no_tensor) continue;
        const auto found = settings.schedulePriorities.find(TensorId(graph.name(id)));
        if (found != settings.schedulePriorities.end()) priority_[n] = found->second;
      }
      const bool isUpdate = graph.nodes[n].place.part == halftone::Part::update;
      if (isUpdate && !options.delayVarUpdates) priority_[n] = most;
    }
    hastenSums(graph);
    const auto updates = updatesOf(graph);
    const std::vector<int> turns = ordersUpdates(options)
                                       ? turnsOf(updates, options.accumulateOuterFragmentSettings)
                                       : std::vector<int>(updates.size());
    for (std::size_t i = 0; i < updates.size(); ++i) {
      priority_[updates[i].first] =
          (options.delayVarUpdates ? -most : most) - static_cast<float>(turns[i]);
    }
  }

  float priority(std::size_t n) const { return priority_[n]; }

  /// Takes one of the ready nodes, which are in the order in which they became ready.
  std::size_t take(std::vector<std::size_t>& ready) {
    std::vector<std::size_t> best;  // places of those of the largest priority
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (!best.empty() && priority_[ready[i]] < priority_[ready[best[0]]]) continue;
      if (!best.empty() && priority_[ready[i]] > priority_[ready[best[0]]]) best.clear();
      best.push_back(i);
    }
    std::size_t chosen = best.back();
    if (isRandom_) chosen = best[random_() % best.size()];
    if (isGreedy_) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (const std::size_t i : best) {
        const std::int64_t here = growth(ready[i]);
        if (here > least) continue;
        least = here;
        chosen = i;
      }
    }
    const std::size_t n = ready[chosen];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));
    for (const halftone::TensorId id : graph_.nodes[n].inputs) {
      if (id != no_tensor) --reads_[id];
    }
    return n;
  }

 private:
  /// Sums of gradients take these as soon as they are there, views of them included.
  void hastenSums(const halftone::Graph& graph) {
    halftone::TensorMap<bool> isSummed(graph, false);
    for (std::size_t n = graph.nodes.size(); n-- > 0;) {
      const Node& node = graph.nodes[n];
      bool isEager = halftone::is_view(node) && isSummed[node.outputs[0]];
      if (node.place.part == halftone::Part::backward) {
        halftone::for_each_modified(node, [&](std::size_t) { isEager = true; });
      }
      if (!isEager) continue;
      priority_[n] = most;
      for (const halftone::TensorId id : node.inputs) {
        if (id != no_tensor) isSummed[id] = true;
      }
    }
  }
  /// By how much memory grows when the node has run.
  std::int64_t growth(std::size_t n) const {
    const Node& node = graph_.nodes[n];
    std::int64_t bytes = 0;
    for (const halftone::TensorId id : node.outputs) {
      if (id != no_tensor) bytes += halftone::detail::value_bytes(graph_.tensor(id));
    }
    for (auto id = node.inputs.begin(); id != node.inputs.end(); ++id) {
      if (*id == no_tensor || std::find(node.inputs.begin(), id, *id) != id) continue;
      const auto own = std::count(id, node.inputs.end(), *id);
      if (reads_[*id] == own) bytes -= halftone::detail::value_bytes(graph_.tensor(*id));
    }
    return bytes;
  }

  static constexpr float most = 1 << 22;  // turns that are taken off it are exact

  const halftone::Graph& graph_;
  bool isGreedy_, isRandom_;
  halftone::TensorMap<int> reads_;  ///< that are still to come
  halftone::NodeMap<float> priority_;
  std::mt19937 random_{1};
};

/// The nodes that have to wait for each node.
halftone::NodeMap<std::vector<std::size_t>> followers(const halftone::Graph& graph) {
  halftone::NodeMap<std::vector<std::size_t>> after(graph);
  const halftone::Uses uses(graph);
  const halftone::Aliases aliases(graph);
  halftone::TensorMap<int> lastTouch(graph, no_node);
  int lastEffect = no_node;
  const auto wait = [&](int first, std::size_t second) {
    const auto before = static_cast<std::size_t>(first);
    if (first != no_node && before != second) after[before].push_back(second);
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const halftone::TensorId id : node.inputs) {
      if (id == no_tensor) continue;
      wait(uses.producer[id], n);
      if (!aliases.is_modified(id)) continue;
      int& touched = lastTouch[aliases.root(id)];
      wait(touched, n);
      touched = static_cast<int>(n);
    }
    // Changes of variables are in order already.
    if (!node.op->has_effect && !halftone::has_effect_inside(graph, node)) continue;
    wait(lastEffect, n);
    lastEffect = static_cast<int>(n);
  }
  return after;
}

/// An order of nodes that becomes better when nodes move past their neighbours.
class Shifts {
 public:
  Shifts(const halftone::Graph& graph, std::vector<std::size_t>& order,
         const halftone::NodeMap<std::vector<std::size_t>>& after, const Chooser& chooser)
      : graph_(graph), order_(order), after_(after), chooser_(chooser), readers_(graph) {
    place_.resize(order.size());
    for (std::size_t at = 0; at < order.size(); ++at) place_[order[at]] = at;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const halftone::TensorId id : graph.nodes[n].inputs) {
        if (id != no_tensor) readers_[id].push_back(n);
      }
    }
    for (const halftone::TensorId id : graph.outputs) readers_[id].push_back(graph.nodes.size());
  }

  /// Moves nodes until nothing becomes better, or a limit is reached.
  void run(std::int64_t most, std::chrono::duration<double> time) {
    const auto end = std::chrono::steady_clock::now() + time;
    std::int64_t count = 0;
    for (bool isBetter = true; isBetter;) {
      isBetter = false;
      for (std::size_t at = 0; at < order_.size(); ++at) {
        for (const bool isLater : {true, false}) {
          if (count >= most || std::chrono::steady_clock::now() >= end) return;
          if (!shift(at, isLater)) continue;
          isBetter = true;
          ++count;
        }
      }
    }
  }

 private:
  /// Moves the node at a place past its neighbours to where memory is best; false if that is where it is.
  bool shift(std::size_t from, bool isLater) {
    constexpr std::size_t window = 64;
    std::int64_t sum = 0, best = 0;
    std::size_t at = from, steps = 0, taken = 0;
    while (steps < window && (isLater ? at + 1 < order_.size() : at > 0)) {
      const std::size_t first = isLater ? at : at - 1;
      if (!canSwap(first)) break;
      sum += gain(first);
      swap(first);
      at = isLater ? at + 1 : at - 1;
      ++steps;
      if (sum < best) {
        best = sum;
        taken = steps;
      }
    }
    for (; steps > taken; --steps) {
      at = isLater ? at - 1 : at + 1;
      swap(isLater ? at : at - 1);
    }
    return taken != 0;
  }
  /// Whether the nodes at a place and the next one may change places.
  bool canSwap(std::size_t at) const {
    const auto& next = after_[order_[at]];
    const bool waits = std::find(next.begin(), next.end(), order_[at + 1]) != next.end();
    return !waits && chooser_.priority(order_[at]) == chooser_.priority(order_[at + 1]);
  }
  /// By how much the sum of bytes times steps changes if they do.
  std::int64_t gain(std::size_t at) const {
    return change(order_[at + 1], order_[at]) - change(order_[at], order_[at + 1]);
  }
  void swap(std::size_t at) {
    std::swap(place_[order_[at]], place_[order_[at + 1]]);
    std::swap(order_[at], order_[at + 1]);
  }
  /// The bytes that live one step longer because `first` runs right before `second` does: the outputs of
  /// `first`, and the inputs that `second` is the last to read.
  std::int64_t change(std::size_t first, std::size_t second) const {
    std::int64_t bytes = 0;
    for (const halftone::TensorId id : graph_.nodes[first].outputs) {
      if (id != no_tensor) bytes += halftone::detail::value_bytes(graph_.tensor(id));
    }
    const auto& inputs = graph_.nodes[second].inputs;
    for (auto id = inputs.begin(); id != inputs.end(); ++id) {
      if (*id == no_tensor || std::find(inputs.begin(), id, *id) != id) continue;
      const bool isLast =
          std::all_of(readers_[*id].begin(), readers_[*id].end(), [&](std::size_t reader) {
            if (reader == second) return true;
            const bool isBefore = reader < place_.size() && place_[reader] < place_[second];
            return reader != first && isBefore;
          });
      if (isLast) bytes += halftone::detail::value_bytes(graph_.tensor(*id));
    }
    return bytes;
  }

  const halftone::Graph& graph_;
  std::vector<std::size_t>& order_;
  const halftone::NodeMap<std::vector<std::size_t>>& after_;
  const Chooser& chooser_;
  halftone::TensorMap<std::vector<std::size_t>> readers_;
  std::vector<std::size_t> place_;  ///< by node
};

/// Whether the updates have the places that the options ask for.
bool areInOrder(const halftone::Graph& graph, const SessionOptions& options) {
  if (!ordersUpdates(options)) return true;
  const std::vector<int> turns = turnsOf(updatesOf(graph), options.accumulateOuterFragmentSettings);
  return std::is_sorted(turns.begin(), turns.end());
}

}  // namespace

void orderNodes(halftone::Graph& graph, const SessionOptions& options,
                const NodeSettings& settings) {
  const std::string tieBreaker = lowered(options.kahnTieBreaker);
  const SessionOptions usual;
  const bool isUsual =
      tieBreaker == usual.kahnTieBreaker &&
      options.swapLimitScheduler == usual.swapLimitScheduler &&
      options.timeLimitScheduler == usual.timeLimitScheduler && options.delayVarUpdates &&
      !options.scheduleNonWeightUpdateGradientConsumersEarly && areInOrder(graph, options);
  if (isUsual && settings.schedulePriorities.empty()) return;
  const auto after = followers(graph);
  halftone::NodeMap<int> waits(graph, 0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const std::size_t next : after[n]) ++waits[next];
  }
  std::vector<std::size_t> ready, order;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (waits[n] == 0) ready.push_back(n);
  }
  Chooser chooser(graph, options, tieBreaker, settings);
  while (!ready.empty()) {
    order.push_back(chooser.take(ready));
    for (const std::size_t next : after[order.back()]) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  Shifts(graph, order, after, chooser)
      .run(options.swapLimitScheduler, std::chrono::duration<double>(options.timeLimitScheduler));
  halftone::Vector<Node> nodes;
  for (const std::size_t n : order) {
    nodes.push_back(std::move(graph.nodes[n]));
    // The session keeps the order of nodes that are in one block.
    nodes.back().order = {.block = 1, .position = static_cast<std::int32_t>(nodes.size())};
  }
  graph.nodes = std::move(nodes);
}

namespace {

/// Records other nodes in the place of those that are wanted; the last one of them makes the output.
template <class IsWanted, class Record>
void replaceNodes(halftone::Graph& graph, IsWanted&& isWanted, Record&& record) {
  halftone::Vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    if (!isWanted(node)) {
      graph.nodes.push_back(std::move(node));
      continue;
    }
    const halftone::PlaceScope there(graph, node.place);
    const halftone::TensorId y = node.outputs[0];
    record(node);
    graph.nodes.back().outputs[0] = y;
  }
}

template <class Op>
bool isOp(const Node& node) {
  return node.op->id == Op::id;
}

}  // namespace

void strideGroups(halftone::Graph& graph) {
  for (halftone::Graph& body : graph.graphs) strideGroups(body);
  replaceNodes(graph, isOp<ops::GroupNormalization>, [&](Node& node) {
    const std::int64_t groups =
        halftone::unpack<ops::GroupNormalization>(node.attributes).num_groups;
    const std::int64_t channels = graph.info(node.inputs[0]).shape[1], size = channels / groups;
    std::vector<std::int64_t> order, back(static_cast<std::size_t>(channels));
    for (std::int64_t c = 0; c < channels; ++c) {
      order.push_back(c % size * groups + c / size);
      back[static_cast<std::size_t>(order.back())] = c;
    }
    const auto gather = [&](halftone::TensorId id, const std::vector<std::int64_t>& by,
                            std::int64_t axis) {
      const halftone::AnyTensor indices =
          halftone::constant<std::int64_t>(graph, std::span(by), {channels});
      return ops::gather(halftone::AnyTensor{&graph, id}, indices, {.axis = axis}).id;
    };
    for (std::size_t i = 0; i < 3; ++i) node.inputs[i] = gather(node.inputs[i], order, i == 0);
    const halftone::TensorId grouped = graph.add_tensor({.info = graph.info(node.outputs[0])}, {});
    node.outputs[0] = grouped;
    graph.nodes.push_back(std::move(node));
    gather(grouped, back, 1);
  });
}

void expandSoftmaxes(halftone::Graph& graph) {
  for (halftone::Graph& body : graph.graphs) expandSoftmaxes(body);
  replaceNodes(graph, isOp<ops::Softmax>, [&](const Node& node) {
    const auto axis = static_cast<std::int64_t>(halftone::normalized_axis(
        halftone::unpack<ops::Softmax>(node.attributes).axis, graph.info(node.inputs[0]).rank()));
    const halftone::AnyTensor powers = ops::exp(halftone::AnyTensor{&graph, node.inputs[0]});
    ops::div(powers, ops::sum(powers, halftone::constant(graph, {axis})));
  });
}

halftone::TensorId scaleAsFloat(halftone::Graph& graph, halftone::TensorId loss) {
  constexpr auto half = halftone::ElementType::float16, whole = halftone::ElementType::float32;
  if (graph.info(loss).type != half) return loss;
  constexpr std::string_view inFloat[] = {"IdentityLoss", "L1",         "Nll",       "Softmax",
                                          "LogSoftmax",   "ReduceMean", "ReduceSum", "Reshape"};
  const auto runsInFloat = [&](const Node& node) {
    return std::find(std::begin(inFloat), std::end(inFloat), node.op->id.name) != std::end(inFloat);
  };
  std::map<halftone::TensorId, halftone::TensorId> floats;  // by the halves that they stand for
  // The nodes that the loss follows from, back to the first one that is not of these operators.
  halftone::TensorMap<bool> isWanted(graph, false);
  isWanted[loss] = true;
  std::vector<bool> isInFloat(graph.nodes.size(), false);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (node.outputs.size() != 1 || !isWanted[node.outputs[0]]) continue;
    if (node.op->id == ops::Cast::id && graph.info(node.inputs[0]).type == whole) {
      floats[node.outputs[0]] = node.inputs[0];
    }
    if (!runsInFloat(node)) continue;
    isInFloat[n] = true;
    for (const halftone::TensorId id : node.inputs) {
      if (id != no_tensor) isWanted[id] = graph.info(id).type == half;
    }
  }
  halftone::Vector<Node> nodes = std::exchange(graph.nodes, {});
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    Node& node = nodes[n];
    if (!isInFloat[n]) {
      graph.nodes.push_back(std::move(node));
      continue;
    }
    const halftone::PlaceScope there(graph, node.place);
    for (halftone::TensorId& id : node.inputs) {
      if (id == no_tensor || graph.info(id).type != half) continue;
      const auto [known, isNew] = floats.emplace(id, no_tensor);
      if (isNew) {
        known->second = ops::cast(halftone::AnyTensor{&graph, id}, {.to = whole}).id;
      }
      id = known->second;
    }
    const halftone::TensorId y = node.outputs[0];
    halftone::TensorInfo info = graph.info(y);
    info.type = whole;
    const halftone::TensorId made = graph.add_tensor({.info = info}, {});
    floats[y] = node.outputs[0] = made;
    graph.nodes.push_back(std::move(node));
    ops::cast(halftone::AnyTensor{&graph, made}, {.to = half});
    graph.nodes.back().outputs[0] = y;
  }
  const auto start = floats.find(loss);
  if (start != floats.end()) return start->second;
  throw error(
      "ensureFp32LossScaleTensor: the loss {} is FLOAT16, and not the output of a loss operator, a "
      "softmax or a reduction",
      graph.name(loss));
}

void separateSoftmaxGradients(halftone::Graph& graph) {
  const auto isSeparable = [&](const Node& node) {
    if (!isOp<ops::SoftmaxNllGradient>(node)) return false;
    const std::size_t rank = graph.info(node.inputs[0]).rank();
    const std::int64_t axis = halftone::unpack<ops::SoftmaxNllGradient>(node.attributes).axis;
    return !has_input(node, 3) && halftone::normalized_axis(axis, rank) + 1 == rank;
  };
  replaceNodes(graph, isSeparable, [&](const Node& node) {
    const auto direct = halftone::unpack<ops::SoftmaxNllGradient>(node.attributes);
    const ops::NllGradient loss{.reduction = direct.reduction,
                                .ignore_index = direct.ignore_index,
                                .input_is_log_probability = direct.is_logarithm};
    const halftone::AnyTensor y{&graph, node.inputs[0]};
    const halftone::AnyTensor dy{
        &graph, halftone::detail::record(graph, loss,
                                         {node.inputs[1], node.inputs[0], node.inputs[2]}, 1)[0]};
    const halftone::AnyTensor last = halftone::constant(graph, {-1});
    halftone::AnyTensor product = dy, factor = y;
    if (direct.is_logarithm) {
      factor = ops::exp(y);
    } else {
      product = dy * y;
    }
    const halftone::AnyTensor sum = ops::sum(product, last), spread = factor * sum;
    ops::sub(product, spread);
  });
}

namespace {

/// Whether two nodes join gradients of the replicas in the same way, in the same place.
bool areAlike(const halftone::Graph& graph, const Node& a, const Node& b) {
  return a.op == b.op && a.attributes == b.attributes && a.place == b.place &&
         graph.info(a.inputs[0]).type == graph.info(b.inputs[0]).type;
}

/// The elements [first, end) of an axis.
halftone::AnyTensor sliceOf(const halftone::AnyTensor& x, std::int64_t axis, std::int64_t first,
                            std::int64_t end) {
  halftone::Graph& graph = *x.graph;
  const halftone::AnyTensor from = halftone::constant(graph, {first});
  const halftone::AnyTensor to = halftone::constant(graph, {end});
  return ops::slice(x, from, to, halftone::constant(graph, {axis}));
}

/// Records one node for the given ones, whose results have the tensors that theirs had.
void recordMerged(halftone::Graph& graph, const std::vector<Node>& reduces) {
  const halftone::PlaceScope there(graph, reduces[0].place);
  std::vector<halftone::AnyTensor> parts;
  for (const Node& node : reduces) {
    parts.push_back(
        ops::reshape(halftone::AnyTensor{&graph, node.inputs[0]}, halftone::constant(graph, {-1})));
  }
  const halftone::AnyTensor joined =
      ops::concat(std::span<const halftone::AnyTensor>(parts), {.axis = 0});
  Node merged = reduces[0];
  merged.order = {};  // the others' inputs may come later
  merged.inputs[0] = joined.id;
  merged.outputs[0] = graph.add_tensor({.info = joined.info()}, {});
  const halftone::AnyTensor all{&graph, merged.outputs[0]};
  graph.nodes.push_back(std::move(merged));
  std::int64_t first = 0;
  for (const Node& node : reduces) {
    const halftone::TensorInfo& info = graph.info(node.outputs[0]);
    const std::int64_t end = first + info.elements();
    ops::reshape(sliceOf(all, 0, first, end), halftone::constant(graph, info.shape));
    graph.nodes.back().outputs[0] = node.outputs[0];
    first = end;
  }
}

}  // namespace

void mergeAllReduces(halftone::Graph& graph) {
  std::vector<Node> waiting;  // those that are alike, in one run of nodes that need none of them
  halftone::Vector<Node> nodes = std::exchange(graph.nodes, {});
  const auto record = [&] {
    if (waiting.size() == 1) graph.nodes.push_back(waiting[0]);
    if (waiting.size() > 1) recordMerged(graph, waiting);
    waiting.clear();
  };
  for (Node& node : nodes) {
    const bool isNeeded = std::any_of(waiting.begin(), waiting.end(), [&](const Node& reduce) {
      return std::find(node.inputs.begin(), node.inputs.end(), reduce.outputs[0]) !=
             node.inputs.end();
    });
    const bool isReduce =
        node.op->id == ops::ReplicatedAllReduce::id && node.place.part == halftone::Part::update;
    const bool isOther = isReduce && !waiting.empty() && !areAlike(graph, waiting[0], node);
    if (isNeeded || isOther || (!isReduce && node.op->has_effect)) record();
    if (isReduce) {
      waiting.push_back(std::move(node));
    } else {
      graph.nodes.push_back(std::move(node));
    }
  }
  record();
}

namespace {

/// Part `k` of `count` along an axis.
halftone::AnyTensor partOf(halftone::AnyTensor x, std::int64_t axis, std::int64_t k,
                           std::int64_t count) {
  const std::int64_t size = x.info().shape[static_cast<std::size_t>(axis)] / count;
  return sliceOf(x, axis, k * size, (k + 1) * size);
}

/// Records the product in parts; the last node computes the whole.
void recordParts(halftone::Graph& graph, const Node& node, const SerializedMatMul& parts) {
  const halftone::AnyTensor a{&graph, node.inputs[0]}, b{&graph, node.inputs[1]};
  const TensorId name(graph.name(node.outputs[0]));
  const auto rankOf = [](halftone::AnyTensor x) {
    return static_cast<std::int64_t>(x.info().shape.size());
  };
  const bool isReducing = parts.mode == sSerializeMatMulMode_ReducingDim;
  const bool isRows = parts.mode == sSerializeMatMulMode_InputChannels;
  if (!isReducing && !isRows && parts.mode != sSerializeMatMulMode_OutputChannels) {
    throw error("MatMul of {}: unknown serialization mode '{}'; modes are {}, {}, {}, {}", name,
                parts.mode, sSerializeMatMulMode_None, sSerializeMatMulMode_InputChannels,
                sSerializeMatMulMode_ReducingDim, sSerializeMatMulMode_OutputChannels);
  }
  if (rankOf(a) < 2 || rankOf(b) < 2) {
    throw error("MatMul of {}: vectors cannot be serialized", name);
  }
  const std::int64_t axisOfA = isRows ? rankOf(a) - 2 : rankOf(a) - 1;
  const std::int64_t axisOfB = isReducing ? rankOf(b) - 2 : rankOf(b) - 1;
  const std::int64_t extent = isRows ? a.info().shape[static_cast<std::size_t>(axisOfA)]
                                     : b.info().shape[static_cast<std::size_t>(axisOfB)];
  if (parts.factor < 1 || extent % parts.factor != 0) {
    throw error("MatMul of {}: the serialization factor {} does not divide {} of {}", name,
                parts.factor, extent, parts.mode);
  }
  const halftone::ElementType type = a.info().type;
  const bool isWidened =
      isReducing && parts.keepsPrecision && type == halftone::ElementType::float16;
  std::vector<halftone::AnyTensor> products;
  for (std::int64_t k = 0; k < parts.factor; ++k) {
    halftone::AnyTensor left = a, right = b;
    if (isRows || isReducing) left = partOf(a, axisOfA, k, parts.factor);
    if (!isRows) right = partOf(b, axisOfB, k, parts.factor);
    if (isWidened) {
      left = ops::cast(left, {.to = halftone::ElementType::float32});
      right = ops::cast(right, {.to = halftone::ElementType::float32});
    }
    products.push_back(ops::matmul(left, right));
  }
  if (!isReducing) {
    const std::int64_t rank = rankOf(halftone::AnyTensor{&graph, node.outputs[0]});
    ops::concat(std::span<const halftone::AnyTensor>(products),
                {.axis = isRows ? rank - 2 : rank - 1});
    return;
  }
  halftone::AnyTensor sum = products[0];
  for (std::size_t k = 1; k < products.size(); ++k) sum = ops::add(sum, products[k]);
  if (isWidened) ops::cast(sum, {.to = type});
}

}  // namespace

void serializeMatMuls(halftone::Graph& graph, const NodeSettings& settings) {
  if (settings.serializedMatMuls.empty()) return;
  const auto partsOf = [&](const Node& node) -> const SerializedMatMul* {
    if (!isOp<ops::MatMul>(node) || node.outputs[0] == no_tensor) return nullptr;
    const auto found = settings.serializedMatMuls.find(TensorId(graph.name(node.outputs[0])));
    const bool isWhole = found == settings.serializedMatMuls.end() || found->second.factor == 1 ||
                         found->second.mode == sSerializeMatMulMode_None;
    return isWhole ? nullptr : &found->second;
  };
  replaceNodes(graph, partsOf, [&](const Node& node) { recordParts(graph, node, *partsOf(node)); });
}

PatternCounts applyPatterns(halftone::Graph& graph, const Patterns& patterns,
                            const NodeSettings& settings) {
  PatternCounts counts;
  applyAll(graph, patterns, settings, counts);
  return counts;
}

}  // namespace popart::detail
