#include <halftone/op/pool.hpp>

#include "run_op.hpp"

// Expected: the definition, element by element in double.
using namespace halftone;
using run_op_test::run;

namespace {

/// Pooling of x [n, c, h, w] by its definition; `mean` with or without padding.
template <class T>
std::vector<double> naive(const Array<T>& x, const Window& w, bool largest, bool padding) {
  const Dims& d = x.info().shape;
  std::vector<double> y;
  for (std::int64_t p = 0; p < d[0] * d[1]; ++p) {
    for (std::int64_t i = 0; i < w.output[0]; ++i) {
      for (std::int64_t j = 0; j < w.output[1]; ++j) {
        double sum = 0, most = -INFINITY;
        int inside = 0, padded = 0;
        for (std::int64_t a = 0; a < w.kernel[0]; ++a) {
          for (std::int64_t b = 0; b < w.kernel[1]; ++b) {
            const std::int64_t r = i * w.strides[0] - w.pads[0] + a * w.dilations[0];
            const std::int64_t c = j * w.strides[1] - w.pads[1] + b * w.dilations[1];
            if (r < d[2] + w.pads[2] && c < d[3] + w.pads[3]) ++padded;
            if (r < 0 || c < 0 || r >= d[2] || c >= d[3]) continue;
            ++inside;
            const auto v =
                static_cast<double>(x[static_cast<std::size_t>((p * d[2] + r) * d[3] + c)]);
            sum += v;
            most = std::max(most, v);
          }
        }
        y.push_back(largest ? most : sum / (padding ? padded : inside));
      }
    }
  }
  return y;
}

template <class T>
Array<T> numbers(const Dims& shape) {
  Array<T> x(shape);
  std::uint32_t seed = 7;
  for (T& v : x) {
    seed = seed * 1664525 + 1013904223;
    v = static_cast<T>(static_cast<float>(seed >> 20) / 1024 - 2);
  }
  return x;
}

struct Case {
  Dims shape, kernel, strides, dilations;
  Pads pads;
  bool ceil = false;
};
const Case cases[] = {
    {{1, 1, 4, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {{2, 3, 9, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {{1, 2, 11, 40}, {3, 2}, {1, 3}, {2, 1}, {1, 0, 2, 1}},
    {{1, 2, 8, 8}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true},
    {{1, 1, 5, 16}, {2, 1}, {1, 1}, {1, 1}, {1, 0, 0, 0}},  // the last dimension as lanes
    {{1, 1, 3, 1200}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
};

template <class Op>
void set(Op& op, const Case& c) {
  op.kernel_shape = c.kernel;
  op.strides = c.strides;
  op.dilations = c.dilations;
  op.pads = c.pads;
  op.ceil_mode = c.ceil;
}

}  // namespace

TEST_CASE_TEMPLATE("pooling by its definition", T, float, double, half) {
  for (const Case& c : cases) {
    const auto x = numbers<T>(c.shape);
    op::MaxPool max;
    set(max, c);
    const std::int64_t input[]{c.shape[2], c.shape[3]};
    const Window window = max.window_over(input);
    REQUIRE(window.ok());
    auto near = [&](const AnyArray& got, const std::vector<double>& want) {
      const auto y = got.values<T>();
      REQUIRE(y.size() == want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        CHECK(static_cast<double>(y[i]) ==
              doctest::Approx(want[i]).epsilon(sizeof(T) == 2 ? 2e-3 : 1e-5));
      }
    };
    near(run(max, {x}), naive(x, window, true, false));
    for (const bool padding : {false, true}) {
      op::AveragePool mean;
      set(mean, c);
      mean.count_include_pad = padding;
      near(run(mean, {x}), naive(x, window, false, padding));
    }
  }
}

TEST_CASE("the indices of MaxPool lead to the largest elements") {
  for (const Case& c : cases) {
    const auto x = numbers<float>(c.shape);
    op::MaxPool max;
    set(max, c);
    const auto outputs = run_op_test::run_all(max, {x}, 2);
    const auto y = outputs[0].values<float>();
    const auto at = outputs[1].values<std::int64_t>();
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(x[static_cast<std::size_t>(at[i])] == y[i]);
  }
  // ONNX's example of storage_order: 5 x 5 numbers 1 to 25, windows of 2, stride 2.
  Array<float> x({1, 1, 5, 5});
  for (std::size_t i = 0; i < 25; ++i) x[i] = static_cast<float>(i + 1);
  op::MaxPool max;
  max.kernel_shape = {2, 2};
  max.strides = {2, 2};
  max.storage_order = 1;
  const auto outputs = run_op_test::run_all(max, {x}, 2);
  const auto at = outputs[1].values<std::int64_t>();
  CHECK(std::vector<std::int64_t>(at.begin(), at.end()) == std::vector<std::int64_t>{6, 16, 8, 18});
}

TEST_CASE("pooling all of space") {
  const auto x = numbers<float>({2, 3, 5, 11});
  const auto mean = run(op::GlobalAveragePool{}, {x}), max = run(op::GlobalMaxPool{}, {x});
  CHECK(mean.info().shape == Dims{2, 3, 1, 1});
  for (std::size_t p = 0; p < 6; ++p) {
    double sum = 0;
    float most = -INFINITY;
    for (std::size_t i = 0; i < 55; ++i) sum += x[p * 55 + i], most = std::max(most, x[p * 55 + i]);
    CHECK(mean.values<float>()[p] == doctest::Approx(sum / 55));
    CHECK(max.values<float>()[p] == most);
  }
}

TEST_CASE("NaN in a window is not lost; empty tensors and wrong attributes") {
  Array<float> x({1, 1, 2, 2}, {1, NAN, 2, 3});
  op::MaxPool max;
  max.kernel_shape = {2, 2};
  CHECK(std::isnan(run(max, {x}).values<float>()[0]));
  CHECK(run(max, {Array<float>({0, 1, 2, 2})}).info().shape == Dims{0, 1, 1, 1});
  op::MaxPool none;
  CHECK(run_op_test::reason(none, {x}) == "attribute kernel_shape is missing");
  max.kernel_shape = {3, 3};
  CHECK(run_op_test::reason(max, {x}) == "the window is larger than the padded input");
  CHECK(run_op_test::reason(max, {Array<float>({4, 4})}) ==
        "the input has not one to three spatial dimensions");
}
