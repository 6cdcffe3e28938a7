#include "transform/pair_channels.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/transform/block_channels.hpp>
#include <halftone/transform/fuse_convolutions.hpp>

#include "exec/kernel_table.hpp"
#include "floats.hpp"
#include "results.hpp"

using namespace halftone;

namespace {

/// A convolution of so many filters whose weights are -1, 0 and 1, mostly 0: small integers stay small.
AnyTensor conv(Graph& g, const AnyTensor& x, std::int64_t filters, std::int64_t kernel) {
  const std::int64_t channels = g.info(x.id).shape[1];
  std::vector<float> w(static_cast<std::size_t>(filters * channels * kernel * kernel));
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::size_t place = i * 2654435761u % 1009;
    w[i] = place < 25 ? (place % 2 == 0 ? 1.f : -1.f) : 0.f;
  }
  return op::conv(x, constant<float>(g, w, {filters, channels, kernel, kernel}),
                  {.pads = Pads::filled(4, kernel / 2)});
}

AnyTensor input(Graph& g) { return g.input<float>("x", {2, 64, 6, 5}); }
AnyTensor integers(Graph& g) { return op::round(input(g) * 2.f); }

/// The graph that pair_channels gets, after the passes before it.
Graph in_blocks(Graph g) { return block_channels(fuse_convolutions(std::move(g)), float_lanes()); }

std::size_t pairs(const Graph& g) {
  std::size_t n = 0;
  for (const TensorRecord& t : g.tensors) n += t.info.type == ElementType::bfloat16;
  return n;
}

/// Checks that a graph has so many tensors of pairs, and, with integers that bfloat16 holds, its results.
void check(const Graph& g, std::size_t count) {
  const Graph ready = in_blocks(g), paired = pair_channels(ready);
  CHECK(pairs(paired) == count);
  CHECK(pair_channels(paired) == paired);
  test::for_each_pair(test::results(ready), test::results(paired),
                      [](float p, float q) { CHECK(p == q); });
}

}  // namespace

TEST_CASE("pair channels: what convolutions alone make and read") {
  Graph g;
  const AnyTensor a = op::relu(conv(g, integers(g), 64, 1));
  output(g, conv(g, op::relu(conv(g, a, 32, 3)), 48, 1), "y");
  check(g, 2);
}

TEST_CASE("pair channels: residuals are pairs or floats, as their other readers want") {
  Graph g;
  const AnyTensor a = op::relu(conv(g, integers(g), 64, 1));
  const AnyTensor b = op::relu(conv(g, a, 64, 3) + a);
  output(g, conv(g, b, 64, 1) + b, "y");
  check(g, 2);
  output(g, op::tanh(b), "z");  // b stays in floats
  check(g, 1);
}

TEST_CASE("pair channels: a Concat joins pairs of whole blocks") {
  const std::int64_t block = float_lanes();
  for (const bool is_even : {true, false}) {
    CAPTURE(is_even);
    Graph g;
    const AnyTensor a = op::relu(conv(g, integers(g), 2 * block, 1));
    const AnyTensor b = conv(g, a, (is_even ? 4 : 3) * block, 3), c = conv(g, a, 2 * block, 1);
    const AnyTensor both = op::concat(std::vector<AnyTensor>{b, c}, {.axis = 1});
    output(g, conv(g, conv(g, both, 3 * block, 1), 32, 1), "y");
    check(g, is_even ? 5 : 2);
  }
}

TEST_CASE("pair channels: MaxPool keeps pairs") {
  Graph g;
  const AnyTensor a = op::relu(conv(g, integers(g), 64, 1));
  const AnyTensor b =
      op::max_pool(a, {.kernel_shape = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}});
  output(g, conv(g, b, 64, 1), "y");
  check(g, 2);
  output(g, op::tanh(b), "z");
  check(g, 0);
}

TEST_CASE("pair channels: what something else reads or makes stays in floats") {
  Graph g;
  const AnyTensor a = op::tanh(conv(g, integers(g), 64, 1));
  const AnyTensor b = conv(g, op::round(a * 4.f), 64, 1);
  output(g, op::global_average_pool(b), "y");
  check(g, 0);
}

TEST_CASE("pair channels: convolutions by channel make and take them") {
  Graph g;
  std::vector<float> w(64 * 9);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = i % 5 == 0 ? 1.f : i % 7 == 0 ? -1.f : 0.f;
  const AnyTensor a = op::relu(conv(g, integers(g), 64, 1));
  const AnyTensor b = op::conv(a, constant<float>(g, w, {64, 1, 3, 3}),
                               {.strides = {2, 2}, .pads = {1, 1, 1, 1}, .group = 64});
  output(g, conv(g, op::relu(b), 64, 1), "y");
  check(g, 2);
}

TEST_CASE("pair channels: those of rows too wide to have as floats make them alone") {
  Graph g;
  const AnyTensor x = op::round(g.input<float>("x", {1, 32, 3, 400}) * 2.f);
  const AnyTensor w = constant<float>(g, std::vector<float>(32 * 9, 1.f), {32, 1, 3, 3});
  const AnyTensor a = op::conv(conv(g, x, 32, 1), w, {.pads = {1, 1, 1, 1}, .group = 32});
  output(g, conv(g, a, 64, 1), "y");
  check(g, 1);
}

TEST_CASE("pair channels: other grouped convolutions and few channels stay in floats") {
  Graph g;
  const AnyTensor x = input(g);
  const std::int64_t block = float_lanes();
  const AnyTensor a = conv(g, x, block, 1), b = conv(g, a, block / 2, 1);
  const AnyTensor v = parameter<float, Shape<64, 32, 3, 3>>(g, "v");
  output(g, conv(g, b, 64, 1), "y");
  output(g, op::conv(conv(g, x, 64, 1), v, {.group = 2}), "z");
  const Graph ready = in_blocks(g);
  CHECK(pair_channels(ready) == ready);
}

// Both factors of a product are off by up to 2^-8 of themselves in bfloat16, and a residual is once more.
TEST_CASE("pair channels: a session in bfloat16 is as near as its products") {
  if (!has_products_in(Precision::bfloat16)) return;
  Graph g;
  const auto weights = [&](const char* name, std::int64_t kernel) {
    return AnyTensor{&g, g.add_variable({ElementType::float32, {64, 64, kernel, kernel}},
                                        Initial{Initial::Rule::uniform, -0.1f, 0.1f}, name)};
  };
  const AnyTensor a = op::relu(op::conv(input(g), weights("a", 1)));
  const AnyTensor b = op::relu(op::conv(a, weights("b", 3), {.pads = {1, 1, 1, 1}}) + a);
  output(g, op::conv(b, weights("c", 1)), "y");
  Array<float> x({2, 64, 6, 5});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 0.37f);
  Session exact(g), session(g, {.precision = Precision::bfloat16});
  const test::Floats expected = test::floats_of(exact.run({{"x", x}})[0]);
  const test::Floats y = test::floats_of(session.run({{"x", x}})[0]);
  // Magnitudes grow by up to 64, 576 + 1 and 64 tenths.
  const float most = 6.4f * 58.6f * 6.4f;
  std::size_t wrong = 0, same = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    wrong += !(std::abs(y[i] - expected[i]) <= most * 7 * 0x1p-8f);
    same += y[i] == expected[i];
  }
  CHECK(wrong == 0);
  CHECK(same < y.size() / 8);
}
