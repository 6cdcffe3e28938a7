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

}  // namespace test
