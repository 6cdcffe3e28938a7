#include "train/modes.hpp"

#include <utility>

#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>

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

/// Batch normalization with the statistics of the batch, which update the running ones.
void use_batch_statistics(Graph& graph) {
  const std::size_t count = graph.nodes.size();
  for (std::size_t n = 0; n < count; ++n) {
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
      if (graph.tensor(given).role != Role::variable) continue;
      record(graph, descriptor<op::CopyVarUpdate>, {}, {given, graph.nodes[n].outputs[i]}, 1);
    }
  }
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

}  // namespace

void use_training_mode(Graph& graph) {
  use_dropout(graph);
  use_batch_statistics(graph);
}

void use_inference_mode(Graph& graph) {
  leave_dropout(graph);
  for (Node& node : graph.nodes) {
    if (node.op->id != op::BatchNormalization::id) continue;
    auto batch = unpack<op::BatchNormalization>(node.attributes);
    batch.training_mode = 0;
    node.attributes = pack(batch);
    node.outputs.resize(1);
  }
  graph = without_dead_code(std::move(graph));
}

bool updates_statistic(const Graph& graph, const Node& node) {
  if (node.op->id != op::CopyVarUpdate::id) return false;
  for (const Node& other : graph.nodes) {
    if (other.op->id != op::BatchNormalization::id) continue;
    for (std::size_t i = 1; i < other.outputs.size(); ++i) {
      if (other.outputs[i] != no_tensor && other.outputs[i] == node.inputs[1]) return true;
    }
  }
  return false;
}

}  // namespace halftone::detail
