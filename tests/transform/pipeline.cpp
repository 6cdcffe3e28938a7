#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/transform/observer.hpp>

#include "contains.hpp"
#include "error_of.hpp"
#include "folder.hpp"
#include "networks.hpp"
#include "transform/pipeline.hpp"

using namespace halftone;
using test::contains;
using test::error_of;
using test::looped;

namespace {

struct Passed {
  std::string pass, path;
  Graph graph;
};
class Recorder final : public PassObserver {
 public:
  std::vector<Passed> passes;
  void passed(const PassEvent& event) override {
    CHECK(event.seconds >= 0);
    passes.push_back({std::string(event.pass), std::string(event.path), event.graph});
  }
  std::vector<std::string> names(std::string_view path = {}) const {
    std::vector<std::string> list;
    for (const Passed& p : passes) {
      if (p.path == path) list.push_back(p.pass);
    }
    return list;
  }
  const Graph& after(std::string_view pass, std::string_view path = {}) const {
    for (const Passed& p : passes) {
      if (p.pass == pass && p.path == path) return p.graph;
    }
    FAIL("the pass did not run");
    return passes[0].graph;
  }
};

std::vector<std::string> listed(std::string_view target) {
  std::vector<std::string> list;
  for (const std::string_view name : pass_names(target)) list.emplace_back(name);
  return list;
}

/// The first of them look at all of a graph, before it is divided.
constexpr int shape_passes = 7;

/// Those that run for a graph without late nodes.
std::vector<std::string> listed_for_static() {
  std::vector<std::string> list = listed("cpu");
  std::erase(list, "defer");
  return list;
}

/// |-relu(x w + b)| with an extent that is computed in the graph, and a node that nothing needs.
Graph network() {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 3});
  const AnyTensor w = parameter<float, Shape<3, 4>>(g, "w", std::vector<float>(12, 1));
  const AnyTensor b = parameter<float, Shape<4>>(g, "b", std::vector<float>(4, -1));
  op::exp(x);
  const AnyTensor y = op::abs(op::neg(op::relu(op::matmul(x, w) + b)));
  output(g, op::reshape(y, op::shape_of(op::transpose(y))), "y");
  return g;
}

struct DumpVariable {
  explicit DumpVariable(const char* value) { setenv("HALFTONE_DUMP", value, 1); }
  ~DumpVariable() { unsetenv("HALFTONE_DUMP"); }
};

}  // namespace

TEST_CASE("pipeline: names are unique and in the order in which the passes run") {
  for (const std::string_view target : {"cpu", "ipu"}) {
    std::vector<std::string> names = listed(target);
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  }
  CHECK(pass_names("gpu").empty());
  Recorder cpu, ipu;
  const Session session(network(), {.observer = &cpu});
  CHECK(cpu.names() == listed_for_static());
  ipu::profile(network(), ipu::gc200, {.observer = &ipu});
  CHECK(ipu.names() == listed("ipu"));
}

TEST_CASE("pipeline: what passes leave behind") {
  Recorder seen;
  Session session(network(), {.observer = &seen});
  const Graph& first = seen.after("constants");
  CHECK(first.tensor(first.find("w")).role == Role::constant);
  // Transpose, Shape and what follows are known before the run; the extent is a constant then.
  const auto count = [](const Graph& graph, const OpId& id) {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [&](const Node& node) { return node.op->id == id; });
  };
  CHECK(count(seen.after("random_seeds"), op::Shape::id) == 1);
  CHECK(count(seen.after("random_seeds"), op::Exp::id) == 1);
  CHECK(count(seen.after("infer"), op::Shape::id) == 0);
  // What nothing reads is not evaluated.
  CHECK(count(seen.after("infer"), op::Exp::id) == 0);
  CHECK(count(seen.after("fuse_products"), op::MatMulWithEpilogue::id) == 1);
  CHECK(count(seen.after("fuse_elementwise"), op::Fused::id) == 1);
  CHECK(seen.after("schedule").outputs.size() == 1);
  // The formula: rows of x of ones give 3 - 1.
  const Array<float> x({2, 3}, std::vector<float>(6, 1));
  const Result result = session.run({{"x", x}});
  CHECK(result["y"].info.shape == Dims{4, 2});
  for (const float y : result["y"].values<float>()) CHECK(y == 2);
}

TEST_CASE("pipeline: bodies go through the same passes") {
  Recorder seen;
  Session session(looped(), {.observer = &seen});
  CHECK(seen.names() == listed_for_static());
  const std::vector<std::string> all = listed_for_static();
  std::vector<std::string> planned(all.begin() + shape_passes, all.end());
  CHECK(seen.names("loop/0") == planned);
  CHECK(seen.after("dead_code", "loop/0").nodes.size() == 1);
  const Array<float> x({2}, {1, 5});
  const Result result = session.run({{"x", x}});
  CHECK(result[0].values<float>()[1] == 40);  // 5 * 2^3
}

TEST_CASE(
    "pipeline: a graph with late nodes is divided, and its parts go through the same passes") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 3});
  output(g, op::neg(op::nonzero(op::exp(op::neg(x)))), "y");
  Recorder seen;
  const Session session(std::move(g), {.observer = &seen});
  CHECK(seen.names() == std::vector<std::string>{"copy_given", "constants", "random_seeds", "infer",
                                                 "fuse_trained_attention", "recompute",
                                                 "recompute_elementwise", "defer"});
  const std::vector<std::string> all = listed_for_static();
  CHECK(seen.names("early/0") == std::vector<std::string>(all.begin() + shape_passes, all.end()));
  CHECK(seen.after("fuse_elementwise", "early/0").nodes.size() == 1);
}

TEST_CASE("pipeline: stop_at_nan keeps the nodes as they are") {
  Recorder seen;
  const Session session(network(), {.stop_at_nan = true, .observer = &seen});
  CHECK(seen.names() == std::vector<std::string>{"copy_given", "constants", "random_seeds", "infer",
                                                 "recompute", "dead_code"});
}

TEST_CASE("pipeline: a pass that throws leaves the graph alone, and says what is wrong") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, dynamic});
  output(g, op::matmul(x, parameter<float, Shape<3, 4>>(g, "w", std::vector<float>(12, 1))), "y");
  Session session(std::move(g));
  const std::string error =
      error_of([&] { session.run({{"x", Array<float>({2, 5}, std::vector<float>(10))}}); });
  CHECK_MESSAGE(contains(error, "MatMul"), error);
  CHECK(session.run({{"x", Array<float>({2, 3}, std::vector<float>(6, 1))}})["y"]
            .values<float>()[0] == 3);
}

TEST_CASE("HALFTONE_DUMP writes the graph after passes") {
  const test::Folder folder;
  const std::filesystem::path here = std::filesystem::current_path();
  struct Back {
    std::filesystem::path path;
    ~Back() { std::filesystem::current_path(path); }
  } const back{here};
  std::filesystem::current_path(folder.path);
  {
    const DumpVariable variable("infer,schedule");
    const Session session(looped());
  }
  std::vector<std::string> names;
  std::string schedule;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path / "halftone-dump")) {
    std::string name = entry.path().filename().string();
    names.push_back(name.substr(name.find('-') + 1));
    if (names.back() != "cpu-schedule-loop-0.txt") continue;
    std::ifstream file(entry.path());
    schedule.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"cpu-infer.dot", "cpu-infer.txt",
                                          "cpu-schedule-loop-0.dot", "cpu-schedule-loop-0.txt",
                                          "cpu-schedule.dot", "cpu-schedule.txt"});
  CHECK_MESSAGE(contains(schedule, "Add (state, state)"), schedule);

  const DumpVariable variable("infer,nonsense");
  CHECK(contains(error_of([] { const Session session(network()); }), "'nonsense'"));
  CHECK(contains(error_of([] { const Session session(network()); }), "fuse_elementwise"));
}
