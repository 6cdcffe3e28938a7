#include <halftone/transform/block_channels.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/fuse_convolutions.hpp>
#include <halftone/transform/fuse_quantized.hpp>
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

/// Bytes of one sign and weights of the other, whose scales are those of filters.
class QuantizedNetwork {
 public:
  explicit QuantizedNetwork(ElementType weights = ElementType::int8) : weights_(weights) {}
  Graph g;

  AnyTensor input(const Dims& shape) {
    return op::quantize_linear(g.input<float>("x", shape), number(1 / 255.f), zero());
  }
  AnyTensor conv(const AnyTensor& x, std::int64_t filters, std::int64_t kernel,
                 op::Conv conv = {}) {
    const std::int64_t channels = x.info().shape[1] / conv.group;
    conv.pads = Pads::filled(4, kernel / 2);
    const Dims shape{filters, channels, kernel, kernel};
    const bool is_signed = weights_ == ElementType::int8;
    const AnyTensor w = is_signed ? bytes<std::int8_t>(shape, 0) : bytes<std::uint8_t>(shape, 128);
    const AnyTensor w_zero =
        is_signed ? AnyTensor(constant<std::int8_t>(g, std::vector<std::int8_t>{0}, {}))
                  : AnyTensor(constant<std::uint8_t>(g, std::vector<std::uint8_t>{128}, {}));
    AnyTensor y = op::conv_integer(x, w, zero(), w_zero, {.conv = conv});
    std::vector<float> scales;
    for (std::int64_t f = 0; f < filters; ++f)
      scales.push_back(1e-6f * static_cast<float>(f % 5 + 1));
    const Dims by_filter{1, filters, 1, 1};
    y = op::mul(op::cast(y, {.to = ElementType::float32}), constant<float>(g, scales, by_filter));
    return to_bytes(y);
  }
  AnyTensor floats(const AnyTensor& x) { return op::dequantize_linear(x, number(0.0125f), zero()); }
  /// As QuantizeLinear has it.
  AnyTensor to_bytes(const AnyTensor& y) {
    const AnyTensor v = op::add(op::round(op::div(y, number(0.0125f))), number(7));
    return op::cast(v, {.to = ElementType::uint8});
  }
  AnyTensor normalized(const AnyTensor& y) {
    const std::int64_t channels = y.info().shape[1];
    const auto numbers = [&](float first, float step) {
      std::vector<float> list;
      for (std::int64_t c = 0; c < channels; ++c) {
        list.push_back(first + step * static_cast<float>(c % 7));
      }
      return constant<float>(g, list, {channels});
    };
    return op::batch_normalization(y, numbers(0.5f, 0.1f), numbers(-0.2f, 0.1f), numbers(0, 0.05f),
                                   numbers(1, 0.2f));
  }
  void give(const AnyTensor& y, std::string_view name) { output(g, y, name); }

 private:
  AnyTensor number(float value) { return constant<float>(g, std::vector{value}, {}); }
  AnyTensor zero() { return constant<std::uint8_t>(g, std::vector<std::uint8_t>{7}, {}); }
  template <class T>
  AnyTensor bytes(const Dims& shape, int middle) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < product(shape); ++i) {
      values.push_back(static_cast<T>(i * 89 % 251 - 125 + middle));
    }
    return constant(g, std::span<const T>(values), shape);
  }
  ElementType weights_;
};

std::size_t channels_last(const Graph& g) {
  std::size_t n = 0;
  for (const Node& node : g.nodes) {
    n += node.op->id == op::QuantizedConv::id &&
         unpack<op::QuantizedConv>(node.attributes).channels_last;
  }
  return n;
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

namespace {

/// Blocks of a MobileNet in training, with a residual, gates and channels that are joined, and the gradients of all
/// its parameters. Channels that do not fill blocks, too, strides, and groups.
Graph trained_network() {
  Graph g;
  std::vector<TensorId> parameters;
  int number = 0;
  const auto list = [&](const Dims& shape, float least, float most) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < product(shape); ++i) {
      values.push_back(least + (most - least) * static_cast<float>((i * 37 + number) % 101) / 100);
    }
    ++number;
    const TensorId id = g.add_variable({ElementType::float32, shape},
                                       detail::bytes_of(std::span<const float>(values)),
                                       "p" + std::to_string(number));
    parameters.push_back(id);
    return AnyTensor{&g, id};
  };
  const auto conv = [&](const AnyTensor& x, std::int64_t filters, std::int64_t taps, op::Conv c) {
    const std::int64_t channels = x.info().shape[1] / c.group;
    c.pads = Pads::filled(4, taps / 2);
    return op::conv(x, list({filters, channels, taps, taps}, -0.2f, 0.25f), c);
  };
  const auto normalized = [&](const AnyTensor& x) {
    const std::int64_t channels = x.info().shape[1];
    const AnyTensor scale = list({channels}, 0.5f, 1.5f), bias = list({channels}, -0.5f, 0.7f);
    const AnyTensor mean =
        constant<float>(g, std::vector<float>(std::size_t(channels)), {channels});
    const AnyTensor one =
        constant<float>(g, std::vector<float>(std::size_t(channels), 1), {channels});
    std::vector<AnyTensor> made;
    for (const TensorId id : detail::record(g, op::BatchNormalization{.training_mode = 1},
                                            {x.id, scale.id, bias.id, mean.id, one.id}, 3)) {
      made.push_back({&g, id});
    }
    return made;
  };
  const AnyTensor zero = constant<float>(g, std::vector{0.f}, {}),
                  six = constant<float>(g, std::vector{1.f}, {});
  const AnyTensor x = g.input<float>("x", {3, 3, 17, 14});
  AnyTensor y = op::relu(normalized(conv(x, 32, 3, {.strides = {2, 2}}))[0]);
  y = op::clip(normalized(conv(y, 32, 3, {.group = 32}))[0], zero, six);
  const auto narrow = normalized(conv(y, 24, 1, {}));
  y = op::clip(normalized(conv(narrow[0], 48, 1, {}))[0], zero, six);
  y = op::relu(normalized(conv(y, 48, 5, {.group = 48}))[0]);
  y = op::add(narrow[0], normalized(conv(y, 24, 1, {}))[0]);
  y = op::hard_swish(normalized(conv(y, 32, 1, {}))[0]);
  y = op::mul(y, op::hard_sigmoid(conv(op::global_average_pool(y), 32, 1, {})));
  const AnyTensor more = op::conv(y, list({32, 32, 1, 1}, -0.2f, 0.2f), list({32}, -0.5f, 0.5f));
  y = op::concat(std::vector<AnyTensor>{y, op::relu(more)}, {.axis = 1});
  y = normalized(conv(normalized(y)[0], 64, 3, {.strides = {2, 2}, .group = 32}))[0];
  y = op::relu(conv(y, 48, 3, {.strides = {2, 2}}));
  const AnyTensor loss = op::mean(op::mul(y, y), {.keepdims = 0});
  g.add_output(loss.id);
  g.add_output(narrow[1].id);
  g.add_output(narrow[2].id);
  for (const TensorId id : differentiate(g, loss.id, parameters)) g.add_output(id);
  return fuse_convolutions(std::move(g));
}

}  // namespace

// Other orders of sums of up to 3 * 9 * 7 * 48 terms, whose roundings ten layers hand on: relative to the largest
// number of a tensor, as small ones may be differences of large ones.
TEST_CASE("block channels: what is trained stays in blocks between its image and its loss") {
  Graph g = trained_network();
  Graph blocked = block_channels(g, float_lanes());
  CHECK(infer(blocked).empty());
  CHECK(test::count(blocked, op::BatchNormalization::id) == 0);
  CHECK(test::count(blocked, op::BatchNormalizationGradient::id) == 0);
  CHECK(test::count(blocked, op::BlockedBatchNormalizationGradient::id) == 9);
  CHECK(test::count(blocked, op::ChannelMoments::id) == 9);
  CHECK(test::count(blocked, op::ConvTranspose::id) == 0);
  CHECK(test::count(blocked, op::BlockedConvTranspose::id) == 4);
  CHECK(test::count(blocked, op::Clip::id) == 0);
  CHECK(test::count(blocked, op::Relu::id) == 0);
  // The loss is computed outside of blocks: one reorder leads to it, and one leads back.
  CHECK(test::count(blocked, op::ReorderChannels::id) == 2);
  const test::Results found = test::results(blocked), expected = test::results(g);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    float largest = 0;
    test::for_each_pair({expected[i]}, {expected[i]},
                        [&](float a, float) { largest = std::max(largest, std::abs(a)); });
    CHECK(largest > 0);
    largest = std::max(largest, 0.01f);  // a normalization undoes some parameters
    test::for_each_pair({found[i]}, {expected[i]}, [&](float a, float b) {
      CHECK(std::abs(a - b) <= 10 * 3 * 9 * 7 * 0x1p-24f * largest);
    });
  }
}

TEST_CASE("block channels: activations that a training gives are those of each micro-batch") {
  // A 1 x 1 convolution with the identity gives its input.
  constexpr std::int64_t channels = 32, micro_batches = 3;
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, channels, 3, 2});
  std::vector<float> identity(channels * channels);
  for (std::size_t i = 0; i < channels; ++i) identity[i * (channels + 1)] = 1;
  const AnyTensor w =
      parameter<float, Shape<channels, channels, 1, 1>>(g, "w", std::span<const float>(identity));
  const AnyTensor y = op::relu(op::conv(x, w));
  const AnyTensor loss = op::mean(op::mul(y, y), {.keepdims = 0});
  train(g, loss, Sgd{.learning_rate = 0.5f}, {.accumulation = micro_batches});
  Session session(std::move(g), {.outputs = {y, loss}, .accumulation = micro_batches});
  Array<float> values({micro_batches, 1, channels, 3, 2});
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) - 6;
  const auto result = session.run({{"x", values}});
  const auto given = result[0].values<float>();
  REQUIRE(given.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(given[i] == std::max(values[i], 0.f));
}

// Sums of 288 and of 4608 products below 100.
TEST_CASE("block channels: weights that a convolution makes are plain") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 32, 6, 5}), y = g.input<float>("y", {32, 16, 3, 3});
  const AnyTensor v = parameter<float, Shape<32, 16, 1, 1>>(g, "v");
  output(g, op::conv(x, op::conv(y, v), {.pads = {1, 1, 1, 1}}), "z");
  g = fuse_convolutions(std::move(g));
  Graph blocked = block_channels(g, float_lanes());
  CHECK(infer(blocked).empty());
  test::for_each_pair(test::results(blocked), test::results(g), [](float a, float b) {
    CHECK(std::abs(a - b) <= 100 * (288 + 288 * 16) * 0x1p-24f);
  });
}

TEST_CASE("block channels: memory that changes is brought into blocks anew") {
  constexpr std::int64_t channels = 32;
  Graph g;
  const AnyTensor v = parameter<float, Shape<1, channels, 3, 2>>(g, "v");
  const AnyTensor w = parameter<float, Shape<channels, channels, 1, 1>>(g, "w");
  const AnyTensor x = g.input<float>("x", {1, channels, 3, 2});
  output(g, op::conv(v, w), "before");
  op::copy_var_update(v, x);
  output(g, op::conv(v, w), "after");
  output(g, op::conv(x, w), "expected");
  g = block_channels(fuse_convolutions(std::move(g)), float_lanes());
  CHECK(test::count(g, op::FusedConv::id) == 3);
  const test::Results found = test::results(g);
  const auto are_same = [&](std::size_t a, std::size_t b) {
    bool same = true;
    test::for_each_pair({found[a]}, {found[b]}, [&](float p, float q) { same = same && p == q; });
    return same;
  };
  CHECK(are_same(1, 2));
  CHECK(!are_same(0, 1));
}

TEST_CASE("block channels: a graph without convolutions stays as it is") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, 32, 4, 4});
  output(g, op::relu(op::max_pool(x, {.kernel_shape = {2, 2}})), "y");
  CHECK(block_channels(g, 16) == g);
}

TEST_CASE("block channels: bytes between quantized convolutions have their channels last") {
  for (const ElementType weights : {ElementType::int8, ElementType::uint8}) {
    QuantizedNetwork n(weights);
    const AnyTensor x = n.input({2, 3, 20, 18});
    const AnyTensor a = n.conv(x, 20, 3, {.strides = {2, 2}});
    const AnyTensor b = n.conv(n.conv(a, 20, 3, {.group = 20}), 20, 1);
    const AnyTensor c = n.to_bytes(op::relu(n.floats(a) + n.floats(b)));
    const AnyTensor d = op::max_pool(c, {.kernel_shape = {3, 3}, .strides = {2, 2}});
    const AnyTensor e = op::concat(std::vector<AnyTensor>{d, n.conv(d, 12, 3)}, {.axis = 1});
    const AnyTensor y = n.conv(e, 70, 1);
    n.give(y, "y");
    n.give(op::global_average_pool(n.floats(y)), "mean");
    const Graph g = fuse_quantized(std::move(n.g));
    CHECK(test::count(g, op::QuantizedConv::id) == 5);
    Graph blocked = block_channels(g, float_lanes(), true);
    CHECK(infer(blocked).empty());
    CHECK(channels_last(blocked) == 5);
    // The image comes in, and both outputs go out.
    CHECK(test::count(blocked, op::ReorderChannels::id) == 3);
    const test::Results found = test::results(blocked), expected = test::results(g);
    CHECK(found[0] == expected[0]);
    // The mean of 20 numbers below 4.
    for (std::size_t at = 0; at < found[1].size(); at += sizeof(float)) {
      float p, q;
      std::memcpy(&p, found[1].data() + at, sizeof p);
      std::memcpy(&q, expected[1].data() + at, sizeof q);
      CHECK(std::abs(p - q) <= 4 * 20 * 0x1p-24f);
    }
  }
}

TEST_CASE("block channels: as many bytes as a block has floats are no floats") {
  QuantizedNetwork n;
  const std::int64_t channels = float_lanes();
  const AnyTensor a = n.conv(n.input({1, 4, 6, 6}), channels, 3);
  const AnyTensor c = n.to_bytes(op::relu(n.floats(a) + n.floats(n.conv(a, channels, 1))));
  n.give(op::max_pool(c, {.kernel_shape = {2, 2}}), "y");
  const Graph g = fuse_quantized(std::move(n.g));
  Graph blocked = block_channels(g, float_lanes(), true);
  CHECK(infer(blocked).empty());
  CHECK(test::count(blocked, op::ReorderChannels::id) == 2);
  CHECK(test::results(blocked) == test::results(g));
}

TEST_CASE("block channels: a normalization between quantized convolutions has channels last, too") {
  QuantizedNetwork n;
  const AnyTensor a = n.conv(n.input({1, 3, 9, 9}), 20, 3);
  n.give(n.conv(n.to_bytes(op::relu(n.normalized(n.floats(a)))), 8, 1), "y");
  const Graph g = fuse_quantized(std::move(n.g));
  Graph blocked = block_channels(g, float_lanes(), true);
  CHECK(infer(blocked).empty());
  CHECK(channels_last(blocked) == 2);
  CHECK(test::count(blocked, op::BatchNormalization::id) == 0);
  CHECK(test::count(blocked, op::ReorderChannels::id) == 2);
  // Three roundings where the operator has others: a byte between may differ by one, which 20 weights of
  // less than 128 with a scale of 5e-6 make less than one of 0.0125.
  const test::Results found = test::results(blocked), expected = test::results(g);
  for (std::size_t i = 0; i < expected[0].size(); ++i) {
    const int p = static_cast<unsigned char>(found[0][i]);
    const int q = static_cast<unsigned char>(expected[0][i]);
    CHECK(std::abs(p - q) <= 1);
  }
}

TEST_CASE("block channels: convolutions of bytes that the kernels do not take stay plain") {
  QuantizedNetwork n;
  const AnyTensor x = n.input({1, 8, 12, 12});
  const AnyTensor grouped = n.conv(x, 8, 3, {.group = 2});
  const AnyTensor wide = n.conv(n.conv(grouped, 16, 1), 16, 9, {.group = 16});
  n.give(n.conv(wide, 3, 1), "y");
  const Graph g = fuse_quantized(std::move(n.g));
  const Graph blocked = block_channels(g, float_lanes(), true);
  CHECK(channels_last(blocked) == 2);
  CHECK(test::count(blocked, op::QuantizedConv::id) == 4);
  CHECK(test::results(blocked) == test::results(g));
  CHECK(channels_last(block_channels(g, float_lanes())) == 0);
  // Filters with zero points of their own.
  Graph other;
  const AnyTensor bytes =
      op::cast(other.input<float>("x", {1, 4, 5, 5}), {.to = ElementType::uint8});
  const std::vector<std::int8_t> w(16, 3), middle{0, 1, 0, 0};
  AnyTensor y = op::conv_integer(bytes, constant(other, std::span(w), {4, 4, 1, 1}), none,
                                 constant(other, std::span(middle), {4}));
  y = op::mul(op::cast(y, {.to = ElementType::float32}),
              constant<float>(other, std::vector{1.f}, {}));
  y = op::round(op::div(y, constant<float>(other, std::vector{2.f}, {})));
  output(other, op::cast(y, {.to = ElementType::uint8}), "y");
  const Graph fused = fuse_quantized(other);
  CHECK(test::count(fused, op::QuantizedConv::id) == 1);
  CHECK(channels_last(block_channels(fused, 16, true)) == 0);
}
