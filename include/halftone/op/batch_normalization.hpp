#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_BATCH_NORMALIZATION_HPP
#define HALFTONE_OP_BATCH_NORMALIZATION_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/normalization.hpp>

namespace halftone::op {

/// The gradients of a BatchNormalization in training: with n elements of a channel, z = (x - mean) /
/// sqrt(variance + epsilon) of x's own statistics, dbias = sum(dy) and dscale = sum(dy * z),
/// dx = scale / sqrt(variance + epsilon) * (dy - dbias / n - z * dscale / n).
///
/// x, dy, dx      [batch, channels, ...], or [batch] as one channel
/// scale, dscale, dbias  [channels]
/// limits         sums are of doubles, of some hundred floats each
/// source         Ioffe and Szegedy 2015, arXiv:1502.03167; PopART's BatchNormalizationGrad
struct BatchNormalizationGradient {
  float epsilon = 1e-5f;

  static constexpr OpId id{"halftone", "BatchNormalizationGradient", 1};
  static constexpr Signature signature = "x scale dy -> dx dscale? dbias?";
  using types = TypeList<TypeList<float, double>>;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) { visit("epsilon", epsilon); }
  constexpr void cost(auto& machine, auto in, auto) const {
    for (int sums = 0; sums < 4; ++sums) machine.reduce(in[0], in[1].elements());
    // The passes make z, its products with dy, and dx of both.
    for (const char* const pass : {"Sub", "Mul", "Mul", "Mul", "Sub", "Mul"}) {
      machine.pass(pass, in[0]);
    }
  }
  static constexpr Inferred infer(TensorInfo x, TensorInfo scale, TensorInfo) {
    return {x, scale, scale};
  }

  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> scale, View<const T> dy,
              View<T> dx, View<T> dscale, View<T> dbias) const {
    kernel::batch_normalization_gradient<T>(
        *call.executor, double(epsilon), x.data, scale.data, dy.data, x.extent(0), scale.size(),
        x.rank == 1 ? 1 : x.size(2, x.rank), dx.data, dscale.data, dbias.data);
  }
};

/// y = (x - mean) / sqrt(var + epsilon) * scale + bias, one of each for a channel.
///
/// x, y          [batch, channels, ...], or [batch] as one channel
/// scale, bias   [channels]
/// mean, var     [channels], statistics that were gathered before
/// training      with training_mode 1, mean and variance of this x are used instead (of all but the
///               channel dimension; the variance is the sum of squares divided by their number),
///               and running_* = momentum * given + (1 - momentum) * those, saved_* = those
/// grad          with given statistics f = scale / sqrt(var + epsilon), dx = dy * f. In training,
///               with d = dy * f and z = y without scale and bias, dx = d - mean(d) - z * mean(d *
///               z); dscale = sum(dy * z); dbias = sum(dy)
/// limits        statistics are summed in float, over many elements in double
/// source        ai.onnx BatchNormalization-15; saved_*: BatchNormalization-9; Ioffe and Szegedy
///               2015, arXiv:1502.03167
struct BatchNormalization {
  float epsilon = 1e-5f, momentum = 0.9f;
  std::int64_t training_mode = 0;

  static constexpr OpId id{"ai.onnx", "BatchNormalization", 14, 15};
  static constexpr Signature signature =
      "x scale:U bias:U mean:W var:W -> y running_mean:W? running_var:W? saved_mean:W? "
      "saved_var:W?";
  using types = TypeList<FloatTypes, FloatTypes, FloatTypes>;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) {
    visit("epsilon", epsilon);
    visit("momentum", momentum);
    visit("training_mode", training_mode);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    const std::int64_t channels = in[1].elements();
    if (training_mode != 0) {
      machine.reduce(in[0], channels);
      machine.reduce(in[0], channels);
    }
    // The mean and shift, the factor of variance and scale: one channel-wise multiply and add.
    machine.pass("Mul", in[0]);
    machine.pass("Add", in[0]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    if (x.rank() == 0) return Inferred::mismatch("the input has no channels", 1, 0);
    std::int64_t channels = x.rank() == 1 ? 1 : x.shape[1];
    for (std::size_t i = 1; i < 5; ++i) {
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
    if (in.output_count() > 1 && training_mode == 0) {
      return Inferred::mismatch("statistics are outputs in training mode only", 1,
                                static_cast<std::int64_t>(in.output_count()));
    }
    Vector<TensorInfo> outputs{x};
    while (outputs.size() < in.output_count()) outputs.push_back({in[3].type, {channels}});
    return outputs;
  }

  // Parameters and statistics pass through lists of double: one computation for each T.
  template <class T, class U, class W>
  void kernel(const KernelCall& call, View<const T> x, View<const U> scale, View<const U> bias,
              View<const W> given_mean, View<const W> given_var, View<T> y, View<W> running_mean,
              View<W> running_var, View<W> saved_mean, View<W> saved_var) const {
    const Lists lists(call.workspace, Extents(x));
    lists.read(scale, lists.scale);
    lists.read(bias, lists.bias);
    lists.read(given_mean, lists.mean);
    lists.read(given_var, lists.variance);
    compute<T>(call, lists, x, y.data);
    lists.write(lists.mean, running_mean);
    lists.write(lists.variance, running_var);
    lists.write(lists.own_mean, saved_mean);
    lists.write(lists.own_variance, saved_var);
  }
  template <class T, class U, class W>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const U>, View<const U>,
                                  View<const W>, View<const W>, View<T>, View<W>, View<W>, View<W>,
                                  View<W>) const {
    return workspace_for<T>(Extents(x));
  }
  constexpr void gradient(auto& g) const {
    using halftone::detail::reshaped;
    const auto x = halftone::detail::wide(g.x()), dy = halftone::detail::wide(g.dy());
    const ElementType type = x.info().type;
    const Dims shape = x.info().shape, channels = g.x(1).info().shape;
    Dims over{0}, sides = channels;  // a parameter's shape that broadcasts to x
    for (std::size_t i = 2; i < shape.size(); ++i) {
      over.push_back(static_cast<std::int64_t>(i));
      sides.push_back(1);
    }
    const auto as_type = [&](auto t) {
      return t.info().type == type ? t : op::cast(t, {.to = type});
    };
    const auto along = [&](auto t) { return reshaped(as_type(t), sides); };
    const auto axes = constant(g.graph(), over);
    const auto sums = [&](auto t) { return reshaped(op::sum(t, axes, {.keepdims = 0}), channels); };
    const auto scale = as_type(g.x(1));
    if (training_mode == 0) {
      const auto inverse = op::reciprocal(op::sqrt(as_type(g.x(4)) + double(epsilon)));
      const auto factor = scale * inverse, dbias = sums(dy);
      g.dx(0) += dy * along(factor);
      g.dx(2) += dbias;
      g.dx(3) += -(dbias * factor);
      if (!g.needs(1) && !g.needs(4)) return;
      const auto products = sums(dy * (x - along(g.x(3))));
      g.dx(1) += products * inverse;
      g.dx(4) += products * factor * inverse * inverse * -0.5;
      return;
    }
    if (g.has_dy(0)) {
      const Vector<TensorId> made = halftone::detail::record(
          g.graph(), BatchNormalizationGradient{epsilon}, {x.id, scale.id, dy.id}, 3);
      for (std::size_t i = 0; i < 3; ++i) g.dx(i) += AnyTensor{&g.graph(), made[i]};
    }
    if (!g.has_dy(1) && !g.has_dy(2) && !g.has_dy(3) && !g.has_dy(4)) return;
    const halftone::detail::Normalized normalized(x, over, double(epsilon));
    const double kept = double(momentum);
    for (std::size_t i = 1; i < 5; ++i) {
      if (!g.has_dy(i)) continue;
      auto d = as_type(g.dy(i));
      if (i < 3) {
        g.dx(2 + i) += d * kept;
        d = d * (1 - kept);
      }
      d = along(d);
      g.dx(0) += i % 2 == 1 ? normalized.from_mean(d) : normalized.from_variance(d);
    }
  }

 private:
  struct Extents {
    std::int64_t outer, channels, inner;
    template <class E>
    constexpr explicit Extents(const View<E>& x) : Extents(x.extents, x.rank) {}
    [[gnu::noinline]] constexpr Extents(const std::int64_t* x, std::size_t rank)
        : outer(x[0]), channels(rank == 1 ? 1 : x[1]), inner(1) {
      for (std::size_t i = 2; i < rank; ++i) inner *= x[i];
    }
    /// Numbers of a list with one for each channel; kernels read a vector more.
    constexpr std::int64_t room() const { return (channels + 127) / 64 * 64; }
  };
  /// One number for each channel: what was given, overwritten by the running statistics, and the
  /// statistics of x.
  struct Lists {
    static constexpr std::int64_t count = 6;
    std::int64_t channels;
    double *scale, *bias, *mean, *variance, *own_mean, *own_variance;
    void* behind;
    [[gnu::noinline]] Lists(void* memory, const Extents& e) : channels(e.channels) {
      auto* const first = static_cast<double*>(memory);
      const std::int64_t n = e.room();
      scale = first, bias = first + n, mean = first + 2 * n, variance = first + 3 * n;
      own_mean = first + 4 * n, own_variance = first + 5 * n, behind = first + count * n;
    }
    template <class E>
    [[gnu::noinline]] void read(View<const E> from, double* to) const {
      for (std::int64_t c = 0; c < channels; ++c) to[c] = static_cast<double>(from[c]);
    }
    template <class E>
    [[gnu::noinline]] void write(const double* from, View<E> to) const {
      if (!to) return;
      for (std::int64_t c = 0; c < channels; ++c) to[c] = static_cast<E>(from[c]);
    }
  };

  template <class T>
  [[gnu::noinline]] void compute(const KernelCall& call, const Lists& lists, View<const T> x,
                                 T* y) const {
    using S = halftone::detail::Compute<T>;
    const Extents e(x);
    auto* const means = static_cast<S*>(lists.behind);
    S* const factors = means + e.room();
    S* const biases = factors + e.room();
    for (std::int64_t c = 0; c < e.channels; ++c) {
      means[c] = static_cast<S>(lists.mean[c]);
      factors[c] = static_cast<S>(lists.variance[c]);
    }
    if (training_mode != 0) {
      const auto blended = [&](double given, S now) {
        return static_cast<S>(given) * static_cast<S>(momentum) +
               now * static_cast<S>(1 - momentum);
      };
      kernel::channel_moments<T>(*call.executor, x.data, e.outer, e.channels, e.inner, means,
                                 factors, biases + e.room());
      for (std::int64_t c = 0; c < e.channels; ++c) {
        lists.own_mean[c] = static_cast<double>(means[c]);
        lists.own_variance[c] = static_cast<double>(factors[c]);
        lists.mean[c] = static_cast<double>(blended(lists.mean[c], means[c]));
        lists.variance[c] = static_cast<double>(blended(lists.variance[c], factors[c]));
      }
    }
    for (std::int64_t c = 0; c < e.channels; ++c) {
      const double deviation = math::sqrt(static_cast<double>(factors[c]) + epsilon);
      factors[c] = static_cast<S>(lists.scale[c] / deviation);
      biases[c] = static_cast<S>(lists.bias[c]);
    }
    kernel::normalize_channels<T>(*call.executor, x.data, y, e.outer, e.channels, e.inner,
                                  static_cast<const S*>(means), static_cast<const S*>(factors),
                                  static_cast<const S*>(biases));
  }
  template <class T>
  [[gnu::noinline]] constexpr std::size_t workspace_for(const Extents& e) const {
    const auto room = static_cast<std::size_t>(e.room());
    return room * (Lists::count * sizeof(double) + 3 * sizeof(halftone::detail::Compute<T>)) +
           (training_mode == 0
                ? 0
                : kernel::channel_moments_workspace<T>(e.outer, e.channels, e.inner));
  }
};

/// BatchNormalization before opset 14: in training mode if statistics are outputs. With spatial = 0
/// every feature is a channel of its own; parameters then have x's shape without the batch.
/// source  ai.onnx BatchNormalization-7 and -9
struct BatchNormalization_7 {
  float epsilon = 1e-5f, momentum = 0.9f;
  std::int64_t spatial = 1;

  static constexpr OpId id{"ai.onnx", "BatchNormalization", 7, 9};
  static constexpr Signature signature =
      "x scale bias mean var -> y mean_out? var_out? saved_mean? saved_var?";

  constexpr void attributes(auto&& visit) {
    visit("epsilon", epsilon);
    visit("momentum", momentum);
    visit("spatial", spatial);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const;
};

/// BatchNormalization-6: is_test = 1 is inference, whatever the outputs.
struct BatchNormalization_1 {
  float epsilon = 1e-5f, momentum = 0.9f;
  std::int64_t spatial = 1, is_test = 0;
  Dims consumed_inputs{};  ///< an old hint about memory, without effect

  static constexpr OpId id{"ai.onnx", "BatchNormalization", 1, 6};
  static constexpr Signature signature =
      "x scale bias mean var -> y mean_out? var_out? saved_mean? saved_var?";

  constexpr void attributes(auto&& visit) {
    visit("epsilon", epsilon);
    visit("momentum", momentum);
    visit("spatial", spatial);
    visit("is_test", is_test);
    visit("consumed_inputs", consumed_inputs);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    const BatchNormalization_7 newer{.epsilon = epsilon, .momentum = momentum, .spatial = spatial};
    return newer.expand(graph, inputs, is_test != 0 ? 1 : outputs);
  }
};

constexpr Vector<AnyTensor> BatchNormalization_7::expand(auto& graph, const auto& inputs,
                                                         std::size_t outputs) const {
  const BatchNormalization newer{
      .epsilon = epsilon, .momentum = momentum, .training_mode = outputs > 1 ? 1 : 0};
  // Features become channels for the operator, and take their shape again behind it.
  const bool is_reshaped = spatial == 0 && inputs.size() == 5 && inputs[0].info().rank() > 2;
  Vector<TensorId> ids;
  for (const auto& x : inputs) {
    const Dims wanted = ids.empty() ? Dims{0, -1} : Dims{-1};
    ids.push_back(is_reshaped ? reshape(x, constant(graph, wanted)).id : x.id);
  }
  Vector<AnyTensor> y;
  const Vector<TensorId> made = halftone::detail::record(graph, newer, ids, outputs);
  for (std::size_t i = 0; i < made.size(); ++i) {
    auto t = inputs[0];  // of this type, so that the calls wait for the operators' definitions
    t.id = made[i];
    y.push_back(is_reshaped ? reshape(t, shape_of(inputs[i == 0 ? 0 : 3])) : t);
  }
  return y;
}

}  // namespace halftone::op

#endif
