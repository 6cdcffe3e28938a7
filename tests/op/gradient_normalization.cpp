#include "gradient_check.hpp"

using namespace gradient_test;

TEST_CASE("gradient of BatchNormalization") {
  for (const std::int64_t training : {0, 1}) {
    for (const Dims& shape : {Dims{6}, Dims{5, 3}, Dims{2, 3, 4}, Dims{2, 3, 4, 3}}) {
      const Dims channels{shape.size() == 1 ? 1 : shape[1]};
      check_gradients(
          {scattered(shape), scattered(channels, 0.5, 2, 2), scattered(channels, -1, 1, 3),
           scattered(channels, -1, 1, 4), scattered(channels, 0.5, 2, 5)},
          [&](Graph& graph, auto& in) {
            const op::BatchNormalization norm{.epsilon = 1e-2f, .training_mode = training};
            std::vector<TensorId> ids;
            for (const AnyTensor& t : in) ids.push_back(t.id);
            std::vector<AnyTensor> y;
            const std::vector<TensorId> made = detail::record(
                graph, descriptor<op::BatchNormalization>, pack(norm), ids, training != 0 ? 5 : 1);
            for (const TensorId id : made) y.push_back({&graph, id});
            return y;
          });
    }
  }
}

TEST_CASE("gradient of InstanceNormalization") {
  for (const Dims& shape : {Dims{2, 3, 7}, Dims{2, 3, 4, 3}}) {
    check_gradients({scattered(shape), scattered({3}, -1, 1, 2), scattered({3}, -1, 1, 3)},
                    [&](Graph&, auto& in) {
                      return op::instance_normalization(in[0], in[1], in[2], {.epsilon = 1e-2f});
                    });
  }
}

TEST_CASE("gradient of GroupNormalization") {
  for (const Dims& shape : {Dims{3, 6}, Dims{2, 6, 3}, Dims{2, 6, 3, 2}}) {
    for (const std::size_t outputs : {1, 3}) {
      check_gradients({scattered(shape), scattered({6}, -1, 1, 2), scattered({6}, -1, 1, 3)},
                      [&](Graph& graph, auto& in) {
                        std::vector<AnyTensor> y;
                        const std::vector<TensorId> made = detail::record(
                            graph, descriptor<op::GroupNormalization>,
                            pack(op::GroupNormalization{.num_groups = 2, .epsilon = 1e-2f}),
                            {in[0].id, in[1].id, in[2].id}, outputs);
                        for (const TensorId id : made) y.push_back({&graph, id});
                        return y;
                      });
    }
  }
}

TEST_CASE("gradient of LayerNormalization") {
  for (const std::int64_t axis : {-1, 1, 0}) {
    check_gradients({scattered({3, 4, 5}), scattered({5}, -1, 1, 2), scattered({1}, -1, 1, 3)},
                    [&](Graph&, auto& in) {
                      return op::layer_normalization(in[0], in[1], in[2],
                                                     {.axis = axis, .epsilon = 1e-2f});
                    });
  }
  // Mean and deviation are float: their differences are taken over a longer step.
  check_gradients({scattered({2, 8}), scattered({8}, -1, 1, 2)},
                  [&](Graph& graph, auto& in) {
                    std::vector<AnyTensor> y;
                    const std::vector<TensorId> made = detail::record(
                        graph, descriptor<op::LayerNormalization>,
                        pack(op::LayerNormalization{.epsilon = 1e-1f}), {in[0].id, in[1].id}, 3);
                    for (const TensorId id : made) y.push_back({&graph, id});
                    return y;
                  },
                  {.tolerance = 2e-3, .step = 1e-3});
}

TEST_CASE("gradient of LRN") {
  for (const std::int64_t size : {1, 2, 3, 4, 9}) {
    check_gradients({scattered({2, 5, 3})}, [&](Graph&, auto& in) {
      return op::lrn(in[0], {.size = size, .alpha = 0.7f, .beta = 0.6f, .bias = 0.9f});
    });
  }
}

TEST_CASE("gradient of MeanVarianceNormalization") {
  check_gradients({scattered({2, 3, 4, 3})},
                  [](Graph&, auto& in) { return op::MeanVarianceNormalization{}.expand(in[0]); });
}

namespace {

/// The gradient of sum(y * weights) by x, which is [2, 2].
std::vector<double> weighted_gradient(const std::vector<double>& x,
                                      const std::vector<double>& weights, const Dims& y_shape,
                                      auto&& record) {
  Graph graph;
  const AnyTensor in{&graph, graph.add_input({ElementType::float64, {2, 2}}, "x")};
  const AnyTensor y = record(graph, in);
  const AnyTensor loss =
      op::sum(op::mul(y, constant(graph, std::span(weights), y_shape)), none, {.keepdims = 0});
  const std::vector<TensorId> wanted{in.id};
  const auto gradients = differentiate(graph, loss.id, wanted);
  REQUIRE(gradients[0] != no_tensor);
  graph.add_output(gradients[0]);
  Session session(std::move(graph), {.threads = 1});
  Array<double> given({2, 2});
  for (std::size_t i = 0; i < 4; ++i) given[i] = x[i];
  const Result result = session.run({{"x", given}});
  const double* const dx = static_cast<const double*>(result[0].data);
  return {dx, dx + 4};
}

void check_numbers(const std::vector<double>& found, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < 4; ++i) CHECK(found[i] == doctest::Approx(expected[i]));
}

}  // namespace

TEST_CASE("gradients of norms of zeros are finite") {
  // dx = dy * x / norm, and 0 where the norm is 0, as PyTorch's vector_norm has it.
  check_numbers(
      weighted_gradient({0, 0, 3, 4}, {1, 2}, {2, 1},
                        [](Graph& graph, auto x) { return op::l2(x, constant(graph, Dims{1})); }),
      {0, 0, 1.2, 1.6});
  // The divisor of zeros is 1. Elsewhere dx = (w - y * sum(w * y)) / norm with y = 0.6, 0.8.
  check_numbers(weighted_gradient({0, 0, 3, 4}, {1, 2, 3, 1}, {2, 2},
                                  [](Graph&, auto x) { return op::LpNormalization{}.expand(x); }),
                {1, 2, (3 - 0.6 * 2.6) / 5, (1 - 0.8 * 2.6) / 5});
}

TEST_CASE("gradient of MeanVarianceNormalization of equal numbers is finite") {
  // y = (x - mean) / (deviation + 1e-9): dx = (w - mean of w) / 1e-9 where the deviation is 0. Of
  // two other numbers y is nearly -1 and 1, whatever they are.
  const std::vector<double> dx = weighted_gradient(
      {0.5, 0.5, 1, 3}, {1, 4, 2, 7}, {2, 2},
      [](Graph&, auto x) { return op::MeanVarianceNormalization{.axes = {1}}.expand(x); });
  CHECK(dx[0] == doctest::Approx(-1.5e9));
  CHECK(dx[1] == doctest::Approx(1.5e9));
  CHECK(std::fabs(dx[2]) < 1e-6);
  CHECK(std::fabs(dx[3]) < 1e-6);
}
