#include "transform/fuse_normalizations.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/transform/block_channels.hpp>
#include <halftone/transform/fuse_convolutions.hpp>

#include "exec/kernel_table.hpp"
#include "floats.hpp"
#include "results.hpp"

using namespace halftone;

namespace {

constexpr std::int64_t channels = 64;

AnyTensor numbers(Graph& g, float first, float step) {
  std::vector<float> list;
  for (std::int64_t c = 0; c < channels; ++c) {
    list.push_back(first + step * static_cast<float>(c % 7));
  }
  return constant<float>(g, list, {channels});
}

/// Two tensors are joined, normalized and then read by a convolution, as in DenseNet.
struct Model {
  Graph g;
  AnyTensor normalized;
  std::int64_t kernel;

  Model(std::int64_t size, bool has_relu) : kernel(size) {
    const AnyTensor x = g.input<float>("x", {2, 32, 6, 5});
    const AnyTensor v = parameter<float, Shape<32, 32, 3, 3>>(g, "v");
    const AnyTensor a = op::conv(x, v, {.pads = {1, 1, 1, 1}});
    const AnyTensor both = op::concat(std::vector<AnyTensor>{a, op::tanh(a)}, {.axis = 1});
    normalized = op::batch_normalization(both, numbers(g, 0.5f, 0.1f), numbers(g, -0.2f, 0.1f),
                                         numbers(g, -0.1f, 0.05f), numbers(g, 1, 0.2f));
    if (has_relu) normalized = op::relu(normalized);
    const Dims shape{32, channels, kernel, kernel};
    const AnyTensor w{&g, g.add_variable({ElementType::float32, shape},
                                         Initial{Initial::Rule::uniform, -0.5f, 0.5f}, "w")};
    output(g, op::conv(normalized, w, {.pads = Pads::filled(4, kernel / 2)}), "y");
  }
  Graph in_blocks() const { return block_channels(fuse_convolutions(g), float_lanes()); }
};

}  // namespace

TEST_CASE("fuse normalizations: the convolution behind one takes it in, and the Relu") {
  for (const std::int64_t kernel : {1, 3}) {
    for (const bool has_relu : {false, true}) {
      CAPTURE(kernel);
      CAPTURE(has_relu);
      const Graph ready = Model(kernel, has_relu).in_blocks();
      const Graph fused = fuse_normalizations(ready);
      CHECK(fused.nodes.size() == ready.nodes.size() - 3 - (has_relu ? 1 : 0));
      CHECK(test::count(fused, op::Sub::id) == 0);
      const Node* last = nullptr;
      for (const Node& node : fused.nodes) {
        if (node.op->id == op::FusedConv::id) last = &node;
      }
      REQUIRE(last != nullptr);
      REQUIRE(last->inputs.size() == 7);
      CHECK(unpack<op::FusedConv>(last->attributes).clears_negatives == has_relu);
      CHECK(fuse_normalizations(fused) == fused);
      // Sums of products below 2 in magnitude, each of a factor that has been rounded up to twice more.
      const float most = 64.f * static_cast<float>(kernel * kernel);
      test::for_each_pair(test::results(ready), test::results(fused), [&](float p, float q) {
        CHECK(std::abs(p - q) <= 2 * most * (most + 2) * 0x1p-24f);
      });
    }
  }
}

TEST_CASE("fuse normalizations: leaves values alone that something else reads") {
  Model model(1, true);
  output(model.g, model.normalized, "normalized");
  const Graph ready = model.in_blocks();
  CHECK(fuse_normalizations(ready) == ready);
}

// Both factors of a product are off by up to 2^-8 of themselves in bfloat16.
TEST_CASE("fuse normalizations: a session in bfloat16 is as near as its products") {
  if (!has_products_in(Precision::bfloat16)) return;
  Array<float> x({2, 32, 6, 5});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 0.37f);
  for (const std::int64_t kernel : {1, 3}) {
    CAPTURE(kernel);
    Session exact(Model(kernel, true).g),
        session(Model(kernel, true).g, {.precision = Precision::bfloat16});
    const test::Floats expected = test::floats_of(exact.run({{"x", x}})[0]);
    const test::Floats y = test::floats_of(session.run({{"x", x}})[0]);
    const auto products = static_cast<float>(64 * kernel * kernel);
    std::size_t wrong = 0, same = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      // The first convolution's own error goes through factors of up to 1.1 as well.
      wrong += !(std::abs(y[i] - expected[i]) <= 2 * products * 0x1p-7f);
      same += y[i] == expected[i];
    }
    CHECK(wrong == 0);
    CHECK(same < y.size() / 8);
  }
}
