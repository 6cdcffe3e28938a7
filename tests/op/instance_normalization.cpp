#include <halftone/op/instance_normalization.hpp>

#include "run_op.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("instance normalization: the definition", T, float, double, half, bfloat16) {
  for (const Dims& shape :
       {Dims{2, 3, 4, 5}, Dims{1, 2, 300}, Dims{3, 130, 1}, Dims{2, 2, 3, 1, 2}}) {
    const auto planes = static_cast<std::size_t>(shape[0] * shape[1]);
    const auto channels = static_cast<std::size_t>(shape[1]);
    const Array<T> x = scattered<T>(shape, -2, 5);
    const Array<T> scale = scattered<T>({shape[1]}, 0.5, 2, 2),
                   bias = scattered<T>({shape[1]}, -1, 1, 3);
    const std::vector<double> v = doubles(x), s = doubles(scale), b = doubles(bias);
    const std::size_t n = v.size() / planes;
    std::vector<double> expected(v.size());
    for (std::size_t p = 0; p < planes; ++p) {
      double mean = 0, variance = 0;
      for (std::size_t i = 0; i < n; ++i) mean += v[p * n + i] / double(n);
      for (std::size_t i = 0; i < n; ++i) {
        variance += (v[p * n + i] - mean) * (v[p * n + i] - mean) / double(n);
      }
      for (std::size_t i = 0; i < n; ++i) {
        expected[p * n + i] =
            (v[p * n + i] - mean) / std::sqrt(variance + 0.25) * s[p % channels] + b[p % channels];
      }
    }
    const op::InstanceNormalization op{.epsilon = 0.25f};
    const AnyArray y = run(op, {x, scale, bias});
    CHECK(y.info() == x.info());
    check_close<T>(y, expected, 2, std::is_same_v<T, double> ? 1e-14 : 2e-6);
    const AnyArray old = run_expanded<op::InstanceNormalization>(
        op::InstanceNormalization_1{.epsilon = 0.25f}, {x, scale, bias});
    CHECK(doubles(old) == doubles(y));
  }
}

TEST_CASE("instance normalization: empty tensors, and what does not fit") {
  const Array<float> two({2}, {1, 1}), three({3}, {1, 1, 1});
  CHECK(run(op::InstanceNormalization{}, {Array<float>({0, 2, 3}), two, two}).info().shape ==
        Dims{0, 2, 3});
  CHECK(run(op::InstanceNormalization{}, {Array<float>({1, 2, 0}), two, two}).info().shape ==
        Dims{1, 2, 0});
  CHECK(reason(op::InstanceNormalization{}, {Array<float>({1, 2, 3}), two, three}) ==
        "a parameter has not one element per channel");
  CHECK(reason(op::InstanceNormalization{}, {Array<float>({2}), two, two}) ==
        "the input has no channels");
  CHECK(reason(op::InstanceNormalization{}, {Array<float>({1, 2, 3}), two, Array<float>({1, 2})}) ==
        "a parameter is not a vector");
}
