#include "transform/batch_parts.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include <halftone/exec/executable.hpp>
#include <halftone/halftone.hpp>
#include <halftone/transform/block_channels.hpp>
#include <halftone/transform/choose_convolutions.hpp>
#include <halftone/transform/fuse_convolutions.hpp>

#include "folder.hpp"
#include "results.hpp"

using namespace halftone;

namespace {

AnyTensor weight(Graph& g, const Dims& shape) {
  std::vector<float> values(
      static_cast<std::size_t>(TensorInfo{ElementType::float32, shape}.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 7 % 11) / 11 - 0.4f;
  return constant<float>(g, values, shape);
}

/// Images of 16 channels: two convolutions joined with what they began with, a gate for each channel,
/// both beside each other, pooled.
Graph network(std::int64_t batch, Dims image = {20, 17}) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {batch, 16, image[0], image[1]});
  const op::Conv same{.pads = {1, 1, 1, 1}};
  AnyTensor y = op::relu(op::conv(x, weight(g, {16, 16, 3, 3}), same));
  y = op::conv(y, weight(g, {16, 16, 3, 3}), same) + x;
  const AnyTensor mean = op::global_average_pool(y);
  const AnyTensor gated = y * op::sigmoid(op::conv(mean, weight(g, {16, 16, 1, 1})));
  const AnyTensor both = op::concat(std::vector<AnyTensor>{gated, y}, {.axis = 1});
  output(g, op::max_pool(both, {.kernel_shape = {2, 2}, .strides = {2, 2}}), "y");
  return g;
}

Graph ready(Graph g) {
  return choose_convolutions(block_channels(fuse_convolutions(std::move(g)), 16),
                             Convolution::fast);
}

std::int64_t parts_of(const Graph& g) {
  for (const Node& node : g.nodes) {
    if (node.op->id == op::BatchParts::id) return unpack<op::BatchParts>(node.attributes).parts;
  }
  return 1;
}

}  // namespace

TEST_CASE("batch parts: samples go through a network one by one, with the same bits") {
  const Graph whole = ready(network(6));
  // Concat reads and writes four tensors of 16 channels, for each sample.
  const std::int64_t sample = 4 * 16 * 20 * 17 * 4;
  const std::pair<std::int64_t, std::int64_t> wanted[]{{1, 6}, {2 * sample, 3}, {3 * sample, 2}};
  for (const auto& [bytes, parts] : wanted) {
    CAPTURE(bytes);
    const Graph divided = batch_parts(whole, bytes);
    CHECK(test::count(divided, op::BatchParts::id) == 1);
    // The first convolution fits three of these, and stays outside.
    CHECK(test::count(divided, op::FusedConv::id) == (parts == 2 ? 1 : 0));
    CHECK(parts_of(divided) == parts);
    CHECK(divided.outputs == whole.outputs);
    CHECK(test::results(divided) == test::results(whole));
  }
  CHECK(batch_parts(whole, 6 * sample) == whole);  // it stays in the cache as it is
}

TEST_CASE("batch parts: what all samples share, or what joins them, stays outside") {
  const auto divided = [](auto&& make) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {4, 4, 9, 9});
    output(g, make(g, x), "y");
    return batch_parts(std::move(g), 1);
  };
  const auto count = [](const Graph& g) { return test::count(g, op::BatchParts::id); };
  const auto two = [](const AnyTensor& x) {
    return op::relu(op::max_pool(x, {.kernel_shape = {2, 2}}));
  };
  CHECK(count(divided([&](Graph&, const AnyTensor& x) { return two(x); })) == 1);

  // There is no part of one sample, nor with weights that come with each run or outweigh the image, nor of
  // a product.
  Graph one;
  output(one, two(one.input<float>("x", {1, 4, 9, 9})), "y");
  CHECK(batch_parts(one, 1) == one);
  CHECK(count(divided([](Graph& g, const AnyTensor& x) {
          const AnyTensor w = g.input<float>("w", {4, 4, 3, 3});
          return op::relu(op::conv(x, w));
        })) == 0);
  CHECK(count(divided([](Graph& g, const AnyTensor& x) {
          return op::relu(op::conv(x, weight(g, {4, 4, 9, 9})));
        })) == 0);
  CHECK(count(divided([](Graph& g, const AnyTensor& x) {
          return op::relu(op::matmul(x, weight(g, {9, 9})));
        })) == 0);

  // A group stays in the cache by itself. Parts of seven samples, of which two would fit, are too small.
  CHECK(count(divided([](Graph&, const AnyTensor& x) { return op::relu(op::exp(op::neg(x))); })) ==
        0);
  for (const std::int64_t batch : {7, 8}) {
    Graph g;
    output(g, two(g.input<float>("x", {batch, 4, 9, 9})), "y");
    CHECK(count(batch_parts(std::move(g), 2 * (81 + 64) * 4 * 4)) == (batch == 8 ? 1 : 0));
  }

  // A mean over the batch stands between two bodies; its broadcast is whole in the second one.
  const Graph mean = divided([&](Graph& g, const AnyTensor& x) {
    const AnyTensor y = two(x);
    return two(y - op::mean(y, constant(g, {0})));
  });
  CHECK(count(mean) == 2);
  CHECK(test::count(mean, op::ReduceMean::id) == 1);
  // A tensor that one node reads by samples and another one whole.
  Graph whole;
  const AnyTensor a = whole.input<float>("a", {4, 4}), b = whole.input<float>("b", {4, 4, 4});
  output(whole, op::tanh(op::relu(a)), "c");
  output(whole, op::relu(a) + b, "y");
  const Graph apart = batch_parts(whole, 1);
  CHECK(test::results(apart) == test::results(whole));
}

TEST_CASE("batch parts: a session's batch takes the memory of a part") {
  constexpr std::int64_t batch = 8, pixels = 96 * 96;
  const Graph g = network(batch, {96, 96});
  Engine engine{Graph(g)};
  const std::int64_t tensor = batch * 16 * pixels * 4;  // of 16 channels
  // The whole batch would take what Concat reads and writes, and the output, with scratch memory.
  CHECK(engine.planned_bytes() < static_cast<std::size_t>(3 * tensor));

  Array<float> x({batch, 16, 96, 96});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 251) / 251;
  const AnyView given[]{x};
  engine.run(given);
  const AnyView y = engine.output(0);

  // The law: a batch is its samples, bit for bit.
  Engine alone(network(1, {96, 96}));
  for (std::int64_t n = 0; n < batch; ++n) {
    const AnyView sample[]{
        {{ElementType::float32, {1, 16, 96, 96}}, &x[static_cast<std::size_t>(n * 16 * pixels)]}};
    alone.run(sample);
    const AnyView z = alone.output(0);
    const auto bytes = static_cast<std::size_t>(z.info.bytes());
    CHECK(std::memcmp(static_cast<const std::byte*>(y.data) + static_cast<std::size_t>(n) * bytes,
                      z.data, bytes) == 0);
  }

  // Times are those of the nodes, for all samples: 2 * 9 * 16 * 16 operations a pixel and one more.
  engine.measure(true);
  engine.run(given);
  std::int64_t flops = 0;
  for (const NodeTime& time : engine.times()) {
    CHECK(time.op != "BatchParts");
    if (time.op == "Conv") flops = std::max(flops, time.flops);
  }
  CHECK(flops == batch * pixels * 2 * 9 * 16 * 16);

  const test::Folder folder;
  save_executable(engine.executable(), folder / "model.htx");
  Engine loaded(load_executable(folder / "model.htx"), {.threads = 2});
  loaded.run(given);
  const AnyView w = loaded.output(0);
  CHECK(std::memcmp(w.data, y.data, static_cast<std::size_t>(y.info.bytes())) == 0);
  CHECK(loaded.planned_bytes() == engine.planned_bytes());
}
