#include "transform/fold_transposes.hpp"

#include <doctest/doctest.h>

#include <vector>

#include <halftone/halftone.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

AnyTensor matrix(Graph& g, std::int64_t rows, std::int64_t columns) {
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 13) - 6;
  return constant<float>(g, values, {rows, columns});
}

/// Checks that a graph has so many nodes then, and the same results: of sums of small numbers over 13.
void check(const Graph& g, std::size_t nodes, std::size_t transposes = 0) {
  const Graph folded = fold_transposes(Graph(g));
  CHECK(folded.nodes.size() == nodes);
  CHECK(test::count(folded, op::Transpose::id) == transposes);
  CHECK(folded.info(folded.outputs[0]) == g.info(g.outputs[0]));
  test::for_each_pair(test::results(folded), test::results(g),
                      [](float p, float q) { CHECK(p == doctest::Approx(q).epsilon(1e-5)); });
}

}  // namespace

TEST_CASE("fold transposes: factors of products") {
  const auto with = [](const Dims& x, auto&& make) {
    Graph g;
    output(g, AnyTensor(make(g, g.input<float>("x", x))), "y");
    return g;
  };
  check(
      with({5, 6}, [](Graph& g, auto x) { return op::matmul(x, op::transpose(matrix(g, 4, 6))); }),
      1);
  check(with({2, 5, 6},
             [](Graph& g, auto x) { return op::matmul(x, op::transpose(matrix(g, 4, 6))); }),
        1);
  check(
      with({6, 5}, [](Graph& g, auto x) { return op::matmul(op::transpose(x), matrix(g, 6, 4)); }),
      1);
  check(with({6, 5},
             [](Graph& g, auto x) {
               return op::matmul(op::transpose(x), op::transpose(matrix(g, 4, 6)));
             }),
        1);
  check(with({5, 6},
             [](Graph& g, auto x) {
               return op::gemm(x, op::transpose(matrix(g, 6, 4)), matrix(g, 1, 4),
                               {.alpha = 2, .trans_b = true});
             }),
        1);
  // Another reader keeps the Transpose.
  check(with({6, 5},
             [](Graph& g, auto x) {
               const AnyTensor t = op::transpose(x);
               return op::matmul(t, matrix(g, 6, 6)) + t;
             }),
        3, 1);
  // These do not transpose a matrix.
  check(with({6, 6},
             [](Graph& g, auto x) {
               return op::matmul(op::transpose(x, {.perm = {0, 1}}), matrix(g, 6, 4));
             }),
        2, 1);
  check(with({5, 6, 2},
             [](Graph& g, auto x) {
               return op::matmul(op::transpose(x, {.perm = {0, 2, 1}}), matrix(g, 6, 4));
             }),
        2, 1);
}

TEST_CASE("fold transposes: results of products") {
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      Graph g;
      const AnyTensor x = g.input<float>("x", trans_a ? Dims{6, 5} : Dims{5, 6});
      const AnyTensor w = trans_b ? matrix(g, 4, 6) : matrix(g, 6, 4);
      output(g, op::transpose(op::gemm(x, w, {.alpha = 3, .trans_a = trans_a, .trans_b = trans_b})),
             "y");
      check(g, 1);
    }
  }
  Graph biased;
  output(biased,
         op::transpose(op::gemm(biased.input<float>("x", {5, 6}), matrix(biased, 6, 4),
                                matrix(biased, 1, 4))),
         "y");
  check(biased, 2, 1);
}

// A product must see the weights as they were when they were transposed.
TEST_CASE("fold transposes: what is changed in between stays") {
  for (const bool before : {false, true}) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {5, 6});
    const AnyTensor w = parameter<float, Shape<4, 6>>(g, "w", ones);
    const AnyTensor t = op::transpose(w);
    const AnyTensor first = before ? op::matmul(x, t) : AnyTensor{};
    op::copy_var_update(w, op::neg(w));
    output(g, before ? first : AnyTensor(op::matmul(x, t)), "y");
    CHECK(test::count(fold_transposes(std::move(g)), op::Transpose::id) == (before ? 0 : 1));
  }
}

// Linear layers as PyTorch writes them: the gradient's transposes go, too. The law: weights after a step are
// those of a session that fuses nothing.
TEST_CASE("fold transposes: a training of transposed weights") {
  const auto trained = [](bool fuse) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {2, 3, 8});
    const AnyTensor w = parameter<float, Shape<5, 8>>(g, "w", ones);
    const AnyTensor y = op::matmul(x, op::transpose(w));
    const AnyTensor loss = op::mean(op::mul(y, y), {.keepdims = 0});
    train(g, loss, Sgd{.learning_rate = 0.5f});
    if (fuse) CHECK(test::count(fold_transposes(Graph(g)), op::Transpose::id) == 0);
    Engine engine(std::move(g), {.fuse = fuse});
    Array<float> values({2, 3, 8});
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 5 % 11) - 5;
    const AnyView inputs[] = {values};
    engine.run(inputs);
    const auto after = engine.variable(engine.graph().find("w")).values<float>();
    return std::vector<float>(after.begin(), after.end());
  };
  const std::vector<float> fused = trained(true), plain = trained(false);
  REQUIRE(fused.size() == plain.size());
  for (std::size_t i = 0; i < fused.size(); ++i) {
    CHECK(fused[i] == doctest::Approx(plain[i]).epsilon(1e-5));
  }
}
