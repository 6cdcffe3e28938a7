#include <halftone/op/batch_normalization.hpp>

#include <cmath>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

struct Statistics {
  std::vector<double> mean, var;
};

/// Of all but the channel dimension, in double; the variance is biased.
Statistics statistics(const AnyArray& x, std::size_t channels) {
  const std::vector<double> v = doubles(x);
  const std::size_t inner = v.size() / static_cast<std::size_t>(x.info().shape[0]) / channels;
  Statistics s{std::vector<double>(channels), std::vector<double>(channels)};
  const double n = static_cast<double>(v.size() / channels);
  const auto each = [&](auto f) {
    for (std::size_t i = 0; i < v.size(); ++i) f(i / inner % channels, v[i]);
  };
  each([&](std::size_t c, double value) { s.mean[c] += value / n; });
  each([&](std::size_t c, double value) {
    s.var[c] += (value - s.mean[c]) * (value - s.mean[c]) / n;
  });
  return s;
}

std::vector<double> normalized(const AnyArray& x, const Statistics& s, const AnyArray& scale,
                               const AnyArray& bias, double epsilon) {
  std::vector<double> y = doubles(x);
  const std::vector<double> a = doubles(scale), b = doubles(bias);
  const std::size_t inner = y.size() / static_cast<std::size_t>(x.info().shape[0]) / a.size();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t c = i / inner % a.size();
    y[i] = (y[i] - s.mean[c]) / std::sqrt(s.var[c] + epsilon) * a[c] + b[c];
  }
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("batch normalization: the formula with given statistics", T, float, double, half,
                   bfloat16) {
  const Dims shapes[] = {{2, 3, 4, 5}, {3, 19}, {2, 5, 33}, {1, 1, 1, 1, 1}, {2, 40, 1, 1}};
  for (const Dims& shape : shapes) {
    const Array<T> x = scattered<T>(shape, -2, 3);
    const Array<T> scale = scattered<T>({shape[1]}, 0.5, 2, 2),
                   bias = scattered<T>({shape[1]}, -1, 1, 3),
                   mean = scattered<T>({shape[1]}, -1, 1, 4),
                   var = scattered<T>({shape[1]}, 0.2, 2, 5);
    const AnyArray y = run(op::BatchNormalization{.epsilon = 0.25f}, {x, scale, bias, mean, var});
    CHECK(y.info().shape == shape);
    check_close<T>(y, normalized(x, {doubles(mean), doubles(var)}, scale, bias, 0.25), 4,
                   8 * rounding<halftone::detail::Compute<T>>());
  }
}

TEST_CASE_TEMPLATE("batch normalization: statistics in training mode", T, float, double, half,
                   bfloat16) {
  for (const Dims& shape : {Dims{4, 3, 5, 7}, Dims{30, 17, 1}, Dims{2, 5, 600}}) {
    const Array<T> x = scattered<T>(shape, -2, 3);
    const Array<T> scale = scattered<T>({shape[1]}, 0.5, 2, 2),
                   bias = scattered<T>({shape[1]}, -1, 1, 3);
    const Array<T> mean = scattered<T>({shape[1]}, -1, 1, 4),
                   var = scattered<T>({shape[1]}, 0.2, 2, 5);
    const Statistics s = statistics(x, static_cast<std::size_t>(shape[1]));
    const auto y = run_all(op::BatchNormalization{.momentum = 0.75f, .training_mode = 1},
                           {x, scale, bias, mean, var}, 5);
    const double small = 16 * rounding<halftone::detail::Compute<T>>();
    check_close<T>(y[0], normalized(x, s, scale, bias, 1e-5f), 8, small);
    std::vector<double> running_mean = doubles(mean), running_var = doubles(var);
    for (double& v : running_mean)
      v = v * 0.75 + s.mean[static_cast<std::size_t>(&v - running_mean.data())] * 0.25;
    for (double& v : running_var)
      v = v * 0.75 + s.var[static_cast<std::size_t>(&v - running_var.data())] * 0.25;
    check_close<T>(y[1], running_mean, 8, small);
    check_close<T>(y[2], running_var, 8, small);
    check_close<T>(y[3], s.mean, 8, small);
    check_close<T>(y[4], s.var, 8, small);
  }
}

TEST_CASE("batch normalization: a large mean does not cost the variance its digits") {
  Array<float> x({1, 1, 1 << 18});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1000 + (i % 2 == 0 ? 0.5f : -0.5f);
  const Array<float> one({1}, {1}), zero({1}, {0});
  const auto y = run_all(op::BatchNormalization{.training_mode = 1}, {x, one, zero, zero, one}, 5);
  check_close<float>(y[3], {1000});
  check_close<float>(y[4], {0.25});
}

TEST_CASE("batch normalization: parameters of other types than x") {
  const Array<half> x = array<half>({1, 2, 1}, {3, 5});
  const Array<float> scale({2}, {2, 1}), bias({2}, {0.5f, -1});
  const Array<double> mean({2}, {1, 2}), var({2}, {4, 9});
  check_close<half>(run(op::BatchNormalization{.epsilon = 0}, {x, scale, bias, mean, var}),
                    {2.5, 0});
  // One dimension is one channel.
  check_close<float>(run(op::BatchNormalization{.epsilon = 0},
                         {Array<float>({2}, {3, 5}), Array<float>({1}, {2}), Array<float>({1}, {1}),
                          Array<float>({1}, {1}), Array<float>({1}, {4})}),
                     {3, 5});
}

TEST_CASE("batch normalization: before opset 14") {
  const Array<float> x = scattered<float>({4, 2, 3}, -1, 1), scale({2}, {1, 2}), bias({2}, {0, 1}),
                     mean({2}, {0.5f, 0}), var({2}, {1, 4});
  const std::vector<double> expected = normalized(x, {{0.5, 0}, {1, 4}}, scale, bias, 1e-5f);
  check_close<float>(
      run_expanded<op::BatchNormalization>(op::BatchNormalization_7{}, {x, scale, bias, mean, var}),
      expected, 4, 1e-6);
  check_close<float>(run_expanded<op::BatchNormalization>(op::BatchNormalization_1{.is_test = 1},
                                                          {x, scale, bias, mean, var}),
                     expected, 4, 1e-6);
  // Every feature for itself.
  const Array<float> features = scattered<float>({2, 3}, 0.5, 1);
  const AnyArray y = run_expanded<op::BatchNormalization, op::Reshape, op::Shape>(
      op::BatchNormalization_7{.epsilon = 0, .spatial = 0},
      {x, features, features, features, features});
  CHECK(y.info().shape == Dims{4, 2, 3});
  std::vector<double> each = doubles(x);
  for (std::size_t i = 0; i < each.size(); ++i) {
    const double p = features[i % 6];
    each[i] = (each[i] - p) / std::sqrt(p) * p + p;
  }
  check_close<float>(y, each, 4, 1e-6);
}

TEST_CASE("batch normalization: training before opset 14 is a matter of outputs") {
  Graph graph;
  std::vector<TensorId> ids{graph.add_input({ElementType::float32, {4, 2, 3}}, {})};
  for (int i = 0; i < 4; ++i) ids.push_back(graph.add_input({ElementType::float32, {2}}, {}));
  const op::BatchNormalization_7 old;
  const auto out =
      halftone::detail::expand_thunk<op::BatchNormalization_7>(graph, pack(old), ids, 5);
  CHECK(out.size() == 5);
  CHECK(unpack<op::BatchNormalization>(graph.nodes[0].attributes).training_mode == 1);
}

// The formula, summed up in double.
TEST_CASE_TEMPLATE("gradient of batch normalization in training: the formula", T, float, double) {
  // Vectors along a channel's elements, some of them more than are summed up as floats, and across
  // channels.
  for (const Dims& shape : {Dims{2, 3, 4, 5}, Dims{3, 3, 67, 130}, Dims{3, 19}, Dims{700, 21},
                            Dims{2, 40, 1, 1}, Dims{9}}) {
    const std::int64_t channels = shape.size() == 1 ? 1 : shape[1];
    const Array<T> x = scattered<T>(shape, -2, 3), dy = scattered<T>(shape, -1, 2, 7);
    const Array<T> scale = scattered<T>({channels}, 0.5, 2, 2);
    const op::BatchNormalizationGradient op{.epsilon = 0.25f};
    const std::vector<AnyArray> found = run_all(op, {x, scale, dy}, 3);

    const auto count = static_cast<std::size_t>(channels);
    const Statistics s = statistics(x, count);
    const Array<T> ones = scattered<T>({channels}, 1, 1), zeros = scattered<T>({channels}, 0, 0);
    const std::vector<double> z = normalized(x, s, ones, zeros, 0.25), d = doubles(dy);
    const std::size_t inner = z.size() / static_cast<std::size_t>(shape[0]) / count;
    std::vector<double> dx(z.size()), dscale(count), dbias(count);
    for (std::size_t i = 0; i < z.size(); ++i) {
      dscale[i / inner % count] += d[i] * z[i];
      dbias[i / inner % count] += d[i];
    }
    const double n = static_cast<double>(z.size()) / static_cast<double>(channels);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const std::size_t c = i / inner % count;
      const double factor = static_cast<double>(scale[c]) / std::sqrt(s.var[c] + 0.25);
      dx[i] = factor * (d[i] - dbias[c] / n - z[i] * dscale[c] / n);
    }
    // Means of sums in chains of 256; the formula's own are chains of n.
    const double chain = std::is_same_v<T, double> ? n : 256;
    check_close<T>(found[0], dx, 8, (chain + 32) * rounding<T>());
    // Their terms are below 8.
    check_close<T>(found[1], dscale, 16, 8 * n * (chain + 32) * rounding<T>());
    check_close<T>(found[2], dbias, 16, 8 * n * (chain + 32) * rounding<T>());
  }
  const std::vector<AnyArray> nothing =
      run_all(op::BatchNormalizationGradient{},
              {Array<T>({0, 3, 4}), Array<T>({3}), Array<T>({0, 3, 4})}, 3);
  check_equal<T>(nothing[1], {3}, {0, 0, 0});
  check_equal<T>(nothing[2], {3}, {0, 0, 0});
}

TEST_CASE("batch normalization: what does not fit has a reason") {
  const Array<float> x({2, 3, 4}), c({3}), wrong({4}), matrix({3, 1});
  const op::BatchNormalization op;
  CHECK(reason(op, {x, c, c, c, wrong}) == "a parameter has not one element per channel");
  CHECK(reason(op, {x, matrix, c, c, c}) == "a parameter is not a vector");
  CHECK(reason(op, {Array<float>({}, {1}), c, c, c, c}) == "the input has no channels");
  CHECK(reason(op, {x, c, c, c, c}, 3) == "statistics are outputs in training mode only");
  CHECK(reason(op, {x, c, c, c, Array<double>({3})}) == "element types of the inputs differ");
  check_equal<float>(run(op, {Array<float>({0, 3, 4}), c, c, c, c}), {0, 3, 4}, {});
}
