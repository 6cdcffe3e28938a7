#include <halftone/op/lp_pool.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

/// The definition for x [n, c, h, w].
template <class T>
std::vector<double> by_definition(const Array<T>& x, const Window& w, double p) {
  const Dims& d = x.info().shape;
  const std::vector<double> values = doubles(x);
  std::vector<double> y;
  for_each_index({d[0], d[1], w.output[0], w.output[1]}, [&](const Dims& i, std::size_t) {
    double sum = 0;
    for (std::int64_t a = 0; a < w.kernel[0]; ++a) {
      for (std::int64_t b = 0; b < w.kernel[1]; ++b) {
        const std::int64_t row = i[2] * w.strides[0] - w.pads[0] + a * w.dilations[0];
        const std::int64_t column = i[3] * w.strides[1] - w.pads[1] + b * w.dilations[1];
        if (row < 0 || column < 0 || row >= d[2] || column >= d[3]) continue;
        sum += std::pow(std::fabs(values[position(d, {i[0], i[1], row, column})]), p);
      }
    }
    y.push_back(std::pow(sum, 1 / p));
  });
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("lp pool: the definition", T, float, double, half, bfloat16) {
  const Array<T> x = scattered<T>({2, 3, 9, 21}, -2, 2);
  for (const std::int64_t p : {1, 2, 3}) {
    op::LpPool op{.kernel_shape = {3, 2}, .strides = {2, 1}, .pads = {1, 0, 0, 1}, .p = p};
    for (const bool wide : {false, true}) {
      if (wide) op.dilations = {1, 3}, op.ceil_mode = 1;
      const Window window = op::pooling_window(op, x.info().shape.span().subspan(2));
      const AnyArray y = run(op, {x}, backwards());
      CHECK(y.info().shape == Dims{2, 3, window.output[0], window.output[1]});
      check_close<T>(y, by_definition(x, window, static_cast<double>(p)), 16);
    }
    std::vector<double> all(6);
    const std::vector<double> values = doubles(x);
    for (std::size_t i = 0; i < values.size(); ++i) {
      all[i / 189] += std::pow(std::fabs(values[i]), static_cast<double>(p));
    }
    for (double& v : all) v = std::pow(v, 1 / static_cast<double>(p));
    const AnyArray y = run(op::GlobalLpPool{.p = p}, {x});
    CHECK(y.info().shape == Dims{2, 3, 1, 1});
    check_close<T>(y, all, 2);
    check_close<T>(run(op::GlobalLpPool_1{.p = static_cast<float>(p)}, {x}), all, 2);
  }
  // Any number as p.
  const op::LpPool_1 old{.kernel_shape = {2, 2}, .auto_pad = AutoPad::same_upper, .p = 1.5f};
  const Window window = Window::over(x.info().shape.span().subspan(2),
                                     {.kernel = {2, 2}, .auto_pad = AutoPad::same_upper});
  check_close<T>(run(old, {x}), by_definition(x, window, 1.5), 16);
}

TEST_CASE("lp pool: empty tensors, and what does not fit") {
  CHECK(run(op::LpPool{.kernel_shape = {2}}, {Array<float>({0, 1, 4})}).info().shape ==
        Dims{0, 1, 3});
  check_equal<float>(run(op::GlobalLpPool{}, {Array<float>({1, 2, 0})}), {1, 2, 1}, {0, 0});
  const Array<float> x({1, 1, 4});
  CHECK(reason(op::LpPool{.kernel_shape = {2}, .p = 0}, {x}) == "p is not positive");
  CHECK(reason(op::LpPool{}, {x}) == "attribute kernel_shape is missing");
  CHECK(reason(op::GlobalLpPool{}, {Array<float>({4})}) == "the input has no channels");
  CHECK(reason(op::LpPool_1{.kernel_shape = {2}, .p = -1}, {x}) == "p is not positive");
}
