#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_CONV_HPP
#define HALFTONE_OP_GRAPHCORE_CONV_HPP

#include <string_view>

#include <halftone/op/conv.hpp>

namespace halftone::op {

/// Several convolutions that do not depend on each other.
///
/// inputs      x, w and b of each convolution in turn; b may be left out (an empty name)
/// strides, dilations, pads   those of all convolutions, one behind the other; empty: 1, 1 and 0
/// numConvs    how many there are
/// limits      group follows from the shapes of x and w; planType, perConvReservedTiles and
///             cycleBackOff have no effect, nor inDilations and outPads, as in PopART
/// source      ai.graphcore MultiConv-1
struct MultiConv {
  using List = BoundedList<std::int64_t, 255>;

  std::int64_t convolutions = 1;
  List strides{}, pads{}, dilations{}, in_dilations{}, out_pads{};
  Text plan_type{};
  std::int64_t reserved_tiles = 0;
  float cycle_back_off = 0;

  static constexpr OpId id{"ai.graphcore", "MultiConv", 1};
  static constexpr Signature signature = "inputs... -> outputs...";

  constexpr void attributes(auto&& visit) {
    visit("numConvs", convolutions);
    visit("strides", strides);
    visit("pads", pads);
    visit("dilations", dilations);
    visit("inDilations", in_dilations);
    visit("outPads", out_pads);
    visit("planType", plan_type);
    visit("perConvReservedTiles", reserved_tiles);
    visit("cycleBackOff", cycle_back_off);
  }
  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto count = static_cast<std::size_t>(convolutions < 1 ? 0 : convolutions);
    if (count == 0 || count > inputs.size() || inputs.size() > 3 * count ||
        inputs.size() + 1 < 3 * count) {
      fail(ErrorKind::model, {.what = "the inputs are not three for each convolution"});
    }
    Vector<AnyTensor> y;
    std::size_t spatial = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = inputs[3 * i], w = inputs[3 * i + 1];
      auto b = x;
      b.id = 3 * i + 2 < inputs.size() ? inputs[3 * i + 2].id : no_tensor;
      if (x.is_absent() || w.is_absent()) {
        fail(ErrorKind::model, {.what = "a convolution has no input or no weights"});
      }
      const TensorInfo from = x.info(), weights = w.info();
      if (from.rank() < 3 || weights.rank() != from.rank() || from.shape[1] < 1 ||
          weights.shape[1] < 1) {
        fail(ErrorKind::unsupported, {.what = "the channels of a convolution are not known"});
      }
      const std::size_t d = from.rank() - 2;
      Conv one{.group = from.shape[1] / weights.shape[1]};
      one.strides = part(strides, spatial, d);
      one.dilations = part(dilations, spatial, d);
      for (std::size_t k = 0; k < 2 * d && 2 * spatial + k < pads.size(); ++k) {
        one.pads.push_back(pads[2 * spatial + k]);
      }
      spatial += d;
      y.push_back(b.is_absent() ? AnyTensor(conv(x, w, one)) : AnyTensor(conv(x, w, b, one)));
    }
    for (const List& list : {strides, dilations}) check_length(list, spatial);
    check_length(pads, 2 * spatial);
    return y;
  }

 private:
  static constexpr void check_length(const List& list, std::size_t length) {
    if (!list.empty() && list.size() != length) {
      fail(ErrorKind::model, {.what = "strides, pads or dilations have another length than the "
                                      "spatial dimensions of all convolutions"});
    }
  }
  static constexpr Dims part(const List& list, std::size_t first, std::size_t count) {
    Dims items;
    for (std::size_t i = first; i < first + count && i < list.size(); ++i) {
      items.push_back(list[i]);
    }
    return items;
  }
};

}  // namespace halftone::op

#endif
