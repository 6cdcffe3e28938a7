#include "gradient_check.hpp"

using namespace gradient_test;

namespace {

struct Given {
  bool bias = true, lengths = false, states = false, peepholes = false;
};

/// All outputs of a layer of 5 steps, by all its inputs.
template <class Op>
void check_layer(const Op& layer, std::int64_t gates, const Given& given = {},
                 std::int64_t hidden = 5, std::int64_t batch = 3) {
  constexpr bool is_lstm = std::is_same_v<Op, op::LSTM>;
  const std::int64_t steps = 5, features = 2;
  const std::int64_t directions = layer.direction == Direction::bidirectional ? 2 : 1;
  const bool turned = layer.layout != 0;
  const Dims state = turned ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  std::vector<AnyArray> inputs;
  inputs.push_back(scattered(turned ? Dims{batch, steps, features} : Dims{steps, batch, features}));
  inputs.push_back(scattered({directions, gates * hidden, features}, -1, 1, 2));
  inputs.push_back(scattered({directions, gates * hidden, hidden}, -1, 1, 3));
  std::vector<int> place{0, 1, 2};
  const auto add = [&](int at, AnyArray value) {
    place.push_back(at);
    inputs.push_back(std::move(value));
  };
  if (given.bias) add(3, scattered({directions, 2 * gates * hidden}, -1, 1, 4));
  if (given.lengths) {
    Array<std::int32_t> lengths({batch});
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i == 1 ? 5 : i == 2 ? 0 : 3;
    add(4, std::move(lengths));
  }
  if (given.states) add(5, scattered(state, -1, 1, 5));
  if (given.states && is_lstm) add(6, scattered(state, -1, 1, 6));
  if (given.peepholes) add(7, scattered({directions, 3 * hidden}, -1, 1, 7));
  check_gradients(inputs, [&](Graph& graph, auto& in) {
    std::vector<TensorId> ids;
    for (std::size_t i = 0; i < in.size(); ++i) {
      ids.resize(static_cast<std::size_t>(place[i]) + 1, no_tensor);
      ids.back() = in[i].id;
    }
    std::vector<AnyTensor> y;
    for (const TensorId id :
         halftone::detail::record(graph, descriptor<Op>, pack(layer), ids, is_lstm ? 3 : 2)) {
      y.push_back({&graph, id});
    }
    return y;
  });
}

constexpr Given all{true, true, true, true};
constexpr Given states{true, true, true, false};

}  // namespace

TEST_CASE("gradient of RNN") {
  check_layer(op::RNN{}, 1);
  check_layer(op::RNN{.direction = Direction::reverse}, 1, states);
  check_layer(op::RNN{.direction = Direction::bidirectional, .layout = 1}, 1, states);
  check_layer(op::RNN{}, 1, {.bias = false}, 3, 11);
  for (int f = 0; f <= static_cast<int>(CellFunction::softplus); ++f) {
    op::RNN layer{.activation_alpha = {0.3f}, .activation_beta = {0.6f}};
    layer.activations.push_back(static_cast<CellFunction>(f));
    check_layer(layer, 1);
  }
}

TEST_CASE("gradient of GRU") {
  for (const std::int64_t linear : {0, 1}) {
    check_layer(op::GRU{.linear_before_reset = linear}, 3);
    check_layer(op::GRU{.linear_before_reset = linear}, 3, {.bias = false, .states = true});
    check_layer(op::GRU{.linear_before_reset = linear}, 3, states, 11);
    check_layer(op::GRU{.clip = 0.6f, .linear_before_reset = linear}, 3);
    check_layer(op::GRU{.direction = Direction::bidirectional, .linear_before_reset = linear}, 3,
                states);
    check_layer(
        op::GRU{.direction = Direction::reverse, .linear_before_reset = linear, .layout = 1}, 3,
        states, 4, 10);
  }
}

TEST_CASE("gradient of LSTM") {
  check_layer(op::LSTM{}, 4);
  check_layer(op::LSTM{}, 4, all);
  check_layer(op::LSTM{.direction = Direction::bidirectional}, 4, all);
  check_layer(op::LSTM{.direction = Direction::reverse, .layout = 1}, 4, all, 4, 9);
  check_layer(op::LSTM{}, 4, all, 11);
  check_layer(op::LSTM{.input_forget = 1}, 4, {.bias = false, .peepholes = true});
  check_layer(op::LSTM{.clip = 0.5f}, 4, all);
  check_layer(op::LSTM{.activations = {CellFunction::hard_sigmoid, CellFunction::softsign,
                                       CellFunction::elu}},
              4, all);
}
