#include "interpreter.hpp"

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "repetition.hpp"

namespace halftone {
namespace {

/// Runs the body of a SequenceMap for every item.
std::vector<AnyArray> map_sequence(const Graph& graph, const Node& node,
                                   std::span<const AnyView> inputs, const Interpretation& how) {
  const Graph& body = graph.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
  const std::size_t count = inputs[0].sequence().size();
  std::vector<std::vector<AnyArray>> results(body.outputs.size());
  std::vector<AnyView> given(inputs.begin(), inputs.end());
  for (std::size_t item = 0; item < count; ++item) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!is_sequence(inputs[i].info.type)) continue;
      const std::span<const AnyArray> items = inputs[i].sequence().items();
      if (items.size() != count) {
        fail(ErrorKind::input, {.what = "the sequences have different lengths",
                                .node = detail::node_text(*node.op, graph.name(node)),
                                .expected = std::to_string(count),
                                .found = std::to_string(items.size())});
      }
      given[i] = items[item];
    }
    std::vector<AnyArray> outputs = interpret(body, given, how);
    for (std::size_t o = 0; o < outputs.size(); ++o) results[o].push_back(std::move(outputs[o]));
  }
  std::vector<AnyArray> sequences;
  for (std::size_t o = 0; o < results.size(); ++o) {
    const ElementType item =
        results[o].empty() ? body.info(body.outputs[o]).type : results[o][0].info().type;
    const ElementType known = o < node.outputs.size() && node.outputs[o] != no_tensor
                                  ? graph.info(node.outputs[o]).type
                                  : ElementType::undefined;
    const ElementType type = item != ElementType::undefined ? sequence_of(item) : known;
    if (type == ElementType::undefined) {
      fail(ErrorKind::unsupported, {.what = "the type of an empty sequence cannot be found",
                                    .node = detail::node_text(*node.op, graph.name(node))});
    }
    sequences.emplace_back(type, Sequence::make(std::move(results[o])));
  }
  return sequences;
}

KeptNode* kept_by(const Node& node, const Interpretation& how) {
  const bool keeps = how.kept != nullptr && node.op->signature.attributes() > 0;
  return keeps ? &(*how.kept)[&node] : nullptr;
}

}  // namespace

std::vector<AnyArray> interpret(const Graph& graph, std::span<const AnyView> inputs,
                                const Interpretation& how) {
  return interpret(graph, inputs, how, graph.outputs);
}

std::vector<AnyArray> interpret(const Graph& graph, std::span<const AnyView> inputs,
                                const Interpretation& how, std::span<const TensorId> wanted) {
  TensorMap<AnyView> values(graph);
  TensorMap<AnyArray> owned(graph);
  TensorMap<int> uses(graph, 0);
  for (const TensorId id : wanted) {
    if (id != no_tensor) ++uses[id];
  }
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id != no_tensor) ++uses[id];
    }
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorRecord& t = graph.tensors[i];
    if (t.role == Role::constant || is_variable(t)) {
      values[static_cast<TensorId>(i)] = {t.info, t.data.span().data()};
    }
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    values[graph.inputs[i]] = inputs[i];
  }

  std::vector<AnyView> arguments;
  for (const Node& node : graph.nodes) {
    // What was computed beforehand has given its outputs away.
    if (node.outputs.empty() && node.op->signature.outputs() != 0) continue;
    arguments.clear();
    for (const TensorId id : node.inputs) {
      arguments.push_back(id == no_tensor ? AnyView{} : values[id]);
    }
    std::vector<AnyArray> results;
    if (node.op->id == op::Loop::id || node.op->id == op::Scan::id) {
      results = repeat_node(graph, node, arguments, how);
    } else if (node.op->id == op::SequenceMap::id) {
      results = map_sequence(graph, node, arguments, how);
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
      results = how.runner != nullptr
                    ? how.runner->run(graph, node, arguments, how.executor)
                    : run_node(graph, node, arguments, how.executor, kept_by(node, how));
    }
    for (std::size_t o = 0; o < node.outputs.size() && o < results.size(); ++o) {
      if (node.outputs[o] == no_tensor) continue;
      const TensorId id = node.outputs[o];
      owned[id] = std::move(results[o]);
      values[id] = owned[id];
    }
    for (const TensorId id : node.inputs) {
      if (id != no_tensor && --uses[id] == 0) {
        owned[id] = {};
      }
    }
  }
  std::vector<AnyArray> outputs;
  for (const TensorId id : wanted) {
    if (id == no_tensor) {
      outputs.emplace_back();
      continue;
    }
    outputs.push_back(owned[id].info().is_known() ? owned[id] : AnyArray::copy_of(values[id]));
  }
  return outputs;
}

}  // namespace halftone
