#include <halftone/graph/gradient.hpp>

#include <string>

#include <halftone/graph/planning.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"

namespace halftone {

std::vector<std::int64_t> GradientScope::integers(std::size_t i) {
  const TensorRecord& t = graph_.tensor(node_.inputs[i]);
  if (t.role != Role::constant) {
    fail(ErrorKind::unsupported, {.what = "the gradient needs an input's value before the run",
                                  .node = detail::node_text(*node_.op, graph_.name(node_)),
                                  .tensor = graph_.name(node_.inputs[i])});
  }
  const InputInfo info = input_info(graph_, node_.inputs[i]);
  return Inputs({&info, 1}, 0).integers(0);
}

AnyTensor GradientScope::zeros(Graph& graph, const TensorInfo& like) {
  const TensorInfo info = like;  // it may be one of the graph's, which adding tensors moves
  const AnyTensor zero{&graph,
                       graph.add_constant({info.type, {}}, detail::scalar_bytes(info.type, 0))};
  return info.rank() == 0 ? zero : op::expand(zero, constant(graph, info.shape));
}

AnyTensor GradientScope::dy(std::size_t i) {
  if (has_dy(i)) return {&graph_, at(node_.outputs[i])};
  return zeros(graph_, graph_.info(node_.outputs[i]));
}

AnyTensor GradientScope::sum_to(AnyTensor x, const Dims& shape) {
  const Dims from = x.info().shape;
  if (from == shape) return x;
  Dims axes;
  const std::size_t more = from.size() - shape.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < more || (shape[i - more] == 1 && from[i] != 1)) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (!axes.empty()) x = op::sum(x, constant(*x.graph, axes), {.keepdims = 1});
  return x.info().shape == shape ? x : op::reshape(x, constant(*x.graph, shape));
}

void GradientScope::add(std::size_t input, AnyTensor part) {
  if (!needs(input) || part.is_absent()) return;
  const TensorId id = node_.inputs[input];
  const TensorInfo info = graph_.info(id);
  part = sum_to(part, info.shape);
  if (part.info().type != info.type) {
    part = op::cast(part, {.to = info.type});
  }
  const TensorId before = gradients_[id];
  gradients_[id] = before == no_tensor ? part.id : op::add(AnyTensor{&graph_, before}, part).id;
}

namespace {

void refuse(const Graph& graph, const std::vector<std::size_t>& nodes) {
  std::string names;
  for (const std::size_t n : nodes) {
    const std::string text = detail::node_text(*graph.nodes[n].op, graph.name(graph.nodes[n]));
    if (names.find(text) == names.npos) names += (names.empty() ? "" : ", ") + text;
  }
  fail(ErrorKind::unsupported,
       {.what = "operators between the weights and the loss have no gradient", .found = names});
}

constexpr std::string_view unknown_shape = "a gradient needs shapes that are known before the run",
                           size_hint = "give the sizes when the model is loaded";

void check_known(const Graph& graph, const Node& node) {
  for (const auto* list : {&node.inputs, &node.outputs}) {
    for (const TensorId id : *list) {
      if (id == no_tensor || graph.info(id).is_static()) continue;
      fail(ErrorKind::unsupported, {.what = unknown_shape,
                                    .node = detail::node_text(*node.op, graph.name(node)),
                                    .tensor = graph.name(id),
                                    .found = detail::to_text(graph.info(id)),
                                    .hint = size_hint});
    }
  }
}

}  // namespace

std::vector<TensorId> differentiate(Graph& graph, TensorId loss, std::span<const TensorId> wanted,
                                    TensorId d_loss) {
  const TensorInfo info = graph.info(loss);
  if (!info.is_static()) {
    fail(ErrorKind::unsupported, {.what = unknown_shape,
                                  .tensor = graph.name(loss),
                                  .found = detail::to_text(info),
                                  .hint = size_hint});
  }
  if (info.elements() != 1 || !is_floating_point(info.type)) {
    fail(ErrorKind::model, {.what = "the loss is not one floating-point number",
                            .tensor = graph.name(loss),
                            .expected = "one element",
                            .found = detail::to_text(info),
                            .hint = "reduce it to its sum or mean"});
  }
  if (d_loss == no_tensor) {
    d_loss = graph.add_constant(info, detail::scalar_bytes(info.type, 1));
  }
  return differentiate(graph, std::span(&loss, 1), std::span(&d_loss, 1), wanted);
}

std::vector<TensorId> differentiate(Graph& graph, std::span<const TensorId> outputs,
                                    std::span<const TensorId> d_outputs,
                                    std::span<const TensorId> wanted) {
  // What depends on the wanted tensors, and of that what the outputs depend on.
  const std::size_t count = graph.nodes.size();
  TensorMap<bool> needed(graph, false);
  for (const TensorId id : wanted) needed[id] = true;
  for (const Node& node : graph.nodes) {
    bool depends = false;
    for (const TensorId id : node.inputs) {
      depends = depends || (id != no_tensor && needed[id]);
    }
    if (!depends) continue;
    for (const TensorId id : node.outputs) {
      if (id != no_tensor && is_floating_point(graph.info(id).type)) {
        needed[id] = true;
      }
    }
  }

  TensorMap<TensorId> gradients(graph, no_tensor);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TensorId& gradient = gradients[outputs[i]];
    gradient = gradient == no_tensor
                   ? d_outputs[i]
                   : op::add(AnyTensor{&graph, gradient}, AnyTensor{&graph, d_outputs[i]}).id;
  }
  std::vector<std::size_t> refused;
  for (std::size_t n = count; n-- > 0;) {
    GradientScope scope(graph, graph.nodes[n], gradients, needed);
    bool arrives = false, asked = false;
    for (std::size_t o = 0; o < scope.outputs(); ++o) arrives = arrives || scope.has_dy(o);
    for (std::size_t i = 0; i < scope.inputs(); ++i) asked = asked || scope.needs(i);
    if (!arrives || !asked) continue;
    check_known(graph, graph.nodes[n]);
    const Descriptor& op = *graph.nodes[n].op;
    const std::vector<Word> words = graph.nodes[n].attributes;
    const std::size_t first = graph.nodes.size();
    const std::string name(graph.name(graph.nodes[n]));
    const Planning planning = graph.nodes[n].planning;
    if (op.gradient == nullptr) {
      refused.push_back(n);
      continue;
    }
    op.gradient(words, scope);
    for (std::size_t added = first; added < graph.nodes.size(); ++added) {
      Node& node = graph.nodes[added];
      if (!name.empty()) graph.rename(node, "Gradient/" + name);
      inherit_planning(node, planning);  // a gradient is computed where the node is
    }
  }
  if (!refused.empty()) refuse(graph, refused);
  std::vector<TensorId> result;
  // What a fused operator computes itself is left over.
  TensorMap<bool> used(graph, false);
  for (const TensorId id : wanted) {
    result.push_back(gradients[id]);
    if (result.back() != no_tensor) used[result.back()] = true;
  }
  drop_dead_nodes(graph, count, std::move(used));
  return result;
}

}  // namespace halftone
