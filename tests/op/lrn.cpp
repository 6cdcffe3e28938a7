#include <halftone/op/lrn.hpp>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

std::vector<double> by_definition(const op::LRN& op, const Dims& shape,
                                  const std::vector<double>& x) {
  std::vector<double> y(x.size());
  const std::int64_t channels = shape[1], pixels = product(shape.span().subspan(2));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t c = static_cast<std::int64_t>(i) / pixels % channels;
    double sum = 0;
    for (std::int64_t k = c - (op.size - 1) / 2; k <= c + op.size / 2; ++k) {
      if (k < 0 || k >= channels) continue;
      const double v =
          x[i + static_cast<std::size_t>(k * pixels) - static_cast<std::size_t>(c * pixels)];
      sum += v * v;
    }
    y[i] = x[i] * std::pow(op.bias + op.alpha / static_cast<double>(op.size) * sum, -op.beta);
  }
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("local response normalization: the definition", T, float, double, half,
                   bfloat16) {
  for (const op::LRN& op : {op::LRN{.size = 3}, op::LRN{.size = 4, .alpha = 0.5f, .beta = 0.6f},
                            op::LRN{.size = 1, .alpha = 2, .beta = 1, .bias = 0.25f},
                            op::LRN{.size = 50, .alpha = 3}}) {
    for (const Dims& shape : {Dims{2, 7, 3, 5}, Dims{1, 3, 600}, Dims{4, 5}, Dims{1, 1, 1, 1, 1}}) {
      const Array<T> x = scattered<T>(shape, -3, 3);
      check_close<T>(run(op, {x}), by_definition(op, shape, doubles(x)), 8);
    }
  }
}

TEST_CASE("local response normalization: empty tensors, and what does not fit") {
  CHECK(run(op::LRN{.size = 3}, {Array<float>({2, 0, 3})}).info().shape == Dims{2, 0, 3});
  CHECK(reason(op::LRN{.size = 0}, {Array<float>({1, 2, 3})}) == "size is not positive");
  CHECK(reason(op::LRN{.size = 1}, {Array<float>({3})}) == "the input has no channels");
}
