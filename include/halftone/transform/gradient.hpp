#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/planning.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>

// The chain rule, for the core and for constant evaluation.
namespace halftone {

namespace detail {

// What throws, defined in the core.
[[noreturn]] void refuse_loss(const Graph& graph, TensorId loss);
[[noreturn]] void refuse_unknown(const Graph& graph, const Node& node, TensorId id);
[[noreturn]] void refuse_nodes(const Graph& graph, const Vector<std::size_t>& nodes);

/// Whether a value can have a gradient, or holds or may turn out to be one that can.
constexpr bool may_have_gradient(const TensorInfo& info) {
  return !info.is_known() || is_floating_point(element_of(info.type));
}

/// Which tensors depend on the wanted ones, and may have a gradient.
constexpr TensorMap<bool> dependents(const Graph& graph, std::span<const TensorId> wanted) {
  TensorMap<bool> needed(graph, false);
  for (const TensorId id : wanted) needed[id] = true;
  for (const Node& node : graph.nodes) {
    bool depends = false;
    for (const TensorId id : node.inputs) {
      depends = depends || (id != no_tensor && needed[id]);
    }
    if (!depends) continue;
    for (const TensorId id : node.outputs) {
      if (id != no_tensor && may_have_gradient(graph.info(id))) needed[id] = true;
    }
  }
  return needed;
}

/// The place of the gradient of a node, if the loss is computed at that place.
constexpr Place gradient_place(const Place& forward, const Place& loss) {
  const auto mirrored = [](std::int16_t at, std::int16_t last) {
    return static_cast<std::int16_t>(at < 0 || last < 0 ? -1 : 2 * last - at);
  };
  return {.ipu = forward.ipu,
          .stage = mirrored(forward.stage, loss.stage),
          .phase = mirrored(forward.phase, loss.phase),
          .part = Part::backward};
}

/// Where a tensor is computed.
constexpr Place place_of(const Graph& graph, TensorId id) {
  for (const Node& node : graph.nodes) {
    for (const TensorId output : node.outputs) {
      if (output == id) return node.place;
    }
  }
  return {};
}

/// Records the gradient of node n; false if it has none though it is asked for.
template <class Supplied>
constexpr bool record_gradient_of(Graph& graph, std::size_t n, TensorMap<TensorId>& gradients,
                                  const TensorMap<bool>& needed, FindGradient find,
                                  const Place& loss, const Supplied& supplied) {
  GradientScope scope(graph, graph.nodes[n], gradients, needed, find);
  bool arrives = false, asked = false;
  for (std::size_t o = 0; o < scope.outputs(); ++o) arrives = arrives || scope.has_dy(o);
  for (std::size_t i = 0; i < scope.inputs(); ++i) asked = asked || scope.needs(i);
  if (!arrives || !asked) return true;
  const Node& node = scope.node();
  for (const auto* list : {&node.inputs, &node.outputs}) {
    for (const TensorId id : *list) {
      if (id != no_tensor && !graph.info(id).is_static()) refuse_unknown(graph, node, id);
    }
  }
  const std::size_t first = graph.nodes.size();
  const PlaceScope there(graph, gradient_place(node.place, loss));
  if (!supplied(scope, n)) {
    const RecordGradient record = find(*node.op);
    if (record == nullptr) return false;
    record(node.attributes, scope);
  }
  const JoinedText name({"Gradient/", graph.name(node)});
  for (std::size_t added = first; added < graph.nodes.size(); ++added) {
    if (!node.name.empty()) graph.rename(graph.nodes[added], name);
    if (node.planning != Planning{}) inherit_planning(graph.nodes[added], node.planning);
  }
  return true;
}

/// Leaves every node to its operator's gradient.
struct NoSuppliedGradients {
  constexpr bool operator()(GradientScope&, std::size_t) const { return false; }
};

/// differentiate(), with gradients that `find` finds, unless `supplied(scope, n)` records that of
/// node n and returns true.
template <class Supplied = NoSuppliedGradients>
constexpr Vector<TensorId> differentiate_with(FindGradient find, Graph& graph,
                                              std::span<const TensorId> outputs,
                                              std::span<const TensorId> d_outputs,
                                              std::span<const TensorId> wanted,
                                              const Supplied& supplied = {}) {
  const std::size_t count = graph.nodes.size();
  const TensorMap<bool> needed = dependents(graph, wanted);
  TensorMap<TensorId> gradients(graph, no_tensor);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TensorId& gradient = gradients[outputs[i]];
    gradient = gradient == no_tensor
                   ? d_outputs[i]
                   : op::add(AnyTensor{&graph, gradient}, AnyTensor{&graph, d_outputs[i]}).id;
  }
  const Place loss = outputs.empty() ? Place{} : place_of(graph, outputs[0]);
  Vector<std::size_t> refused;
  for (std::size_t n = count; n-- > 0;) {
    if (!record_gradient_of(graph, n, gradients, needed, find, loss, supplied))
      refused.push_back(n);
  }
  if (!refused.empty()) refuse_nodes(graph, refused);
  Vector<TensorId> result;
  // What a fused operator computes itself is left over.
  TensorMap<bool> used(graph, false);
  for (const TensorId id : wanted) {
    result.push_back(gradients[id]);
    if (result.back() != no_tensor) used[result.back()] = true;
  }
  drop_dead_nodes(graph, count, std::move(used));
  return result;
}
constexpr Vector<TensorId> differentiate_with(FindGradient find, Graph& graph, TensorId loss,
                                              std::span<const TensorId> wanted, TensorId d_loss) {
  const TensorInfo info = graph.info(loss);
  if (!info.is_static() || info.elements() != 1 || !is_floating_point(info.type)) {
    refuse_loss(graph, loss);
  }
  if (d_loss == no_tensor) d_loss = graph.add_constant(info, scalar_bytes(info.type, 1));
  return differentiate_with(find, graph, std::span(&loss, 1), std::span(&d_loss, 1), wanted);
}

}  // namespace detail

/// The same in constant evaluation, too, for graphs whose nodes between the wanted tensors and the
/// loss are of the operators in a list:
///
///   const auto d = differentiate<op::MatMul, op::Relu, op::ReduceMean>(graph, loss.id, wanted);
template <class... Op>
  requires(sizeof...(Op) > 0)
constexpr Vector<TensorId> differentiate(Graph& graph, TensorId loss,
                                         std::span<const TensorId> wanted,
                                         TensorId d_loss = no_tensor) {
  return detail::differentiate_with(&gradient_in_list<Op...>, graph, loss, wanted, d_loss);
}
template <class... Op>
  requires(sizeof...(Op) > 0)
constexpr Vector<TensorId> differentiate(Graph& graph, std::span<const TensorId> outputs,
                                         std::span<const TensorId> d_outputs,
                                         std::span<const TensorId> wanted) {
  return detail::differentiate_with(&gradient_in_list<Op...>, graph, outputs, d_outputs, wanted);
}

}  // namespace halftone

// Calls and loops, whose bodies the chain rule goes through.
#include <halftone/transform/gradient_subgraphs.hpp>
