#include <halftone/graph/scopes.hpp>

#include <string>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>

#include "base/describe.hpp"

namespace halftone {

bool is_exchange(const Node& node) {
  return node.op->reaches == Reaches::host || node.op->id == op::RemoteCodeLoad::id;
}

MergedExchange::~MergedExchange() {
  std::int32_t last = 0;
  for (const Node& node : graph_.nodes) last = std::max(last, node.planning.exchange);
  // An exchange that depends on one of these is part of a later one.
  TensorMap<std::int32_t> number(graph_, 0);
  for (std::size_t n = first_; n < graph_.nodes.size(); ++n) {
    Node& node = graph_.nodes[n];
    std::int32_t behind = 0;
    for (const TensorId id : node.inputs) {
      if (id != no_tensor) behind = std::max(behind, number[id]);
    }
    if (is_exchange(node)) node.planning.exchange = last + ++behind;
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) number[id] = behind;
    }
  }
}

void detail::check_one_exchange(const Graph& graph, std::size_t first) {
  const auto refuse = [&](const Node& node, std::string_view what) {
    fail(ErrorKind::usage, {.what = what,
                            .node = node_text(*node.op, graph.name(node)),
                            .hint = "record it before or behind io_tile_exchange"});
  };
  std::int32_t exchange = 0;
  for (std::size_t n = first; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool makes_zeros = node.op->id == op::ConstantOfShape::id;
    if (makes_zeros) continue;
    if (!is_exchange(node)) refuse(node, "a node in an exchange is neither a load nor a store");
    if (exchange == 0) exchange = node.planning.exchange;
    if (node.planning.exchange != exchange) {
      refuse(node, "a load or store depends on another one of its exchange");
    }
  }
}

}  // namespace halftone
