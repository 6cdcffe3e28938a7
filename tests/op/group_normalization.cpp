#include <halftone/op/group_normalization.hpp>

#include "expanded.hpp"
#include "gradient_check.hpp"

using namespace run_op_test;

namespace {

/// The definition in double, of x [batch, channels, pixels].
std::vector<double> normalized(const std::vector<double>& x, std::size_t channels,
                               std::size_t pixels, std::size_t groups, double epsilon,
                               const std::vector<double>& scale, const std::vector<double>& bias) {
  const std::size_t n = channels / groups * pixels;
  std::vector<double> y(x.size());
  for (std::size_t first = 0; first < x.size(); first += n) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < n; ++i) mean += x[first + i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) {
      variance += (x[first + i] - mean) * (x[first + i] - mean) / static_cast<double>(n);
    }
    for (std::size_t i = first; i < first + n; ++i) {
      const std::size_t c = i / pixels % channels;
      y[i] = (x[i] - mean) / std::sqrt(variance + epsilon) * scale[c] + bias[c];
    }
  }
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("group normalization of ONNX: the definition", T, float, double, half,
                   bfloat16) {
  const Array<T> x = scattered<T>({2, 6, 2, 5}, -4, 6), scale = scattered<T>({6}, -2, 2, 5),
                 bias = scattered<T>({6}, -1, 1, 7);
  for (const std::int64_t stash : {1, 11}) {
    const op::OnnxGroupNormalization op{.num_groups = 3, .epsilon = 0.25f, .stash_type = stash};
    check_close<T>(run_session(op, {x, scale, bias})[0],
                   normalized(doubles(x), 6, 10, 3, 0.25, doubles(scale), doubles(bias)), 8,
                   8 * rounding<T>());
  }
}

TEST_CASE("group normalization of opset 18: a scale and bias for each group") {
  const Array<float> x = scattered<float>({2, 6, 5}, -4, 6);
  const Array<float> scale({3}, {0.5f, -2, 3}), bias({3}, {1, 0, -1});
  check_close<float>(
      run_session(op::OnnxGroupNormalization_18{.num_groups = 3}, {x, scale, bias})[0],
      normalized(doubles(x), 6, 5, 3, 1e-5f, {0.5, 0.5, -2, -2, 3, 3}, {1, 1, 0, 0, -1, -1}), 8,
      1e-6);
}

TEST_CASE("group normalization of ONNX: what is refused") {
  const Array<float> x({2, 6, 5}), scale({6}), bias({6}), short_scale({3});
  using Op = op::OnnxGroupNormalization;
  CHECK_THROWS_AS(run_session(Op{.num_groups = 4}, {x, scale, bias}), ModelError);
  CHECK_THROWS_AS(run_session(Op{.num_groups = 3, .stash_type = 7}, {x, scale, bias}), ModelError);
  CHECK_THROWS_AS(run_session(Op{.num_groups = 3}, {x, short_scale, bias}), ModelError);
  CHECK_THROWS_AS(run_session(op::OnnxGroupNormalization_18{.num_groups = 4}, {x, scale, bias}),
                  ModelError);
}

TEST_CASE("gradient of group normalization of ONNX") {
  using gradient_test::check_gradients;
  const auto x = gradient_test::scattered({2, 6, 3}), six = gradient_test::scattered({6}, -1, 1, 2),
             six_more = gradient_test::scattered({6}, -1, 1, 3);
  check_gradients({x, six, six_more}, [](Graph&, auto& in) {
    return op::OnnxGroupNormalization{.num_groups = 2, .epsilon = 1e-2f}.expand(in[0], in[1],
                                                                                in[2]);
  });
  check_gradients({x, gradient_test::scattered({2}, -1, 1, 2), gradient_test::scattered({2})},
                  [](Graph&, auto& in) {
                    return op::OnnxGroupNormalization_18{.num_groups = 2, .epsilon = 1e-2f}.expand(
                        in[0], in[1], in[2]);
                  });
}
