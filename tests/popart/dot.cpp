#include <doctest/doctest.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "../folder.hpp"
#include "ir_models.hpp"

using namespace popart_test;

namespace {

Prepared model() {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId y = aiOnnx.relu({aiOnnx.matmul({x, weight(*builder, "w")})}, "y");
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({y}, 0.1f);
  builder->addOutputTensor(loss);
  return {builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}), loss};
}
const SGD optimizer({{"defaultLearningRate", {0.1f, true}}});

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}
int boxes(const std::string& text) {
  int number = 0;
  for (std::size_t at = 0; (at = text.find("shape=box", at)) != text.npos; ++at) ++number;
  return number;
}

}  // namespace

// Names of points and files are those of PopART's ir.cpp and dotvisualizer.cpp.
TEST_CASE("popart dot: graphs are written at the points that are asked for") {
  const test::Folder folder;
  Prepared prepared = model();
  prepared.options.logDir = folder.path.string();
  {
    Ir ir;
    prepared.into(ir, &optimizer);
    CHECK(folder.files().empty());
  }
  prepared.options.dotChecks = {"FWD0", "Bwd0", "final", "nothing"};
  {
    Ir ir;
    prepared.into(ir, &optimizer);
    CHECK(folder.files() == std::vector<std::string>{"Bwd0_r.dot", "Final_r.dot", "Fwd0_r.dot"});
    const std::string last = text_of(folder / "Final_r.dot");
    CHECK(boxes(last) == static_cast<int>(ir.getMainGraphOps().size()));
    CHECK(contains(last, "ReluInplace"));
    CHECK(contains(last, "color=\"blue\""));  // the weight
    CHECK(boxes(text_of(folder / "Bwd0_r.dot")) > boxes(text_of(folder / "Fwd0_r.dot")));
    CHECK_FALSE(contains(text_of(folder / "Fwd0_r.dot"), "ReluGrad"));
  }
  prepared.options.dotChecks.clear();
  ::setenv("POPART_DOT_CHECKS", "Fwd1:PREALIAS", 1);
  Ir ir;
  prepared.into(ir, &optimizer);
  ::unsetenv("POPART_DOT_CHECKS");
  CHECK(folder.files().size() == 5);
  CHECK(folder.files()[3] == "Fwd1_r.dot");
}

TEST_CASE("popart dot: names and a range of operators") {
  const test::Folder folder;
  Prepared prepared = model();
  prepared.options.logDir = folder.path.string();
  prepared.options.dotChecks = {"Final"};
  prepared.options.firstDotOp = 1;
  prepared.options.finalDotOp = 2;
  prepared.options.dotOpNames = true;
  {
    Ir ir;
    prepared.into(ir);
    const std::string text = text_of(folder / "Final_r.dot");
    CHECK(boxes(text) == 1);
    CHECK(contains(text, ":y)"));
  }
  prepared.options.firstDotOp = 7;
  Ir ir;
  CHECK(is(error_of([&] { prepared.into(ir); }), "error", "Invalid dot range (7, 2)"));
  prepared.options.firstDotOp = 0;
  prepared.options.logDir = folder / "missing";
  CHECK(is(error_of([&] { prepared.into(ir); }), "error", "failed to open file"));
}
