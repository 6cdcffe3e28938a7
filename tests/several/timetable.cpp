#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/program/spread.hpp>
#include <halftone/session/session.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/off_chip.hpp>
#include <halftone/transform/shard.hpp>
#include <halftone/var_updates.hpp>

#include "../../bench/networks.hpp"

using namespace halftone;

namespace {

/// Two dense layers in each stage, a softmax and a loss, trained.
Graph layers(std::int32_t stages, std::int64_t accumulation, std::int32_t replicas = 1,
             float max_norm = 0) {
  Graph g;
  g.replicas = replicas;
  AnyTensor x = g.input<float>("x", {2, 8});
  for (std::int32_t s = 0; s < stages; ++s) {
    const OnStage here(g, s);
    x = op::relu(networks::dense(g, op::relu(networks::dense(g, x, 8, 8)), 8, 8));
  }
  const AnyTensor loss = op::nll_loss(op::softmax(x), g.input<std::int32_t>("label", {2}));
  output(g, loss, "loss");
  TrainOptions options{.accumulation = accumulation};
  if (max_norm > 0) options.clip_norm = {{.max_norm = max_norm}};
  train(g, loss, Adam{.learning_rate = 0.01f}, options);
  g.outputs = {loss.id};
  return g;
}

Spread spread_of(std::int32_t stages, Schedule schedule, std::int64_t accumulation = 12) {
  const Engine engine(layers(stages, accumulation), {.schedule = schedule});
  REQUIRE(engine.spread() != nullptr);
  return *engine.spread();
}

/// The time of a fragment if the forward part of a stage, its gradients for the stage before and those
/// of its weights take one unit each.
Vector<double> unit_times(const Spread& spread) {
  const std::int32_t last = spread.stages - 1;
  const bool is_divided = spread.schedule == Schedule::zero_bubble;
  Vector<double> times;
  for (const Fragment& f : spread.fragments) {
    double time = 0;
    if (!f.is_of_step) {
      const double backward = is_divided ? 1 : 2;
      // Nobody waits for the gradient of the model's input: all of its stage's are of weights.
      time = f.is_of_weights   ? (f.stage == 2 * last ? 2 : 1)
             : f.stage > last  ? backward
             : f.stage == last ? 1 + backward
                               : 1;
    }
    times.push_back(time);
  }
  return times;
}

/// Whether everything is there when it is read, an IPU does one thing at a time, and a fragment has its
/// micro-batches in order.
void check_possible(const Spread& spread, const Vector<TimetableEntry>& table) {
  std::vector<std::int32_t> done(spread.fragments.size(), 0);
  std::int32_t turn = 0;
  for (const TimetableEntry& e : table) {
    const auto f = static_cast<std::size_t>(e.fragment);
    CHECK(e.turn >= turn);
    turn = e.turn;
    if (!spread.fragments[f].is_of_step) CHECK(done[f] == e.micro_batch);
    for (const std::int32_t c : spread.fragments[f].given) {
      const std::int32_t from = spread.channels[static_cast<std::size_t>(c)].from;
      if (from != Channel::none) CHECK(done[static_cast<std::size_t>(from)] > e.micro_batch);
    }
    done[f] = e.micro_batch + 1;
  }
}

/// Micro-batches whose values wait on an IPU.
std::int32_t most_slots(const Spread& spread, std::int32_t ipu) {
  std::int32_t most = 0;
  for (const Channel& c : spread.channels) {
    const auto is_here = [&](std::int32_t f) {
      return spread.fragments[static_cast<std::size_t>(f)].ipu == ipu;
    };
    if (c.from == Channel::none || c.is_output || !is_here(c.from)) continue;
    if (std::all_of(c.to.begin(), c.to.end(), is_here)) most = std::max(most, c.slots);
  }
  return most;
}

/// Whether a fragment changes variables when a step ends.
bool is_updating(const Fragment& f) {
  const Vector<Node>& nodes = f.program.graph.nodes;
  return f.is_of_step &&
         std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return has_effect(node); });
}
/// The stages of these fragments, in their order.
std::vector<std::int32_t> updating_stages(const Spread& spread) {
  std::vector<std::int32_t> stages;
  for (const Fragment& f : spread.fragments) {
    if (is_updating(f)) stages.push_back(f.stage);
  }
  return stages;
}

}  // namespace

TEST_CASE("a training of S stages is cut into their forward and backward parts and updates") {
  for (const std::int32_t stages : {1, 2, 4}) {
    const Spread spread = spread_of(stages, Schedule::grouped);
    CHECK(spread.stages == stages);
    CHECK(spread.ipus == stages);
    std::set<std::int32_t> micro_batch, step;
    for (const Fragment& f : spread.fragments) {
      (f.is_of_step ? step : micro_batch).insert(f.stage);
      // The gradient of stage s runs where stage s does: PopART's rule.
      CHECK(f.ipu == (f.stage < stages ? f.stage : 2 * (stages - 1) - f.stage));
    }
    CHECK(static_cast<std::int32_t>(micro_batch.size()) == 2 * stages - 1);
    CHECK(static_cast<std::int32_t>(step.size()) == stages);
  }
}

TEST_CASE("stages update side by side, once what all of them need is there") {
  const Spread spread = spread_of(4, Schedule::grouped);
  const Vector<TimetableEntry> table = timetable(spread, 12);
  std::set<std::int32_t> turns;
  for (const TimetableEntry& e : table) {
    const Fragment& f = spread.fragments[static_cast<std::size_t>(e.fragment)];
    if (is_updating(f)) turns.insert(e.turn);
  }
  CHECK(turns.size() == 1);
}

TEST_CASE("stages that change a variable together update as one, and the others by themselves") {
  const auto model = [] {
    Graph g = layers(3, 4);
    // The gradients of stage 1 are stage 3: its update changes a weight of stage 0, whose is stage 4.
    const PlaceScope there(g, {.stage = 3, .part = Part::update});
    var_updates::accumulate_(AnyTensor{&g, g.find("w")}, AnyTensor{&g, g.find("w_2")}, 0.5f);
    return g;
  };
  const Engine engine(model(), {.schedule = Schedule::grouped});
  CHECK(updating_stages(*engine.spread()) == std::vector<std::int32_t>{2, 4});
  // The law: stages change no bit.
  const auto weights = [&](Graph graph, Schedule schedule) {
    Session session(
        std::move(graph),
        {.batches_per_step = 2, .accumulation = 4, .threads = 2, .seed = 5, .schedule = schedule});
    AnyArray x(TensorInfo{ElementType::float32, session.given_shape(0)});
    const auto values = x.values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) / 16;
    const AnyArray labels(TensorInfo{ElementType::int32, session.given_shape(1)});
    session.run({{"x", x}, {"label", labels}});
    std::vector<float> all;
    for (const char* const name : {"w", "w_1", "w_2", "w_5"}) {
      const auto w = session.get(name).values<float>();
      all.insert(all.end(), w.begin(), w.end());
    }
    return all;
  };
  Graph whole = model();
  for (Node& node : whole.nodes) node.place.stage = 0;
  const std::vector<float> expected = weights(std::move(whole), Schedule::grouped);
  for (const Schedule schedule :
       {Schedule::grouped, Schedule::one_f_one_b, Schedule::zero_bubble}) {
    CHECK(weights(model(), schedule) == expected);
  }
}

TEST_CASE("each stage updates its weights, whatever is done with their state") {
  const TensorKinds state{.state = {.is_on = true}}, sums{.accumulators = {.is_on = true}};
  const Graph alone = layers(3, 4), replicated = layers(3, 4, 2);
  const Graph graphs[]{off_chip(alone, state), off_chip(replicated, state),
                       shard(replicated, state), shard(replicated, sums),
                       off_chip(shard(replicated, state), state)};
  for (const Graph& graph : graphs) {
    const Engine engine(graph, {.schedule = Schedule::grouped});
    CHECK(updating_stages(*engine.spread()) == std::vector<std::int32_t>{2, 3, 4});
  }
  // The norm needs the gradients of all stages: the first of them has to wait for it.
  const Engine clipped(layers(3, 4, 1, 0.1f), {.schedule = Schedule::grouped});
  std::vector<std::int32_t> stages;
  for (const Fragment& f : clipped.spread()->fragments) {
    if (f.is_of_step) stages.push_back(f.stage);
  }
  CHECK(stages == std::vector<std::int32_t>{2, 3, 4, 2, 3});
  CHECK(updating_stages(*clipped.spread()) == std::vector<std::int32_t>{4, 2, 3});
}

TEST_CASE("grouped turns are fill, main and flush") {
  // source  PopART: stage s has micro-batch m in turn m + s, of m + 2 (S - 1) turns in all
  for (const std::int32_t stages : {1, 2, 3, 4}) {
    for (const std::int32_t count : {1, 4, 12}) {
      const Spread spread = spread_of(stages, Schedule::grouped);
      const Vector<TimetableEntry> table = timetable(spread, count);
      check_possible(spread, table);
      std::int32_t turns = 0;
      for (const TimetableEntry& e : table) {
        const Fragment& f = spread.fragments[static_cast<std::size_t>(e.fragment)];
        if (f.is_of_step) continue;
        CHECK(e.turn == e.micro_batch + f.stage);
        turns = std::max(turns, e.turn + 1);
      }
      CHECK(turns == count + 2 * (stages - 1));
    }
  }
}

TEST_CASE("idle shares are those of the papers") {
  // With S stages and A micro-batches: (2S-2)/(A+2S-2) turn by turn, (S-1)/(A+S-1) for 1F1B
  // (Narayanan et al. 2019), (S-1)/(3A+S-1) for ZB-H1 (Qi et al. 2023).
  for (const std::int32_t stages : {2, 3, 4, 8}) {
    for (const std::int32_t count : {8, 12, 16}) {
      CAPTURE(stages);
      CAPTURE(count);
      const double s = stages, a = count;
      const auto idle = [&](Schedule schedule) {
        const Spread spread = spread_of(stages, schedule);
        const Vector<TimetableEntry> table = timetable(spread, count);
        check_possible(spread, table);
        return timeline(spread, table, unit_times(spread)).idle_share(spread.ipus);
      };
      CHECK(idle(Schedule::one_f_one_b) == doctest::Approx((s - 1) / (a + s - 1)));
      CHECK(idle(Schedule::zero_bubble) == doctest::Approx((s - 1) / (3 * a + s - 1)));
    }
  }
}

TEST_CASE("1F1B and its kin keep half of what waits turn by turn") {
  // Stage s of S keeps 2 (S - s) - 1 micro-batches turn by turn, S - s in 1F1B (Narayanan et al. 2019),
  // and no stage more than S in ZB-H1 (Qi et al. 2023).
  for (const std::int32_t stages : {2, 4, 8}) {
    for (std::int32_t s = 0; s + 1 < stages; ++s) {
      CAPTURE(stages);
      CAPTURE(s);
      const auto slots = [&](Schedule schedule) {
        Spread spread = spread_of(stages, schedule, 16);
        count_slots(spread, timetable(spread, 16));
        return most_slots(spread, s);
      };
      CHECK(slots(Schedule::grouped) == 2 * (stages - s) - 1);
      CHECK(slots(Schedule::one_f_one_b) == stages - s);
      CHECK(slots(Schedule::zero_bubble) == stages);
    }
  }
}

TEST_CASE("a continuous pipeline updates weights while other micro-batches are under way") {
  // The formula: of S stages, stage s computes micro-batch i forward with the updates before
  // i - 2 (S - 1 - s), and backward with those before i.
  constexpr int stages = 3, count = 12;
  constexpr float rate = 0.05f;
  std::vector<float> data;
  for (int i = 0; i < count; ++i) data.push_back(0.5f + 0.1f * static_cast<float>(i % 5));

  std::vector<float> losses;
  const float value[stages] = {1.1f, 0.9f, 1.3f};
  std::vector<float> versions[stages];  // of each weight, behind so many updates
  for (int s = 0; s < stages; ++s) versions[s].push_back(value[s]);
  for (int i = 0; i < count; ++i) {
    float x[stages + 1] = {data[static_cast<std::size_t>(i)]};
    for (int s = 0; s < stages; ++s) {
      const int updates = std::max(0, i - 2 * (stages - 1 - s));
      x[s + 1] = x[s] * versions[s][static_cast<std::size_t>(updates)];
    }
    losses.push_back(x[stages]);
    float dy = 1;
    for (int s = stages - 1; s >= 0; --s) {
      const float now = versions[s].back(), dw = dy * x[s];
      versions[s].push_back(now - rate * dw);
      dy *= now;
    }
  }

  Graph g;
  AnyTensor x = g.input<float>("x", {1});
  for (int s = 0; s < stages; ++s) {
    const OnStage here(g, s);
    x = op::mul(x, parameter<float, Shape<1>>(g, "w" + std::to_string(s), std::span(&value[s], 1)));
  }
  const AnyTensor loss = op::reshape(x, constant(g, Dims{}));
  output(g, loss, "loss");
  train(g, loss, Sgd{.learning_rate = rate});
  for (const int threads : {1, 3}) {
    Session session(g, {.outputs = {"loss"},
                        .batches_per_step = count,
                        .threads = threads,
                        .schedule = Schedule::continuous});
    const AnyArray given =
        AnyArray::copy_of({TensorInfo{ElementType::float32, {count, 1}}, data.data()});
    const Result result = session.run({{"x", given}});
    const float* found = static_cast<const float*>(result[0].data);
    for (int i = 0; i < count; ++i) {
      CHECK(found[i] == doctest::Approx(losses[static_cast<std::size_t>(i)]).epsilon(1e-6));
    }
    for (int s = 0; s < stages; ++s) {
      const AnyView weight = session.get("w" + std::to_string(s));
      CHECK(*static_cast<const float*>(weight.data) ==
            doctest::Approx(versions[s].back()).epsilon(1e-6));
    }
  }
}
