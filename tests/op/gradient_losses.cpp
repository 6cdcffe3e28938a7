#include "gradient_check.hpp"

#include <halftone/exec/engine.hpp>

#include <algorithm>
#include <limits>
#include <optional>

using namespace gradient_test;

namespace {

Optional<std::int64_t> optional(std::int64_t value) {
  Optional<std::int64_t> result;
  result = value;
  return result;
}

int count(const Graph& graph, std::string_view name) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                        [&](const Node& n) { return n.op->id.name == name; }));
}

/// The gradient by x, with the loss's and the softmax's gradient in one operator unless something
/// else arrives at the probabilities, too: zero.
template <class T>
std::vector<T> by_scores(const Array<T>& x, bool is_fused, auto&& loss_of) {
  Graph graph;
  const AnyTensor in{&graph, graph.add_input(x.info(), "x")};
  auto [y, loss] = loss_of(graph, in);
  if (loss.info().rank() != 0) loss = op::sum(loss, none, {.keepdims = 0});
  if (!is_fused) loss = loss + op::sum(y, none, {.keepdims = 0}) * 0;
  graph.outputs = {differentiate(graph, loss.id, std::span(&in.id, 1))[0]};
  CHECK(count(graph, "SoftmaxNllGradient") == (is_fused ? 1 : 0));
  // One operator instead of the loss's gradient and of what the softmax's is made of.
  const int others = count(graph, "NllGradient") +
                     count(graph, "NegativeLogLikelihoodLossGradient") + count(graph, "Sub");
  CHECK(others == (is_fused ? 0 : 2));
  Session session(std::move(graph));
  const auto result = session.run({{"x", x}});
  const auto values = result[0].template values<T>();
  return {values.begin(), values.end()};
}

/// What may stand behind scores [batch, classes]: softmax and Nll, of logarithms or not, and ONNX's
/// losses.
enum class Behind { probabilities, logarithms, onnx, weighted };

std::pair<AnyTensor, AnyTensor> losses(AnyTensor x, Behind behind, LossReduction reduction,
                                       const std::vector<std::int64_t>& labels,
                                       std::int64_t ignored) {
  Graph& graph = *x.graph;
  const bool is_log = behind != Behind::probabilities;
  const std::int64_t classes = x.info().shape[1], batch = x.info().shape[0];
  const AnyTensor label = constant<std::int64_t>(graph, labels, {batch});
  const AnyTensor y = is_log ? AnyTensor(op::log_softmax(x, {.axis = 1})) : op::softmax(x);
  if (behind == Behind::probabilities || behind == Behind::logarithms) {
    return {y, op::nll_loss(y, label,
                            {.reduction = reduction,
                             .ignore_index = optional(ignored),
                             .input_is_log_probability = is_log})};
  }
  AnyTensor weight;
  if (behind == Behind::weighted) {
    std::vector<double> w;
    for (std::int64_t k = 0; k < classes; ++k) w.push_back(0.5 + 0.25 * static_cast<double>(k % 4));
    weight = constant<double>(graph, w, {classes});
    if (x.info().type != ElementType::float64) weight = op::cast(weight, {.to = x.info().type});
  }
  const Reduction as_onnx = reduction == LossReduction::mean  ? Reduction::mean
                            : reduction == LossReduction::sum ? Reduction::sum
                                                              : Reduction::separate;
  return {y, op::negative_log_likelihood_loss(
                 y, label, weight, {.reduction = as_onnx, .ignore_index = optional(ignored)})};
}

constexpr Behind all_behind[] = {Behind::probabilities, Behind::logarithms, Behind::onnx,
                                 Behind::weighted};

/// Every form of loss behind softmax; f(loss_of) gets what `by_scores` takes.
void each_loss(const std::vector<std::int64_t>& labels, std::int64_t ignored, auto&& f) {
  for (const Behind behind : all_behind) {
    for (const auto reduction :
         {LossReduction::mean, LossReduction::sum, LossReduction::no_reduction}) {
      CAPTURE(static_cast<int>(behind));
      CAPTURE(static_cast<int>(reduction));
      f([&](Graph&, AnyTensor x) { return losses(x, behind, reduction, labels, ignored); });
    }
  }
}

template <class T>
Array<T> rounded(const Array<double>& x) {
  Array<T> y(x.info().shape);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = static_cast<T>(x[i]);
  return y;
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

TEST_CASE("gradients of losses by the weights of classes") {
  for (const auto reduction : {Reduction::mean, Reduction::separate, Reduction::sum}) {
    for (const std::int64_t ignored : {1, -100}) {
      const op::NegativeLogLikelihoodLoss loss{.reduction = reduction,
                                               .ignore_index = optional(ignored)};
      const op::SoftmaxCrossEntropyLoss of_scores{.reduction = reduction,
                                                  .ignore_index = optional(ignored)};
      const AnyArray weights = scattered({4}, 0.5, 2, 7);
      const AnyArray labels = integers({0, ignored, 2, 3, ignored, 0});
      check_gradients({scattered({6, 4}), labels, weights}, [&](Graph&, auto& in) {
        return op::negative_log_likelihood_loss(in[0], in[1], in[2], loss);
      });
      check_gradients({scattered({6, 4}), labels, weights}, [&](Graph& graph, auto& in) {
        return of_scores.expand(graph, std::vector<AnyTensor>{in[0], in[1], in[2]}, 1);
      });
      check_gradients({scattered({2, 4, 3}), labels, weights}, [&](Graph& graph, auto& in) {
        const AnyTensor rows = op::reshape(in[1], constant(graph, Dims{2, 3}));
        return op::negative_log_likelihood_loss(in[0], rows, in[2], loss);
      });
    }
  }
}

TEST_CASE("the gradient by the weights of classes passes by infinite logarithms") {
  // The loss is 0.5 * w[0], whatever the probability of the other class is.
  Graph graph;
  const std::vector<double> log_prob{-0.5, -std::numeric_limits<double>::infinity()};
  const std::int64_t label = 0;
  const AnyTensor weights{&graph, graph.add_input({ElementType::float64, {2}}, "w")};
  const AnyTensor loss = op::negative_log_likelihood_loss(
      AnyTensor(constant(graph, std::span<const double>(log_prob), {1, 2})),
      AnyTensor(constant<std::int64_t>(graph, std::span(&label, 1), {1})), weights,
      {.reduction = Reduction::sum});
  const std::vector<TensorId> wanted{weights.id};
  const auto gradients = differentiate(graph, loss.id, wanted);
  REQUIRE(gradients[0] != no_tensor);
  graph.add_output(gradients[0]);
  Session session(std::move(graph), {.threads = 1});
  Array<double> w({2});
  w[0] = 3, w[1] = 4;
  const Result result = session.run({{"w", w}});
  const double* const dw = static_cast<const double*>(result[0].data);
  CHECK(dw[0] == 0.5);
  CHECK(dw[1] == 0);
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

TEST_CASE("gradient of softmax with a loss: central differences") {
  for (const std::int64_t ignored : {1, -100}) {
    each_loss({0, ignored, 2, 3, 1, 2}, ignored, [](auto&& loss_of) {
      check_gradients({scattered({6, 4}, -2, 2)}, [&](Graph& graph, auto& in) {
        return AnyTensor(loss_of(graph, in[0]).second);
      });
    });
  }
  // Classes in the last of three dimensions, in the middle one, and where no loss has them.
  check_gradients({scattered({2, 3, 4}, -2, 2)}, [&](Graph& graph, auto& in) {
    const std::int64_t labels[] = {0, 1, 2, 3, 1, 2};
    return op::nll_loss(op::softmax(in[0], {.axis = 2}),
                        constant<std::int64_t>(graph, labels, {2, 3}));
  });
  check_gradients({scattered({2, 4, 3}, -2, 2)}, [&](Graph& graph, auto& in) {
    const std::int64_t labels[] = {0, 1, 2, 3, 1, 2};
    return op::negative_log_likelihood_loss(op::log_softmax(in[0], {.axis = -2}),
                                            constant<std::int64_t>(graph, labels, {2, 3}));
  });
  check_gradients({scattered({3, 4}, -2, 2)}, [&](Graph& graph, auto& in) {
    const std::int64_t labels[] = {0, 3, 2};
    return op::nll_loss(op::softmax(in[0], {.axis = 0}),
                        constant<std::int64_t>(graph, labels, {3}));
  });
  check_gradients({scattered({3, 4}, -2, 2)}, [&](Graph& graph, auto& in) {
    const std::int64_t labels[] = {0, 3, 2};
    return op::negative_log_likelihood_loss(op::log_softmax(in[0], {.axis = 0}),
                                            constant<std::int64_t>(graph, labels, {3}));
  });
}

TEST_CASE_TEMPLATE("gradient of softmax with a loss: one operator, the same numbers", T, double,
                   float, half) {
  // Separate operators round the quotient, two products and a sum of about the factor, which is
  // less than 2; in half that of the logarithm, up to 8 here, dominates.
  const double eps = std::is_same_v<T, half>    ? 0x1p-11
                     : std::is_same_v<T, float> ? 0x1p-24
                                                : 0x1p-53;
  for (const std::int64_t classes : {4, 37}) {
    const Array<T> x = rounded<T>(scattered({6, classes}, -2, 2));
    for (const std::int64_t ignored : {1, -100}) {
      each_loss({0, ignored, 2, 3, 1, 2}, ignored, [&](auto&& loss_of) {
        const std::vector<T> fused = by_scores(x, true, loss_of);
        const std::vector<T> separate = by_scores(x, false, loss_of);
        REQUIRE(fused.size() == separate.size());
        for (std::size_t i = 0; i < fused.size(); ++i) {
          const double difference =
              static_cast<double>(fused[i]) - static_cast<double>(separate[i]);
          CHECK(std::fabs(difference) <= 8 * eps);
        }
      });
    }
  }
}

TEST_CASE("gradient of softmax with a loss: probabilities that others read") {
  const std::int64_t labels[] = {2, 0};
  const Array<double> x = scattered({2, 3}, -1, 1);
  // As an output they change nothing. Their own gradient is there if it is asked for.
  Graph graph;
  const AnyTensor in{&graph, graph.add_input(x.info(), "x")};
  const AnyTensor y = op::softmax(in);
  const AnyTensor loss = op::nll_loss(y, constant<std::int64_t>(graph, labels, {2}));
  const TensorId wanted[] = {in.id, y.id};
  const std::vector<TensorId> found = differentiate(graph, loss.id, wanted);
  CHECK(count(graph, "SoftmaxNllGradient") == 1);
  CHECK(count(graph, "NllGradient") == 1);
  graph.outputs = {found[0], found[1], y.id};
  Session session(std::move(graph));
  const auto result = session.run({{"x", x}});
  const auto dx = result[0].values<double>(), dp = result[1].values<double>(),
             p = result[2].values<double>();
  for (std::size_t i = 0; i < 6; ++i) {
    const bool is_label = i % 3 == static_cast<std::size_t>(labels[i / 3]);
    CHECK(dx[i] == doctest::Approx((p[i] - (is_label ? 1 : 0)) / 2));
    CHECK(dp[i] == doctest::Approx(is_label ? -1 / p[i] / 2 : 0));
  }
  // What they get from elsewhere counts, too.
  check_gradients({x}, [&](Graph& g, auto& inputs) {
    const AnyTensor q = op::softmax(inputs[0]);
    return std::vector<AnyTensor>{op::nll_loss(q, constant<std::int64_t>(g, labels, {2})), q * q};
  });
  check_gradients({x}, [&](Graph& g, auto& inputs) {
    const AnyTensor q = op::softmax(inputs[0]), label = constant<std::int64_t>(g, labels, {2});
    return std::vector<AnyTensor>{op::nll_loss(q, label),
                                  op::nll_loss(q, label, {.reduction = LossReduction::sum})};
  });
  // One softmax behind another: the loss is of the second one's probabilities alone.
  check_gradients({x}, [&](Graph& g, auto& inputs) {
    return op::nll_loss(op::softmax(op::softmax(inputs[0])),
                        constant<std::int64_t>(g, labels, {2}));
  });
}

TEST_CASE("gradient of softmax with a loss: no kernel of the plan computes it in parts") {
  Graph graph;
  const AnyTensor x = graph.input<float>("x", {64, 10});
  const AnyTensor label = graph.input<std::int32_t>("label", {64});
  const AnyTensor loss = op::nll_loss(op::softmax(x), label);
  graph.outputs = {loss.id, differentiate(graph, loss.id, std::span(&x.id, 1))[0]};
  Engine engine(std::move(graph));
  const Array<float> scores({64, 10});
  const Array<std::int32_t> labels({64});
  const AnyView given[] = {scores, labels};
  engine.run(given);
  std::vector<std::string> kernels;
  for (const NodeTime& time : engine.times()) kernels.emplace_back(time.op);
  CHECK(kernels == std::vector<std::string>{"Softmax", "Nll", "SoftmaxNllGradient"});
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
