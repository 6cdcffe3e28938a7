#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_NORMALIZATION_HPP
#define HALFTONE_OP_GRAPHCORE_NORMALIZATION_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/batch_normalization.hpp>
#include <halftone/op/normalization.hpp>

namespace halftone::op {

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance of each group
/// of channels of each sample.
///
/// x, y          [batch, channels, ...]
/// scale, bias   [channels]
/// num_groups    G, required, divides the channels: a group is channels / G neighbours
/// mean          [batch * G]
/// inv_std_dev   [batch * G], 1 / sqrt(variance + epsilon); the variance is biased
/// grad          with d = dy * scale and z = (x - mean) * inv_std_dev, over each group dx =
///               inv_std_dev * (d - mean(d) - z * mean(d * z)); dscale = sum(dy * z); dbias =
///               sum(dy)
/// limits        statistics are summed in float, over many elements in double
/// source        ai.graphcore GroupNormalization-1; Wu and He 2018, arXiv:1803.08494
struct GroupNormalization {
  std::int64_t num_groups = required;
  float epsilon = 1e-5f;

  static constexpr OpId id{"ai.graphcore", "GroupNormalization", 1};
  static constexpr Signature signature = "x scale bias -> y mean? inv_std_dev?";

  constexpr void attributes(auto&& visit) {
    visit("num_groups", num_groups);
    visit("epsilon", epsilon);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    // Mean and mean of squares in one reduction each, then subtract, multiply, scale and shift.
    const std::int64_t statistics = in[0].shape[0] * num_groups;
    machine.reduce(in[0], statistics);
    machine.reduce(in[0], statistics);
    machine.pass("Sub", in[0]);
    machine.pass("Mul", in[0]);
    machine.pass("Mul", in[0]);
    machine.pass("Add", in[0]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    if (x.rank() < 2) {
      return Inferred::mismatch("the input has no channels", 2,
                                static_cast<std::int64_t>(x.rank()));
    }
    if (num_groups < 1) return Inferred::mismatch("num_groups is less than 1", 1, num_groups);
    std::int64_t channels = x.shape[1];
    for (std::size_t i = 1; i < 3; ++i) {
      if (in[i].rank() != 1) {
        return Inferred::mismatch("a parameter is not a vector", 1,
                                  static_cast<std::int64_t>(in[i].rank()));
      }
      const std::int64_t both = agree(channels, in[i].shape[0]);
      if (both == contradictory) {
        return Inferred::mismatch("a parameter has not one element per channel", channels,
                                  in[i].shape[0]);
      }
      channels = both;
    }
    if (channels != dynamic && channels % num_groups != 0) {
      return Inferred::mismatch("the groups do not divide the channels evenly", channels,
                                num_groups);
    }
    const std::int64_t batch = x.shape[0];
    if (batch > INT64_MAX / num_groups) return Inferred::mismatch("too many groups");
    Vector<TensorInfo> outputs{x};
    while (outputs.size() < in.output_count()) {
      outputs.push_back({x.type, {batch == dynamic ? dynamic : batch * num_groups}});
    }
    return outputs;
  }

  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> scale, View<const T> bias,
              View<T> y, View<T> mean_out, View<T> deviation_out) const {
    using S = halftone::detail::Compute<T>;
    const Extents e(x, num_groups);
    auto* const means = static_cast<S*>(call.workspace);
    S* const factors = means + e.room();
    S* const biases = factors + e.room();
    S* const group_means = biases + e.room();
    S* const deviations = group_means + e.room();
    if (e.run != 0) {
      kernel::channel_moments<T>(*call.executor, x.data, 1, e.groups, e.run, group_means,
                                 deviations, deviations + e.room());
    }
    for (std::int64_t g = 0; g < e.groups; ++g) {
      // The mean of nothing is no number.
      const double variance = e.run == 0 ? __builtin_nan("") : static_cast<double>(deviations[g]);
      if (e.run == 0) group_means[g] = static_cast<S>(variance);
      deviations[g] = static_cast<S>(1 / math::sqrt(variance + epsilon));
      if (mean_out) mean_out[g] = static_cast<T>(group_means[g]);
      if (deviation_out) deviation_out[g] = static_cast<T>(deviations[g]);
    }
    if (y.size() == 0) return;
    const std::int64_t in_group = e.channels / num_groups;
    for (std::int64_t i = 0; i < e.rows; ++i) {
      const std::int64_t c = i % e.channels, g = i / in_group;
      means[i] = group_means[g];
      factors[i] = deviations[g] * static_cast<S>(scale[c]);
      biases[i] = static_cast<S>(bias[c]);
    }
    kernel::normalize_channels<T>(*call.executor, x.data, y.data, 1, e.rows, e.inner,
                                  static_cast<const S*>(means), static_cast<const S*>(factors),
                                  static_cast<const S*>(biases));
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const T>, View<const T>,
                                  View<T>, View<T>, View<T>) const {
    const Extents e(x, num_groups);
    return static_cast<std::size_t>(5 * e.room()) * sizeof(halftone::detail::Compute<T>) +
           kernel::channel_moments_workspace<T>(1, e.groups, e.run);
  }
  constexpr void gradient(auto& g) const {
    using halftone::detail::reshaped;
    const auto scale = halftone::detail::wide(g.x(1));
    const Dims shape = g.x().info().shape;
    const std::int64_t pixels = product(shape.span().subspan(2));
    const Dims planes{shape[0], shape[1], pixels};
    const Dims groups{shape[0], num_groups, shape[1] / num_groups * pixels};
    const halftone::detail::Normalized normalized(reshaped(halftone::detail::wide(g.x()), groups),
                                                  {2}, double(epsilon));
    if (g.has_dy(0)) {
      const auto dy = reshaped(halftone::detail::wide(g.dy()), planes);
      const auto axes = constant(g.graph(), Dims{0, 2});
      if (g.needs(0)) {
        const auto dz = reshaped(dy * reshaped(scale, {shape[1], 1}), groups);
        g.dx(0) += reshaped(normalized.gradient(dz), shape);
      }
      g.dx(1) += op::sum(dy * reshaped(normalized.z, planes), axes, {.keepdims = 0});
      g.dx(2) += op::sum(dy, axes, {.keepdims = 0});
    }
    for (std::size_t i = 1; i < 3; ++i) {
      if (!g.has_dy(i)) continue;
      const auto d = reshaped(halftone::detail::wide(g.dy(i)), {shape[0], num_groups, 1});
      g.dx(0) += reshaped(i == 1 ? normalized.from_mean(d) : normalized.from_inverse(d), shape);
    }
  }

 private:
  struct Extents {
    std::int64_t channels, inner, rows, groups, run;
    constexpr Extents(const auto& x, std::int64_t num_groups)
        : channels(x.extent(1)),
          inner(x.size(2, x.rank)),
          rows(x.extent(0) * channels),
          groups(x.extent(0) * num_groups),
          run(channels / num_groups * inner) {}
    /// Numbers of a list with one for each row or group; kernels read a vector more.
    constexpr std::int64_t room() const {
      const std::int64_t n = rows > groups ? rows : groups;
      return (n + 127) / 64 * 64;
    }
  };
};

/// BatchNormalization as PopART has it: in training mode if statistics are outputs, which have
/// unbiased variances: (v + epsilon) * n / (n - 1) - epsilon of the biased variance v over n
/// elements.
///
/// spatial             1; 0: every feature is a channel of its own
/// unbiased_variance   written by PopART's builder; without effect there and here
/// limits              y takes the biased variance; over one element the unbiased one is infinite
/// source              ai.graphcore BatchNormalization-1
struct GraphcoreBatchNormalization {
  float epsilon = 1e-5f, momentum = 0.9f;
  std::int64_t spatial = 1, unbiased_variance = 0;

  static constexpr OpId id{"ai.graphcore", "BatchNormalization", 1};
  static constexpr Signature signature =
      "x scale bias mean var -> y mean_out? var_out? saved_mean? saved_var?";

  constexpr void attributes(auto&& visit) {
    visit("epsilon", epsilon);
    visit("momentum", momentum);
    visit("spatial", spatial);
    visit("unbiased_variance", unbiased_variance);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    const BatchNormalization_7 newer{.epsilon = epsilon, .momentum = momentum, .spatial = spatial};
    if (outputs < 2) return newer.expand(graph, inputs, outputs);
    auto y = newer.expand(graph, inputs, 5);
    const auto biased = y[4], old = inputs[4];
    const TensorInfo x = inputs[0].info();
    const std::int64_t n = x.elements(), channels = biased.info().elements();
    auto unbiased = biased;
    if (n > 0 && channels > 0) {
      const double count = static_cast<double>(n / channels);
      unbiased = (biased + epsilon) * (count / (count - 1)) - epsilon;
    } else {
      const auto count = cast(size_of(inputs[0]) / size_of(biased), {.to = old.info().type});
      unbiased = (biased + epsilon) * (count / (count - 1)) - epsilon;
    }
    y[2] = old * momentum + unbiased * (1 - momentum);
    y[4] = unbiased;
    return y;
  }
};

}  // namespace halftone::op

#endif
