#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MICROSOFT_NORMALIZATION_HPP
#define HALFTONE_OP_MICROSOFT_NORMALIZATION_HPP

#include <halftone/op/layer_normalization.hpp>
#include <halftone/op/microsoft_product.hpp>

namespace halftone::detail {

/// 1 / the root of the mean of x^2 over the dimensions from `axis` on, in float or double.
template <class X>
constexpr X inverse_root_mean_square(const X& given, std::int64_t axis, double epsilon) {
  const bool is_double = given.info().type == ElementType::float64;
  const X x = is_double ? given : as_type(given, ElementType::float32);
  const std::size_t rank = known_rank(given);
  Dims axes;
  for (std::size_t i = normalized_axis(axis, rank); i < rank; ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const X squares = op::mean(op::mul(x, x), constant(*x.graph, axes));
  return op::reciprocal(op::sqrt(op::add(squares, epsilon)));
}

/// The extent of a dimension, [1] int64.
template <class X>
constexpr X extent_at(const X& x, std::int64_t axis) {
  const TensorInfo info = x.info();
  const std::size_t at = normalized_axis(axis, info.rank());
  if (at < info.rank() && info.shape[at] != dynamic) {
    return constant(*x.graph, Dims{info.shape[at]});
  }
  op::Shape shape{.start = axis};
  if (axis != -1) shape.end = axis + 1;
  return OpFunction<op::Shape>{}(x, shape);
}

/// [n] int64 from 0 on; `count` is [1].
template <class X>
constexpr X indices_below(const X& count) {
  Graph& graph = *count.graph;
  const auto number = [&](std::int64_t v) {
    return constant(graph, std::span<const std::int64_t>(&v, 1), {});
  };
  return op::range(number(0), op::squeeze(count), number(1));
}

/// The indices of a dimension, [extent] int64.
template <class X>
constexpr X indices_along(const X& x, std::int64_t axis) {
  const TensorInfo info = x.info();
  const std::size_t at = normalized_axis(axis, info.rank());
  const std::int64_t extent = at < info.rank() ? info.shape[at] : dynamic;
  if (extent < 0 || extent > 1 << 16) return indices_below(extent_at(x, axis));
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < extent; ++i) indices.push_back(i);
  return constant(*x.graph, std::span<const std::int64_t>(indices), {extent});
}

/// GroupNorm of x, see there, with channels behind or in front.
template <class X>
constexpr X normalized_groups(const X& x, const X& gamma, const X& beta, std::int64_t groups,
                              double epsilon, bool is_last, std::int64_t activation) {
  const std::size_t rank = known_rank(x);
  const ElementType type = x.info().type;
  const X first = is_last ? channels_first(x) : x;
  X y = op::group_norm(as_type(first, ElementType::float32), as_type(gamma, ElementType::float32),
                       as_type(beta, ElementType::float32),
                       {.num_groups = groups, .epsilon = static_cast<float>(epsilon)});
  if (activation == 1) y = op::swish(y);
  y = as_type(y, type);
  return is_last ? detail::channels_last(y, rank) : y;
}

}  // namespace halftone::detail

namespace halftone::op {

/// LayerNormalization as ONNX Runtime writes it into models of older operator sets.
///
/// source  ONNX Runtime's ai.onnx LayerNormalization-1, which became ai.onnx LayerNormalization-17
struct LayerNormalization_1 {
  LayerNormalization newer{};

  static constexpr OpId id{"ai.onnx", "LayerNormalization", 1};
  static constexpr Signature signature = "x scale bias? -> y mean:U? inv_std:U?";

  constexpr void attributes(auto&& visit) { newer.attributes(visit); }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    Vector<TensorId> ids;
    for (const auto& x : inputs) ids.push_back(x.id);
    Vector<AnyTensor> all;
    for (const TensorId made : halftone::detail::record(graph, newer, ids, outputs)) {
      all.push_back({&graph, made});
    }
    return all;
  }
};

/// y = x / sqrt(mean(x^2) + epsilon) * scale, with the mean over the dimensions from `axis` on.
///
/// x, y        floating point; half and bfloat16 are computed in float
/// scale       the dimensions from `axis` on
/// inv_std     float: 1 / sqrt(mean(x^2) + epsilon)
/// stash_type  element type of inv_std: 1, float
/// source      ONNX Runtime's ai.onnx SimplifiedLayerNormalization-1; Zhang and Sennrich 2019,
///             arXiv:1910.07467
struct SimplifiedLayerNormalization {
  std::int64_t axis = -1;
  float epsilon = 1e-5f;
  std::int64_t stash_type = 1;

  static constexpr OpId id{"ai.onnx", "SimplifiedLayerNormalization", 1};
  static constexpr Signature signature = "x scale -> y inv_std:U?";

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("epsilon", epsilon);
    visit("stash_type", stash_type);
  }
  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t outputs) const {
    if (stash_type != 1) {
      fail(ErrorKind::unsupported,
           {.what = "SimplifiedLayerNormalization: stash_type is not float", .expected = "1"});
    }
    Vector<AnyTensor> all{
        rms_normalization(inputs[0], inputs[1], {.axis = axis, .epsilon = epsilon})};
    if (outputs > 1) {
      all.push_back(halftone::detail::inverse_root_mean_square(inputs[0], axis, double(epsilon)));
    }
    return all;
  }
};

/// LayerNormalization of input + skip + bias over the last dimension.
///
/// input, skip        [batch, length, channels]; the skip may lack the batch, or have one
/// gamma, beta, bias  [channels]; beta and bias may be absent
/// y, mean, inv_std   as LayerNormalization's
/// sum                input + skip + bias
/// source             com.microsoft SkipLayerNormalization-1
struct SkipLayerNormalization {
  float epsilon = 1e-12f;

  static constexpr OpId id{"com.microsoft", "SkipLayerNormalization", 1};
  static constexpr Signature signature =
      "input skip gamma beta? bias? -> y mean:U? inv_std:U? sum?";

  constexpr void attributes(auto&& visit) { visit("epsilon", epsilon); }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    auto total = inputs[0];
    total = halftone::detail::plus(add(inputs[0], inputs[1]), inputs, 4);
    const TensorId beta = halftone::detail::is_given(inputs, 3) ? inputs[3].id : no_tensor;
    const auto ids =
        halftone::detail::record(graph, LayerNormalization{.epsilon = epsilon},
                                 {total.id, inputs[2].id, beta}, outputs < 4 ? outputs : 3);
    Vector<AnyTensor> all;
    for (const TensorId made : ids) all.push_back({&graph, made});
    if (outputs > 3) all.push_back(total);
    return all;
  }
};

/// SimplifiedLayerNormalization of input + skip + bias over the last dimension.
///
/// input, skip, gamma, bias  as SkipLayerNormalization's
/// mean                      is not offered: ONNX Runtime leaves it empty
/// source                    com.microsoft SkipSimplifiedLayerNormalization-1
struct SkipSimplifiedLayerNormalization {
  float epsilon = 1e-12f;

  static constexpr OpId id{"com.microsoft", "SkipSimplifiedLayerNormalization", 1};
  static constexpr Signature signature = "input skip gamma bias? -> y mean:U? inv_std:U? sum?";

  constexpr void attributes(auto&& visit) { visit("epsilon", epsilon); }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    auto total = inputs[0];
    total = halftone::detail::plus(add(inputs[0], inputs[1]), inputs, 3);
    Vector<AnyTensor> all{rms_normalization(total, inputs[2], {.epsilon = epsilon}),
                          {&graph, no_tensor},
                          {&graph, no_tensor},
                          total};
    if (outputs > 2) {
      all[2] = halftone::detail::inverse_root_mean_square(total, -1, double(epsilon));
    }
    if (outputs < all.size()) all.resize(outputs);
    return all;
  }
};

/// The sum of a word's, a position's and a segment's embedding, normalised.
///
/// input_ids           [batch, length] int32 or int64
/// segment_ids         [batch, length]; absent: no segments
/// word_embedding      [words, channels], and so are position_embedding and segment_embedding
/// gamma, beta         [channels], of LayerNormalization
/// mask                [batch, length] of 0 and 1; absent: the mask index is 0
/// position_ids        [batch or 1, length]; absent: 0, 1, ...
/// mask_index          [batch] int32: how many elements of the mask are 1
/// sum                 the embedding before it is normalised
/// mask_index_type     is not looked at: it says what the mask index is used as
/// source              com.microsoft EmbedLayerNormalization-1
struct EmbedLayerNormalization {
  float epsilon = 1e-12f;
  std::int64_t mask_index_type = 1;

  static constexpr OpId id{"com.microsoft", "EmbedLayerNormalization", 1};
  static constexpr Signature signature =
      "input_ids:I segment_ids:I? word_embedding position_embedding segment_embedding? gamma beta "
      "mask:I? position_ids:I? -> y mask_index:M? sum?";

  constexpr void attributes(auto&& visit) {
    visit("epsilon", epsilon);
    visit("mask_index_type", mask_index_type);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    using namespace halftone::detail;
    auto total = inputs[0], position = inputs[0];
    if (is_given(inputs, 8)) {
      position = op::gather(inputs[3], inputs[8]);
    } else {
      position = slice(inputs[3], constant(graph, Dims{0}), extent_at(inputs[0], 1),
                       constant(graph, Dims{0}));
    }
    total = add(op::gather(inputs[2], inputs[0]), position);
    if (is_given(inputs, 1) && is_given(inputs, 4)) {
      total = add(total, op::gather(inputs[4], inputs[1]));
    }
    const LayerNormalization normalization{.epsilon = epsilon};
    Vector<AnyTensor> all{layer_normalization(total, inputs[5], inputs[6], normalization)};
    if (outputs > 1) {
      const auto count = [&] {
        const auto axis = constant(graph, Dims{1});
        auto marked = inputs[0];
        marked = is_given(inputs, 7) ? equal(inputs[7], 1) : not_equal_to_itself(inputs[0]);
        return op::sum(op::cast(marked, {.to = ElementType::int32}), axis, {.keepdims = 0});
      };
      all.push_back(count());
    }
    if (outputs > 2) all.push_back(total);
    return all;
  }

 private:
  /// False everywhere.
  static constexpr auto not_equal_to_itself(const auto& ids) {
    return logical_not(equal(ids, ids));
  }
};

/// Normalises groups of channels, see GroupNormalization, of images whose channels come last.
///
/// x, y           [batch, height, width, channels], or channels in front where channels_last is 0
/// gamma, beta    [channels], float
/// activation     1: y * sigmoid(y) follows; 0: nothing
/// source         com.microsoft GroupNorm-1
struct GroupNorm {
  float epsilon = 1e-5f;
  std::int64_t groups = required, activation = required, channels_last = 1;

  static constexpr OpId id{"com.microsoft", "GroupNorm", 1};
  static constexpr Signature signature = "x gamma:M beta:M -> y";

  constexpr void attributes(auto&& visit) {
    visit("epsilon", epsilon);
    visit("groups", groups);
    visit("activation", activation);
    visit("channels_last", channels_last);
  }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto gamma,
                             tensor_handle auto beta) const {
    return halftone::detail::normalized_groups(x, gamma, beta, groups, double(epsilon),
                                               channels_last != 0, activation);
  }
};

/// GroupNorm of x + skip + bias.
///
/// x, y         [batch, height, width, channels], or channels in front where channels_last is 0
/// skip         as x, or [batch, 1, 1, channels], or [batch, channels]
/// gamma, beta  [channels], float; bias [channels] of x's type, may be absent
/// sum          x + skip + bias
/// source       com.microsoft SkipGroupNorm-1
struct SkipGroupNorm {
  GroupNorm norm{};

  static constexpr OpId id{"com.microsoft", "SkipGroupNorm", 1};
  static constexpr Signature signature = "x gamma:M beta:M skip bias? -> y sum?";

  constexpr void attributes(auto&& visit) { norm.attributes(visit); }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    const bool is_last = norm.channels_last != 0;
    const auto for_channels = [&](auto t) {  // [channels] or [batch, channels]
      if (is_last && t.info().rank() == 2) return op::unsqueeze(t, constant(graph, Dims{1, 2}));
      if (!is_last && t.info().rank() == 2) return op::unsqueeze(t, constant(graph, Dims{2, 3}));
      if (!is_last && t.info().rank() == 1) return op::unsqueeze(t, constant(graph, Dims{1, 2}));
      return AnyTensor(t);
    };
    auto total = inputs[0];
    total = add(inputs[0], for_channels(inputs[3]));
    if (halftone::detail::is_given(inputs, 4)) total = add(total, for_channels(inputs[4]));
    Vector<AnyTensor> all{halftone::detail::normalized_groups(
        total, inputs[1], inputs[2], norm.groups, double(norm.epsilon), is_last, norm.activation)};
    if (outputs > 1) all.push_back(total);
    return all;
  }
};

}  // namespace halftone::op

#endif
