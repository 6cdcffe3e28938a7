#include <halftone/transform/fuse_attention.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/transform/gradient.hpp>
#include <halftone/transform/off_chip.hpp>
#include <halftone/transform/recompute.hpp>

#include "exec/fold.hpp"
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

/// With a scale, a choice and a bias, in front of the choice or behind it.
AnyTensor decoder_scores(Graph& g, const Projections& in, bool is_hidden, bool bias_first) {
  const AnyTensor chosen = op::greater(g.input<float>("choice", {5, 5}), number(g, 0.4f));
  const AnyTensor bias = g.input<float>("bias", {5});
  AnyTensor scores = op::matmul(heads(g, in.q), heads(g, in.k, {0, 2, 3, 1}));
  scores = op::mul(number(g, 0.25f), scores);
  if (bias_first) scores = op::add(bias, scores);
  const AnyTensor fill = number(g, -3);
  scores = is_hidden ? op::where(chosen, fill, scores) : op::where(chosen, scores, fill);
  return bias_first ? scores : AnyTensor(op::add(scores, bias));
}

/// In training, with words of its own; the ratio as attribute or as input.
AnyTensor dropped(Graph& g, const AnyTensor& x, bool is_input = false, bool mode = true) {
  const bool modes[]{mode};
  const TensorId training = constant<bool>(g, modes, {}).id;
  const TensorId words = constant<std::uint32_t>(g, std::vector{5u, 9u}, {2}).id;
  const TensorId ratio = is_input ? number(g, 0.25f).id : no_tensor;
  return {&g, detail::record(g, op::Dropout{.ratio = 0.25f}, {x.id, ratio, training, words}, 2)[0]};
}

/// The gradients of a sum of y's elements with different factors become outputs.
void output_gradients(Graph& g, const AnyTensor& y, const std::vector<AnyTensor>& of) {
  std::vector<float> factors(static_cast<std::size_t>(y.info().elements()));
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = static_cast<float>(i % 11) / 11;
  const AnyTensor loss = op::sum(y * constant<float>(g, factors, y.info().shape));
  std::vector<TensorId> wanted;
  for (const AnyTensor& t : of) wanted.push_back(t.id);
  int number = 0;
  for (const TensorId id : differentiate(g, loss.id, wanted)) {
    output(g, AnyTensor{&g, id}, "d" + std::to_string(++number));
  }
}
/// Factors and projections are in [0, 1]: gradients of scores are at most 16 times the weights, which
/// have the error of the scores (8 products, a scale and a mask) and their own.
void check_gradients(const Graph& a, const Graph& b) {
  test::for_each_pair(test::results(a), test::results(b),
                      [](float p, float q) { CHECK(std::abs(p - q) <= 16 * 128 * 0x1p-24f); });
}
struct Counts {
  std::size_t attentions = 0, gradients = 0, softmaxes = 0, transposes = 0;
  explicit Counts(const Graph& g)
      : attentions(test::count(g, op::FusedAttention::id)),
        gradients(test::count(g, op::FusedAttentionGradient::id)),
        softmaxes(test::count(g, op::Softmax::id)),
        transposes(test::count(g, op::Transpose::id)) {}
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
      const AnyTensor scores = decoder_scores(g, in, is_hidden, bias_first);
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

TEST_CASE("fuse attention: a training's, with the gradients of all that is around") {
  Graph g;
  const Projections in(g);
  const AnyTensor mask = g.input<float>("mask", {2, 1, 1, 5});
  // Keys are transposed twice, as is written where their heads are split off first.
  const AnyTensor k = op::transpose(heads(g, in.k), {.perm = {0, 1, 3, 2}});
  const AnyTensor scores =
      op::add(op::div(op::matmul(heads(g, in.q), k), number(g, std::sqrt(8.f))), mask);
  const AnyTensor y = together(g, op::matmul(op::softmax(scores), heads(g, in.v)));
  output(g, y, "y");
  output_gradients(g, y, {in.q, in.k, in.v});
  const Graph fused = fuse_attention(g);
  const Counts counts(fused);
  CHECK(counts.attentions == 1);
  CHECK(counts.gradients == 1);
  CHECK(counts.softmaxes + counts.transposes == 0);
  CHECK(fuse_attention(fused) == fused);
  check_gradients(g, fused);

  // An output that is not transposed back, and an operand that something else is trained by.
  Graph shared;
  const Projections more(shared);
  const AnyTensor q = heads(shared, more.q), v = heads(shared, more.v);
  const AnyTensor turned = heads(shared, more.k, {0, 2, 3, 1});
  const AnyTensor z = op::matmul(op::softmax(op::matmul(q, turned)), v) + q * v;
  output_gradients(shared, z, {more.q, more.k, more.v});
  const Graph one = fuse_attention(shared);
  CHECK(Counts(one).gradients == 1);
  check_gradients(shared, one);
}

TEST_CASE("fuse attention: gradients through a choice, a bias and shared heads") {
  for (const bool is_hidden : {false, true}) {
    for (const bool bias_first : {false, true}) {
      Graph g;
      const Projections in(g);
      const AnyTensor scores = decoder_scores(g, in, is_hidden, bias_first);
      output_gradients(g, op::matmul(op::softmax(scores), heads(g, in.v)), {in.q, in.k, in.v});
      const Graph fused = fuse_attention(g);
      CHECK(Counts(fused).gradients == 1);
      CHECK(test::count(fused, op::Where::id) == 0);
      check_gradients(g, fused);
    }
  }
  Graph shared;
  const AnyTensor q = shared.input<float>("q", {2, 6, 5, 8}),
                  k = shared.input<float>("k", {2, 2, 7, 8}),
                  v = shared.input<float>("v", {2, 2, 7, 8});
  const AnyTensor y = op::attention(q, k, v, op::Attention{.is_causal = 1});
  output_gradients(shared, op::tanh(y), {q, k, v});
  const Graph one = fuse_attention(shared);
  CHECK(Counts(one).gradients == 1);
  CHECK(test::count(one, op::MatMul::id) == 0);
  check_gradients(shared, one);
}

TEST_CASE("fuse attention: weights that are dropped, and their gradients") {
  for (const bool is_input : {false, true}) {
    Graph g;
    const Projections in(g);
    const AnyTensor weights = op::softmax(decoder_scores(g, in, false, false));
    const AnyTensor y = op::matmul(dropped(g, weights, is_input), heads(g, in.v));
    output(g, y, "y");
    check_close(g, fuse_attention(g));
    CHECK(test::count(fuse_attention(g), op::Dropout::id) == 0);
    output_gradients(g, y, {in.q, in.k, in.v});
    // The ratio's arithmetic is folded where the engine infers shapes.
    kernel::Executor one;
    CHECK(infer(g, &evaluate_constant, &one).empty());
    const Graph fused = fuse_attention(g);
    const Counts counts(fused);
    CHECK(counts.attentions == 1);
    CHECK(counts.gradients == 1);
    CHECK(counts.softmaxes == 0);
    CHECK(test::count(fused, op::Dropout::id) == 0);
    check_gradients(g, fused);
  }
  // What is no Dropout of the weights alone, or does not drop, stays.
  Graph g;
  const Projections in(g);
  const AnyTensor weights = op::softmax(decoder_scores(g, in, false, false));
  const AnyTensor kept = dropped(g, weights);
  output(g, op::matmul(kept, heads(g, in.v)), "y");
  output(g, kept, "kept");
  CHECK(fuse_attention(g) == g);
}

TEST_CASE("fuse attention: gradients of some operands") {
  for (std::size_t wanted = 0; wanted < 2; ++wanted) {
    Graph g;
    const AnyTensor q = g.input<float>("q", {3, 5, 8}), k = g.input<float>("k", {3, 5, 8}),
                    v = g.input<float>("v", {3, 5, 8});
    const AnyTensor turned = op::transpose(k, {.perm = {0, 2, 1}});
    const AnyTensor y = op::matmul(op::softmax(op::matmul(q, turned)), v);
    output_gradients(g, y, {wanted == 0 ? q : k});
    const Graph fused = fuse_attention(g);
    CHECK(Counts(fused).gradients == 1);
    CHECK(Counts(fused).transposes == 0);
    check_gradients(g, fused);
  }
}

TEST_CASE("fuse attention: what remote buffers keep of a training is read where it is loaded") {
  Graph g;
  const Projections in(g);
  const AnyTensor chosen = op::greater(g.input<float>("choice", {5, 5}), number(g, 0.4f));
  const AnyTensor twice[]{in.q * in.q, in.k * in.k, in.v * in.v};
  AnyTensor scores = op::matmul(heads(g, twice[0]), heads(g, twice[1], {0, 2, 3, 1}));
  scores = op::where(chosen, scores, number(g, -3));
  // The values come last, so that their gradient is read before keys are loaded.
  output_gradients(g, op::matmul(op::softmax(scores), heads(g, twice[2])), {in.q, in.k, in.v});
  const Graph moved = off_chip(g, {.activations = {.is_on = true}}), fused = fuse_attention(moved);
  CHECK(Counts(fused).gradients == 1);
  CHECK(Counts(fused).softmaxes == 0);
  // The weights are stored no more.
  CHECK(test::count(fused, op::RemoteStore::id) + 1 == test::count(moved, op::RemoteStore::id));
  CHECK(test::count(fused, op::RemoteLoad::id) + 1 == test::count(moved, op::RemoteLoad::id));
  // Each tensor is made before it is read.
  TensorMap<bool> is_made(fused, false);
  const Uses uses(fused);
  for (const Node& node : fused.nodes) {
    for (const TensorId id : node.inputs) {
      CHECK((id == no_tensor || uses.producer[id] == no_node || is_made[id]));
    }
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) is_made[id] = true;
    }
  }
}

TEST_CASE(
    "fuse attention: a training's stays where a mask is trained or nodes are computed again") {
  const auto gradients = [](auto&& change, bool with_bias) {
    Graph g;
    const Projections in(g);
    const AnyTensor bias = g.input<float>("bias", {5});
    const AnyTensor scores = op::matmul(heads(g, in.q), heads(g, in.k, {0, 2, 3, 1})) + bias;
    const AnyTensor weights = op::softmax(scores);
    std::vector<AnyTensor> of{in.q, in.k, in.v};
    if (with_bias) of.push_back(bias);
    output_gradients(g, op::matmul(weights, heads(g, in.v)), of);
    g = change(std::move(g), weights.id);
    const Graph fused = fuse_attention(g);
    if (Counts(fused).gradients == 0) CHECK(without_dead_code(fused) == without_dead_code(g));
    return Counts(fused).gradients;
  };
  const auto as_it_is = [](Graph g, TensorId) { return g; };
  CHECK(gradients(as_it_is, false) == 1);
  CHECK(gradients(as_it_is, true) == 0);
  CHECK(gradients([](Graph g, TensorId) { return recompute(std::move(g), Recomputation::all); },
                  false) == 0);
  CHECK(gradients(
            [](Graph g, TensorId weights) {
              output(g, AnyTensor{&g, weights}, "weights");
              return g;
            },
            false) == 0);
}
