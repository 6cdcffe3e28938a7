#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/pipeline.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/off_chip.hpp>
#include <halftone/transform/place.hpp>
#include <halftone/transform/serialize_batch.hpp>
#include <halftone/transform/shard.hpp>

#include "../../bench/networks.hpp"

using namespace halftone;
using namespace halftone::ipu;

namespace {

/// Dense layers and a loss, which options spread before and after it is trained.
struct Case {
  std::int32_t layers = 4, width = 512, batch = 64;
  std::int64_t accumulation = 1, batch_parts = 1;
  BatchMethod batch_method = BatchMethod::unroll_static;
  std::int32_t replicas = 1, phases = 0, stages = 0;
  Sharding shard{};
  TensorKinds off_chip{};

  Graph graph() const {
    Graph g;
    AnyTensor x = g.input<float>("x", {batch, width});
    for (std::int32_t i = 0; i < layers; ++i) x = op::tanh(networks::dense(g, x, width, width));
    g.outputs = {x.id};
    g.replicas = replicas;
    if (phases > 0 || stages > 0) place(g, {.stages = stages, .phases = phases});
    g = serialize_batch(std::move(g), batch_parts, batch_method);
    const AnyTensor y{&g, g.outputs[0]};
    const AnyTensor loss = op::mean(y * y, {.keepdims = 0});
    g.outputs = {loss.id};
    train(g, loss, Adam{.learning_rate = 1e-3f}, {.accumulation = accumulation});
    g = halftone::shard(std::move(g), shard);
    return halftone::off_chip(std::move(g), off_chip);
  }
  Report report(ProfileOptions options = {}) const {
    options.allow_out_of_memory = true;
    return profile(graph(), gc200.with_tiles(64), options);
  }
};

std::int64_t sum(const Report& r, Category category) {
  std::int64_t bytes = 0;
  for (const auto& tile : r.memory) bytes += tile[static_cast<std::size_t>(category)];
  return bytes;
}

/// What an option does to a report: -1 less, 1 more, 0 nothing is asked.
struct Effect {
  int cycles = 0, always = 0, temporary = 0, link = 0, streaming = 0, host = 0;
};

void check_direction(std::string_view what, std::int64_t before, std::int64_t after, int wanted) {
  CAPTURE(what);
  if (wanted < 0) CHECK(after < before);
  if (wanted > 0) CHECK(after > before);
}

}  // namespace

TEST_CASE("options of spreading move a report the way they should") {
  const Case plain, replicated{.replicas = 4}, large{.batch = 1024};
  const TensorKinds state{.state = {.is_on = true}}, weights{.weights = {.is_on = true}};
  const Sharding all{.state = {.is_on = true}, .weights = {.is_on = true}};
  struct Row {
    std::string name;
    Report before, after;
    Effect effect;
  };
  const Graph encoder = networks::training(networks::encoder(4, 64, 6, 128));
  const auto of_encoder = [&](Recomputation recompute) {
    return profile(encoder, gc200.with_tiles(64),
                   {.allow_out_of_memory = true, .recompute = recompute});
  };
  const Row rows[] = {
      {"replicas", plain.report(), replicated.report(), {.cycles = 1, .link = 1}},
      {"sharded state",
       replicated.report(),
       Case{.replicas = 4, .shard = state}.report(),
       {.always = -1}},
      {"sharded weights",
       replicated.report(),
       Case{.replicas = 4, .shard = all}.report(),
       {.always = -1}},
      {"state off the chip",
       plain.report(),
       Case{.off_chip = state}.report(),
       {.cycles = 1, .always = -1, .streaming = 1}},
      {"activations off the chip",
       large.report(),
       Case{.batch = 1024, .off_chip = {.activations = {.is_on = true}}}.report(),
       {.cycles = 1, .temporary = -1, .streaming = 1}},
      {"phases",
       Case{.off_chip = weights}.report(),
       Case{.phases = 2, .off_chip = weights}.report(),
       {.streaming = 0}},
      {"weights off the chip, by phases",
       plain.report(),
       Case{.phases = 2, .off_chip = weights}.report(),
       {.cycles = 1, .always = -1, .streaming = 1}},
      {"recomputation",
       of_encoder(Recomputation::none),
       of_encoder(Recomputation::standard),
       {.cycles = 1, .temporary = -1}},
      {"serial batches",
       large.report(),
       Case{.batch = 1024, .batch_parts = 4}.report(),
       {.cycles = 1, .temporary = -1}},
      {"serial batches, cut at run time",
       large.report(),
       Case{.batch = 1024, .batch_parts = 4, .batch_method = BatchMethod::unroll_dynamic}.report(),
       {.cycles = 1, .temporary = -1}},
      {"serial batches in a loop",
       large.report(),
       Case{.batch = 1024, .batch_parts = 4, .batch_method = BatchMethod::loop}.report(),
       {.cycles = 1, .temporary = -1}},
      {"tiles for the host",
       large.report({.prefetch = false}),
       large.report({.io_tiles = 16}),
       {.host = -1}},
  };
  for (const auto& [name, before, after, effect] : rows) {
    CAPTURE(name);
    const auto always = [](const Report& r) {
      return sum(r, Category::variables) + sum(r, Category::constants);
    };
    check_direction("cycles", before.cycles(), after.cycles(), effect.cycles);
    check_direction("always", always(before), always(after), effect.always);
    check_direction("temporary", sum(before, Category::temporaries),
                    sum(after, Category::temporaries), effect.temporary);
    for (const auto& [kind, wanted] : {std::pair{StepKind::link, effect.link},
                                       {StepKind::streaming, effect.streaming},
                                       {StepKind::host, effect.host}}) {
      check_direction(halftone::ipu::name(kind), before.cycles(kind), after.cycles(kind), wanted);
    }
  }
}

// Adam keeps two numbers for each weight: off the chip they are on no tile.
TEST_CASE("bytes move from tiles to streaming memory") {
  const Case plain, remote{.off_chip = {.state = {.is_on = true}}};
  const std::int64_t weights = 4 * (512 * 512 + 512) * 4;
  const std::int64_t moved =
      sum(plain.report(), Category::variables) - sum(remote.report(), Category::variables);
  CHECK(moved >= 2 * weights);
  CHECK(moved <= 2 * weights + 64 * 64 * 8);  // what is rounded up to 8 bytes on each tile
}

// A ring over R replicas: 2 (R - 1) steps of an R-th of the gradients' bytes, one after the other.
TEST_CASE("replicas are modelled once, with the rings of their collectives") {
  for (const std::int64_t ipus : {1, 2}) {
    for (const std::int32_t replicas : {2, 4, 16}) {
      CAPTURE(ipus);
      CAPTURE(replicas);
      const Case spread{.replicas = replicas};
      const Report r = spread.report({.ipus = ipus});
      CHECK(r.target.ipus == ipus);
      CHECK(r.replicas == replicas);
      const Target all = r.target.with_ipus(ipus * replicas);
      std::int64_t joined = 0, expected = 0;
      for (const Step& s : r.steps) {
        const Operation* o = r.operation_of(s);
        if (s.kind == StepKind::link && s.peer < 0 && o != nullptr) joined += s.total();
      }
      for (const std::int64_t bytes : {512 * 512 * 4, 512 * 4}) {
        expected += 4 * 2 * (replicas - 1) * link_cycles(all, divide_up(bytes, replicas));
      }
      CHECK(joined == expected);
      // All of them have a batch each.
      Report counted = r;
      counted.batch = 64;
      Report alone = Case{}.report({.ipus = ipus});
      alone.batch = 64;
      CHECK(counted.samples_per_second() < replicas * alone.samples_per_second());
    }
  }
}

// The micro-batches of a step one after the other, and its updates once.
TEST_CASE("a step of several micro-batches updates once") {
  Report one = Case{.accumulation = 1}.report(), eight = Case{.accumulation = 8}.report();
  CHECK(one.step_cycles() == one.cycles());
  CHECK(eight.accumulation == 8);
  CHECK(eight.micro_batch_cycles < eight.cycles());
  CHECK(eight.step_cycles() == eight.cycles() + 7 * eight.micro_batch_cycles);
  std::int64_t updates = 0;
  for (std::size_t i = 0; i < eight.operations.size(); ++i) {
    if (eight.operations[i].part == Part::update) updates += eight.operation_cycles(i);
  }
  CHECK(eight.cycles() - eight.micro_batch_cycles == updates);  // on one IPU
  one.batch = eight.batch = 64;
  CHECK(eight.samples_per_second() > one.samples_per_second());
}

TEST_CASE("stashes of a pipeline lie in memory") {
  const auto pipeline = [](Schedule schedule) {
    return profile_pipeline(Case{.accumulation = 16, .stages = 4}.graph(),
                            gc200.with_tiles(64).with_ipus(4), schedule, 16);
  };
  const PipelineProfile grouped = pipeline(Schedule::grouped),
                        list = pipeline(Schedule::one_f_one_b);
  for (const PipelineProfile* p : {&grouped, &list}) {
    const Report& r = p->report;
    CHECK(r.cycles() == p->cycles());
    CHECK(r.accumulation == 16);
    CHECK(r.step_cycles() == p->cycles());
    std::int64_t stashed = 0, waiting = 0, busy = 0;
    for (const Variable& v : r.variables) {
      if (v.name.ends_with("/stash")) stashed += v.bytes();
    }
    for (std::int32_t ipu = 0; ipu < 4; ++ipu) {
      waiting += p->waiting_bytes(ipu);
      busy += p->busy_cycles(ipu);
      CHECK(r.ipu_cycles(ipu) == p->busy_cycles(ipu));
      CHECK(r.waiting_cycles(ipu) >= 0);
    }
    CHECK(stashed == waiting);
    CHECK(busy < 4 * r.cycles());
  }
  // The first stage keeps 7 micro-batches turn by turn, and 4 in 1F1B.
  CHECK(list.report.ipu_bytes(0) < grouped.report.ipu_bytes(0));
  // Weights and state are there once, on the IPU of their stage.
  const std::int64_t state = 4 * (512 * 512 + 512) * 4;  // with moments and accumulator
  for (int ipu = 0; ipu < 4; ++ipu) {
    std::int64_t bytes = 0;
    for (const Variable& v : list.report.variables) {
      const bool is_state = v.is_always_live && !v.name.ends_with("/stash");
      if (v.ipu == ipu && is_state) bytes += v.bytes();
    }
    CHECK(bytes >= state);
    CHECK(bytes < state * 5 / 4);
  }
}

TEST_CASE("a session of a pipeline reports the pipeline") {
  const Target four = gc200.with_tiles(64).with_ipus(4);
  SessionOptions options{.accumulation = 8, .device = Device::ipu_model};
  options.schedule = Schedule::one_f_one_b;
  options.ipu.target = &four;
  options.ipu.profiling = true;
  const Case spread{.width = 64, .accumulation = 8, .stages = 4};
  const Session session(spread.graph(), options);
  const Report& r = session.report();
  CHECK(r.cycles() == profile_pipeline(spread.graph(), four, Schedule::one_f_one_b, 8).cycles());
  CHECK(session.cycle_count() == r.cycles());
}

// Published depth: what is asked of the placement of transformers.
TEST_CASE("training is placed so that IPUs have about the same to do") {
  const auto shares = [](const Report& r) {
    std::int64_t least = r.cycles(), all = 0, links = 0;
    for (std::int64_t ipu = 0; ipu < r.target.ipus; ++ipu) {
      least = std::min(least, r.ipu_cycles(ipu));
      all += r.ipu_cycles(ipu);
    }
    for (const Step& s : r.steps) links += s.kind == StepKind::link ? s.total() : 0;
    const auto mean = static_cast<double>(all) / static_cast<double>(r.target.ipus);
    return std::pair{static_cast<double>(least) / mean,
                     static_cast<double>(links) / static_cast<double>(all)};
  };
  const Graph deep = networks::training(networks::encoder(1, 128, 24, 256));
  for (const std::int64_t ipus : {3, 4, 5, 7}) {
    CAPTURE(ipus);
    const Report r = profile(deep, gc200, {.ipus = ipus, .allow_out_of_memory = true});
    const auto [least, links] = shares(r);
    CHECK(least >= 0.5);
    CHECK(links <= 0.05);
    // Updates run where the weights are: no weight crosses.
    std::set<std::string> copies;
    for (const Variable& v : r.variables) {
      if (v.name.ends_with("/copy")) copies.insert(v.name);
    }
    CHECK(!copies.empty());
    for (std::size_t i = 0; i < deep.tensors.size(); ++i) {
      if (!is_variable(deep.tensors[i])) continue;
      CHECK(copies.count(std::string(deep.name(static_cast<TensorId>(i))) + "/copy") == 0);
    }
  }
  const Graph four = networks::training(networks::encoder(2, 128, 4, 256));
  const Report one = profile(four, gc200), two = profile(four, gc200, {.ipus = 2});
  CHECK(static_cast<double>(two.cycles()) <= 1.1 * static_cast<double>(one.cycles()));
}

TEST_CASE("a pipeline of two IPUs has most of their throughput") {
  const auto encoder = [](std::int64_t accumulation, std::int32_t stages) {
    Graph g = networks::encoder(2, 128, 4, 256);
    if (stages > 0) place(g, {.stages = stages});
    const AnyTensor loss = op::mean(AnyTensor{&g, g.outputs[0]}, {.keepdims = 0});
    g.outputs = {loss.id};
    train(g, loss, Sgd{.momentum = 0.9f}, {.accumulation = accumulation});
    return g;
  };
  Report one = profile(encoder(16, 0), gc200);
  Report two =
      profile_pipeline(encoder(16, 2), gc200.with_ipus(2), Schedule::one_f_one_b, 16).report;
  one.batch = two.batch = 2;
  CHECK(two.samples_per_second() >= 1.6 * one.samples_per_second());
}

// Weights as inputs: layers are divided all the same.
TEST_CASE("models whose weights are inputs are placed as well") {
  Graph g;
  AnyTensor x = g.input<float>("x", {64, 256});
  for (int i = 0; i < 8; ++i) {
    x = op::relu(op::matmul(x, g.input<float>("w" + std::to_string(i), {256, 256})));
  }
  output(g, x, "y");
  const Report r = profile(g, gc200, {.ipus = 4, .placement = Placement::automatic});
  int products[4] = {};
  for (const Operation& o : r.operations) products[o.ipu] += o.type == "MatMul" ? 1 : 0;
  for (const int count : products) CHECK(count == 2);
}
