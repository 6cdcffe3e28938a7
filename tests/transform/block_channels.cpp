#include <halftone/transform/block_channels.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/transform/infer.hpp>

#include "exec/kernel_table.hpp"
#include "results.hpp"

using namespace halftone;

namespace {

/// A convolution of 32 channels, Relu, pooling and another convolution, joined with a first one.
Graph convolutions() {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 32, 6, 5});
  const AnyTensor v = parameter<float, Shape<32, 32, 3, 3>>(g, "v"),
                  w = parameter<float, Shape<32, 64, 1, 1>>(g, "w");
  const AnyTensor a = op::relu(op::conv(x, v, {.pads = {1, 1, 1, 1}}));
  const AnyTensor both = op::concat(std::vector<AnyTensor>{a, op::tanh(a)}, {.axis = 1});
  const AnyTensor y = op::max_pool(both, {.kernel_shape = {2, 2}, .strides = {2, 2}});
  output(g, op::conv(y, w), "y");
  return fuse_convolutions(std::move(g));
}

}  // namespace

TEST_CASE("a truth value of a convolution's output is not brought into blocks of channels") {
  // A 1 x 1 convolution with the identity gives its input; 32 channels fill blocks of any size.
  constexpr std::int64_t channels = 32;
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, channels, 2, 2});
  std::vector<float> identity(channels * channels);
  for (std::size_t i = 0; i < channels; ++i) identity[i * (channels + 1)] = 1;
  const AnyTensor y = op::conv(x, constant<float>(g, identity, {channels, channels, 1, 1}));
  output(g, op::greater(y, constant<float>(g, std::vector{0.5f}, {1})), "is_large");
  Session session(std::move(g));
  Array<float> values({1, channels, 2, 2});
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? 1.f : 0.f;
  const auto result = session.run({{"x", values}});
  const auto is_large = result[0].values<bool>();
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(is_large[i] == (i % 3 == 0));
}

TEST_CASE("block channels: results stay within the rounding of another order of sums") {
  const Graph g = convolutions();
  const test::Results plain = test::results(g);
  for (const std::int64_t block : {4, 8, 16}) {
    CAPTURE(block);
    Graph blocked = block_channels(g, block);
    CHECK(infer(blocked).empty());
    CHECK(blocked.info(blocked.outputs[0]) == g.info(g.outputs[0]));
    std::size_t in_blocks = 0;
    for (const Node& node : blocked.nodes) {
      in_blocks += blocked.info(node.outputs[0]).rank() == 5 ? 1 : 0;
    }
    CHECK(in_blocks >= 4);  // all but the last one stay in blocks
    if (block != float_lanes()) continue;
    const test::Results other = test::results(blocked);
    REQUIRE(other[0].size() == plain[0].size());
    for (std::size_t at = 0; at < plain[0].size(); at += sizeof(float)) {
      float p, q;
      std::memcpy(&p, plain[0].data() + at, sizeof p);
      std::memcpy(&q, other[0].data() + at, sizeof q);
      // Sums of 288 and of 64 products: relative to the sum of their sizes, below 100.
      CHECK(std::abs(p - q) <= 100 * (288 + 64) * 0x1p-24f);
    }
  }
}

// Other roundings of the same formula: 64 products of the first convolution, then three operations that
// kernels for some processors contract; all values below 100.
TEST_CASE("block channels: a normalization that no convolution takes in joins its neighbours") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 32, 9, 8});
  const AnyTensor w = parameter<float, Shape<32, 32, 1, 1>>(g, "w");
  const AnyTensor both =
      op::concat(std::vector<AnyTensor>{op::conv(x, w), op::conv(x, w)}, {.axis = 1});
  std::vector<float> lists[4];
  for (std::size_t c = 0; c < 64; ++c) {
    const auto at = static_cast<float>(c) / 64;
    lists[0].push_back(1 - at);
    lists[1].push_back(at - 0.5f);
    lists[2].push_back(2 * at - 1);
    lists[3].push_back(0.5f + at);
  }
  AnyTensor p[4];
  for (std::size_t i = 0; i < 4; ++i) p[i] = constant<float>(g, lists[i], {64});
  output(g, op::relu(op::batch_normalization(both, p[0], p[1], p[2], p[3])[0]), "y");
  g = fuse_convolutions(std::move(g));
  Graph blocked = block_channels(g, float_lanes());
  CHECK(infer(blocked).empty());
  CHECK(test::count(blocked, op::BatchNormalization::id) == 0);
  CHECK(test::count(blocked, op::Mul::id) == 1);
  // Only what comes in and goes out is reordered.
  CHECK(test::count(blocked, op::ReorderChannels::id) == 2);
  test::for_each_pair(test::results(blocked), test::results(g), [](float a, float b) {
    CHECK(std::abs(a - b) <= 100 * (64 + 4) * 0x1p-24f);
  });
}

TEST_CASE("block channels: gates of each image's channels stay in blocks") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 32, 6, 5}),
                  given = g.input<float>("g", {2, 32, 1, 1});
  const AnyTensor v = parameter<float, Shape<32, 32, 3, 3>>(g, "v"),
                  w = parameter<float, Shape<32, 32, 1, 1>>(g, "w");
  const AnyTensor y = op::conv(x, v, {.pads = {1, 1, 1, 1}});
  const AnyTensor gate = op::sigmoid(op::conv(op::global_average_pool(y), w));
  output(g, op::mul(op::mul(y, gate), given), "y");
  g = fuse_convolutions(std::move(g));
  Graph blocked = block_channels(g, float_lanes());
  CHECK(infer(blocked).empty());
  // The gate that is given comes into blocks, the output goes out of them.
  CHECK(test::count(blocked, op::ReorderChannels::id) == 2);
  // The product that is not in y's memory any more is still called y.
  const Node& last = blocked.nodes[blocked.nodes.size() - 2];
  CHECK(last.op->id == op::Mul::id);
  CHECK(blocked.name(last) == "y");
  // Sums of 288, 30 and 32 terms, all of products below 100.
  test::for_each_pair(test::results(blocked), test::results(g), [](float a, float b) {
    CHECK(std::abs(a - b) <= 100 * (288 + 30 + 32) * 0x1p-24f);
  });
}

TEST_CASE("block channels: a graph without convolutions stays as it is") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, 32, 4, 4});
  output(g, op::relu(op::max_pool(x, {.kernel_shape = {2, 2}})), "y");
  CHECK(block_channels(g, 16) == g);
}
