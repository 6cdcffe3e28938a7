#include "transform/fold_batch_norm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include <halftone/halftone.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

/// A convolution of 2 x 1 x 1 filters, then scale 2, shift 1, mean 3 and variance 4.
struct Model {
  Graph g;
  AnyTensor y;

  explicit Model(bool has_bias, bool constant_scale = true, bool seen = false) {
    const auto list = [&](float a, float b) { return constant<float>(g, std::vector{a, b}, {2}); };
    const AnyTensor x = g.input<float>("x", {1, 2, 3, 3});
    const AnyTensor w = constant<float>(g, std::vector{1.f, 2.f, -3.f, 4.f}, {2, 2, 1, 1});
    y = has_bias ? AnyTensor(op::conv(x, w, list(5, 6))) : AnyTensor(op::conv(x, w));
    if (seen) g.add_output(y.id);
    const AnyTensor scale =
        constant_scale ? list(2, 2) : AnyTensor(parameter<float, Shape<2>>(g, "scale", ones));
    output(
        g,
        op::batch_normalization(y, scale, list(1, -1), list(3, 0), list(4, 0.25f), {.epsilon = 0}),
        "y");
  }
};

std::vector<float> values(const Graph& g, TensorId id) {
  const std::span<const std::byte> bytes = g.tensor(id).data.span();
  std::vector<float> list(bytes.size() / sizeof(float));
  std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}

}  // namespace

// (w x + b - mean) scale / sqrt(variance) + shift: weights grow by scale / sqrt(variance), which is
// 1 and 4 here, and the bias follows.
TEST_CASE("fold batch norm: weights and bias by the formula") {
  for (const bool has_bias : {false, true}) {
    const Model model(has_bias);
    const Graph folded = fold_batch_norm(model.g);
    REQUIRE(folded.nodes.size() == 1);
    const Node& conv = folded.nodes[0];
    CHECK(values(folded, conv.inputs[1]) == std::vector<float>{1, 2, -12, 16});
    const float a = has_bias ? 5 : 0, b = has_bias ? 6 : 0;
    CHECK(values(folded, conv.inputs[2]) == std::vector<float>{(a - 3) * 1 + 1, b * 4 - 1});
    CHECK(conv.outputs[0] == model.g.outputs[0]);
    CHECK(fold_batch_norm(folded) == folded);

    // All factors are powers of two or small: few roundings of values below 32.
    const test::Results before = test::results(model.g), after = test::results(folded);
    for (std::size_t at = 0; at < before[0].size(); at += sizeof(float)) {
      float p, q;
      std::memcpy(&p, before[0].data() + at, sizeof p);
      std::memcpy(&q, after[0].data() + at, sizeof q);
      CHECK(std::abs(p - q) <= 8 * 32 * 0x1p-24f);
    }
  }
}

TEST_CASE("fold batch norm: variables and values that are read elsewhere stay") {
  for (const Model& model : {Model(true, false), Model(true, true, true)}) {
    CHECK(fold_batch_norm(model.g) == model.g);
  }
  Graph training;
  const AnyTensor x = training.input<float>("x", {2, 2, 3, 3});
  const AnyTensor w = constant<float>(training, std::vector{1.f, 2.f, 3.f, 4.f}, {2, 2, 1, 1});
  const AnyTensor one = constant<float>(training, std::vector{1.f, 1.f}, {2});
  training.add_output(AnyTensor(op::batch_normalization(op::conv(x, w), one, one, one, one)).id);
  for (Node& node : training.nodes) {
    if (node.op->id != op::BatchNormalization::id) continue;
    node.attributes = pack(op::BatchNormalization{.training_mode = 1});
  }
  CHECK(fold_batch_norm(training) == training);
}
