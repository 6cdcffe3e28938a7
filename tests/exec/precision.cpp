// Dense products in fewer bits. Expected numbers are those of operands that base/ has rounded, summed in
// double; a machine without the instructions has to give those of float32, bit for bit.
#include <halftone/kernel/precision.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/exec/executable.hpp>
#include <halftone/halftone.hpp>
#include <halftone/train.hpp>

#include "error_of.hpp"
#include "exec/kernel_table.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

using Floats = std::vector<float>;

constexpr Precision narrow[] = {Precision::bfloat16, Precision::float16};
constexpr std::int64_t inner = 200, columns = 96;  // so large that one row takes 16 bits, too

/// In [-1, 1).
Floats numbers(std::int64_t n, std::uint32_t seed) {
  Floats v(static_cast<std::size_t>(n));
  for (float& x : v) {
    seed = seed * 1664525 + 1013904223;
    x = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f;
  }
  return v;
}

/// y = x w for `rows` rows of x; z = Gemm(x, w', y).
Graph products(std::int64_t rows) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {rows, inner});
  const AnyTensor w = constant<float>(g, numbers(inner * columns, 1), {inner, columns});
  const AnyTensor t = constant<float>(g, numbers(inner * columns, 2), {columns, inner});
  const AnyTensor y = op::matmul(x, w);
  output(g, y, "y");
  output(g, op::gemm(x, t, y, {.alpha = 2, .trans_b = true}), "z");
  return g;
}

/// The outputs of a run, one behind the other.
Floats run(Engine& engine, const std::vector<AnyView>& inputs) {
  engine.run(inputs);
  Floats all;
  for (std::size_t o = 0; o < engine.graph().outputs.size(); ++o) {
    const std::span<const float> y = engine.output(o).values<float>();
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}
Floats run(Graph graph, const std::vector<AnyView>& inputs, const EngineOptions& options = {}) {
  Engine engine(std::move(graph), options);
  return run(engine, inputs);
}

/// A convolution, products with constant and with computed operands.
Graph network() {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 32, 12, 12});
  const AnyTensor filters =
      constant<float>(g, numbers(std::int64_t{64} * 32 * 9, 3), {64, 32, 3, 3});
  const AnyTensor image = op::relu(op::conv(x, filters, none, {.pads = {1, 1, 1, 1}}));
  const AnyTensor rows = op::reshape(image, Shape<128, 144>{});
  const AnyTensor w = constant<float>(g, numbers(std::int64_t{144} * 160, 4), {144, 160});
  const AnyTensor y = op::matmul(rows, w);
  output(g, op::matmul(y, op::transpose(y)), "y");
  return g;
}

/// This makes a layer of `cell` without biases whose initial states are inputs; y, then its last states,
/// are the outputs.
struct Layer {
  kernel::Cell cell = kernel::Cell::rnn;
  std::int64_t steps = 1, batch = 1, inputs = 40, hidden = 160;
  bool is_trained = false;  ///< the weights are variables
  bool is_linear = false;   ///< an RNN's function is the identity
  bool has_inputs = true;   ///< other than zeros

  std::int64_t wide() const { return kernel::gates_of(cell) * hidden; }
  Graph graph() const {
    Graph g;
    const TensorId x = g.input<float>("x", {steps, batch, inputs}).id;
    const TensorId h = g.input<float>("h", {1, batch, hidden}).id;
    const bool is_lstm = cell == kernel::Cell::lstm;
    const TensorId c = is_lstm ? g.input<float>("c", {1, batch, hidden}).id : no_tensor;
    const auto weights = [&](std::int64_t width, std::uint32_t seed) {
      Floats values = numbers(wide() * width, seed);
      for (float& value : values) value /= 8;
      const AnyTensor w = constant<float>(g, values, {1, wide(), width});
      if (is_trained) g.tensors[static_cast<std::size_t>(w.id)].role = Role::variable;
      return w.id;
    };
    std::vector<TensorId> in{x, weights(inputs, 11), weights(hidden, 12), no_tensor, no_tensor, h};
    if (is_lstm) in.push_back(c);
    const std::size_t count = is_lstm ? 3 : 2;
    std::vector<TensorId> out;
    const auto record = [&](const auto& op) {
      for (const TensorId id : detail::record(g, op, in, count)) out.push_back(id);
    };
    if (is_lstm) record(op::LSTM{.hidden_size = hidden});
    if (cell == kernel::Cell::gru) record(op::GRU{.hidden_size = hidden});
    if (cell == kernel::Cell::rnn) {
      op::RNN rnn{.hidden_size = hidden};
      if (is_linear) rnn.activations = {CellFunction::affine}, rnn.activation_alpha = {1.f};
      record(rnn);
    }
    int number = 0;
    for (const TensorId id : out) output(g, AnyTensor{&g, id}, "y" + std::to_string(number++));
    return g;
  }
  std::vector<Array<float>> given() const {
    std::vector<Array<float>> list;
    list.emplace_back(Dims{steps, batch, inputs});
    if (has_inputs) list[0] = {Dims{steps, batch, inputs}, numbers(steps * batch * inputs, 13)};
    list.emplace_back(Dims{1, batch, hidden}, numbers(batch * hidden, 14));
    if (cell == kernel::Cell::lstm) {
      list.emplace_back(Dims{1, batch, hidden}, numbers(batch * hidden, 15));
    }
    return list;
  }
};
Floats run(const Layer& layer, const EngineOptions& options) {
  const std::vector<Array<float>> given = layer.given();
  return run(layer.graph(), {given.begin(), given.end()}, options);
}

}  // namespace

TEST_CASE("precision: products are those of rounded factors") {
  for (const Precision precision : narrow) {
    for (const std::int64_t rows : {1, 3, 40}) {
      CAPTURE(name(precision));
      CAPTURE(rows);
      const Floats x = numbers(rows * inner, 5);
      const Array<float> input({rows, inner}, x);
      Engine engine(products(rows), {.precision = precision});
      const Floats found = run(engine, {input});
      if (engine.precision() == Precision::float32) {
        CHECK(found == run(products(rows), {input}));
        continue;
      }
      const bool is_bfloat16 = precision == Precision::bfloat16;
      const auto left = [&](float v) { return is_bfloat16 ? static_cast<float>(bfloat16(v)) : v; };
      const auto right = [&](float v) {
        return is_bfloat16 ? static_cast<float>(bfloat16(v)) : static_cast<float>(half(v));
      };
      const Floats w = numbers(inner * columns, 1), t = numbers(inner * columns, 2);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          double y = 0, z = 0;
          for (std::int64_t k = 0; k < inner; ++k) {
            const double a = left(x[static_cast<std::size_t>(i * inner + k)]);
            y += a * right(w[static_cast<std::size_t>(k * columns + j)]);
            z += a * right(t[static_cast<std::size_t>(j * inner + k)]);
          }
          // k roundings of a sum whose terms have magnitudes that add up to k at most.
          const double most = double(inner) * double(inner) * 0x1p-24;
          const auto at = static_cast<std::size_t>(i * columns + j);
          wrong += std::abs(found[at] - y) > most;
          wrong += std::abs(found[at + static_cast<std::size_t>(rows * columns)] - (2 * z + y)) >
                   3 * most;
        }
      }
      CHECK(wrong == 0);
      CHECK(found != run(products(rows), {input}));
    }
  }
}

TEST_CASE(
    "precision: a bias and a tensor are added to products of whole numbers without an error") {
  // Each sum is a number that float holds, in whatever order it is made.
  const auto whole = [](std::int64_t n, std::uint32_t seed) {
    Floats v = numbers(n, seed);
    for (float& x : v) x = std::round(x * 8);
    return v;
  };
  for (const std::int64_t rows : {1, 2, 40}) {
    for (const Dims& shape : {Dims{columns}, Dims{rows, columns}}) {
      Graph g;
      const AnyTensor x = g.input<float>("x", {rows, inner});
      const AnyTensor w = constant<float>(g, whole(inner * columns, 1), {inner, columns});
      const TensorInfo info{ElementType::float32, shape};
      const AnyTensor addend = constant<float>(g, whole(info.elements(), 2), shape);
      output(g, op::matmul(x, w) + addend, "y");
      const Array<float> input({rows, inner}, whole(rows * inner, 3));
      for (const Precision precision : narrow) {
        CAPTURE(name(precision));
        CAPTURE(rows);
        CHECK(run(Graph(g), {input}, {.precision = precision}) == run(Graph(g), {input}));
      }
    }
  }
}

TEST_CASE("precision: threads change no bit") {
  const Array<float> x({2, 32, 12, 12}, numbers(std::int64_t{2} * 32 * 144, 6));
  for (const Precision precision : narrow) {
    CAPTURE(name(precision));
    const Floats alone = run(network(), {x}, {.precision = precision});
    for (const int threads : {2, 3, 5}) {
      CHECK(run(network(), {x}, {.threads = threads, .precision = precision}) == alone);
    }
  }
}

TEST_CASE("precision: a recurrent layer's products are those of rounded factors") {
  for (const Precision precision : narrow) {
    for (const std::int64_t batch : {1, 3, 20}) {
      for (const std::int64_t inputs : {1, 35, 64}) {
        CAPTURE(name(precision));
        CAPTURE(batch);
        CAPTURE(inputs);
        const Layer layer{.batch = batch, .inputs = inputs, .is_linear = true};
        const Floats found = run(layer, {.precision = precision});
        if (!has_products_in(precision)) {
          CHECK(found == run(layer, {}));
          continue;
        }
        const auto rounded = [&](float v, bool is_weight) -> double {
          if (precision == Precision::bfloat16) return static_cast<float>(bfloat16(v));
          return is_weight ? static_cast<float>(half(v)) : v;
        };
        const std::vector<Array<float>> given = layer.given();
        const Floats w = numbers(layer.hidden * inputs, 11),
                     r = numbers(layer.hidden * layer.hidden, 12);
        std::int64_t wrong = 0;
        for (std::int64_t n = 0; n < batch; ++n) {
          for (std::int64_t j = 0; j < layer.hidden; ++j) {
            double y = 0;
            const auto add = [&](const Array<float>& left, const Floats& right,
                                 std::int64_t terms) {
              for (std::int64_t k = 0; k < terms; ++k) {
                y += rounded(left[static_cast<std::size_t>(n * terms + k)], false) *
                     rounded(right[static_cast<std::size_t>(j * terms + k)] / 8, true);
              }
            };
            add(given[0], w, inputs);
            add(given[1], r, layer.hidden);
            // There are as many roundings of sums as terms, whose magnitudes add up to an eighth of
            // their number.
            const double terms = static_cast<double>(inputs + layer.hidden);
            wrong += std::abs(found[static_cast<std::size_t>(n * layer.hidden + j)] - y) >
                     terms * terms / 8 * 0x1p-24;
          }
        }
        CHECK(wrong == 0);
        CHECK(found != run(layer, {}));
      }
    }
  }
}

TEST_CASE("precision: steps of a recurrent layer are those of layers one behind the other") {
  // Products with the inputs of all steps are of other tiles than those with the inputs of one.
  using kernel::Cell;
  for (const Precision precision : narrow) {
    for (const Cell cell : {Cell::rnn, Cell::gru, Cell::lstm}) {
      for (const std::int64_t batch : {1, 5}) {
        CAPTURE(name(precision));
        CAPTURE(cell);
        CAPTURE(batch);
        Layer layer{.cell = cell, .steps = 4, .batch = batch, .hidden = 256, .has_inputs = false};
        const Floats at_once = run(layer, {.precision = precision});
        CHECK(run(layer, {.threads = 3, .precision = precision}) == at_once);
        const std::vector<Array<float>> given = layer.given();
        std::vector<AnyView> in(given.begin(), given.end());
        const auto states = static_cast<std::size_t>(batch * layer.hidden);
        layer.steps = 1;
        Engine engine(layer.graph(), {.precision = precision});
        Floats last, y;
        for (std::int64_t step = 0; step < 4; ++step) {
          in[0] = {{ElementType::float32, {1, batch, layer.inputs}},
                   given[0].data() + step * batch * layer.inputs};
          last = run(engine, in);
          y.insert(y.end(), last.begin(), last.begin() + static_cast<std::ptrdiff_t>(states));
          for (std::size_t i = 1; i < in.size(); ++i) {
            in[i] = {{ElementType::float32, {1, batch, layer.hidden}}, last.data() + i * states};
          }
        }
        y.insert(y.end(), last.begin() + static_cast<std::ptrdiff_t>(states), last.end());
        CHECK(y == at_once);
      }
    }
  }
}

TEST_CASE("precision: gradients of recurrent layers are near those of float32") {
  using kernel::Cell;
  for (const Cell cell : {Cell::rnn, Cell::gru, Cell::lstm}) {
    CAPTURE(cell);
    const Layer layer{.cell = cell, .steps = 6, .batch = 4, .is_trained = true};
    const auto gradients = [&](Precision precision) {
      Graph g = layer.graph();
      const AnyTensor y = g["y0"], loss = op::sum(y * y);
      std::vector<TensorId> wanted;
      for (std::size_t i = 0; i < g.tensors.size(); ++i) {
        if (g.tensors[i].role == Role::variable) wanted.push_back(static_cast<TensorId>(i));
      }
      REQUIRE(wanted.size() == 2);
      g.outputs = {};
      for (const TensorId id : differentiate(g, loss.id, wanted)) g.add_output(id);
      const std::vector<Array<float>> given = layer.given();
      return run(std::move(g), {given.begin(), given.end()}, {.precision = precision});
    };
    const Floats wide = gradients(Precision::float32), found = gradients(Precision::bfloat16);
    double error = 0, all = 0;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      error += std::pow(static_cast<double>(found[i]) - static_cast<double>(wide[i]), 2);
      all += std::pow(static_cast<double>(wide[i]), 2);
    }
    CHECK((found == wide) == !has_products_in(Precision::bfloat16));
    CHECK(std::sqrt(error / all) < 0x1p-6);  // factors have errors of up to 2^-9
  }
}

TEST_CASE("precision: weights are kept in 16 bits") {
  // There are so many terms that float32 packs them, too, and they fill whole registers of AMX.
  constexpr std::int64_t terms = 416, width = 80;
  const auto bytes = [](Precision precision) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {40, terms});
    output(g, op::matmul(x, constant<float>(g, numbers(terms * width, 1), {terms, width})), "y");
    const Engine engine(std::move(g), {.precision = precision});
    return engine.planned_bytes() - engine.arena_bytes();
  };
  CHECK(bytes(Precision::float32) == 4 * terms * width);
  for (const Precision precision : narrow) {
    if (has_products_in(precision)) CHECK(bytes(precision) == 2 * terms * width);
  }
}

TEST_CASE("precision: where there are no products in it, the log says so and float32 is used") {
  std::string said;
  set_log_sink(
      [](void* to, LogLevel, std::string_view, std::string_view text) {
        static_cast<std::string*>(to)->append(text).append("\n");
      },
      &said);
  const LogLevel before = log_level();
  set_log_level(LogLevel::warn);
  for (const Precision precision : narrow) {
    CAPTURE(name(precision));
    said.clear();
    const Engine engine(products(1), {.precision = precision});
    const bool is_available = has_products_in(precision);
    CHECK(engine.precision() == (is_available ? precision : Precision::float32));
    CHECK(said.empty() == is_available);
    CHECK(contains(said, name(precision)) == !is_available);
  }
  set_log_level(before);
  set_log_sink(nullptr, nullptr);
  // AVX2 is not enough for the one, and more than enough for the other.
  if (instruction_set() != "v4") CHECK_FALSE(has_products_in(Precision::bfloat16));
  if (instruction_set() == "v3") CHECK(has_products_in(Precision::float16));
}

TEST_CASE("precision: a model is made ready in one and again for another") {
  const Array<float> x({40, inner}, numbers(40 * inner, 7));
  const Floats wide = run(products(40), {x});
  for (const Precision precision : narrow) {
    CAPTURE(name(precision));
    const EngineOptions options{.precision = precision};
    const Floats expected = run(products(40), {x}, options);
    const auto loaded = [&](const EngineOptions& from, const EngineOptions& to) {
      Engine engine(compile(products(40), from), to);
      return run(engine, {x});
    };
    CHECK(loaded(options, options) == expected);
    CHECK(loaded(options, {}) == wide);
    CHECK(loaded({}, options) == expected);
  }
}

TEST_CASE("precision: ipu_model computes in the types of the graph") {
  const auto session = [](Precision precision) {
    return Session(products(1), {.device = Device::ipu_model, .precision = precision});
  };
  const std::string error = error_of([&] { session(Precision::bfloat16); });
  INFO(error);
  CHECK(contains(error, "bfloat16"));
  session(Precision::float32);
}

TEST_CASE("precision: weights that are trained stay float and learn as in float32") {
  // A teacher's answers: which of four rows of numbers has the largest product with the sample.
  constexpr std::int64_t batch = 64, features = 128, hidden = 128, classes = 4, steps = 60;
  const Floats teacher = numbers(classes * features, 8);
  const auto share_of_right_answers = [&](Precision precision, bool& has_low_bits) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {batch, features});
    const AnyTensor label = g.input<std::int32_t>("label", {batch});
    const Initial initial{Initial::Rule::normal, 0, 0.1f};
    const auto weights = [&](std::int64_t rows, std::int64_t width, const char* name) {
      return AnyTensor{&g, g.add_variable({ElementType::float32, {rows, width}}, initial, name)};
    };
    const AnyTensor h = op::relu(op::matmul(x, weights(features, hidden, "w")));
    const AnyTensor logits = op::matmul(h, weights(hidden, classes, "v"));
    output(g, logits, "logits");
    train(g, op::nll_loss(op::softmax(logits), label), Adam{.learning_rate = 0.01f});
    Session session(std::move(g), {.outputs = {"logits"}, .precision = precision});
    std::int64_t right = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      const Array<float> samples({batch, features},
                                 numbers(batch * features, static_cast<std::uint32_t>(100 + step)));
      Array<std::int32_t> labels({batch});
      for (std::int64_t i = 0; i < batch; ++i) {
        double best = -1e9;
        for (std::int32_t c = 0; c < classes; ++c) {
          double sum = 0;
          for (std::int64_t k = 0; k < features; ++k) {
            sum += samples[static_cast<std::size_t>(i * features + k)] *
                   teacher[static_cast<std::size_t>(c * features + k)];
          }
          if (sum > best) best = sum, labels[static_cast<std::size_t>(i)] = c;
        }
      }
      auto result = session.run({{"x", samples}, {"label", labels}});
      const std::span<const float> y = result["logits"].values<float>();
      for (std::int64_t i = 0; step >= steps - 10 && i < batch; ++i) {
        const auto row = y.subspan(static_cast<std::size_t>(i * classes), classes);
        right += std::max_element(row.begin(), row.end()) - row.begin() ==
                 labels[static_cast<std::size_t>(i)];
      }
    }
    const AnyView trained = session.get("w");
    has_low_bits = false;
    for (const float w : trained.values<float>()) {
      has_low_bits = has_low_bits || static_cast<float>(bfloat16(w)) != w;
    }
    return static_cast<double>(right) / static_cast<double>(10 * batch);
  };
  bool has_low_bits = false;
  const double wide = share_of_right_answers(Precision::float32, has_low_bits);
  CHECK(wide > 0.7);
  for (const Precision precision : narrow) {
    const double share = share_of_right_answers(precision, has_low_bits);
    CAPTURE(name(precision));
    CHECK(has_low_bits);
    CHECK(share > wide - 0.05);
  }
}
