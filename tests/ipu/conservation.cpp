#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <halftone/ipu/profile.hpp>

#include "../../bench/networks.hpp"

using namespace halftone;
using namespace halftone::ipu;

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// What is live on a tile in each step, found variable by variable, and what always is.
struct Live {
  std::vector<std::int64_t> by_step;
  std::int64_t always = 0;

  Live(const Report& r, std::int64_t tile) : by_step(std::max<std::size_t>(r.steps.size(), 1)) {
    for (const Variable& v : r.variables) {
      if (v.ipu != tile / r.target.tiles_per_ipu) continue;
      const std::int64_t bytes = v.on_tile(tile % r.target.tiles_per_ipu);
      if (v.is_always_live) always += bytes;
      for (std::int32_t s = v.first_step; !v.is_always_live && s <= v.last_step; ++s) {
        by_step[index(s)] += bytes;
      }
    }
  }
};

void check_memory(const Report& r) {
  for (std::int64_t tile = 0; tile < r.target.tiles(); ++tile) {
    const Live live(r, tile);
    const auto& memory = r.memory[index(tile)];
    const std::int64_t peak = *std::max_element(live.by_step.begin(), live.by_step.end());
    const std::int32_t at = r.peak_step[index(tile)];
    // The peak is the largest of all steps, and so is that of the step which is said to have it.
    REQUIRE(memory[index(static_cast<int>(Category::temporaries))] == peak);
    REQUIRE(live.by_step[index(at)] == peak);
    REQUIRE(memory[index(static_cast<int>(Category::variables))] +
                memory[index(static_cast<int>(Category::constants))] ==
            live.always);
    // The list of a tile adds up to what the head of the report says.
    std::int64_t listed = 0, categorised = 0;
    for (const std::int32_t v : r.live_variables(tile, at)) {
      listed += r.variables[index(v)].on_tile(tile % r.target.tiles_per_ipu);
    }
    REQUIRE(listed == peak + live.always);
    for (const std::int64_t bytes : memory) categorised += bytes;
    REQUIRE(categorised == r.tile_bytes(tile));
  }
  for (std::size_t s = 0; s < r.steps.size(); ++s) {
    std::int64_t bytes = 0;
    for (const Variable& v : r.variables) {
      if (v.is_always_live || index(v.first_step) > s || index(v.last_step) < s) continue;
      v.mapping.for_each_piece([&](std::int64_t tile, std::int64_t) { bytes += v.on_tile(tile); });
    }
    REQUIRE(r.live_bytes[s] == bytes);
  }
}

/// A tile receives four bytes a cycle at most, or eight of those that its neighbour gets as well.
void check_exchange(const Report& r) {
  const Target& t = r.target;
  for (const Step& s : r.steps) {
    if (s.kind != StepKind::exchange) continue;
    REQUIRE(s.tiles > 0);
    const std::int64_t rate = t.exchange_bytes_per_cycle * t.tiles_per_super_tile;
    REQUIRE(divide_up(s.bytes, s.tiles) <= rate * (s.cycles - t.exchange_setup_cycles));
  }
}

/// What an IPU sends over links another one receives, at the same time.
void check_links(const Report& r) {
  std::int64_t balance = 0;
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    const Step& s = r.steps[i];
    if (s.kind != StepKind::link) continue;
    REQUIRE(s.peer >= 0);
    const Step& other = r.steps[index(s.peer)];
    REQUIRE(other.ipu != s.ipu);
    REQUIRE(other.bytes == s.bytes);
    REQUIRE(other.start == s.start);
    balance += index(s.peer) > i ? s.bytes : -s.bytes;
  }
  REQUIRE(balance == 0);
}

void check_conservation(const std::string& name, const Graph& graph) {
  for (const std::int64_t ipus : {1, 2, 4, 16}) {
    CAPTURE(name);
    CAPTURE(ipus);
    const Report r =
        profile(graph, gc200.with_tiles(24).with_ipus(ipus), {.allow_out_of_memory = true});
    check_memory(r);
    check_exchange(r);
    check_links(r);
  }
}

}  // namespace

// Laws of a report, for what bench/ and examples/ are made of: dense layers, convolutions with strides
// and pools, residuals and statistics of batches, attention, recurrences.
TEST_CASE("memory and exchange are conserved") {
  using namespace networks;
  const std::pair<std::string, Graph> all[] = {{"mlp", mlp(8)},
                                               {"lenet", lenet(2)},
                                               {"resnet18", resnet18(2, 32)},
                                               {"encoder", encoder(2, 16, 2, 128)},
                                               {"gpt", small_gpt(1, 16, 1)},
                                               {"mobilenet", mobilenet(1)}};
  for (const auto& [name, graph] : all) {
    check_conservation(name, graph);
    if (name != "mobilenet") check_conservation(name + ", trained", training(graph));
  }
  check_conservation("lstm", lstm(2, 4));
  for (const CallCopies copies : {CallCopies::on_enter_and_exit, CallCopies::just_in_time}) {
    check_memory(profile(encoder(2, 16, 4, 128), gc200.with_tiles(24),
                         {.allow_out_of_memory = true,
                          .outline = OutlineOptions{.threshold = 2500},
                          .call_copies = copies}));
  }
}

// VGG-11 (arXiv 1409.1556, table 1) has 132.9 M weights: 531 MB of a GC200's 941 MB in float. Each
// weight lies in one place, and only copies of it are received.
TEST_CASE("weights that stay where they are, are not counted twice") {
  Graph g;
  AnyTensor x = g.input<float>("x", {1, 3, 224, 224});
  std::int64_t channels = 3;
  for (const std::int64_t filters : {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0}) {
    if (filters == 0) {
      x = op::max_pool(x, {.kernel_shape = {2, 2}, .strides = {2, 2}});
      continue;
    }
    x = op::relu(networks::conv(g, x, channels, filters, 3, 1, 1, true));
    channels = filters;
  }
  x = networks::reshaped(g, x, {1, 25'088});
  for (const auto& [in, out] : {std::pair{25'088, 4096}, {4096, 4096}, {4096, 1000}}) {
    x = networks::dense(g, x, in, out);
  }
  g.outputs = {x.id};
  std::int64_t weights = 0;
  for (const TensorRecord& t : g.tensors) weights += t.role == Role::variable ? t.info.bytes() : 0;
  CHECK(weights == 4 * 132'863'336);
  const Report r = profile(g, gc200);
  CHECK(r.fits());
  for (const Variable& v : r.variables) {
    if (!v.name.ends_with("/received")) continue;
    CHECK(v.bytes() < weights / 4);
  }
}
