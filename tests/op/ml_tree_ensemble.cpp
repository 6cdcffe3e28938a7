#include "ml_model.hpp"

#include <cmath>
#include <map>

using namespace ml_test;
using run_op_test::array;
using run_op_test::check_close;
using run_op_test::check_equal;

namespace {

constexpr std::string_view modes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                      "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};
constexpr int leaf = 6;

struct Weight {
  std::int64_t target;
  double value;
};
struct TreeNode {
  int mode = leaf;
  std::int64_t feature = 0;
  double value = 0;
  std::int64_t yes = 0, no = 0;
  bool missing = false;
  std::vector<Weight> weights{};
};
using Tree = std::vector<TreeNode>;

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2654435761u + 12345) {}
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }
  /// A multiple of 1/4 in [-2, 2].
  double quarter() { return static_cast<double>(below(17) - 8) / 4; }

 private:
  std::uint64_t state_;
};

struct Recipe {
  int trees = 9, depth = 4;
  std::int64_t features = 5, targets = 1, weights = 1;
  std::vector<int> modes{0};
};

std::int64_t grow(Tree& tree, const Recipe& shape, int depth, Numbers& numbers) {
  const auto at = tree.size();
  tree.emplace_back();
  if (depth == 0 || numbers.below(6) == 0) {
    const std::int64_t first = numbers.below(shape.targets);
    for (std::int64_t w = 0; w < shape.weights; ++w) {
      tree[at].weights.push_back({(first + w) % shape.targets, numbers.quarter()});
    }
    return static_cast<std::int64_t>(at);
  }
  TreeNode node;
  node.mode = shape.modes[static_cast<std::size_t>(
      numbers.below(static_cast<std::int64_t>(shape.modes.size())))];
  node.feature = numbers.below(shape.features);
  node.value = numbers.quarter();
  node.missing = numbers.below(2) == 1;
  node.yes = grow(tree, shape, depth - 1, numbers);
  node.no = grow(tree, shape, depth - 1, numbers);
  tree[at] = node;
  return static_cast<std::int64_t>(at);
}

std::vector<Tree> forest(const Recipe& shape, std::uint64_t seed) {
  Numbers numbers(seed);
  std::vector<Tree> trees(static_cast<std::size_t>(shape.trees));
  for (Tree& tree : trees) grow(tree, shape, shape.depth, numbers);
  return trees;
}

bool goes_true(const TreeNode& node, double x) {
  const double v = node.value;
  const bool by_mode[] = {x <= v, x<v, x >= v, x> v, x == v, x != v};
  return by_mode[node.mode] || (std::isnan(x) && node.missing);
}

/// The definition: for each target the weights of the leaves that a row comes to.
std::vector<std::vector<double>> weights_of(const std::vector<Tree>& trees, std::int64_t targets,
                                            const double* x) {
  std::vector<std::vector<double>> all(static_cast<std::size_t>(targets));
  for (const Tree& tree : trees) {
    const TreeNode* node = &tree[0];
    while (node->mode != leaf) {
      node = &tree[static_cast<std::size_t>(goes_true(*node, x[node->feature]) ? node->yes
                                                                               : node->no)];
    }
    for (const Weight& w : node->weights) {
      all[static_cast<std::size_t>(w.target)].push_back(w.value);
    }
  }
  return all;
}

/// The attributes of TreeEnsembleClassifier ("class") or -Regressor ("target").
std::vector<test::Message> lists(const std::vector<Tree>& trees, std::string_view kind,
                                 bool as_tensors = false, bool tells_missing = true) {
  std::map<std::string, std::vector<std::int64_t>> n;
  std::vector<std::string> names;
  std::vector<double> values, weights;
  const std::string prefix(kind);
  for (std::size_t t = 0; t < trees.size(); ++t) {
    for (std::size_t i = 0; i < trees[t].size(); ++i) {
      const TreeNode& node = trees[t][i];
      n["nodes_treeids"].push_back(static_cast<std::int64_t>(t));
      n["nodes_nodeids"].push_back(static_cast<std::int64_t>(i));
      n["nodes_featureids"].push_back(node.feature);
      n["nodes_truenodeids"].push_back(node.yes);
      n["nodes_falsenodeids"].push_back(node.no);
      if (tells_missing) n["nodes_missing_value_tracks_true"].push_back(node.missing);
      names.emplace_back(modes[node.mode]);
      values.push_back(node.value);
      for (const Weight& w : node.weights) {
        n[prefix + "_treeids"].push_back(static_cast<std::int64_t>(t));
        n[prefix + "_nodeids"].push_back(static_cast<std::int64_t>(i));
        n[prefix + "_ids"].push_back(w.target);
        weights.push_back(w.value);
      }
    }
  }
  std::vector<test::Message> all;
  for (const auto& [name, list] : n) all.push_back(ints(name, list));
  all.push_back(texts("nodes_modes", names));
  all.push_back(as_tensors ? ml_test::doubles("nodes_values_as_tensor", values)
                           : floats("nodes_values", values));
  all.push_back(as_tensors ? ml_test::doubles(prefix + "_weights_as_tensor", weights)
                           : floats(prefix + "_weights", weights));
  return all;
}

std::vector<test::Message> with(std::vector<test::Message> list, std::vector<test::Message> more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

/// Multiples of 1/4, so that comparisons meet equal numbers, and NaN.
std::vector<double> rows(std::int64_t n, std::int64_t features, bool has_nan, std::uint64_t seed) {
  Numbers numbers(seed);
  std::vector<double> x;
  for (std::int64_t i = 0; i < n * features; ++i) {
    x.push_back(has_nan && numbers.below(5) == 0 ? std::nan("") : numbers.quarter());
  }
  return x;
}

template <class T>
void check_sums(const Recipe& shape, std::int64_t n, bool has_nan,
                std::string_view aggregate = "SUM", bool as_tensors = false) {
  CAPTURE(n);
  const std::vector<Tree> trees = forest(shape, static_cast<std::uint64_t>(n) + 7);
  const std::string bytes =
      model("TreeEnsembleRegressor",
            with(lists(trees, "target", as_tensors), {test::integer("n_targets", shape.targets),
                                                      test::text("aggregate_function", aggregate)}),
            element_type<T>, {"n", static_cast<int>(shape.features)});
  const AnyArray x = array<T>({n, shape.features}, rows(n, shape.features, has_nan, 3));
  const std::vector<double> given = run_op_test::doubles(x);
  std::vector<double> expected;
  for (std::int64_t row = 0; row < n; ++row) {
    for (const auto& w : weights_of(trees, shape.targets, given.data() + row * shape.features)) {
      double y = 0;
      for (std::size_t i = 0; i < w.size(); ++i) {
        y = aggregate == "MIN"   ? (i == 0 || w[i] < y ? w[i] : y)
            : aggregate == "MAX" ? (i == 0 || w[i] > y ? w[i] : y)
                                 : y + w[i];
      }
      expected.push_back(aggregate == "AVERAGE" ? y / shape.trees : y);
    }
  }
  check_close<float>(run(bytes, x)[0], expected, 2);
}

}  // namespace

TEST_CASE("trees: every mode by its definition, numbers equal to thresholds, missing values") {
  for (int mode = 0; mode < leaf; ++mode) {
    CAPTURE(mode);
    for (const std::int64_t n : {1, 7, 40}) check_sums<float>({.modes = {mode}}, n, true);
  }
  check_sums<float>({.trees = 60, .depth = 7, .modes = {0, 1, 2, 3, 4, 5}}, 300, true);
  check_sums<double>({.modes = {0, 1, 2, 3, 4, 5}}, 30, true);
  check_sums<double>({.modes = {0, 1, 2, 3, 4, 5}}, 30, true, "SUM", true);
  check_sums<std::int64_t>({.modes = {0, 1, 2, 3, 4, 5}}, 30, false);
  check_sums<std::int32_t>({.modes = {0, 1, 2, 3}}, 30, false);
}

TEST_CASE("trees: targets and aggregates") {
  for (const std::string_view aggregate : {"SUM", "AVERAGE", "MIN", "MAX"}) {
    CAPTURE(std::string(aggregate));
    check_sums<float>({}, 20, false, aggregate);
    check_sums<float>({.targets = 3}, 20, false, aggregate);
    check_sums<double>({.targets = 3, .weights = 3}, 20, false, aggregate);
    check_sums<float>({.trees = 2000, .depth = 5, .targets = 2}, 1, false, aggregate);
  }
  check_sums<float>({.trees = 3, .depth = 0}, 5, false);
  check_sums<float>({.trees = 40}, 1000, false);
}

TEST_CASE("trees: infinite thresholds") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto value_at = [](int mode, double threshold, double x) {
    const Tree tree{{.mode = mode, .value = threshold, .yes = 1, .no = 2},
                    {.weights = {{0, 1}}},
                    {.weights = {{0, 0}}}};
    const std::string bytes =
        model("TreeEnsembleRegressor",
              with(lists({tree}, "target", false, false), {test::integer("n_targets", 1)}),
              ElementType::float32, {1, 1});
    return run_op_test::doubles(run(bytes, array<float>({1, 1}, {x}))[0])[0];
  };
  for (int mode = 0; mode < leaf; ++mode) {
    for (const double threshold : {-infinity, infinity, 0.0}) {
      for (const double x : {-infinity, infinity, -0.0, 1e-45, -1e-45}) {
        CAPTURE(mode);
        CAPTURE(threshold);
        CAPTURE(x);
        TreeNode node{.mode = mode, .value = threshold};
        CHECK(value_at(mode, threshold, x) ==
              (goes_true(node, static_cast<double>(static_cast<float>(x))) ? 1 : 0));
      }
    }
  }
}

// Old converters say that a feature is one of a set by a chain of comparisons with one target.
TEST_CASE("trees: nodes with several parents") {
  const Tree tree{{.mode = 4, .value = 1, .yes = 2, .no = 1},
                  {.mode = 4, .value = 3, .yes = 2, .no = 3},
                  {.weights = {{0, 10}}},
                  {.weights = {{0, 20}}}};
  const std::string bytes =
      model("TreeEnsembleRegressor", with(lists({tree}, "target"), {test::integer("n_targets", 1)}),
            ElementType::float32, {4, 1});
  check_equal<float>(run(bytes, array<float>({4, 1}, {1, 2, 3, 4}))[0], {4, 1}, {10, 20, 10, 20});
}

TEST_CASE("trees: base values and what becomes of scores") {
  const Tree tree{{.weights = {{0, 0.5}, {1, -1}, {2, 0}}}};
  const auto scores = [&](std::string_view transform) {
    return run(model("TreeEnsembleRegressor",
                     with(lists({tree}, "target"),
                          {test::integer("n_targets", 3), test::text("post_transform", transform),
                           floats("base_values", {0.25, 0.5, 0})}),
                     ElementType::float32, {1, 1}),
               array<float>({1, 1}, {0}))[0];
  };
  const double a = 0.75, b = -0.5, c = 0;
  const auto e = [](double x) { return std::exp(x); };
  check_close<float>(scores("NONE"), {a, b, c});
  check_close<float>(scores("LOGISTIC"), {1 / (1 + e(-a)), 1 / (1 + e(-b)), 0.5});
  const double sum = e(a) + e(b) + 1, most = e(a) + e(b);
  check_close<float>(scores("SOFTMAX"), {e(a) / sum, e(b) / sum, 1 / sum});
  check_close<float>(scores("SOFTMAX_ZERO"), {e(a) / most, e(b) / most, 0});
  // ONNX Runtime 1.32: what is no probability has no probit.
  const std::vector<double> probit = run_op_test::doubles(scores("PROBIT"));
  CHECK(std::fabs(probit[0] - 0.6744898) < 0.003);
  CHECK(std::isnan(probit[1]));
}

TEST_CASE("trees: a classifier of many classes") {
  const Recipe shape{.targets = 4, .weights = 2, .modes = {0, 3}};
  const std::vector<Tree> trees = forest(shape, 5);
  const std::vector<std::int64_t> labels{7, -3, 100, 0};
  const std::string bytes = model("TreeEnsembleClassifier",
                                  with(lists(trees, "class"), {ints("classlabels_int64s", labels)}),
                                  ElementType::float32, {"n", 5}, 2);
  const AnyArray x = array<float>({50, 5}, rows(50, 5, false, 8));
  const std::vector<double> given = run_op_test::doubles(x);
  std::vector<double> classes, scores;
  for (std::int64_t row = 0; row < 50; ++row) {
    const auto weights = weights_of(trees, 4, given.data() + row * 5);
    std::size_t best = 4;
    double most = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      double sum = 0;
      for (const double w : weights[k]) sum += w;
      scores.push_back(sum);
      // A class without a weight is none.
      if (!weights[k].empty() && (best == 4 || sum > most)) best = k, most = sum;
    }
    classes.push_back(static_cast<double>(labels[best]));
  }
  const auto y = run(bytes, x);
  check_equal<std::int64_t>(y[0], {50}, classes);
  check_close<float>(y[1], scores, 2);
}

// Expected numbers: ONNX Runtime 1.32.
TEST_CASE("trees: classifiers of two classes as ONNX Runtime has them") {
  const auto classify = [](std::vector<Weight> weights, std::vector<std::int64_t> labels,
                           std::string_view transform, std::vector<double> base) {
    const Tree tree{{.weights = std::move(weights)}};
    std::vector<test::Message> more{ints("classlabels_int64s", labels),
                                    test::text("post_transform", transform)};
    if (!base.empty()) more.push_back(floats("base_values", base));
    return run(model("TreeEnsembleClassifier", with(lists({tree}, "class"), more),
                     ElementType::float32, {1, 1}, 2),
               array<float>({1, 1}, {0}));
  };
  const auto check = [&](const std::vector<AnyArray>& y, double label, double first,
                         double second) {
    check_equal<std::int64_t>(y[0], {1}, {label});
    check_close<float>(y[1], {first, second}, 2);
  };
  const std::vector<std::int64_t> labels{5, 7};
  check(classify({{0, 0.75}}, labels, "NONE", {}), 7, 0.25, 0.75);
  check(classify({{0, 0.25}}, labels, "NONE", {}), 5, 0.75, 0.25);
  check(classify({{0, -0.25}}, labels, "NONE", {}), 5, 0.25, -0.25);
  const double p = 1 / (1 + std::exp(0.25));
  check(classify({{0, -0.25}}, labels, "LOGISTIC", {}), 5, 1 - p, p);
  check(classify({{0, -0.25}}, labels, "NONE", {0.5}), 7, -0.25, 0.25);
  check(classify({{0, 0.25}, {1, 0.75}}, labels, "NONE", {}), 1, 0.25, 0.75);
}

TEST_CASE("trees: TreeEnsemble, with sets of members and trees of half") {
  // A tree chooses by membership in {1, 3.5}, another compares, both with shared leaves.
  const auto ensemble = [](int type, const std::vector<test::Message>& more,
                           std::vector<std::int64_t> roots = {0, 1}) {
    const auto numbers = [&](std::string_view name, std::vector<double> values) {
      const auto n = static_cast<std::int64_t>(values.size());
      if (type == 11) return ml_test::doubles(name, values);
      if (type == 1) {
        const std::vector<float> list(values.begin(), values.end());
        return test::tensor_attribute(name, test::tensor<float>("", 1, {n}, list));
      }
      std::vector<half> list;
      for (const double v : values) list.push_back(static_cast<half>(static_cast<float>(v)));
      return test::tensor_attribute(name, test::tensor<half>("", 10, {n}, list));
    };
    return model(
        "TreeEnsemble",
        with({ints("tree_roots", roots), ints<int>("nodes_featureids", {0, 1}),
              test::tensor_attribute("nodes_modes", test::tensor<std::uint8_t>("", 2, {2}, {6, 3})),
              numbers("nodes_splits", {0, 2}), ints<int>("nodes_truenodeids", {0, 1}),
              ints<int>("nodes_trueleafs", {1, 1}), ints<int>("nodes_falsenodeids", {2, 0}),
              ints<int>("nodes_falseleafs", {1, 1}), ints<int>("leaf_targetids", {0, 1, 1}),
              numbers("leaf_weights", {1, 10, 100}),
              numbers("membership_values", {3.5, 1, std::nan("")})},
             more),
        static_cast<ElementType>(type), {"n", 2}, 1, 5);
  };
  const std::vector<double> x{1, 3, 3.5, 2, 0, 5, std::nan(""), 0};
  const std::vector<double> sums{1, 10, 2, 0, 0, 110, 1, 100};
  const std::vector<test::Message> two{test::integer("n_targets", 2)};
  check_close<float>(run(ensemble(1, two), array<float>({4, 2}, x))[0], sums);
  check_close<double>(run(ensemble(11, two), array<double>({4, 2}, x))[0], sums);
  check_close<half>(run(ensemble(10, two), array<half>({4, 2}, x))[0], sums);
  const auto largest = with(two, {test::integer("aggregate_function", 3)});
  check_close<float>(run(ensemble(1, largest), array<float>({4, 2}, x))[0],
                     {1, 10, 1, 0, 0, 100, 1, 100});

  using test::contains;
  CHECK(contains(error_of(ensemble(1, two, {0, 2})), "a tree's root is out of range"));
  CHECK(contains(error_of(ensemble(1, {})), "n_targets"));
  CHECK(contains(error_of(ensemble(1, with(two, {test::integer("aggregate_function", 4)}))),
                 "aggregate_function is unknown"));
}

TEST_CASE("trees: what is wrong is a ModelError") {
  using test::contains;
  const Recipe shape{.trees = 3, .depth = 3, .modes = {0}};
  const auto error = [&](auto&& change, std::int64_t features = 5) {
    std::vector<Tree> trees = forest(shape, 2);
    change(trees);
    return error_of(model("TreeEnsembleRegressor",
                          with(lists(trees, "target"), {test::integer("n_targets", 1)}),
                          ElementType::float32, {"n", static_cast<int>(features)}));
  };
  CHECK(error([](auto&) {}) == "internal: loaded");
  CHECK(contains(error([](auto& t) { t[1][0].yes = 0; }), "a tree has a cycle"));
  CHECK(contains(error([](auto& t) { t[1][0].no = 1, t[1][1] = t[1][0]; }), "a tree has a cycle"));
  CHECK(contains(error([](auto& t) { t[0][0].yes = 99; }), "that its tree does not have"));
  CHECK(contains(error([](auto& t) { t[0][0].yes = -1; }), "that its tree does not have"));
  CHECK(contains(error([](auto& t) { t[0][0].no = INT64_MIN; }), "that its tree does not have"));
  CHECK(contains(error([](auto& t) { t[2][0].feature = 5; }), "a feature that the input does not"));
  CHECK(
      contains(error([](auto& t) { t[2][0].feature = -1; }), "a feature that the input does not"));
  CHECK(contains(error([](auto& t) { t[0].back().weights[0].target = 1; }), "out of range"));
  CHECK(contains(error([](auto&) {}, 1), "a feature that the input does not have"));

  const auto without = [&](std::string_view name, const test::Message& instead) {
    std::vector<test::Message> kept;
    for (const test::Message& m : lists(forest(shape, 2), "target")) {
      if (!contains(m.bytes(), name)) kept.push_back(m);
    }
    kept.push_back(instead);
    kept.push_back(test::integer("n_targets", 1));
    return error_of(model("TreeEnsembleRegressor", kept, ElementType::float32, {"n", 5}));
  };
  const test::Message nothing = test::text("post_transform", "NONE");
  CHECK(contains(without("nodes_modes", test::text("nodes_modes", "LEAF")), "has another type"));
  CHECK(contains(without("nodes_modes", texts("nodes_modes", {"BRANCH"})), "'BRANCH'"));
  CHECK(contains(without("nodes_modes", texts("nodes_modes", {"LEAF"})), "differ in length"));
  CHECK(contains(without("nodes_values", floats("nodes_values", {})), "differ in length"));
  CHECK(contains(without("nodes_treeids", ints<int>("nodes_treeids", {})), "differ in length"));
  CHECK(contains(without("target_ids", ints<int>("target_ids", {0})), "differ in length"));
  CHECK(contains(without("nodes_nodeids", nothing), "attribute 'nodes_nodeids' is missing"));
  CHECK(contains(without("nodes_values", floats("nodes_featureids", {})), "twice"));
  CHECK(contains(error([](auto& t) { t.clear(); }), "attribute"));
}
