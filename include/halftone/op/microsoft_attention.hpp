#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MICROSOFT_ATTENTION_HPP
#define HALFTONE_OP_MICROSOFT_ATTENTION_HPP

#include <halftone/op/integer_product.hpp>
#include <halftone/op/microsoft_normalization.hpp>

namespace halftone::detail {

[[noreturn]] inline void refuse_attention(std::string_view what) {
  fail(ErrorKind::unsupported, {.what = what});
}

/// [batch, length, heads * size] as [batch, heads, length, size].
template <class X>
constexpr X split_heads(const X& x, std::int64_t heads) {
  return op::transpose(op::reshape(x, constant(*x.graph, Dims{0, 0, heads, -1})),
                       {.perm = {0, 2, 1, 3}});
}

/// [batch, heads, length, size] as [batch, length, heads * size].
template <class X>
constexpr X join_heads(const X& x) {
  return op::reshape(op::transpose(x, {.perm = {0, 2, 1, 3}}), constant(*x.graph, Dims{0, 0, -1}));
}

/// New dimensions of extent 1.
template <class X>
constexpr X with_axes(const X& x, const Dims& axes) {
  return op::unsqueeze(x, constant(*x.graph, axes));
}

/// Adds term to sum, or is it where there is no sum yet.
template <class X>
constexpr void accumulate(X& sum, const X& term) {
  sum = sum.is_absent() ? term : X(op::add(sum, term));
}

/// The lowest number of a floating-point type, for what a mask takes out.
constexpr double lowest_of(ElementType type) {
  return type == ElementType::float16 ? -65504.0 : -3.4028234663852886e38;
}

/// 0 where `condition`, else `otherwise`.
template <class X>
constexpr X zero_where(const X& condition, double otherwise, ElementType type) {
  const auto number = [&](float v) {
    return constant(*condition.graph, std::span<const float>(&v, 1), {});
  };
  return as_type(X(op::where(condition, number(0), number(static_cast<float>(otherwise)))), type);
}

/// [length of q, length of k]: 0, and the lowest number where a query would see a later key. The
/// last query sees all keys. q and k are [batch, heads, length, size].
template <class X>
constexpr X causal_mask(const X& q, const X& k, ElementType type) {
  const X rows = extent_at(q, 2), columns = extent_at(k, 2);
  const X last = op::add(indices_along(q, 2), op::sub(columns, rows));
  return zero_where(X(op::less_or_equal(indices_along(k, 2), with_axes(last, {1}))),
                    lowest_of(type), type);
}

/// What a mask of keys adds to scores [batch, heads, length of q, length of k].
///
/// mask  [batch, keys], [batch, queries, keys] or [batch, 1 or heads, queries, keys], 0 for keys
///       that are not seen; or [batch] or [2 * batch]: where the seen keys end and, behind that,
///       where they begin
template <class X>
constexpr X key_mask(const X& mask, const X& k, double filter, ElementType type) {
  const TensorInfo info = mask.info();
  const std::size_t rank = known_rank(mask);
  if (rank >= 2) {
    X seen = op::greater(mask, 0);
    if (rank == 2) seen = with_axes(seen, {1, 2});
    if (rank == 3) seen = with_axes(seen, {1});
    return zero_where(seen, filter, type);
  }
  const std::int64_t batch = k.info().is_known() ? k.info().shape[0] : dynamic;
  const std::int64_t extent = info.shape.empty() ? 0 : info.shape[0];
  const bool is_static = batch != dynamic && extent != dynamic;
  const bool has_starts = is_static && extent == 2 * batch;
  if (rank == 0 || (is_static && extent != batch && !has_starts)) {
    refuse_attention("a mask index of this shape is not offered");
  }
  const X wide = as_type(mask, ElementType::int64), count = extent_at(k, 0);
  const X positions = indices_along(k, 2);
  if (is_static && !has_starts) {
    const X seen = op::less(positions, with_axes(wide, {1}));
    return zero_where(with_axes(seen, {1, 2}), filter, type);
  }
  // Zeros behind the numbers are where keys begin if the mask has no more.
  const X ends = op::slice(wide, constant(*mask.graph, Dims{0}), count);
  const X all = is_static ? wide : X(op::concat(wide, op::sub(ends, ends), {.axis = 0}));
  const X begins = op::slice(all, count, op::add(count, count));
  const X seen = op::logical_and(op::less(positions, with_axes(ends, {1})),
                                 op::greater_or_equal(positions, with_axes(begins, {1})));
  return zero_where(with_axes(seen, {1, 2}), filter, type);
}

/// The products of queries and keys [batch, heads, length, size], times `scale`, or by the root of
/// the size where that is 0.
template <class X>
constexpr X scaled_scores(const X& products, const X& q, float scale) {
  const std::int64_t size = known_rank(q) > 0 ? q.info().shape.back() : dynamic;
  if (scale == 0 && size == dynamic) {
    const X wide = op::cast(extent_at(q, -1), {.to = ElementType::float32});
    return op::div(products, as_type(X(op::sqrt(wide)), q.info().type));
  }
  const double root = __builtin_sqrt(static_cast<double>(size));
  return op::mul(products, scale != 0 ? double(scale) : 1 / root);
}

/// softmax(q k' * scale + bias) v, head by head; q, k, v [batch, heads, length, size]. `bias` may be
/// absent.
template <class X>
constexpr X attended(const X& q, const X& k, const X& v, float scale, const X& bias) {
  X scores = op::matmul(q, op::transpose(k, {.perm = {0, 1, 3, 2}}));
  scores = scaled_scores(scores, q, scale);
  if (!bias.is_absent()) scores = op::add(scores, bias);
  return op::matmul(op::softmax(scores, {.axis = -1}), v);
}

/// What follows the projections of Attention and QAttention.
struct SelfAttention {
  std::int64_t num_heads = required, unidirectional = 0, do_rotary = 0;
  std::int64_t past_present_share_buffer = 0;
  float scale = 0, mask_filter_value = -10000;

  constexpr void attributes(auto&& visit) {
    visit("num_heads", num_heads);
    visit("unidirectional", unidirectional);
    visit("do_rotary", do_rotary);
    visit("past_present_share_buffer", past_present_share_buffer);
    visit("scale", scale);
    visit("mask_filter_value", mask_filter_value);
  }
  /// q, k, v [batch, length, heads * size]; mask, past [2, batch, heads, length, size] and bias may
  /// be absent. Gives y and, if wanted, the present.
  template <class X>
  constexpr Vector<AnyTensor> record(X q, X k, X v, const X& mask, const X& past, const X& bias,
                                     bool wants_present) const {
    if (do_rotary != 0) refuse_attention("attention with do_rotary is not offered");
    if (past_present_share_buffer != 0) {
      refuse_attention("attention with past_present_share_buffer is not offered");
    }
    if (num_heads < 1) fail(ErrorKind::model, {.what = "num_heads is not positive"});
    Graph& graph = *q.graph;
    q = split_heads(q, num_heads);
    k = split_heads(k, num_heads);
    v = split_heads(v, num_heads);
    if (!past.is_absent()) {
      const auto cached = [&](std::int64_t i, const X& now) {
        const X before =
            op::gather(past, constant(graph, std::span<const std::int64_t>(&i, 1), {}));
        return op::concat(Vector<AnyTensor>{before, now}, {.axis = 2});
      };
      k = cached(0, k);
      v = cached(1, v);
    }
    const ElementType type = q.info().type;
    X added{&graph, no_tensor};
    if (!mask.is_absent()) accumulate(added, key_mask(mask, k, double(mask_filter_value), type));
    if (unidirectional != 0) accumulate(added, causal_mask(q, k, type));
    if (!bias.is_absent()) accumulate(added, bias);
    Vector<AnyTensor> all{join_heads(attended(q, k, v, scale, added))};
    if (wants_present) {
      all.push_back(
          op::concat(Vector<AnyTensor>{with_axes(k, {0}), with_axes(v, {0})}, {.axis = 0}));
    }
    return all;
  }
};

/// Input i, or none.
template <class X>
constexpr X input_or_none(Graph& graph, const Vector<X>& inputs, std::size_t i) {
  return is_given(inputs, i) ? inputs[i] : X{&graph, no_tensor};
}

/// Parts of x along its last dimension.
template <class X>
constexpr Vector<X> parts_of(const X& x, const Dims& sizes) {
  Vector<X> parts;
  for (const TensorId id : record(*x.graph, op::Split{.axis = -1},
                                  {x.id, constant(*x.graph, sizes).id}, sizes.size())) {
    parts.push_back({x.graph, id});
  }
  return parts;
}

/// The widths of queries, keys and values in `total` columns.
constexpr Dims projection_sizes(const Dims& given, std::int64_t total) {
  if (given.empty() && total > 0 && total % 3 == 0) return Dims::filled(3, total / 3);
  if (given.size() != 3) {
    fail(ErrorKind::model, {.what = "the columns of an attention's weights do not divide into "
                                    "queries, keys and values"});
  }
  return given;
}

/// Turns pairs of x's last dimension: x [batch, length, heads, size], cos and sin [batch or 1,
/// length, 1, turned / 2]. Numbers behind the first `turned` stay.
template <class X>
constexpr X rotated(const X& x, const X& cos, const X& sin, std::int64_t size, std::int64_t turned,
                    bool interleaved) {
  Graph& graph = *x.graph;
  const std::int64_t half = turned / 2;
  Dims sizes{turned, size - turned};
  if (size == turned) sizes = {turned};
  const Vector<X> parts = parts_of(x, sizes);
  X first = x, second = x;
  if (interleaved) {
    const X pairs = op::reshape(parts[0], constant(graph, Dims{0, 0, 0, half, 2}));
    const Vector<X> sides = parts_of(pairs, {1, 1});
    first = op::squeeze(sides[0], constant(graph, Dims{4}));
    second = op::squeeze(sides[1], constant(graph, Dims{4}));
  } else {
    const Vector<X> sides = parts_of(parts[0], {half, half});
    first = sides[0];
    second = sides[1];
  }
  const X real = op::sub(op::mul(first, cos), op::mul(second, sin));
  const X imaginary = op::add(op::mul(first, sin), op::mul(second, cos));
  X y = real;
  if (interleaved) {
    y = op::concat(Vector<AnyTensor>{with_axes(real, {4}), with_axes(imaginary, {4})}, {.axis = 4});
    y = op::reshape(y, constant(graph, Dims{0, 0, 0, turned}));
  } else {
    y = op::concat(Vector<AnyTensor>{real, imaginary}, {.axis = -1});
  }
  if (size == turned) return y;
  return op::concat(Vector<AnyTensor>{y, parts[1]}, {.axis = -1});
}

/// The last extent of a table of cosines, times 2.
template <class X>
constexpr std::int64_t turned_numbers(const X& cos_cache) {
  const TensorInfo info = cos_cache.info();
  if (!info.is_known() || info.rank() != 2 || info.shape[1] == dynamic) {
    refuse_attention("the shape of the table of cosines is not known");
  }
  return 2 * info.shape[1];
}

}  // namespace halftone::detail

namespace halftone::op {

/// Self attention with its projections: softmax(q k' * scale + mask) v of q, k, v = input weights +
/// bias, head by head.
///
/// input           [batch, length, channels]
/// weights         [channels, queries + keys + values]; the columns are equal parts, or as
///                 qkv_hidden_sizes says
/// bias            [queries + keys + values], may be absent
/// mask_index      int32, may be absent: see key_mask(); masked scores get mask_filter_value more
/// past, present   [2, batch, heads, length, size]: keys and values of earlier calls, which come
///                 first
/// attention_bias  broadcasts to [batch, heads, length, keys]
/// unidirectional  1: no query sees a later key
/// scale           0: 1 / sqrt(size of a head)
/// limits          past_sequence_length, do_rotary and shared buffers are refused
/// source          com.microsoft Attention-1
struct MicrosoftAttention {
  halftone::detail::SelfAttention self{};
  Dims qkv_hidden_sizes{};
  Optional<std::int64_t> rotary_embedding_dim{};

  static constexpr OpId id{"com.microsoft", "Attention", 1};
  static constexpr Signature signature =
      "input weights bias? mask_index:M? past? attention_bias? past_sequence_length:M? -> y "
      "present?";

  constexpr void attributes(auto&& visit) {
    self.attributes(visit);
    visit("qkv_hidden_sizes", qkv_hidden_sizes);
    visit("rotary_embedding_dim", rotary_embedding_dim);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    using namespace halftone::detail;
    if (is_given(inputs, 6)) refuse_attention("past_sequence_length is not offered");
    const TensorInfo weights = inputs[1].info();
    const std::int64_t total = weights.rank() == 2 ? weights.shape[1] : 0;
    auto projected = inputs[0];
    projected = plus(AnyTensor(matmul(inputs[0], inputs[1])), inputs, 2);
    const auto parts = parts_of(projected, projection_sizes(qkv_hidden_sizes, total));
    return self.record(parts[0], parts[1], parts[2], input_or_none(graph, inputs, 3),
                       input_or_none(graph, inputs, 4), input_or_none(graph, inputs, 5),
                       outputs > 1);
  }
};

/// Attention, see MicrosoftAttention, of integers: its projections are MatMulInteger of input and
/// weight less their zero points, times both scales.
///
/// scales  one number; that of the weight also one for each column
/// source  com.microsoft QAttention-1
struct QAttention {
  halftone::detail::SelfAttention self{};

  static constexpr OpId id{"com.microsoft", "QAttention", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "input:A weight:B bias input_scale weight_scale mask_index:M? input_zero_point:A? "
      "weight_zero_point:B? past? -> y present?";

  constexpr void attributes(auto&& visit) { self.attributes(visit); }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    using namespace halftone::detail;
    const TensorInfo weights = inputs[1].info();
    const std::int64_t total = weights.rank() == 2 ? weights.shape[1] : 0;
    auto y = inputs[0];
    y = as_type(integer_product(inputs[0], inputs[1], inputs, 6, 7), ElementType::float32);
    y = add(mul(y, mul(inputs[3], inputs[4])), inputs[2]);
    const auto parts = parts_of(y, projection_sizes({}, total));
    return self.record(parts[0], parts[1], parts[2], input_or_none(graph, inputs, 5),
                       input_or_none(graph, inputs, 8), AnyTensor{&graph, no_tensor}, outputs > 1);
  }
};

/// softmax(q k' * scale + mask) v, head by head.
///
/// query             [batch, length, heads * size]; or [batch, length, heads, 3, size] with keys and
///                   values
/// key, value        [batch, keys, heads * size]; key also [batch, keys, heads, 2, size] with the
///                   values; or both [batch, heads, keys, size], without bias
/// bias              [queries + keys + values], may be absent
/// key_padding_mask  int32, may be absent: see key_mask(); masked scores get mask_filter_value more
/// attention_bias    broadcasts to [batch, heads, length, keys]
/// past, present     [batch, heads, keys, size] of key and value, which come first
/// unidirectional    1: no query sees a later key
/// limits            past_sequence_length, cache_indirection and the output qk are refused
/// source            com.microsoft MultiHeadAttention-1
struct MultiHeadAttention {
  std::int64_t num_heads = required, unidirectional = 0;
  float scale = 0, mask_filter_value = -10000;

  static constexpr OpId id{"com.microsoft", "MultiHeadAttention", 1};
  static constexpr Signature signature =
      "query key? value? bias? key_padding_mask:M? attention_bias? past_key? past_value? "
      "past_sequence_length:M? cache_indirection:M? -> y present_key? present_value? qk?";

  constexpr void attributes(auto&& visit) {
    visit("num_heads", num_heads);
    visit("unidirectional", unidirectional);
    visit("scale", scale);
    visit("mask_filter_value", mask_filter_value);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    using namespace halftone::detail;
    if (is_given(inputs, 8) || is_given(inputs, 9)) {
      refuse_attention("past_sequence_length and cache_indirection are not offered");
    }
    if (outputs > 3) refuse_attention("the output qk is not offered");
    if (num_heads < 1) fail(ErrorKind::model, {.what = "num_heads is not positive"});
    auto q = inputs[0], k = q, v = q;
    const bool has_bias = is_given(inputs, 3);
    Vector<AnyTensor> bias;
    if (has_bias) bias = bias_parts(inputs);
    if (!is_given(inputs, 1)) {
      const auto packed = unpacked(inputs[0], 3);
      q = packed[0];
      k = packed[1];
      v = packed[2];
      if (has_bias) {
        q = add(q, per_head(bias[0]));
        k = add(k, per_head(bias[1]));
        v = add(v, per_head(bias[2]));
      }
    } else {
      q = split_heads(has_bias ? AnyTensor(add(q, bias[0])) : q, num_heads);
      const std::size_t rank = known_rank(inputs[1]);
      if (rank == 5) {
        const auto packed = unpacked(inputs[1], 2);
        k = packed[0];
        v = packed[1];
      } else if (!is_given(inputs, 2)) {
        fail(ErrorKind::model, {.what = "the values of an attention are missing"});
      } else if (rank == 4) {
        k = inputs[1];
        v = inputs[2];
      } else {
        k = split_heads(has_bias ? AnyTensor(add(inputs[1], bias[1])) : inputs[1], num_heads);
        v = split_heads(has_bias ? AnyTensor(add(inputs[2], bias[2])) : inputs[2], num_heads);
      }
    }
    if (is_given(inputs, 6) && is_given(inputs, 7)) {
      k = concat(Vector<AnyTensor>{inputs[6], k}, {.axis = 2});
      v = concat(Vector<AnyTensor>{inputs[7], v}, {.axis = 2});
    }
    const ElementType type = q.info().type;
    AnyTensor added{&graph, no_tensor};
    if (is_given(inputs, 4)) {
      accumulate(added, key_mask(AnyTensor(inputs[4]), k, double(mask_filter_value), type));
    }
    if (is_given(inputs, 5)) accumulate(added, AnyTensor(inputs[5]));
    if (unidirectional != 0) accumulate(added, causal_mask(q, k, type));
    Vector<AnyTensor> all{join_heads(attended(q, k, v, scale, added)), k, v};
    if (outputs < all.size()) all.resize(outputs);
    return all;
  }

 private:
  /// The parts of the bias for queries, keys and values.
  constexpr Vector<AnyTensor> bias_parts(const auto& inputs) const {
    using namespace halftone::detail;
    const TensorInfo info = inputs[3].info();
    const std::int64_t total = info.rank() == 1 ? info.shape[0] : dynamic;
    std::int64_t width = total == dynamic ? dynamic : total / 3;
    if (is_given(inputs, 1) && last_extent(inputs[0]) != dynamic) width = last_extent(inputs[0]);
    if (total == dynamic || width == dynamic || 2 * width > total) {
      refuse_attention("the shape of an attention's bias is not known");
    }
    Vector<AnyTensor> parts;
    for (const auto& part : parts_of(inputs[3], {width, width, total - 2 * width})) {
      parts.push_back(part);
    }
    return parts;
  }
  /// [heads * size] as [heads, 1, size].
  constexpr AnyTensor per_head(const auto& bias) const {
    return op::reshape(bias, constant(*bias.graph, Dims{num_heads, 1, -1}));
  }
  /// The parts [batch, heads, length, size] of [batch, length, heads, parts, size].
  static constexpr Vector<AnyTensor> unpacked(const auto& x, std::int64_t count) {
    if (halftone::detail::known_rank(x) != 5) {
      halftone::detail::refuse_attention("packed keys and values have five dimensions");
    }
    Vector<AnyTensor> parts;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = constant(*x.graph, std::span<const std::int64_t>(&i, 1), {});
      parts.push_back(op::transpose(op::gather(x, at, {.axis = 3}), {.perm = {0, 2, 1, 3}}));
    }
    return parts;
  }
};

/// Rotary position embedding: pairs of numbers are turned by angles that grow with the position.
///
/// x, y             [batch, length, heads * size], or [batch, heads, length, size]
/// position_ids     [batch, length]; or [1]: the position of the first element
/// cos, sin         [positions, turned / 2]
/// interleaved      1: pairs are neighbours; 0: the first half with the second one
/// num_heads        of x with three dimensions; 0: a head has `turned` numbers
/// rotary_embedding_dim  how many numbers of a head are turned; 0: all. It is what the tables say
/// scale            1; is_packed_batching 0
/// source           com.microsoft RotaryEmbedding-1; Su et al. 2021, arXiv:2104.09864
struct MicrosoftRotaryEmbedding {
  std::int64_t interleaved = 0, num_heads = 0, rotary_embedding_dim = 0, is_packed_batching = 0;
  float scale = 1;

  static constexpr OpId id{"com.microsoft", "RotaryEmbedding", 1};
  static constexpr Signature signature = "x position_ids:M cos sin -> y";

  constexpr void attributes(auto&& visit) {
    visit("interleaved", interleaved);
    visit("num_heads", num_heads);
    visit("rotary_embedding_dim", rotary_embedding_dim);
    visit("is_packed_batching", is_packed_batching);
    visit("scale", scale);
  }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto positions,
                             tensor_handle auto cos_cache, tensor_handle auto sin_cache) const {
    using namespace halftone::detail;
    if (is_packed_batching != 0 || scale != 1) {
      refuse_attention("RotaryEmbedding with is_packed_batching or a scale is not offered");
    }
    auto& graph = *x.graph;
    const std::size_t rank = known_rank(x);
    if (rank != 3 && rank != 4) {
      fail(ErrorKind::model, {.what = "RotaryEmbedding: x has not 3 or 4 dimensions"});
    }
    const std::int64_t turned = turned_numbers(cos_cache), width = last_extent(x);
    std::int64_t size = rank == 4 ? width : turned;
    if (rank == 3 && num_heads > 0) size = width == dynamic ? dynamic : width / num_heads;
    if (size == dynamic || size < turned) refuse_attention("the size of a head is not known");
    auto y = x, at = positions;
    y = rank == 4 ? AnyTensor(op::transpose(x, {.perm = {0, 2, 1, 3}}))
                  : AnyTensor(op::reshape(x, constant(graph, Dims{0, 0, -1, size})));
    if (known_rank(positions) < 2) {
      at = with_axes(add(indices_along(y, 1), positions), {0});
    }
    const auto angles = [&](const auto& table) {
      return with_axes(AnyTensor(op::gather(table, at)), {2});
    };
    y = rotated(y, angles(cos_cache), angles(sin_cache), size, turned, interleaved != 0);
    return rank == 4 ? AnyTensor(op::transpose(y, {.perm = {0, 2, 1, 3}}))
                     : AnyTensor(op::reshape(y, constant(graph, Dims{0, 0, -1})));
  }
};

/// Causal attention in which groups of heads share keys and values, with a cache of them.
///
/// query                  [batch, length, heads * size]; without key and value with theirs behind it
/// key, value             [batch, length, kv heads * size]
/// past_key, past_value   [batch, kv heads, capacity, size]; absent: nothing
/// seqlens_k              [batch] int32: keys of each sequence with the new ones, less 1
/// total_sequence_length  one int32: the most keys that a sequence has; where it is the length,
///                        nothing of the past is used
/// cos_cache, sin_cache   [positions, size / 2], with do_rotary: queries and keys are turned
/// position_ids           [batch, length]; absent: they follow the past
/// attention_bias         broadcasts to [batch, heads, length, keys]
/// head_sink              [heads]: a score more in the sum of each softmax; with smooth_softmax 0
/// q_norm_weight, k_norm_weight  [size]: heads are divided by their root mean square first
/// y                      [batch, length, heads * size]
/// present_key, present_value  [batch, kv heads, max(capacity, total_sequence_length), size]
/// local_window_size      a query sees so many keys at most; -1: all
/// softcap                scores become softcap * tanh(scores / softcap) where it is not 0
/// limits                 quantised caches, ring buffers, packed batches and output_qk are refused
/// source                 com.microsoft GroupQueryAttention-1; Ainslie et al. 2023, arXiv:2305.13245
struct GroupQueryAttention {
  std::int64_t num_heads = required, kv_num_heads = required;
  std::int64_t do_rotary = 0, rotary_interleaved = 0, local_window_size = -1, smooth_softmax = -1;
  std::int64_t causal = 1, qk_output = 0, kv_cache_bit_width = 0, sliding_window_cache = 0;
  float scale = 0, softcap = 0, qk_norm_epsilon = 1e-6f;
  Optional<float> q_norm_epsilon{}, k_norm_epsilon{};
  Text k_quant_type{"NONE"}, v_quant_type{"NONE"};

  static constexpr OpId id{"com.microsoft", "GroupQueryAttention", 1};
  static constexpr Signature signature =
      "query key? value? past_key? past_value? seqlens_k:M total_sequence_length:M cos_cache? "
      "sin_cache? position_ids:P? attention_bias? head_sink? k_scale:S? v_scale:S? q_norm_weight? "
      "k_norm_weight? query_seqlens:M? -> y present_key? present_value? output_qk?";

  constexpr void attributes(auto&& visit) {
    visit("num_heads", num_heads);
    visit("kv_num_heads", kv_num_heads);
    visit("do_rotary", do_rotary);
    visit("rotary_interleaved", rotary_interleaved);
    visit("local_window_size", local_window_size);
    visit("smooth_softmax", smooth_softmax);
    visit("causal", causal);
    visit("qk_output", qk_output);
    visit("kv_cache_bit_width", kv_cache_bit_width);
    visit("sliding_window_cache", sliding_window_cache);
    visit("scale", scale);
    visit("softcap", softcap);
    visit("qk_norm_epsilon", qk_norm_epsilon);
    visit("q_norm_epsilon", q_norm_epsilon);
    visit("k_norm_epsilon", k_norm_epsilon);
    visit("k_quant_type", k_quant_type);
    visit("v_quant_type", v_quant_type);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    using namespace halftone::detail;
    check(inputs, outputs);
    const auto optional = [&](std::size_t i) { return input_or_none(graph, inputs, i); };
    // Heads apart, in the order [batch, length, heads, size].
    auto q = inputs[0], k = q, v = q;
    if (!is_given(inputs, 1)) {
      const std::int64_t width = last_extent(q);
      if (width == dynamic) refuse_attention("the size of a head is not known");
      const std::int64_t size = width / (num_heads + 2 * kv_num_heads);
      const auto parts = parts_of(q, {num_heads * size, kv_num_heads * size, kv_num_heads * size});
      q = parts[0];
      k = parts[1];
      v = parts[2];
    } else {
      k = inputs[1];
      v = inputs[2];
    }
    const auto apart = [&](const auto& x, std::int64_t heads) {
      return AnyTensor(reshape(x, constant(graph, Dims{0, 0, heads, -1})));
    };
    q = apart(q, num_heads);
    k = apart(k, kv_num_heads);
    v = apart(v, kv_num_heads);
    if (is_given(inputs, 14)) {
      q = rms_normalization(q, inputs[14], {.epsilon = q_norm_epsilon.value_or(qk_norm_epsilon)});
    }
    if (is_given(inputs, 15)) {
      k = rms_normalization(k, inputs[15], {.epsilon = k_norm_epsilon.value_or(qk_norm_epsilon)});
    }
    // The number of keys of the past, [batch, 1], and the positions of the queries, [batch, length].
    const auto length = extent_at(inputs[0], 1);
    const auto total = reshape(as_type(inputs[6], ElementType::int64), constant(graph, Dims{1}));
    auto before = q, places = q;
    before = add(sub(as_type(inputs[5], ElementType::int64), length), 1);
    before = where(equal(length, total), 0, before);
    before = reshape(before, constant(graph, Dims{-1, 1}));
    places = add(before, indices_along(inputs[0], 1));
    if (do_rotary != 0) {
      const std::int64_t size = last_extent(q);
      if (size == dynamic) refuse_attention("the size of a head is not known");
      const auto at = is_given(inputs, 9) ? inputs[9] : places;
      const auto angles = [&](std::size_t i) {
        // A padded sequence has positions before 0, whose values nobody reads.
        return with_axes(AnyTensor(op::gather(inputs[i], maximum(at, 0))), {2});
      };
      const std::int64_t turned = turned_numbers(inputs[7]);
      const auto real = angles(7), imaginary = angles(8);
      q = rotated(q, real, imaginary, size, turned, rotary_interleaved != 0);
      k = rotated(k, real, imaginary, size, turned, rotary_interleaved != 0);
    }
    const auto in_front = [](const auto& x) {
      return AnyTensor(op::transpose(x, {.perm = {0, 2, 1, 3}}));
    };
    q = in_front(q);
    k = in_front(k);
    v = in_front(v);
    if (is_given(inputs, 3)) {
      const auto capacity = extent_at(inputs[3], 2);
      const auto slots = indices_below(maximum(capacity, total));
      // Row of [past, new]: of the past as far as it goes, then of what is new.
      auto row = before;
      row = where(less(slots, before), slots, add(sub(slots, before), capacity));
      row = minimum(row, sub(add(capacity, length), 1));
      k = cached(inputs[3], k, row);
      v = cached(inputs[4], v, row);
    }
    const ElementType type = q.info().type;
    AnyTensor bias{&graph, no_tensor};
    if (causal != 0) {
      const auto keys = indices_along(k, 2);
      const auto queries = with_axes(AnyTensor(places), {2});
      auto seen = q;
      seen = less_or_equal(keys, queries);
      if (local_window_size > 0) {
        seen = logical_and(seen, greater(keys, sub(queries, local_window_size)));
      }
      bias = zero_where(with_axes(seen, {1}), lowest_of(type), type);
    }
    if (is_given(inputs, 10)) accumulate(bias, AnyTensor(inputs[10]));
    Vector<AnyTensor> all{join_heads(grouped(q, k, v, bias, optional(11))), k, v};
    if (outputs < all.size()) all.resize(outputs);
    return all;
  }

 private:
  constexpr void check(const auto& inputs, std::size_t outputs) const {
    using namespace halftone::detail;
    if (num_heads < 1 || kv_num_heads < 1 || num_heads % kv_num_heads != 0) {
      fail(ErrorKind::model, {.what = "GroupQueryAttention: num_heads is no multiple of "
                                      "kv_num_heads"});
    }
    if (k_quant_type.view() != "NONE" || v_quant_type.view() != "NONE" || kv_cache_bit_width != 0 ||
        is_given(inputs, 12) || is_given(inputs, 13)) {
      refuse_attention("GroupQueryAttention: quantised caches are not offered");
    }
    if (qk_output != 0 || outputs > 3) {
      refuse_attention("GroupQueryAttention: output_qk is not offered");
    }
    if (sliding_window_cache != 0 || is_given(inputs, 16)) {
      refuse_attention("GroupQueryAttention: ring buffers and packed batches are not offered");
    }
    if (causal == 0 && local_window_size > 0) {
      refuse_attention("GroupQueryAttention: a window needs causal attention");
    }
    if (is_given(inputs, 1) != is_given(inputs, 2) || is_given(inputs, 3) != is_given(inputs, 4)) {
      fail(ErrorKind::model, {.what = "GroupQueryAttention: keys come without values"});
    }
    if (do_rotary != 0 && !(is_given(inputs, 7) && is_given(inputs, 8))) {
      fail(ErrorKind::model, {.what = "GroupQueryAttention: the tables of do_rotary are missing"});
    }
  }
  /// Rows `row` [batch, keys] of past and now, [batch, kv heads, length, size], behind each other.
  constexpr auto cached(const auto& past, const auto& now, const auto& row) const {
    using namespace halftone::detail;
    auto& graph = *now.graph;
    const auto all = concat(std::vector{past, now}, {.axis = 2});
    const auto flat = reshape(flatten(all, {.axis = 3}), constant(graph, Dims{0, -1}));
    const auto matrices = mul(extent_at(all, 0), extent_at(all, 1));
    const auto first = mul(indices_below(matrices), extent_at(all, 2));
    const auto base = reshape(first, constant(graph, Dims{-1, kv_num_heads, 1}));
    return op::gather(flat, add(base, with_axes(row, {1})));
  }
  /// attended(), where each head of k and v serves several of q.
  constexpr AnyTensor grouped(const std::same_as<AnyTensor> auto& q, const AnyTensor& k,
                              const AnyTensor& v, const AnyTensor& bias,
                              const AnyTensor& sink) const {
    using namespace halftone::detail;
    Graph& graph = *q.graph;
    const auto regroup = [&](const AnyTensor& x, std::int64_t count) {
      if (num_heads == kv_num_heads) return x;
      return AnyTensor(reshape(x, constant(graph, Dims{0, count, -1, 0})));
    };
    AnyTensor scores = matmul(regroup(q, kv_num_heads), op::transpose(k, {.perm = {0, 1, 3, 2}}));
    scores = scaled_scores(regroup(scores, num_heads), q, scale);
    if (softcap > 0) scores = mul(tanh(div(scores, softcap)), softcap);
    if (!bias.is_absent()) scores = add(scores, bias);
    AnyTensor weights = scores;
    if (!sink.is_absent() || smooth_softmax > 0) {
      // One score more, whose weight is dropped.
      AnyTensor extra = mul(max(scores, constant(graph, Dims{-1})), 0.f);
      if (!sink.is_absent()) extra = add(extra, reshape(sink, constant(graph, Dims{1, -1, 1, 1})));
      const AnyTensor longer = concat(Vector<AnyTensor>{scores, extra}, {.axis = -1});
      weights = slice(softmax(longer, {.axis = -1}), constant(graph, Dims{0}),
                      constant(graph, Dims{-1}), constant(graph, Dims{-1}));
    } else {
      weights = softmax(scores, {.axis = -1});
    }
    return regroup(AnyTensor(matmul(regroup(weights, kv_num_heads), v)), num_heads);
  }
};

/// The bias of scores that a table gives for distances between query and key.
///
/// bias_table                 [buckets, heads]
/// query_length, key_length   one int64
/// y                          [1, heads, query_length, key_length]
/// max_distance               distances of half the buckets up to it are counted in logarithms
/// is_bidirectional           1: half of the buckets are for keys behind the query
/// source                     com.microsoft RelativePositionBias-1; Raffel et al. 2019,
///                            arXiv:1910.10683
struct RelativePositionBias {
  std::int64_t max_distance = required, is_bidirectional = 0;

  static constexpr OpId id{"com.microsoft", "RelativePositionBias", 1};
  static constexpr Signature signature = "bias_table query_length:U key_length:U -> y";

  constexpr void attributes(auto&& visit) {
    visit("max_distance", max_distance);
    visit("is_bidirectional", is_bidirectional);
  }
  constexpr AnyTensor expand(tensor_handle auto table, tensor_handle auto query_length,
                             tensor_handle auto key_length) const {
    using namespace halftone::detail;
    auto& graph = *table.graph;
    const TensorInfo info = table.info();
    if (!info.is_known() || info.rank() != 2 || info.shape[0] == dynamic) {
      refuse_attention("RelativePositionBias: the number of buckets is not known");
    }
    const std::int64_t buckets = is_bidirectional != 0 ? info.shape[0] / 2 : info.shape[0];
    const std::int64_t exact = buckets / 2;
    if (exact < 1 || max_distance <= exact) {
      fail(ErrorKind::model, {.what = "RelativePositionBias: max_distance is too small"});
    }
    const auto positions = [&](const auto& length) {
      return indices_below(reshape(as_type(length, ElementType::int64), constant(graph, Dims{1})));
    };
    const auto queries = with_axes(positions(query_length), {1});
    const auto ahead = sub(positions(key_length), queries);
    auto first = mul(ahead, 0), distance = maximum(neg(ahead), 0);
    if (is_bidirectional != 0) {
      first = mul(op::cast(greater(ahead, 0), {.to = ElementType::int64}), buckets);
      distance = abs(ahead);
    }
    const double base = __builtin_log(double(max_distance) / double(exact));
    const auto ratio =
        div(maximum(op::cast(distance, {.to = ElementType::float32}), 1.f), double(exact));
    const auto steps = mul(log(ratio), double(buckets - exact) / base);
    auto far = add(op::cast(steps, {.to = ElementType::int64}), exact);
    far = minimum(far, buckets - 1);
    const auto bucket = add(first, where(less(distance, exact), distance, far));
    const auto bias = op::gather(table, bucket);
    return with_axes(op::transpose(bias, {.perm = {2, 0, 1}}), {0});
  }
};

}  // namespace halftone::op

#endif
