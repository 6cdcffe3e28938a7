#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GROUP_NORMALIZATION_HPP
#define HALFTONE_OP_GROUP_NORMALIZATION_HPP

#include <halftone/op/graphcore_normalization.hpp>

namespace halftone::op {

/// ONNX's GroupNormalization; recorded as GroupNormalization, its first output.
///
/// x, y         [batch, channels, ...]
/// scale, bias  [channels]
/// num_groups   required, divides the channels
/// stash_type   element type that statistics are computed in: 1 float, 10 float16, 11 double,
///              16 bfloat16
/// limits       computed in float at least, whatever stash_type says
/// source       ai.onnx GroupNormalization-21; Wu and He 2018, arXiv:1803.08494
struct OnnxGroupNormalization {
  std::int64_t num_groups = required;
  float epsilon = 1e-5f;
  std::int64_t stash_type = 1;

  static constexpr OpId id{"ai.onnx", "GroupNormalization", 21};
  static constexpr Signature signature = "x scale bias -> y";

  constexpr void attributes(auto&& visit) {
    visit("num_groups", num_groups);
    visit("epsilon", epsilon);
    visit("stash_type", stash_type);
  }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto scale,
                             tensor_handle auto bias) const {
    const auto stash = static_cast<ElementType>(stash_type);
    if (stash_type < 0 || stash_type > 255 || !has_type(FloatTypes{}, stash)) {
      fail(ErrorKind::model, {.what = "GroupNormalization: stash_type is no floating-point type"});
    }
    const GroupNormalization normalization{.num_groups = num_groups, .epsilon = epsilon};
    const ElementType type = x.info().type;
    if (stash != ElementType::float64 || type == stash) {
      return group_norm(x, scale, bias, normalization);
    }
    const auto wide = [&](auto t) { return cast(t, {.to = stash}); };
    return cast(group_norm(wide(x), wide(scale), wide(bias), normalization), {.to = type});
  }
};

/// GroupNormalization whose scale and bias have one number for each group. source  ai.onnx
/// GroupNormalization-18
struct OnnxGroupNormalization_18 {
  std::int64_t num_groups = required;
  float epsilon = 1e-5f;

  static constexpr OpId id{"ai.onnx", "GroupNormalization", 18};
  static constexpr Signature signature = "x scale bias -> y";

  constexpr void attributes(auto&& visit) {
    visit("num_groups", num_groups);
    visit("epsilon", epsilon);
  }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto scale,
                             tensor_handle auto bias) const {
    auto& graph = *x.graph;
    const TensorInfo info = x.info();
    if (!info.is_known() || info.rank() < 2 || info.shape[1] == dynamic) {
      fail(ErrorKind::unsupported,
           {.what = "GroupNormalization-18: the number of channels is not known"});
    }
    const std::int64_t channels = info.shape[1];
    if (num_groups < 1 || channels % num_groups != 0) {
      fail(ErrorKind::model,
           {.what = "GroupNormalization: the groups do not divide the channels evenly"});
    }
    const auto of_channels = [&](auto parameter) {
      const auto column = reshape(parameter, constant(graph, {num_groups, 1}));
      const auto wide = op::expand(column, constant(graph, {num_groups, channels / num_groups}));
      return reshape(wide, constant(graph, {channels}));
    };
    return group_norm(x, of_channels(scale), of_channels(bias),
                      {.num_groups = num_groups, .epsilon = epsilon});
  }
};

}  // namespace halftone::op

#endif
