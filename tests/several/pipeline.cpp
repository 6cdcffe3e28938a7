#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <halftone/graph/scopes.hpp>
#include <halftone/halftone.hpp>
#include <halftone/program/spread.hpp>

#include "../../bench/networks.hpp"
#include "../contains.hpp"

using namespace halftone;
using test::contains;

namespace {

/// Layers of 8 numbers, each in a stage.
Graph layers(const std::vector<std::int32_t>& stages) {
  Graph g;
  AnyTensor x = g.input<float>("x", {2, 8});
  for (const std::int32_t s : stages) {
    const OnStage here(g, s);
    x = op::tanh(networks::dense(g, x, 8, 8));
  }
  output(g, x, "y");
  return g;
}

std::string error_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

Array<float> numbers(std::int64_t count) {
  Array<float> x({count, 2, 8});
  for (std::int64_t i = 0; i < count * 16; ++i) {
    x[static_cast<std::size_t>(i)] = static_cast<float>(i % 11) / 8 - 0.5f;
  }
  return x;
}

std::vector<float> values(const AnyView& view) {
  const auto all = view.values<float>();
  return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("pipelines of inference run the batches of a run together") {
  const Array<float> x = numbers(6);
  Session plain(layers({0, 0, 0, 0}), {.batches_per_step = 6});
  const std::vector<float> expected = values(plain.run({{"x", x}})[0]);
  for (const auto& stages : {std::vector<std::int32_t>{0, 1, 2, 3}, {0, 0, 1, 1}, {0, 0, 0, 0}}) {
    for (const int threads : {1, 2, 4}) {
      for (const Schedule schedule : {Schedule::grouped, Schedule::continuous,
                                      Schedule::one_f_one_b, Schedule::zero_bubble}) {
        Session session(layers(stages),
                        {.batches_per_step = 6, .threads = threads, .schedule = schedule});
        for (int run = 0; run < 2; ++run) {
          CHECK(values(session.run({{"x", x}})[0]) == expected);
        }
      }
    }
  }
}

TEST_CASE("pipelines return sums, last values and inputs, and values of several stages") {
  const Array<float> x = numbers(4);
  const auto run = [&](Schedule schedule) {
    Graph g = layers({0, 1});
    const AnyTensor z = op::reshape(g["y"], constant(g, Dims{16}));
    output(g, z, "z");
    Session session(std::move(g), {.outputs = {Anchor("y", Return::final), Anchor("z"),
                                               Anchor("x", Return::sum), Anchor("w")},
                                   .batches_per_step = 4,
                                   .schedule = schedule});
    const Result result = session.run({{"x", x}});
    std::vector<float> all;
    for (std::size_t i = 0; i < result.size(); ++i) {
      for (const float v : values(result[i])) all.push_back(v);
    }
    return all;
  };
  CHECK(run(Schedule::grouped) == run(Schedule::none));
}

TEST_CASE("pipelines with other numbers of micro-batches, run by run") {
  Engine engine(layers({0, 1, 2}), {.schedule = Schedule::one_f_one_b});
  CHECK(engine.is_pipelined());
  CHECK(engine.program() == nullptr);
  const Array<float> x = numbers(5);
  Engine plain(layers({0, 0, 0}), {});
  for (const std::int64_t count : {5, 1, 3}) {
    std::vector<AnyView> inputs;
    for (std::int64_t m = 0; m < count; ++m) {
      inputs.push_back({{ElementType::float32, {2, 8}}, x.begin() + m * 16});
    }
    engine.run_together(count, inputs);
    for (std::int64_t m = 0; m < count; ++m) {
      plain.run(std::span(inputs).subspan(static_cast<std::size_t>(m), 1));
      CHECK(values(engine.output(0, 0, m)) == values(plain.output(0)));
    }
  }
}

TEST_CASE("pipelines refuse what they cannot run") {
  const auto session = [](Graph g, std::int64_t batches, Schedule schedule = Schedule::grouped) {
    return error_of([&] {
      Session(std::move(g), {.batches_per_step = batches, .schedule = schedule})
          .run({{"x", numbers(batches)}});
    });
  };
  CHECK(contains(session(layers({0, 1, 2}), 2),
                 "depth (batchesPerStep) must equal at least the number of pipeline stages (3)"));
  CHECK(contains(session(layers({1, 0}), 4), "reads what a later stage computes"));
  Graph two = layers({0, 0});
  two.nodes.front().place.ipu = 0;
  two.nodes.back().place.ipu = 1;
  CHECK(contains(session(two, 4), "nodes of one stage of a pipeline are on different IPUs"));
  // A counter that the first stage changes, and the second one reads.
  Graph g;
  const auto x = input<float, Shape<2, 8>>(g, "x");
  const auto total = parameter<float, Shape<2, 8>>(g, "total", zeros);
  {
    const OnStage first(g, 0);
    op::copy_var_update(total, op::add(total, x));
  }
  const OnStage second(g, 1);
  output(g, op::mul(x, total), "y");
  CHECK(contains(session(g, 4), "is changed in one stage and read in another one"));

  Graph trained = layers({0, 1});
  const AnyTensor loss = op::mean(trained["y"], {.keepdims = 0});
  train(trained, loss, Sgd{.learning_rate = 0.1f}, {.accumulation = 4});
  const auto refused = [&](const SessionOptions& options, std::int64_t count) {
    return error_of([&] { Session(trained, options).run({{"x", numbers(count)}}); });
  };
  CHECK(
      contains(refused({.outputs = {loss}, .accumulation = 4, .schedule = Schedule::continuous}, 4),
               "updates weights after every micro-batch"));
  CHECK(contains(
      refused(
          {.outputs = {Anchor("UpdatedVar___w")}, .accumulation = 4, .schedule = Schedule::grouped},
          4),
      "computes once a step"));
  CHECK(contains(refused({.outputs = {loss}, .accumulation = 4, .schedule = Schedule::none}, 4),
                 "no error"));
}

TEST_CASE("a stage that fails ends the run of all, and the next run goes on") {
  // An index that is out of range in the third of four micro-batches.
  Graph g;
  AnyTensor x = g.input<float>("x", {4, 2});
  AnyTensor rows = g.input<std::int32_t>("rows", {2});
  AnyTensor y;
  {
    const OnStage first(g, 0);
    y = op::tanh(x);
  }
  const OnStage second(g, 1);
  output(g, op::gather(y, rows), "y");
  Session session(std::move(g),
                  {.batches_per_step = 4, .threads = 2, .schedule = Schedule::one_f_one_b});
  const Array<float> data({4, 4, 2});
  Array<std::int32_t> good({4, 2}), bad({4, 2});
  bad[5] = 9;
  for (int round = 0; round < 3; ++round) {
    CHECK(contains(error_of([&] { session.run({{"x", data}, {"rows", bad}}); }), "Gather"));
    CHECK(error_of([&] { session.run({{"x", data}, {"rows", good}}); }) == "no error");
  }
}

TEST_CASE("place: as many stages as asked for, the slowest as fast as it can be") {
  // Layers of equal width: equal shares.
  Graph g;
  AnyTensor x = g.input<float>("x", {16, 64});
  for (int layer = 0; layer < 8; ++layer) x = op::relu(networks::dense(g, x, 64, 64));
  output(g, x, "y");
  for (const std::int32_t stages : {1, 2, 4, 8}) {
    Graph placed = g;
    place(placed, {.ipus = stages > 1 ? stages / 2 : 1, .stages = stages});
    std::vector<int> products(static_cast<std::size_t>(stages), 0);
    std::int16_t last = 0;
    for (const Node& node : placed.nodes) {
      CHECK(node.place.stage >= last);
      last = node.place.stage;
      CHECK(node.place.ipu == (stages > 1 ? node.place.stage / 2 : 0));
      products[static_cast<std::size_t>(last)] += node.op->id == op::Gemm::id ? 1 : 0;
    }
    for (const int count : products) CHECK(count == 8 / stages);
  }
  Graph sharded = g;
  place(sharded, {.ipus = 2});
  CHECK(sharded.nodes.back().place.ipu == 1);
  CHECK(!has_stages(sharded));
}

TEST_CASE("place: what cannot be placed") {
  const auto placed = [](Graph g, const PlaceOptions& options) {
    return error_of([&] { place(g, options); });
  };
  CHECK(contains(placed(layers({-1}), {.stages = -1}), "stages is out of range"));
  CHECK(contains(placed(layers({-1}), {.ipus = 65}), "IPUs is out of range"));
  CHECK(contains(placed(layers({-1}), {.ipus = 3, .stages = 2}), "more IPUs than stages"));
  CHECK(contains(placed(layers({-1}), {.stages = 100}), "cannot be divided"));
  CHECK(contains(placed(layers({0}), {.stages = 1}), "places already"));
  CHECK(placed(layers({-1}), {.ipus = 40}) == "no error");
  Graph g = layers({-1});
  train(g, op::mean(g["y"], {.keepdims = 0}), Sgd{});
  CHECK(contains(placed(g, {.stages = 2}), "trained already"));
}
