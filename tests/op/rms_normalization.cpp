#include <halftone/op/rms_normalization.hpp>

#include "gradient_check.hpp"
#include "run_op.hpp"

using namespace run_op_test;

namespace {

/// The definition in double, of rows of n.
std::vector<double> normalized(const std::vector<double>& x, std::size_t n, double epsilon,
                               const std::vector<double>& scale) {
  std::vector<double> y(x.size());
  for (std::size_t first = 0; n != 0 && first < x.size(); first += n) {
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) squares += x[first + i] * x[first + i];
    const double root = std::sqrt(squares / static_cast<double>(n) + epsilon);
    for (std::size_t i = 0; i < n; ++i) {
      y[first + i] = x[first + i] / root * scale[i % scale.size()];
    }
  }
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("rms normalization: the definition", T, float, double, half, bfloat16) {
  for (const std::int64_t n : {1, 2, 7, 16, 19, 64, 300, 5000}) {
    const Array<T> x = scattered<T>({3, n}, -4, 6), scale = scattered<T>({n}, -2, 2, 5);
    check_close<T>(run(op::RMSNormalization{}, {x, scale}),
                   normalized(doubles(x), static_cast<std::size_t>(n), 1e-5f, doubles(scale)), 4,
                   1e-12);
  }
}

TEST_CASE("rms normalization: axes, scales that broadcast, scales of other types") {
  const Array<float> x = scattered<float>({2, 3, 4, 5}, -4, 6);
  for (std::int64_t axis = -4; axis < 4; ++axis) {
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + 4 : axis);
    const Dims inner(x.info().shape.span().subspan(at));
    const Array<float> scale = scattered<float>(inner, -2, 2, 5);
    check_close<float>(
        run(op::RMSNormalization{.axis = axis, .epsilon = 0.5f}, {x, scale}),
        normalized(doubles(x), static_cast<std::size_t>(product(inner)), 0.5, doubles(scale)), 8);
  }
  const Array<float> one({1}, {0.5f});
  check_close<float>(run(op::RMSNormalization{.axis = 1}, {x, one}),
                     normalized(doubles(x), 60, 1e-5f, {0.5}), 8);

  const Array<half> narrow = scattered<half>({2, 9}, -4, 6);
  const Array<double> wide_scale = scattered<double>({9}, -2, 2);
  const Array<float> scale = scattered<float>({9}, -2, 2);
  check_close<float>(run(op::RMSNormalization{}, {narrow, scale}),
                     normalized(doubles(narrow), 9, 1e-5f, doubles(scale)), 8);
  const auto y = run(op::RMSNormalization{}, {narrow, wide_scale});
  CHECK(y.info() == TensorInfo{ElementType::float64, {2, 9}});
  check_close<double>(y, normalized(doubles(narrow), 9, 1e-5f, doubles(wide_scale)), 8, 1e-6);
}

TEST_CASE("rms normalization: a scale for each element, for each row") {
  const Array<float> x = scattered<float>({2, 3, 4}, -4, 6);
  const std::vector<double> plain = normalized(doubles(x), 4, 1e-5f, {1});
  const Array<float> all = scattered<float>({2, 3, 4}, -2, 2, 5), rows({3, 1}, {2, -1, 0.5f});
  std::vector<double> by_element, by_row;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    by_element.push_back(plain[i] * doubles(all)[i]);
    by_row.push_back(plain[i] * doubles(rows)[i / 4 % 3]);
  }
  check_close<float>(run(op::RMSNormalization{}, {x, all}), by_element, 8);
  check_close<float>(run(op::RMSNormalization{}, {x, rows}), by_row, 8);
}

TEST_CASE("rms normalization: empty tensors, wrong shapes and attributes") {
  const Array<float> x = scattered<float>({2, 9}, -4, 6), scale({9});
  check_equal<float>(run(op::RMSNormalization{}, {Array<float>({0, 9}), scale}), {0, 9}, {});
  check_equal<float>(run(op::RMSNormalization{}, {Array<float>({2, 0}), Array<float>({0})}), {2, 0},
                     {});
  CHECK(reason(op::RMSNormalization{.axis = 2}, {x, scale}) == "axis is out of range");
  CHECK(reason(op::RMSNormalization{.stash_type = 7}, {x, scale}) ==
        "stash_type is no floating-point type");
  CHECK(reason(op::RMSNormalization{}, {x, Array<float>({8})}) ==
        "a parameter does not broadcast to the input");
  CHECK(reason(op::RMSNormalization{}, {x, Array<float>({1, 2, 9})}) ==
        "a parameter has more dimensions than the input");
}

TEST_CASE("gradient of rms normalization") {
  using gradient_test::check_gradients;
  for (const std::int64_t axis : {-1, 1, 0}) {
    check_gradients({gradient_test::scattered({3, 4, 5}), gradient_test::scattered({5}, -1, 1, 2)},
                    [&](Graph&, auto& in) {
                      return op::rms_normalization(in[0], in[1], {.axis = axis, .epsilon = 1e-2f});
                    });
  }
  check_gradients({gradient_test::scattered({3, 4, 5}), gradient_test::scattered({4, 1}, -1, 1, 2)},
                  [&](Graph&, auto& in) {
                    return op::rms_normalization(in[0], in[1], {.axis = -1, .epsilon = 1e-2f});
                  });
}
