#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_PAIRED_CONV_HPP
#define HALFTONE_OP_PAIRED_CONV_HPP

#include <halftone/op/fused_conv.hpp>

namespace halftone::op {

/// FusedConv of floats, of one group or of one for each channel, of whose x, residual and y some are in
/// bfloat16: [batch, pairs of blocks, height, width, 2 block]. Products round to it, so that these are their
/// factors as they are. Made by the pass `pair_channels`.
///
/// x         in bfloat16, or as FusedConv's
/// residual  in bfloat16 if y has blocks or pairs, or as FusedConv's
/// others    as FusedConv's; means, factors and addends only of x that is not in bfloat16
/// source    none
struct PairedConv {
  FusedConv conv{};
  bool makes_pairs = false;  ///< y is in bfloat16

  static constexpr OpId id{"halftone", "PairedConv", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature =
      "x:X w:F b:F? residual:R? means:F? factors:F? addends:F? -> y:Y";
  static constexpr std::uint32_t by_sample = FusedConv::by_sample;
  static constexpr int packed_input = FusedConv::packed_input;
  using Activation = TypeList<float, bfloat16>;
  using types = TypeList<Activation, TypeList<float>, Activation, Activation>;

  constexpr void attributes(auto&& visit) {
    conv.attributes(visit);
    visit("makes_pairs", makes_pairs);
  }
  constexpr Inferred infer(const Inputs& in) const {
    Inferred y = conv.infer(in);
    if (!y.ok()) return y;
    TensorInfo& info = y.outputs[0];
    info.type = ElementType::float32;
    if (makes_pairs) {
      info = {
          ElementType::bfloat16,
          {info.shape[0], (info.shape[1] + 1) / 2, info.shape[2], info.shape[3], 2 * conv.block}};
    }
    return y;
  }
  static constexpr std::int64_t flops(auto in, auto out) { return FusedConv::flops(in, out); }

  template <class X, class F, class R, class Y>
  void kernel(const auto& call, View<const X> x, View<const F> w, View<const F> b,
              View<const R> residual, View<const F> means, View<const F> factors,
              View<const F> addends, View<Y> y) const {
    kernel::fused_conv<F>(conv, call, floats(x), w, b, floats(residual),
                          {means.data, factors.data, addends.data, conv.clears_negatives},
                          floats(y), in_pairs<X, R, Y>());
  }
  template <class X, class F, class R, class Y>
  std::size_t workspace(const KernelCall& call, View<const X> x, View<const F> w, View<const F>,
                        View<const R>, View<const F> means, View<const F>, View<const F>,
                        View<Y>) const {
    return kernel::fused_conv_workspace<F>(conv, call, floats(x), w, bool(means),
                                           in_pairs<X, R, Y>());
  }
  template <class X, class F, class R, class Y>
  std::size_t packed_bytes(const KernelCall& call, View<const X> x, View<const F> w,
                           auto...) const {
    return kernel::fused_conv_packed_bytes<F>(conv, call, floats(x), w, in_pairs<X, R, Y>());
  }
  template <class X, class F, class R, class Y>
  void pack(const auto& call, void* packed, View<const X> x, View<const F> w, auto...) const {
    kernel::fused_conv_pack<F>(conv, call, packed, floats(x), w, in_pairs<X, R, Y>());
  }

 private:
  template <class X>
  static auto floats(View<X> x) {
    using Float = std::conditional_t<std::is_const_v<X>, const float, float>;
    return View<Float>{reinterpret_cast<Float*>(x.data), x.extents, x.rank};
  }
  template <class X, class R, class Y>
  static kernel::InPairs in_pairs() {
    return {std::is_same_v<X, bfloat16>, std::is_same_v<R, bfloat16>, std::is_same_v<Y, bfloat16>};
  }
};

}  // namespace halftone::op

#endif
