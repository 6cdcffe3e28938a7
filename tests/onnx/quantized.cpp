#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <halftone/op/list.hpp>
#include <halftone/session/session.hpp>
#include <halftone/train.hpp>

#include "model_bytes.hpp"

// Products of what DequantizeLinear made, computed in integers. The references are their definition
// in double precision.
namespace test {

using namespace halftone;

namespace {

constexpr int float16 = 10, uint8 = 2, int8 = 3;
constexpr float x_scale = 0.0173f, w_scale = 0.0071f;
using Bytes8 = std::vector<std::uint8_t>;
using Signed8 = std::vector<std::int8_t>;

Message dequantize(std::string_view x, std::string_view y, std::int64_t axis = 1) {
  const std::string scale = std::string(x) + "_scale", zero = std::string(x) + "_zero";
  return node("DequantizeLinear", {x, scale, zero}, {y}, {.attributes = {integer("axis", axis)}});
}

bool has(const Graph& g, std::string_view op) {
  return std::ranges::any_of(g.nodes, [&](const Node& n) { return n.op->id.name == op; });
}

// Terms whose products cancel but for the last one's: float sums of them lose that.
std::uint8_t left(std::int64_t) { return 255; }
std::int8_t right(std::int64_t term, std::int64_t terms, std::int64_t column) {
  if (term == terms - 1) return static_cast<std::int8_t>(column + 1);
  return term < terms / 2 ? std::int8_t{127} : std::int8_t{-127};
}

/// x [1, 4097] times w [4097, 3], or w^T [3, 4097], whose columns have a scale each.
constexpr std::int64_t terms = 4097, columns = 3;
const std::vector<float> column_scales{0.0071f, 0.5f, 3e-5f};

GraphParts product(const Message& node, bool is_transposed, int x_type = uint8) {
  Signed8 w;
  for (std::int64_t i = 0; i < terms * columns; ++i) {
    w.push_back(is_transposed ? right(i % terms, terms, i / terms)
                              : right(i / columns, terms, i % columns));
  }
  return {.nodes = {dequantize("x", "a"), dequantize("w", "b", is_transposed ? 0 : -1), node},
          .initializers = {floats("x_scale", {}, {x_scale}),
                           tensor<std::uint8_t>("x_zero", x_type, {}, {128}),
                           floats("w_scale", {columns}, column_scales),
                           tensor<std::int8_t>("w_zero", int8, {columns}, {0, 0, 0}),
                           tensor<std::int8_t>(
                               "w", int8,
                               is_transposed ? std::initializer_list<std::int64_t>{columns, terms}
                                             : std::initializer_list<std::int64_t>{terms, columns},
                               w),
                           floats("c", {columns}, {1, 2, 3})},
          .inputs = {value("x", x_type, {1, int(terms)})},
          .outputs = {value("y", float32, {1, int(columns)})}};
}

std::vector<float> values_of(const Result& result, std::string_view name) {
  const auto y = result[name].values<float>();
  return {y.begin(), y.end()};
}
std::vector<float> result_of(Graph g) {
  Session session(std::move(g));
  Array<std::uint8_t> x({1, terms});
  for (std::int64_t i = 0; i < terms; ++i) x[static_cast<std::size_t>(i)] = left(i);
  return values_of(session.run({{"x", x}}), "y");
}

/// (255 - 128) (column + 1) in units of the scales.
double exact(std::int64_t column) {
  return 127.0 * double(column + 1) * double(x_scale) *
         double(column_scales[static_cast<std::size_t>(column)]);
}

}  // namespace

TEST_CASE("quantized: products of dequantized bytes are exact sums of integers") {
  const Message gemm =
      node("Gemm", {"a", "b", "c"}, {"y"},
           {.attributes = {real("alpha", 3), real("beta", 0.5f), integer("transB", 1)}});
  const Message turned =
      node("Transpose", {"b"}, {"t"}, {.attributes = {integers("perm", {1, 0})}});
  GraphParts after_transpose = product(node("MatMul", {"a", "t"}, {"y"}), true);
  after_transpose.nodes.insert(after_transpose.nodes.end() - 1, turned);
  struct Row {
    GraphParts parts;
    double alpha, beta;
  };
  for (const Row& row : {Row{product(node("MatMul", {"a", "b"}, {"y"}), false), 1, 0},
                         Row{after_transpose, 1, 0}, Row{product(gemm, true), 3, 0.5}}) {
    const Graph g = loaded(model(row.parts));
    CHECK(has(g, "MatMulInteger"));
    const std::vector<float> y = result_of(g);
    for (std::int64_t j = 0; j < columns; ++j) {
      const double addend = row.beta * double(j + 1), product = row.alpha * exact(j);
      const double bound = 0x1p-22 * (std::fabs(product) + std::fabs(addend));
      CHECK(std::fabs(y[static_cast<std::size_t>(j)] - (product + addend)) <= bound);
    }
    const Graph plain = loaded(model(row.parts), {.integer_products = false});
    CHECK(!has(plain, "MatMulInteger"));
  }
}

TEST_CASE("quantized: a convolution, with a bias and what follows it") {
  // Three filters of 2 x 2 over two channels of 4 x 4 that are padded; the law is the definition.
  const std::vector<float> scales{0.01f, 0.25f, 0.002f}, bias{1, -2, 0.5f};
  Signed8 w;
  Bytes8 x;
  for (int i = 0; i < 24; ++i) w.push_back(static_cast<std::int8_t>(i * 37 % 251 - 125));
  for (int i = 0; i < 32; ++i) x.push_back(static_cast<std::uint8_t>(i * 91 % 256));
  const GraphParts parts{
      .nodes = {dequantize("x", "a"), dequantize("w", "b", 0),
                node("Conv", {"a", "b", "c"}, {"s"},
                     {.attributes = {integers("pads", {1, 1, 0, 0})}}),
                node("Relu", {"s"}, {"r"}),
                node("QuantizeLinear", {"r", "y_scale", "y_zero"}, {"y"})},
      .initializers = {floats("x_scale", {1}, {x_scale}),
                       tensor<std::uint8_t>("x_zero", uint8, {1}, {7}),
                       floats("w_scale", {3}, scales),
                       tensor<std::int8_t>("w_zero", int8, {3}, {0, 3, -4}),
                       tensor<std::int8_t>("w", int8, {3, 2, 2, 2}, w), floats("c", {3}, bias),
                       floats("y_scale", {}, {0.05f}),
                       tensor<std::uint8_t>("y_zero", uint8, {}, {20})},
      .inputs = {value("x", uint8, {1, 2, 4, 4})},
      .outputs = {value("y", uint8, {1, 3, 4, 4}), value("s", float32, {1, 3, 4, 4})}};
  const Graph g = loaded(model(parts));
  CHECK(has(g, "ConvInteger"));
  Session session(g);
  const Result result = session.run({{"x", AnyView({ElementType::uint8, {1, 2, 4, 4}}, x.data())}});
  const auto y = result["y"].values<std::uint8_t>();
  const std::vector<float> s = values_of(result, "s");
  const int zeros[]{0, 3, -4};
  for (int f = 0; f < 3; ++f) {
    for (int i = 0; i < 16; ++i) {
      double sum = 0;
      for (int c = 0; c < 2; ++c) {
        for (int k = 0; k < 4; ++k) {
          const int row = i / 4 + k / 2 - 1, column = i % 4 + k % 2 - 1;
          if (row < 0 || column < 0) continue;
          sum += (x[std::size_t(c * 16 + row * 4 + column)] - 7) *
                 (w[std::size_t(f * 8 + c * 4 + k)] - zeros[f]);
        }
      }
      const double product = sum * double(x_scale) * double(scales[std::size_t(f)]);
      const double expected = product + double(bias[std::size_t(f)]);
      const std::size_t at = std::size_t(f * 16 + i);
      CHECK(std::fabs(s[at] - expected) <=
            0x1p-22 * (std::fabs(product) + std::fabs(bias[std::size_t(f)])));
      const float relu = s[at] > 0 ? s[at] : 0;
      CHECK(y[at] == std::fmin(std::nearbyint(relu / 0.05f) + 20, 255));
    }
  }
}

TEST_CASE("quantized: what is no product of bytes stays as it is written") {
  const auto is_integer = [](const GraphParts& parts) {
    return has(loaded(model(parts, {.opset = 21})), "MatMulInteger");
  };
  const Message matmul = node("MatMul", {"a", "b"}, {"y"});
  CHECK(is_integer(product(matmul, false)));
  // One operand is not dequantized, one scale is none of the columns, one tensor has other numbers.
  GraphParts parts = product(node("MatMul", {"f", "b"}, {"y"}), false);
  parts.inputs.push_back(value("f", float32, {1, int(terms)}));
  CHECK(!is_integer(parts));
  parts = product(matmul, false);
  parts.initializers[2] = floats("w_scale", {terms}, std::vector<float>(terms, w_scale));
  parts.initializers[3] = tensor<std::int8_t>("w_zero", int8, {terms}, Signed8(terms));
  parts.nodes[1] = dequantize("w", "b", 0);
  CHECK(!is_integer(parts));
  parts = product(matmul, false, int(ElementType::int16));
  parts.initializers[1] = tensor<std::int16_t>("x_zero", int(ElementType::int16), {}, {128});
  CHECK(!is_integer(parts));
  parts = product(matmul, false);
  parts.initializers[0] = tensor<std::uint16_t>("x_scale", float16, {}, {0x3c00});
  parts.initializers[2] = tensor<std::uint16_t>("w_scale", float16, {columns}, {1, 2, 3});
  parts.outputs[0] = value("y", float16, {1, int(columns)});
  CHECK(!is_integer(parts));
  // An addend that does not fit is the Gemm's error, not of what it would become.
  parts = product(node("Gemm", {"a", "b", "d"}, {"y"}, {.name = "dense"}), false);
  parts.initializers.push_back(floats("d", {2, 1, columns}, {1, 2, 3, 4, 5, 6}));
  CHECK(error_of(model(parts)).node() == "Gemm 'dense'");
  // Sums of more terms than int32 is sure to hold.
  const int many = 33'026;
  parts = {
      .nodes = {dequantize("x", "a"), dequantize("w", "b"), matmul},
      .initializers = {floats("x_scale", {}, {1}), tensor<std::int8_t>("x_zero", int8, {}, {0}),
                       floats("w_scale", {}, {1}), tensor<std::int8_t>("w_zero", int8, {}, {0})},
      .inputs = {value("x", int8, {1, many}), value("w", int8, {many, 1})},
      .outputs = {value("y", float32, {1, 1})}};
  CHECK(!is_integer(parts));
  parts.inputs = {value("x", int8, {1, many - 1}), value("w", int8, {many - 1, 1})};
  CHECK(is_integer(parts));
}

TEST_CASE("quantized: a convolution by channel") {
  const GraphParts parts{
      .nodes = {dequantize("x", "a"), dequantize("w", "b", 0),
                node("Conv", {"a", "b"}, {"y"}, {.attributes = {integer("group", 2)}})},
      .initializers = {floats("x_scale", {}, {1}), tensor<std::uint8_t>("x_zero", uint8, {}, {0}),
                       floats("w_scale", {}, {1}), tensor<std::int8_t>("w_zero", int8, {}, {0}),
                       tensor<std::int8_t>("w", int8, {2, 1, 1, 2}, {1, 2, 3, 4})},
      .inputs = {value("x", uint8, {1, 2, 1, 2})},
      .outputs = {value("y", float32, {1, 2, 1, 1})}};
  const Graph g = loaded(model(parts));
  CHECK(has(g, "ConvInteger"));
  Session session(g);
  const Array<std::uint8_t> x({1, 2, 1, 2}, {10, 20, 30, 40});
  CHECK(values_of(session.run({{"x", x}}), "y") == std::vector<float>{50, 250});
}

// The law: the largest of numbers that one scale was taken by is that of their integers.
TEST_CASE("quantized: pooling and quantizing again move the bytes") {
  const auto parts = [](const std::string& scale) {
    return GraphParts{
        .nodes = {dequantize("x", "a"),
                  node("MaxPool", {"a"}, {"m"}, {.attributes = {integers("kernel_shape", {2, 2})}}),
                  node("QuantizeLinear", {"m", scale, "x_zero"}, {"y"})},
        .initializers = {floats("x_scale", {}, {x_scale}), floats("other", {}, {0.05f}),
                         tensor<std::uint8_t>("x_zero", uint8, {}, {7})},
        .inputs = {value("x", uint8, {1, 2, 5, 6})},
        .outputs = {value("y", uint8, {1, 2, 4, 5})}};
  };
  Array<std::uint8_t> x({1, 2, 5, 6});
  for (std::size_t i = 0; i < 60; ++i) x[i] = static_cast<std::uint8_t>(i * 91 % 256);
  const auto result = [&](const Graph& g) {
    Session session(g);
    const Result given = session.run({{"x", x}});
    const auto y = given["y"].values<std::uint8_t>();
    return std::vector<std::uint8_t>(y.begin(), y.end());
  };
  for (const std::string scale : {"x_scale", "other"}) {
    const Graph g = loaded(model(parts(scale)));
    CHECK(has(g, "Div") == (scale == "other"));
    CHECK(result(g) == result(loaded(model(parts(scale)), {.integer_products = false})));
  }
  // Without anything in float, the bytes are the input's.
  const Graph g = loaded(model(parts("x_scale")));
  const std::vector<std::uint8_t> y = result(g);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t at = i / 20 * 30 + i % 20 / 5 * 6 + i % 5;
    CHECK(y[i] == std::max({x[at], x[at + 1], x[at + 6], x[at + 7]}));
  }
}

// The law: an integer product has the gradients of scales and bias that the float one has.
TEST_CASE("quantized: scales and bias are trained as before") {
  GraphParts parts = product(node("Gemm", {"a", "b", "c"}, {"y"}), false);
  const auto step = [&](bool integers) {
    Graph g = loaded(model(parts), {.integer_products = integers});
    const AnyTensor y = g["y"];
    train(g, op::sum(y * y, {.keepdims = 0}), Sgd{.learning_rate = 0.01f});
    Session session(std::move(g));
    Array<std::uint8_t> x({1, terms});
    for (std::int64_t i = 0; i < terms; ++i)
      x[static_cast<std::size_t>(i)] = i + 1 < terms ? 128 : 130;
    session.run({{"x", x}});
    std::vector<float> all;
    for (const char* name : {"c", "x_scale", "w_scale"}) {
      for (const float v : session.get(name).values<float>()) all.push_back(v);
    }
    return all;
  };
  const std::vector<float> integer = step(true), real = step(false);
  REQUIRE(integer.size() == 7);
  for (std::size_t i = 0; i < integer.size(); ++i) CHECK(integer[i] == doctest::Approx(real[i]));
  CHECK(integer[0] != 1);
  CHECK(integer[3] != x_scale);
}

TEST_CASE("quantized: scales that are negative or not finite are defects") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {-1.f, infinity, std::nanf("")}) {
    GraphParts parts = product(node("MatMul", {"a", "b"}, {"y"}), false);
    parts.initializers[2] = floats("w_scale", {columns}, {1, wrong, 1});
    const Error error = error_of(model(parts));
    CHECK(error.kind() == ErrorKind::model);
    CHECK(error.node() == "DequantizeLinear of 'b'");
    CHECK(error.tensor() == "w_scale");
  }
  const GraphParts zero{.nodes = {node("QuantizeLinear", {"x", "s"}, {"y"})},
                        .initializers = {floats("s", {}, {0})},
                        .inputs = {value("x", float32, {1})},
                        .outputs = {value("y", uint8, {1})}};
  CHECK(contains(error_of(model(zero)).what(), "loaded"));
}

}  // namespace test
