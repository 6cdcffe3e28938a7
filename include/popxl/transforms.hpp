#pragma once

#include <popxl/call.hpp>

/// Graphs made of graphs: gradients.
///
///   auto grad = transforms::autodiff(layer);
///   auto site = ops::call_with_info(layer, x, w);
///   auto [dx, dw] = ops::call(grad, site, dy);  // typed
///
///   auto info = ops::call_with_info(grad.graph(), {dy}, grad.inputs_dict(site));  // the same, in
///   auto dw = grad.fwd_parent_ins_to_grad_parent_outs(site, info)...;             // PopXL's steps
///
/// A gradient leaves its graph and calls of it as they are until it is used for one of them.
///
/// source  popxl.transforms
namespace popxl {

enum class ConnectionType : std::uint8_t { Fwd, FwdGrad };
/// What a gradient graph takes or gives: the value of a tensor of the forward graph, or its gradient.
struct ExpectedConnection {
  AnyTensor fwd_tensor;
  ConnectionType connection_type;
};

using TensorPairs = std::vector<std::pair<AnyTensor, AnyTensor>>;

/// The gradient of a graph.
class GradGraphInfo {
 public:
  GradGraphInfo(const Graph& forward, const Graph& graph,
                std::shared_ptr<const halftone::BodyGradient> gradient)
      : forward_(forward), graph_(graph), gradient_(std::move(gradient)) {}
  /// Takes the gradients of outputs, then tensors of the forward graph; gives gradients.
  Graph graph() const { return graph_; }
  Graph forward_graph() const { return forward_; }
  std::vector<ExpectedConnection> expected_inputs() const;
  std::vector<ExpectedConnection> expected_outputs() const;
  std::vector<AnyTensor> inputs() const;
  std::vector<AnyTensor> outputs() const;
  /// What a call of the gradient graph is given for a call of the forward one, which gives it what it
  /// needs from now on. errors  TypeError: a call of another graph, or a loop
  InputsDict inputs_dict(const CallSiteInfo& fwd_call_info) const;
  /// Inputs of the forward graph, and of its call, with the gradients that a call gave.
  TensorPairs fwd_graph_ins_to_grad_parent_outs(const CallSiteInfo& grad_call_info) const;
  TensorPairs fwd_parent_ins_to_grad_parent_outs(const CallSiteInfo& fwd_call_info,
                                                 const CallSiteInfo& grad_call_info) const;
  /// The library's gradient, of halftone/autodiff.hpp.
  const halftone::BodyGradient& native() const { return *gradient_; }

 private:
  Graph forward_, graph_;
  std::shared_ptr<const halftone::BodyGradient> gradient_;
};
template <class Signature>
struct TypedGradGraphInfo : GradGraphInfo {
  explicit TypedGradGraphInfo(GradGraphInfo info) : GradGraphInfo(std::move(info)) {}
};

namespace transforms {

/// Arguments of autodiff: tensors of the forward graph; without lists all that have gradients.
struct AutodiffOptions {
  std::optional<std::vector<AnyTensor>> grads_provided{};  ///< outputs
  std::optional<std::vector<AnyTensor>> grads_required{};  ///< inputs
  std::vector<GradGraphInfo> called_graphs_grad_info{};
};
/// The gradient of a graph; graphs that it calls are differentiated first, unless theirs are given.
///
/// errors  ValueError: a list that is empty or names no output or input; UnsupportedError: operators
///         without a gradient, all of them; UsageError: a graph that changes what it is given
GradGraphInfo autodiff(const Graph& graph, const AutodiffOptions& options = {});
/// The same, behind those of all graphs that it calls.
std::vector<GradGraphInfo> autodiff_all(const Graph& graph, const AutodiffOptions& options = {});
/// A gradient whose results are added to accumulators, which are its last inputs, by reference.
GradGraphInfo autodiff_with_accumulation(const Graph& graph, const AutodiffOptions& options = {});
// The same for typed graphs.
#define POPXL_TYPED_GRADIENT(name)                                                       \
  template <class R, class... P>                                                         \
  TypedGradGraphInfo<R(P...)> name(const TypedGraph<R(P...)>& graph,                     \
                                   const AutodiffOptions& options = {}) {                \
    return TypedGradGraphInfo<R(P...)>(name(static_cast<const Graph&>(graph), options)); \
  }
POPXL_TYPED_GRADIENT(autodiff)
POPXL_TYPED_GRADIENT(autodiff_with_accumulation)
#undef POPXL_TYPED_GRADIENT

/// Sums of many tensors are recorded as additions of two, so that there is nothing left to decompose.
inline Graph decompose_sum(const Graph& graph) { return graph; }

}  // namespace transforms

namespace detail {

template <class... P>
using Gradients = typename halftone::detail::GradientsOf<P...>::type;
/// The gradients of a call's inputs, one after the other; absent ones are not asked for.
std::vector<halftone::TensorId> call_gradient(const GradGraphInfo& grad, const CallSiteInfo& site,
                                              std::span<const AnyTensor> dy);
void accumulate_gradient(const GradGraphInfo& grad, const CallSiteInfo& site,
                         std::span<const AnyTensor> dy, std::span<const AnyTensor> sums);

}  // namespace detail

namespace ops {

/// The gradients of what a call was given, in its parameters' types; dy as the call's results.
template <class R, class... P>
popxl::detail::Gradients<P...> call(const TypedGradGraphInfo<R(P...)>& grad,
                                    const CallSite<R(P...)>& site,
                                    const std::type_identity_t<R>& dy) {
  popxl::detail::Gradients<P...> result{};
  std::size_t at = 0;
  halftone::detail::set_handles(
      result, site.parent().native(),
      popxl::detail::call_gradient(grad, site, halftone::detail::handles_of(dy)), at);
  return result;
}
/// Adds them to variables of the parameters' types.
template <class R, class... P>
void accumulate(const TypedGradGraphInfo<R(P...)>& grad, const CallSite<R(P...)>& site,
                const std::type_identity_t<R>& dy, const popxl::detail::Gradients<P...>& sums) {
  popxl::detail::accumulate_gradient(grad, site, halftone::detail::handles_of(dy),
                                     halftone::detail::handles_of(sums));
}

}  // namespace ops
}  // namespace popxl
