#include <halftone/op/layer_normalization.hpp>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

/// The definition in double: y, and mean and 1 / sqrt(variance + epsilon) of each row.
struct Expected {
  std::vector<double> y, mean, inverse;
  Expected(const std::vector<double>& x, std::size_t n, const std::vector<double>& scale,
           const std::vector<double>& bias, double epsilon)
      : y(x.size()) {
    for (std::size_t row = 0; n != 0 && row < x.size() / n; ++row) {
      const double* const v = x.data() + row * n;
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < n; ++i) sum += v[i];
      const double center = sum / static_cast<double>(n);
      for (std::size_t i = 0; i < n; ++i) squares += (v[i] - center) * (v[i] - center);
      mean.push_back(center);
      inverse.push_back(1 / std::sqrt(squares / static_cast<double>(n) + epsilon));
      for (std::size_t i = 0; i < n; ++i) {
        y[row * n + i] = (v[i] - center) * inverse[row] * scale[i % scale.size()] +
                         (bias.empty() ? 0 : bias[i % bias.size()]);
      }
    }
  }
};

}  // namespace

TEST_CASE_TEMPLATE("layer normalization: the definition", T, float, double, half, bfloat16) {
  for (const std::int64_t n : {1, 2, 7, 16, 19, 64, 300, 5000}) {
    const Array<T> x = scattered<T>({3, n}, -4, 6), scale = scattered<T>({n}, -2, 2, 5);
    const Array<T> bias = scattered<T>({n}, -1, 1, 7);
    const Expected e(doubles(x), static_cast<std::size_t>(n), doubles(scale), doubles(bias), 1e-5f);
    const auto y = run_all(op::LayerNormalization{}, {x, scale, bias}, 3);
    // One row of one element: what is left of x - mean is 0.
    check_close<T>(y[0], e.y, 4, 20 * rounding<T>() + 1e-12);
    CHECK(y[1].info() == TensorInfo{ElementType::float32, {3, 1}});
    check_close<float>(y[1], e.mean, 16, 1e-6);
    check_close<float>(y[2], e.inverse, 16);
  }
}

TEST_CASE("layer normalization: axes, a missing bias, parameters that broadcast") {
  const Array<float> x = scattered<float>({2, 3, 4, 5}, -4, 6);
  for (std::int64_t axis = -4; axis < 4; ++axis) {
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + 4 : axis);
    const Dims inner(x.info().shape.span().subspan(at));
    const Array<float> scale = scattered<float>(inner, -2, 2, 5);
    const auto n = static_cast<std::size_t>(product(inner));
    const Expected e(doubles(x), n, doubles(scale), {}, 0.5);
    const auto y = run_all(op::LayerNormalization{.axis = axis, .epsilon = 0.5f}, {x, scale}, 3);
    check_close<float>(y[0], e.y, 8, 1e-6);
    check_close<float>(y[2], e.inverse, 16);
    Dims rows = x.info().shape;
    for (std::size_t i = at; i < 4; ++i) rows[i] = 1;
    CHECK(y[1].info().shape == rows);
  }
  const Array<float> five = scattered<float>({5}, -2, 2, 5), one({1}, {0.25f});
  const Expected e(doubles(x), 60, doubles(five), {0.25}, 1e-5f);
  check_close<float>(run(op::LayerNormalization{.axis = 1}, {x, five, one}), e.y, 8, 1e-6);
  const Array<float> column({4, 1}, {1, 2, 3, 4}), flat({1, 5}, {0, 0, 0, 0, 0});
  std::vector<double> wide;
  for (int i = 0; i < 20; ++i) wide.push_back(1 + i / 5);
  check_close<float>(run(op::LayerNormalization{.axis = -2}, {x, column, flat}),
                     Expected(doubles(x), 20, wide, {}, 1e-5f).y, 8, 1e-6);
}

TEST_CASE("layer normalization: parameters with dimensions in front of the normalized ones") {
  const Array<float> x = scattered<float>({2, 3, 4}, -4, 6);
  const Expected plain(doubles(x), 4, {1}, {}, 1e-5f);
  for (const Dims& shape :
       {Dims{2, 3, 4}, Dims{1, 1, 4}, Dims{3, 1}, Dims{2, 1, 4}, Dims{2, 3, 1}}) {
    const Array<float> p = scattered<float>(shape, -2, 2, 5);
    const std::vector<double> given = doubles(p);
    std::vector<double> scaled, moved;
    for (std::size_t i = 0; i < plain.y.size(); ++i) {
      const std::size_t at[] = {i / 12, i / 4 % 3, i % 4};
      std::size_t from = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const auto extent = static_cast<std::size_t>(shape[d]);
        from = from * extent + (extent == 1 ? 0 : at[3 - shape.size() + d]);
      }
      scaled.push_back(plain.y[i] * given[from] + 0.25);
      moved.push_back(plain.y[i] + given[from]);
    }
    const Array<float> quarter({1}, {0.25f}), one({1}, {1.f});
    const auto y = run_all(op::LayerNormalization{}, {x, p, quarter}, 3);
    check_close<float>(y[0], scaled, 8, 1e-6);
    check_close<float>(y[1], plain.mean, 16, 1e-6);
    check_close<float>(y[2], plain.inverse, 16);
    check_close<float>(run(op::LayerNormalization{}, {x, one, p}), moved, 8, 1e-6);
  }
}

TEST_CASE("layer normalization: bfloat16 statistics, empty tensors, wrong shapes") {
  const op::LayerNormalization stashed{.stash_type = 16};
  const Array<float> x = scattered<float>({2, 9}, -4, 6), scale({9}, std::vector<float>(9, 1.f));
  const auto y = run_all(stashed, {x, scale}, 3);
  const Expected e(doubles(x), 9, {1}, {}, 1e-5f);
  check_close<bfloat16>(y[1], e.mean, 2, 1e-6);
  check_close<bfloat16>(y[2], e.inverse, 2);

  check_equal<float>(run(op::LayerNormalization{}, {Array<float>({0, 9}), scale}), {0, 9}, {});
  check_equal<float>(run(op::LayerNormalization{}, {Array<float>({2, 0}), Array<float>({0})}),
                     {2, 0}, {});
  CHECK(reason(op::LayerNormalization{.axis = 2}, {x, scale}) == "axis is out of range");
  CHECK(reason(op::LayerNormalization{.stash_type = 11}, {x, scale}) ==
        "stash_type is neither float nor bfloat16");
  CHECK(reason(op::LayerNormalization{}, {x, Array<float>({8})}) ==
        "a parameter does not broadcast to the input");
  CHECK(reason(op::LayerNormalization{}, {x, scale, Array<float>({3, 9})}) ==
        "a parameter does not broadcast to the input");
  CHECK(reason(op::LayerNormalization{}, {x, scale, Array<float>({1, 2, 9})}) ==
        "a parameter has more dimensions than the input");
  CHECK(reason(op::LayerNormalization{}, {Array<std::int32_t>({2, 9}), scale}) ==
        "element type is not offered");
}
