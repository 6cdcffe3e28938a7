#include <halftone/op/microsoft_quantized.hpp>

#include "microsoft.hpp"

using namespace microsoft_test;

namespace {

using Bytes8 = Array<std::uint8_t>;

/// One number with a scale and a zero point, for the inputs of an operator.
struct Quantized {
  AnyArray x;
  double scale;
  double zero;

  Array<float> scales() const { return array<float>({}, {scale}); }
  Bytes8 zeros() const { return array<std::uint8_t>({}, {zero}); }
  Numbers real() const {
    Numbers y = doubles(x);
    for (double& v : y) v = (v - zero) * scale;
    return y;
  }
};

Quantized some(const Dims& shape, double scale, double zero, std::uint64_t seed = 1) {
  return {scattered<std::uint8_t>(shape, 0, 256, seed), scale, zero};
}

/// y is `expected` in bytes of a scale and zero point, within one.
void check_bytes(const AnyArray& y, const Numbers& expected, double scale, double zero) {
  REQUIRE(doubles(y).size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double wanted = std::fmin(std::fmax(std::nearbyint(expected[i] / scale) + zero, 0), 255);
    CHECK(std::fabs(doubles(y)[i] - wanted) <= 1);
  }
}

}  // namespace

TEST_CASE("com.microsoft QLinear: two tensors") {
  const Quantized a = some({2, 3, 4}, 0.125, 120), b = some({3, 4}, 0.25, 100, 2);
  const Array<float> scale({}, {0.25f}), large({}, {8});
  const Bytes8 zero({}, {128});
  Numbers sums = a.real(), products = sums;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] += b.real()[i % 12];
    products[i] *= b.real()[i % 12];
  }
  const auto with = [&](const AnyArray& y_scale) {
    return std::vector<AnyArray>{a.x,        a.scales(), a.zeros(), b.x,
                                 b.scales(), b.zeros(),  y_scale,   zero};
  };
  check_bytes(run_session(op::QLinearAdd{}, with(scale))[0], sums, 0.25, 128);
  check_bytes(run_session(op::QLinearMul{}, with(large))[0], products, 8, 128);
  const Array<bool> condition({3, 1}, {true, false, true});
  Numbers chosen = a.real();
  for (std::size_t i = 0; i < 24; ++i) {
    if (i / 4 % 3 == 1) chosen[i] = b.real()[i % 12];
  }
  check_bytes(run_session(op::QLinearWhere{}, {condition, a.x, a.scales(), a.zeros(), b.x,
                                               b.scales(), b.zeros(), scale, zero})[0],
              chosen, 0.25, 128);
  Numbers joined = a.real();
  const Quantized c = some({1, 3, 4}, 0.25, 100, 2);
  const Numbers behind = c.real();
  joined.insert(joined.end(), behind.begin(), behind.end());
  check_bytes(run_session(op::QLinearConcat{.axis = 0},
                          {scale, zero, a.x, a.scales(), a.zeros(), c.x, c.scales(), c.zeros()})[0],
              joined, 0.25, 128);
}

TEST_CASE("com.microsoft QLinear: one tensor") {
  const Quantized x = some({1, 2, 4, 4}, 0.05, 120);
  const auto check = [&](auto op, auto&& f, double scale, double zero) {
    const AnyArray y = run_session(op, {x.x, x.scales(), x.zeros(), array<float>({}, {scale}),
                                        array<std::uint8_t>({}, {zero})})[0];
    check_bytes(y, doubles(f(array<float>({1, 2, 4, 4}, x.real()))), scale, zero);
  };
  check(
      op::QLinearSigmoid{}, [](const AnyArray& r) { return run(op::Sigmoid{}, {r}); }, 1 / 256.0,
      0);
  check(
      op::QLinearLeakyRelu{.alpha = 0.25f},
      [](const AnyArray& r) { return run(op::LeakyRelu{.alpha = 0.25f}, {r}); }, 0.05, 50);
  check(
      op::QLinearSoftmax{.axis = -1, .opset = 13},
      [](const AnyArray& r) { return run(op::Softmax{}, {r}); }, 1 / 256.0, 0);
  const op::AveragePool pool{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .count_include_pad = 1};
  check(op::QLinearAveragePool{pool}, [&](const AnyArray& r) { return run(pool, {r}); }, 0.03, 110);
  check(
      op::QLinearGlobalAveragePool{},
      [](const AnyArray& r) { return run(op::GlobalAveragePool{}, {r}); }, 0.01, 110);
  check(
      op::QLinearReduceMean{.axes = {2, 3}, .keepdims = 1},
      [](const AnyArray& r) { return run(op::GlobalAveragePool{}, {r}); }, 0.01, 110);
  // Channels behind.
  const auto last = [](const AnyArray& t) { return run(op::Transpose{.perm = {0, 2, 3, 1}}, {t}); };
  const Array<float> scale({}, {0.03f});
  const Bytes8 zero({}, {110});
  const auto both = [&](auto in_front, auto behind) {
    const AnyArray first = run_session(in_front, {x.x, x.scales(), x.zeros(), scale, zero})[0];
    const AnyArray second = run_session(behind, {last(x.x), x.scales(), x.zeros(), scale, zero})[0];
    CHECK(doubles(last(first)) == doubles(second));
  };
  both(op::QLinearAveragePool{pool}, op::QLinearAveragePool{pool, 1});
  both(op::QLinearGlobalAveragePool{}, op::QLinearGlobalAveragePool{1});
}

TEST_CASE("com.microsoft: products of integers") {
  const Quantized a = some({3, 5}, 0.02, 100);
  const auto b = scattered<std::int8_t>({5, 4}, -128, 128, 2);
  const Array<float> scales({4}, {0.01f, 0.02f, 0.03f, 0.04f}),
      bias = scattered<float>({4}, -1, 1, 3);
  const Array<std::int8_t> zeros({4}, {0, 1, -2, 3});
  Numbers real_b = doubles(b);
  for (std::size_t i = 0; i < 20; ++i) {
    real_b[i] = (real_b[i] - doubles(zeros)[i % 4]) * doubles(scales)[i % 4];
  }
  const Numbers plain = product(a.real(), real_b, 3, 5, 4);
  check_close<float>(run_session(op::MatMulIntegerToFloat{},
                                 {a.x, b, a.scales(), scales, a.zeros(), zeros, bias})[0],
                     with_row(plain, doubles(bias)), 32, 1e-5);

  // The dynamic one first rounds a to 255 steps of its range, which has 0 in it.
  const Array<float> wide = array<float>({3, 5}, a.real());
  const auto made = run_session(op::DynamicQuantizeLinear{}, {wide}, 3);
  Numbers rounded = doubles(made[0]);
  for (double& v : rounded) v = (v - doubles(made[2])[0]) * doubles(made[1])[0];
  check_close<float>(run_session(op::DynamicQuantizeMatMul{}, {wide, b, scales, zeros, bias})[0],
                     with_row(product(rounded, real_b, 3, 5, 4), doubles(bias)), 32, 1e-5);

  // c in units of the product of both scales.
  const Array<std::int32_t> c({4}, {100, -200, 300, -400});
  Numbers expected = plain;
  for (std::size_t i = 0; i < 12; ++i) {
    expected[i] = (expected[i] + doubles(c)[i % 4] * a.scale * doubles(scales)[i % 4]) * 0.5;
  }
  const AnyArray turned = run(op::Transpose{.perm = {1, 0}}, {b});
  const op::QGemm gemm{.alpha = 0.5f, .trans_b = true};
  const std::vector<AnyArray> inputs{a.x, a.scales(), a.zeros(), turned, scales, zeros, c};
  check_close<float>(run_session(gemm, inputs)[0], expected, 32, 1e-5);
  auto with_scale = inputs;
  with_scale.push_back(Array<float>({}, {0.5f}));
  with_scale.push_back(Bytes8({}, {90}));
  check_bytes(run_session(gemm, with_scale)[0], expected, 0.5, 90);
}

TEST_CASE("com.microsoft QLinearConv with channels behind is the one with channels in front") {
  const Quantized x = some({1, 2, 4, 4}, 0.1, 120);
  const auto w = scattered<std::int8_t>({3, 2, 3, 3}, -128, 128, 2);
  const std::vector<AnyArray> rest{x.scales(),
                                   x.zeros(),
                                   w,
                                   Array<float>({}, {0.02f}),
                                   Array<std::int8_t>({}, {0}),
                                   Array<float>({}, {0.5f}),
                                   Bytes8({}, {120})};
  const auto with = [&](const AnyArray& first) {
    std::vector<AnyArray> all{first};
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  const op::QLinearConv conv{{.pads = {1, 1, 1, 1}}};
  const auto last = [](const AnyArray& t) { return run(op::Transpose{.perm = {0, 2, 3, 1}}, {t}); };
  const AnyArray expected = run_session(conv, with(x.x))[0];
  CHECK(doubles(run_session(op::MicrosoftQLinearConv{conv}, with(x.x))[0]) == doubles(expected));
  CHECK(doubles(run_session(op::MicrosoftQLinearConv{conv, 1}, with(last(x.x)))[0]) ==
        doubles(last(expected)));
}

TEST_CASE("com.microsoft: integers alone, and other types of quantised numbers") {
  const Bytes8 a({3}, {1, 2, 255}), b({1}, {7});
  check_equal<std::int32_t>(
      run_session(op::MulInteger{}, {a, Bytes8({}, {2}), b, Bytes8({}, {10})})[0], {3},
      {3, 0, -759});
  check_equal<std::uint32_t>(run_session(op::ReduceSumInteger{.axes = {0}, .keepdims = 0}, {a})[0],
                             {}, {258});
  const Array<std::int16_t> wide({1, 2}, {30000, -30000}), tall({2, 1}, {2, 1});
  check_equal<std::int32_t>(run_session(op::MatMulInteger16{}, {wide, tall})[0], {1, 1}, {30000});
  const Array<float> x({3}, {-1, 0.5f, 90000}), half({}, {0.5f});
  check_equal<std::uint16_t>(
      run_session(op::MicrosoftQuantizeLinear{}, {x, half, Array<std::uint16_t>({}, {5})})[0], {3},
      {3, 6, 65535});
  check_equal<float>(
      run_session(op::MicrosoftDequantizeLinear{}, {Array<std::int16_t>({2}, {-9, 9}), half})[0],
      {2}, {-4.5, 4.5});
}

TEST_CASE("com.microsoft DynamicQuantizeLSTM is LSTM with the weights its integers stand for") {
  const Array<float> x = scattered<float>({4, 2, 3}, -1, 1);
  const auto w = scattered<std::int8_t>({1, 3, 8}, -128, 128, 2),
             r = scattered<std::int8_t>({1, 2, 8}, -128, 128, 3);
  const Array<float> w_scale({1}, {0.01f}), r_scale = scattered<float>({1, 8}, 0.005, 0.01, 4);
  const Array<std::int8_t> w_zero({1}, {3}), r_zero({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto real = [](const AnyArray& q, std::size_t rows, const Numbers& scales,
                       const Numbers& zeros) {
    Numbers y(rows * 8);  // transposed
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < 8; ++j) {
        const double number = doubles(q)[i * 8 + j] - zeros[j % zeros.size()];
        y[j * rows + i] = number * scales[j % scales.size()];
      }
    }
    return array<float>({1, 8, std::int64_t(rows)}, y);
  };
  const op::LSTM lstm{.hidden_size = 2};
  const auto expected = run_all(lstm,
                                {x, real(w, 3, doubles(w_scale), doubles(w_zero)),
                                 real(r, 2, doubles(r_scale), doubles(r_zero))},
                                3);
  const auto y = run_session(
      op::DynamicQuantizeLSTM{lstm},
      {x, w, r, absent(), absent(), absent(), absent(), absent(), w_scale, w_zero, r_scale, r_zero},
      3);
  for (std::size_t i = 0; i < 3; ++i) check_close<float>(y[i], doubles(expected[i]), 16, 1e-6);
}
