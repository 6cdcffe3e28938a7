#include "gradient_check.hpp"

#include <optional>

using namespace gradient_test;

namespace {

Optional<std::int64_t> optional(std::int64_t value) {
  Optional<std::int64_t> result;
  result = value;
  return result;
}

}  // namespace

// Labels that are ignored: in range, and out of it.
TEST_CASE("gradient of losses with ignored labels") {
  for (const bool is_log : {false, true}) {
    for (const auto reduction :
         {LossReduction::mean, LossReduction::sum, LossReduction::no_reduction}) {
      for (const std::int64_t ignored : {1, -100, 7}) {
        CAPTURE(ignored);
        const AnyArray labels = integers({0, ignored, 2, 3, ignored, 1});
        check_gradients({scattered({6, 4}, 0.1, 0.9), labels}, [&](Graph&, auto& in) {
          return op::nll_loss(in[0], in[1],
                              {.reduction = reduction,
                               .ignore_index = optional(ignored),
                               .input_is_log_probability = is_log});
        });
      }
    }
  }
  for (const auto reduction : {Reduction::mean, Reduction::separate, Reduction::sum}) {
    for (const std::int64_t ignored : {1, -100, 7}) {
      const AnyArray labels = integers({0, ignored, 2, 3, ignored, 1});
      Array<double> weights({4}, {0.5, 2, 1, 0.25});
      for (const bool is_weighted : {false, true}) {
        check_gradients({scattered({6, 4}), labels}, [&](Graph& graph, auto& in) {
          const op::NegativeLogLikelihoodLoss loss{.reduction = reduction,
                                                   .ignore_index = optional(ignored)};
          const std::span<const double> numbers(&weights[0], 4);
          return is_weighted ? op::negative_log_likelihood_loss(in[0], in[1],
                                                                constant(graph, numbers, {4}), loss)
                             : op::negative_log_likelihood_loss(in[0], in[1], none, loss);
        });
        check_gradients({scattered({6, 4}), labels}, [&](Graph& graph, auto& in) {
          const op::SoftmaxCrossEntropyLoss loss{.reduction = reduction,
                                                 .ignore_index = optional(ignored)};
          std::vector<AnyTensor> inputs{in[0], in[1]};
          if (is_weighted) {
            inputs.push_back(constant(graph, std::span<const double>(&weights[0], 4), {4}));
          }
          return loss.expand(graph, inputs, 1);
        });
      }
    }
  }
}

TEST_CASE("gradient of a loss all of whose labels are ignored is zero") {
  Graph graph;
  const AnyTensor p = graph.input<float>("p", {2, 3});
  const std::int64_t labels[] = {-1, -1};
  const AnyTensor loss =
      op::nll_loss(op::softmax(p, {.axis = -1}), constant<std::int64_t>(graph, labels, {2}),
                   {.ignore_index = optional(-1)});
  graph.outputs = {loss.id, differentiate(graph, loss.id, std::span(&p.id, 1))[0]};
  Session session(std::move(graph));
  const auto result = session.run({{"p", Array<float>({2, 3}, {1, 2, 3, 4, 5, 6})}});
  CHECK(result[0].values<float>()[0] == 0);
  for (const float dx : result[1].values<float>()) CHECK(dx == 0);
}

TEST_CASE("gradient of Gather: indices out of range are an error of the run") {
  // The sum of what is gathered is linear: its gradient needs nothing of Gather's own.
  for (const std::int64_t index : {3, -4, 1 << 20}) {
    Graph graph;
    const AnyTensor x = graph.input<float>("x", {3, 2});
    const AnyTensor i = graph.input<std::int64_t>("i", {2});
    const AnyTensor loss = op::sum(op::gather(x, i), none, {.keepdims = 0});
    graph.outputs = {differentiate(graph, loss.id, std::span(&x.id, 1))[0]};
    Session session(std::move(graph));
    const Array<float> values({3, 2});
    CHECK_THROWS_AS(session.run({{"x", values}, {"i", Array<std::int64_t>({2}, {0, index})}}),
                    InputError);
    const auto dx = session.run({{"x", values}, {"i", Array<std::int64_t>({2}, {0, -3})}});
    CHECK(dx[0].values<float>()[0] == 2);
  }
}
