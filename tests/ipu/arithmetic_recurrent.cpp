#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <halftone/graph/gradient.hpp>
#include <halftone/graph/planning.hpp>
#include <halftone/ipu/profile.hpp>

#include "cycles_of.hpp"
#include "on_device.hpp"

using namespace halftone;
using namespace on_device_test;

namespace {

using F = CellFunction;
constexpr std::int64_t steps = 4, batch = 3, features = 20, hidden = 5;

/// The tensors of a layer by the number of its input.
using Tensors = std::vector<std::optional<Dims>>;

/// Records a layer with an input "x0", "x1" ... for each tensor.
template <class Op>
Graph layer(const Op& op, const Tensors& inputs, std::size_t outputs, ElementType type = f16) {
  Graph g;
  std::vector<TensorId> ids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo info{i == 4 ? ElementType::int32 : type, inputs[i].value_or(Dims{})};
    ids.push_back(inputs[i] ? g.add_input(info, "x" + std::to_string(i)) : no_tensor);
  }
  const std::vector<TensorId> made = detail::record(g, op, ids, outputs);
  for (std::size_t i = 0; i < outputs; ++i) {
    output(g, AnyTensor{&g, made[i]}, "y" + std::to_string(i));
  }
  return g;
}

/// Small numbers for each input.
template <class T = half>
std::vector<std::vector<float>> run(const Graph& g, const SessionOptions& options, float scale) {
  Session session(g, options);
  std::vector<AnyArray> arrays;
  std::vector<std::string> names;
  for (const TensorId id : g.inputs) {
    const TensorInfo& info = g.info(id);
    names.emplace_back(g.name(id));
    if (info.type == ElementType::int32) {
      arrays.emplace_back(Array<std::int32_t>({batch}, {4, 0, 2}));
    } else {
      const std::int64_t input = names.back().back() - '0';
      arrays.emplace_back(
          numbers<T>(info.shape, [&](std::int64_t k) { return scale * small(k * 3 + input); }));
    }
  }
  std::vector<Input> given;
  for (std::size_t i = 0; i < arrays.size(); ++i) given.push_back({names[i], arrays[i]});
  const Result result = session.run(std::span<const Input>(given));
  std::vector<std::vector<float>> y;
  for (std::size_t i = 0; i < g.outputs.size(); ++i) y.push_back(floats(result[i]));
  return y;
}

Tensors tensors_of(std::int64_t gates, std::int64_t directions, bool batch_first) {
  const Dims state =
      batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  return {batch_first ? Dims{batch, steps, features} : Dims{steps, batch, features},
          Dims{directions, gates * hidden, features},
          Dims{directions, gates * hidden, hidden},
          Dims{directions, 2 * gates * hidden},
          Dims{batch},
          state,
          state,
          Dims{directions, 3 * hidden}};
}

/// Layers of each kind, by act(op, inputs, outputs).
void for_layers(auto act) {
  const auto both = [&](auto op, std::int64_t gates, std::size_t outputs) {
    for (const bool is_full : {false, true}) {
      op.layout = is_full ? 1 : 0;
      op.direction = is_full ? Direction::bidirectional : Direction::reverse;
      Tensors inputs = tensors_of(gates, is_full ? 2 : 1, is_full);
      inputs.resize(!is_full ? 3 : gates == 4 ? 8 : 6);
      act(op, inputs, outputs);
    }
  };
  both(op::LSTM{}, 4, 3);
  both(op::LSTM{.clip = 0.5f, .input_forget = 1}, 4, 3);
  both(op::GRU{}, 3, 2);
  both(op::GRU{.linear_before_reset = 1}, 3, 2);
  both(op::RNN{}, 1, 2);
}

}  // namespace

// cpu's kernels, which are tested against the operators' definitions, compute the same layers in
// float.
TEST_CASE("recurrent layers of the machine are near those of cpu") {
  for_layers([](const auto& op, const Tensors& inputs, std::size_t outputs) {
    const Graph g = layer(op, inputs, outputs);
    const auto expected = run(g, {}, 0.125f);
    const auto found = run(g, on_device({.half = true}, &few, true), 0.125f);
    for (std::size_t o = 0; o < outputs; ++o) {
      REQUIRE(found[o].size() == expected[o].size());
      for (std::size_t i = 0; i < found[o].size(); ++i) {
        // About ten roundings a step of numbers up to 4, and four steps.
        CHECK(std::abs(found[o][i] - expected[o][i]) < 40 * 0x1p-10f);
      }
    }
  });
}

TEST_CASE("recurrent layers of the machine are exact where any arithmetic is") {
  // Small integers: gates of 1 and no function leave sums, and the clip keeps them small.
  const auto check = [](const auto& op, std::int64_t gates) {
    Tensors inputs = tensors_of(gates, 1, false);
    inputs.resize(6);
    const Graph g = layer(op, inputs, 2);
    CHECK(run(g, on_device({.half = true}, &few, true), 1) == run(g, {}, 1));
  };
  const op::LSTM lstm{.activations = {F::affine, F::affine, F::affine},
                      .activation_alpha = {0, 1, 1},
                      .activation_beta = {1, 0, 0},
                      .clip = 3};
  check(lstm, 4);
  check(op::RNN{.activations = {F::relu}, .clip = 3}, 1);
}

TEST_CASE("exceptions of recurrent layers name them") {
  const Tensors inputs{Dims{1, 1, 1}, Dims{1, 1, 1}, Dims{1, 1, 1}};
  const Graph g =
      layer(op::RNN{.activations = {F::affine}, .activation_alpha = {1}, .activation_beta = {0}},
            inputs, 1);
  const Array<half> large({1, 1, 1}, {half(300)});
  Session checked(g, on_device({.floating_point_checks = true}, &few));
  std::string where, exception;
  try {
    checked.run({{"x0", large}, {"x1", large}, {"x2", large}});
  } catch (const ipu::FloatingPointError& e) {
    where = e.node();
    exception = e.exception();
  }
  CHECK(where.find("RNN") == 0);
  CHECK(exception == "overflow");
  Session saturates(g, on_device({.half = true}, &few));
  CHECK(floats(saturates.run({{"x0", large}, {"x1", large}, {"x2", large}})["y0"])[0] == 65504);
}

// --- the way back --------------------------------------------------------------------------------

namespace {

/// A layer whose outputs are those of the gradients, by all its inputs of a floating-point type:
/// what arrives at each output is an input "dy0", "dy1" ...
template <class Op>
Graph gradient(const Op& op, const Tensors& inputs, std::size_t outputs, ElementType type,
               const Planning& planning = {}) {
  Graph g = layer(op, inputs, outputs, type);
  set_planning(g.nodes[0], planning);
  const std::vector<TensorId> y = g.outputs;
  std::vector<TensorId> arriving, wanted;
  for (std::size_t o = 0; o < outputs; ++o) {
    arriving.push_back(g.add_input({type, g.info(y[o]).shape}, "dy" + std::to_string(o)));
  }
  for (const TensorId id : g.inputs) {
    if (g.info(id).type == type && g.name(id)[0] == 'x') wanted.push_back(id);
  }
  g.outputs.clear();
  const std::vector<TensorId> made = differentiate(g, y, arriving, wanted);
  for (std::size_t i = 0; i < made.size(); ++i) {
    output(g, AnyTensor{&g, made[i]}, "d" + std::to_string(i));
  }
  return g;
}

/// An RNN of two steps without inputs and biases, whose only function is alpha x: the gradient of
/// its first state by its last one, which is (alpha r)^2 times what arrives.
Graph powers(float alpha) {
  const Tensors inputs{Dims{2, 1, 1}, Dims{1, 1, 1}, Dims{1, 1, 1}, {}, {}, Dims{1, 1, 1}};
  return gradient(
      op::RNN{.activations = {F::affine}, .activation_alpha = {alpha}, .activation_beta = {0}},
      inputs, 2, f16);
}
float first_state(Session& session, float r, float arrives) {
  const Array<half> none({2, 1, 1}), zero({1, 1, 1}), weight({1, 1, 1}, {half(r)}),
      dy({2, 1, 1, 1}), last({1, 1, 1}, {half(arrives)});
  return floats(session.run({{"x0", none},
                             {"x1", zero},
                             {"x2", weight},
                             {"x5", zero},
                             {"dy0", dy},
                             {"dy1", last}})["d3"])[0];
}

}  // namespace

// Those in double are tested against central differences.
TEST_CASE("gradients of recurrent layers in half are near those in double") {
  for_layers([](const auto& op, const Tensors& inputs, std::size_t outputs) {
    const auto expected =
        run<double>(gradient(op, inputs, outputs, ElementType::float64), {}, 0.125f);
    // Each of four steps rounds about 20 numbers on the way there and back, none of them larger
    // than the sums that they end in: 80 errors of either sign, evenly distributed over a place,
    // have a standard deviation of 5 half places.
    const auto check = [&](const std::vector<std::vector<float>>& found, float half_place) {
      REQUIRE(found.size() == expected.size());
      for (std::size_t o = 0; o < found.size(); ++o) {
        REQUIRE(found[o].size() == expected[o].size());
        float largest = 0, worst = 0;
        for (std::size_t i = 0; i < found[o].size(); ++i) {
          largest = std::max(largest, std::abs(expected[o][i]));
          worst = std::max(worst, std::abs(found[o][i] - expected[o][i]));
        }
        CHECK(worst < 15 * half_place * largest);
      }
    };
    const Graph g = gradient(op, inputs, outputs, f16);
    check(run(g, on_device({.half = true}, &few, true), 0.125f), 0x1p-11f);
    check(run(g, on_device({.half = true}, &few, false), 0.125f), 0x1p-11f);
    check(run(g, {}, 0.125f), 0x1p-11f);
    check(run<bfloat16>(gradient(op, inputs, outputs, ElementType::bfloat16), {}, 0.125f), 0x1p-8f);
    check(run<float>(gradient(op, inputs, outputs, f32), {}, 0.125f), 0x1p-24f);
  });
}

TEST_CASE("gradients of recurrent layers in float are those of cpu") {
  for_layers([](const auto& op, const Tensors& inputs, std::size_t outputs) {
    const Graph g = gradient(op, inputs, outputs, f32);
    // The nodes stay as they are: layers whose gates are kept round in another order.
    const auto expected = run<float>(g, {.stop_at_nan = true}, 0.125f);
    CHECK(run<float>(g, on_device({.half = true}, &few), 0.125f) == expected);
  });
}

TEST_CASE("gradients of recurrent layers do not depend on the host's threads") {
  for_layers([](const auto& op, const Tensors& inputs, std::size_t outputs) {
    const Graph g = gradient(op, inputs, outputs, f16);
    for (const bool is_stochastic : {false, true}) {
      SessionOptions options =
          on_device({.half = true, .stochastic_rounding = is_stochastic}, &few, true);
      options.threads = 1;
      const auto expected = run(g, options, 0.125f);
      options.threads = 3;
      CHECK(run(g, options, 0.125f) == expected);
    }
  });
}

TEST_CASE("partial sums of recurrent layers' gradients are the machine's") {
  // 512 numbers of 1 arrive at the only step's states; the weights from them to the first state
  // make the sum of the layers' own test.
  constexpr std::int64_t n = 512;
  const Tensors inputs{Dims{1, 1, 1}, Dims{1, n, 1}, Dims{1, n, n}, {}, {}, Dims{1, 1, n}};
  const op::RNN rnn{.activations = {F::affine}, .activation_alpha = {1}, .activation_beta = {0}};
  const auto weights =
      numbers<half>({1, n, n}, [](std::int64_t i) { return i / n < 16 ? 64.f : 0x1p-6f; });
  const Array<half> x({1, 1, 1}), w({1, n, 1}), h({1, 1, n});
  const auto dy = numbers<half>({1, 1, 1, n}, [](std::int64_t) { return 1.f; });
  const auto check = [&](bool has_half_sums, const Planning& planning, float expected) {
    Session session(gradient(rnn, inputs, 1, f16, planning),
                    on_device({.half = true}, &one, has_half_sums));
    const Result r = session.run({{"x0", x}, {"x1", w}, {"x2", weights}, {"x5", h}, {"dy0", dy}});
    CHECK(floats(r["d3"]) == std::vector<float>(n, expected));
  };
  check(true, {}, 1024);
  check(false, {}, 1032);
  // What the layer asks for itself holds on its way back, too.
  check(false, {.partials = f16}, 1024);
  check(true, {.partials = f32}, 1032);
}

TEST_CASE("stochastic rounding of recurrent layers' gradients is right on average") {
  // 0.1 is no half, so that slopes, products and sums all round, each to a neighbour at most 2^-10
  // of it away: eight draws, whose product's mean is that of exact arithmetic.
  const Graph g = powers(0.1f);
  Session session(g, on_device({.stochastic_rounding = true}, &few, true));
  double mean = 0;
  constexpr int runs = 1000;
  for (int i = 0; i < runs; ++i) mean += static_cast<double>(first_state(session, 3, 1)) / runs;
  const double exact = 0.09, bound = 5 * exact * std::sqrt(8.0 / runs) * 0x1p-11;
  CHECK(std::abs(mean - exact) < bound);
  Session nearest(g, on_device({.half = true}, &few, true));
  CHECK(std::abs(static_cast<double>(first_state(nearest, 3, 1)) - exact) > bound);
}

TEST_CASE("exceptions of recurrent layers' gradients name them") {
  const Graph g = powers(1);
  Session saturates(g, on_device({.half = true}, &few));
  CHECK(first_state(saturates, 300, 1) == 65504);
  CHECK(first_state(saturates, 200, 1) == 40'000);
  Session checked(g, on_device({.floating_point_checks = true}, &few));
  CHECK(first_state(checked, 200, 1) == 40'000);
  std::string where, exception;
  try {
    first_state(checked, 300, 1);
  } catch (const ipu::FloatingPointError& e) {
    where = e.node();
    exception = e.exception();
  }
  CHECK(where.find("RecurrentGradient") == 0);
  CHECK(exception == "overflow");
}

TEST_CASE("profiles of recurrent layers' gradients have products of the layers' type") {
  for_layers([](const auto& op, const Tensors& inputs, std::size_t outputs) {
    const ipu::Report r = ipu::profile(gradient(op, inputs, outputs, f16), ipu::gc200);
    std::size_t products = 0;
    for (const std::string& vertex : r.vertices) {
      if (!vertex.starts_with("poplin::ConvPartial") || vertex.find('<') == vertex.npos) continue;
      ++products;
      CHECK(vertex.ends_with("<" + std::string(name(f16)) + ">"));
    }
    CHECK(products > 0);
    const ipu::Report wide = ipu::profile(gradient(op, inputs, outputs, f32), ipu::gc200);
    CHECK(r.flops() == wide.flops());
    // The products behind the steps are too small for half to pay.
    CHECK(ipu_test::cycles_of(r, "RecurrentGradient") <
          ipu_test::cycles_of(wide, "RecurrentGradient"));
  });
}
