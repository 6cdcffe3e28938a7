#include <popxl/transforms.hpp>

#include <algorithm>

#include <halftone/autodiff.hpp>

#include "popxl/state.hpp"

namespace popxl {

using halftone::BodyGradient;
using halftone::TensorId;
using halftone::detail::find_id;

// --- gradients ---------------------------------------------------------------------------------------

std::vector<ExpectedConnection> GradGraphInfo::expected_inputs() const {
  halftone::Graph* const forward = &forward_.native();
  std::vector<ExpectedConnection> all;
  for (const std::size_t number : gradient_->provided) {
    all.push_back({{forward, forward->outputs[number]}, ConnectionType::FwdGrad});
  }
  for (const TensorId id : gradient_->sources) all.push_back({{forward, id}, ConnectionType::Fwd});
  return all;
}
std::vector<ExpectedConnection> GradGraphInfo::expected_outputs() const {
  halftone::Graph* const forward = &forward_.native();
  std::vector<ExpectedConnection> all;
  if (gradient_->accumulated != 0) return all;
  for (const std::size_t number : gradient_->required) {
    all.push_back({{forward, forward->inputs[number]}, ConnectionType::FwdGrad});
  }
  return all;
}
std::vector<AnyTensor> GradGraphInfo::inputs() const {
  std::vector<AnyTensor> all;
  for (const ExpectedConnection& c : expected_inputs()) all.push_back(c.fwd_tensor);
  return all;
}
std::vector<AnyTensor> GradGraphInfo::outputs() const {
  std::vector<AnyTensor> all;
  for (const ExpectedConnection& c : expected_outputs()) all.push_back(c.fwd_tensor);
  return all;
}

InputsDict GradGraphInfo::inputs_dict(const CallSiteInfo& site) const {
  if (!(site.called_graph() == forward_) || site.node().op->id != halftone::op::Call::id) {
    throw TypeError({.what = "a gradient is given a call of another graph, or no call",
                     .node = site.called_graph().id(),
                     .expected = "a call of graph '" + std::string(forward_.id()) + "'"});
  }
  halftone::Graph& parent = site.parent().native();
  halftone::detail::extend_call(parent, site.node_number(), *gradient_);
  const halftone::Node& node = site.node();
  const auto callee = halftone::unpack<halftone::op::Call>(node.attributes).callee;
  const halftone::Graph& body = parent.graphs[static_cast<std::size_t>(callee.index)];
  halftone::Graph& backward = graph_.native();
  InputsDict dict;
  for (std::size_t i = 0; i < gradient_->sources.size(); ++i) {
    const TensorId id = gradient_->sources[i];
    const std::size_t input = find_id(body.inputs, id);
    const TensorId outside =
        input < body.inputs.size() ? node.inputs[input] : node.outputs[find_id(body.outputs, id)];
    dict.emplace_back(AnyTensor{&backward, backward.inputs[gradient_->provided.size() + i]},
                      Argument(AnyTensor{&parent, outside}));
  }
  return dict;
}

TensorPairs GradGraphInfo::fwd_graph_ins_to_grad_parent_outs(const CallSiteInfo& grad) const {
  const std::vector<AnyTensor> inputs = outputs(), gradients = grad.outputs();
  TensorPairs pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) pairs.emplace_back(inputs[i], gradients[i]);
  return pairs;
}
TensorPairs GradGraphInfo::fwd_parent_ins_to_grad_parent_outs(const CallSiteInfo& forward,
                                                              const CallSiteInfo& grad) const {
  TensorPairs pairs = fwd_graph_ins_to_grad_parent_outs(grad);
  for (auto& [tensor, gradient] : pairs) tensor = forward.graph_to_parent(tensor);
  return pairs;
}

namespace detail {

namespace {
/// The gradients of the provided outputs.
std::vector<TensorId> provided(const BodyGradient& gradient, std::span<const AnyTensor> dy) {
  std::vector<TensorId> ids;
  for (const std::size_t number : gradient.provided) ids.push_back(dy[number].id);
  return ids;
}
void must_be_of(const GradGraphInfo& grad, const CallSiteInfo& site) {
  // Throws what is wrong with the call.
  static_cast<void>(grad.inputs_dict(site));
}
}  // namespace

std::vector<TensorId> call_gradient(const GradGraphInfo& grad, const CallSiteInfo& site,
                                    std::span<const AnyTensor> dy) {
  const BodyGradient& gradient = grad.native();
  if (gradient.accumulated != 0) {
    throw ValueError({.what = "a gradient with accumulation has no results",
                      .node = grad.graph().id(),
                      .hint = "ops::accumulate(grad, site, dy, sums)"});
  }
  must_be_of(grad, site);
  halftone::Graph& graph = site.parent().native();
  const std::size_t node = halftone::detail::record_backward(graph, site.node_number(), gradient,
                                                             provided(gradient, dy));
  std::vector<TensorId> ids(gradient.original.inputs.size(), halftone::no_tensor);
  for (std::size_t i = 0; i < gradient.required.size(); ++i) {
    ids[gradient.required[i]] = graph.nodes[node].outputs[i];
  }
  return ids;
}

void accumulate_gradient(const GradGraphInfo& grad, const CallSiteInfo& site,
                         std::span<const AnyTensor> dy, std::span<const AnyTensor> sums) {
  const BodyGradient& gradient = grad.native();
  if (gradient.accumulated == 0) {
    throw ValueError({.what = "a gradient without accumulation is not added to anything",
                      .node = grad.graph().id(),
                      .hint = "transforms::autodiff_with_accumulation(graph)"});
  }
  must_be_of(grad, site);
  std::vector<TensorId> accumulators;
  for (const std::size_t number : gradient.required) accumulators.push_back(sums[number].id);
  halftone::detail::record_backward(site.parent().native(), site.node_number(), gradient,
                                    provided(gradient, dy), accumulators);
}

}  // namespace detail

namespace transforms {

namespace {

/// The places of tensors among others.
std::vector<std::size_t> places(const Graph& graph,
                                const std::optional<std::vector<AnyTensor>>& tensors,
                                std::span<const TensorId> among, std::string_view what) {
  std::vector<std::size_t> all;
  if (!tensors.has_value()) return all;
  for (const AnyTensor& t : *tensors) {
    detail::must_be_in(graph, t, what);
    all.push_back(find_id(among, t.id));
    if (all.back() == among.size()) {
      throw ValueError({.what = what, .node = graph.id(), .tensor = t.name()});
    }
  }
  if (!all.empty()) return all;
  throw ValueError({.what = what,
                    .node = graph.id(),
                    .found = "an empty list",
                    .hint = "leave the list out to mean all"});
}

/// Gradients of the graphs that one calls, and of those that these call, each once.
void add_called(const Graph& graph, std::vector<GradGraphInfo>& all) {
  for (const Graph& called : graph.called_graphs()) {
    const bool is_there = std::any_of(all.begin(), all.end(), [&](const GradGraphInfo& info) {
      return info.forward_graph() == called;
    });
    if (is_there) continue;
    const auto has_gradient = [](const AnyTensor& t) { return is_floating_point(t.info().type); };
    const auto in = called.inputs(), out = called.outputs();
    if (!std::any_of(in.begin(), in.end(), has_gradient) ||
        !std::any_of(out.begin(), out.end(), has_gradient)) {
      continue;
    }
    for (const GradGraphInfo& info : autodiff_all(called, {.called_graphs_grad_info = all})) {
      all.push_back(info);
    }
  }
}

GradGraphInfo differentiate(const Graph& graph, const AutodiffOptions& options,
                            const std::vector<GradGraphInfo>& called, bool accumulates) {
  halftone::AnyFunction f{graph.native(), std::vector<char>(graph.inputs().size())};
  const halftone::Aliases aliases(f.body);
  for (std::size_t i = 0; i < f.modified.size(); ++i) {
    f.modified[i] = graph.is_by_ref(i) || aliases.is_modified(f.body.inputs[i]);
  }
  halftone::AutodiffOptions native{.provided = places(graph, options.grads_provided, f.body.outputs,
                                                      "grads_provided is not a list of outputs"),
                                   .required = places(graph, options.grads_required, f.body.inputs,
                                                      "grads_required is not a list of inputs")};
  for (const GradGraphInfo& info : called) native.called.push_back(info.native());
  const BodyGradient gradient = accumulates ? halftone::autodiff_with_accumulation(f, native).of
                                            : halftone::autodiff(f, native).of;
  const Ir ir = graph.ir();
  const Graph backward = detail::add_backward(ir, graph);
  halftone::Graph& body = backward.native();
  body = gradient.backward;
  body.graph_name = body.store_name(backward.id());
  for (std::size_t i = 0; i < gradient.accumulated; ++i) {
    backward.state().by_ref.push_back(body.inputs.size() - gradient.accumulated + i);
  }
  return {graph, backward, std::make_shared<const BodyGradient>(gradient)};
}

}  // namespace

GradGraphInfo autodiff(const Graph& graph, const AutodiffOptions& options) {
  std::vector<GradGraphInfo> called = options.called_graphs_grad_info;
  add_called(graph, called);
  return differentiate(graph, options, called, false);
}
std::vector<GradGraphInfo> autodiff_all(const Graph& graph, const AutodiffOptions& options) {
  std::vector<GradGraphInfo> all = options.called_graphs_grad_info;
  const std::size_t given = all.size();
  add_called(graph, all);
  all.push_back(differentiate(graph, options, all, false));
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(given));
  return all;
}
GradGraphInfo autodiff_with_accumulation(const Graph& graph, const AutodiffOptions& options) {
  std::vector<GradGraphInfo> called = options.called_graphs_grad_info;
  add_called(graph, called);
  return differentiate(graph, options, called, true);
}

}  // namespace transforms
}  // namespace popxl
