#include <halftone/transform/fuse_convolutions.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <halftone/halftone.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

AnyTensor convolution(Graph& g, const AnyTensor& x) {
  return op::conv(x, parameter<float, Shape<4, 4, 3, 3>>(g, "w"), {.pads = {1, 1, 1, 1}});
}

/// The sum of a product of 36 terms below 1 / 2 in another order: 36 roundings of it.
void check_close(const Graph& a, const Graph& b) {
  test::for_each_pair(test::results(a), test::results(b),
                      [](float p, float q) { CHECK(std::abs(p - q) <= 36 * 36 * 0x1p-24f); });
}

}  // namespace

TEST_CASE("fuse convolutions: takes in a residual and a clamp") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, 4, 6, 5});
  const AnyTensor limit = constant<float>(g, std::vector{0.25f}, {});
  output(g, op::clip(op::add(x, convolution(g, x)), none, limit), "y");
  const Graph fused = fuse_convolutions(g);
  REQUIRE(fused.nodes.size() == 1);
  const auto conv = unpack<op::FusedConv>(fused.nodes[0].attributes);
  CHECK(fused.nodes[0].inputs[3] == x.id);
  CHECK(conv.clamp);
  CHECK(conv.upper == 0.25f);
  CHECK(std::ranges::equal(conv.pads.span(), Dims{1, 1, 1, 1}.span()));
  CHECK(fused.outputs == g.outputs);
  CHECK(fuse_convolutions(fused) == fused);
  check_close(g, fused);
}

TEST_CASE("fuse convolutions: leaves values alone that something else reads") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, 4, 6, 5});
  const AnyTensor y = convolution(g, x);
  output(g, op::relu(y), "relu");
  output(g, op::tanh(y), "tanh");
  const Graph fused = fuse_convolutions(g);
  CHECK(fused.nodes.size() == 3);
  CHECK(test::count(fused, op::Relu::id) == 1);
  check_close(g, fused);

  // An output of the graph is read outside of it.
  Graph seen;
  const AnyTensor z = convolution(seen, seen.input<float>("x", {1, 4, 6, 5}));
  output(seen, z, "y");
  output(seen, op::relu(z), "relu");
  CHECK(fuse_convolutions(seen).nodes.size() == 2);
}

TEST_CASE("fuse convolutions: what comes behind a clamp or is broadcast stays") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, 4, 6, 5});
  const AnyTensor row = g.input<float>("row", {5});
  const AnyTensor other = g.input<float>("other", {1, 4, 6, 5});
  output(g, op::add(op::relu(convolution(g, x)), other), "behind");
  output(g, op::relu(op::add(convolution(g, other), row)), "broadcast");
  // A limit that is computed, and one-dimensional convolutions.
  output(g, op::clip(convolution(g, x), op::neg(op::squeeze(g.input<float>("low", {1})))), "low");
  const AnyTensor line = g.input<float>("line", {1, 2, 9});
  output(g, op::relu(op::conv(line, parameter<float, Shape<2, 2, 3>>(g, "v"))), "line_out");
  const Graph fused = fuse_convolutions(g);
  CHECK(test::count(fused, op::Add::id) == 2);
  CHECK(test::count(fused, op::Relu::id) == 2);
  CHECK(test::count(fused, op::Clip::id) == 1);
  CHECK(test::count(fused, op::Conv::id) == 1);
  CHECK(test::count(fused, op::FusedConv::id) == 3);
  check_close(g, fused);
}

TEST_CASE("fuse convolutions: a transposed one with steps of 1 has flipped weights") {
  const auto fused_of = [](const Dims& w, const op::ConvTranspose& conv) {
    Graph g;
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < product(w); ++i) {
      numbers.push_back(static_cast<float>(i * 37 % 31 - 15) / 31);
    }
    const AnyTensor x = g.input<float>("x", {2, 4, 6, 5}), v = constant<float>(g, numbers, w);
    output(g, op::relu(op::conv_transpose(x, v, conv)), "y");
    const Graph fused = fuse_convolutions(g);
    check_close(g, fused);
    return fused;
  };
  const op::ConvTranspose forms[]{{},
                                  {.pads = {1, 1, 1, 1}},
                                  {.pads = {0, 2, 1, 0}},
                                  {.dilations = {2, 1}, .pads = {3, 0, 1, 1}},
                                  {.auto_pad = AutoPad::same_upper}};
  for (const op::ConvTranspose& conv : forms) {
    const Graph fused = fused_of({4, 3, 3, 3}, conv);
    REQUIRE(fused.nodes.size() == 1);
    CHECK(unpack<op::FusedConv>(fused.nodes[0].attributes).flipped);
    CHECK(unpack<op::FusedConv>(fused.nodes[0].attributes).clamp);
  }
  // Steps, groups, and pads that cut more off than a convolution can.
  CHECK(fused_of({4, 3, 3, 3}, {.strides = {2, 2}}).nodes.size() == 2);
  CHECK(fused_of({4, 3, 3, 3}, {.group = 2}).nodes.size() == 2);
  CHECK(fused_of({4, 3, 1, 1}, {.pads = {1, 1, 1, 1}}).nodes.size() == 2);
}
