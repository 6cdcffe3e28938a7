#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ACTIVATION_HPP
#define HALFTONE_OP_ACTIVATION_HPP

#include <halftone/base/math.hpp>

namespace halftone::op {

/// Rectifier: y = max(x, 0), element by element.
///
/// x, y    any shape, numbers with a sign
/// grad    dx = dy where x > 0, else 0
/// limits  NaN stays NaN
/// source  ai.onnx Relu-6
struct Relu {
  static constexpr OpId id{"ai.onnx", "Relu", 6, 13, 14};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;
  using types =
      TypeList<Joined<FloatTypes, TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t>>>;

  static constexpr auto forward(auto x) { return math::max(x, 0); }
  static constexpr void gradient(auto& g);
};

/// The gradient of Relu: dx = dy where y > 0, else 0. It asks for y, so that x's memory is free.
///
/// dy, y, dx  one shape, floating point
/// grad       as Where's: ddy = d where y > 0, else 0
/// source     none
struct ReluGradient {
  static constexpr OpId id{"halftone", "ReluGradient", 1};
  static constexpr Signature signature = "dy y -> dx";
  static constexpr bool is_short = true;

  static constexpr auto forward(auto dy, auto y) { return math::select(y > 0, dy, 0); }
  static constexpr void gradient(auto& g);
};

constexpr void Relu::gradient(auto& g) {
  const auto dx = halftone::detail::record(g.graph(), ReluGradient{}, {g.dy().id, g.y().id}, 1);
  g.dx(0) += AnyTensor{&g.graph(), dx[0]};
}
constexpr void ReluGradient::gradient(auto& g) {
  const auto d = halftone::detail::record(g.graph(), ReluGradient{}, {g.dy().id, g.x(1).id}, 1);
  g.dx(0) += AnyTensor{&g.graph(), d[0]};
}

/// Logistic function: y = 1 / (1 + e^-x), element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * y * (1 - y)
/// source  ai.onnx Sigmoid-6
struct Sigmoid {
  static constexpr OpId id{"ai.onnx", "Sigmoid", 6, 13};
  static constexpr Signature signature = "x -> y";

  static constexpr auto forward(auto x) { return math::sigmoid(x); }
  static constexpr auto backward(auto dy, auto x) {
    const auto y = sigmoid(x);
    return dy * y * (1 - y);
  }
};

/// y = x where x is not below 0, else alpha * x.
///
/// x, y    any shape, floating point
/// grad    dx = dy, or alpha * dy where x < 0
/// source  ai.onnx LeakyRelu-6
struct LeakyRelu {
  float alpha = 0.01f;

  static constexpr OpId id{"ai.onnx", "LeakyRelu", 6, 16};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;
  constexpr void attributes(auto&& visit) { visit("alpha", alpha); }

  constexpr auto forward(auto x) const { return math::select(x < 0, x * alpha, x); }
  constexpr auto backward(auto dy, auto x) const { return select(x < 0, dy * alpha, dy); }
};

/// y = x where x is not below 0, else slope * x.
///
/// x, y    any shape, any numbers
/// slope   x's type, of a shape that broadcasts to x's
/// grad    dx = dy, or slope * dy where x < 0; dslope = x * dy where x < 0, else 0
/// source  ai.onnx PRelu-7; He et al. 2015, arXiv:1502.01852
struct PRelu {
  static constexpr OpId id{"ai.onnx", "PRelu", 7, 9, 16};
  static constexpr Signature signature = "x slope -> y";
  using types = TypeList<NumericTypes>;

  static constexpr Inferred infer(const Inputs& in) {
    const TensorInfo &x = in[0], &slope = in[1];
    if (slope.rank() > x.rank()) {
      return Inferred::mismatch("slope has more dimensions than x",
                                static_cast<std::int64_t>(x.rank()),
                                static_cast<std::int64_t>(slope.rank()));
    }
    for (std::size_t i = 1; i <= slope.rank(); ++i) {
      const std::int64_t own = slope.shape[slope.rank() - i], there = x.shape[x.rank() - i];
      if (own != 1 && contradict(own, there)) {
        return Inferred::mismatch("slope does not broadcast to x", there, own);
      }
    }
    return x;
  }
  static constexpr auto forward(auto x, auto slope) {
    return math::select(x < 0, math::multiply(x, slope), x);
  }
  static constexpr auto backward(auto dy, auto x, auto slope) {
    return std::tuple(select(x < 0, dy * slope, dy), select(x < 0, dy * x, 0));
  }
};

/// PRelu whose slope is one number, or one for each channel: x [batch, channels, ...].
/// source  ai.onnx PRelu-6
struct PRelu_1 {
  Dims consumed_inputs{};  ///< an old hint about memory, without effect

  static constexpr OpId id{"ai.onnx", "PRelu", 1, 6};
  static constexpr Signature signature = "x slope -> y";
  constexpr void attributes(auto&& visit) { visit("consumed_inputs", consumed_inputs); }

  static constexpr AnyTensor expand(auto x, auto slope) {
    const std::size_t rank = x.info().rank();
    if (slope.info().rank() != 1 || slope.info().shape[0] == 1 || rank <= 2) return prelu(x, slope);
    Dims shape{0};  // 0: as it is
    while (shape.size() + 1 < rank) shape.push_back(1);
    return prelu(x, reshape(slope, constant(*slope.graph, shape)));
  }
};

/// Exponential linear unit: y = x where x is not below 0, else alpha * (e^x - 1).
///
/// x, y    any shape, floating point
/// grad    dx = dy, or dy * alpha * e^x where x < 0; dy * (1 + alpha) / 2 at 0, as PopART has it
/// source  ai.onnx Elu-6; Clevert et al. 2015, arXiv:1511.07289
struct Elu {
  float alpha = 1;

  static constexpr OpId id{"ai.onnx", "Elu", 6, 22};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) { visit("alpha", alpha); }

  constexpr auto forward(auto x) const {
    return math::select(x < 0, math::expm1_below_zero(x, alpha), x);
  }
  constexpr auto backward(auto dy, auto x) const {
    return select(x < 0, dy * alpha * exp(x), select(x > 0, dy, dy * ((1 + alpha) / 2)));
  }
};

/// Scaled exponential linear unit: y = gamma * x where x > 0, else gamma * alpha * (e^x - 1).
///
/// x, y    any shape, floating point
/// grad    dx = dy * gamma, or dy * gamma * alpha * e^x where x < 0; the mean of both at 0, as
///         PopART has it
/// source  ai.onnx Selu-6; Klambauer et al. 2017, arXiv:1706.02515
struct Selu {
  float alpha = 1.67326319217681884765625f, gamma = 1.05070102214813232421875f;

  static constexpr OpId id{"ai.onnx", "Selu", 6, 22};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) {
    visit("alpha", alpha);
    visit("gamma", gamma);
  }
  constexpr auto forward(auto x) const {
    return math::select(x < 0, math::expm1_below_zero(x, double(gamma) * alpha), x * gamma);
  }
  constexpr auto backward(auto dy, auto x) const {
    return select(x < 0, dy * alpha * exp(x), select(x > 0, dy, dy * ((1 + alpha) / 2))) * gamma;
  }
};

/// Continuously differentiable exponential linear unit: y = x where x is not below 0, else
/// alpha * (e^(x / alpha) - 1).
///
/// x, y    any shape, floating point
/// grad    dx = dy, or dy * e^(x / alpha) where x < 0
/// source  ai.onnx Celu-12; Barron 2017, arXiv:1704.07483
struct Celu {
  float alpha = 1;

  static constexpr OpId id{"ai.onnx", "Celu", 12, 28};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) { visit("alpha", alpha); }

  constexpr auto forward(auto x) const {
    return math::select(x < 0, math::expm1_below_zero(x * (1.0 / alpha), alpha), x);
  }
  constexpr auto backward(auto dy, auto x) const { return select(x < 0, dy * exp(x / alpha), dy); }
};

/// y = log(1 + e^x), element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy / (1 + e^-x)
/// source  ai.onnx Softplus-1
struct Softplus {
  static constexpr OpId id{"ai.onnx", "Softplus", 1, 22};
  static constexpr Signature signature = "x -> y";

  static constexpr auto forward(auto x) { return math::softplus(x); }
  static constexpr auto backward(auto dy, auto x) { return dy * sigmoid(x); }
};

/// y = x / (1 + |x|), element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy / (1 + |x|)^2
/// limits  infinities give NaN
/// source  ai.onnx Softsign-1
struct Softsign {
  static constexpr OpId id{"ai.onnx", "Softsign", 1, 22};
  static constexpr Signature signature = "x -> y";

  static constexpr auto forward(auto x) { return x / (1 + math::abs(x)); }
  static constexpr auto backward(auto dy, auto x) {
    const auto d = 1 + abs(x);
    return dy / (d * d);
  }
};

/// y = alpha * x + beta held between 0 and 1, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * alpha inside, 0 outside, the mean of both at the corners, as PopART has it
/// source  ai.onnx HardSigmoid-6
struct HardSigmoid {
  float alpha = 0.2f, beta = 0.5f;

  static constexpr OpId id{"ai.onnx", "HardSigmoid", 6, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;
  constexpr void attributes(auto&& visit) {
    visit("alpha", alpha);
    visit("beta", beta);
  }
  constexpr auto forward(auto x) const { return math::min(math::max(x * alpha + beta, 0), 1); }
  constexpr auto backward(auto dy, auto x) const {
    const auto y = x * alpha + beta;
    const auto at_corner = dy * (alpha / 2);
    const auto below_one = select(y < 1, dy * alpha, select(y > 1, 0, at_corner));
    return select(y > 0, below_one, select(y < 0, 0, at_corner));
  }
};

/// y = x * (x / 6 + 1 / 2 held between 0 and 1), element by element.
///
/// x, y    any shape, floating point
/// grad    dx = 0 below -3, dy above 3, dy * (x / 3 + 1 / 2) between
/// limits  -inf gives NaN
/// source  ai.onnx HardSwish-14; Howard et al. 2019, arXiv:1905.02244
struct HardSwish {
  static constexpr OpId id{"ai.onnx", "HardSwish", 14, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;

  static constexpr auto forward(auto x) {
    return x * math::min(math::max(x * (1.0 / 6) + 0.5, 0), 1);
  }
  static constexpr auto backward(auto dy, auto x) {
    return select(x > 3, dy, select(x < -3, 0, dy * (x * (1.0 / 3) + 0.5)));
  }
};

/// y = x where x > alpha, else 0.
///
/// x, y    any shape, floating point
/// grad    dx = dy where x > alpha, else 0
/// source  ai.onnx ThresholdedRelu-10; Konda et al. 2014, arXiv:1402.3337
struct ThresholdedRelu {
  float alpha = 1;

  static constexpr OpId id{"ai.onnx", "ThresholdedRelu", 10, 22};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) { visit("alpha", alpha); }

  constexpr auto forward(auto x) const { return math::select(x > alpha, x, 0); }
  constexpr auto backward(auto dy, auto x) const { return select(x > alpha, dy, 0); }
};

/// y = x moved towards 0 by bias where |x| > lambd, else 0.
///
/// x, y    any shape, any numbers; integers are computed in double and end where their range does
/// grad    dx = dy where |x| > lambd, else 0; half of dy at both corners, as PopART has it
/// source  ai.onnx Shrink-9
struct Shrink {
  float lambd = 0.5f, bias = 0;

  static constexpr OpId id{"ai.onnx", "Shrink", 9};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<NumericTypes>;
  constexpr void attributes(auto&& visit) {
    visit("lambd", lambd);
    visit("bias", bias);
  }
  constexpr auto forward(auto x) const {
    if constexpr (std::is_integral_v<decltype(x)>) {
      const auto wide = static_cast<double>(x);
      return math::saturated<decltype(x)>(wide > lambd    ? wide - bias
                                          : wide < -lambd ? wide + bias
                                                          : 0);
    } else {
      return math::select(x > lambd, x - bias, math::select(x < -lambd, x + bias, 0));
    }
  }
  constexpr auto backward(auto dy, auto x) const {
    const auto a = abs(x);
    return select(a > lambd, dy, select(a < lambd, 0, dy * 0.5));
  }
};

/// y = x * tanh(log(1 + e^x)), element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * (t + x * (1 - t^2) / (1 + e^-x)) with t = tanh(log(1 + e^x))
/// limits  -inf gives NaN
/// source  ai.onnx Mish-18; Misra 2019, arXiv:1908.08681
struct Mish {
  static constexpr OpId id{"ai.onnx", "Mish", 18, 22};
  static constexpr Signature signature = "x -> y";

  static constexpr auto forward(auto x) { return math::mish(x); }
  static constexpr auto backward(auto dy, auto x) {
    const auto t = tanh(softplus(x));
    return dy * (t + x * (1 - t * t) * sigmoid(x));
  }
};

}  // namespace halftone::op

#endif
