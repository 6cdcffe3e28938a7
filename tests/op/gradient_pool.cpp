#include "gradient_check.hpp"

using namespace gradient_test;

TEST_CASE("gradient of MaxPool") {
  const auto check = [](const Dims& x, const op::MaxPool& pool) {
    check_gradients({apart(x)}, [&](Graph&, auto& in) { return op::max_pool(in[0], pool); });
  };
  check({2, 3, 9}, {.kernel_shape = {3}});
  check({2, 2, 7, 8}, {.kernel_shape = {3, 2}, .strides = {2, 1}, .pads = {1, 0, 1, 1}});
  check({1, 2, 9, 9}, {.kernel_shape = {2, 3}, .dilations = {3, 2}});
  check({1, 2, 7, 6}, {.kernel_shape = {3, 3}, .strides = {2, 2}, .ceil_mode = 1});
  check({1, 2, 5, 4, 3}, {.kernel_shape = {2, 2, 1}});
  check({1, 2, 5, 6}, {.kernel_shape = {3, 3}, .strides = {2, 2}, .auto_pad = AutoPad::same_upper});
}

TEST_CASE("gradient of AveragePool") {
  const auto check = [](const Dims& x, const op::AveragePool& pool) {
    check_gradients({scattered(x)},
                    [&](Graph&, auto& in) { return op::average_pool(in[0], pool); });
  };
  check({2, 3, 9}, {.kernel_shape = {3}});
  check({2, 2, 7, 8}, {.kernel_shape = {3, 2}, .strides = {2, 1}, .pads = {1, 0, 1, 1}});
  check({2, 2, 7, 8},
        {.kernel_shape = {3, 2}, .strides = {2, 1}, .pads = {1, 0, 1, 1}, .count_include_pad = 1});
  check({1, 2, 7, 6}, {.kernel_shape = {3, 3},
                       .strides = {2, 2},
                       .pads = {1, 1, 1, 1},
                       .ceil_mode = 1,
                       .count_include_pad = 1});
  check({1, 2, 5, 4, 3}, {.kernel_shape = {2, 2, 1}, .dilations = {2, 1, 1}});
}

TEST_CASE("gradient of pooling over all of space") {
  check_gradients({scattered({2, 3, 4, 5})},
                  [](Graph&, auto& in) { return op::global_average_pool(in[0]); });
  check_gradients({apart({2, 3, 4, 5})},
                  [](Graph&, auto& in) { return op::global_max_pool(in[0]); });
  for (const std::int64_t p : {1, 2, 3}) {
    check_gradients({apart({2, 3, 4, 5})},
                    [&](Graph&, auto& in) { return op::global_lp_pool(in[0], {.p = p}); });
  }
}

TEST_CASE("gradient of LpPool") {
  for (const std::int64_t p : {1, 2, 3}) {
    check_gradients({apart({1, 2, 7, 6})}, [&](Graph&, auto& in) {
      return op::lp_pool(in[0],
                         {.kernel_shape = {3, 2}, .strides = {2, 1}, .pads = {1, 0, 1, 1}, .p = p});
    });
  }
}

TEST_CASE("a tie goes to the first largest element") {
  Graph graph;
  const AnyTensor x{&graph, graph.add_input({ElementType::float32, {1, 1, 4}}, "x")};
  const AnyTensor loss = op::sum(op::max_pool(x, {.kernel_shape = {2}}), none, {.keepdims = 0});
  const TensorId wanted[] = {x.id};
  const std::vector<TensorId> dx = differentiate(graph, loss.id, wanted);
  graph.add_output(dx[0]);
  Session session(std::move(graph), {});
  const Array<float> same({1, 1, 4}, {2, 2, 2, 2});
  const auto found = session.run({{"x", same}})[0].values<float>();
  CHECK(std::vector<float>(found.begin(), found.end()) == std::vector<float>{1, 1, 1, 0});
}

// Its gradient is an operator of its own, which asks for y.
TEST_CASE("gradient of Relu") {
  for (const double sign : {1.0, -1.0}) {
    check_gradients({scattered({3, 7}, sign == 1 ? 0.1 : -2, sign == 1 ? 2 : -0.1), scattered({7})},
                    [](Graph&, auto& in) { return op::relu(in[0]) * in[1]; });
  }
}
