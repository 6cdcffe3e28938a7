#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_PREVIEW_TRAINING_HPP
#define HALFTONE_OP_PREVIEW_TRAINING_HPP

namespace halftone {

/// How Momentum moves a tensor.
enum class MomentumMode : std::uint8_t { missing, standard, nesterov };

namespace detail {

inline constexpr std::string_view momentum_mode_names[] = {"", "standard", "nesterov"};

/// The inputs of an update: rate R, step T, and for each of n tensors itself, its gradient and
/// what else is kept of it, as groups of n.
struct UpdateInputs {
  AnyTensor rate, step;
  Vector<AnyTensor> tensors;
  std::size_t count = 0;

  constexpr UpdateInputs(std::span<const AnyTensor> in, std::size_t groups) {
    if (in.size() < 2 + groups || (in.size() - 2) % groups != 0) {
      fail(ErrorKind::model, {.what = "the tensors to update do not come in groups"});
    }
    rate = in[0];
    step = in[1];
    tensors.assign(in.begin() + 2, in.end());
    count = tensors.size() / groups;
  }
  constexpr AnyTensor operator()(std::size_t group, std::size_t i) const {
    return tensors[group * count + i];
  }
  /// The step in the rate's type.
  template <std::same_as<AnyTensor> X = AnyTensor>
  constexpr X number() const {
    return op::cast(step, op::Cast{.to = rate.info().type});
  }
};

}  // namespace detail

constexpr std::span<const std::string_view> names_of(MomentumMode) {
  return detail::momentum_mode_names;
}

namespace op {

/// One step of Adagrad for each of n tensors.
///
/// inputs   R (rate, a float scalar), T (steps so far, int64), then X, G and H, n of each
/// outputs  the next X and H, n of each
/// formula  g = norm_coefficient * X + G; H' = H + g^2;
///          X' = X - R / (1 + T * decay_factor) * g / (sqrt(H') + epsilon)
/// source   ai.onnx.preview.training Adagrad-1
struct PreviewAdagrad {
  float decay_factor = 0, epsilon = 0, norm_coefficient = 0;

  static constexpr OpId id{"ai.onnx.preview.training", "Adagrad", 1};
  static constexpr Signature signature = "inputs:*... -> outputs:*...";
  static constexpr bool differentiable = false;

  constexpr void attributes(auto&& visit) {
    visit("decay_factor", decay_factor);
    visit("epsilon", epsilon);
    visit("norm_coefficient", norm_coefficient);
  }
  constexpr auto expand(auto&, Vector<AnyTensor> in, std::size_t) const {
    const halftone::detail::UpdateInputs of(in, 3);
    Vector<AnyTensor> next(2 * of.count);
    for (std::size_t i = 0; i < of.count; ++i) {
      const auto x = of(0, i);
      const auto g = norm_coefficient * x + of(1, i);
      const auto h = of(2, i) + g * g;
      const auto rate = of.rate / (of.number() * decay_factor + 1);
      next[i] = x - rate * g / (sqrt(h) + epsilon);
      next[of.count + i] = h;
    }
    return next;
  }
};

/// One step of Adam for each of n tensors.
///
/// inputs   R (rate, a float scalar), T (steps so far, int64), then X, G, V and H, n of each
/// outputs  the next X, V and H, n of each
/// formula  g = norm_coefficient * X + G; V' = alpha * V + (1 - alpha) * g;
///          H' = beta * H + (1 - beta) * g^2; r = R * sqrt(1 - beta^T) / (1 - alpha^T), R if T = 0;
///          X' = (1 - norm_coefficient_post) * (X - r * V' / (sqrt(H') + epsilon))
/// source   ai.onnx.preview.training Adam-1
struct PreviewAdam {
  float alpha = 0.9f, beta = 0.999f, epsilon = 0, norm_coefficient = 0, norm_coefficient_post = 0;

  static constexpr OpId id{"ai.onnx.preview.training", "Adam", 1};
  static constexpr Signature signature = "inputs:*... -> outputs:*...";
  static constexpr bool differentiable = false;

  constexpr void attributes(auto&& visit) {
    visit("alpha", alpha);
    visit("beta", beta);
    visit("epsilon", epsilon);
    visit("norm_coefficient", norm_coefficient);
    visit("norm_coefficient_post", norm_coefficient_post);
  }
  constexpr auto expand(auto&, Vector<AnyTensor> in, std::size_t) const {
    const halftone::detail::UpdateInputs of(in, 4);
    Vector<AnyTensor> next(3 * of.count);
    for (std::size_t i = 0; i < of.count; ++i) {
      const auto x = of(0, i), t = of.number();
      const auto g = norm_coefficient * x + of(1, i);
      const auto v = alpha * of(2, i) + (1 - alpha) * g;
      const auto h = beta * of(3, i) + (1 - beta) * (g * g);
      const auto corrected = of.rate * sqrt(1 - pow(beta, t)) / (1 - pow(alpha, t));
      const auto rate = where(greater(t, 0), corrected, of.rate);
      next[i] = (1 - norm_coefficient_post) * (x - rate * v / (sqrt(h) + epsilon));
      next[of.count + i] = v;
      next[2 * of.count + i] = h;
    }
    return next;
  }
};

/// One step of gradient descent with momentum for each of n tensors.
///
/// inputs   R (rate, a float scalar), T (steps so far, int64), then X, G and V, n of each
/// outputs  the next X and V, n of each
/// formula  g = norm_coefficient * X + G; V' = alpha * V + b * g with b = beta, 1 if T = 0;
///          X' = X - R * V', in mode nesterov X - R * (g + alpha * V')
/// source   ai.onnx.preview.training Momentum-1
struct PreviewMomentum {
  float alpha = 0, beta = 0, norm_coefficient = 0;
  MomentumMode mode = MomentumMode::missing;

  static constexpr OpId id{"ai.onnx.preview.training", "Momentum", 1};
  static constexpr Signature signature = "inputs:*... -> outputs:*...";
  static constexpr bool differentiable = false;

  constexpr void attributes(auto&& visit) {
    visit("alpha", alpha);
    visit("beta", beta);
    visit("norm_coefficient", norm_coefficient);
    visit("mode", mode);
  }
  constexpr auto expand(auto&, Vector<AnyTensor> in, std::size_t) const {
    if (mode == MomentumMode::missing) {
      fail(ErrorKind::model, {.what = "attribute 'mode' is missing"});
    }
    const halftone::detail::UpdateInputs of(in, 3);
    Vector<AnyTensor> next(2 * of.count);
    for (std::size_t i = 0; i < of.count; ++i) {
      const auto x = of(0, i), t = of.number();
      const auto g = norm_coefficient * x + of(1, i);
      const auto factor = where(greater(t, 0), beta, 0 * t + 1);
      const auto v = alpha * of(2, i) + factor * g;
      next[i] = x - of.rate * (mode == MomentumMode::nesterov ? g + alpha * v : v);
      next[of.count + i] = v;
    }
    return next;
  }
};

}  // namespace op

}  // namespace halftone

#endif
