#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_FUSED_ATTENTION_HPP
#define HALFTONE_OP_FUSED_ATTENTION_HPP

#include <utility>

#include <halftone/kernel/fwd.hpp>

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
/// y       [batch, heads, queries, values], transposed by output_perm
/// limits  queries whose scores are all -infinity give NaN, as the softmax does; rounding differs
///         from the single operators' in that powers are of the largest score so far
/// source  none; Dao et al. 2022, arXiv:2205.14135
struct FusedAttention {
  Dims query_perm{}, key_perm{}, value_perm{}, output_perm{};
  float scale = 1, fill = 0;
  bool fills_chosen = false, bias_first = false;

  static constexpr OpId id{"halftone", "Attention", 1};
  static constexpr Signature signature = "query key value chosen:B? bias? -> y";
  using types = TypeList<TypeList<float>, TypeList<bool>>;

  constexpr void attributes(auto&& visit) {
    visit("query_perm", query_perm);
    visit("key_perm", key_perm);
    visit("value_perm", value_perm);
    visit("output_perm", output_perm);
    visit("scale", scale);
    visit("fill", fill);
    visit("fills_chosen", fills_chosen);
    visit("bias_first", bias_first);
  }

  constexpr Inferred infer(TensorInfo query, TensorInfo key, TensorInfo value, TensorInfo,
                           TensorInfo) const {
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
  /// Both products have a term for each key.
  constexpr std::int64_t flops(auto in, auto out) const {
    const auto keys = static_cast<std::size_t>(key_perm[key_perm.size() - 2]);
    return 2 * in[1].shape[keys] * (in[0].elements() + out[0].elements());
  }

  template <class T, class B>
  void kernel(const KernelCall& call, View<const T> query, View<const T> key, View<const T> value,
              View<const B> chosen, View<const T> bias, View<T> y) const {
    kernel::AttentionTensors<T> all;
    all.query = heads(query, query_perm);
    all.key = heads(key, key_perm);
    all.value = heads(value, value_perm);
    all.chosen = mask(chosen);
    all.bias = mask(bias);
    // Back from the output: its dimension i is the result's dimension output_perm[i].
    Dims inverse = output_perm;
    for (std::size_t i = 0; i < inverse.size(); ++i) {
      inverse[static_cast<std::size_t>(output_perm[i])] = static_cast<std::int64_t>(i);
    }
    all.output = heads(y, inverse);
    const kernel::AttentionShape s = shape(query, key, value);
    if (y.size() == 0) return;
    kernel::attention<T>(call, s, all);
  }
  template <class T, class B>
  constexpr std::size_t workspace(const KernelCall&, View<const T> query, View<const T> key,
                                  View<const T> value, View<const B>, View<const T>,
                                  View<T>) const {
    return kernel::attention_workspace<T>(shape(query, key, value));
  }

 private:
  static constexpr Dims permuted(const Dims& shape, const Dims& perm) {
    Dims result;
    for (const std::int64_t from : perm) {
      result.push_back(shape[static_cast<std::size_t>(from)]);
    }
    return result;
  }
  /// Extent of the dimension `back` from the end after the transposition; 1 where there is none.
  template <class T>
  static constexpr std::int64_t extent(View<T> x, const Dims& perm, std::size_t back) {
    return back > perm.size() ? 1 : x.extent(static_cast<std::size_t>(perm[perm.size() - back]));
  }
  template <class T>
  static constexpr kernel::Heads<T> heads(View<T> x, const Dims& perm) {
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
            .bias_first = bias_first};
  }
};

}  // namespace halftone::op

#endif
