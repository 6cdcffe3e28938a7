#include <halftone/op/graphcore_collectives.hpp>
#include <halftone/op/graphcore_loss.hpp>
#include <halftone/op/graphcore_normalization.hpp>

#include <halftone/base/error.hpp>
#include <halftone/session/session.hpp>

#include <cmath>

#include "run_op.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("group normalization: the formula in double", T, float, double, half) {
  for (const Dims& shape : {Dims{2, 6, 3, 5}, Dims{3, 6}, Dims{1, 6, 40}, Dims{2, 6, 1}}) {
    for (const std::int64_t groups : {1, 2, 3, 6}) {
      const Array<T> x = scattered<T>(shape, -2, 3), scale = scattered<T>({6}, 0.5, 2, 2),
                     bias = scattered<T>({6}, -1, 1, 3);
      const auto y = run_all(op::GroupNormalization{.num_groups = groups, .epsilon = 0.25f},
                             {x, scale, bias}, 3);
      const std::vector<double> v = doubles(x), a = doubles(scale), b = doubles(bias);
      const std::size_t inner = v.size() / static_cast<std::size_t>(shape[0]) / 6;
      const std::size_t run = v.size() / static_cast<std::size_t>(shape[0] * groups);
      std::vector<double> expected, means, deviations;
      for (std::size_t first = 0; first < v.size(); first += run) {
        double mean = 0, variance = 0;
        for (std::size_t i = 0; i < run; ++i) mean += v[first + i] / static_cast<double>(run);
        for (std::size_t i = 0; i < run; ++i) {
          variance += std::pow(v[first + i] - mean, 2) / static_cast<double>(run);
        }
        means.push_back(mean);
        deviations.push_back(1 / std::sqrt(variance + 0.25));
        for (std::size_t i = first; i < first + run; ++i) {
          const std::size_t c = i / inner % 6;
          expected.push_back((v[i] - mean) * deviations.back() * a[c] + b[c]);
        }
      }
      const double near = 16 * rounding<halftone::detail::Compute<T>>();
      CHECK(y[0].info().shape == shape);
      CHECK(y[1].info().shape == Dims{shape[0] * groups});
      check_close<T>(y[0], expected, 8, near);
      check_close<T>(y[1], means, 4, near);
      check_close<T>(y[2], deviations, 4, near);
    }
  }
}

TEST_CASE("group normalization: empty and wrong ones") {
  const Array<float> two({2}, {1, 1});
  const auto why = [&](std::int64_t groups, const Array<float>& x, const Array<float>& scale) {
    return reason(op::GroupNormalization{.num_groups = groups}, {x, scale, two});
  };
  CHECK(why(1, Array<float>({3}), two) == "the input has no channels");
  CHECK(why(0, Array<float>({3, 2}), two) == "num_groups is less than 1");
  CHECK(why(required, Array<float>({3, 2}), two) == "an attribute is missing");
  CHECK(why(1, Array<float>({3, 2}), Array<float>({3})) ==
        "a parameter has not one element per channel");
  CHECK(why(1, Array<float>({3, 2}), Array<float>({1, 2})) == "a parameter is not a vector");
  CHECK(why(3, Array<float>({3, 2}), two) == "the groups do not divide the channels evenly");
  const auto empty =
      run_all(op::GroupNormalization{.num_groups = 2}, {Array<float>({0, 2, 4}), two, two}, 3);
  CHECK(empty[1].info().shape == Dims{0});
  const auto nothing =
      run_all(op::GroupNormalization{.num_groups = 2}, {Array<float>({1, 2, 0}), two, two}, 3);
  CHECK(std::isnan(doubles(nothing[1])[0]));
}

TEST_CASE("graphcore batch normalization: unbiased variances") {
  const Array<float> x({3, 1, 1}, {1, 2, 6}), one({1}, {1}), zero({1}, {0}), old({1}, {8});
  const op::GraphcoreBatchNormalization op{.epsilon = 0.5f, .momentum = 0.75f};
  Graph graph;
  std::vector<TensorId> ids;
  for (const auto& t : {x, one, zero, zero, old}) ids.push_back(graph.add_input(t.info(), {}));
  const auto out =
      halftone::detail::expand_thunk<op::GraphcoreBatchNormalization>(graph, pack(op), ids, 5);
  const auto values = run_graph<op::BatchNormalization, op::Add, op::Sub, op::Mul>(
      graph, {x, one, zero, zero, old});
  const auto at = [&](std::size_t i) { return doubles(values[static_cast<std::size_t>(out[i])]); };
  // The mean is 3, the biased variance (4 + 1 + 9) / 3.
  const double biased = 14.0 / 3, unbiased = (biased + 0.5) * 3 / 2 - 0.5;
  CHECK(at(0)[2] == doctest::Approx(3 / std::sqrt(biased + 0.5)));
  CHECK(at(1)[0] == doctest::Approx(0.25 * 3));
  CHECK(at(2)[0] == doctest::Approx(0.75 * 8 + 0.25 * unbiased));
  CHECK(at(3)[0] == doctest::Approx(3));
  CHECK(at(4)[0] == doctest::Approx(unbiased));
  check_close<float>(run_expanded<op::BatchNormalization>(op, {x, one, zero, one, old}),
                     {0, 1 / std::sqrt(8.5), 5 / std::sqrt(8.5)});
}

TEST_CASE_TEMPLATE("negative log likelihood: the formula", T, float, double, half) {
  const Array<T> p = array<T>({2, 2, 2}, {0.25, 0.75, 0.5, 0.5, 0, 1, 0.875, 0.125});
  const Array<std::int32_t> label({2, 2}, {0, 1, 0, 7});
  const double least = std::is_same_v<T, half> ? 6.104e-5 : 1e-7;
  const double a = std::log(4), b = std::log(2), c = -std::log(least);
  using R = LossReduction;
  check_close<T>(run(op::Nll{.reduction = R::no_reduction}, {p, label}), {a, b, c, c});
  check_close<T>(run(op::Nll{.reduction = R::sum}, {p, label}), {a + b + 2 * c});
  check_close<T>(run(op::Nll{}, {p, label}), {(a + b + 2 * c) / 4});
  check_close<T>(run(op::Nll{.ignore_index = 7}, {p, label}), {(a + b + c) / 3});
  check_close<T>(run(op::Nll{.reduction = R::sum, .ignore_index = 0}, {p, label}), {b + c});
  check_close<T>(run(op::Nll{.reduction = R::no_reduction, .ignore_index = 0}, {p, label}),
                 {0, b, 0, c});
  check_close<T>(
      run(op::Nll{.reduction = R::no_reduction, .input_is_log_probability = 1}, {p, label}),
      {-0.25, -0.5, 0, 0});
  const Array<std::int64_t> all({2, 2}, {3, 3, 3, 3});
  check_close<T>(run(op::Nll{.ignore_index = 3}, {p, all}), {0});
  CHECK(reason(op::Nll{}, {p, Array<std::int32_t>({2})}) ==
        "the labels have not one dimension less than the probabilities");
  CHECK(reason(op::Nll{}, {p, Array<std::int32_t>({2, 3})}) ==
        "the labels have another shape than the probabilities");
  CHECK(reason(op::Nll{}, {p, Array<float>({2, 2})}) == "element type is not offered");
}

TEST_CASE_TEMPLATE("l1, identity loss: sums and means", T, float, half) {
  using R = LossReduction;
  const Array<T> x = array<T>({2, 2}, {1, -2, 3, -6});
  const auto l1 = [&](R reduction) {
    return run_expanded<op::Abs, op::Mul, op::Cast, op::ReduceMean, op::ReduceSum>(
        op::L1{.lambda = 0.5f, .reduction = reduction}, {x});
  };
  check_equal<T>(l1(R::no_reduction), {2, 2}, {0.5, 1, 1.5, 3});
  check_equal<T>(l1(R::sum), {}, {6});
  check_equal<T>(l1(R::mean), {}, {1.5});
  const auto loss = [&](R reduction) {
    return run_expanded<op::Identity, op::ReduceMean, op::ReduceSum>(
        op::IdentityLoss{.reduction = reduction}, {x});
  };
  check_equal<T>(loss(R::no_reduction), {2, 2}, {1, -2, 3, -6});
  check_equal<T>(loss(R::sum), {}, {-4});
  check_equal<T>(loss(R::mean), {}, {-1});
  CHECK_THROWS_AS(run_expanded<op::Abs>(op::L1{}, {Array<T>(Dims{})}), ModelError);
}

TEST_CASE("collective operators on one replica") {
  using C = CollectiveOperator;
  const Array<float> x({2, 2}, {1, 2, 3, 4});
  const auto with = [](C f) { return op::Collective{.collective_operator = f}; };
  const auto run = [&](const auto& op) {
    Graph g;
    const TensorId id = g.add_input(x.info(), "x");
    g.add_output(halftone::detail::record(g, op, {id}, 1)[0]);
    Session session(std::move(g));
    return AnyArray::copy_of(session.run({{"x", x}})[0]);
  };
  for (const C f : {C::add, C::mean, C::max, C::local}) {
    check_equal<float>(run(op::ReplicatedAllReduce{.collective = with(f)}), {2, 2}, {1, 2, 3, 4});
  }
  check_equal<float>(run(op::ReplicatedAllReduce{.collective = with(C::square_add)}), {2, 2},
                     {1, 4, 9, 16});
  check_equal<float>(run(op::ReplicatedReduceScatter{}), {4}, {1, 2, 3, 4});
  check_equal<float>(run(op::ReplicatedAllGather{}), {4}, {1, 2, 3, 4});
  CHECK_THROWS_AS(run(op::ReplicatedAllReduce{.collective = with(static_cast<C>(9))}), ModelError);
}
