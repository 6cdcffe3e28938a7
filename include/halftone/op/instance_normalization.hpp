#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_INSTANCE_NORMALIZATION_HPP
#define HALFTONE_OP_INSTANCE_NORMALIZATION_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/normalization.hpp>

namespace halftone::op {

/// y = (x - mean) / sqrt(var + epsilon) * scale + bias, with mean and variance of each channel of
/// each image.
///
/// x, y         [batch, channels, spatial...]
/// scale, bias  [channels]
/// grad         with d = dy * scale / sqrt(var + epsilon) and z = y without scale and bias,
///              dx = d - mean(d) - z * mean(d * z); dscale = sum(dy * z); dbias = sum(dy)
/// limits       statistics are summed in float, over many elements in double; the variance is the
///              sum of squares divided by their number
/// source       ai.onnx InstanceNormalization-6; Ulyanov et al. 2016, arXiv:1607.08022
struct InstanceNormalization {
  float epsilon = 1e-5f;

  static constexpr OpId id{"ai.onnx", "InstanceNormalization", 6, 22};
  static constexpr Signature signature = "x scale bias -> y";
  static constexpr std::uint32_t by_sample = 1;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) { visit("epsilon", epsilon); }
  static constexpr void cost(auto& machine, auto in, auto) {
    // Mean and mean of squares in one reduction each, then subtract, multiply, scale and shift.
    const std::int64_t statistics = in[0].shape[0] * in[0].shape[1];
    machine.reduce(in[0], statistics);
    machine.reduce(in[0], statistics);
    machine.pass("Sub", in[0]);
    machine.pass("Mul", in[0]);
    machine.pass("Mul", in[0]);
    machine.pass("Add", in[0]);
  }
  static constexpr Inferred infer(TensorInfo x, TensorInfo scale, TensorInfo bias) {
    if (x.rank() < 2) {
      return Inferred::mismatch("the input has no channels", 2,
                                static_cast<std::int64_t>(x.rank()));
    }
    for (const TensorInfo& parameter : {scale, bias}) {
      if (parameter.rank() != 1) {
        return Inferred::mismatch("a parameter is not a vector", 1,
                                  static_cast<std::int64_t>(parameter.rank()));
      }
      const std::int64_t both = agree(x.shape[1], parameter.shape[0]);
      if (both == contradictory) {
        return Inferred::mismatch("a parameter has not one element per channel", x.shape[1],
                                  parameter.shape[0]);
      }
      x.shape[1] = both;
    }
    return x;
  }

  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> scale, View<const T> bias,
              View<T> y) const {
    using S = halftone::detail::Compute<T>;
    // Channels of images are channels of one image to the functions that are called.
    const std::int64_t channels = x.extent(1), planes = x.size(0, 2), inner = x.size(2, x.rank);
    auto* const means = static_cast<S*>(call.workspace);
    S* const factors = means + room(planes);
    S* const biases = factors + room(planes);
    kernel::channel_moments<T>(*call.executor, x.data, 1, planes, inner, means, factors,
                               biases + room(planes));
    for (std::int64_t p = 0; p < planes; ++p) {
      const double deviation = math::sqrt(static_cast<double>(factors[p]) + epsilon);
      factors[p] = static_cast<S>(static_cast<double>(scale[p % channels]) / deviation);
      biases[p] = static_cast<S>(bias[p % channels]);
    }
    kernel::normalize_channels<T>(*call.executor, x.data, y.data, 1, planes, inner,
                                  static_cast<const S*>(means), static_cast<const S*>(factors),
                                  static_cast<const S*>(biases));
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const T>, View<const T>,
                                  View<T>) const {
    const std::int64_t planes = x.size(0, 2);
    return static_cast<std::size_t>(3 * room(planes)) * sizeof(halftone::detail::Compute<T>) +
           kernel::channel_moments_workspace<T>(1, planes, x.size(2, x.rank));
  }
  constexpr void gradient(auto& g) const {
    using halftone::detail::reshaped;
    const auto scale = halftone::detail::wide(g.x(1));
    const Dims shape = g.x().info().shape;
    const Dims planes{shape[0], shape[1], product(shape.span().subspan(2))};
    const auto dy = reshaped(halftone::detail::wide(g.dy()), planes);
    const halftone::detail::Normalized normalized(reshaped(halftone::detail::wide(g.x()), planes),
                                                  {2}, double(epsilon));
    const auto axes = constant(g.graph(), Dims{0, 2});
    if (g.needs(0)) {
      g.dx(0) += reshaped(normalized.gradient(dy * reshaped(scale, {shape[1], 1})), shape);
    }
    g.dx(1) += op::sum(dy * normalized.z, axes, {.keepdims = 0});
    g.dx(2) += op::sum(dy, axes, {.keepdims = 0});
  }

 private:
  /// Numbers of a list with one for each plane; kernels read a vector more.
  static constexpr std::int64_t room(std::int64_t planes) { return (planes + 127) / 64 * 64; }
};

/// InstanceNormalization before opset 6.
struct InstanceNormalization_1 {
  float epsilon = 1e-5f;
  Dims consumed_inputs{};  ///< an old hint about memory, without effect

  static constexpr OpId id{"ai.onnx", "InstanceNormalization", 1};
  static constexpr Signature signature = "x scale bias -> y";

  constexpr void attributes(auto&& visit) {
    visit("epsilon", epsilon);
    visit("consumed_inputs", consumed_inputs);
  }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto scale,
                             tensor_handle auto bias) const {
    return OpFunction<InstanceNormalization>{}(x, scale, bias,
                                               InstanceNormalization{.epsilon = epsilon});
  }
};

}  // namespace halftone::op

#endif
