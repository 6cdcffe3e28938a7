#include <popart/graphutils.hpp>

#include <doctest/doctest.h>
#include <popart/any.hpp>
#include <popart/builder.hpp>
#include <popart/tensorindex.hpp>
#include <set>

#include "ir_models.hpp"

using namespace popart_test;
namespace graphutils = popart::graphutils;

namespace {

/// The product of two inputs with a weight each, both squashed, and their sum.
struct TwoProducts {
  std::unique_ptr<Builder> builder = Builder::create();
  std::vector<TensorId> products, squashed;
  TensorId sum;
  Ir ir;

  TwoProducts() {
    AiOnnxOpset10 aiOnnx = builder->aiOnnxOpset10();
    for (const char* name : {"w0", "w1"}) {
      const TensorId x = builder->addInputTensor(square_info);
      products.push_back(aiOnnx.matmul({x, weight(*builder, name)}));
      squashed.push_back(aiOnnx.sigmoid({products.back()}));
    }
    sum = aiOnnx.add(squashed);
    Prepared model{builder->getModelProto(), DataFlow(1, {{sum, AnchorReturnType("All")}})};
    model.patterns.enableInPlace(false);  // operators keep their types
    model.options.enableOutlining = false;
    model.into(ir);
  }
  Tensor* tensor(const TensorId& id) { return ir.getTensor(id); }
};

}  // namespace

TEST_CASE("walks over graphs visit what data flows to or comes from") {
  TwoProducts model;
  std::vector<TensorId> visited;
  const auto note = [&](Tensor* t) {
    visited.push_back(t->id);
    return true;
  };
  const auto all = [](Op*, Tensor*, Tensor*) { return true; };
  graphutils::traverse(std::vector<Tensor*>{model.tensor(model.products[0])}, note, all,
                       graphutils::TraversalType::BreadthFirst, graphutils::VisitType::Pre,
                       graphutils::TraversalDirection::Forward);
  CHECK(visited == std::vector<TensorId>{model.products[0], model.squashed[0], model.sum});

  SUBCASE("a visitor or a filter ends them") {
    visited.clear();
    graphutils::traverse(
        std::vector<Tensor*>{model.tensor(model.sum)},
        [&](Tensor* t) { return note(t) && t->id != model.squashed[0]; },
        [&](Op*, Tensor*, Tensor* to) { return to->id != model.squashed[1]; },
        graphutils::TraversalType::DepthFirst, graphutils::VisitType::Post,
        graphutils::TraversalDirection::Backward);
    CHECK(visited == std::vector<TensorId>{model.sum, model.squashed[0]});
  }
  SUBCASE("both ways they come everywhere") {
    visited.clear();
    graphutils::traverseDepthFirst({model.tensor("w0")}, note);
    CHECK(visited.size() == 9);  // two inputs, weights, products and sigmoids, and the sum
    visited.clear();
    graphutils::traverseBreadthFirst({model.tensor("w0")}, note);
    CHECK(visited.size() == 9);
  }
}

TEST_CASE("roots are what a tensor is computed from") {
  TwoProducts model;
  std::set<TensorId> roots;
  for (const Tensor* t : graphutils::rootTensors(model.tensor(model.squashed[1]))) {
    roots.insert(t->id);
  }
  CHECK(roots.size() == 2);
  CHECK(roots.count("w1") == 1);
}

TEST_CASE("walks go through the graphs that operators call") {
  const auto builder = Builder::create();
  Builder& body = builder->createSubgraphBuilder();
  const TensorId inner = body.addInputTensor(square_info);
  body.addOutputTensor(body.aiOnnxOpset10().sin({inner}));
  const TensorId x = builder->addInputTensor(square_info);
  const TensorId y = builder->aiGraphcoreOpset1().call({x}, 1, body)[0];
  Ir ir;
  Prepared{builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}})}.into(ir);
  int inside = 0;
  bool arrives = false;
  // Inputs to outputs are no way of the Call itself, so this one leads through the body.
  graphutils::traverse(
      std::vector<Tensor*>{ir.getTensor(x)},
      [&](Tensor* t) {
        inside += t->getGraph().id != GraphId::root() ? 1 : 0;
        arrives = arrives || t->id == y;
        return true;
      },
      [](Op*, Tensor* from, Tensor* to) {
        return from->getGraph().id != to->getGraph().id || from->getGraph().id != GraphId::root();
      },
      graphutils::TraversalType::DepthFirst, graphutils::VisitType::Pre,
      graphutils::TraversalDirection::Forward);
  CHECK(inside == 2);
  CHECK(arrives);
}

TEST_CASE("operators are found by what they are and how they are joined") {
  TwoProducts model;
  const auto is = [](const char* type) -> graphutils::OpPred {
    return [type](const Op* op) { return op->opid.type == type; };
  };
  Graph& graph = model.ir.getMainGraph();
  const auto matches = graphutils::findMatchingOps(graph, {is("MatMul"), is("Sigmoid"), is("Add")},
                                                   {{0, 1}, {1, 2, 0, 1}});
  REQUIRE(matches.size() == 1);
  CHECK(matches[0][0]->outId(0) == model.products[1]);
  CHECK(graphutils::findMatchingOps(graph, {is("MatMul"), is("Sigmoid")}, {{0, 1}}).size() == 2);
  CHECK(graphutils::findMatchingOps(graph, {is("MatMul"), is("Sigmoid")}, {}).size() == 4);
  CHECK(graphutils::findMatchingOps(graph, {is("Sigmoid"), is("MatMul")}, {{0, 1}}).empty());
  CHECK_THROWS_AS(graphutils::findMatchingOps(graph, {is("MatMul")}, {{0, 1}}), error);

  const auto befores = graphutils::getOpsWithBefores(graph.getOpSchedule());
  CHECK(befores.at(matches[0][0]).empty());
  CHECK(befores.at(matches[0][2]).size() == 4);
}

TEST_CASE("popart::any is std::any") {
  const popart::any value = 3;
  CHECK(popart::any_cast<int>(value) == 3);
  CHECK_THROWS_AS(popart::any_cast<float>(value), popart::bad_any_cast);
}
