// The emulator of headers, in a program that has the library, too: what both define is one thing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include <halftone/halftone.hpp>
#include <halftone/ipu/emulator.hpp>

#include "../emulator/models.hpp"
#include "../error_of.hpp"

namespace {

void check_equal(const ipu::Report& a, const ipu::Report& b) {
  CHECK(a.cycles() == b.cycles());
  CHECK(a.vertices == b.vertices);
  CHECK(a.memory == b.memory);
  CHECK(a.peak_step == b.peak_step);
  CHECK(a.tile_cycles == b.tile_cycles);
  CHECK(a.live_bytes == b.live_bytes);
  const bool has_equal_texts = a.json() == b.json();  // too long to be printed
  CHECK(has_equal_texts);
}

/// What an emulator reports of a model, and what the library does.
template <class Model>
void check_reports(const ipu::Target& target, const ipu::ProfileOptions& options = {}) {
  Graph graph;
  Model::build(graph);
  check_equal(std::make_unique<ipu::Emulator<Model>>(target, options)->report(),
              ipu::profile(graph, target, options));
}

}  // namespace

TEST_CASE("an emulator reports what ipu::profile does") {
  check_reports<Perceptron>(ipu::gc200);
  check_reports<Digits>(ipu::gc200);
  check_reports<TrainedByOwn>(ipu::gc200);
  check_reports<Folded>(ipu::gc200);
}

TEST_CASE("an emulator reports calls as calls, though its computing has none") {
  check_reports<Functions>(ipu::gc200);
  CHECK(std::make_unique<ipu::Emulator<Functions>>(ipu::gc200)->report().programs.size() > 1);
}

TEST_CASE("an emulator takes every target and option that ipu::profile takes") {
  check_reports<TrainedImages>(ipu::gc200);
  check_reports<TrainedImages>(ipu::gc2.with_tiles(8), {.allow_out_of_memory = true});
  check_reports<TrainedImages>(ipu::bow.with_ipus(2));
  check_reports<TrainedImages>(ipu::gc200, {.ipus = 2,
                                            .tiles_per_ipu = 100,
                                            .available_memory_proportion = 0.1,
                                            .partials = ElementType::float16,
                                            .placement = ipu::Placement::automatic,
                                            .split_ratios = {0.75f, 0.25f},
                                            .prefetch = false,
                                            .has_launch = false});
}

TEST_CASE("an emulator folds nodes of constants to the library's values") {
  Graph graph;
  Folded::build(graph);
  const Graph expected = ipu::program_for(graph).graph;
  using List = halftone::detail::ListOf<Builtin>::type;
  const Graph found =
      run_passes(ipu_passes, ipu::detail::RecordedGraph<Folded, List>::read(),
                 {.evaluate = &ipu::detail::evaluate_in_headers}, [](const PassEvent&) {});
  REQUIRE(found.tensors.size() == expected.tensors.size());
  int folded = 0;
  for (std::size_t i = 0; i < found.tensors.size(); ++i) {
    const TensorRecord &a = found.tensors[i], &b = expected.tensors[i];
    REQUIRE(a.role == b.role);
    if (a.role != Role::constant) continue;
    REQUIRE(a.data.size() == b.data.size());
    if (a.info.type != ElementType::float32) {
      CHECK(std::ranges::equal(a.data.span(), b.data.span()));
      continue;
    }
    folded += graph.tensors[i].role == Role::value;
    for (std::size_t at = 0; at < a.data.size(); at += sizeof(float)) {
      float x, y;
      std::memcpy(&x, a.data.span().data() + at, sizeof x);
      std::memcpy(&y, b.data.span().data() + at, sizeof y);
      CHECK(x == doctest::Approx(y).epsilon(1e-6));  // the library's exp works on vectors
    }
  }
  CHECK(folded == 5);  // Add, Exp, Reshape and two Transposes
}

TEST_CASE("an emulator computes what a static program computes") {
  const auto emulator =
      std::make_unique<ipu::Emulator<TrainedImages>>(ipu::gc200, ipu::ProfileOptions{}, 7u);
  const auto program = std::make_unique<Static<TrainedImages>>(7u);
  float x[4 * 3 * 8 * 8];
  for (std::size_t i = 0; i < std::size(x); ++i) x[i] = static_cast<float>(i % 17) / 8 - 1;
  const std::int32_t label[] = {3, 1, 4, 1};
  for (int step = 0; step < 3; ++step) {
    emulator->run(x, label);
    program->run(x, label);
    CHECK(emulator->output<"loss">()[0] == program->output<"loss">()[0]);
  }
  CHECK(std::ranges::equal(emulator->variable<"first">(), program->variable<"first">()));
}

TEST_CASE("an emulator throws what ipu::profile throws") {
  Graph graph;
  Perceptron::build(graph);
  const auto check = [&](const ipu::Target& target, const ipu::ProfileOptions& options,
                         std::string_view kind) {
    const std::string error =
        test::error_of([&] { std::make_unique<ipu::Emulator<Perceptron>>(target, options); });
    CHECK(error == test::error_of([&] { ipu::profile(graph, target, options); }));
    CHECK(error.starts_with(kind));
  };
  check(ipu::gc200.with_tiles(0), {}, "usage: ");
  check(ipu::gc200, {.available_memory_proportion = 2}, "usage: ");
  check(ipu::gc200, {.partials = ElementType::int8}, "usage: ");
  check(ipu::gc200, {.split_ratios = {1.f}}, "usage: ");
  ipu::Target small = ipu::gc200.with_tiles(2);
  small.bytes_per_tile = 4096;
  check(small, {}, "memory: ");
}

TEST_CASE("an emulator tells an observer of the passes of an ipu") {
  struct Names final : PassObserver {
    std::string names;
    void passed(const PassEvent& event) override { names += std::string(event.pass) + " "; }
  };
  Names of_emulator, of_profile;
  std::make_unique<ipu::Emulator<Perceptron>>(ipu::gc200,
                                              ipu::ProfileOptions{.observer = &of_emulator});
  Graph graph;
  Perceptron::build(graph);
  ipu::profile(graph, ipu::gc200, {.observer = &of_profile});
  CHECK(of_emulator.names == of_profile.names);
  CHECK(of_emulator.names.find("schedule") != std::string::npos);
}
