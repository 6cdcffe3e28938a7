#include "graph/inputs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/halftone.hpp>

#include "../error_of.hpp"

using namespace halftone;
using detail::check_input;
using detail::check_symbols;
using test::contains;
using test::error_of;

namespace {

/// x: [batch, 3], y: [batch], z: anything; w may be given.
Graph inputs() {
  Graph g;
  const AnyTensor x = g.input<float>("x", {dynamic, 3}), y = g.input<float>("y", {dynamic});
  for (const AnyTensor& input : {x, y}) g.symbols.push_back({input.id, 0, g.store_name("batch")});
  g.add_input({}, "z");
  g.optional_inputs.push_back(parameter<float, Shape<2>>(g, "w", zeros).id);
  return g;
}
TensorInfo floats(const Dims& shape) { return {ElementType::float32, shape}; }

}  // namespace

TEST_CASE("inputs: what fits is one value of the input") {
  const Graph g = inputs();
  const TensorId x = g.find("x"), z = g.find("z");
  CHECK(check_input(g, x, floats({5, 3})) == floats({5, 3}));
  CHECK(check_input(g, z, floats({5, 3})) == floats({5, 3}));
  const std::int64_t lead[] = {4, 2}, batches[] = {4, 1}, one[] = {1, 1};
  CHECK(check_input(g, x, floats({4, 2, 5, 3}), lead) == floats({5, 3}));
  CHECK(check_input(g, x, floats({8, 5, 3}), lead) == floats({5, 3}));
  CHECK(check_input(g, x, floats({4, 5, 3}), batches) == floats({5, 3}));
  CHECK(check_input(g, x, floats({5, 3}), one) == floats({5, 3}));
  CHECK(check_input(g, z, floats({4, 2, 7}), lead) == floats({7}));
}

TEST_CASE("inputs: an error says what the graph expects") {
  const Graph g = inputs();
  const TensorId x = g.find("x"), z = g.find("z");
  const std::int64_t lead[] = {4, 2};
  const auto refused = [&](TensorId id, const TensorInfo& info, detail::LeadingExtents of = {}) {
    return error_of([&] { check_input(g, id, info, of); });
  };
  std::string text = refused(x, floats({5, 4}));
  CHECK(contains(text, "input: input has another shape"));
  CHECK(contains(text, "[batch, 3] float"));
  CHECK(contains(text, "[5, 4] float"));
  CHECK(contains(text, "inputs are 'x', 'y', 'z'; may be given: 'w'"));
  CHECK(contains(refused(x, {ElementType::int32, {5, 3}}), "another element type"));
  CHECK(contains(refused(x, floats({3})), "too few dimensions"));
  CHECK(contains(refused(x, floats({1, 5, 3})), "too many dimensions"));
  CHECK(contains(refused(x, floats({dynamic, 3})), "every extent is known"));
  CHECK(contains(refused(x, {}), "needs a type"));
  text = refused(x, floats({5, 3}), lead);
  CHECK(contains(text, "another number of micro-batches"));
  CHECK(contains(text, "[4, 2, batch, 3] float"));
  CHECK(contains(refused(z, floats({4}), lead), "no dimension for the micro-batches"));
}

TEST_CASE("inputs: extents of one symbol are equal") {
  const Graph g = inputs();
  check_symbols(g, std::vector<TensorInfo>{floats({5, 3}), floats({5}), floats({9})});
  const std::string text = error_of(
      [&] { check_symbols(g, std::vector<TensorInfo>{floats({5, 3}), floats({6}), floats({9})}); });
  CHECK(contains(text, "extents of one name differ"));
  CHECK(contains(text, "batch = 5 as in 'x'"));
  CHECK(contains(text, "[6] float, batch = 6"));
}

// The law: a session and an engine say the same.
TEST_CASE("inputs: one text, whoever is asked") {
  Graph g;
  output(g, op::relu(g.input<float>("x", {dynamic, 3})), "y");
  const Array<float> wrong({5, 4});
  Session session(g);
  const std::string text = error_of([&] { session.run({{"x", wrong}}); });
  Engine engine(g);
  CHECK(error_of([&] { engine.run(std::vector<AnyView>{wrong}); }) == text);
  CHECK(contains(text, "another shape"));
}
