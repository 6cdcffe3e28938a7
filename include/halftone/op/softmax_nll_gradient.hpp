#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_SOFTMAX_NLL_GRADIENT_HPP
#define HALFTONE_OP_SOFTMAX_NLL_GRADIENT_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/graphcore_loss.hpp>
#include <halftone/op/negative_log_likelihood_loss.hpp>

namespace halftone::op {

/// The gradient of a negative log likelihood by the scores that a softmax made its probabilities,
/// in one pass over memory: dx = factor * (p - 1 at the label).
///
/// p             the probabilities, or their logarithms (is_logarithm); classes along `axis`
/// d_loss        a scalar, or one number for each label (reduction None)
/// label         p's shape without the axis
/// weight        [classes], one for every label; absent: all 1
/// ignore_index  a label whose samples have rows of zeros and do not count for the mean
/// reduction     factor is d_loss * weight[label], of the mean divided by the sum of weights
/// grad          none
/// limits        rows with factor 0, and of a label that is no class, are zero even where p is NaN.
///               Where Nll takes its least probability instead of p this is the gradient of the
///               loss without that limit
/// source        PopART's pattern NlllWithSoftmaxGradDirect
struct SoftmaxNllGradient {
  std::int64_t axis = -1;
  LossReduction reduction = LossReduction::mean;
  Optional<std::int64_t> ignore_index{};
  bool is_logarithm = false;

  static constexpr OpId id{"halftone", "SoftmaxNllGradient", 1};
  static constexpr Signature signature = "p d_loss label:I weight? -> dx";
  using types = Nll::types;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("reduction", reduction);
    visit("ignore_index", ignore_index);
    visit("is_logarithm", is_logarithm);
  }
  /// The labels as ones in a tensor of their own, subtracted and multiplied, as PopART has it.
  constexpr void cost(auto& machine, auto in, auto out) const {
    machine.fill(out[0]);
    machine.pass("OneHot", {out[0].type, in[2].shape});
    if (is_logarithm) machine.pass("Exp", in[0]);
    machine.pass("Sub", in[0]);
    machine.pass("Mul", in[0]);
  }
  static constexpr Inferred infer(TensorInfo p, TensorInfo, TensorInfo, TensorInfo) { return p; }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> p, View<const T> d_loss, View<const I> label,
              View<const T> weight, View<T> dx) const {
    const std::size_t at = normalized_axis(axis, p.rank);
    const std::int64_t classes = p.extent(at), samples = label.size();
    const auto weight_of = [&](std::int64_t which) {
      if (ignore_index && which == *ignore_index) return 0.;
      if (!weight) return 1.;
      return which >= 0 && which < classes ? static_cast<double>(weight[which]) : 0.;
    };
    double divisor = 1;
    if (reduction == LossReduction::mean && !weight && !ignore_index) {
      divisor = static_cast<double>(samples);
    } else if (reduction == LossReduction::mean) {
      divisor = 0;
      for (std::int64_t i = 0; i < samples; ++i) {
        divisor += weight_of(static_cast<std::int64_t>(label[i]));
      }
    }
    const bool is_each = reduction == LossReduction::no_reduction;
    kernel::softmax_nll_gradient<T>(
        *call.executor, is_logarithm, p.data, dx.data, p.size(0, at), classes,
        p.size(at + 1, p.rank), [&](std::int64_t i) {
          const auto which = static_cast<std::int64_t>(label[i]);
          const double w = which >= 0 && which < classes ? weight_of(which) : 0;
          const double arriving = static_cast<double>(d_loss[is_each ? i : 0]);
          return kernel::Sample{which, w == 0 ? 0 : arriving * w / divisor};
        });
  }
};

}  // namespace halftone::op

namespace halftone::detail {

/// Records the gradient of a softmax together with that of the loss behind it, if nothing else
/// arrives at its output; says whether it did. The loss's own gradient stays for whoever reads it.
constexpr bool record_softmax_nll_gradient(auto& g, std::int64_t axis, bool is_logarithm) {
  const TensorId y = g.y().id, dy = g.dy().id;
  const std::size_t rank = g.y().info().rank(), at = normalized_axis(axis, rank);
  const Vector<Node>& nodes = g.graph().nodes;
  std::size_t n = nodes.size();  // from the end, where gradients are
  while (n > 0 && (nodes[n - 1].outputs.empty() || nodes[n - 1].outputs[0] != dy)) --n;
  if (n == 0) return false;
  const Node loss = nodes[n - 1];  // a copy: recording moves the graph's nodes
  op::SoftmaxNllGradient op{.axis = axis, .is_logarithm = is_logarithm};
  if (loss.op->id == op::NllGradient::id) {
    const auto nll = unpack<op::NllGradient>(loss.attributes);
    if ((nll.input_is_log_probability != 0) != is_logarithm || at + 1 != rank) return false;
    op.reduction = nll.reduction;
    op.ignore_index = nll.ignore_index;
  } else if (loss.op->id == op::NegativeLogLikelihoodLossGradient::id) {
    const auto nll = unpack<op::NegativeLogLikelihoodLossGradient>(loss.attributes);
    if (!is_logarithm || at != 1) return false;
    op.reduction = nll.reduction == Reduction::mean  ? LossReduction::mean
                   : nll.reduction == Reduction::sum ? LossReduction::sum
                                                     : LossReduction::no_reduction;
    op.ignore_index = nll.ignore_index;
  } else {
    return false;
  }
  if (loss.inputs[1] != y) return false;
  Vector<TensorId> inputs = loss.inputs;
  std::swap(inputs[0], inputs[1]);
  g.dx(0) += AnyTensor{&g.graph(), record(g.graph(), op, inputs, 1)[0]};
  return true;
}

}  // namespace halftone::detail

#endif
