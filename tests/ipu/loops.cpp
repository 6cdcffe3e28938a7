#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>

#include "../onnx/model_bytes.hpp"

namespace test {

using namespace halftone;

namespace {

constexpr int boolean = 9;

Message identity(std::string_view from, std::string_view to) {
  return node("Identity", {from}, {to});
}
Message loop(Names inputs, Names outputs, const Message& body) {
  return node("Loop", inputs, outputs, {.attributes = {graph_attribute("body", body)}});
}
Message passes(std::string_view name, std::int64_t count) {
  return tensor(name, int64, {}, std::vector<std::int64_t>{count});
}

/// `count` times the square, the square root behind it.
ipu::Report repeated(std::int64_t count) {
  const Message body = graph(
      {.nodes = {identity("go", "next"), node("Mul", {"s", "s"}, {"square"})},
       .inputs = {value("i", int64, {}), value("go", boolean, {}), value("s", float32, {64, 512})},
       .outputs = {value("next", boolean, {}), value("square", float32, {64, 512})}});
  return ipu::profile(
      loaded(model({.nodes = {loop({"M", "", "x"}, {"last"}, body), node("Sqrt", {"last"}, {"y"})},
                    .initializers = {passes("M", count)},
                    .inputs = {value("x", float32, {64, 512})},
                    .outputs = {shapeless("y", float32)}})),
      ipu::gc200, {.prefetch = true});
}
std::int64_t behind(const ipu::Report& r) { return r.operation_cycles(r.operations.size() - 1); }
/// An arm of so many squares of x.
Message arm(int squares) {
  GraphParts parts;
  std::string last = "x";
  for (int i = 0; i < squares; ++i) {
    const std::string next = "s" + std::to_string(i);
    parts.nodes.push_back(node("Mul", {last, last}, {next}));
    last = next;
  }
  parts.outputs = {value(last, float32, {64, 512})};
  return graph(parts);
}
ipu::Report branches(int first, int second) {
  return ipu::profile(
      loaded(model({.nodes = {node("If", {"c"}, {"y"},
                                   {.attributes = {graph_attribute("then_branch", arm(first)),
                                                   graph_attribute("else_branch", arm(second))}})},
                    .inputs = {value("c", boolean, {}), value("x", float32, {64, 512})},
                    .outputs = {shapeless("y", float32)}})),
      ipu::gc200, {.prefetch = true});
}
bool has_program(const ipu::Report& r, std::string_view name) {
  bool found = false;
  for (const ipu::Program& p : r.programs) found = found || p.name == name;
  return found;
}

}  // namespace

TEST_CASE("profile: each pass of a loop takes as long, and what is behind it once") {
  std::int64_t cycles[4];
  for (const std::int64_t n : {0, 1, 2, 3}) {
    const ipu::Report r = repeated(n);
    cycles[n] = r.cycles();
    CHECK(behind(r) == behind(repeated(1)));
  }
  CHECK(cycles[2] - cycles[1] == cycles[3] - cycles[2]);
  CHECK(cycles[2] > cycles[1]);
  CHECK(cycles[1] > cycles[0]);
}

TEST_CASE("profile: as often as it likes counts one pass, too many within each other are refused") {
  const ipu::Report endless = repeated(INT64_MAX);
  CHECK(has_program(endless, "RepeatWhile"));
  CHECK(endless.cycles() >= repeated(1).cycles());
  CHECK(endless.cycles() < repeated(2).cycles() + 10'000);
  const Message inner =
      graph({.nodes = {identity("go", "next"), node("Mul", {"s", "s"}, {"square"})},
             .inputs = {value("i", int64, {}), value("go", boolean, {}), value("s", float32, {8})},
             .outputs = {value("next", boolean, {}), value("square", float32, {8})}});
  const Message outer =
      graph({.nodes = {identity("go", "next"), loop({"M", "", "s"}, {"last"}, inner)},
             .inputs = {value("i", int64, {}), value("go", boolean, {}), value("s", float32, {8})},
             .outputs = {value("next", boolean, {}), value("last", float32, {8})}});
  const Graph nested = loaded(model({.nodes = {loop({"M", "", "x"}, {"y"}, outer)},
                                     .initializers = {passes("M", std::int64_t{1} << 31)},
                                     .inputs = {value("x", float32, {8})},
                                     .outputs = {shapeless("y", float32)}}));
  CHECK_THROWS_AS(ipu::profile(nested, ipu::gc200), UnsupportedError);
}

TEST_CASE("profile: every pass of a loop computes") {
  constexpr std::int64_t elements = 64 * 512;  // squared in each pass, and the root behind it
  for (const std::int64_t n : {1, 2, 5}) CHECK(repeated(n).flops() == (n + 1) * elements);
  // 2^32 times 2^24 elements.
  const Message body =
      graph({.nodes = {identity("go", "next"), node("Mul", {"s", "s"}, {"square"})},
             .inputs = {value("i", int64, {}), value("go", boolean, {}),
                        value("s", float32, {4096, 4096})},
             .outputs = {value("next", boolean, {}), value("square", float32, {4096, 4096})}});
  const Graph large = loaded(model({.nodes = {loop({"M", "", "x"}, {"y"}, body)},
                                    .initializers = {passes("M", std::int64_t{1} << 32)},
                                    .inputs = {value("x", float32, {4096, 4096})},
                                    .outputs = {shapeless("y", float32)}}));
  CHECK_THROWS_AS(ipu::profile(large, ipu::gc200), UnsupportedError);
}

TEST_CASE("profile: the dearest arm of an If counts, and that one alone") {
  constexpr std::int64_t elements = 64 * 512;
  const ipu::Report r = branches(5, 2), turned = branches(2, 5);
  CHECK(has_program(r, "If arm 0"));
  CHECK(has_program(r, "If arm 1"));
  CHECK(r.flops() == 5 * elements);
  CHECK(turned.flops() == 5 * elements);
  CHECK(r.cycles() == turned.cycles());
  CHECK(r.cycles() == branches(5, 5).cycles());
  CHECK(r.cycles() > branches(4, 2).cycles());
  CHECK(r.busy_cycles() == doctest::Approx(branches(5, 1).busy_cycles()));
  CHECK(r.busy_cycles() == doctest::Approx(turned.busy_cycles()));
  // If, five squares, and two that are not computed; an If asks all tiles for its predicate.
  REQUIRE(r.operations.size() == 8);
  for (std::size_t o = 1; o < 8; ++o) CHECK((r.operation_cycles(o) > 0) == (o <= 5));
  CHECK(r.cycles(ipu::StepKind::control) > 0);
}

}  // namespace test
