#include <halftone/op/softmax_cross_entropy_loss.hpp>

#include <halftone/base/error.hpp>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

using Nll = op::NegativeLogLikelihoodLoss;
using Labels = Array<std::int64_t>;

/// The definition in double; without weights all are 1.
std::vector<double> by_definition(const std::vector<double>& x, std::int64_t classes,
                                  std::int64_t inner, const std::vector<double>& labels,
                                  const std::vector<double>& weights, double ignored,
                                  Reduction reduction) {
  std::vector<double> each;
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const bool counts = labels[i] != ignored;
    const auto label = static_cast<std::int64_t>(labels[i]);
    const double w = !counts ? 0 : weights.empty() ? 1 : weights[static_cast<std::size_t>(label)];
    const std::int64_t place = (at / inner * classes + label) * inner + at % inner;
    each.push_back(counts ? -x[static_cast<std::size_t>(place)] * w : 0);
    sum += each.back();
    total += w;
  }
  if (reduction == Reduction::separate) return each;
  return {reduction == Reduction::sum ? sum : sum / total};
}

}  // namespace

TEST_CASE_TEMPLATE("negative log likelihood: the definition", T, float, double, half, bfloat16) {
  const Array<T> x = scattered<T>({2, 5, 3, 2}, -6, 0), weights = scattered<T>({5}, 0, 2, 9);
  const Labels labels({2, 3, 2}, {0, 4, 2, 2, 1, 3, 4, 4, 0, 1, 2, 3});
  for (const Reduction reduction : {Reduction::mean, Reduction::separate, Reduction::sum}) {
    const Dims shape = reduction == Reduction::separate ? Dims{2, 3, 2} : Dims{};
    for (const double ignored : {-1.0, 2.0}) {
      Nll nll{.reduction = reduction};
      if (ignored >= 0) nll.ignore_index = static_cast<std::int64_t>(ignored);
      const AnyArray plain = run(nll, {x, labels}), weighted = run(nll, {x, labels, weights});
      CHECK(plain.info().shape == shape);
      check_close<T>(plain,
                     by_definition(doubles(x), 5, 6, doubles(labels), {}, ignored, reduction));
      check_close<T>(weighted, by_definition(doubles(x), 5, 6, doubles(labels), doubles(weights),
                                             ignored, reduction));
    }
  }
}

TEST_CASE("negative log likelihood: many samples, int32 labels, an ignored label out of range") {
  const Array<float> x = scattered<float>({20000, 3}, -6, 0);
  Array<std::int32_t> labels({20000});
  for (std::size_t i = 0; i < 20000; ++i) {
    labels[i] = i % 7 == 0 ? -100 : static_cast<std::int32_t>(i % 3);
  }
  for (const Reduction reduction : {Reduction::mean, Reduction::separate, Reduction::sum}) {
    check_close<float>(run(Nll{.reduction = reduction, .ignore_index = -100}, {x, labels}),
                       by_definition(doubles(x), 3, 1, doubles(labels), {}, -100, reduction));
  }
}

TEST_CASE("negative log likelihood: nothing counts, labels that are not there, wrong shapes") {
  const Array<float> x({2, 3}, {-1, -2, -3, -4, -5, -6});
  const double nan = std::nan("");
  check_close<float>(run(Nll{.ignore_index = 1}, {x, Labels({2}, {1, 1})}), {nan});
  check_close<float>(run(Nll{}, {Array<float>({0, 3}), Labels({0})}), {nan});
  check_close<float>(run(Nll{.reduction = Reduction::sum}, {Array<float>({0, 3}), Labels({0})}),
                     {0});
  check_equal<float>(
      run(Nll{.reduction = Reduction::separate}, {Array<float>({2, 3, 0}), Labels({2, 0})}), {2, 0},
      {});
  CHECK_THROWS_AS(run(Nll{}, {x, Labels({2}, {0, 3})}), InputError);
  CHECK_THROWS_AS(run(Nll{.ignore_index = -2}, {x, Labels({2}, {0, -1})}), InputError);
  CHECK(reason(Nll{}, {Array<float>({3}), Labels({3})}) == "the input has no classes");
  CHECK(reason(Nll{}, {x, Labels({2, 1})}) ==
        "the labels do not have the input's dimensions without the classes");
  CHECK(reason(Nll{}, {x, Labels({3})}) == "an extent of the labels is not the input's");
  CHECK(reason(Nll{}, {x, Labels({2}), Array<float>({2})}) == "there is not one weight per class");
}

TEST_CASE_TEMPLATE("softmax cross entropy: the definition", T, float, half) {
  const Array<T> x = scattered<T>({3, 4, 2}, -6, 6), weights = scattered<T>({4}, 0, 2, 9);
  const Labels labels({3, 2}, {0, 3, 2, 2, 1, 3});
  const std::vector<double> scores = doubles(x);
  std::vector<double> log_prob(scores.size());
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t i = 0; i < 2; ++i) {
      double sum = 0;
      for (std::size_t c = 0; c < 4; ++c) sum += std::exp(scores[(n * 4 + c) * 2 + i]);
      for (std::size_t c = 0; c < 4; ++c) {
        const std::size_t at = (n * 4 + c) * 2 + i;
        log_prob[at] = scores[at] - std::log(sum);
      }
    }
  }
  for (const Reduction reduction : {Reduction::mean, Reduction::separate, Reduction::sum}) {
    const op::SoftmaxCrossEntropyLoss loss{.reduction = reduction, .ignore_index = 3};
    Graph graph;
    std::vector<TensorId> ids;
    for (const AnyArray& a : {AnyArray(x), AnyArray(labels), AnyArray(weights)}) {
      ids.push_back(graph.add_input(a.info(), {}));
    }
    const auto made =
        halftone::detail::expand_thunk<op::SoftmaxCrossEntropyLoss>(graph, pack(loss), ids, 2);
    const auto values = run_graph<op::LogSoftmax, Nll>(graph, {x, labels, weights});
    REQUIRE(made.size() == 2);
    check_close<T>(values[static_cast<std::size_t>(made[1])], log_prob, 16, 1e-6);
    check_close<T>(values[static_cast<std::size_t>(made[0])],
                   by_definition(log_prob, 4, 2, doubles(labels), doubles(weights), 3, reduction),
                   16, 1e-6);
  }
}
