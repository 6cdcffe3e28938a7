#include <halftone/op/recurrent.hpp>

#include <algorithm>

#include <halftone/base/error.hpp>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

using Numbers = std::vector<double>;

double squash(CellFunction f, double alpha, double beta, double x) {
  switch (f) {
    case CellFunction::relu:
      return std::max(x, 0.0);
    case CellFunction::tanh:
      return std::tanh(x);
    case CellFunction::sigmoid:
      return 1 / (1 + std::exp(-x));
    case CellFunction::affine:
      return alpha * x + beta;
    case CellFunction::leaky_relu:
      return x < 0 ? alpha * x : x;
    case CellFunction::thresholded_relu:
      return x >= alpha ? x : 0;
    case CellFunction::scaled_tanh:
      return alpha * std::tanh(beta * x);
    case CellFunction::hard_sigmoid:
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    case CellFunction::elu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case CellFunction::softsign:
      return x / (1 + std::fabs(x));
    case CellFunction::softplus:
      return std::log1p(std::exp(x));
  }
  return 0;
}

/// A layer in double, by the formulas of the ONNX specification, one number after the other.
/// Tensors are ONNX's with layout 0; what is empty is absent.
struct Reference {
  kernel::Recurrent l;
  Numbers x{}, w{}, r{}, b{}, h0{}, c0{}, p{};
  std::vector<std::int64_t> lengths{};
  Numbers y{}, y_h{}, y_c{};

  double act(std::int64_t d, std::size_t which, double v, bool clips = true) const {
    const auto& a =
        l.activations[static_cast<std::size_t>(d) * kernel::functions_of(l.cell) + which];
    if (clips && l.clips) v = std::clamp(v, -double{l.clip}, double{l.clip});
    return squash(a.function, double{a.alpha}, double{a.beta}, v);
  }
  static double at(const Numbers& v, std::int64_t i) {
    return v.empty() ? 0 : v[static_cast<std::size_t>(i)];
  }
  /// Row `gate * hidden + j` of w (r) times a vector of n numbers, and the bias of w (r).
  double input(std::int64_t d, std::int64_t gate, std::int64_t j, std::int64_t row) const {
    const std::int64_t wide = l.gates() * l.hidden, k = gate * l.hidden + j;
    double sum = at(b, 2 * d * wide + k);
    for (std::int64_t i = 0; i < l.inputs; ++i) {
      sum += at(w, (d * wide + k) * l.inputs + i) * at(x, row * l.inputs + i);
    }
    return sum;
  }
  double recurring(std::int64_t d, std::int64_t gate, std::int64_t j, const Numbers& h) const {
    const std::int64_t wide = l.gates() * l.hidden, k = gate * l.hidden + j;
    double sum = at(b, 2 * d * wide + wide + k);
    for (std::int64_t i = 0; i < l.hidden; ++i) {
      sum += at(r, (d * wide + k) * l.hidden + i) * at(h, i);
    }
    return sum;
  }
  void step(std::int64_t d, std::int64_t row, Numbers& h, Numbers& c) const {
    const Numbers before = h;
    const auto n = static_cast<std::size_t>(l.hidden);
    Numbers reset(n);
    const auto both = [&](std::int64_t gate, std::int64_t j) {
      return input(d, gate, j, row) + recurring(d, gate, j, before);
    };
    for (std::int64_t j = 0; l.cell == kernel::Cell::gru && j < l.hidden; ++j) {
      reset[static_cast<std::size_t>(j)] = act(d, 0, both(1, j)) * at(before, j);
    }
    for (std::int64_t j = 0; j < l.hidden; ++j) {
      const auto place = static_cast<std::size_t>(j);
      if (l.cell == kernel::Cell::rnn) {
        h[place] = act(d, 0, both(0, j));
      } else if (l.cell == kernel::Cell::gru) {
        const double z = act(d, 0, both(0, j)), gate = act(d, 0, both(1, j));
        const double a = l.linear_before_reset
                             ? input(d, 2, j, row) + gate * recurring(d, 2, j, before)
                             : input(d, 2, j, row) + recurring(d, 2, j, reset);
        h[place] = (1 - z) * act(d, 1, a) + z * before[place];
      } else {
        const std::int64_t peep = 3 * d * l.hidden + j;
        const double i = act(d, 0, both(0, j) + at(p, peep) * c[place]);
        const double k =
            l.input_forget ? 1 - i : act(d, 0, both(2, j) + at(p, peep + 2 * l.hidden) * c[place]);
        c[place] = k * c[place] + i * act(d, 1, both(3, j));
        const double o = act(d, 0, both(1, j) + at(p, peep + l.hidden) * c[place]);
        h[place] = o * act(d, 2, c[place], false);
      }
    }
  }
  void run() {
    const auto n = static_cast<std::size_t>(l.hidden);
    y.assign(static_cast<std::size_t>(l.steps * l.directions * l.batch) * n, 0);
    for (std::int64_t d = 0; d < l.directions; ++d) {
      for (std::int64_t row = 0; row < l.batch; ++row) {
        const std::int64_t first = (d * l.batch + row) * l.hidden;
        Numbers h(n), c(n);
        for (std::int64_t j = 0; j < l.hidden; ++j) {
          h[static_cast<std::size_t>(j)] = at(h0, first + j);
          c[static_cast<std::size_t>(j)] = at(c0, first + j);
        }
        const std::int64_t length =
            lengths.empty() ? l.steps : lengths[static_cast<std::size_t>(row)];
        for (std::int64_t s = 0; s < length; ++s) {
          const std::int64_t t = l.is_reverse(d) ? length - 1 - s : s;
          step(d, t * l.batch + row, h, c);
          std::copy(h.begin(), h.end(),
                    y.begin() + ((t * l.directions + d) * l.batch + row) * l.hidden);
        }
        y_h.insert(y_h.end(), h.begin(), h.end());
        y_c.insert(y_c.end(), c.begin(), c.end());
      }
    }
  }
};

/// Dimension i of the result is dimension order[i] of x.
AnyArray swapped(const AnyArray& x, const std::vector<std::size_t>& order) {
  Dims shape;
  for (const std::size_t d : order) shape.push_back(x.info().shape[d]);
  AnyArray y(TensorInfo{x.info().type, shape});
  const auto size = static_cast<std::int64_t>(size_in_bytes(x.info().type));
  for (std::int64_t i = 0; i < x.info().elements(); ++i) {
    std::int64_t rest = i, from = 0;
    for (std::size_t d = order.size(); d-- > 0;) {
      std::int64_t stride = 1;
      for (std::size_t k = order[d] + 1; k < order.size(); ++k) stride *= x.info().shape[k];
      from += rest % shape[d] * stride;
      rest /= shape[d];
    }
    std::copy_n(x.data() + from * size, size, y.data() + i * size);
  }
  return y;
}

struct Layer {
  std::int64_t steps = 4, batch = 3, inputs = 5, hidden = 7;
  bool has_bias = true, has_states = true, has_peepholes = false;
  std::vector<std::int32_t> lengths{};
};

template <class T, class Op>
void check(const Op& op, const Layer& given, double units = 64, double absolute = 4e-6) {
  constexpr kernel::Cell cell = std::is_same_v<Op, op::LSTM>  ? kernel::Cell::lstm
                                : std::is_same_v<Op, op::GRU> ? kernel::Cell::gru
                                                              : kernel::Cell::rnn;
  const std::int64_t d = op.direction == Direction::bidirectional ? 2 : 1;
  const std::int64_t n = given.hidden, wide = kernel::gates_of(cell) * n;
  const Array<T> x = scattered<T>({given.steps, given.batch, given.inputs}, -2, 2);
  const Array<T> w = scattered<T>({d, wide, given.inputs}, -0.5, 0.5, 2);
  const Array<T> r = scattered<T>({d, wide, n}, -0.5, 0.5, 3);
  const Array<T> b = scattered<T>({d, 2 * wide}, -0.5, 0.5, 4);
  const Array<T> h0 = scattered<T>({d, given.batch, n}, -1, 1, 5);
  const Array<T> c0 = scattered<T>({d, given.batch, n}, -1, 1, 6);
  const Array<T> p = scattered<T>({d, 3 * n}, -1, 1, 7);
  const halftone::detail::RecurrentRule rule{cell};
  Op plain = op;
  plain.layout = 0;
  Reference e{.l = rule.layer(plain, Dims{given.steps, given.batch, given.inputs}.span(),
                              Dims{d, wide, n}.span()),
              .x = doubles(x),
              .w = doubles(w),
              .r = doubles(r)};
  std::vector<AnyArray> inputs{x, w, r, absent(), absent(), absent()};
  if (given.has_bias) inputs[3] = b, e.b = doubles(b);
  if (!given.lengths.empty()) {
    inputs[4] = Array<std::int32_t>({given.batch}, given.lengths);
    e.lengths.assign(given.lengths.begin(), given.lengths.end());
  }
  if (given.has_states) inputs[5] = h0, e.h0 = doubles(h0);
  if (cell == kernel::Cell::lstm) {
    inputs.push_back(given.has_states ? AnyArray(c0) : absent());
    if (given.has_states) e.c0 = doubles(c0);
    inputs.push_back(given.has_peepholes ? AnyArray(p) : absent());
    if (given.has_peepholes) e.p = doubles(p);
  }
  if (op.layout == 1) {
    inputs[0] = swapped(inputs[0], {1, 0, 2});
    for (std::size_t i : {5, 6}) {
      if (i < inputs.size() && inputs[i].info().is_known()) {
        inputs[i] = swapped(inputs[i], {1, 0, 2});
      }
    }
  }
  e.run();
  // Weights packed before the run, and in it.
  for (const std::uint64_t constants : {0b110, 0}) {
    std::vector<AnyArray> y = run_all(op, inputs, 0, constants);
    if (op.layout == 1) {
      y[0] = swapped(y[0], {1, 2, 0, 3});
      for (std::size_t i = 1; i < y.size(); ++i) y[i] = swapped(y[i], {1, 0, 2});
    }
    CHECK(y[0].info().shape == Dims{given.steps, d, given.batch, n});
    CHECK(y[1].info().shape == Dims{d, given.batch, n});
    check_close<T>(y[0], e.y, units, absolute);
    check_close<T>(y[1], e.y_h, units, absolute);
    if (cell == kernel::Cell::lstm) check_close<T>(y[2], e.y_c, units, absolute);
  }
}

constexpr Direction directions[] = {Direction::forward, Direction::reverse,
                                    Direction::bidirectional};

}  // namespace

TEST_CASE_TEMPLATE("recurrent layers: the formulas", T, float, double, half, bfloat16) {
  const double units = sizeof(T) == 2 ? 2 : 64, absolute = sizeof(T) == 8 ? 1e-14 : 4e-6;
  check<T>(op::LSTM{}, {.has_peepholes = true}, units, absolute);
  check<T>(op::GRU{.direction = Direction::bidirectional}, {}, units, absolute);
  check<T>(op::RNN{.direction = Direction::reverse, .layout = 1}, {}, units, absolute);
}

TEST_CASE("recurrent layers: directions, layouts, lengths and what may be absent") {
  for (const Direction direction : directions) {
    for (const std::int64_t layout : {0, 1}) {
      for (const bool some : {false, true}) {
        Layer given{.has_bias = some, .has_states = some, .has_peepholes = some};
        if (some) given.lengths = {2, 4, 0};
        check<float>(op::LSTM{.direction = direction, .input_forget = some, .layout = layout},
                     given);
        check<float>(op::GRU{.direction = direction, .layout = layout}, given);
        check<float>(op::GRU{.direction = direction, .linear_before_reset = 1, .layout = layout},
                     given);
        check<float>(op::RNN{.direction = direction, .layout = layout}, given);
      }
    }
  }
}

TEST_CASE("recurrent layers: functions, their parameters, and clip") {
  using F = CellFunction;
  check<float>(op::LSTM{.activations = {F::hard_sigmoid, F::softsign, F::scaled_tanh, F::affine,
                                        F::elu, F::leaky_relu},
                        .activation_alpha = {0.3f, 1.5f, 0.5f, 0.75f, 0.1f},
                        .activation_beta = {0.4f, 0.25f, 0.125f},
                        .clip = 0.7f,
                        .direction = Direction::bidirectional},
               {.has_peepholes = true});
  check<float>(op::LSTM{.activations = {F::hard_sigmoid, F::leaky_relu, F::elu}}, {});
  check<float>(op::GRU{.activations = {F::softplus, F::thresholded_relu},
                       .activation_alpha = {0.25f},
                       .clip = 1.f},
               {});
  check<float>(
      op::GRU{.activations = {F::sigmoid, F::relu}, .clip = 0.5f, .linear_before_reset = 1}, {});
  check<float>(op::RNN{.activations = {F::relu, F::affine}, .direction = Direction::bidirectional},
               {});
}

TEST_CASE("recurrent layers: larger ones, single rows, and none at all") {
  check<float>(op::LSTM{.hidden_size = 70}, {.steps = 3, .batch = 40, .inputs = 33, .hidden = 70},
               256, 1e-5);
  check<float>(op::GRU{.direction = Direction::bidirectional},
               {.steps = 3, .batch = 1, .inputs = 64, .hidden = 48}, 256, 1e-5);
  check<float>(op::RNN{}, {.steps = 1, .batch = 1, .inputs = 1, .hidden = 1});
  check<float>(op::LSTM{}, {.steps = 0});
  check<float>(op::GRU{}, {.batch = 0});
}

TEST_CASE("recurrent layers: products with the inputs for some steps at a time") {
  Layer given{.steps = 50, .batch = 64, .inputs = 3, .hidden = 24, .has_peepholes = true};
  for (std::int32_t i = 0; i < 64; ++i) given.lengths.push_back(i * 7 % 51);
  for (const Direction direction : {Direction::forward, Direction::reverse}) {
    for (const std::int64_t layout : {0, 1}) {
      check<float>(op::LSTM{.direction = direction, .layout = layout}, given, 256, 1e-5);
    }
  }
  check<half>(op::GRU{.direction = Direction::reverse}, given, 2, 1e-5);
  check<double>(op::LSTM{.direction = Direction::bidirectional},
                {.steps = 7, .batch = 128, .inputs = 3, .hidden = 48}, 64, 1e-13);
}

TEST_CASE("recurrent layers: wrong lengths, shapes and attributes") {
  const Array<float> x({4, 3, 5}), w({1, 28, 5}), r({1, 28, 7});
  const auto lengths = [&](std::int32_t n) {
    return Array<std::int32_t>({3}, std::vector<std::int32_t>{1, n, 4});
  };
  CHECK_THROWS_AS(run(op::LSTM{}, {x, w, r, absent(), lengths(5)}), InputError);
  CHECK_THROWS_AS(run(op::LSTM{}, {x, w, r, absent(), lengths(-1)}), InputError);
  using F = CellFunction;
  CHECK(reason(op::LSTM{.activations = {F::tanh}}, {x, w, r}) ==
        "the number of activations is not that of the layer");
  CHECK(reason(op::LSTM{.hidden_size = 8}, {x, w, r}) == "hidden_size is not the weight's");
  CHECK(reason(op::LSTM{.hidden_size = 0}, {x, w, r}) == "hidden_size is not positive");
  CHECK(reason(op::LSTM{.layout = 2}, {x, w, r}) == "layout is neither 0 nor 1");
  CHECK(reason(op::LSTM{.direction = Direction::bidirectional}, {x, w, r}) ==
        "an extent of w does not fit");
  CHECK(reason(op::GRU{}, {x, w, r}) == "an extent of w does not fit");
  CHECK(reason(op::LSTM{}, {x, w, Array<float>({28, 7})}) ==
        "the input or a weight has not three dimensions");
  CHECK(reason(op::LSTM{}, {x, w, r, Array<float>({1, 28})}) == "the bias does not fit");
  CHECK(reason(op::LSTM{}, {x, w, r, absent(), Array<std::int32_t>({4})}) ==
        "there is not one sequence length per batch");
  CHECK(reason(op::LSTM{}, {x, w, r, absent(), absent(), Array<float>({1, 4, 7})}) ==
        "the initial state does not fit");
}

TEST_CASE("recurrent layers: before opset 7") {
  const Array<float> x = scattered<float>({4, 3, 5}, -2, 2), w = scattered<float>({1, 7, 5}, -1, 1);
  const Array<float> r = scattered<float>({1, 7, 7}, -1, 1);
  const AnyArray y = run_expanded<op::RNN>(op::RNN_1{.output_sequence = 1}, {x, w, r});
  CHECK(doubles(y) == doubles(run(op::RNN{}, {x, w, r})));
}

TEST_CASE("LSTM: multiplications and additions, each weight once a step and sequence") {
  const TensorInfo x{ElementType::float32, {5, 2, 3}}, w{ElementType::float32, {1, 16, 3}},
      r{ElementType::float32, {1, 16, 4}};
  CHECK(descriptor<op::LSTM>.flops(pack(op::LSTM{}), std::array{x, w, r}, {}) ==
        5 * 2 * 2 * (16 * 3 + 16 * 4));
}
