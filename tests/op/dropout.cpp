#include <halftone/op/dropout.hpp>

#include "movement.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("dropout: in inference the tensor itself, and a mask of true", T, float, double,
                   half, bfloat16) {
  const Array<T> x = array<T>({2, 2}, {1, -2, 3, 0.5});
  check_equal<T>(run(op::Dropout{}, {x}), {2, 2}, {1, -2, 3, 0.5});
  const std::vector<AnyArray> y =
      run_all(op::Dropout{}, {x, array<float>({}, {0.75}), Array<bool>(Dims{}, {false})}, 2);
  check_equal<T>(y[0], {2, 2}, {1, -2, 3, 0.5});
  check_equal<bool>(y[1], {2, 2}, {1, 1, 1, 1});
}

TEST_CASE("dropout: training is refused") {
  const Array<float> x({2}), ratio(Dims{}, {0.5});
  CHECK(reason(op::Dropout{}, {x, ratio, Array<bool>(Dims{}, {true})}) ==
        "training_mode is true, only inference is offered");
  const InputInfo in[]{{.info = x.info()}, {}, {.info = {ElementType::boolean, {}}}};
  CHECK(op::Dropout::infer(Inputs(in, 1)).reason == "training_mode is not known before the run");
  CHECK(reason(op::Dropout{}, {x, Array<float>({2})}) == "the ratio is not a scalar");
}

TEST_CASE("dropout: masks before version 10 have the type of the data") {
  Graph graph;
  const AnyTensor x = graph.input<half>("x", {3});
  const std::vector<Word> words = pack(op::Dropout_1{.ratio = 0.1f, .is_test = 1});
  const std::vector<TensorId> in{x.id};
  const std::vector<TensorId> y =
      halftone::detail::expand_thunk<op::Dropout_1>(graph, words, in, 2);
  REQUIRE(y.size() == 2);
  CHECK(graph.info(y[0]) == TensorInfo{ElementType::float16, {3}});
  CHECK(graph.info(y[1]) == TensorInfo{ElementType::float16, {3}});
  CHECK(unpack<op::Dropout>(graph.nodes[0].attributes).ratio.value == 0.1f);
  CHECK(halftone::detail::expand_thunk<op::Dropout_1>(graph, words, in, 1).size() == 1);
}
