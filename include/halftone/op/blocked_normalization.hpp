#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_BLOCKED_NORMALIZATION_HPP
#define HALFTONE_OP_BLOCKED_NORMALIZATION_HPP

#include <halftone/kernel/fwd.hpp>

// BatchNormalization in training over blocks of channels, as FusedConv has them: x is [batch, channels / block,
// height, width, block], missing channels are zero and stay so. Made by the pass `block_channels`.
namespace halftone {

namespace kernel {

// kernel/blocked_normalization.hpp. Lists have one number for each channel of whole blocks, but for those of
// parameters and their gradients.
template <class T>
void blocked_moments(const Executor& executor, const BlockedExtents& e, const T* x, T* mean,
                     T* variance, void* workspace);
template <class T>
constexpr std::size_t blocked_moments_workspace(const BlockedExtents& e);
/// y = (x - mean) * factor + addend, held between limits if they are given; y may be x.
template <class T>
void normalize_in_blocks(const Executor& executor, const BlockedExtents& e, const T* x,
                         const T* means, const T* factors, const T* addends, const T* limits, T* y);
template <class T>
void blocked_normalization_gradient(const Executor& executor, const BlockedExtents& e,
                                    double epsilon, const T* x, const T* scale, const T* dy,
                                    const T* means, const T* variances, T* dx, T* dscale, T* dbias,
                                    void* workspace);
template <class T>
constexpr std::size_t blocked_normalization_gradient_workspace(const BlockedExtents& e);

}  // namespace kernel

namespace op {

/// Mean and (biased) variance of each channel of x in blocks.
///
/// mean, variance  [channels of whole blocks], zero for missing ones
/// source          none
struct ChannelMoments {
  static constexpr OpId id{"halftone", "ChannelMoments", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "x -> mean variance";
  using types = TypeList<TypeList<float>>;

  static constexpr Inferred infer(TensorInfo x) {
    const TensorInfo list{x.type, {x.shape[1] * x.shape[4]}};
    return {list, list};
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> means, View<T> variances) const {
    kernel::blocked_moments<T>(*call.executor, kernel::BlockedExtents::of(x, means.size()), x.data,
                               means.data, variances.data, call.workspace);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<T> means,
                                  View<T>) const {
    return kernel::blocked_moments_workspace<T>(kernel::BlockedExtents::of(x, means.size()));
  }
};

/// BatchNormalization in training with what follows it, y = clamp((x - mean) / sqrt(variance + epsilon) * scale
/// + bias), and the running statistics, momentum * given + (1 - momentum) * those of x.
///
/// scale, bias, given_*, running_*  [channels]
/// mean, variance                   as ChannelMoments gives them
/// source                           none
struct BlockedBatchNormalization {
  float epsilon = 1e-5f, momentum = 0.9f;
  bool clamp = false;
  float lower = 0, upper = 0;

  static constexpr OpId id{"halftone", "BatchNormalization", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature =
      "x scale bias given_mean given_variance mean variance -> y running_mean? running_variance?";
  using types = TypeList<TypeList<float>>;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) {
    visit("epsilon", epsilon);
    visit("momentum", momentum);
    visit("clamp", clamp);
    visit("lower", lower);
    visit("upper", upper);
  }
  static constexpr Inferred infer(const Inputs& in) {
    Vector<TensorInfo> outputs{in[0]};
    while (outputs.size() < in.output_count()) outputs.push_back(in[3]);
    return outputs;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> scale, View<const T> bias,
              View<const T> given_mean, View<const T> given_variance, View<const T> means,
              View<const T> variances, View<T> y, View<T> running_mean,
              View<T> running_variance) const {
    T* const factors = static_cast<T*>(call.workspace);
    T* const addends = factors + means.size();
    for (std::int64_t c = 0; c < means.size(); ++c) {
      const bool exists = c < scale.size();
      const double deviation = math::sqrt(static_cast<double>(variances[c]) + epsilon);
      factors[c] = exists ? static_cast<T>(static_cast<double>(scale[c]) / deviation) : T(0);
      addends[c] = exists ? bias[c] : T(0);
    }
    const auto blend = [&](View<const T> given, View<const T> own, View<T> to) {
      const T kept = static_cast<T>(momentum), taken = static_cast<T>(1 - momentum);
      for (std::int64_t c = 0; to && c < to.size(); ++c) to[c] = given[c] * kept + own[c] * taken;
    };
    blend(given_mean, means, running_mean);
    blend(given_variance, variances, running_variance);
    const T limits[2] = {static_cast<T>(lower), static_cast<T>(upper)};
    kernel::normalize_in_blocks<T>(*call.executor, kernel::BlockedExtents::of(x, scale.size()),
                                   x.data, means.data, factors, addends, clamp ? limits : nullptr,
                                   y.data);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const T>, View<const T>,
                                  View<const T>, View<const T>, View<const T> means, View<const T>,
                                  View<T>, View<T>, View<T>) const {
    return static_cast<std::size_t>(means.size()) * 2 * sizeof(T);
  }
};

/// BatchNormalizationGradient of what lies in blocks.
///
/// scale, dscale, dbias  [channels]
/// mean, variance        as ChannelMoments gives them
/// source                none
struct BlockedBatchNormalizationGradient {
  float epsilon = 1e-5f;

  static constexpr OpId id{"halftone", "BlockedBatchNormalizationGradient", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "x scale dy mean variance -> dx dscale? dbias?";
  using types = TypeList<TypeList<float>>;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) { visit("epsilon", epsilon); }
  static constexpr Inferred infer(const Inputs& in) { return {in[0], in[1], in[1]}; }

  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> scale, View<const T> dy,
              View<const T> means, View<const T> variances, View<T> dx, View<T> dscale,
              View<T> dbias) const {
    kernel::blocked_normalization_gradient<T>(
        *call.executor, kernel::BlockedExtents::of(x, scale.size()), double(epsilon), x.data,
        scale.data, dy.data, means.data, variances.data, dx.data, dscale.data, dbias.data,
        call.workspace);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const T> scale,
                                  View<const T>, View<const T>, View<const T>, View<T>, View<T>,
                                  View<T>) const {
    return kernel::blocked_normalization_gradient_workspace<T>(
        kernel::BlockedExtents::of(x, scale.size()));
  }
};

}  // namespace op
}  // namespace halftone

#endif
