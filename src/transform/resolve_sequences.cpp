#include "transform/resolve_sequences.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>

namespace halftone {
namespace {

using Items = Vector<TensorId>;

/// Whether Split and Concat take such tensors.
bool is_plain(const TensorInfo& info) { return info.is_known() && !has_objects(info.type); }

class Resolution {
 public:
  explicit Resolution(Graph& graph) : graph_(graph), items_(graph), stands_for_(graph) {
    for (std::size_t i = 0; i < stands_for_.size(); ++i) {
      stands_for_[static_cast<TensorId>(i)] = static_cast<TensorId>(i);
    }
  }

  bool run() {
    const std::size_t tensors = graph_.tensors.size();
    const Vector<Node> before = std::exchange(graph_.nodes, {});
    for (Node node : before) {
      for (TensorId& id : node.inputs) {
        if (id != no_tensor) id = stands_for_[id];
      }
      if (!resolve(node)) graph_.nodes.push_back(std::move(node));
    }
    if (changed_) {
      graph_ = without_dead_code(std::move(graph_));
    } else {
      graph_.nodes = before;
      graph_.tensors.resize(tensors);
    }
    return changed_;
  }

 private:
  /// Whether nothing needs the node itself any more. One that makes a sequence stays, for those who
  /// need it whole, until it is dead.
  bool resolve(const Node& node) {
    const OpId& id = node.op->id;
    if (id == op::SequenceEmpty::id) return make(node, Items{});
    if (id == op::SequenceConstruct::id) return make(node, node.inputs);
    if (id == op::Identity::id) return make(node, items(node, 0));
    if (id == op::SequenceInsert::id) return insert(node);
    if (id == op::SequenceErase::id) return erase(node);
    if (id == op::SplitToSequence::id) return split(node);
    if (id == op::SequenceAt::id) return at(node);
    if (id == op::SequenceLength::id) return length(node);
    if (id == op::ConcatFromSequence::id) return concat(node);
    return false;
  }

  static bool has(const Node& node, std::size_t input) {
    return input < node.inputs.size() && node.inputs[input] != no_tensor;
  }
  /// The items of a sequence, if they are known.
  std::optional<Items> items(const Node& node, std::size_t input) const {
    const TensorId id = node.inputs[input];
    return items_.has(id) ? items_[id] : std::nullopt;
  }
  bool make(const Node& node, std::optional<Items> items) {
    items_[node.outputs[0]] = std::move(items);
    return false;
  }
  /// The numbers of a constant input; nothing if it is none.
  std::optional<std::vector<std::int64_t>> integers(const Node& node, std::size_t input) const {
    const TensorRecord& t = graph_.tensor(node.inputs[input]);
    if (t.role != Role::constant || !t.info.is_known()) return std::nullopt;
    const InputInfo info = input_info(graph_, node.inputs[input]);
    return Inputs({&info, 1}, 0).integers(0);
  }
  /// A position from 0 to `most`; `absent` without an input.
  std::optional<std::size_t> position(const Node& node, std::size_t input, std::size_t count,
                                      std::size_t most, std::size_t absent) const {
    if (!has(node, input)) return absent <= most ? std::optional(absent) : std::nullopt;
    const auto numbers = integers(node, input);
    if (!numbers || numbers->size() != 1) return std::nullopt;
    std::int64_t at = numbers->front();
    if (at < 0) at += static_cast<std::int64_t>(count);
    if (at < 0 || at > static_cast<std::int64_t>(most)) return std::nullopt;
    return static_cast<std::size_t>(at);
  }

  bool insert(const Node& node) {
    std::optional<Items> list = items(node, 0);
    if (!list) return false;
    const std::size_t count = list->size();
    const auto at = position(node, 2, count, count, count);
    if (!at) return false;
    list->insert(list->begin() + static_cast<std::ptrdiff_t>(*at), node.inputs[1]);
    return make(node, std::move(list));
  }
  bool erase(const Node& node) {
    std::optional<Items> list = items(node, 0);
    if (!list || list->empty()) return false;
    const std::size_t last = list->size() - 1;
    const auto at = position(node, 1, list->size(), last, last);
    if (!at) return false;
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(*at));
    return make(node, std::move(list));
  }
  bool at(const Node& node) {
    const std::optional<Items> list = items(node, 0);
    if (!list || list->empty()) return false;
    const auto at = position(node, 1, list->size(), list->size() - 1, list->size());
    return at && replace(node, (*list)[*at]);
  }
  bool length(const Node& node) {
    const std::optional<Items> list = items(node, 0);
    if (!list) return false;
    const std::int64_t count = std::ssize(*list);
    return replace(node, constant(graph_, std::span(&count, 1), Dims{}).id);
  }
  /// An output of the graph keeps its tensor.
  bool replace(const Node& node, TensorId other) {
    changed_ = true;
    const TensorId id = node.outputs[0];
    if (std::find(graph_.outputs.begin(), graph_.outputs.end(), id) == graph_.outputs.end()) {
      stands_for_[id] = other;
    } else {
      op::identity(AnyTensor{&graph_, other});
      give(node);
    }
    return true;
  }
  /// The last node that was recorded gives what the node gave.
  void give(const Node& node) {
    Node& last = graph_.nodes.back();
    last.name = node.name;
    graph_.tensor(node.outputs[0]).info = graph_.info(last.outputs[0]);
    last.outputs[0] = node.outputs[0];
  }

  /// The lengths that SplitToSequence divides an extent into.
  std::optional<std::vector<std::int64_t>> pieces(const Node& node, std::int64_t extent) const {
    constexpr std::int64_t most_pieces = 4096;
    std::int64_t piece = 1;
    if (has(node, 1)) {
      const auto numbers = integers(node, 1);
      if (!numbers) return std::nullopt;
      if (graph_.info(node.inputs[1]).rank() == 1) {
        std::int64_t left = extent;
        for (const std::int64_t length : *numbers) {
          if (length < 0 || length > left) return std::nullopt;
          left -= length;
        }
        return left == 0 ? numbers : std::nullopt;
      }
      if (numbers->size() != 1) return std::nullopt;
      piece = numbers->front();
    }
    if (piece <= 0 || extent / piece >= most_pieces) return std::nullopt;
    std::vector<std::int64_t> lengths;
    for (std::int64_t left = extent; left > 0; left -= lengths.back()) {
      lengths.push_back(std::min(piece, left));
    }
    return lengths;
  }
  bool split(const Node& node) {
    const auto op = unpack<op::SplitToSequence>(node.attributes);
    const AnyTensor x{&graph_, node.inputs[0]};
    const TensorInfo info = x.info();
    if (!is_plain(info)) return false;
    const std::size_t axis = normalized_axis(op.axis, info.rank());
    if (axis == info.rank() || info.shape[axis] == dynamic) return false;
    const auto lengths = pieces(node, info.shape[axis]);
    if (!lengths) return false;

    Vector<TensorInfo> infos(lengths->size(), info);
    for (std::size_t i = 0; i < lengths->size(); ++i) infos[i].shape[axis] = (*lengths)[i];
    const std::int64_t count = std::ssize(*lengths);
    const AnyTensor sizes = constant(graph_, std::span<const std::int64_t>(*lengths), Dims{count});
    if (!lengths->empty()) {
      graph_.add_node(descriptor<op::Split>, pack(op::Split{.axis = op.axis}), {x.id, sizes.id},
                      infos);
    }
    Items items;
    if (!lengths->empty()) items = graph_.nodes.back().outputs;
    if (!has(node, 1) && !op.keepdims) {
      const AnyTensor axes = constant(graph_, Dims{static_cast<std::int64_t>(axis)});
      for (TensorId& item : items) item = op::squeeze(AnyTensor{&graph_, item}, axes).id;
    }
    return make(node, std::move(items));
  }
  bool concat(const Node& node) {
    const std::optional<Items> list = items(node, 0);
    if (!list || list->empty()) return false;
    const auto op = unpack<op::ConcatFromSequence>(node.attributes);
    Vector<AnyTensor> parts;
    const TensorInfo first = graph_.info(list->front());
    for (const TensorId id : *list) {
      const TensorInfo& info = graph_.info(id);
      if (!is_plain(info) || info.type != first.type || info.rank() != first.rank()) return false;
      parts.push_back({&graph_, id});
    }
    const std::size_t rank = first.rank() + (op.new_axis ? 1 : 0);
    const std::size_t axis = normalized_axis(op.axis, rank);
    if (axis == rank || rank > max_rank) return false;
    for (const AnyTensor& part : parts) {
      for (std::size_t d = 0; d < first.rank(); ++d) {
        if (!op.new_axis && d == axis) continue;
        if (contradict(part.info().shape[d], first.shape[d])) return false;
      }
    }
    changed_ = true;
    const auto along = static_cast<std::int64_t>(axis);
    if (op.new_axis) {
      const AnyTensor axes = constant(graph_, Dims{along});
      for (AnyTensor& part : parts) part = op::unsqueeze(part, axes);
    }
    op::concat(parts, {.axis = along});
    give(node);
    return true;
  }

  Graph& graph_;
  TensorMap<std::optional<Items>> items_;  ///< of sequences
  TensorMap<TensorId> stands_for_;
  bool changed_ = false;
};

}  // namespace

bool resolve_sequences(Graph& graph) {
  bool changed = false;
  for (Graph& body : graph.graphs) changed = resolve_sequences(body) || changed;
  const bool has_sequences =
      std::any_of(graph.tensors.begin(), graph.tensors.end(),
                  [](const TensorRecord& t) { return is_sequence(t.info.type); });
  return (has_sequences && Resolution(graph).run()) || changed;
}

}  // namespace halftone
