#include "transform/round_rows.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/transform/fuse_products.hpp>

using namespace halftone;

namespace {

AnyTensor weights(Graph& g, const Dims& shape) {
  std::vector<float> w(static_cast<std::size_t>(product(shape)));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::sin(static_cast<float>(i * i % 1013));
  return constant<float>(g, w, shape);
}
AnyTensor dense(Graph& g, const AnyTensor& x, std::int64_t columns) {
  return op::matmul(x, weights(g, {x.info().shape.back(), columns})) + weights(g, {columns});
}
AnyTensor input(Graph& g, std::int64_t columns = 128) {
  return g.input<float>("x", {3, 5, columns});
}

std::size_t count(const Graph& g, const OpId& id) {
  std::size_t n = 0;
  for (const Node& node : g.nodes) n += node.op->id == id;
  return n;
}
/// Checks how many products of a graph get rounded rows, and by how many casts.
void check(const Graph& g, std::size_t products, std::size_t casts) {
  const Graph rounded = round_rows(g);
  CHECK(count(rounded, op::PairedMatMul::id) == products);
  CHECK(count(rounded, op::Cast::id) == casts);
  CHECK(round_rows(rounded) == rounded);
}

}  // namespace

TEST_CASE("round rows: what several products read is rounded once") {
  Graph g;
  const AnyTensor x = op::layer_normalization(input(g), weights(g, {128}));
  output(g, dense(g, x, 128), "a");
  output(g, dense(g, x, 160), "b");
  output(g, op::tanh(x), "c");  // reads the floats
  check(g, 2, 1);
}

TEST_CASE("round rows: what an elementwise operator gives to one product") {
  Graph g;
  const AnyTensor x = op::relu(dense(g, input(g), 256));
  output(g, dense(g, x, 128), "y");
  check(g, 1, 1);
  output(g, x, "x");  // it is computed in floats in any case
  check(g, 0, 0);
}

TEST_CASE("round rows: what something else makes for one product stays") {
  Graph g;
  output(g, dense(g, op::softmax(dense(g, input(g), 128), {.axis = -1}), 128), "y");
  check(g, 0, 0);
}

TEST_CASE("round rows: rows that do not fill registers, few weights, products with factors") {
  const auto twice = [](std::int64_t inner, std::int64_t columns, const op::Gemm& gemm) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {6, inner});
    const Dims shape = gemm.trans_b ? Dims{columns, inner} : Dims{inner, columns};
    for (const char* name : {"a", "b"}) {
      output(g, op::gemm(x, weights(g, shape), weights(g, {columns}), gemm), name);
    }
    return count(round_rows(std::move(g)), op::PairedMatMul::id);
  };
  CHECK(twice(128, 128, {}) == 2);
  CHECK(twice(128, 128, {.trans_b = true}) == 2);
  CHECK(twice(120, 160, {}) == 0);
  CHECK(twice(64, 64, {}) == 0);
  CHECK(twice(2048, 8, {}) == 0);
  CHECK(twice(128, 128, {.alpha = 2}) == 0);
  CHECK(twice(128, 128, {.beta = 2}) == 0);
}

TEST_CASE("round rows: products with what follows, but no limits") {
  const auto twice = [](bool limits) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {6, 128});
    for (const char* name : {"a", "b"}) {
      const AnyTensor y = op::gemm(x, weights(g, {160, 128}), {.trans_b = true});
      output(g, limits ? op::relu(y) : y + weights(g, {160}), name);
    }
    return count(round_rows(fuse_products(std::move(g), true)), op::PairedMatMul::id);
  };
  CHECK(twice(false) == 2);
  CHECK(twice(true) == 0);
}

// The law: rounding before a product, or in it, is the same.
TEST_CASE("round rows: a session's results have the same bits without it") {
  Graph g;
  const AnyTensor x = input(g);
  const AnyTensor h = op::gelu(dense(g, x, 192)) + op::tanh(dense(g, x, 192));
  const AnyTensor y = op::relu(op::reshape(dense(g, h, 160), constant(g, Dims{15, 160})));
  output(g, op::gemm(y, weights(g, {128, 160}), weights(g, {128}), {.trans_b = true}), "y");
  Array<float> values({3, 5, 128});
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::cos(static_cast<float>(i % 977));
  const auto results = [&](Graph graph, int threads) {
    Session session(std::move(graph), {.threads = threads, .precision = Precision::bfloat16});
    const auto found = session.run({{"x", values}})["y"].values<float>();
    return std::vector<float>(found.begin(), found.end());
  };
  // A tensor that the graph returns is computed in floats: its products round by themselves.
  Graph returning = g;
  returning.add_output(h.id);
  returning.add_output(y.id);
  const std::vector<float> rounded = results(g, 1), plain = results(returning, 1);
  CHECK(std::memcmp(rounded.data(), plain.data(), 4 * plain.size()) == 0);
  CHECK(results(g, 3) == rounded);
  check(g, 4, 3);
}
