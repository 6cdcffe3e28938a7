// The law: a product that takes in what makes bytes of its sums gives the same bytes.
#include <halftone/transform/fuse_quantized.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/transform/block_channels.hpp>
#include <halftone/transform/infer.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

struct Case {
  Dims x, w;
  op::Conv conv{};
  bool has_addend = false, has_bias = false, has_clip = false, has_zeros = true;
  ElementType to = ElementType::uint8;
  float y_scale = 0.031f;
};

/// Numbers of both signs in no order.
template <class T>
AnyTensor numbers(Graph& g, const Dims& shape, float factor) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < product(shape); ++i) {
    const auto k = static_cast<float>(i * 89 % 251 - 125);
    values.push_back(static_cast<T>(k * factor));
  }
  return constant(g, std::span<const T>(values), shape);
}

AnyTensor one(Graph& g, float value) { return constant<float>(g, std::vector{value}, {}); }

Graph graph_of(const Case& c) {
  Graph g;
  const std::int64_t filters = c.w[0];
  Dims channels = Dims::filled(c.x.size() - 1, 1);
  channels[0] = filters;
  const AnyTensor x =
      op::quantize_linear(g.input<float>("x", c.x), one(g, 1 / 255.f),
                          constant<std::uint8_t>(g, std::vector<std::uint8_t>{7}, {}));
  const AnyTensor w = numbers<std::int8_t>(g, c.w, 1);
  const AnyTensor x_zero = constant<std::uint8_t>(g, std::vector<std::uint8_t>{7}, {});
  AnyTensor y = c.has_zeros ? op::conv_integer(x, w, x_zero, numbers<std::int8_t>(g, {filters}, 1),
                                               {.conv = c.conv})
                            : op::conv_integer(x, w, x_zero, none, {.conv = c.conv});
  if (c.has_addend) y = op::add(y, numbers<std::int32_t>(g, channels, 1000));
  y = op::mul(op::cast(y, {.to = ElementType::float32}), numbers<float>(g, channels, 1e-6f));
  if (c.has_bias) y = op::add(numbers<float>(g, channels, 0.003f), y);
  if (c.has_clip) y = op::clip(y, one(g, -0.5f), one(g, 2));
  y = op::round(op::div(y, one(g, c.y_scale)));
  y = op::add(y, one(g, c.to == ElementType::uint8 ? 113.f : -3.f));
  output(g, op::cast(y, {.to = c.to}), "y");
  return g;
}

struct Product {
  Dims a, b;
  bool has_addend = false, has_bias = false, has_clip = false, has_zeros = true;
  ElementType to = ElementType::uint8;
  bool is_constant = true;  ///< b
};

Graph graph_of(const Product& p) {
  Graph g;
  const AnyTensor zero = constant<std::uint8_t>(g, std::vector<std::uint8_t>{7}, {});
  const AnyTensor a = op::quantize_linear(g.input<float>("a", p.a), one(g, 1 / 255.f), zero);
  const AnyTensor b = p.is_constant ? numbers<std::int8_t>(g, p.b, 1)
                                    : op::cast(g.input<float>("b", p.b), {.to = ElementType::int8});
  const std::int64_t n = p.b.back();
  AnyTensor y = p.has_zeros ? op::matmul_integer(a, b, zero, numbers<std::int8_t>(g, {n}, 1))
                            : op::matmul_integer(a, b, zero, none);
  if (p.has_addend) y = op::add(y, numbers<std::int32_t>(g, {n}, 1000));
  y = op::mul(op::cast(y, {.to = ElementType::float32}), numbers<float>(g, {n}, 1e-6f));
  if (p.has_bias) y = op::add(numbers<float>(g, {1, n}, 0.003f), y);
  if (p.has_clip) y = op::clip(y, one(g, -0.5f), one(g, 2));
  y = op::round(op::div(y, one(g, 0.031f)));
  y = op::add(y, one(g, p.to == ElementType::uint8 ? 113.f : -3.f));
  output(g, op::cast(y, {.to = p.to}), "y");
  return g;
}

/// Convolutions of a network with residuals, as QDQ graphs have them.
struct Residuals {
  Graph g{};
  ElementType type = ElementType::uint8;
  float scale = 0.021f, zero = type == ElementType::uint8 ? 113.f : -3.f;

  AnyTensor input() {
    const AnyTensor x = g.input<float>("x", {2, 6, 7, 9});
    return op::cast(op::mul(x, one(g, 10)), {.to = type});
  }
  AnyTensor conv(const AnyTensor& x) {
    const AnyTensor y = op::conv_integer(x, numbers<std::int8_t>(g, {6, 6, 3, 3}, 1), none, none,
                                         {.conv = {.pads = {1, 1, 1, 1}}});
    return to_bytes(
        op::mul(op::cast(y, {.to = ElementType::float32}), numbers<float>(g, {6, 1, 1}, 1e-6f)));
  }
  AnyTensor to_bytes(const AnyTensor& y) { return to_bytes(y, type); }
  AnyTensor to_bytes(const AnyTensor& y, ElementType to) {
    return op::cast(op::add(op::round(op::div(y, one(g, scale))), one(g, zero)), {.to = to});
  }
  AnyTensor floats(const AnyTensor& y) { return floats(y, scale); }
  AnyTensor floats(const AnyTensor& y, float by) {
    return op::mul(op::sub(op::cast(y, {.to = ElementType::float32}), one(g, zero)), one(g, by));
  }
};

}  // namespace

TEST_CASE("fuse quantized: a convolution adds the numbers of other bytes to those of its own") {
  for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
    Residuals r{.type = type};
    const AnyTensor x = r.input();
    const AnyTensor a = r.to_bytes(op::relu(op::add(r.floats(r.conv(x)), r.floats(x, 0.1f))));
    // The residual comes first, without a zero point.
    const AnyTensor plain = op::mul(one(r.g, 0.3f), op::cast(a, {.to = ElementType::float32}));
    const AnyTensor b = r.to_bytes(op::add(plain, r.floats(r.conv(a))));
    // One of two convolutions adds the other's bytes.
    const AnyTensor c = r.to_bytes(op::add(r.floats(r.conv(b)), r.floats(r.conv(a))));
    output(r.g, c, "y");
    const Graph fused = fuse_quantized(r.g);
    CHECK(test::count(fused, op::QuantizedConv::id) == 4);
    CHECK(fused.nodes.size() == 4 + 2);  // those of x
    CHECK(test::results(fused) == test::results(r.g));
    Graph blocked = block_channels(fused, float_lanes(), true);
    CHECK(infer(blocked).empty());
    CHECK(test::count(blocked, op::ReorderChannels::id) == 2);
    CHECK(test::results(blocked) == test::results(r.g));
  }
}

TEST_CASE("fuse quantized: additions of other numbers stay") {
  enum Form { other_scale, read, by_channel, other_type, of_itself, end };
  for (int form = 0; form < end; ++form) {
    CAPTURE(form);
    Residuals r;
    const AnyTensor x = r.input(), y = r.conv(x),
                    own = r.floats(y, form == other_scale ? 1 : r.scale);
    AnyTensor other = r.floats(x);
    if (form == by_channel) other = numbers<float>(r.g, {6, 1, 1}, 0.01f);
    if (form == of_itself) other = own;
    const AnyTensor sum = op::add(own, other);
    if (form == read) output(r.g, sum, "read");
    output(r.g, r.to_bytes(sum, form == other_type ? ElementType::int8 : r.type), "y");
    const Graph fused = fuse_quantized(r.g);
    CHECK(test::count(fused, op::QuantizedConv::id) == 1);
    CHECK(test::count(fused, op::Sub::id) >= 1);
    CHECK(test::results(fused) == test::results(r.g));
  }
}

TEST_CASE("fuse quantized: the bytes of a product of matrices are those of the operators") {
  for (const Product& p : {
           Product{.a = {13, 40}, .b = {40, 37}, .has_bias = true},
           Product{.a = {1, 64}, .b = {64, 48}, .has_bias = true, .has_clip = true},
           Product{.a = {2, 3, 5, 20},
                   .b = {20, 50},
                   .has_addend = true,
                   .has_bias = true,
                   .has_clip = true,
                   .to = ElementType::int8},
           // A stack of right operands; what is no constant is packed when it is needed.
           Product{.a = {3, 7, 21}, .b = {3, 21, 34}, .has_zeros = false, .is_constant = false},
           Product{.a = {4, 70}, .b = {70, 100}, .has_zeros = false, .is_constant = false},
           Product{.a = {600, 5}, .b = {5, 3}, .has_addend = true},
       }) {
    const Graph g = graph_of(p);
    const Graph fused = fuse_quantized(g);
    CAPTURE(p.b.back());
    CHECK(test::count(fused, op::QuantizedMatMul::id) == 1);
    CHECK(test::count(fused, op::MatMulInteger::id) == 0);
    CHECK(test::results(fused) == test::results(g));
  }
  // A number for each row is none for each column.
  Graph g;
  const AnyTensor a = op::cast(g.input<float>("a", {6, 4}), {.to = ElementType::uint8});
  AnyTensor y = op::matmul_integer(a, numbers<std::int8_t>(g, {4, 6}, 1), none, none);
  y = op::mul(op::cast(y, {.to = ElementType::float32}), numbers<float>(g, {6, 1}, 1e-3f));
  output(g, op::cast(op::round(op::div(y, one(g, 0.5f))), {.to = ElementType::int8}), "y");
  const Graph left_alone = fuse_quantized(g);
  CHECK(test::count(left_alone, op::QuantizedMatMul::id) == 0);
  CHECK(test::results(left_alone) == test::results(g));
}

TEST_CASE("fuse quantized: the bytes are those of the operators") {
  const op::Conv padded{.pads = {1, 1, 1, 1}};
  for (const Case& c : {
           Case{.x = {2, 5, 9, 11}, .w = {13, 5, 3, 3}, .conv = padded},
           Case{.x = {1, 5, 9, 11},
                .w = {14, 5, 3, 3},
                .has_addend = true,
                .has_bias = true,
                .to = ElementType::int8},
           Case{.x = {1, 8, 14, 14}, .w = {24, 8, 1, 1}, .has_bias = true, .has_clip = true},
           Case{.x = {1, 6, 40}, .w = {4, 3, 5}, .conv = {.group = 2}, .has_bias = true},
           // By channel.
           Case{.x = {2, 6, 9, 37},
                .w = {6, 1, 3, 3},
                .conv = {.pads = {1, 1, 1, 1}, .group = 6},
                .has_bias = true,
                .has_clip = true},
           Case{.x = {1, 6, 15, 35},
                .w = {12, 1, 5, 5},
                .conv = {.strides = {2, 2}, .pads = {2, 2, 2, 2}, .group = 6},
                .has_addend = true,
                .has_zeros = false,
                .to = ElementType::int8},
           Case{.x = {1, 3, 3, 4, 20}, .w = {3, 1, 2, 2, 3}, .conv = {.group = 3}},
           // Sums that no byte holds, and scales that make infinities.
           Case{.x = {1, 4, 6, 6}, .w = {4, 4, 1, 1}, .y_scale = 1e-30f},
           Case{.x = {1, 4, 6, 6}, .w = {4, 4, 1, 1}, .y_scale = 0},
       }) {
    const Graph g = graph_of(c);
    const Graph fused = fuse_quantized(g);
    CAPTURE(c.w[0]);
    CHECK(test::count(fused, op::QuantizedConv::id) == 1);
    CHECK(test::count(fused, op::ConvInteger::id) == 0);
    CHECK(test::count(fused, op::Round::id) == 1);  // of x
    CHECK(fused.outputs == g.outputs);
    CHECK(test::results(fused) == test::results(g));
  }
}

TEST_CASE("fuse quantized: leaves values alone that something else reads, and what is no number") {
  const Case plain{.x = {1, 4, 6, 6}, .w = {4, 4, 1, 1}, .has_bias = true};
  const auto is_fused = [](const Graph& g) {
    const Graph fused = fuse_quantized(g);
    CHECK(test::results(fused) == test::results(g));
    return test::count(fused, op::QuantizedConv::id) == 1;
  };
  const Graph whole = graph_of(plain);
  CHECK(is_fused(whole));
  std::size_t between = 0;
  while (whole.nodes[between].op->id != op::ConvInteger::id) ++between;
  for (; between + 1 < whole.nodes.size(); ++between) {
    Graph g = graph_of(plain);
    output(g, AnyTensor{&g, g.nodes[between].outputs[0]}, "read");
    CHECK(!is_fused(g));
  }
  // A scale of pixels is none of channels.
  Graph g;
  const AnyTensor x = op::cast(g.input<float>("x", {1, 4, 1, 6}), {.to = ElementType::uint8});
  AnyTensor y = op::conv_integer(x, numbers<std::int8_t>(g, {6, 4, 1, 1}, 1), none, none);
  y = op::mul(op::cast(y, {.to = ElementType::float32}), numbers<float>(g, {6}, 1e-3f));
  output(g, op::cast(op::round(op::div(y, one(g, 0.5f))), {.to = ElementType::int8}), "y");
  CHECK(!is_fused(g));
}
