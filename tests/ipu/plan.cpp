#include <halftone/ipu/plan.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <halftone/halftone.hpp>
#include <halftone/ipu/pipeline.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/in_half.hpp>

#include "../../bench/networks.hpp"
#include "../contains.hpp"

using namespace halftone;
using namespace halftone::ipu;
using test::contains;

namespace {

/// Equal layers, so that equal stages exist.
Graph mlp(std::int64_t batch, int layers, std::int64_t width = 256) {
  Graph g;
  AnyTensor x = g.input<float>("x", {batch, width});
  for (int i = 0; i < layers; ++i) x = op::tanh(networks::dense(g, x, width, width));
  output(g, x, "y");
  return g;
}

void with_adam(Graph& g) {
  const AnyTensor loss = op::mean(AnyTensor{&g, g.outputs[0]}, {.keepdims = 0});
  train(g, loss, Adam{}, {.accumulation = 2});
  g.outputs = {loss.id};
}

std::string error_of(const ModelOfBatch& model, const PlanOptions& options) {
  try {
    plan(model, bow, options);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    return e.what();
  }
  return "no error";
}

const ModelOfBatch encoder = [](std::int64_t items) {
  return networks::encoder(items, 32, 8, 128);
};

}  // namespace

// The law: a search adds up what the profile of the pipeline adds up.
TEST_CASE("a plan says what the profile of its pipeline says") {
  struct Case {
    Schedule schedule;
    std::int32_t stages;
    Recomputation recompute = Recomputation::none;
    bool half = false;
  };
  for (const Case& c :
       {Case{Schedule::grouped, 2}, Case{Schedule::grouped, 4}, Case{Schedule::one_f_one_b, 2},
        Case{Schedule::one_f_one_b, 4}, Case{Schedule::zero_bubble, 2},
        Case{Schedule::zero_bubble, 4}, Case{Schedule::grouped, 2, Recomputation::standard},
        Case{Schedule::one_f_one_b, 2, Recomputation::standard},
        Case{Schedule::zero_bubble, 2, Recomputation::standard},
        Case{Schedule::zero_bubble, 4, Recomputation::standard},
        Case{Schedule::grouped, 2, Recomputation::none, true},
        Case{Schedule::one_f_one_b, 4, Recomputation::none, true}}) {
    CAPTURE(name(c.schedule));
    CAPTURE(c.stages);
    CAPTURE(name(c.recompute));
    CAPTURE(c.half);
    PlanOptions options{.ipus = c.stages, .batch = 8 * 6 * c.stages};
    options.micro_batches = {8};
    options.stages = {c.stages};
    options.schedules = {c.schedule};
    options.recompute = {c.recompute};
    options.train = with_adam;
    options.half = c.half;
    options.host = false;
    const Plan found = plan(encoder, bow, options);
    const PlanPoint* const best = found.best();
    REQUIRE(best != nullptr);
    CHECK(best->micro_batches == 6 * c.stages);
    Graph g = c.half ? in_half(encoder(8)) : encoder(8);
    best->place(g);
    with_adam(g);
    const PipelineProfile profile = profile_pipeline(g, bow, c.schedule, 6 * c.stages,
                                                     {.ipus = c.stages, .recompute = c.recompute});
    const auto cycles = static_cast<double>(profile.cycles());
    CHECK(static_cast<double>(best->cycles) == doctest::Approx(cycles).epsilon(0.05));
    CHECK(best->idle_share == doctest::Approx(profile.idle_share()).epsilon(0.05));
  }
}

// The same, where copies, layouts and what recomputation leaves out are much of the time.
TEST_CASE("a plan of dense layers says what the profile of its pipeline says") {
  struct Case {
    int layers;
    std::int64_t width;
  };
  for (const Case& c : {Case{4, 256}, Case{8, 1024}}) {
    const ModelOfBatch model = [&](std::int64_t items) { return mlp(items, c.layers, c.width); };
    for (const Schedule schedule :
         {Schedule::grouped, Schedule::one_f_one_b, Schedule::zero_bubble}) {
      for (const Recomputation recompute : {Recomputation::none, Recomputation::standard}) {
        CAPTURE(c.layers);
        CAPTURE(name(schedule));
        CAPTURE(name(recompute));
        PlanOptions options{.ipus = 4, .batch = 4 * 24};
        options.micro_batches = {4};
        options.stages = {4};
        options.schedules = {schedule};
        options.recompute = {recompute};
        options.train = with_adam;
        options.host = false;
        const Plan found = plan(model, bow, options);
        Graph g = model(4);
        found.points.at(0).place(g);
        with_adam(g);
        const PipelineProfile profile =
            profile_pipeline(g, bow, schedule, 24, {.ipus = 4, .recompute = recompute});
        const double ratio =
            static_cast<double>(found.points.at(0).cycles) / static_cast<double>(profile.cycles());
        CHECK(ratio > 0.97);
        CHECK(ratio < 1.03);
      }
    }
  }
}

// The law: one IPU without training runs as many micro-batches as profile() has runs.
TEST_CASE("a plan counts the host as a profile does") {
  const ModelOfBatch wide = [](std::int64_t items) { return mlp(items, 1); };
  struct Case {
    bool prefetch;
    std::int64_t io_tiles;
  };
  for (const Case& c : {Case{true, 0}, Case{false, 0}, Case{true, 32}}) {
    for (const std::int64_t items : {8, 2048}) {
      CAPTURE(c.prefetch);
      CAPTURE(c.io_tiles);
      CAPTURE(items);
      PlanOptions options{.ipus = 1, .batch = items};
      options.micro_batches = {items};
      options.profile.prefetch = c.prefetch;
      options.profile.io_tiles = c.io_tiles;
      const Report report = profile(wide(items), bow, options.profile);
      const Plan counted = plan(wide, bow, options);
      options.host = false;
      const Plan left_out = plan(wide, bow, options);
      const auto cycles = static_cast<double>(report.cycles());
      CHECK(static_cast<double>(counted.points.at(0).cycles) ==
            doctest::Approx(cycles).epsilon(0.05));
      CHECK(left_out.points.at(0).cycles < counted.points.at(0).cycles);
      CHECK(contains(counted.summary(), "Streams of the host are counted"));
      CHECK(contains(left_out.summary(), "Streams of the host are left out"));
    }
  }
}

// Equal stages: A micro-batches take A + 2S - 2 turns (session.md 8.1, PopART's grouped order).
TEST_CASE("long steps take as long as their timetable says") {
  PlanOptions options{.ipus = 4, .batch = 4 * 4 * 8};
  options.micro_batches = {4};
  options.stages = {4};
  options.schedules = {Schedule::grouped};
  options.recompute = {Recomputation::none};
  options.train = with_adam;
  const auto model = [](std::int64_t items) { return mlp(items, 16); };
  const auto cycles = [&](std::int64_t micro_batches) {
    options.batch = 4 * micro_batches;
    return static_cast<double>(plan(model, bow, options).points.at(0).cycles);
  };
  // Beyond six times the stages nothing is counted turn by turn.
  const double turn = (cycles(24) - cycles(12)) / 12;
  CHECK(cycles(1024) == doctest::Approx(cycles(24) + 1000 * turn).epsilon(1e-6));
}

TEST_CASE("what fits is in front, and the table says why the rest does not") {
  PlanOptions options{.ipus = 4, .batch = 512};
  options.micro_batches = {8, 32};
  options.train = with_adam;
  options.profile.tiles_per_ipu = 32;
  const Plan found = plan(encoder, bow, options);
  CHECK(std::is_partitioned(found.points.begin(), found.points.end(),
                            [](const PlanPoint& p) { return p.fits(); }));
  const auto fronts = found.pareto();
  for (std::size_t i = 1; i < fronts.size(); ++i) {
    CHECK(fronts[i]->items_per_second <= fronts[i - 1]->items_per_second);
    CHECK(fronts[i]->memory_share < fronts[i - 1]->memory_share);
  }
  REQUIRE(!found.points.back().fits());
  CHECK(contains(found.summary(), "of weights"));
  CHECK(contains(found.json(), "halftone.ipu.plan"));
  for (const PlanPoint& p : found.points) {
    CHECK(p.batch() == 512);
    CHECK(p.ipus() == 4);
    CHECK(static_cast<std::int32_t>(p.stage_ends.size()) == p.stages);
  }
  // The best of other choices: less memory, more time.
  const auto share = [&](Recomputation recompute, StatePlace state) {
    double least = 1e9;
    for (const PlanPoint& p : found.points) {
      if (p.recompute != recompute || p.state != state || p.stages != 2) continue;
      if (p.schedule == Schedule::one_f_one_b) least = std::min(least, p.memory_share);
    }
    return least;
  };
  const double all = share(Recomputation::none, StatePlace::on_chip);
  CHECK(share(Recomputation::standard, StatePlace::on_chip) < all);
  CHECK(share(Recomputation::none, StatePlace::sharded) < all);
  CHECK(share(Recomputation::none, StatePlace::off_chip) <
        share(Recomputation::none, StatePlace::sharded));
}

TEST_CASE("inference is planned without an optimizer") {
  const Plan found = plan(encoder, bow, {.ipus = 4});
  CHECK(!found.is_training);
  for (const PlanPoint& p : found.points) CHECK(p.recompute == Recomputation::none);
}

TEST_CASE("systems and batches that no choice fits are refused") {
  CHECK(contains(error_of(encoder, {.ipus = 0}), "1 to 64"));
  CHECK(contains(error_of(encoder, {.ipus = 4, .batch = -1}), "negative"));
  CHECK(contains(error_of(encoder, {.ipus = 4, .micro_batches = {0}}), "no items"));
  CHECK(contains(error_of(encoder, {.ipus = 6, .stages = {4}}), "a divisor of 6"));
  CHECK(contains(error_of(encoder, {.ipus = 4, .batch = 510, .micro_batches = {8}}), "512 items"));
  CHECK(contains(error_of(encoder, {.ipus = 4, .recompute = {Recomputation::norm_only}}),
                 "none or standard"));
  CHECK(contains(error_of(encoder, {.ipus = 4, .schedules = {Schedule::continuous}}),
                 "grouped, one_f_one_b or zero_bubble"));
  const auto small = [](std::int64_t items) { return mlp(items, 2); };
  CHECK(contains(error_of(small, {.ipus = 64, .stages = {64}}), "stages"));
}
