#pragma once

#include <halftone/base/vector.hpp>
#include <halftone/function.hpp>
#include <halftone/transform/gradient.hpp>

/// Gradients of functions, as functions.
///
///   auto site = call_with_info(layer, x, w);
///   auto [loss, dy] = op::nll_loss_with_softmax_grad(op::softmax(site.out), label);
///   auto [dx, dw] = call(autodiff(layer), site, dy);  // in the parameters' own types
///
/// source  popxl.transforms.autodiff
namespace halftone {

/// A gradient of a function, without its types.
struct BodyGradient {
  Graph original{};  ///< the function's body
  Graph forward{};   ///< the same with what supplied gradients need
  Graph backward{};  ///< gradients of `provided` outputs, then `sources`, to those of `required`
  Vector<TensorId> sources{};  ///< tensors of the forward body that the backward one takes
  Vector<std::size_t> provided{}, required{};  ///< numbers of outputs and of inputs
  std::size_t accumulated = 0;  ///< so many of the last inputs of `backward` are added to
};

/// Options of autodiff().
struct AutodiffOptions {
  /// Numbers of the outputs whose gradients are given; empty: all of floating point.
  Vector<std::size_t> provided{};
  /// Numbers of the inputs whose gradients are wanted; empty: all of floating point.
  Vector<std::size_t> required{};
  /// Gradients of functions that the function calls: their calls in the forward body are extended,
  /// instead of running another time in the backward one.
  Vector<BodyGradient> called{};
};

/// A gradient of a function with its types.
template <class Signature>
struct Gradient {
  BodyGradient of{};
};

namespace detail {

constexpr std::size_t find_id(std::span<const TensorId> ids, TensorId id) {
  std::size_t at = 0;
  while (at < ids.size() && ids[at] != id) ++at;
  return at;
}

/// The numbers that were asked for; else those of all tensors of floating point.
constexpr Vector<std::size_t> chosen(const Graph& body, std::span<const TensorId> ids,
                                     const Vector<std::size_t>& wanted) {
  for (const std::size_t number : wanted) {
    if (number < ids.size() && is_floating_point(body.info(ids[number]).type)) continue;
    throw_extent(
        "a gradient is asked for of an input or output that there is not, or that is not "
        "floating point",
        {}, -1, static_cast<std::int64_t>(ids.size()), static_cast<std::int64_t>(number));
  }
  if (!wanted.empty()) return wanted;
  Vector<std::size_t> all;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (is_floating_point(body.info(ids[i]).type)) all.push_back(i);
  }
  return all;
}

/// Whether a body is that of a gradient's function, or its forward one, with any further outputs.
constexpr bool is_call_of(Graph callee, const BodyGradient& gradient) {
  callee.outputs = gradient.forward.outputs;
  return callee == gradient.original || callee == gradient.forward;
}

/// Has a call give what the backward body needs as well.
constexpr void extend_call(Graph& graph, std::size_t node, const BodyGradient& gradient) {
  const auto call = unpack<op::Call>(graph.nodes[node].attributes);
  Graph callee = graph.graphs[static_cast<std::size_t>(call.callee.index)];
  if (callee == gradient.original) callee = gradient.forward;
  if (!is_call_of(callee, gradient)) {
    fail(ErrorKind::usage, {.what = "a call is not one of the function whose gradient it is given",
                            .node = graph.name(graph.nodes[node])});
  }
  for (const TensorId id : gradient.sources) {
    const bool is_input = find_id(callee.inputs, id) < callee.inputs.size();
    if (is_input || find_id(callee.outputs, id) < callee.outputs.size()) continue;
    callee.outputs.push_back(id);
    const TensorId added = graph.add_tensor({.info = callee.info(id)}, {});
    graph.nodes[node].outputs.push_back(added);
  }
  graph.nodes[node].attributes = pack(op::Call{.callee = {share_body(graph, callee)}});
}

/// Records the backward call for a call that has been extended; returns its node.
constexpr std::size_t record_backward(Graph& graph, std::size_t node, const BodyGradient& gradient,
                                      Vector<TensorId> inputs,
                                      std::span<const TensorId> accumulators = {}) {
  const Node forward = graph.nodes[node];
  const auto callee = unpack<op::Call>(forward.attributes).callee;
  const Graph& body = graph.graphs[static_cast<std::size_t>(callee.index)];
  for (const TensorId id : gradient.sources) {
    const std::size_t input = find_id(body.inputs, id);
    inputs.push_back(input < body.inputs.size() ? forward.inputs[input]
                                                : forward.outputs[find_id(body.outputs, id)]);
  }
  op::Call backward{.callee = {share_body(graph, gradient.backward)}};
  for (const TensorId id : accumulators) {
    backward.modified_inputs.push_back(static_cast<std::int64_t>(inputs.size()));
    inputs.push_back(id);
  }
  const Vector<TensorInfo> infos = infos_of(gradient.backward, gradient.backward.outputs);
  Place place = graph.place();
  place.part = Part::backward;
  const PlaceScope there(graph, place);
  return graph.add_node(descriptor<op::Call>, pack(backward), std::move(inputs), infos);
}

/// The gradient that is supplied for a node; null if there is none.
constexpr const BodyGradient* supplied_for(const Graph& graph, std::size_t n,
                                           std::span<const BodyGradient> all) {
  const Node& node = graph.nodes[n];
  if (node.op->id != op::Call::id) return nullptr;
  const auto index = static_cast<std::size_t>(unpack<op::Call>(node.attributes).callee.index);
  for (const BodyGradient& gradient : all) {
    if (is_call_of(graph.graphs[index], gradient)) return &gradient;
  }
  return nullptr;
}

/// Records the gradients of calls of functions whose gradients are supplied.
struct SuppliedGradients {
  std::span<const BodyGradient> all;

  constexpr bool operator()(GradientScope& g, std::size_t n) const {
    const BodyGradient* const gradient = supplied_for(g.graph(), n, all);
    if (gradient == nullptr) return false;
    Vector<TensorId> dys;
    for (const std::size_t output : gradient->provided) dys.push_back(g.dy(output).id);
    const std::size_t node = record_backward(g.graph(), n, *gradient, std::move(dys));
    for (std::size_t i = 0; i < gradient->required.size(); ++i) {
      const TensorId dx = g.graph().nodes[node].outputs[i];
      g.dx(gradient->required[i]) += AnyTensor{&g.graph(), dx};
    }
    return true;
  }
};

/// Makes the nodes from `first` on the backward body, whose inputs behind those that are given are
/// what they read of the forward one.
constexpr void take_backward(BodyGradient& result, Graph both, std::size_t first,
                             std::span<const TensorId> given) {
  TensorMap<bool> known(both, false);
  for (const TensorId id : given) known[id] = true;
  Graph& backward = result.backward = std::move(both);
  backward.nodes.erase(backward.nodes.begin(),
                       backward.nodes.begin() + static_cast<std::ptrdiff_t>(first));
  const auto take = [&](TensorId id) {
    if (id == no_tensor || known[id]) return;
    known[id] = true;
    TensorRecord& t = backward.tensor(id);
    if (t.role == Role::constant) return;
    t.role = Role::input;
    result.sources.push_back(id);
  };
  for (const Node& node : backward.nodes) {
    for (const TensorId id : node.inputs) take(id);
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) known[id] = true;
    }
  }
  for (const TensorId id : backward.outputs) take(id);
}

/// The gradient of a body. `accumulates`: the gradients are added to further inputs instead of being
/// outputs.
constexpr BodyGradient differentiate_body(FindGradient find, const Graph& body,
                                          const AutodiffOptions& options, bool accumulates) {
  BodyGradient result{.original = body,
                      .forward = body,
                      .provided = chosen(body, body.outputs, options.provided),
                      .required = chosen(body, body.inputs, options.required)};
  const std::size_t first = body.nodes.size();
  for (std::size_t n = 0; n < first; ++n) {
    if (const BodyGradient* of = supplied_for(result.forward, n, options.called); of != nullptr) {
      extend_call(result.forward, n, *of);
    }
  }
  Graph both = result.forward;
  Vector<TensorId> outputs, d_outputs, wanted;
  for (const std::size_t number : result.provided) {
    outputs.push_back(body.outputs[number]);
    d_outputs.push_back(both.add_input(body.info(outputs.back()), {}));
  }
  for (const std::size_t number : result.required) wanted.push_back(body.inputs[number]);
  const Vector<TensorId> found =
      differentiate_with(find, both, outputs, d_outputs, wanted, SuppliedGradients{options.called});
  both.outputs.clear();
  Vector<TensorId> sums;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const AnyTensor dx = found[i] == no_tensor ? GradientScope::zeros(both, body.info(wanted[i]))
                                               : AnyTensor{&both, found[i]};
    if (!accumulates) {
      both.add_output(dx.id);
      continue;
    }
    sums.push_back(both.add_input(body.info(wanted[i]), {}));
    const AnyTensor sum{&both, sums.back()};
    op::copy_var_update(sum, op::add(sum, dx));
  }
  // Sums are given by whoever calls, not by the forward body.
  Vector<TensorId> given = d_outputs;
  given.insert(given.end(), sums.begin(), sums.end());
  take_backward(result, std::move(both), first, given);
  Vector<TensorId>& inputs = result.backward.inputs;
  inputs = d_outputs;
  inputs.insert(inputs.end(), result.sources.begin(), result.sources.end());
  inputs.insert(inputs.end(), sums.begin(), sums.end());
  result.accumulated = sums.size();
  return result;
}

template <class Signature>
struct ParametersOf;
template <class R, class... P>
struct ParametersOf<R(P...)> {
  using gradients = typename GradientsOf<P...>::type;
};

/// Finds gradients among these operators; among all, at run time, if none is named.
template <class... Op>
constexpr FindGradient finder_of() {
  if constexpr (sizeof...(Op) > 0) {
    return &gradient_in_list<Op...>;
  } else {
    return &gradient_of;
  }
}

template <class R, class... P>
constexpr void check_unmodified(const Function<R(P...)>& f) {
  static_assert((!is_by_ref<P> && ...),
                "halftone: a function that changes what it is given has no gradient");
  if (f.modified_inputs().empty()) return;
  fail(ErrorKind::usage, {.what = "a function that changes what it is given has no gradient"});
}

}  // namespace detail

/// The gradient of a function: a forward body, which also gives what the backward one needs, and the
/// backward body. The function and its calls stay as they are until the gradient is called for one
/// of them. Gradients of calls inside are found by running their bodies another time, unless
/// options supply gradients for them.
///
/// Op      operators in the function, for constant evaluation; none: all, at run time
/// errors  UnsupportedError with all operators that have no gradient; UsageError: a function that
///         changes what it is given; ShapeError: numbers of inputs or outputs that there are not
template <class... Op, class R, class... P>
constexpr Gradient<R(P...)> autodiff(const Function<R(P...)>& f,
                                     const AutodiffOptions& options = {}) {
  detail::check_unmodified(f);
  return {detail::differentiate_body(detail::finder_of<Op...>(), f.body, options, false)};
}

/// The same, with gradients that are added to variables: `accumulate(gradient, site, dy, sums)`.
template <class... Op, class R, class... P>
constexpr Gradient<R(P...)> autodiff_with_accumulation(const Function<R(P...)>& f,
                                                       const AutodiffOptions& options = {}) {
  detail::check_unmodified(f);
  return {detail::differentiate_body(detail::finder_of<Op...>(), f.body, options, true)};
}

namespace detail {

/// The gradients of the provided outputs.
template <class R>
constexpr Vector<TensorId> provided_gradients(const BodyGradient& gradient, const R& dy) {
  const Vector<AnyTensor> all = handles_of(dy);
  Vector<TensorId> ids;
  for (const std::size_t number : gradient.provided) ids.push_back(all[number].id);
  return ids;
}

}  // namespace detail

/// The gradients of what one call was given, from those of its results, in the parameters' types: a
/// tuple for several parameters. Those that were not asked for are absent. Has that call give what
/// the backward body needs, whether the call was recorded before autodiff() or after.
///
/// dy      as the results; what is not provided does not count
/// errors  UsageError: a call of another function; a gradient with accumulation
template <class Signature>
constexpr auto call(const Gradient<Signature>& gradient, const CallSite<Signature>& site,
                    const std::type_identity_t<typename Function<Signature>::result>& dy) {
  const BodyGradient& of = gradient.of;
  if (of.accumulated != 0) {
    fail(ErrorKind::usage, {.what = "a gradient with accumulation has no results",
                            .hint = "accumulate(gradient, site, dy, sums)"});
  }
  Graph& graph = *site.graph;
  detail::extend_call(graph, site.node, of);
  const std::size_t node =
      detail::record_backward(graph, site.node, of, detail::provided_gradients(of, dy));
  Vector<TensorId> ids(of.original.inputs.size(), no_tensor);
  for (std::size_t i = 0; i < of.required.size(); ++i) {
    ids[of.required[i]] = graph.nodes[node].outputs[i];
  }
  typename detail::ParametersOf<Signature>::gradients result{};
  if constexpr (detail::is_handle_list<decltype(result)>) {
    for (const TensorId id : ids) result.push_back({&graph, id});
  } else {
    std::size_t at = 0;
    detail::set_handles(result, graph, ids, at);
  }
  return result;
}

/// Adds the gradients of what one call was given to variables of the parameters' types.
///
/// errors  UsageError: a gradient without accumulation, a call of another function
template <class Signature>
constexpr void accumulate(
    const Gradient<Signature>& gradient, const CallSite<Signature>& site,
    const std::type_identity_t<typename Function<Signature>::result>& dy,
    const std::type_identity_t<typename detail::ParametersOf<Signature>::gradients>& sums) {
  const BodyGradient& of = gradient.of;
  if (of.accumulated == 0) {
    fail(ErrorKind::usage, {.what = "a gradient without accumulation is not added to anything",
                            .hint = "autodiff_with_accumulation(f)"});
  }
  const Vector<AnyTensor> all = detail::handles_of(sums);
  Vector<TensorId> accumulators;
  for (const std::size_t number : of.required) accumulators.push_back(all[number].id);
  detail::extend_call(*site.graph, site.node, of);
  detail::record_backward(*site.graph, site.node, of, detail::provided_gradients(of, dy),
                          accumulators);
}

}  // namespace halftone
