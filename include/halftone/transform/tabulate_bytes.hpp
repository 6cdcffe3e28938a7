#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/infer.hpp>

namespace halftone {

namespace detail {

/// Finds the tensors that are functions of one tensor of bytes, element by element.
class ByteFunctions {
 public:
  explicit ByteFunctions(const Graph& graph)
      : graph_(graph), aliases_(graph), uses_(graph), source_(graph, no_tensor), length_(graph, 0) {
    for (const Node& node : graph.nodes) {
      if (node.op == nullptr || !node.op->in_groups || node.order.block != 0) continue;
      if (node.outputs.size() != 1 || node.outputs[0] == no_tensor) continue;
      find(node);
    }
  }

  static bool is_bytes(const TensorInfo& info) { return has_type(QuantizedTypes{}, info.type); }

  /// The tensor that y is a function of; no_tensor: there is none, or it is as quick to compute.
  TensorId source_of(TensorId y) const {
    constexpr int least = 3;  // nodes between them
    constexpr std::int64_t least_elements = 512;
    const bool pays = is_bytes(graph_.info(y)) && length_[y] >= least && length_[y] <= most_nodes &&
                      graph_.info(y).elements() >= least_elements;
    return pays ? source_[y] : no_tensor;
  }

  /// The values of y for all bytes, in the order of their bits; none if they cannot be computed.
  Bytes values(TensorId y, Evaluate evaluate, void* context) const {
    const TensorId x = source_[y];
    Graph side;
    std::vector<std::pair<TensorId, TensorId>> known{{x, all_bytes(side, graph_.info(x))}};
    const Dims domain = side.info(known[0].second).shape;
    for (const std::size_t n : nodes_of(y)) {
      const Node& node = graph_.nodes[n];
      Vector<TensorId> inputs;
      for (const TensorId id : node.inputs) {
        const auto found = std::ranges::find(known, id, &std::pair<TensorId, TensorId>::first);
        if (id == no_tensor) {
          inputs.push_back(no_tensor);
        } else if (found != known.end()) {
          inputs.push_back(found->second);
        } else {
          inputs.push_back(side.add_constant(graph_.info(id), graph_.tensor(id).data));
        }
      }
      const TensorInfo info{graph_.info(node.outputs[0]).type, domain};
      const std::size_t added =
          side.add_node(*node.op, node.attributes, std::move(inputs), std::span(&info, 1));
      const TensorId made = side.nodes[added].outputs[0];
      if (!evaluate(context, side, added)) return {};
      known.emplace_back(node.outputs[0], made);
    }
    return side.tensor(known.back().second).data;
  }

 private:
  bool is_number(TensorId id) const {
    const TensorRecord& t = graph_.tensor(id);
    return t.role == Role::constant && t.info.is_static() && t.info.elements() == 1;
  }
  const Node* producer_of(TensorId id) const {
    const int n = uses_.producer[id];
    return n == no_node ? nullptr : &graph_.nodes[static_cast<std::size_t>(n)];
  }

  void find(const Node& node) {
    const TensorId y = node.outputs[0];
    TensorId source = no_tensor;
    int length = 0;
    for (const TensorId id : node.inputs) {
      if (id == no_tensor || is_number(id)) continue;
      TensorId from = source_[id];
      if (from == no_tensor && is_bytes(graph_.info(id)) && !aliases_.is_modified(id)) from = id;
      if (from == no_tensor || (source != no_tensor && from != source)) return;
      const Node* const maker = from == id ? nullptr : producer_of(id);
      if (maker != nullptr && !may_merge(maker->place, node.place)) return;
      source = from;
      length = std::min(length + length_[id], most_nodes);
    }
    const bool fits = source != no_tensor && graph_.info(y).is_static() &&
                      graph_.info(y).rank() > 0 &&
                      graph_.info(y).shape == graph_.info(source).shape;
    if (!fits) return;
    source_[y] = source;
    length_[y] = length + 1;
  }

  /// The nodes between a tensor and its source, in their order.
  std::vector<std::size_t> nodes_of(TensorId y) const {
    std::vector<std::size_t> nodes;
    std::vector<TensorId> open{y};
    while (!open.empty()) {
      const TensorId id = open.back();
      open.pop_back();
      const auto n = static_cast<std::size_t>(uses_.producer[id]);
      if (std::ranges::find(nodes, n) != nodes.end()) continue;
      nodes.push_back(n);
      for (const TensorId input : graph_.nodes[n].inputs) {
        if (input != no_tensor && source_[input] != no_tensor) open.push_back(input);
      }
    }
    std::ranges::sort(nodes);
    return nodes;
  }

  /// All bytes, with as many dimensions as x has, so that numbers of some dimensions broadcast to them.
  static TensorId all_bytes(Graph& side, const TensorInfo& x) {
    std::array<std::uint8_t, 256> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
    Dims shape = Dims::filled(x.rank(), 1);
    shape[x.rank() - 1] = 256;
    return side.add_constant({x.type, shape}, Bytes::copy_of(std::as_bytes(std::span(bytes))));
  }

  static constexpr int most_nodes = 64;

  const Graph& graph_;
  Aliases aliases_;
  Uses uses_;
  TensorMap<TensorId> source_;
  TensorMap<int> length_;
};

}  // namespace detail

/// What computes bytes of one tensor of bytes, element by element, becomes a table of the 256 results:
/// activations between quantized tensors. The results are those of the operators. All infos must be
/// known. What nothing reads any more is left to `dead_code`.
inline Graph tabulate_bytes(Graph graph, Evaluate evaluate, void* context) {
  if (std::ranges::none_of(graph.tensors, &detail::ByteFunctions::is_bytes, &TensorRecord::info)) {
    return graph;
  }
  const detail::ByteFunctions functions(graph);
  struct Table {
    std::size_t node;
    TensorId source;
    Bytes values;
  };
  std::vector<Table> tables;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.outputs.size() != 1 || node.outputs[0] == no_tensor) continue;
    const TensorId source = functions.source_of(node.outputs[0]);
    if (source == no_tensor) continue;
    Bytes values = functions.values(node.outputs[0], evaluate, context);
    if (values.size() != 0) tables.push_back({n, source, std::move(values)});
  }
  for (Table& found : tables) {
    const ElementType type = graph.info(graph.nodes[found.node].outputs[0]).type;
    const TensorId table = graph.add_constant({type, {256}}, std::move(found.values));
    Node& node = graph.nodes[found.node];
    node.op = &descriptor<op::ByteTable>;
    node.attributes = pack(op::ByteTable{});
    node.inputs = {found.source, table};
  }
  return graph;
}

}  // namespace halftone
