#include <halftone/op/if.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

Inferred branches(const Vector<TensorInfo>& then_outputs, const Vector<TensorInfo>& else_outputs,
                  std::size_t outputs, const Dims& condition = {}) {
  const Vector<TensorInfo> graphs[]{then_outputs, else_outputs};
  const InputInfo in[]{{.info = {ElementType::boolean, condition}},
                       {.info = {ElementType::float32, {2}}},
                       {.info = {ElementType::int64, {}}}};
  return halftone::detail::infer_checked(op::If{}, Inputs(in, outputs, graphs));
}

const TensorInfo a{ElementType::float32, {2, 3}}, b{ElementType::float32, {2, 4}},
    c{ElementType::float32, {2}}, d{ElementType::float16, {2, 3}};

}  // namespace

TEST_CASE("if: outputs are what both branches say") {
  CHECK(branches({a, c}, {a, c}, 2).outputs == std::vector{a, c});
  CHECK(branches({a}, {b}, 1).outputs[0] == TensorInfo{ElementType::float32, {2, dynamic}});
  CHECK(!branches({a}, {c}, 1).outputs[0].is_known());
  CHECK(!branches({a}, {{}}, 1).outputs[0].is_known());
}

TEST_CASE("if: wrong branches and conditions") {
  CHECK(branches({a}, {d}, 1).reason == "the branches give different element types");
  CHECK(branches({a}, {a, c}, 1).reason == "a branch has another number of outputs");
  CHECK(branches({a}, {a}, 2).reason == "a branch has another number of outputs");
  CHECK(branches({a}, {a}, 1, {2}).reason == "the condition is not one boolean");
  CHECK(branches({a}, {a}, 1, {1}).ok());
}

TEST_CASE("if: nothing is known while the branches are not") {
  const InputInfo in[]{{.info = {ElementType::boolean, {}}}};
  const Inferred y = op::If::infer(Inputs(in, 3));
  CHECK(y.outputs.size() == 3);
  CHECK(!y.outputs[0].is_known());
}
