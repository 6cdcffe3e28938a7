#include "transform/infer_from_inputs.hpp"

#include <doctest/doctest.h>

#include <halftone/halftone.hpp>

#include "error_of.hpp"
#include "networks.hpp"

using namespace halftone;

namespace {

/// y = relu(x w), and the model says of x w what `stated` is.
Graph product(const Dims& x, const Dims& stated) {
  Graph g;
  const AnyTensor w = parameter<float, Shape<3, 4>>(g, "w", zeros);
  const AnyTensor xw = op::matmul(g.input<float>("x", {dynamic, 3}), w);
  output(g, op::relu(xw), "y");
  g.rename(xw.id, "xw");
  g.tensor(g.inputs[0]).info.shape = x;
  g.tensor(xw.id).info.shape = stated;
  return g;
}

}  // namespace

TEST_CASE("infer from inputs: what the model states of computed tensors does not count") {
  Graph wrong = product({2, 3}, {7, 4});
  Graph believed = wrong;
  CHECK(infer(believed).size() >= 1);
  CHECK(infer_from_inputs(wrong, nullptr, nullptr).empty());
  CHECK(wrong.info(wrong.find("xw")).shape == Dims{2, 4});
  CHECK(wrong.info(wrong.find("y")).shape == Dims{2, 4});
  // The law: without statements, or with right ones, nothing changes.
  for (const Graph& g : {test::lenet(), test::encoder_layer()}) {
    Graph same = g;
    CHECK(infer_from_inputs(same, nullptr, nullptr).empty());
    CHECK(same == g);
  }
}

TEST_CASE("infer from inputs: statements come back where inference found nothing else") {
  const Graph stated = product({dynamic, 3}, {7, 4});
  Graph g = stated;
  CHECK(infer_from_inputs(g, nullptr, nullptr).empty());
  CHECK(g.info(g.find("xw")).shape == Dims{dynamic, 4});
  recall_statements(g, stated);
  CHECK(g.info(g.find("xw")).shape == Dims{7, 4});
  // One that contradicts what was found stays away.
  Graph other = product({2, 3}, {2, 4});
  recall_statements(other, stated);
  CHECK(other.info(other.find("xw")).shape == Dims{2, 4});
}

TEST_CASE("infer from inputs: one error tells all defects") {
  Graph g = product({2, 5}, {2, 4});
  const AnyTensor x = g["x"], w = g["w"];
  g.add_node(descriptor<op::MatMul>, pack(op::MatMul{}), {x.id, w.id},
             std::vector<TensorInfo>{{ElementType::float32, {2, 4}}}, "second");
  const std::vector<Defect> defects = infer_from_inputs(g, nullptr, nullptr);
  REQUIRE(defects.size() == 2);
  CHECK_THROWS_AS(throw_defects(g, defects), ShapeError);
  try {
    throw_defects(g, defects);
  } catch (const ShapeError& error) {
    CHECK(test::contains(error.what(), "MatMul"));
    CHECK(test::contains(error.what(), "inner dimensions differ"));
    CHECK(test::contains(error.what(), "1 more"));
    CHECK(error.kind() == ErrorKind::model);
  }
}
