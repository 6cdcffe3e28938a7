#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_LOSS_HPP
#define HALFTONE_OP_GRAPHCORE_LOSS_HPP

#include <string_view>

#include <halftone/base/math.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone {

/// What becomes of the losses of all samples.
enum class LossReduction : std::uint8_t { mean, sum, no_reduction };

namespace detail {
inline constexpr std::string_view loss_reduction_names[] = {"Mean", "Sum", "None"};
}
constexpr std::span<const std::string_view> names_of(LossReduction) {
  return detail::loss_reduction_names;
}

namespace op {

/// Negative log likelihood: -log(p[label]) of each sample, reduced.
///
/// p                      [..., classes], probabilities, or their logarithms
/// label                  [...], which class is right
/// reduction              Mean, Sum (y is a scalar) or None (y has the shape of label)
/// ignoreIndex            samples with that label have no loss, and Mean does not count them
/// inputIsLogProbability  p has logarithms
/// grad                   dp[label] = -dy / max(p, least), or -dy of logarithms, divided as the
///                        mean was; 0 elsewhere and for samples that are ignored
/// limits                 probabilities count as at least 1e-7 (half: 6.104e-5); a label that is no
///                        class counts as probability 0, its logarithm as 0; sums are of double
/// source                 ai.graphcore Nll-1
struct Nll {
  LossReduction reduction = LossReduction::mean;
  Optional<std::int64_t> ignore_index{};
  std::int64_t input_is_log_probability = 0;

  static constexpr OpId id{"ai.graphcore", "Nll", 1};
  static constexpr Signature signature = "p label:I -> y";
  using types = TypeList<FloatTypes, TypeList<std::int32_t, std::uint32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("reduction", reduction);
    visit("ignoreIndex", ignore_index);
    visit("inputIsLogProbability", input_is_log_probability);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.pass("CrossEntropy", in[0]);
    if (out[0].elements() < in[1].elements()) {
      machine.reduce({out[0].type, in[1].shape}, out[0].elements());
    }
  }
  constexpr Inferred infer(TensorInfo p, TensorInfo label) const {
    if (p.rank() == 0) return Inferred::mismatch("the probabilities are a scalar", 1, 0);
    if (label.rank() + 1 != p.rank()) {
      return Inferred::mismatch("the labels have not one dimension less than the probabilities",
                                static_cast<std::int64_t>(p.rank() - 1),
                                static_cast<std::int64_t>(label.rank()));
    }
    TensorInfo y{p.type, {}};
    for (std::size_t i = 0; i < label.rank(); ++i) {
      const std::int64_t both = agree(p.shape[i], label.shape[i]);
      if (both == contradictory) {
        return Inferred::mismatch("the labels have another shape than the probabilities",
                                  p.shape[i], label.shape[i]);
      }
      if (reduction == LossReduction::no_reduction) y.shape.push_back(both);
    }
    return y;
  }
  template <class T, class I>
  void kernel(View<const T> p, View<const I> label, View<T> y) const {
    const std::int64_t samples = label.size(), classes = p.extent(p.rank - 1);
    const double least = std::is_same_v<T, half> ? 6.104e-5 : 1e-7;
    double total = 0;
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto which = static_cast<std::int64_t>(label[i]);
      double loss = 0;
      if (!ignore_index || which != *ignore_index) {
        const bool is_class = which >= 0 && which < classes;
        const double value = is_class ? static_cast<double>(p[i * classes + which]) : 0;
        // Not max(): NaN stays NaN.
        loss = input_is_log_probability != 0 ? -value : -math::log(value < least ? least : value);
        ++kept;
      }
      total += loss;
      if (reduction == LossReduction::no_reduction) y[i] = static_cast<T>(loss);
    }
    if (reduction == LossReduction::no_reduction) return;
    if (kept == 0 && ignore_index) kept = 1;
    y[0] = static_cast<T>(reduction == LossReduction::mean ? total / static_cast<double>(kept)
                                                           : total);
  }
  constexpr void gradient(auto& g) const;
};

/// The gradient of Nll by the probabilities.
struct NllGradient {
  LossReduction reduction = LossReduction::mean;
  Optional<std::int64_t> ignore_index{};
  std::int64_t input_is_log_probability = 0;

  static constexpr OpId id{"halftone", "NllGradient", 1};
  static constexpr Signature signature = "dy p label:I -> dp";
  using types = Nll::types;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("reduction", reduction);
    visit("ignoreIndex", ignore_index);
    visit("inputIsLogProbability", input_is_log_probability);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.fill(out[0]);
    machine.pass("OneHot", {out[0].type, in[2].shape});
    machine.pass("Mul", out[0]);
  }
  static constexpr Inferred infer(TensorInfo, TensorInfo p, TensorInfo) { return p; }

  template <class T, class I>
  void kernel(View<const T> dy, View<const T> p, View<const I> label, View<T> dp) const {
    const std::int64_t samples = label.size(), classes = p.extent(p.rank - 1);
    const double least = std::is_same_v<T, half> ? 6.104e-5 : 1e-7;
    const auto is_ignored = [&](std::int64_t i) {
      return ignore_index && static_cast<std::int64_t>(label[i]) == *ignore_index;
    };
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < samples; ++i) kept += is_ignored(i) ? 0 : 1;
    const double factor =
        reduction == LossReduction::mean ? 1 / static_cast<double>(kept == 0 ? 1 : kept) : 1;
    for (std::int64_t i = 0; i < dp.size(); ++i) dp[i] = T{};
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto which = static_cast<std::int64_t>(label[i]);
      if (is_ignored(i) || which < 0 || which >= classes) continue;
      const double arriving =
          static_cast<double>(dy[reduction == LossReduction::no_reduction ? i : 0]) * factor;
      const std::int64_t at = i * classes + which;
      const double value = static_cast<double>(p[at]);
      dp[at] = static_cast<T>(
          input_is_log_probability != 0 ? -arriving : -arriving / (value < least ? least : value));
    }
  }
};

constexpr void Nll::gradient(auto& g) const {
  const NllGradient op{reduction, ignore_index, input_is_log_probability};
  const auto dp = halftone::detail::record(g.graph(), op, {g.dy().id, g.x(0).id, g.x(1).id}, 1);
  g.dx(0) += AnyTensor{&g.graph(), dp[0]};
}

/// y = lambda * |x|, reduced.
///
/// x          any numbers, not a scalar
/// reduction  Mean, Sum (y is a scalar) or None (y has the shape of x)
/// limits     half and bfloat16 are rounded at the end only
/// source     ai.graphcore L1-1
struct L1 {
  float lambda = 1;
  LossReduction reduction = LossReduction::mean;

  static constexpr OpId id{"ai.graphcore", "L1", 1};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) {
    visit("lambda", lambda);
    visit("reduction", reduction);
  }
  constexpr AnyTensor expand(auto x) const {
    const TensorInfo info = x.info();
    if (info.is_known() && info.rank() == 0)
      fail(ErrorKind::model, {.what = "the input is a scalar"});
    const bool is_short = is_floating_point(info.type) && size_in_bytes(info.type) == 2;
    auto y = x;
    if (is_short) y = cast(x, {.to = ElementType::float32});
    y = abs(y) * lambda;
    if (reduction == LossReduction::mean) y = mean(y, {.keepdims = 0});
    if (reduction == LossReduction::sum) y = sum(y, {.keepdims = 0});
    if (is_short) y = cast(y, {.to = info.type});
    return y;
  }
};

/// A tensor as a loss: its mean or sum over all elements, or itself.
///
/// reduction  Mean, Sum (y is a scalar) or None (y is x)
/// source     ai.graphcore IdentityLoss-1
struct IdentityLoss {
  LossReduction reduction = LossReduction::mean;

  static constexpr OpId id{"ai.graphcore", "IdentityLoss", 1};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) { visit("reduction", reduction); }
  constexpr AnyTensor expand(auto x) const {
    if (reduction == LossReduction::mean) return mean(x, {.keepdims = 0});
    if (reduction == LossReduction::sum) return sum(x, {.keepdims = 0});
    return identity(x);
  }
};

}  // namespace op
}  // namespace halftone

#endif
