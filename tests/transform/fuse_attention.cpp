#include <halftone/transform/fuse_attention.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <halftone/halftone.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

/// Projections are in [0, 1]: weights have the error of scores (8 products and a scale) and the sum's.
void check_close(const Graph& a, const Graph& b) {
  test::for_each_pair(test::results(a), test::results(b), [](float p, float q) {
    CHECK((std::isnan(p) ? std::isnan(q) : std::abs(p - q) <= 2 * 8 * 10 * 0x1p-24f));
  });
}

/// [2, 5, 24] as three heads, [2, 3, 5, 8], or turned for keys.
AnyTensor heads(Graph& g, const AnyTensor& x, const Dims& perm = {0, 2, 1, 3}) {
  return op::transpose(op::reshape(x, constant(g, {2, 5, 3, 8})), {.perm = perm});
}
AnyTensor together(Graph& g, const AnyTensor& y) {
  return op::reshape(op::transpose(y, {.perm = {0, 2, 1, 3}}), constant(g, {2, 5, 24}));
}
AnyTensor number(Graph& g, float value) { return constant<float>(g, std::vector{value}, {}); }

struct Projections {
  AnyTensor q, k, v;
  explicit Projections(Graph& g)
      : q(g.input<float>("q", {2, 5, 24})),
        k(g.input<float>("k", {2, 5, 24})),
        v(g.input<float>("v", {2, 5, 24})) {}
};

}  // namespace

TEST_CASE("fuse attention: an encoder's, with its transposes, scale and mask") {
  Graph g;
  const Projections in(g);
  const AnyTensor mask = g.input<float>("mask", {2, 1, 1, 5});
  const AnyTensor q = heads(g, in.q);
  const AnyTensor k = heads(g, in.k, {0, 2, 3, 1});
  const AnyTensor scores = op::add(op::div(op::matmul(q, k), number(g, std::sqrt(8.f))), mask);
  const AnyTensor y = op::matmul(op::softmax(scores), heads(g, in.v));
  output(g, together(g, y), "y");
  const Graph fused = fuse_attention(g);
  CHECK(test::count(fused, op::FusedAttention::id) == 1);
  CHECK(test::count(fused, op::Transpose::id) == 0);
  CHECK(test::count(fused, op::MatMul::id) == 0);
  CHECK(fused.outputs == g.outputs);
  CHECK(fuse_attention(fused) == fused);
  check_close(g, fused);
}

TEST_CASE("fuse attention: a decoder's choice, in front of its bias or behind it") {
  for (const bool is_hidden : {false, true}) {
    for (const bool bias_first : {false, true}) {
      Graph g;
      const Projections in(g);
      const AnyTensor chosen = op::greater(g.input<float>("choice", {5, 5}), number(g, 0.4f));
      const AnyTensor bias = g.input<float>("bias", {5});
      AnyTensor scores = op::matmul(heads(g, in.q), heads(g, in.k, {0, 2, 3, 1}));
      scores = op::mul(number(g, 0.25f), scores);
      if (bias_first) scores = op::add(bias, scores);
      const AnyTensor fill = number(g, -3);
      scores = is_hidden ? op::where(chosen, fill, scores) : op::where(chosen, scores, fill);
      if (!bias_first) scores = op::add(scores, bias);
      output(g, op::matmul(op::softmax(scores), heads(g, in.v)), "y");
      const Graph fused = fuse_attention(g);
      REQUIRE(test::count(fused, op::FusedAttention::id) == 1);
      CHECK(test::count(fused, op::Where::id) == 0);
      check_close(g, fused);
    }
  }
}

TEST_CASE("fuse attention: without a dimension of heads, and Attention with shared heads") {
  Graph g;
  const Projections in(g);
  const AnyTensor turned = op::transpose(in.k, {.perm = {0, 2, 1}});
  output(g, op::matmul(op::softmax(op::matmul(in.q, turned)), in.v), "y");
  const Graph fused = fuse_attention(g);
  CHECK(fused.nodes.size() == 1);
  check_close(g, fused);

  Graph shared;
  const AnyTensor q = shared.input<float>("q", {2, 6, 5, 8}),
                  k = shared.input<float>("k", {2, 2, 7, 8}),
                  v = shared.input<float>("v", {2, 2, 7, 8});
  output(shared, op::attention(q, k, v, op::Attention{.is_causal = 1}), "y");
  const Graph one = fuse_attention(shared);
  CHECK(test::count(one, op::FusedAttention::id) == 1);
  CHECK(test::count(one, op::MatMul::id) == 0);
  check_close(shared, one);
}

TEST_CASE("fuse attention: what something else reads and other sums stay") {
  Graph g;
  const Projections in(g);
  const AnyTensor q = heads(g, in.q), v = heads(g, in.v);
  const AnyTensor k = heads(g, in.k, {0, 2, 3, 1});
  const AnyTensor weights = op::softmax(op::matmul(q, k));
  output(g, weights, "weights");
  output(g, op::matmul(weights, v), "read");
  output(g, op::matmul(op::softmax(op::matmul(q, k), {.axis = 2}), v), "axis");
  // A factor behind the mask, and one that is no constant.
  const AnyTensor mask = g.input<float>("mask", {5});
  const AnyTensor late = op::mul(op::add(op::matmul(q, k), mask), number(g, 0.5f));
  output(g, op::matmul(op::softmax(late), v), "late");
  output(g, op::matmul(op::softmax(op::mul(op::matmul(q, k), mask)), v), "factor");
  // The weights on the right.
  output(g, op::matmul(v, op::softmax(op::matmul(k, q))), "right");
  CHECK(fuse_attention(g) == g);
}
