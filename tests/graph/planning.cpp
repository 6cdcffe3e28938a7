#include <halftone/graph/planning.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <popart/builder.hpp>
#include <popart/tensorinfo.hpp>
#include <span>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/onnx.hpp>
#include <halftone/train.hpp>

#include "../onnx/model_bytes.hpp"

using namespace halftone;

namespace {

/// x w, of half numbers: what is planned for it depends on the type of its partial sums.
Graph product(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  Graph g;
  const AnyTensor x = g.input<half>("x", {rows, inner});
  const AnyTensor w{&g, g.add_variable({ElementType::float16, {inner, columns}},
                                       Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
  output(g, op::matmul(x, w), "y");
  return g;
}

std::int64_t temporary_bytes(const ipu::Report& r) {
  std::int64_t most = 0;
  for (const auto& tile : r.memory) {
    most = std::max(most, tile[static_cast<std::size_t>(ipu::Category::temporaries)]);
  }
  return most;
}

}  // namespace

// The law: what one node asks for is what the same profile does for all nodes.
TEST_CASE("planning of one node: the profile's options for it alone") {
  const Graph plain = product(1024, 4096, 1024);
  const auto profile = [](const Graph& g, ipu::ProfileOptions options = {}) {
    options.allow_out_of_memory = true;
    return ipu::profile(g, ipu::gc200.with_tiles(64), options);
  };
  Graph g = plain;
  set_planning(g.nodes[0], {.available_memory_proportion = 0.05f});
  CHECK(g.nodes[0].planning.available_memory_proportion == 0.05f);
  const ipu::Report small = profile(g), usual = profile(plain);
  const ipu::Report same = profile(plain, {.available_memory_proportion = double{0.05f}});
  CHECK(small.cycles() == same.cycles());
  CHECK(small.operations[0].plan == same.operations[0].plan);
  CHECK(temporary_bytes(small) < temporary_bytes(usual));
  CHECK(small.cycles() > usual.cycles());

  // A machine multiplies half faster with sums in half.
  set_planning(g.nodes[0], {.partials = ElementType::float16});
  CHECK(g.nodes[0].planning.available_memory_proportion == 0);
  const ipu::Report half_sums = profile(g);
  CHECK(half_sums.cycles() == profile(plain, {.partials = ElementType::float16}).cycles());
  CHECK(half_sums.cycles() < usual.cycles());

  set_planning(g.nodes[0], {});
  CHECK(g == plain);
}

TEST_CASE("planning of one node: kept in files, given to gradients, refused elsewhere") {
  Graph g = product(8, 16, 8);
  const Planning planning{0.25f, ElementType::float16};
  set_planning(g.nodes[0], planning);
  const Graph read = onnx::load(onnx::to_bytes(g));
  CHECK(read.nodes[0].planning == planning);

  const AnyTensor loss = op::sum(AnyTensor{&g, g.outputs[0]}, none, {.keepdims = 0});
  const TensorId w = g.find("w");
  const std::vector<TensorId> dw = differentiate(g, loss.id, std::span(&w, 1));
  CHECK(dw[0] != no_tensor);
  int products = 0;
  for (const Node& node : g.nodes) {
    if (!is_planned(node.op->id.name)) continue;
    ++products;
    CHECK(node.planning == planning);
  }
  CHECK(products == 2);

  CHECK_THROWS_AS(set_planning(g.nodes[0], {.available_memory_proportion = 1.5f}), UsageError);
  CHECK_THROWS_AS(set_planning(g.nodes[0], {.partials = ElementType::int32}), UsageError);
  Graph other;
  const AnyTensor x = other.input<float>("x", {2});
  output(other, op::relu(x), "y");
  CHECK_THROWS_AS(set_planning(other.nodes[0], {.available_memory_proportion = 0.5f}), UsageError);
}

// A list has a value for each convolution.
TEST_CASE("planning of one node: MultiConv's convolutions have their own") {
  const auto builder = popart::Builder::create();
  const popart::TensorInfo info("FLOAT16", popart::Shape{1, 4, 8, 8}),
      weights("FLOAT16", popart::Shape{4, 4, 3, 3});
  const popart::TensorId x = builder->addInputTensor(info), w = builder->addInputTensor(weights);
  for (const popart::TensorId& y : builder->aiGraphcoreOpset1().multiconv(
           {{x, w}, {x, w}}, {}, {}, {}, {}, {}, {0.25f, 0.5f}, {"half", "float"})) {
    builder->addOutputTensor(y);
  }
  const std::string model = builder->getModelProto();
  const Graph g = onnx::load(std::as_bytes(std::span(model)));
  std::vector<Planning> found;
  for (const Node& node : g.nodes) {
    if (node.op->id.name == "Conv") found.push_back(node.planning);
  }
  REQUIRE(found.size() == 2);
  CHECK((found[0] == Planning{0.25f, ElementType::float16}));
  CHECK((found[1] == Planning{0.5f, ElementType::float32}));
}

TEST_CASE("planning of one node: wrong attributes are model errors, where they count") {
  const auto error = [](std::string_view op, const test::Message& attribute) {
    return test::error_of(test::model(
        {.nodes = {test::node(op, {"x", "x"}, {"y"}, {.name = "n", .attributes = {attribute}})},
         .inputs = {test::value("x", test::float32, {2, 2})},
         .outputs = {test::value("y", test::float32, {2, 2})}}));
  };
  const test::Message wrong[] = {
      test::real("__available_memory", 2), test::real("__available_memory", std::nanf("")),
      test::integer("__available_memory", 1), test::text("__partials_type", "DOUBLE"),
      test::integer("__partials_type", 1)};
  for (const test::Message& attribute : wrong) {
    const Error e = error("MatMul", attribute);
    CHECK(e.kind() == ErrorKind::model);
    CHECK(test::contains(e.what(), "'n'"));
    // Nothing is planned for an addition: it has attributes of PopART's that are not read.
    CHECK(error("Add", attribute).kind() == ErrorKind::internal);
  }
  CHECK(error("MatMul", test::real("__available_memory", 1)).kind() == ErrorKind::internal);
}
