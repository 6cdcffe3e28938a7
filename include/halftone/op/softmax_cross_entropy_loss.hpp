#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_SOFTMAX_CROSS_ENTROPY_LOSS_HPP
#define HALFTONE_OP_SOFTMAX_CROSS_ENTROPY_LOSS_HPP

#include <halftone/op/negative_log_likelihood_loss.hpp>
#include <halftone/op/softmax.hpp>

namespace halftone::op {

/// The loss of scores that a softmax makes probabilities: LogSoftmax over dimension 1, then
/// NegativeLogLikelihoodLoss.
///
/// scores    [batch, classes, d...]
/// labels    [batch, d...], see NegativeLogLikelihoodLoss, also for weights, ignore_index and
///           reduction
/// log_prob  the logarithms of the probabilities, of scores' shape
/// source    ai.onnx SoftmaxCrossEntropyLoss-13
struct SoftmaxCrossEntropyLoss {
  Reduction reduction = Reduction::mean;
  Optional<std::int64_t> ignore_index{};

  static constexpr OpId id{"ai.onnx", "SoftmaxCrossEntropyLoss", 12, 13};
  static constexpr Signature signature = "scores labels:I weights? -> loss log_prob?";
  using types = TypeList<FloatTypes, TypeList<std::int32_t, std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("reduction", reduction);
    visit("ignore_index", ignore_index);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    auto log_prob = inputs[0];
    log_prob.id = halftone::detail::record(graph, LogSoftmax{.axis = 1}, {log_prob.id}, 1)[0];
    Vector<TensorId> ids{log_prob.id};
    for (std::size_t i = 1; i < inputs.size(); ++i) ids.push_back(inputs[i].id);
    auto loss = inputs[0];
    const NegativeLogLikelihoodLoss newer{.reduction = reduction, .ignore_index = ignore_index};
    loss.id = halftone::detail::record(graph, newer, ids, 1)[0];
    if (outputs < 2) return {loss};
    return {loss, log_prob};
  }
};

}  // namespace halftone::op

#endif
