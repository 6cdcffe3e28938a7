#include "ml_model.hpp"

#include <cmath>

using namespace ml_test;
using run_op_test::array;
using run_op_test::check_close;
using run_op_test::check_equal;
using test::contains;

namespace {

constexpr ElementType f32 = ElementType::float32, i64 = ElementType::int64;

AnyArray one(std::string_view op, const std::vector<test::Message>& attributes, const AnyArray& x,
             std::int64_t version = 1) {
  const Dims& shape = x.info().shape;
  const int a = static_cast<int>(shape[0]);
  return shape.size() == 1 ? run(model(op, attributes, x.info().type, {a}, 1, version), x)[0]
                           : run(model(op, attributes, x.info().type,
                                       {a, static_cast<int>(shape[1])}, 1, version),
                                 x)[0];
}
std::string error(std::string_view op, const std::vector<test::Message>& attributes,
                  ElementType type = f32, int columns = 2) {
  return error_of(model(op, attributes, type, {"n", columns}, 1, 1));
}

}  // namespace

TEST_CASE("ml: Scaler") {
  const std::vector<test::Message> each{floats("offset", {1, -2}), floats("scale", {2, 0.5})};
  check_equal<float>(one("Scaler", each, array<float>({2, 2}, {1, 2, 3, -4})), {2, 2},
                     {0, 2, 4, -1});
  check_equal<float>(one("Scaler", each, array<double>({2, 2}, {1, 2, 3, -4})), {2, 2},
                     {0, 2, 4, -1});
  check_equal<float>(one("Scaler", each, array<std::int64_t>({2}, {1, 2})), {2}, {0, 2});
  const std::vector<test::Message> all{floats("offset", {1}), floats("scale", {2})};
  check_equal<float>(one("Scaler", all, array<std::int32_t>({1, 3}, {1, 2, 3})), {1, 3}, {0, 2, 4});
  // In double the difference of large numbers is exact.
  check_equal<float>(one("Scaler", all, array<double>({1, 1}, {1 + 0x1p-40})), {1, 1}, {0x1p-39});
  CHECK(contains(error("Scaler", {floats("offset", {1}), floats("scale", {1, 2})}), "lengths"));
  CHECK(contains(error("Scaler", {floats("scale", {1, 2, 3})}), "broadcast"));
}

TEST_CASE("ml: Normalizer") {
  const AnyArray x = array<float>({3, 2}, {3, -4, 0, 0, -2, -1});
  check_close<float>(one("Normalizer", {}, x), {1, -4.0 / 3, 0, 0, 2, 1});
  check_close<float>(one("Normalizer", {test::text("norm", "L1")}, x),
                     {3.0 / 7, -4.0 / 7, 0, 0, -2.0 / 3, -1.0 / 3});
  const double r = std::sqrt(5.0);
  check_close<float>(one("Normalizer", {test::text("norm", "L2")}, x),
                     {0.6, -0.8, 0, 0, -2 / r, -1 / r});
  check_close<float>(
      one("Normalizer", {test::text("norm", "L2")}, array<std::int64_t>({2}, {3, 4})), {0.6, 0.8});
  CHECK(contains(error("Normalizer", {test::text("norm", "L3")}), "MAX, L1, L2"));
}

TEST_CASE("ml: Binarizer and Imputer") {
  const test::Message threshold = test::real("threshold", -0.5);
  check_equal<float>(one("Binarizer", {threshold}, array<float>({3}, {-0.5, -0.25, -1})), {3},
                     {0, 1, 0});
  check_equal<std::int64_t>(one("Binarizer", {threshold}, array<std::int64_t>({3}, {-1, 0, 1})),
                            {3}, {0, 1, 1});
  const double nan = std::nan("");
  check_equal<float>(one("Imputer",
                         {test::real("replaced_value_float", static_cast<float>(nan)),
                          floats("imputed_value_floats", {7, 8})},
                         array<float>({2, 2}, {nan, 1, 2, nan})),
                     {2, 2}, {7, 1, 2, 8});
  check_equal<double>(
      one("Imputer",
          {test::real("replaced_value_float", -1), floats("imputed_value_floats", {0.5})},
          array<double>({2}, {-1, 3})),
      {2}, {0.5, 3});
  check_equal<std::int64_t>(
      one("Imputer",
          {test::integer("replaced_value_int64", -1), ints<int>("imputed_value_int64s", {5})},
          array<std::int64_t>({1, 3}, {-1, 3, 4})),
      {1, 3}, {5, 3, 4});
  CHECK(contains(error("Imputer", {floats("imputed_value_floats", {1})}, i64),
                 "'imputed_value_int64s' is missing"));
}

TEST_CASE("ml: LinearRegressor") {
  const std::vector<test::Message> two{test::integer("targets", 2),
                                       floats("coefficients", {1, 2, 3, 4}),
                                       floats("intercepts", {0.5, -0.5})};
  check_equal<float>(one("LinearRegressor", two, array<float>({2, 2}, {1, 1, 0, 2})), {2, 2},
                     {3.5, 6.5, 4.5, 7.5});
  check_equal<float>(one("LinearRegressor", two, array<std::int32_t>({2}, {1, 1})), {1, 2},
                     {3.5, 6.5});
  check_equal<float>(
      one("LinearRegressor", {floats("coefficients", {1, 2})}, array<double>({1, 2}, {1, 1})),
      {1, 1}, {3});
  const auto transformed = [&](std::string_view transform) {
    return one("LinearRegressor",
               {test::integer("targets", 3), floats("coefficients", {0.75, -0.5, 0}),
                test::text("post_transform", transform)},
               array<float>({1, 1}, {1}));
  };
  const auto e = [](double x) { return std::exp(x); };
  const double a = 0.75, b = -0.5, sum = e(a) + e(b) + 1, most = e(a) + e(b);
  check_close<float>(transformed("SOFTMAX"), {e(a) / sum, e(b) / sum, 1 / sum});
  check_close<float>(transformed("SOFTMAX_ZERO"), {e(a) / most, e(b) / most, 0});
  check_close<float>(transformed("LOGISTIC"), {1 / (1 + e(-a)), 1 / (1 + e(-b)), 0.5});
  CHECK(std::fabs(run_op_test::doubles(transformed("PROBIT"))[0] - 0.6744898) < 0.003);
  CHECK(contains(error("LinearRegressor", {}), "'coefficients' is missing"));
  CHECK(contains(
      error("LinearRegressor", {test::integer("targets", 2), floats("coefficients", {1, 2, 3})}),
      "a row for each target"));
}

// As skl2onnx writes it.
TEST_CASE("ml: an output with more columns than the model states") {
  test::GraphParts parts;
  parts.nodes.push_back(
      test::node("LinearRegressor", {"x"}, {"y"},
                 {.domain = "ai.onnx.ml",
                  .attributes = {test::integer("targets", 2), floats("coefficients", {1, 2})}}));
  parts.inputs.push_back(test::value("x", static_cast<int>(f32), {1, 1}));
  parts.outputs.push_back(test::value("y", static_cast<int>(f32), {1, 1}));
  Session session(test::loaded(test::model(parts, {.opsets = {test::opset(1, "ai.onnx.ml")}})));
  const AnyArray x = array<float>({1, 1}, {3});
  const Result result = session.run({{"x", x}});
  check_equal<float>(AnyArray::copy_of(result[0]), {1, 2}, {3, 6});
}

TEST_CASE("ml: LinearClassifier") {
  const auto classify = [](const std::vector<test::Message>& attributes, const AnyArray& x) {
    return run(model("LinearClassifier", attributes, f32, {"n", 2}, 2, 1), x);
  };
  const AnyArray x = array<float>({2, 2}, {1, 0, 0, 2});
  const auto many =
      classify({floats("coefficients", {1, 0, 0, 1, -1, -1}), floats("intercepts", {0, 0, 0.5}),
                ints<int>("classlabels_ints", {10, 20, 30})},
               x);
  check_equal<std::int64_t>(many[0], {2}, {10, 20});
  check_equal<float>(many[1], {2, 3}, {1, 0, -0.5, 0, 2, -1.5});
  // One score for two labels, as ONNX Runtime 1.32 writes it.
  const auto two = classify({floats("coefficients", {1, -1}), floats("intercepts", {0}),
                             ints<int>("classlabels_ints", {4, 9})},
                            x);
  check_equal<std::int64_t>(two[0], {2}, {9, 4});
  check_equal<float>(two[1], {2, 2}, {0, 1, 3, -2});
  // LOGISTIC makes both scores probabilities: sigmoid(-s), sigmoid(s) for s = 1 and s = -2.
  const auto logistic =
      classify({floats("coefficients", {1, -1}), floats("intercepts", {0}),
                ints<int>("classlabels_ints", {4, 9}), test::text("post_transform", "LOGISTIC")},
               x);
  const auto sigmoid = [](double s) { return 1 / (1 + std::exp(-s)); };
  check_equal<std::int64_t>(logistic[0], {2}, {9, 4});
  check_close<float>(logistic[1], {sigmoid(-1), sigmoid(1), sigmoid(2), sigmoid(-2)});
  // ONNX Runtime 1.32 and the reference of ONNX write these for s = 0.1.
  const auto peer =
      classify({floats("coefficients", {0.5, -0.25}), floats("intercepts", {0.1}),
                ints<int>("classlabels_ints", {3, 7}), test::text("post_transform", "LOGISTIC")},
               array<float>({1, 2}, {1, 2}));
  check_equal<std::int64_t>(peer[0], {1}, {7});
  const std::vector<double> z = run_op_test::doubles(peer[1]);
  REQUIRE(z.size() == 2);
  CHECK(std::fabs(z[0] - 0.4750) < 0.0001);
  CHECK(std::fabs(z[1] - 0.5250) < 0.0001);
}

TEST_CASE("ml: columns") {
  check_equal<float>(one("FeatureVectorizer", {ints<int>("inputdimensions", {3})},
                         array<std::int64_t>({2, 2}, {1, 2, 3, 4})),
                     {2, 3}, {1, 2, 0, 3, 4, 0});
  check_equal<float>(one("FeatureVectorizer", {ints<int>("inputdimensions", {1})},
                         array<double>({2, 2}, {1, 2, 3, 4})),
                     {2, 1}, {1, 3});
  CHECK(contains(error("FeatureVectorizer", {ints<int>("inputdimensions", {1, 2})}),
                 "inputdimensions"));
}

TEST_CASE("ml: OneHotEncoder of numbers") {
  const test::Message categories = ints<int>("cats_int64s", {5, -1, 7});
  check_equal<float>(one("OneHotEncoder", {categories}, array<std::int64_t>({2}, {7, 5})), {2, 3},
                     {0, 0, 1, 1, 0, 0});
  check_equal<float>(one("OneHotEncoder", {categories}, array<float>({2, 1}, {-1.5, 6})), {2, 1, 3},
                     {0, 1, 0, 0, 0, 0});
  const std::string strict =
      model("OneHotEncoder", {categories, test::integer("zeros", 0)}, i64, {"n"}, 1, 1);
  check_equal<float>(run(strict, array<std::int64_t>({1}, {7}))[0], {1, 3}, {0, 0, 1});
  Session session(test::loaded(strict));
  const AnyArray unknown = array<std::int64_t>({1}, {6});
  CHECK_THROWS_AS(session.run({{"x", unknown}}), InputError);
}

TEST_CASE("ml: support vectors by their kernels") {
  // Two support vectors, coefficients 2 and -1, constant 0.25.
  const std::vector<double> v{1, 0, 0.5, -1}, x{1, 2, -0.5, 0.25};
  const double gamma = 0.5, c = 0.75;
  const auto dot = [&](int row, int k) {
    return x[2 * row] * v[2 * k] + x[2 * row + 1] * v[2 * k + 1];
  };
  const auto distance = [&](int row, int k) {
    return std::pow(x[2 * row] - v[2 * k], 2) + std::pow(x[2 * row + 1] - v[2 * k + 1], 2);
  };
  for (const std::string_view kernel : {"LINEAR", "POLY", "RBF", "SIGMOID"}) {
    CAPTURE(std::string(kernel));
    const auto value = [&](int row, int k) {
      const double t = gamma * dot(row, k) + c;
      return kernel == "LINEAR" ? dot(row, k)
             : kernel == "POLY" ? t * t * t
             : kernel == "RBF"  ? std::exp(-gamma * distance(row, k))
                                : std::tanh(t);
    };
    std::vector<test::Message> attributes{test::text("kernel_type", kernel),
                                          floats("kernel_params", {gamma, c, 3}),
                                          floats("support_vectors", v),
                                          floats("coefficients", {2, -1}),
                                          floats("rho", {0.25}),
                                          test::integer("n_supports", 2)};
    std::vector<double> expected, classes, pairs;
    for (int row = 0; row < 2; ++row) {
      expected.push_back(2 * value(row, 0) - value(row, 1) + 0.25);
      classes.push_back(expected.back() > 0 ? 4 : 6);
      pairs.insert(pairs.end(), {-expected.back(), expected.back()});
    }
    check_close<float>(one("SVMRegressor", attributes, array<float>({2, 2}, x)), expected, 8);
    check_close<float>(one("SVMRegressor", attributes, array<double>({2, 2}, x)), expected, 8);
    attributes.pop_back();
    attributes.push_back(ints<int>("vectors_per_class", {1, 1}));
    attributes.push_back(ints<int>("classlabels_ints", {4, 6}));
    const auto y =
        run(model("SVMClassifier", attributes, f32, {"n", 2}, 2, 1), array<float>({2, 2}, x));
    check_equal<std::int64_t>(y[0], {2}, classes);
    check_close<float>(y[1], pairs, 8);
  }
}

TEST_CASE("ml: LOGISTIC makes probabilities of the score of two classes") {
  const auto y = run(
      model("SVMClassifier",
            {test::text("kernel_type", "RBF"), floats("kernel_params", {0.5, 0, 3}),
             floats("support_vectors", {0.1, 0.2, 0.5, -0.4}), floats("coefficients", {0.5, -0.7}),
             floats("rho", {0.1}), ints<int>("vectors_per_class", {1, 1}),
             ints<int>("classlabels_ints", {3, 7}), test::text("post_transform", "LOGISTIC")},
            f32, {"n", 2}, 2, 1),
      array<float>({1, 2}, {1, 2}));
  // s = sum of coefficient * exp(-gamma * distance^2), plus rho.
  const double s = 0.5 * std::exp(-0.5 * (0.9 * 0.9 + 1.8 * 1.8)) -
                   0.7 * std::exp(-0.5 * (0.5 * 0.5 + 2.4 * 2.4)) + 0.1;
  check_close<float>(y[1], {1 / (1 + std::exp(s)), 1 / (1 + std::exp(-s))}, 8);
  // ONNX Runtime 1.32 writes these.
  const std::vector<double> z = run_op_test::doubles(y[1]);
  REQUIRE(z.size() == 2);
  CHECK(std::fabs(z[0] - 0.467) < 0.001);
  CHECK(std::fabs(z[1] - 0.533) < 0.001);
}

TEST_CASE("ml: votes of three classes, and their probabilities") {
  // One vector for each class and a linear kernel: the kernel's values are the row's features.
  const auto classify = [](const std::vector<test::Message>& more) {
    std::vector<test::Message> attributes{
        floats("support_vectors", {1, 0, 0, 0, 1, 0, 0, 0, 1}),
        floats("coefficients", {1, -1, -2, 1, 2, -1}), floats("rho", {0, 0.5, 0.25}),
        ints<int>("vectors_per_class", {1, 1, 1}), ints<int>("classlabels_ints", {10, 20, 30})};
    attributes.insert(attributes.end(), more.begin(), more.end());
    return run(model("SVMClassifier", attributes, f32, {"n", 3}, 2, 1),
               array<float>({2, 3}, {3, 2, 1, 0, 1, 4}));
  };
  // 01: c[0][0] x0 + c[0][1] x1, 02: c[1][0] x0 + c[0][2] x2, 12: c[1][1] x1 + c[1][2] x2.
  const auto y = classify({});
  check_equal<float>(y[1], {2, 3}, {1, 1.5, 3.25, -1, -7.5, -1.75});
  check_equal<std::int64_t>(y[0], {2}, {10, 30});
  const auto p = classify({floats("prob_a", {-1, -1, -1}), floats("prob_b", {0, 0, 0})});
  check_equal<std::int64_t>(p[0], {2}, {10, 30});
  const std::vector<double> all = run_op_test::doubles(p[1]);
  // The solution of Wu, Lin and Weng: the minimum of sum (r_ji p_i - r_ij p_j)^2 with sum 1.
  for (int row = 0; row < 2; ++row) {
    const double scores[2][3] = {{1, 1.5, 3.25}, {-1, -7.5, -1.75}};
    double r[3][3] = {};
    for (int i = 0, pair = 0; i < 3; ++i) {
      for (int j = i + 1; j < 3; ++j, ++pair) {
        r[i][j] = 1 / (1 + std::exp(-scores[row][pair]));
        r[j][i] = 1 - r[i][j];
      }
    }
    const auto loss = [&](double a, double b) {
      const double q[] = {a, b, 1 - a - b};
      double sum = 0;
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
          if (i != j) sum += std::pow(r[j][i] * q[i] - r[i][j] * q[j], 2);
        }
      }
      return sum;
    };
    double best = 1e9, a = 0, b = 0;
    for (int i = 0; i <= 200; ++i) {
      for (int j = 0; i + j <= 200; ++j) {
        if (loss(i / 200.0, j / 200.0) < best) best = loss(a = i / 200.0, b = j / 200.0);
      }
    }
    CHECK(std::fabs(all[static_cast<std::size_t>(3 * row)] - a) < 0.02);
    CHECK(std::fabs(all[static_cast<std::size_t>(3 * row + 1)] - b) < 0.02);
  }
}

TEST_CASE("ml: what is wrong with support vectors is a ModelError") {
  const auto wrong = [](const std::vector<test::Message>& attributes) {
    return error_of(model("SVMRegressor", attributes, f32, {"n", 2}, 1, 1));
  };
  const test::Message n = test::integer("n_supports", 2), rho = floats("rho", {0});
  const test::Message vectors = floats("support_vectors", {1, 2, 3, 4});
  const test::Message coefficients = floats("coefficients", {1, 2});
  CHECK(wrong({n, rho, vectors, coefficients}) == "internal: loaded");
  CHECK(contains(wrong({n, rho, vectors, floats("coefficients", {1})}), "coefficients"));
  CHECK(contains(wrong({n, floats("rho", {}), vectors, coefficients}), "rho"));
  CHECK(contains(wrong({n, rho, floats("support_vectors", {1, 2, 3}), coefficients}), "length"));
  CHECK(contains(wrong({n, rho, floats("support_vectors", {1, 2}), coefficients}), "features"));
  CHECK(contains(wrong({n, rho, vectors, coefficients, floats("kernel_params", {1, 2})}), "gamma"));
  CHECK(contains(wrong({test::integer("n_supports", -1), rho, vectors, coefficients}), "range"));
  const auto classifier = [](const std::vector<test::Message>& attributes) {
    return error_of(model("SVMClassifier", attributes, f32, {"n", 2}, 2, 1));
  };
  const test::Message labels = ints<int>("classlabels_ints", {0, 1});
  CHECK(contains(classifier({labels, rho, vectors, coefficients,
                             ints<std::int64_t>("vectors_per_class", {INT64_MAX, 2})}),
                 "vectors_per_class"));
  CHECK(contains(
      classifier({labels, rho, vectors, coefficients, ints<int>("vectors_per_class", {1, 1, 0})}),
      "vectors_per_class"));
  CHECK(contains(classifier({rho, vectors, coefficients}), "no labels"));
}
