#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_FLEX_ATTENTION_HPP
#define HALFTONE_OP_FLEX_ATTENTION_HPP

#include <halftone/op/attention.hpp>
#include <halftone/op/call.hpp>

namespace halftone::op {

/// Attention whose scores and probabilities go through graphs of the model; recorded as products,
/// Softmax and Call.
///
/// q         [batch, heads, queries, size]
/// k, v      [batch, key heads, keys, size]; the key heads divide the heads, neighbours among those
///           share one
/// captured  what the graphs read of the graph around
/// y         [batch, heads, queries, values' size]
/// score_mod, prob_mod  one tensor [batch, heads, queries, keys] to another one, before the softmax
///           and after it; may be absent
/// scale     1 / sqrt(size) if absent
/// softmax_precision  element type of both graphs and the softmax; absent: double for double, else
///           float
/// source    ai.onnx.preview FlexAttention-1; Dong et al. 2024, arXiv:2412.05496
struct FlexAttention {
  Subgraph score_mod = no_subgraph, prob_mod = no_subgraph;
  ElementType softmax_precision = ElementType::undefined;
  Optional<float> scale{};

  static constexpr OpId id{"ai.onnx.preview", "FlexAttention", 1};
  static constexpr Signature signature = "q k v captured:*... -> y";
  using types = TypeList<FloatTypes, AllTypes>;

  constexpr void attributes(auto&& visit) {
    visit("score_mod", score_mod);
    visit("prob_mod", prob_mod);
    visit("softmax_precision", softmax_precision);
    visit("scale", scale);
  }

  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    const auto refuse = [](std::string_view what) { halftone::detail::wrong_attention(what); };
    for (std::size_t i = 0; i < 3; ++i) {
      const TensorInfo info = inputs[i].info();
      if (!info.is_known()) {
        fail(ErrorKind::unsupported, {.what = "FlexAttention: the rank of an input is not known",
                                      .tensor = inputs[i].name()});
      }
      if (info.rank() != 4) refuse("FlexAttention: an input has not four dimensions");
    }
    const auto q = inputs[0], k = inputs[1], v = inputs[2];
    const ElementType type = q.info().type;
    ElementType precision = softmax_precision;
    if (precision == ElementType::undefined) {
      precision = type == ElementType::float64 ? type : ElementType::float32;
    }
    if (!has_type(FloatTypes{}, precision)) {
      refuse("FlexAttention: softmax_precision is no floating-point type");
    }
    const auto as = [](AnyTensor t, ElementType from, ElementType to) -> AnyTensor {
      return from == to ? t : AnyTensor(cast(t, {.to = to}));
    };
    const auto changed = [&](Subgraph by, AnyTensor t) -> AnyTensor {
      if (by == no_subgraph) return t;
      Vector<TensorId> ids{t.id};
      for (std::size_t i = 3; i < inputs.size(); ++i) ids.push_back(inputs[i].id);
      return {&graph, halftone::detail::record(graph, Call{.callee = by}, std::move(ids), 1)[0]};
    };
    const AnyTensor queries = halftone::detail::scaled_queries(q, scale, 1);
    const AnyTensor turned = transpose(k, {.perm = {0, 1, 3, 2}});
    const halftone::detail::HeadGroups<AnyTensor> groups(queries, turned);
    const AnyTensor products = groups.apart(matmul(groups.together(queries), turned));
    const AnyTensor scores = changed(score_mod, as(products, type, precision));
    const AnyTensor probabilities = changed(prob_mod, softmax(scores));
    return {groups.apart(matmul(groups.together(as(probabilities, precision, type)), v))};
  }
};

}  // namespace halftone::op

#endif
