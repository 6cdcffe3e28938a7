#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ATTENTION_HPP
#define HALFTONE_OP_ATTENTION_HPP

#include <limits>

#include <halftone/op/cast.hpp>
#include <halftone/op/compare.hpp>
#include <halftone/op/concat.hpp>
#include <halftone/op/matmul.hpp>
#include <halftone/op/pad.hpp>
#include <halftone/op/range.hpp>
#include <halftone/op/reduce.hpp>
#include <halftone/op/reshape.hpp>
#include <halftone/op/shape.hpp>
#include <halftone/op/softmax.hpp>
#include <halftone/op/transpose.hpp>

namespace halftone {

namespace op {
/// Which scores Attention's last output has.
enum class AttentionScores : std::uint8_t { products, capped, masked, probabilities };
}  // namespace op

namespace detail {

inline constexpr float no_attention = -std::numeric_limits<float>::infinity();

/// The extent of one dimension as an int64 vector of one element, known or found by the run.
constexpr auto extent_of(auto t, std::size_t dimension) {
  const TensorInfo info = t.info();
  const auto at = static_cast<std::int64_t>(dimension);
  auto extent = t;
  extent = info.shape[dimension] != dynamic ? constant(*t.graph, {info.shape[dimension]})
                                            : op::shape_of(t, {.start = at, .end = at + 1});
  return extent;
}

[[noreturn]] inline void wrong_attention(std::string_view what) {
  fail(ErrorKind::model, {.what = what});
}

/// The query heads that share a key's head follow each other: for the products, they are more
/// queries of one head.
///
/// queries    [batch, heads, queries, size]
/// turned     keys, [batch, key heads, size, keys]
template <class Tensor>
class HeadGroups {
 public:
  constexpr HeadGroups(Tensor queries, Tensor turned)
      : queries_(queries),
        turned_(turned),
        heads_(queries.info().shape[1]),
        key_heads_(turned.info().shape[1]),
        steps_(queries.info().shape[2]) {
    if (is_known() && (heads_ < 1 || key_heads_ < 1 || heads_ % key_heads_ != 0)) {
      throw_extent("Attention: the heads of k do not divide those of q", {}, -1, key_heads_,
                   heads_);
    }
  }
  /// [batch, key heads, ..., n] from [batch, heads, queries, n].
  constexpr Tensor together(Tensor t) const {
    return regrouped(t, turned_, is_known() ? ratio() : 0);
  }
  /// The way back.
  constexpr Tensor apart(Tensor t) const { return regrouped(t, queries_, 1); }

 private:
  constexpr bool is_known() const { return heads_ != dynamic && key_heads_ != dynamic; }
  constexpr std::int64_t ratio() const { return heads_ / key_heads_; }
  constexpr Tensor regrouped(Tensor t, Tensor as, std::int64_t rows_for_each_step) const {
    auto& graph = *t.graph;
    if (!is_known()) {
      const Tensor first = constant(graph, {0}), last = constant(graph, {-1, 0});
      return op::reshape(
          t, op::concat(std::vector<Tensor>{first, extent_of(as, 1), last}, {.axis = 0}));
    }
    if (heads_ == key_heads_) return t;
    const bool is_open = steps_ == dynamic || steps_ > INT64_MAX / heads_;
    const std::int64_t rows = is_open ? -1 : rows_for_each_step * steps_;
    return op::reshape(t, constant(graph, {0, as.info().shape[1], rows, 0}));
  }

  Tensor queries_, turned_;
  std::int64_t heads_, key_heads_, steps_;
};

/// q times scale, or over the root of its last extent; that of one head if `heads` are in it.
template <class Tensor>
constexpr Tensor scaled_queries(Tensor q, const Optional<float>& scale, std::int64_t heads) {
  if (scale) return *scale == 1 ? q : Tensor(op::mul(q, *scale));
  const TensorInfo info = q.info();
  const std::int64_t last = info.shape.back();
  if (last != dynamic) {
    return op::mul(q, 1 / math::sqrt(static_cast<double>(last / heads)));
  }
  const Tensor all = op::cast(extent_of(q, info.rank() - 1), {.to = info.type});
  return op::div(q, op::sqrt(op::div(all, heads)));
}

/// Which keys the queries of an attention see, and what is added to their scores.
template <class Tensor>
struct AttentionMask {
  Tensor allowed{};       ///< bool, broadcasts to the scores; absent: all
  Tensor bias{};          ///< of the scores' type, broadcasts to them; absent: none
  bool may_hide = false;  ///< whether a query may see no key at all

  constexpr void allow(Tensor more) {
    allowed = allowed.is_absent() ? more : Tensor(op::logical_and(allowed, more));
  }
  /// Scores with the bias, and -infinity where nothing is seen.
  constexpr Tensor over(Tensor scores) const {
    if (!bias.is_absent()) scores = op::add(scores, bias);
    if (allowed.is_absent()) return scores;
    return op::where(allowed, scores, no_attention);
  }
  /// Queries that see nothing, [..., queries, 1]; absent if there are none. They see everything from
  /// now on, so that the softmax and its gradient are numbers.
  constexpr Tensor uncover() {
    if (!may_hide) return {};
    auto& graph = *(bias.is_absent() ? allowed : bias).graph;
    const auto last = constant(graph, {-1});
    Tensor hidden;
    if (bias.is_absent()) {
      const auto seen = op::max(op::cast(allowed, {.to = ElementType::float32}), last);
      hidden = op::equal(seen, 0);
    } else {
      const auto all = allowed.is_absent() ? bias : Tensor(op::where(allowed, bias, no_attention));
      hidden = op::equal(op::max(all, last), no_attention);
      bias = op::where(hidden, 0, bias);
    }
    if (!allowed.is_absent()) allowed = op::logical_or(allowed, hidden);
    return hidden;
  }
};

}  // namespace detail

namespace op {

/// Scaled dot-product attention: y = softmax(scale * q k' + mask) v for each head; recorded as these
/// operators.
///
/// q              [batch, heads, queries, size], or [batch, queries, heads * size] with q_num_heads
/// k, v           the same with keys for queries and as many heads, or fewer that divide them
///                (kv_num_heads): neighbours among the query heads share one
/// mask           broadcasts to [batch, heads, queries, all keys]: bool, true where a query sees a
///                key, or numbers that are added to the scores. Where its last extent is smaller
///                than the number of keys, the others are not seen
/// past_key, past_value  [batch, heads, past, size], keys and values in front of k and v
/// nonpad_kv_seqlen      [batch]: how many of the keys of each sample count
/// y              as q, with the values' size
/// present_key, present_value  [batch, heads, all keys, size]
/// scores         [batch, heads, queries, all keys], which ones says qk_matmul_output_mode: 0 the
///                products, 1 capped, 2 with the mask, 3 the softmax
/// is_causal      1: query i sees no key behind i + offset, where offset is the length of the past,
///                or nonpad_kv_seqlen - queries
/// left_window_size, right_window_size  how far from i + offset a query sees; -1: without limit
/// scale          1 / sqrt(size) if absent
/// softcap        above 0: scores become softcap * tanh(scores / softcap) before the mask
/// softmax_precision  element type of the softmax; absent: that of q, and halves compute in float
/// limits         queries that see no key give zeros. The mask's last extent is compared with the
///                number of keys when the model is read; where one of them is not known then, the
///                mask has to have all keys, unless nonpad_kv_seqlen is given
/// source         ai.onnx Attention-25; Vaswani et al. 2017, arXiv:1706.03762
struct Attention {
  std::int64_t is_causal = 0, q_num_heads = 0, kv_num_heads = 0;
  std::int64_t left_window_size = -1, right_window_size = -1;
  std::int64_t qk_matmul_output_mode = 0;
  ElementType softmax_precision = ElementType::undefined;
  float softcap = 0;
  Optional<float> scale{};

  static constexpr OpId id{"ai.onnx", "Attention", 23, 24, 25};
  static constexpr Signature signature =
      "q k v:V mask:U? past_key? past_value:V? nonpad_kv_seqlen:I? -> y present_key? "
      "present_value:V? scores?";
  using types = TypeList<FloatTypes, FloatTypes, Joined<NumericTypes, TypeList<bool>>,
                         TypeList<std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("is_causal", is_causal);
    visit("q_num_heads", q_num_heads);
    visit("kv_num_heads", kv_num_heads);
    visit("left_window_size", left_window_size);
    visit("right_window_size", right_window_size);
    visit("qk_matmul_output_mode", qk_matmul_output_mode);
    visit("softmax_precision", softmax_precision);
    visit("softcap", softcap);
    visit("scale", scale);
  }

  template <std::same_as<Graph> G>
  constexpr Vector<AnyTensor> expand(G& graph, const auto& inputs, std::size_t outputs) const {
    using Handle = halftone::detail::HandleIn<G>;
    const auto input = [&](std::size_t i) {
      return i < inputs.size() ? Handle(inputs[i]) : Handle{&graph, no_tensor};
    };
    check(input);
    const auto q = input(0), k = input(1), v = input(2), past_key = input(4), past_value = input(5);
    const bool is_flat = q.info().rank() == 3;
    const ElementType type = q.info().type;

    // [batch, keys, heads, size] of what is flat, before its transpose.
    const auto by_step = [&](Handle t, std::int64_t heads) -> Handle {
      const std::int64_t all = t.info().shape[2];
      return reshape(t, constant(graph, {0, 0, heads, all == dynamic ? -1 : all / heads}));
    };
    const auto by_head = [&](Handle t, std::int64_t heads) -> Handle {
      if (!is_flat) return t;
      return transpose(by_step(t, heads), {.perm = {0, 2, 1, 3}});
    };
    const auto with_past = [&](Handle past, Handle t) -> Handle {
      if (past.is_absent()) return t;
      return concat(std::vector<Handle>{past, t}, {.axis = 2});
    };

    const Handle queries =
        by_head(halftone::detail::scaled_queries(q, scale, is_flat ? q_num_heads : 1), q_num_heads);
    const Handle values = with_past(past_value, by_head(v, kv_num_heads));
    Handle keys, turned;  // [batch, heads, keys, size] and [batch, heads, size, keys]
    if (is_flat && past_key.is_absent()) {
      turned = transpose(by_step(k, kv_num_heads), {.perm = {0, 2, 3, 1}});
      if (outputs > 1) keys = by_head(k, kv_num_heads);
    } else {
      keys = with_past(past_key, by_head(k, kv_num_heads));
      turned = transpose(keys, {.perm = {0, 1, 3, 2}});
    }

    const halftone::detail::HeadGroups<Handle> groups(queries, turned);
    const Handle products = groups.apart(matmul(groups.together(queries), turned));
    Handle capped = products;
    if (softcap > 0) capped = mul(tanh(mul(products, 1 / static_cast<double>(softcap))), softcap);

    auto mask = mask_of(input, products, type);
    const Handle masked = mask.over(capped);
    const Handle hidden = mask.uncover();
    const Handle scores = hidden.is_absent() ? masked : mask.over(capped);
    Handle probabilities;
    const bool is_float_enough = softmax_precision == ElementType::float32 &&
                                 (type == ElementType::float16 || type == ElementType::bfloat16);
    if (softmax_precision == ElementType::undefined || softmax_precision == type ||
        is_float_enough) {
      probabilities = softmax(scores);
    } else {
      probabilities = cast(softmax(cast(scores, {.to = softmax_precision})), {.to = type});
    }
    const bool is_mixed = v.info().type != type;
    Handle y = groups.apart(matmul(groups.together(probabilities),
                                   is_mixed ? Handle(cast(values, {.to = type})) : values));
    if (!hidden.is_absent()) y = where(hidden, 0, y);
    if (is_flat) {
      const std::int64_t size = y.info().shape[3];
      const bool is_open = size == dynamic || size > INT64_MAX / q_num_heads;
      y = reshape(transpose(y, {.perm = {0, 2, 1, 3}}),
                  constant(graph, {0, 0, is_open ? -1 : q_num_heads * size}));
    }

    Vector<AnyTensor> all{y};
    if (outputs > 1) all.push_back(keys);
    if (outputs > 2) all.push_back(values);
    if (outputs > 3) {
      switch (static_cast<AttentionScores>(qk_matmul_output_mode)) {
        case AttentionScores::products:
          all.push_back(products);
          break;
        case AttentionScores::capped:
          all.push_back(capped);
          break;
        case AttentionScores::masked:
          all.push_back(masked);
          break;
        case AttentionScores::probabilities:
          all.push_back(hidden.is_absent() ? probabilities
                                           : Handle(where(hidden, 0, probabilities)));
      }
    }
    return all;
  }

 private:
  [[noreturn]] static void refuse(std::string_view what) {
    halftone::detail::wrong_attention(what);
  }
  [[noreturn]] static void refuse(std::string_view what, std::int64_t expected,
                                  std::int64_t found) {
    throw_extent(what, {}, -1, expected, found);
  }

  /// Throws what is wrong with attributes and ranks; matrix products check the extents.
  constexpr void check(const auto& input) const {
    const TensorInfo q = input(0).info(), k = input(1).info(), v = input(2).info();
    for (std::size_t i = 0; i < 7; ++i) {
      if (input(i).is_absent()) continue;
      if (!input(i).info().is_known()) {
        fail(ErrorKind::unsupported,
             {.what = "Attention: the rank of an input is not known", .tensor = input(i).name()});
      }
    }
    if (q.rank() != 3 && q.rank() != 4) {
      refuse("Attention: q has neither three nor four dimensions");
    }
    if (k.rank() != q.rank() || v.rank() != q.rank()) {
      refuse("Attention: q, k and v have different ranks");
    }
    if (q.type != k.type) refuse("Attention: q and k have different element types");
    if (q.rank() == 3) {
      if (q_num_heads < 1 || kv_num_heads < 1) {
        refuse("Attention: inputs of three dimensions need q_num_heads and kv_num_heads");
      }
      const auto divides = [](std::int64_t heads, const TensorInfo& t) {
        return t.shape[2] == dynamic || t.shape[2] % heads == 0;
      };
      if (!divides(q_num_heads, q) || !divides(kv_num_heads, k) || !divides(kv_num_heads, v)) {
        refuse("Attention: the heads do not divide the last dimension evenly");
      }
    } else {
      const auto differ = [](std::int64_t heads, const TensorInfo& t) {
        return heads != 0 && contradict(t.shape[1], heads);
      };
      if (differ(q_num_heads, q) || differ(kv_num_heads, k)) {
        refuse("Attention: the number of heads is not that of the input");
      }
    }
    if (contradict(k.shape[q.rank() == 3 ? 1 : 2], v.shape[q.rank() == 3 ? 1 : 2])) {
      refuse("Attention: there are not as many values as keys");
    }
    if (input(4).is_absent() != input(5).is_absent()) {
      refuse("Attention: past_key and past_value come together");
    }
    for (const std::size_t past : {std::size_t{4}, std::size_t{5}}) {
      if (!input(past).is_absent() && input(past).info().rank() != 4) {
        refuse("Attention: a past has four dimensions");
      }
    }
    if (!input(4).is_absent() && !input(6).is_absent()) {
      refuse("Attention: nonpad_kv_seqlen and a past exclude each other");
    }
    if (!input(6).is_absent() && input(6).info().rank() != 1) {
      refuse("Attention: nonpad_kv_seqlen is no vector");
    }
    if (left_window_size < -1 || right_window_size < -1) {
      refuse("Attention: a window size is below -1");
    }
    if (qk_matmul_output_mode < 0 || qk_matmul_output_mode > 3) {
      refuse("Attention: qk_matmul_output_mode is out of range");
    }
    if (softmax_precision != ElementType::undefined && !has_type(FloatTypes{}, softmax_precision)) {
      refuse("Attention: softmax_precision is no floating-point type");
    }
    if (!input(3).is_absent() && input(3).info().rank() > 4) {
      refuse("Attention: the mask has more than four dimensions");
    }
  }

  /// What the mask, the lengths, causality and the window say together.
  constexpr auto mask_of(const auto& input, auto scores, ElementType type) const {
    using halftone::detail::extent_of;
    auto& graph = *scores.graph;
    using Handle = decltype(scores);
    halftone::detail::AttentionMask<Handle> mask{.allowed = {&graph, no_tensor},
                                                 .bias = {&graph, no_tensor}};
    const Handle given = input(3), lengths = input(6);
    if (!given.is_absent()) {
      const Handle padded = with_all_keys(given, scores, !lengths.is_absent());
      if (padded.info().type == ElementType::boolean) {
        mask.allow(padded);
      } else {
        mask.bias = padded.info().type == type ? padded : Handle(cast(padded, {.to = type}));
      }
      mask.may_hide = true;
    }
    const bool is_windowed = left_window_size >= 0 || right_window_size >= 0;
    if (lengths.is_absent() && is_causal == 0 && !is_windowed) return mask;

    const auto numbers = [&](std::size_t dimension) -> Handle {
      return range(constant(graph, {0}), extent_of(scores, dimension), constant(graph, {1}));
    };
    const Handle key = numbers(3);
    Handle length;
    if (!lengths.is_absent()) {
      length = reshape(lengths, constant(graph, {-1, 1, 1, 1}));
      mask.allow(less(key, length));
      mask.may_hide = true;
    }
    if (is_causal == 0 && !is_windowed) return mask;
    Handle query = reshape(numbers(2), constant(graph, {-1, 1}));
    if (!input(4).is_absent()) {
      query = add(query, extent_of(input(4), 2));
    } else if (!lengths.is_absent()) {
      query = add(query, sub(length, extent_of(scores, 2)));
    }
    if (is_causal != 0) mask.allow(less_or_equal(key, query));
    if (right_window_size >= 0) mask.allow(less_or_equal(key, add(query, right_window_size)));
    if (left_window_size >= 0) {
      mask.allow(greater_or_equal(key, sub(query, left_window_size)));
      mask.may_hide = true;
    }
    return mask;
  }

  /// The mask, with keys that are not seen behind those it is about.
  constexpr AnyTensor with_all_keys(auto mask, auto scores, bool may_be_short) const {
    auto& graph = *mask.graph;
    const TensorInfo info = mask.info(), all = scores.info();
    if (info.rank() == 0) return mask;
    for (std::size_t i = 1; i < info.rank(); ++i) {
      const std::int64_t have = info.shape[info.rank() - 1 - i], wanted = all.shape[3 - i];
      if (have != 1 && contradict(wanted, have)) {
        refuse("Attention: the mask does not broadcast to the scores", wanted, have);
      }
    }
    const std::int64_t have = info.shape.back(), wanted = all.shape[3];
    const bool is_known = have != dynamic && wanted != dynamic;
    if (is_known ? have == wanted : !may_be_short) return mask;
    if (is_known && have > wanted) {
      refuse("Attention: the mask has more keys than there are", wanted, have);
    }
    const std::size_t last = info.rank() - 1;
    AnyTensor missing;
    if (is_known) {
      missing = constant(graph, {wanted - have});
    } else {
      missing =
          sub(halftone::detail::extent_of(scores, 3), halftone::detail::extent_of(mask, last));
    }
    const auto pads = concat(Vector<AnyTensor>{constant(graph, {0}), missing}, {.axis = 0});
    const auto axes = constant(graph, {static_cast<std::int64_t>(last)});
    if (info.type == ElementType::boolean) return pad(mask, pads, none, axes);
    if (is_integer(info.type)) {
      return pad(AnyTensor(cast(mask, {.to = all.type})), pads, halftone::detail::no_attention,
                 axes);
    }
    return pad(mask, pads, halftone::detail::no_attention, axes);
  }
};

}  // namespace op
}  // namespace halftone

#endif
