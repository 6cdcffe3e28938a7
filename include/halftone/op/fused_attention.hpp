#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_FUSED_ATTENTION_HPP
#define HALFTONE_OP_FUSED_ATTENTION_HPP

#include <utility>

#include <halftone/kernel/fwd.hpp>

namespace halftone::detail {

/// What FusedAttention and its gradient share: how their operands lie, and the mask.
struct AttentionOperands {
  Dims query_perm{}, key_perm{}, value_perm{}, output_perm{};
  float scale = 1, fill = 0;
  bool fills_chosen = false, bias_first = false;
  float drop_ratio = 0;

  using types = TypeList<TypeList<float>, TypeList<bool>, TypeList<std::uint32_t>>;

  constexpr void attributes(auto&& visit) {
    visit("query_perm", query_perm);
    visit("key_perm", key_perm);
    visit("value_perm", value_perm);
    visit("output_perm", output_perm);
    visit("scale", scale);
    visit("fill", fill);
    visit("fills_chosen", fills_chosen);
    visit("bias_first", bias_first);
    visit("drop_ratio", drop_ratio);
  }

 protected:
  static constexpr Dims permuted(const Dims& shape, const Dims& perm) {
    Dims result;
    for (const std::int64_t from : perm) {
      result.push_back(shape[static_cast<std::size_t>(from)]);
    }
    return result;
  }
  static constexpr Dims inverse(const Dims& perm) {
    Dims result = perm;
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
    }
    return result;
  }
  /// The type and shape of y.
  constexpr Inferred output_info(const TensorInfo& query, const TensorInfo& key,
                                 const TensorInfo& value) const {
    const std::size_t rank = query_perm.size();
    Dims y = permuted(query.shape, query_perm);
    const Dims keys = permuted(key.shape, key_perm), values = permuted(value.shape, value_perm);
    if (contradict(y[rank - 1], keys[rank - 1])) {
      return Inferred::mismatch("query and key differ in size", y[rank - 1], keys[rank - 1]);
    }
    if (contradict(keys[rank - 2], values[rank - 2])) {
      return Inferred::mismatch("there are not as many values as keys", keys[rank - 2],
                                values[rank - 2]);
    }
    y[rank - 1] = values[rank - 1];
    return TensorInfo{query.type, permuted(y, output_perm)};
  }
  /// Extent of the dimension `back` from the end after the transposition; 1 where there is none.
  template <class T>
  static constexpr std::int64_t extent(View<T> x, const Dims& perm, std::size_t back) {
    return back > perm.size() ? 1 : x.extent(static_cast<std::size_t>(perm[perm.size() - back]));
  }
  template <class T>
  static constexpr kernel::Heads<T> heads(View<T> x, const Dims& perm) {
    if (!x) return {};
    const auto stride = [&](std::size_t back) {
      if (back > perm.size()) return std::int64_t{0};
      return x.size(static_cast<std::size_t>(perm[perm.size() - back]) + 1, x.rank);
    };
    // A tensor of rank 3 has its heads in the first dimension.
    return {x.data, stride(4), stride(3), stride(2), stride(1)};
  }
  template <class T>
  static constexpr kernel::Heads<T> mask(View<T> x) {
    const auto stride = [&](std::size_t back) {
      if (back > x.rank || x.extent(x.rank - back) == 1) return std::int64_t{0};
      return x.size(x.rank - back + 1, x.rank);
    };
    return {x.data, stride(4), stride(3), stride(2), stride(1)};
  }
  template <class T>
  constexpr kernel::AttentionShape shape(View<const T> query, View<const T> key,
                                         View<const T> value) const {
    return {.batch = extent(query, query_perm, 4),
            .heads = extent(query, query_perm, 3),
            .key_heads = extent(key, key_perm, 3),
            .queries = extent(query, query_perm, 2),
            .keys = extent(key, key_perm, 2),
            .size = extent(query, query_perm, 1),
            .values = extent(value, value_perm, 1),
            .scale = scale,
            .fill = fill,
            .fills_chosen = fills_chosen,
            .bias_first = bias_first,
            .drop_ratio = drop_ratio};
  }
};

}  // namespace halftone::detail

namespace halftone::op {

/// y = softmax(scale q k' + mask) v for each head, without a tensor of scores. Made by the pass
/// `fuse_attention`, which takes in the transposes around it.
///
/// query   [batch, heads, queries, size] (or without heads) after a transposition by query_perm
/// key     [batch, key heads, keys, size] by key_perm; key heads divide heads, neighbours share one
/// value   [batch, key heads, keys, values] by value_perm
/// chosen  bool, broadcasts to the scores: those that are not chosen become `fill`, or with
///         fills_chosen those that are
/// bias    broadcasts to the scores, added behind the choice, or with bias_first in front of it
/// words   of the seed of a Dropout between the softmax and the values, whose ratio is drop_ratio;
///         the same weights are dropped. Absent: there is none
/// y       [batch, heads, queries, values], transposed by output_perm
/// limits  queries whose scores are all -infinity give NaN, as the softmax does; rounding differs
///         from the single operators' in that powers are of the largest score so far
/// source  none; Dao et al. 2022, arXiv:2205.14135
struct FusedAttention : halftone::detail::AttentionOperands {
  static constexpr OpId id{"halftone", "Attention", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "query key value chosen:B? bias? words:S? -> y";

  constexpr Inferred infer(const Inputs& in) const { return output_info(in[0], in[1], in[2]); }
  /// Both products have a term for each key.
  constexpr std::int64_t flops(auto in, auto out) const {
    const auto keys = static_cast<std::size_t>(key_perm[key_perm.size() - 2]);
    return 2 * in[1].shape[keys] * (in[0].elements() + out[0].elements());
  }

  template <class T, class B, class S>
  void kernel(const KernelCall& call, View<const T> query, View<const T> key, View<const T> value,
              View<const B> chosen, View<const T> bias, View<const S> words, View<T> y) const {
    if (y.size() == 0) return;
    kernel::attention<T>(call, shape(query, key, value),
                         {.query = heads(query, query_perm),
                          .key = heads(key, key_perm),
                          .value = heads(value, value_perm),
                          .bias = mask(bias),
                          .chosen = mask(chosen),
                          .output = heads(y, inverse(output_perm)),
                          .seed = words.data});
  }
  template <class T, class B, class S>
  constexpr std::size_t workspace(const KernelCall&, View<const T> query, View<const T> key,
                                  View<const T> value, View<const B>, View<const T>, View<const S>,
                                  View<T>) const {
    return kernel::attention_workspace<T>(shape(query, key, value));
  }
};

/// The gradients of FusedAttention, which computes its scores again. Made by the pass
/// `fuse_attention`.
///
/// query, key, value, chosen, bias, words  as for FusedAttention
/// dy      as its y
/// dquery, dkey, dvalue  as the operands; any may be missing
/// limits  operands are not empty; nothing reaches the masks
/// source  none; Dao et al. 2022, arXiv:2205.14135
struct FusedAttentionGradient : halftone::detail::AttentionOperands {
  static constexpr OpId id{"halftone", "AttentionGradient", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature =
      "query key value dy chosen:B? bias? words:S? -> dquery? dkey? dvalue?";

  constexpr Inferred infer(const Inputs& in) const {
    const Inferred y = output_info(in[0], in[1], in[2]);
    if (!y.ok()) return y;
    return Inferred(Vector<TensorInfo>{in[0], in[1], in[2]});
  }
  /// Of five products three are as wide as keys, two as values.
  constexpr std::int64_t flops(auto in, auto) const {
    const auto keys = static_cast<std::size_t>(key_perm[key_perm.size() - 2]);
    return 2 * in[1].shape[keys] * (3 * in[0].elements() + 2 * in[3].elements());
  }

  template <class T, class B, class S>
  void kernel(const KernelCall& call, View<const T> query, View<const T> key, View<const T> value,
              View<const T> dy, View<const B> chosen, View<const T> bias, View<const S> words,
              View<T> dquery, View<T> dkey, View<T> dvalue) const {
    kernel::attention_gradient<T>(call, shape(query, key, value),
                                  {.query = heads(query, query_perm),
                                   .key = heads(key, key_perm),
                                   .value = heads(value, value_perm),
                                   .bias = mask(bias),
                                   .chosen = mask(chosen),
                                   .output = heads(dy, inverse(output_perm)),
                                   .query_gradient = heads(dquery, query_perm),
                                   .key_gradient = heads(dkey, key_perm),
                                   .value_gradient = heads(dvalue, value_perm),
                                   .seed = words.data});
  }
  template <class T, class B, class S>
  constexpr std::size_t workspace(const KernelCall&, View<const T> query, View<const T> key,
                                  View<const T> value, View<const T>, View<const B>, View<const T>,
                                  View<const S>, View<T>, View<T>, View<T>) const {
    return kernel::attention_gradient_workspace<T>(shape(query, key, value));
  }
};

}  // namespace halftone::op

#endif
