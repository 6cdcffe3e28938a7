#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_LSTM_HPP
#define HALFTONE_OP_GRAPHCORE_LSTM_HPP

#include <halftone/op/recurrent.hpp>

namespace halftone::op {

/// Long short-term memory with one weight for inputs and states.
///
/// x        [steps, batch, inputs]
/// w        [4, inputs + hidden, hidden], gates forget, input, cell, output; rows of inputs first
/// b        [4, hidden], may be absent
/// initial  [2, batch, hidden]: state and cell; absent: 0
/// lengths  [batch] int32, steps of each sequence; absent: all
/// y        [steps, batch, hidden]; with output_full_sequence 0 the last one, [batch, hidden]
/// cell     [batch, hidden] after the last step
/// limits   w's extents must be known when the model is read; the last state and cell of a sequence
///          that ends early are those at its end, where PopART gives 0
/// source   ai.graphcore LSTM-1
struct GraphcoreLSTM {
  std::int64_t output_full_sequence = 1;

  static constexpr OpId id{"ai.graphcore", "LSTM", 1};
  static constexpr Signature signature = "x w b? initial? lengths:I? -> y cell?";

  constexpr void attributes(auto&& visit) { visit("output_full_sequence", output_full_sequence); }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    const auto given = [&](std::size_t i) { return i < inputs.size() && !inputs[i].is_absent(); };
    const auto list = [&](std::initializer_list<std::int64_t> values) {
      return constant(graph, Dims(values));
    };
    const auto x = inputs[0], w = inputs[1];
    const TensorInfo weights = w.info();
    if (!weights.is_static()) {
      fail(ErrorKind::unsupported, {.what = "the shape of the weights is not known"});
    }
    if (weights.rank() != 3 || weights.shape[0] != 4 || weights.shape[1] < weights.shape[2]) {
      fail(ErrorKind::model, {.what = "the weights are not [4, inputs + hidden, hidden]"});
    }
    const std::int64_t hidden = weights.shape[2], features = weights.shape[1] - hidden;
    // Columns of outputs, as ONNX has them, its gates being input, output, forget, cell.
    const auto order = list({1, 3, 0, 2});
    const auto turned = transpose(gather(w, order), {.perm = {0, 2, 1}});
    const auto columns = [&](std::int64_t first, std::int64_t end) {
      return reshape(slice(turned, list({first}), list({end}), list({2})),
                     list({1, 4 * hidden, end - first}));
    };
    Vector<TensorId> ids{x.id, columns(0, features).id, columns(features, features + hidden).id};
    ids.resize(7, no_tensor);
    if (given(2)) {
      const auto flat = reshape(gather(inputs[2], order), list({1, 4 * hidden}));
      ids[3] = pad(flat, list({0, 0, 0, 4 * hidden})).id;
    }
    if (given(4)) ids[4] = inputs[4].id;
    for (std::int64_t i = 0; i < 2 && given(3); ++i) {
      ids[static_cast<std::size_t>(5 + i)] = slice(inputs[3], list({i}), list({i + 1})).id;
    }
    while (ids.back() == no_tensor) ids.pop_back();
    const Vector<TensorId> made = halftone::detail::record(graph, LSTM{}, ids, 3);
    auto y = x, state = x, cell = x;
    y.id = made[0];
    state.id = made[1];
    cell.id = made[2];
    const auto last = squeeze(cell, list({0}));
    if (output_full_sequence == 0) return {squeeze(state, list({0})), last};
    return {squeeze(y, list({1})), last};
  }
};

}  // namespace halftone::op

#endif
