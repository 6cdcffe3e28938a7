#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <halftone/train/weights.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"
#include "exec/fold.hpp"

namespace halftone::detail {

namespace {

/// The next value of a running statistic, and whose it is.
struct NextStatistic {
  TensorId value = no_tensor;
  std::string normalization{};
};
/// By the tensor that holds the statistic. Of normalizations that share one the last one counts.
using Statistics = std::map<TensorId, NextStatistic>;

Statistics use_batch_statistics(Graph& graph);

/// The same in the subgraphs of node n, whose next values become further outputs of theirs, or the
/// next states of a loop, and outputs of the node.
void carry_statistics_out(Graph& graph, std::size_t n, Statistics& found) {
  std::vector<std::int32_t> bodies = subgraphs_of(graph.nodes[n]);
  std::sort(bodies.begin(), bodies.end());
  bodies.erase(std::unique(bodies.begin(), bodies.end()), bodies.end());
  op::Repeat repeat;
  const bool is_loop = describe_repeat(graph, graph.nodes[n], repeat);
  std::map<std::size_t, Vector<TensorId>> next;  // of an input, in each body
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    Graph& body = graph.graphs[static_cast<std::size_t>(bodies[b])];
    const std::size_t inputs = is_loop ? repeat.body_state + repeat.states : body.inputs.size();
    for (const auto& [given, statistic] : use_batch_statistics(body)) {
      const auto place = std::find(body.inputs.begin(), body.inputs.end(), given);
      const auto at = static_cast<std::size_t>(place - body.inputs.begin());
      if (at >= inputs) {
        fail(ErrorKind::unsupported,
             {.what = "running statistics cannot leave a subgraph that computes or cuts them, or "
                      "has them as constants",
              .node = statistic.normalization + " in a subgraph of " +
                      node_text(*graph.nodes[n].op, graph.name(graph.nodes[n])),
              .tensor = body.name(given),
              .hint = "make them initializers of the main graph, one tensor each"});
      }
      next.try_emplace(at, bodies.size(), no_tensor).first->second[b] = statistic.value;
    }
  }
  Node& node = graph.nodes[n];
  for (const auto& [input, values] : next) {
    std::size_t output = 0, outer = 0;
    if (is_loop) {
      Graph& body = graph.graphs[static_cast<std::size_t>(bodies[0])];
      output = input - repeat.body_state;
      outer = repeat.first_state + output;
      if (!repeat.is_kept(body, output)) continue;  // the model has next values of its own
      body.outputs[repeat.body_result + output] = values[0];
    } else {
      for (std::size_t b = 0; b < bodies.size(); ++b) {
        Graph& body = graph.graphs[static_cast<std::size_t>(bodies[b])];
        output = body.outputs.size();
        const bool is_left = values[b] == no_tensor;
        body.add_output(is_left ? op::identity(AnyTensor{&body, body.inputs[input]}).id
                                : values[b]);
      }
      outer = input + (node.op->id == op::If::id ? 1 : 0);
    }
    if (node.outputs.size() <= output) node.outputs.resize(output + 1, no_tensor);
    const TensorId given = node.inputs[outer];
    if (node.outputs[output] == no_tensor) {
      node.outputs[output] = graph.add_tensor({.info = graph.info(given)}, {});
    }
    found[given] = {node.outputs[output], node_text(*node.op, graph.name(node))};
  }
}

/// Batch normalization with the statistics of the batch; gives the next running ones.
Statistics use_batch_statistics(Graph& graph) {
  Statistics found;
  const std::size_t count = graph.nodes.size();
  for (std::size_t n = 0; n < count; ++n) {
    if (!subgraphs_of(graph.nodes[n]).empty()) carry_statistics_out(graph, n, found);
    if (graph.nodes[n].op->id != op::BatchNormalization::id) continue;
    auto batch = unpack<op::BatchNormalization>(graph.nodes[n].attributes);
    batch.training_mode = 1;
    graph.nodes[n].attributes = pack(batch);
    for (std::size_t i = 1; i < 3; ++i) {
      const TensorId given = graph.nodes[n].inputs[2 + i];
      if (graph.nodes[n].outputs.size() <= i) graph.nodes[n].outputs.resize(i + 1, no_tensor);
      if (graph.nodes[n].outputs[i] == no_tensor) {
        const TensorId running = graph.add_tensor({.info = graph.info(given)}, {});
        graph.nodes[n].outputs[i] = running;
      }
      found[given] = {graph.nodes[n].outputs[i],
                      node_text(*graph.nodes[n].op, graph.name(graph.nodes[n]))};
    }
  }
  return found;
}

void use_dropout(Graph& graph) {
  TensorId mode = no_tensor;
  const auto training_mode = [&] {
    if (mode == no_tensor) {
      mode = graph.add_constant({ElementType::boolean, {}}, scalar_bytes(ElementType::boolean, 1));
    }
    return mode;
  };
  Vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    const TensorId x = node.inputs.empty() ? no_tensor : node.inputs[0];
    if (node.op->id == op::Dropout::id) {
      if (!has_input(node, 2)) {
        if (node.inputs.size() < 3) node.inputs.resize(3, no_tensor);
        node.inputs[2] = training_mode();
      }
      // The gradient needs the mask.
      if (node.outputs.size() < 2) node.outputs.resize(2, no_tensor);
      if (node.outputs[1] == no_tensor) {
        node.outputs[1] =
            graph.add_tensor({.info = {ElementType::boolean, graph.info(x).shape}}, {});
      }
    } else if (node.op->id == op::ShapedDropout::id && !has_input(node, 1)) {
      // Dropout of a tensor of ones yields the mask, which the gradient needs as well.
      const auto shaped = unpack<op::ShapedDropout>(node.attributes);
      const ElementType type = graph.info(x).type;
      const AnyTensor one{&graph, graph.add_constant({type, {}}, scalar_bytes(type, 1))};
      const AnyTensor ones = op::expand(one, constant(graph, shaped.shape));
      const TensorId mask = record(graph, descriptor<op::ShapedDropout>, std::move(node.attributes),
                                   {ones.id, training_mode()}, 1)[0];
      graph.nodes.back().name = node.name;
      node.op = &descriptor<op::Mul>;
      node.attributes = pack(op::Mul{});
      node.inputs = {x, mask};
    }
    graph.nodes.push_back(std::move(node));
  }
  for (Graph& body : graph.graphs) use_dropout(body);
}

}  // namespace

void change_to_training_mode(Graph& graph) {
  if (has_unknown_shapes(graph)) fold_shapes(graph);
  use_dropout(graph);
  const Statistics statistics = use_batch_statistics(graph);
  for (const auto& [given, next] : statistics) {
    if (graph.tensor(given).role != Role::variable) continue;
    TensorId value = next.value;
    if (graph.replicas > 1) {
      const op::Collective mean{.collective_operator = CollectiveOperator::mean};
      value = record(graph, op::ReplicatedAllReduce{.collective = mean}, {value}, 1)[0];
    }
    record(graph, op::CopyVarUpdate{}, {given, value}, 1);
  }
}

}  // namespace halftone::detail
