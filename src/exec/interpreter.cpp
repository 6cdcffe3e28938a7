#include "interpreter.hpp"

#include <cstring>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "repetition.hpp"

namespace halftone {
namespace {

AnyArray copied(const AnyView& view) {
  AnyArray array(view.info);
  if (view.bytes() != 0) std::memcpy(array.data(), view.data, view.bytes());
  return array;
}

}  // namespace

std::vector<AnyArray> interpret(const Graph& graph, std::span<const AnyView> inputs,
                                const Interpretation& how) {
  return interpret(graph, inputs, how, graph.outputs);
}

std::vector<AnyArray> interpret(const Graph& graph, std::span<const AnyView> inputs,
                                const Interpretation& how, std::span<const TensorId> wanted) {
  std::vector<AnyView> values(graph.tensors.size());
  std::vector<AnyArray> owned(graph.tensors.size());
  std::vector<int> uses(graph.tensors.size());
  for (const TensorId id : wanted) {
    if (id != no_tensor) ++uses[static_cast<std::size_t>(id)];
  }
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id != no_tensor) ++uses[static_cast<std::size_t>(id)];
    }
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorRecord& t = graph.tensors[i];
    if (t.role == Role::constant || t.role == Role::variable) {
      values[i] = {t.info, t.data.span().data()};
    }
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    values[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
  }

  std::vector<AnyView> arguments;
  for (const Node& node : graph.nodes) {
    // What was computed beforehand has given its outputs away.
    if (node.outputs.empty() && node.op->signature.outputs() != 0) continue;
    arguments.clear();
    for (const TensorId id : node.inputs) {
      arguments.push_back(id == no_tensor ? AnyView{} : values[static_cast<std::size_t>(id)]);
    }
    std::vector<AnyArray> results;
    if (node.op->id == op::Loop::id || node.op->id == op::Scan::id) {
      results = repeat_node(graph, node, arguments, how);
    } else if (node.op->id == op::Call::id) {
      results =
          interpret(graph.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])], arguments, how);
    } else if (node.op->id == op::If::id) {
      const AnyView& condition = arguments[0];
      if (condition.info.type != ElementType::boolean || condition.info.elements() != 1) {
        fail(ErrorKind::model, {.what = "the condition is not one boolean",
                                .node = detail::node_text(*node.op, graph.name(node)),
                                .found = detail::to_text(condition.info)});
      }
      const std::int32_t branch =
          subgraphs_of(node)[*static_cast<const bool*>(condition.data) ? 0 : 1];
      results = interpret(graph.graphs[static_cast<std::size_t>(branch)],
                          std::span(arguments).subspan(1), how);
    } else {
      results = how.runner != nullptr ? how.runner->run(graph, node, arguments, how.executor)
                                      : run_node(graph, node, arguments, how.executor);
    }
    for (std::size_t o = 0; o < node.outputs.size() && o < results.size(); ++o) {
      if (node.outputs[o] == no_tensor) continue;
      const auto id = static_cast<std::size_t>(node.outputs[o]);
      owned[id] = std::move(results[o]);
      values[id] = owned[id];
    }
    for (const TensorId id : node.inputs) {
      if (id != no_tensor && --uses[static_cast<std::size_t>(id)] == 0) {
        owned[static_cast<std::size_t>(id)] = {};
      }
    }
  }
  std::vector<AnyArray> outputs;
  for (const TensorId id : wanted) {
    if (id == no_tensor) {
      outputs.emplace_back();
      continue;
    }
    const auto i = static_cast<std::size_t>(id);
    outputs.push_back(owned[i].info().is_known() ? owned[i] : copied(values[i]));
  }
  return outputs;
}

}  // namespace halftone
