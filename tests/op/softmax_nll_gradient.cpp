#include <halftone/op/softmax_nll_gradient.hpp>

#include <cmath>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

/// What a gradient is of: p is [outer, classes, inner].
struct Case {
  std::vector<double> p, d_loss, labels, weights;
  std::int64_t classes, inner;
  double ignored;
  LossReduction reduction;
  bool is_logarithm;
};

/// The definition in double: d loss * weight / sum of weights * (p - 1 at the label).
std::vector<double> by_definition(const Case& c) {
  std::vector<double> dx(c.p.size()), w;
  double total = 0;
  for (const double label : c.labels) {
    const bool counts = label != c.ignored;  // an ignored label need not be a class
    w.push_back(!counts ? 0 : c.weights.empty() ? 1 : c.weights[static_cast<std::size_t>(label)]);
    total += w.back();
  }
  for (std::size_t i = 0; i < c.labels.size(); ++i) {
    double factor = c.d_loss[c.reduction == LossReduction::no_reduction ? i : 0] * w[i];
    if (c.reduction == LossReduction::mean) factor /= total;
    for (std::int64_t k = 0; k < c.classes; ++k) {
      const auto line = static_cast<std::int64_t>(i);
      const auto at =
          static_cast<std::size_t>((line / c.inner * c.classes + k) * c.inner + line % c.inner);
      const bool is_label = static_cast<double>(k) == c.labels[i];
      // Near certainty 1 - e^p has lost what p has.
      const double p = !c.is_logarithm ? c.p[at] - (is_label ? 1 : 0)
                       : is_label      ? std::expm1(c.p[at])
                                       : std::exp(c.p[at]);
      if (w[i] != 0) dx[at] = factor * p;
    }
  }
  return dx;
}

Array<std::int32_t> labels_of(const Dims& shape, std::int64_t classes, std::int32_t ignored) {
  Array<std::int32_t> labels(shape);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    labels[i] = i % 5 == 2 ? ignored : static_cast<std::int32_t>(number * 7 % classes);
  }
  return labels;
}

}  // namespace

TEST_CASE_TEMPLATE("gradient of softmax with nll: the definition", T, float, double, half,
                   bfloat16) {
  for (const std::int64_t n : {1, 2, 3, 8, 17, 33, 100}) {
    for (const std::int64_t inner : {1, 2, 5, 16, 19, 40}) {
      for (const bool is_logarithm : {false, true}) {
        const Array<T> p =
            is_logarithm ? scattered<T>({3, n, inner}, -6, 0) : scattered<T>({3, n, inner}, 0, 1);
        const Array<T> weight = scattered<T>({n}, 0.5, 2, 9);
        // In range, and none.
        for (const std::int32_t ignored : {static_cast<std::int32_t>(n) / 2, -100}) {
          const Array<std::int32_t> labels = labels_of({3, inner}, n, ignored);
          for (const auto reduction :
               {LossReduction::mean, LossReduction::sum, LossReduction::no_reduction}) {
            const bool is_each = reduction == LossReduction::no_reduction;
            const Array<T> d_loss = scattered<T>(is_each ? Dims{3, inner} : Dims{}, -2, 2, 5);
            op::SoftmaxNllGradient op{
                .axis = 1, .reduction = reduction, .is_logarithm = is_logarithm};
            op.ignore_index = ignored;
            Case c{.p = doubles(p),
                   .d_loss = doubles(d_loss),
                   .labels = doubles(labels),
                   .weights = {},
                   .classes = n,
                   .inner = inner,
                   .ignored = static_cast<double>(ignored),
                   .reduction = reduction,
                   .is_logarithm = is_logarithm};
            // Roundings of the factor, of the power, of p - 1 and of the product.
            const double units = 8, near = 1e-30;
            bool some_count = false;
            for (const std::int32_t label : labels.values()) some_count |= label != ignored;
            if (!some_count) continue;  // its own case below
            check_close<T>(run(op, {p, d_loss, labels}), by_definition(c), units, near);
            c.weights = doubles(weight);
            check_close<T>(run(op, {p, d_loss, labels, weight}), by_definition(c), units, near);
          }
        }
      }
    }
  }
}

TEST_CASE("gradient of softmax with nll: as precise as logarithms are, near certainty") {
  // e^-1e-9 - 1, which is lost if e^-1e-9 is rounded first.
  const Array<float> p({1, 2}, {-1e-9f, -20}), d_loss({}, {1});
  const Array<std::int32_t> label({1}, {0});
  check_close<float>(run(op::SoftmaxNllGradient{.is_logarithm = true}, {p, d_loss, label}),
                     {-1e-9, std::exp(-20)});
}

TEST_CASE("gradient of softmax with nll: rows that count for nothing are zero") {
  const float nan = std::nanf("");
  const Array<std::int32_t> labels({4}, {-1, 0, 3, 1});
  for (const bool is_logarithm : {false, true}) {
    // The label that is ignored, one that is no class, and one whose weight is 0.
    const Array<float> p({4, 2}, {nan, nan, 0.25f, 0.75f, nan, 1, nan, nan}), d_loss({}, {1});
    op::SoftmaxNllGradient op{.reduction = LossReduction::sum, .is_logarithm = is_logarithm};
    op.ignore_index = -1;
    const AnyArray dx = run(op, {p, d_loss, labels, Array<float>({2}, {2, 0})});
    const double a = is_logarithm ? std::exp(0.25) : 0.25, b = is_logarithm ? std::exp(0.75) : 0.75;
    check_close<float>(dx, {0, 0, 2 * (a - 1), 2 * b, 0, 0, 0, 0}, 8);
    // The same as columns.
    Array<float> across({1, 2, 4});
    for (std::size_t i = 0; i < 8; ++i) across[i % 2 * 4 + i / 2] = p[i];
    op.axis = 1;
    const Array<std::int32_t> row({1, 4}, {-1, 0, 3, 1});
    check_close<float>(run(op, {across, d_loss, row, Array<float>({2}, {2, 0})}),
                       {0, 2 * (a - 1), 0, 0, 0, 2 * b, 0, 0}, 8);
  }
  op::SoftmaxNllGradient mean{};
  mean.ignore_index = 1;
  check_equal<float>(run(mean, {Array<float>({2, 2}, {1, 2, 3, 4}), Array<float>({}, {1}),
                                Array<std::int32_t>({2}, {1, 1})}),
                     {2, 2}, {0, 0, 0, 0});
  check_equal<float>(
      run(mean, {Array<float>({0, 2}), Array<float>({}, {1}), Array<std::int32_t>(Dims{0})}),
      {0, 2}, {});
}
