#include <halftone/transform/fuse_products.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <halftone/halftone.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

AnyTensor matrix(Graph& g, const Dims& shape) {
  const TensorInfo info{ElementType::float32, shape};
  std::vector<float> values(static_cast<std::size_t>(info.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 5 % 17) / 17 - 0.3f;
  return constant<float>(g, values, shape);
}

template <class T>
AnyTensor number(Graph& g, T value) {
  return constant<T>(g, std::vector<T>{value}, {});
}

std::size_t fused(const Graph& g) {
  return test::count(fuse_products(Graph(g), true), op::MatMulWithEpilogue::id);
}

/// Checks that a graph of one product fuses it, leaves so many nodes, and keeps its results' bits.
void check(const Graph& g, std::size_t nodes) {
  const Graph made = fuse_products(Graph(g), true);
  CHECK(test::count(made, op::MatMulWithEpilogue::id) == 1);
  CHECK(made.nodes.size() == nodes);
  CHECK(test::results(made) == test::results(g));
}

}  // namespace

// The sum is rounded, then the addend is added, as the two operators do: vectors, small and packed
// products, rows and columns that fill no tile, more terms than one pass over them takes.
TEST_CASE("fuse products: a bias and a tensor beside a product give the same bits") {
  for (const auto& [x, n] : {std::pair<Dims, std::int64_t>{{1, 40}, 33},
                             {{3, 5, 24}, 16},
                             {{5, 24}, 1},
                             {{2, 64, 128}, 128},
                             {{61, 70}, 259},
                             {{97, 2100}, 70}}) {
    CAPTURE(n);
    Dims y = x, front = x;
    y.back() = n;
    for (std::int64_t& extent : front) extent = 1;
    front.back() = n;
    for (const Dims& shape : {Dims{n}, front, y}) {
      for (const bool is_first : {false, true}) {
        Graph g;
        const AnyTensor a = g.input<float>("a", x), c = g.input<float>("c", shape);
        const AnyTensor product = op::matmul(a, matrix(g, {x.back(), n}));
        output(g, op::tanh(is_first ? c + product : product + c), "y");
        check(g, 2);
      }
    }
  }
}

TEST_CASE("fuse products: what is read twice, broadcasts or is rounded in between stays as it is") {
  const auto with = [](auto&& make) {
    Graph g;
    output(g, AnyTensor(make(g, g.input<float>("a", {6, 8}))), "y");
    return fused(g);
  };
  CHECK(with([](Graph& g, const AnyTensor& a) {
          return op::matmul(a, matrix(g, {8, 4})) + matrix(g, {4});
        }) == 1);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          const AnyTensor y = op::matmul(a, matrix(g, {8, 4}));
          return op::relu(y) + (y + matrix(g, {4}));
        }) == 0);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          return op::matmul(a, matrix(g, {8, 4})) + matrix(g, {6, 1});
        }) == 0);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          return op::matmul(a, matrix(g, {8, 4})) + matrix(g, {1});
        }) == 0);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          return op::matmul(a, matrix(g, {8, 4})) + matrix(g, {3, 6, 4});
        }) == 0);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          return op::matmul(a, matrix(g, {2, 8, 4})) + matrix(g, {4});
        }) == 0);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          const AnyTensor half = op::cast(a, {.to = ElementType::float16});
          const AnyTensor w = op::cast(matrix(g, {8, 4}), {.to = ElementType::float16});
          return op::matmul(half, w) + op::cast(matrix(g, {4}), {.to = ElementType::float16});
        }) == 0);
  Graph given;  // the product is asked for, too
  const AnyTensor product = op::matmul(given.input<float>("a", {6, 8}), matrix(given, {8, 4}));
  output(given, product, "product");
  output(given, product + matrix(given, {4}), "y");
  CHECK(fused(given) == 0);
}

// The limits come behind the sum's last term, and NaN passes them, as in the operators.
TEST_CASE("fuse products: limits of a product, with and without an addend, give the same bits") {
  for (const auto& [rows, inner, columns] :
       {std::array<std::int64_t, 3>{1, 40, 33}, {5, 24, 1}, {64, 128, 128}, {97, 2100, 70}}) {
    CAPTURE(rows);
    const auto a = [&](Graph& g) { return g.input<float>("a", {rows, inner}); };
    const auto w = [&](Graph& g) { return matrix(g, {inner, columns}); };
    Graph relu;
    output(relu, op::relu(op::matmul(a(relu), w(relu))), "y");
    check(relu, 1);
    Graph dense;
    output(dense, op::relu(op::matmul(a(dense), w(dense)) + matrix(dense, {columns})), "y");
    check(dense, 1);
    Graph residual;
    output(residual,
           op::clip(op::gemm(a(residual), w(residual), {}) + matrix(residual, {rows, columns}),
                    number(residual, -0.2f), number(residual, 0.4f)),
           "y");
    check(residual, 1);
    for (const bool trans_b : {false, true}) {
      Graph gemm;
      const AnyTensor b = matrix(gemm, trans_b ? Dims{columns, inner} : Dims{inner, columns});
      output(gemm, op::relu(op::gemm(a(gemm), b, matrix(gemm, {1, columns}), {.trans_b = trans_b})),
             "y");
      check(gemm, 1);
    }
  }
}

TEST_CASE("fuse products: NaN passes the limits") {
  Graph g;
  const AnyTensor a = g.input<float>("a", {2, 3});
  output(g, op::relu(op::gemm(a, matrix(g, {3, 4}), matrix(g, {4}))), "y");
  Array<float> values({2, 3});
  values[1] = std::numeric_limits<float>::quiet_NaN();
  Session session(std::move(g), {});
  const Result result = session.run({{"a", values}});
  const auto y = result["y"].values<float>();
  for (std::size_t i = 0; i < 8; ++i) CHECK(std::isnan(y[i]) == (i < 4));
}

TEST_CASE("fuse products: factors, other addends, limits that are no numbers and doubles' limits") {
  const auto gemm = [](const op::Gemm& attributes, const Dims& c) {
    Graph g;
    const AnyTensor a = g.input<float>("a", {6, 6});
    output(g, op::relu(op::gemm(a, matrix(g, {6, 6}), matrix(g, c), attributes)), "y");
    return fused(g);
  };
  CHECK(gemm({}, {6}) == 1);
  CHECK(gemm({.alpha = 2}, {6}) == 0);
  CHECK(gemm({.beta = 2}, {6}) == 0);
  CHECK(gemm({.trans_a = true}, {6}) == 0);
  CHECK(gemm({}, {6, 1}) == 0);
  CHECK(gemm({}, {6, 6}) == 0);
  CHECK(gemm({}, {1}) == 0);
  Graph unknown;
  const AnyTensor lower = unknown.input<float>("lower", {});
  output(unknown,
         op::clip(op::matmul(unknown.input<float>("a", {6, 8}), matrix(unknown, {8, 4})), lower),
         "y");
  CHECK(fused(unknown) == 0);
  const auto of_doubles = [](auto&& limit) {
    Graph g;
    const AnyTensor w = constant<double>(g, std::vector<double>(32, 0.1), {8, 4});
    output(g, AnyTensor(limit(g, op::matmul(g.input<double>("a", {6, 8}), w))), "y");
    return fused(g);
  };
  CHECK(of_doubles([](Graph&, const AnyTensor& y) { return op::relu(y); }) == 1);
  CHECK(of_doubles([](Graph& g, const AnyTensor& y) { return op::clip(y, number(g, 0.1)); }) == 0);
  Graph pairs;  // whose Relu is to round
  output(pairs, op::relu(op::matmul(pairs.input<float>("a", {6, 8}), matrix(pairs, {8, 4}))), "y");
  CHECK(test::count(fuse_products(Graph(pairs), false), op::MatMulWithEpilogue::id) == 0);
}
