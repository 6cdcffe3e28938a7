#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include <halftone/graph/gradient.hpp>
#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/train.hpp>

using namespace halftone;

namespace {

/// Layers of a matrix product, a bias and a relu.
Graph layers(std::int64_t batch, std::int64_t width, int count) {
  Graph g;
  AnyTensor x = g.input<float>("x", {batch, width});
  for (int i = 0; i < count; ++i) {
    const AnyTensor w{&g, g.add_variable({ElementType::float32, {width, width}},
                                         Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
    const AnyTensor b{&g, g.add_variable({ElementType::float32, {width}},
                                         Initial{Initial::Rule::fill, 0, 0}, "b")};
    x = op::relu(op::matmul(x, w) + b);
  }
  output(g, x, "y");
  return g;
}

std::int64_t sum_of(const ipu::Report& r, ipu::Category category) {
  std::int64_t sum = 0;
  for (const auto& tile : r.memory) sum += tile[static_cast<std::size_t>(category)];
  return sum;
}

}  // namespace

TEST_CASE("laws of a profile") {
  const ipu::Report r = ipu::profile(layers(64, 256, 3), ipu::gc200);
  CHECK(r.operations.size() == 9);
  CHECK(r.fits());
  // The parts of time are the whole.
  std::int64_t cycles = 0;
  for (int k = 0; k < ipu::step_kinds; ++k) cycles += r.cycles(static_cast<ipu::StepKind>(k));
  CHECK(cycles == r.cycles());
  std::int64_t of_operations = 0;
  for (std::size_t i = 0; i < r.operations.size(); ++i) of_operations += r.operation_cycles(i);
  CHECK(of_operations + r.cycles(ipu::StepKind::host) == r.cycles());
  // Multiplications and additions of three products, then one for each bias and relu.
  CHECK(r.flops() == 3 * (2LL * 64 * 256 * 256 + 2 * 64 * 256));
  CHECK(r.share_of_peak() < 1);
  CHECK(r.busy_cycles() <= static_cast<double>(r.cycles(ipu::StepKind::compute)));
  // Weights and biases lie somewhere exactly once, but for whole 8 bytes.
  const std::int64_t weights = 3 * (256 * 256 + 256) * 4;
  CHECK(sum_of(r, ipu::Category::variables) >= weights);
  CHECK(sum_of(r, ipu::Category::variables) <= weights + 6 * 8 * 1472);
  for (std::int64_t tile = 0; tile < 1472; ++tile) {
    CHECK(r.tile_bytes(tile) >= r.always_live_bytes(tile));
  }
  // Equal products are planned once.
  CHECK(r.products_planned == 1);
  CHECK(r.products_reused == 2);
}

TEST_CASE("a profile is the same each time, and more work takes longer") {
  const ipu::Report a = ipu::profile(layers(64, 256, 3), ipu::gc200);
  CHECK(a.json() == ipu::profile(layers(64, 256, 3), ipu::gc200).json());
  CHECK(ipu::profile(layers(128, 256, 3), ipu::gc200).cycles() > a.cycles());
  CHECK(ipu::profile(layers(64, 256, 6), ipu::gc200).cycles() > a.cycles());
  // Same cycles on the chip at a faster clock: 1.85 to 1.325 GHz.
  const ipu::Report fast = ipu::profile(layers(64, 256, 3), ipu::bow);
  CHECK(fast.cycles(ipu::StepKind::compute) == a.cycles(ipu::StepKind::compute));
  CHECK(fast.seconds() < a.seconds());
}

TEST_CASE("the gradient of softmax with a loss takes less time than its parts") {
  std::int64_t cycles[2];
  for (const bool is_fused : {false, true}) {
    Graph g;
    const AnyTensor x = g.input<half>("x", {64, 1000});
    const AnyTensor y = op::softmax(x);
    const AnyTensor loss = op::nll_loss(y, g.input<std::int32_t>("label", {64}));
    AnyTensor dx{&g, differentiate(g, loss.id, std::span(is_fused ? &x.id : &y.id, 1))[0]};
    if (!is_fused) {
      const AnyTensor product = dx * y;
      dx = product - y * op::sum(product, constant(g, {-1}));
    }
    output(g, dx, "dx");
    const ipu::Report r = ipu::profile(g, ipu::gc200);
    // The first operation is the softmax.
    CHECK(r.operations.size() == (is_fused ? 2 : 6));
    cycles[is_fused] = r.cycles();
    CHECK(r.operation_cycles(1) > 0);
  }
  CHECK(cycles[1] < cycles[0]);
}

TEST_CASE("half sums are faster than float sums") {
  Graph g;
  const AnyTensor x = g.input<half>("x", {2048, 2048}), w = g.input<half>("w", {2048, 2048});
  output(g, op::matmul(x, w), "y");
  const auto cycles = [&](ElementType partials) {
    return ipu::profile(g, ipu::gc200, {.partials = partials, .allow_out_of_memory = true})
        .cycles(ipu::StepKind::compute);  // the host takes longer than either
  };
  CHECK(cycles(ElementType::float16) < cycles(ElementType::float32));
}

TEST_CASE("operations without a name are called after their layers") {
  Graph g;
  AnyTensor x = g.input<float>("x", {16, 32});
  for (int i = 0; i < 2; ++i) {
    g.push_scope("layer" + std::to_string(i));
    const AnyTensor w{&g, g.add_variable({ElementType::float32, {32, 32}},
                                         Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
    g.pop_scope();
    x = op::relu(op::matmul(x, w));
  }
  output(g, x, "y");
  const ipu::Report r = ipu::profile(g, ipu::gc200);
  CHECK(r.operations[0].name == "layer0/w");
  CHECK(r.operations[1].name == "layer0/Relu_1");
  CHECK(r.operations[2].name == "layer1/w");
  CHECK(r.operations[3].name == "y");  // the name of its result

  // What a weight is changed by is its gradient.
  const AnyTensor loss = op::mean(AnyTensor{&g, g.outputs[0]}, {.keepdims = 0});
  train(g, loss, Sgd{});
  const ipu::Report trained = ipu::profile(g, ipu::gc200);
  for (const std::string layer : {"layer0", "layer1"}) {
    int count = 0;
    for (const ipu::Operation& o : trained.operations) count += o.name == layer + "/w/gradient";
    CHECK(count >= 1);
  }
}

TEST_CASE("a model that does not fit is an error with names, or a report") {
  const Graph big = layers(16, 1024, 4);  // 16 MiB of weights, 2.4 MiB of tiles
  const ipu::Target few = ipu::gc200.with_tiles(4);
  bool thrown = false;
  try {
    ipu::profile(big, few);
  } catch (const MemoryError& e) {
    thrown = true;
    const std::string text = e.what();
    for (const char* part : {"tile", "624 KiB", "largest", "'w", "peak at step", "IPUs"}) {
      INFO(text);
      CHECK(text.find(part) != text.npos);
    }
  }
  CHECK(thrown);
  const ipu::Report r = ipu::profile(big, few, {.allow_out_of_memory = true});
  CHECK_FALSE(r.fits());
  CHECK(r.tiles_out_of_memory() == 4);
  // Four IPUs have four times the memory, and need links.
  const ipu::Report more = ipu::profile(big, ipu::gc200, {.ipus = 4});
  CHECK(more.fits());
  CHECK(more.cycles(ipu::StepKind::link) > 0);
}

TEST_CASE("running out of memory names tile, bytes, step and the largest tensors") {
  const Graph big = layers(16, 1024, 12);
  const ipu::Target few = ipu::gc200.with_tiles(4);
  const ipu::Report r = ipu::profile(big, few, {.allow_out_of_memory = true});
  const std::int64_t tile = r.fullest_tile();
  const std::int32_t peak = r.peak_step[static_cast<std::size_t>(tile)];
  std::string text;
  try {
    ipu::profile(big, few);
  } catch (const MemoryError& e) {
    text = e.what();
    CHECK(e.expected() == "638976 bytes");
    CHECK(e.found() == std::to_string(r.tile_bytes(tile)) + " bytes");
  }
  INFO(text);
  const auto has = [&](const std::string& part) { return text.find(part) != text.npos; };
  CHECK(has("tile " + std::to_string(tile) + " needs"));
  CHECK(has("peak at step"));
  CHECK(has(std::to_string(peak) + ", "));
  // Ten of the 24 weights and biases and what is live with them.
  const std::vector<std::int32_t> live = r.live_variables(tile, peak);
  REQUIRE(live.size() > 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(has("'" + r.variables[static_cast<std::size_t>(live[i])].name + "'"));
    if (i == 0) continue;
    CHECK(r.variables[static_cast<std::size_t>(live[i - 1])].on_tile(tile) >=
          r.variables[static_cast<std::size_t>(live[i])].on_tile(tile));
  }
  std::size_t listed = 0;
  for (std::size_t at = text.find(", always live"); at != text.npos;
       at = text.find(", always live", at + 1)) {
    ++listed;
  }
  for (std::size_t at = text.find(", live in steps"); at != text.npos;
       at = text.find(", live in steps", at + 1)) {
    ++listed;
  }
  CHECK(listed == 10);
  CHECK(has("more IPUs, a smaller batch or half instead of float"));
  CHECK(has("allow_out_of_memory"));
}

TEST_CASE("a machine that a user writes") {
  const ipu::Target mine{.name = "mine",
                         .tiles_per_ipu = 96,
                         .worker_contexts = 4,
                         .bytes_per_tile = 1 << 20,
                         .clock_hz = 1e9};
  const ipu::Report r = ipu::profile(layers(64, 256, 2), mine);
  CHECK(r.memory.size() == 96);
  CHECK(r.seconds() == doctest::Approx(static_cast<double>(r.cycles()) * 1e-9));
  CHECK(r.summary().find("mine") != std::string::npos);
  CHECK(nlohmann::json::parse(r.json())["target"]["name"] == "mine");
  ipu::Target faster = mine;
  faster.exchange_bytes_per_cycle = 8;
  CHECK(ipu::profile(layers(64, 256, 2), faster).cycles() < r.cycles());
  const Session session(layers(2, 8, 2), {.device = Device::ipu_model, .ipu = {.target = &mine}});
  CHECK(session.report().target.tiles_per_ipu == 96);
  ipu::Target wrong = mine;
  wrong.clock_hz = 0;
  CHECK_THROWS_AS(ipu::profile(layers(2, 8, 1), wrong), UsageError);
}

// 20 GB/s behind 1.5 us; 8 bytes a tile take two cycles.
TEST_CASE("remote buffers are in streaming memory, whose time is counted apart") {
  Graph g;
  const TensorId x = g.input<float>("x", {64, 1024}).id;
  const TensorId buffer = g.add_variable({ElementType::float32, {3, 64, 1024}},
                                         Initial{Initial::Rule::fill, 0, 0}, "buffer");
  halftone::detail::record(g, op::RemoteStore{.buffer_id = 0}, {x, no_tensor, buffer}, 0);
  const AnyTensor y{&g, halftone::detail::record(g, op::RemoteLoad{.buffer_id = 0},
                                                 {x, no_tensor, buffer}, 1)[0]};
  output(g, op::relu(y), "y");
  const ipu::Report r = ipu::profile(g, ipu::gc200);
  const double seconds = 1.5e-6 + 64 * 1024 * 4 / 20e9;
  CHECK(static_cast<double>(r.cycles(ipu::StepKind::streaming)) ==
        doctest::Approx(2 * seconds * 1.325e9).epsilon(1e-3));
  CHECK(nlohmann::json::parse(r.json())["execution"]["by_kind"]["RemoteCopy"] ==
        r.cycles(ipu::StepKind::streaming));
  CHECK(sum_of(r, ipu::Category::variables) == 0);  // the buffer takes no tile's memory
}

TEST_CASE("options and shapes that make no sense") {
  const Graph g = layers(4, 8, 1);
  CHECK_THROWS_AS(ipu::profile(g, ipu::gc200, {.ipus = 65}), UsageError);
  CHECK_THROWS_AS(ipu::profile(g, ipu::gc200, {.tiles_per_ipu = -1}), UsageError);
  CHECK_THROWS_AS(ipu::profile(g, ipu::gc200, {.available_memory_proportion = 2}), UsageError);
  CHECK_THROWS_AS(ipu::profile(layers(dynamic, 8, 1), ipu::gc200), UnsupportedError);
  CHECK_THROWS_AS(ipu::profile(layers(std::int64_t{1} << 40, 1024, 1), ipu::gc200), MemoryError);
}

TEST_CASE("files of a report") {
  const ipu::Report r = ipu::profile(layers(64, 256, 2), ipu::gc200);
  const auto json = nlohmann::json::parse(r.json());
  CHECK(json["schema"] == "halftone.ipu.report");
  CHECK(json["version"] == 1);
  CHECK(json["execution"]["cycles"] == r.cycles());
  CHECK(json["memory"]["by_tile"].size() == 1472);
  CHECK(json["steps"]["cycles"].size() == r.steps.size());
  CHECK(json["operations"].size() == 6);
  CHECK(nlohmann::json::parse(r.graph_json())["memory"]["fits"] == true);
  CHECK(nlohmann::json::parse(r.execution_json())["execution"]["cycles"] == r.cycles());
  // The trace's phases are as long as the run.
  const auto trace = nlohmann::json::parse(r.trace());
  double us = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] == "bsp") us += event["dur"].get<double>();
  }
  CHECK(us == doctest::Approx(r.seconds() * 1e6));
  // Stacks: the numbers at the ends of the lines are all cycles.
  std::int64_t cycles = 0;
  const std::string stacks = r.stacks();
  for (std::size_t at = 0; at < stacks.size();) {
    const std::size_t end = stacks.find('\n', at);
    const std::size_t blank = stacks.rfind(' ', end);
    cycles += std::stoll(stacks.substr(blank + 1, end - blank - 1));
    at = end + 1;
  }
  CHECK(cycles == r.cycles());
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(lines(r.tiles_csv()) == 1473);
  CHECK(lines(r.steps_csv()) == static_cast<std::ptrdiff_t>(r.steps.size()) + 1);
  CHECK(r.summary().find("Total cycles") != std::string::npos);
  // The page holds the report and the one that it is compared with; "<" would end the script.
  const std::string page = r.html(R"({"model":"</script>"})");
  CHECK(page.find("@REPORT@") == std::string::npos);
  CHECK(page.find("@OTHER@") == std::string::npos);
  CHECK(page.find(R"({"model":"\u003c/script>"})") != std::string::npos);
  CHECK(r.html().find(R"(id="beside">null<)") != std::string::npos);
}

// The published accounting of one compute set: total is compute, sync and exchange, nothing
// overlaps; without the launch a binary vertex is poplibs' estimate alone.
TEST_CASE("a single addition costs what its vertex costs") {
  Graph g;
  const AnyTensor a = g.input<float>("a", {1472, 1024}), b = g.input<float>("b", {1472, 1024});
  output(g, a + b, "y");
  const ipu::Report r = ipu::profile(g, ipu::gc200, {.has_launch = false});
  CHECK(r.cycles(ipu::StepKind::compute) == 1733);  // add float, 1024 elements a tile
}

// poplibs' estimate of BroadcastSelectorSelect for 33 floats of a worker is 80 of its cycles.
TEST_CASE("one condition for all elements copies rows") {
  Graph g;
  const AnyTensor c = g.input<bool>("c", {});
  const AnyTensor a = g.input<float>("a", {1472, 198}), b = g.input<float>("b", {1472, 198});
  output(g, op::where(c, a, b), "y");
  const ipu::Report r = ipu::profile(g, ipu::gc200, {.has_launch = false});
  CHECK(r.cycles(ipu::StepKind::compute) == 6 * 80);
}

TEST_CASE("sessions on ipu_model give the results of cpu, and reports") {
  const auto run = [](const SessionOptions& options) {
    Session session(layers(2, 8, 2), options);
    Array<float> x({2, 8});
    for (std::int64_t i = 0; i < 16; ++i)
      x.values()[static_cast<std::size_t>(i)] = static_cast<float>(i) - 5;
    const auto y = session.run({{"x", x}})["y"].values<float>();
    return std::vector<float>(y.begin(), y.end());
  };
  CHECK(run({}) == run({.device = Device::ipu_model}));
  const Session cpu(layers(2, 8, 2));
  CHECK_THROWS_AS(cpu.report(), UsageError);
  CHECK_THROWS_AS(cpu.cycle_count(), UsageError);
  const Session model(layers(2, 8, 2), {.batches_per_step = 3, .device = Device::ipu_model});
  CHECK(model.cycle_count() == 3 * model.report().cycles());
  const Session quiet(layers(2, 8, 2), {.device = Device::ipu_model, .ipu = {.profiling = false}});
  CHECK_THROWS_AS(quiet.report(), UsageError);
  const ipu::Target few = ipu::gc200.with_tiles(1);
  CHECK_THROWS_AS(
      Session(layers(16, 1024, 1), {.device = Device::ipu_model, .ipu = {.target = &few}}),
      MemoryError);
}
