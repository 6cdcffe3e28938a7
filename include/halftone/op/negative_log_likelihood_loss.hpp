#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_NEGATIVE_LOG_LIKELIHOOD_LOSS_HPP
#define HALFTONE_OP_NEGATIVE_LOG_LIKELIHOOD_LOSS_HPP

#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/normalization.hpp>

namespace halftone {

/// What a loss makes of the numbers of all samples; `separate` is ONNX's "none".
enum class Reduction : std::uint8_t { mean, separate, sum };

namespace detail {
inline constexpr std::string_view reduction_names[] = {"mean", "none", "sum"};
}
constexpr std::span<const std::string_view> names_of(Reduction) { return detail::reduction_names; }

}  // namespace halftone

namespace halftone::op {

/// The loss of log probabilities: of each sample -log_prob[label] * weight[label].
///
/// log_prob      [batch, classes, d...]
/// target        [batch, d...]: labels in [0, classes)
/// weight        [classes], one for every label; absent: all 1
/// ignore_index  a label, in range or not, whose samples have loss 0 and count for nothing
/// reduction     none: loss is [batch, d...]; sum: a scalar; mean: the sum divided by that of the
///               samples' weights, NaN if that is 0
/// grad          d log_prob = -d loss * weight[label] at the label, 0 elsewhere; of the mean
///               divided by the sum of weights. d weight[c] = the sum of -d loss * log_prob[c] over
///               the samples of label c; of the mean that of -d loss * (log_prob[c] + loss), divided
///               by the sum of weights
/// limits        other labels are an InputError of the run. PopART takes probabilities, in the last
///               dimension, and gives labels out of range a constant loss
/// source        ai.onnx NegativeLogLikelihoodLoss-13
struct NegativeLogLikelihoodLoss {
  Reduction reduction = Reduction::mean;
  Optional<std::int64_t> ignore_index{};

  static constexpr OpId id{"ai.onnx", "NegativeLogLikelihoodLoss", 12, 13, 22};
  static constexpr Signature signature = "log_prob target:I weight? -> loss";
  using types = TypeList<FloatTypes, TypeList<std::int32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("reduction", reduction);
    visit("ignore_index", ignore_index);
  }

  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.pass("CrossEntropy", in[0]);
    if (out[0].elements() < in[1].elements()) {
      machine.reduce({out[0].type, in[1].shape}, out[0].elements());
    }
  }
  constexpr Inferred infer(TensorInfo log_prob, TensorInfo target, TensorInfo weight) const {
    const std::size_t rank = log_prob.rank();
    if (rank < 2) {
      return Inferred::mismatch("the input has no classes", 2, static_cast<std::int64_t>(rank));
    }
    if (target.rank() + 1 != rank) {
      return Inferred::mismatch("the labels do not have the input's dimensions without the classes",
                                static_cast<std::int64_t>(rank - 1),
                                static_cast<std::int64_t>(target.rank()));
    }
    TensorInfo loss{log_prob.type, target.shape};
    for (std::size_t i = 0; i < target.rank(); ++i) {
      const std::int64_t wanted = log_prob.shape[i == 0 ? 0 : i + 1];
      loss.shape[i] = agree(wanted, target.shape[i]);
      if (loss.shape[i] == contradictory) {
        return Inferred::mismatch("an extent of the labels is not the input's", wanted,
                                  target.shape[i]);
      }
    }
    if (weight.is_known()) {
      if (weight.rank() != 1) {
        return Inferred::mismatch("the weights are not a vector", 1,
                                  static_cast<std::int64_t>(weight.rank()));
      }
      if (contradict(log_prob.shape[1], weight.shape[0])) {
        return Inferred::mismatch("there is not one weight per class", log_prob.shape[1],
                                  weight.shape[0]);
      }
    }
    if (reduction != Reduction::separate) loss.shape = {};
    return loss;
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> log_prob, View<const I> target,
              View<const T> weight, View<T> loss) const {
    using S = halftone::detail::Compute<T>;
    const std::int64_t classes = log_prob.extent(1), inner = log_prob.size(2, log_prob.rank);
    const std::int64_t samples = target.size(), tasks = task_count(samples);
    auto* const sums = static_cast<double*>(call.workspace);
    const bool is_reduced = reduction != Reduction::separate;
    kernel::parallel_for(*call.executor, tasks, [&](std::int64_t task) {
      double total = 0, weights = 0;
      const std::int64_t end = samples * (task + 1) / tasks;
      for (std::int64_t i = samples * task / tasks; i < end; ++i) {
        const auto label = static_cast<std::int64_t>(target[i]);
        S value = 0, factor = 0;
        if (!ignore_index || label != *ignore_index) {
          if (label < 0 || label >= classes) halftone_index_error(label, classes);
          factor = weight ? static_cast<S>(weight[label]) : S(1);
          const std::int64_t at = (i / inner * classes + label) * inner + i % inner;
          value = -static_cast<S>(log_prob[at]) * factor;
        }
        if (is_reduced) {
          total += static_cast<double>(value);
          weights += static_cast<double>(factor);
        } else {
          loss[i] = static_cast<T>(value);
        }
      }
      if (is_reduced) {
        sums[2 * task] = total;
        sums[2 * task + 1] = weights;
      }
    });
    if (!is_reduced) return;
    double total = 0, weights = 0;
    for (std::int64_t task = 0; task < tasks; ++task) {
      total += sums[2 * task];
      weights += sums[2 * task + 1];
    }
    loss[0] =
        static_cast<T>(static_cast<S>(reduction == Reduction::mean ? total / weights : total));
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const I> target,
                                  View<const T>, View<T>) const {
    return static_cast<std::size_t>(task_count(target.size())) * 2 * sizeof(double);
  }
  constexpr void gradient(auto& g) const;

 private:
  static constexpr std::int64_t task_count(std::int64_t samples) {
    const std::int64_t tasks = samples / 4096;
    return tasks < 1 ? 1 : tasks < 64 ? tasks : 64;
  }
};

/// The gradient of NegativeLogLikelihoodLoss by the logarithms.
struct NegativeLogLikelihoodLossGradient {
  Reduction reduction = Reduction::mean;
  Optional<std::int64_t> ignore_index{};

  static constexpr OpId id{"halftone", "NegativeLogLikelihoodLossGradient", 1};
  static constexpr Signature signature = "d_loss log_prob target:I weight? -> d_log_prob";
  using types = NegativeLogLikelihoodLoss::types;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("reduction", reduction);
    visit("ignore_index", ignore_index);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.fill(out[0]);
    machine.pass("OneHot", {out[0].type, in[2].shape});
    machine.pass("Mul", out[0]);
  }
  static constexpr Inferred infer(TensorInfo, TensorInfo log_prob, TensorInfo, TensorInfo) {
    return log_prob;
  }

  template <class T, class I>
  void kernel(View<const T> d_loss, View<const T> log_prob, View<const I> target,
              View<const T> weight, View<T> dx) const {
    const std::int64_t classes = log_prob.extent(1), inner = log_prob.size(2, log_prob.rank);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = T{};
    const auto weight_of = [&](std::int64_t i) {
      const auto label = static_cast<std::int64_t>(target[i]);
      if ((ignore_index && label == *ignore_index) || label < 0 || label >= classes) return 0.;
      return weight ? static_cast<double>(weight[label]) : 1.;
    };
    double total = 0;
    for (std::int64_t i = 0; i < target.size(); ++i) total += weight_of(i);
    for (std::int64_t i = 0; i < target.size(); ++i) {
      const double w = weight_of(i);
      if (w == 0) continue;
      const double arriving = static_cast<double>(d_loss[reduction == Reduction::separate ? i : 0]);
      const std::int64_t at =
          (i / inner * classes + static_cast<std::int64_t>(target[i])) * inner + i % inner;
      dx[at] = static_cast<T>(-arriving * w / (reduction == Reduction::mean ? total : 1));
    }
  }
};

constexpr void NegativeLogLikelihoodLoss::gradient(auto& g) const {
  const NegativeLogLikelihoodLossGradient op{reduction, ignore_index};
  const auto dx =
      halftone::detail::record(g.graph(), op, {g.dy().id, g.x(0).id, g.x(1).id, g.x(2).id}, 1);
  g.dx(0) += AnyTensor{&g.graph(), dx[0]};
  if (!g.needs(2)) return;
  using halftone::detail::wide;
  auto& graph = g.graph();
  const TensorInfo info = g.x(0).info();
  // Without weights, the gradient of a sum is -d loss at the labels and 0 elsewhere. The mean needs
  // it for a d loss of 1, to count the labels.
  const bool is_mean = reduction == Reduction::mean;
  const TensorId arriving =
      is_mean ? graph.add_constant({info.type, {}}, halftone::detail::scalar_bytes(info.type, 1))
              : g.dy().id;
  const NegativeLogLikelihoodLossGradient unweighted{is_mean ? Reduction::sum : reduction,
                                                     ignore_index};
  const AnyTensor at_labels{
      &graph, halftone::detail::record(graph, unweighted,
                                       {arriving, g.x(0).id, g.x(1).id, no_tensor}, 1)[0]};
  Dims others{0};
  for (std::size_t i = 2; i < info.rank(); ++i) others.push_back(static_cast<std::int64_t>(i));
  const auto axes = constant(graph, others);
  const auto of_classes = [&](auto t) { return sum(wide(t), axes, {.keepdims = 0}); };
  // An infinite logarithm of another class is not to become 0 * inf.
  const auto products = wide(at_labels) * wide(g.x(0));
  const auto sums = of_classes(where(equal(at_labels, 0), 0, products));
  if (!is_mean) {
    g.dx(2) += sums;
    return;
  }
  const auto counts = -of_classes(at_labels);
  const auto total = sum(counts * wide(g.x(2)), none, {.keepdims = 0});
  g.dx(2) += wide(g.dy()) * (sums - wide(g.y()) * counts) / total;
}

}  // namespace halftone::op

#endif
