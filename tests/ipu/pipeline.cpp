#include <halftone/ipu/pipeline.hpp>

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include <halftone/graph/scopes.hpp>
#include <halftone/halftone.hpp>

#include "../../bench/networks.hpp"
#include "../contains.hpp"
#include "../error_of.hpp"

using namespace halftone;
using namespace test;

namespace {

/// Equal layers, two in each stage.
Graph stages(std::int32_t count, bool trained) {
  Graph g;
  AnyTensor x = g.input<float>("x", {16, 128});
  for (std::int32_t s = 0; s < count; ++s) {
    const OnStage here(g, s);
    for (int layer = 0; layer < 2; ++layer) x = op::relu(networks::dense(g, x, 128, 128));
  }
  const AnyTensor loss = op::mean(x, {.keepdims = 0});
  g.outputs = {trained ? loss.id : x.id};
  if (trained) train(g, loss, Sgd{.learning_rate = 0.1f}, {.accumulation = 16});
  return g;
}

ipu::PipelineProfile profiled(const Graph& g, Schedule schedule, std::int32_t micro_batches = 16) {
  return ipu::profile_pipeline(g, ipu::gc200, schedule, micro_batches, {.ipus = 4});
}

}  // namespace

TEST_CASE("a pipeline of equal stages takes the turns that the formula says") {
  // A micro-batches through S stages: A + S - 1 turns, each as long as its slowest stage.
  for (const std::int32_t count : {1, 2, 4}) {
    const ipu::PipelineProfile p = profiled(stages(count, false), Schedule::grouped);
    CHECK(p.spread.stages == count);
    const auto [least, most] =
        std::minmax_element(p.fragment_cycles.begin(), p.fragment_cycles.end());
    CHECK(p.cycles() <= (16 + count - 1) * *most);
    CHECK(p.cycles() >= (16 + count - 1) * *least);
    std::int64_t busy = 0;
    for (std::int32_t ipu = 0; ipu < p.spread.ipus; ++ipu) busy += p.busy_cycles(ipu);
    std::int64_t all = 0;
    for (const std::int64_t cycles : p.fragment_cycles) all += 16 * cycles;
    CHECK(busy == all);
    CHECK(p.idle_share() ==
          doctest::Approx(1 - static_cast<double>(busy) /
                                  static_cast<double>(p.spread.ipus * p.cycles())));
  }
}

TEST_CASE(
    "of a training 1F1B is idle for no more time than turns, and zero bubble for less than that") {
  const Graph g = stages(4, true);
  const ipu::PipelineProfile grouped = profiled(g, Schedule::grouped);
  const ipu::PipelineProfile list = profiled(g, Schedule::one_f_one_b);
  const ipu::PipelineProfile bubble = profiled(g, Schedule::zero_bubble);
  // Turns of the fill have forward parts alone, those of the flush backward parts: of equal stages they
  // take (S - 1) (f + b), as 1F1B waits.
  CHECK(list.idle_share() <= grouped.idle_share());
  CHECK(bubble.idle_share() < list.idle_share());
  CHECK(bubble.cycles() < list.cycles());
  CHECK(list.cycles() <= grouped.cycles());
  // The first stage keeps 7 micro-batches turn by turn, and 4 in 1F1B.
  CHECK(list.waiting_bytes(0) < grouped.waiting_bytes(0));
  const auto json = nlohmann::json::parse(list.json());
  CHECK(json["cycles"] == list.cycles());
  CHECK(json["by_ipu"].size() == 4);
  CHECK(contains(list.summary(), "4 on 4 IPUs"));
}

// The law: fragments do what the whole model does, and find tensors where it has them.
TEST_CASE("the operations of a pipeline take what those of the whole model take") {
  constexpr std::int32_t micro_batches = 4;
  const auto model = [](std::int32_t count) {
    Graph g = networks::encoder(2, 32, 4, 128);
    if (count > 0) place(g, {.stages = count});
    const AnyTensor loss = op::mean(AnyTensor{&g, g.outputs[0]}, {.keepdims = 0});
    g.outputs = {loss.id};
    train(g, loss, Adam{}, {.accumulation = micro_batches});
    return g;
  };
  const auto cycles = [](const ipu::Report& r, std::int64_t runs) {
    std::int64_t sum = 0;
    for (const ipu::Step& s : r.steps) {
      const ipu::Operation* const o = r.operation_of(s);
      if (o != nullptr) sum += s.total() * (o->part == Part::update ? 1 : runs);
    }
    return static_cast<double>(sum);
  };
  const double whole = cycles(ipu::profile(model(0), ipu::bow), micro_batches);
  for (const std::int32_t count : {2, 4}) {
    CAPTURE(count);
    const ipu::PipelineProfile parts = ipu::profile_pipeline(
        model(count), ipu::bow.with_ipus(count), Schedule::zero_bubble, micro_batches);
    CHECK(cycles(parts.report, 1) == doctest::Approx(whole).epsilon(0.01));
  }
}

// The formula: of S equal stages fill has S - 1 - s turns of stage s, main A - S + 1, and flush s.
TEST_CASE("a pipeline's program is filled, runs, is flushed and updates") {
  constexpr std::int32_t count = 4, micro_batches = 16;
  for (const bool is_trained : {false, true}) {
    CAPTURE(is_trained);
    const ipu::PipelineProfile p = profiled(stages(count, is_trained), Schedule::grouped);
    const std::vector<ipu::Program>& programs = p.report.programs;
    std::vector<std::string> phases;
    std::map<std::pair<std::int32_t, std::string>, std::int64_t> runs;
    std::map<std::int32_t, std::int64_t> calls;
    for (const ipu::Program& program : programs) {
      if (program.parent == 0) phases.push_back(program.name);
      if (program.callee < 0) continue;
      runs[{program.parent, program.name}] = program.repeats;
      calls[program.callee] += program.repeats;
    }
    CHECK(programs[0].name == "pipeline");
    CHECK(phases == std::vector<std::string>{"init", "fill", "main", "flush", "update"});
    constexpr std::int32_t fill = 2, main = 3, flush = 4, update = 5;
    for (std::int32_t s = 0; !is_trained && s < count; ++s) {
      const std::string name = "stage " + std::to_string(s) + " forward";
      CHECK(runs[{fill, name}] == count - 1 - s);
      CHECK(runs[{main, name}] == micro_batches - count + 1);
      CHECK(runs[{flush, name}] == s);
    }
    // Weights are updated where their gradients are made: in the last of the 2 S - 1 stages for IPU 0.
    if (is_trained) CHECK(runs[{update, "stage 6 updates"}] == 1);
    REQUIRE(calls.size() == p.spread.fragments.size());
    for (const auto& [callee, times] : calls) {
      const ipu::Program& function = programs[static_cast<std::size_t>(callee)];
      CHECK(function.parent == -1);
      CHECK(function.repeats == times);
    }
    const ipu::PipelinePhases ends = p.phases();
    CHECK(0 < ends.filled);
    CHECK(ends.filled < ends.drains);
    CHECK(ends.drains < ends.flushed);
    CHECK((ends.flushed < p.cycles()) == is_trained);
    CHECK(contains(p.summary(), "fill " + std::to_string(ends.filled)));
  }
}

TEST_CASE("pipelines that cannot be profiled") {
  const auto refused = [](const Graph& g, Schedule schedule, std::int32_t micro_batches,
                          std::int64_t ipus) {
    return error_of(
        [&] { ipu::profile_pipeline(g, ipu::gc200, schedule, micro_batches, {.ipus = ipus}); });
  };
  CHECK(contains(refused(stages(4, false), Schedule::none, 16, 4), "no schedule"));
  CHECK(contains(refused(stages(4, false), Schedule::grouped, 3, 4), "must equal at least"));
  CHECK(contains(refused(stages(4, false), Schedule::grouped, 16, 2), "does not have"));
}
