#include "gradient_check.hpp"

using namespace gradient_test;

namespace {

/// Records an operator that is expanded: record(graph, inputs) for check_gradients.
template <class Op>
auto expanded(Op op, std::size_t outputs = 1) {
  return [=](Graph& graph, auto& in) {
    std::vector<TensorId> ids;
    for (const AnyTensor& t : in) ids.push_back(t.id);
    std::vector<AnyTensor> y;
    for (const TensorId id : detail::expand_thunk<Op>(graph, pack(op), ids, outputs)) {
      y.push_back({&graph, id});
    }
    return y;
  };
}

}  // namespace

TEST_CASE("gradients of com.microsoft's operators") {
  check_gradients({scattered({2, 3, 3})},
                  [](Graph&, auto& in) { return op::matrix_inverse(in[0]); });
  check_gradients({scattered({3, 4}), scattered({5, 4}, -1, 1, 2)},
                  expanded(op::CDist{.metric = Distance::euclidean}));
  check_gradients({scattered({2, 3, 4}), scattered({3, 4}, -1, 1, 2), scattered({4}, 1, 2, 3)},
                  expanded(op::SkipSimplifiedLayerNormalization{.epsilon = 1e-2f}));
  check_gradients({scattered({2, 4}), scattered({4}, -1, 1, 2)}, expanded(op::BiasSplitGelu{}));
  check_gradients({scattered({3, 2, 4}), scattered({3, 2, 5}, -1, 1, 2)},
                  expanded(op::FusedMatMul{{.alpha = 0.5f, .trans_a = true}}));
  check_gradients(
      {scattered({1, 3, 4}), scattered({1, 3, 4}, -1, 1, 2), scattered({1, 3, 4}, -1, 1, 3)},
      expanded(op::MultiHeadAttention{.num_heads = 2, .unidirectional = 1}));
  Array<std::int64_t> positions({1, 2});
  positions[1] = 3;
  check_gradients({scattered({1, 2, 4}), AnyArray(positions), scattered({4, 2}, -1, 1, 2),
                   scattered({4, 2}, -1, 1, 3)},
                  expanded(op::MicrosoftRotaryEmbedding{.interleaved = 1}));
}
