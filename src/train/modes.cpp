#include "train/modes.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"

namespace halftone::detail {

namespace {

/// The input training_mode of what drops in training alone has this name.
constexpr std::string_view mode_name = "TrainingMode___";

bool has_input(const Node& node, std::size_t i) {
  return node.inputs.size() > i && node.inputs[i] != no_tensor;
}

TensorId training_mode(Graph& graph) {
  const TensorId there = graph.find(mode_name);
  if (there != no_tensor) return there;
  return graph.add_constant({ElementType::boolean, {}}, scalar_bytes(ElementType::boolean, 1),
                            mode_name);
}

/// What brings a new running statistic to its variable has this name, in the graph and on the way
/// out of its subgraphs.
constexpr std::string_view statistic_name = "RunningStatistic___";

bool is_new_statistic(const Graph& graph, TensorId id) {
  return id != no_tensor && graph.text(graph.tensor(id).name).starts_with(statistic_name);
}
TensorId name_statistic(Graph& graph, TensorId id) {
  const TensorId named = op::identity(AnyTensor{&graph, id}).id;
  graph.rename(named, statistic_name);
  return named;
}

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
  std::map<std::size_t, std::vector<TensorId>> next;  // of an input, in each body
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
      body.outputs[repeat.body_result + output] = name_statistic(body, values[0]);
    } else {
      for (std::size_t b = 0; b < bodies.size(); ++b) {
        Graph& body = graph.graphs[static_cast<std::size_t>(bodies[b])];
        output = body.outputs.size();
        const bool is_left = values[b] == no_tensor;
        body.add_output(name_statistic(body, is_left ? body.inputs[input] : values[b]));
      }
      outer = input + (node.op->id == op::If::id ? 1 : 0);
    }
    if (node.outputs.size() <= output) node.outputs.resize(output + 1, no_tensor);
    const TensorId given = node.inputs[outer];
    if (node.outputs[output] == no_tensor) {
      node.outputs[output] = graph.add_tensor({.info = graph.info(given)}, statistic_name);
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
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    const TensorId x = node.inputs.empty() ? no_tensor : node.inputs[0];
    if (node.op->id == op::Dropout::id) {
      if (!has_input(node, 2)) {
        if (node.inputs.size() < 3) node.inputs.resize(3, no_tensor);
        node.inputs[2] = training_mode(graph);
      }
      // The gradient needs the mask.
      if (node.outputs.size() < 2) node.outputs.resize(2, no_tensor);
      if (node.outputs[1] == no_tensor) {
        node.outputs[1] =
            graph.add_tensor({.info = {ElementType::boolean, graph.info(x).shape}}, {});
      }
    } else if (node.op->id == op::ShapedDropout::id && !has_input(node, 1)) {
      // Ones that went through it are the mask, for the gradient, too.
      const auto shaped = unpack<op::ShapedDropout>(node.attributes);
      const ElementType type = graph.info(x).type;
      const AnyTensor one{&graph, graph.add_constant({type, {}}, scalar_bytes(type, 1))};
      const AnyTensor ones = op::expand(one, constant(graph, shaped.shape));
      const TensorId mask = record(graph, descriptor<op::ShapedDropout>, std::move(node.attributes),
                                   {ones.id, training_mode(graph)}, 1)[0];
      graph.nodes.back().name = node.name;
      node.op = &descriptor<op::Mul>;
      node.attributes = pack(op::Mul{});
      node.inputs = {x, mask};
    }
    graph.nodes.push_back(std::move(node));
  }
  for (Graph& body : graph.graphs) use_dropout(body);
}

void leave_dropout(Graph& graph) {
  std::vector<TensorId> in_place(graph.tensors.size(), no_tensor);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    const auto drops = [&](const Node& other, std::size_t input) {
      return has_input(other, input) &&
             graph.text(graph.tensor(other.inputs[input]).name) == mode_name;
    };
    if (node.op->id == op::Dropout::id && drops(node, 2)) {
      node.inputs[2] = no_tensor;
      while (!node.inputs.empty() && node.inputs.back() == no_tensor) node.inputs.pop_back();
      if (node.outputs.size() > 1 && graph.tensor(node.outputs[1]).name.empty()) {
        node.outputs.resize(1);
      }
    } else if (node.op->id == op::Mul::id) {
      for (std::size_t m = 0; m < n && node.op->id == op::Mul::id; ++m) {
        Node& mask = graph.nodes[m];
        if (mask.op->id != op::ShapedDropout::id || !drops(mask, 1)) continue;
        if (node.inputs[1] != mask.outputs[0]) continue;
        node.op = &descriptor<op::ShapedDropout>;
        node.attributes = mask.attributes;
        node.name = mask.name;
        node.inputs.resize(1);
      }
    }
  }
  for (Graph& body : graph.graphs) leave_dropout(body);
}

/// Takes back what use_batch_statistics() did. The outputs of normalizations that somebody reads
/// are the model's own.
void leave_batch_statistics(Graph& graph) {
  graph = without_dead_code(std::move(graph));
  for (Node& node : graph.nodes) {
    op::Repeat repeat;
    const bool is_loop = describe_repeat(graph, node, repeat);
    for (const std::int32_t index : subgraphs_of(node)) {
      Graph& body = graph.graphs[static_cast<std::size_t>(index)];
      for (std::size_t i = body.outputs.size(); i-- > 0;) {
        if (!is_new_statistic(body, body.outputs[i])) continue;
        if (is_loop) {
          body.outputs[i] = body.inputs[repeat.body_state + i - repeat.body_result];
        } else {
          body.outputs.erase(body.outputs.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      leave_batch_statistics(body);
      for (TensorRecord& t : body.tensors) {
        if (body.text(t.name).starts_with(statistic_name)) t = {};
      }
      body.index_names();
    }
    for (TensorId& id : node.outputs) {
      if (is_new_statistic(graph, id)) id = no_tensor;
    }
    while (!node.outputs.empty() && node.outputs.back() == no_tensor) node.outputs.pop_back();
  }
  const Uses uses(graph);
  for (Node& node : graph.nodes) {
    if (node.op->id != op::BatchNormalization::id) continue;
    bool is_read = false;
    for (std::size_t i = 1; i < node.outputs.size(); ++i) {
      const TensorId id = node.outputs[i];
      is_read = is_read || (id != no_tensor && uses.count[id] != 0);
    }
    if (is_read) continue;
    auto batch = unpack<op::BatchNormalization>(node.attributes);
    batch.training_mode = 0;
    node.attributes = pack(batch);
    node.outputs.resize(1);
  }
}

}  // namespace

void use_training_mode(Graph& graph) {
  use_dropout(graph);
  for (const auto& [given, next] : use_batch_statistics(graph)) {
    if (graph.tensor(given).role != Role::variable) continue;
    const TensorId named = name_statistic(graph, next.value);
    record(graph, descriptor<op::CopyVarUpdate>, {}, {given, named}, 1);
  }
}

void use_inference_mode(Graph& graph) {
  leave_dropout(graph);
  leave_batch_statistics(graph);
  graph = without_dead_code(std::move(graph));
}

bool updates_statistic(const Graph& graph, const Node& node) {
  return node.op->id == op::CopyVarUpdate::id && is_new_statistic(graph, node.inputs[1]);
}

}  // namespace halftone::detail
