#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <halftone/ipu/profile.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/off_chip.hpp>
#include <halftone/transform/serialize_batch.hpp>
#include <halftone/transform/shard.hpp>

#include "../../bench/networks.hpp"

// What a training keeps beside the machine, or in parts, takes no room on the tiles of an IPU.

using namespace halftone;

namespace {

constexpr TensorKind on{.is_on = true};
constexpr std::int64_t width = 512;

/// A layer of width x width weights that Adam trains: two states of their size.
Graph dense_layer(std::int32_t replicas = 1) {
  Graph g;
  g.replicas = replicas;
  const AnyTensor x = g.input<float>("x", {4, width});
  const AnyTensor label = g.input<std::int32_t>("label", {4});
  const AnyTensor w{&g, g.add_variable({ElementType::float32, {width, width}},
                                       Initial{Initial::Rule::normal, 0, 1}, "w")};
  const AnyTensor loss = op::nll_loss(op::softmax(op::matmul(x, w)), label);
  train(g, loss, Adam{.learning_rate = 1e-3f});
  g.outputs = {loss.id};
  return g;
}

/// The bytes on all tiles of what has that name; 0: it is on none.
std::int64_t bytes_of(const ipu::Report& report, std::string_view name) {
  std::int64_t sum = 0;
  for (const ipu::Variable& v : report.variables) {
    if (v.name == name) sum += v.bytes();
  }
  return sum;
}
std::int64_t streamed(const ipu::Report& report) {
  std::int64_t sum = 0;
  for (const ipu::Step& step : report.steps) {
    if (step.kind == ipu::StepKind::streaming) sum += step.bytes;
  }
  return sum;
}

}  // namespace

TEST_CASE("variables in remote buffers leave the tiles and are streamed") {
  const std::int64_t size = width * width * 4;
  const ipu::Report plain = ipu::profile(dense_layer(), ipu::gc200);
  const ipu::Report state = ipu::profile(off_chip(dense_layer(), {.state = on}), ipu::gc200);
  const ipu::Report all =
      ipu::profile(off_chip(dense_layer(), {.state = on, .weights = on}), ipu::gc200);
  for (const char* name : {"w", "Accl1___w", "Accl2___w"}) {
    const bool is_weight = std::string_view(name) == "w";
    CAPTURE(std::string(name));
    CHECK(bytes_of(plain, name) == size);
    CHECK(bytes_of(state, name) == (is_weight ? size : 0));
    CHECK(bytes_of(all, name) == 0);
  }
  CHECK(streamed(plain) < size);
  // Both states come and go, and the weight twice: forward, since x is an input, and in its update.
  CHECK(streamed(state) - streamed(plain) == 4 * size);
  CHECK(streamed(all) - streamed(state) == 3 * size);
}

TEST_CASE("parts of variables take a share of the tiles' memory") {
  const std::int64_t size = width * width * 4;
  const ipu::Report plain = ipu::profile(dense_layer(4), ipu::gc200);
  const ipu::Report state = ipu::profile(shard(dense_layer(4), {.state = on}), ipu::gc200);
  const ipu::Report all =
      ipu::profile(shard(dense_layer(4), {.state = on, .weights = on}), ipu::gc200);
  for (const char* name : {"w", "Accl1___w", "Accl2___w"}) {
    const bool is_weight = std::string_view(name) == "w";
    CAPTURE(std::string(name));
    CHECK(bytes_of(plain, name) == size);
    CHECK(bytes_of(state, name) == (is_weight ? size : size / 4));
    CHECK(bytes_of(all, name) == size / 4);
  }
}

TEST_CASE("a batch in parts has fewer values on the tiles at once, and takes longer") {
  const auto profiled = [](std::int64_t parts) {
    Graph g;
    AnyTensor x = g.input<float>("x", {32, 128});
    for (const std::int64_t inputs : {128, 512}) x = op::relu(networks::dense(g, x, inputs, 512));
    output(g, networks::dense(g, x, 512, 10), "y");
    return ipu::profile(serialize_batch(std::move(g), parts), ipu::gc200);
  };
  const auto most_live = [](const ipu::Report& report) {
    return *std::max_element(report.live_bytes.begin(), report.live_bytes.end());
  };
  const ipu::Report whole = profiled(1), parts = profiled(4);
  CHECK(most_live(parts) < most_live(whole) * 3 / 4);
  CHECK(parts.cycles() > whole.cycles());
}
