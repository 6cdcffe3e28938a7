#include <halftone/op/microsoft_product.hpp>

#include "microsoft.hpp"

using namespace microsoft_test;

TEST_CASE("com.microsoft FusedMatMul: both operands in every order of their dimensions") {
  // a as [2, 3, 4], b as [2, 4, 5], before they are turned.
  const Numbers a = doubles(scattered<float>({24}, -1, 1)),
                b = doubles(scattered<float>({40}, -1, 1, 2));
  Numbers expected;
  for (std::size_t g = 0; g < 2; ++g) {
    const Numbers y =
        product(Numbers(a.begin() + long(g) * 12, a.begin() + long(g + 1) * 12),
                Numbers(b.begin() + long(g) * 20, b.begin() + long(g + 1) * 20), 3, 4, 5);
    for (const double v : y) expected.push_back(v * 0.5);
  }
  // The tensor whose `perm` is [2, rows, columns].
  const auto turned = [](const Numbers& x, std::int64_t rows, std::int64_t columns, bool transposed,
                         bool moved) {
    const std::int64_t r = transposed ? columns : rows, c = transposed ? rows : columns;
    Array<float> y(moved ? Dims{r, 2, c} : Dims{2, r, c});
    Numbers values(x.size());
    for (std::int64_t g = 0; g < 2; ++g) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          const std::int64_t row = transposed ? j : i, column = transposed ? i : j;
          const std::int64_t at = moved ? (row * 2 + g) * c + column : (g * r + row) * c + column;
          values[std::size_t(at)] = x[std::size_t((g * rows + i) * columns + j)];
        }
      }
    }
    fill(y, values);
    return y;
  };
  for (int way = 0; way < 16; ++way) {
    CAPTURE(way);
    const op::FusedMatMul op{{.alpha = 0.5f,
                              .trans_a = (way & 1) != 0,
                              .trans_b = (way & 2) != 0,
                              .trans_batch_a = (way & 4) != 0,
                              .trans_batch_b = (way & 8) != 0}};
    const AnyArray y =
        run_session(op, {turned(a, 3, 4, op.with.trans_a, op.with.trans_batch_a),
                         turned(b, 4, 5, op.with.trans_b, op.with.trans_batch_b)})[0];
    CHECK(y.info().shape == Dims{2, 3, 5});
    check_close<float>(y, expected, 16, 1e-6);
  }
}

TEST_CASE("com.microsoft FusedGemm and GemmFastGelu") {
  const Array<float> a = scattered<float>({3, 4}, -1, 1), b = scattered<float>({4, 5}, -1, 1, 2),
                     c = scattered<float>({5}, -1, 1, 3);
  const Numbers plain = with_row(product(doubles(a), doubles(b), 3, 4, 5), doubles(c));
  const auto check = [&](op::FusedGemm op, auto f) {
    Numbers expected = plain;
    for (double& v : expected) v = f(v);
    check_close<float>(run_session(op, {a, b, c})[0], expected, 16, 1e-6);
  };
  check({.activation = FusedActivation::relu}, [](double v) { return std::fmax(v, 0); });
  check({.activation = FusedActivation::leaky_relu, .activation_alpha = 0.25f},
        [](double v) { return v < 0 ? v * 0.25 : v; });
  check({.activation = FusedActivation::hard_sigmoid,
         .activation_alpha = 0.5f,
         .activation_beta = 0.25f},
        [](double v) { return std::fmin(std::fmax(v / 2 + 0.25, 0), 1); });
  Numbers expected = plain;
  for (double& v : expected) {
    v = v / 2 * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
  }
  check_close<float>(run_session(op::GemmFastGelu{}, {a, b, c})[0], expected, 16, 1e-6);
}

TEST_CASE("com.microsoft convolutions are Conv with what surrounds them") {
  const Array<float> x = scattered<float>({1, 2, 4, 4}, -1, 1),
                     w = scattered<float>({3, 2, 3, 3}, -1, 1, 2),
                     b = scattered<float>({3}, -1, 1, 3),
                     z = scattered<float>({1, 3, 4, 4}, -1, 1, 4);
  const op::Conv conv{.pads = {1, 1, 1, 1}};
  const Numbers y = doubles(run(conv, {x, w, b}));
  Numbers expected = y;
  for (std::size_t i = 0; i < y.size(); ++i) {
    expected[i] = std::fmin(std::fmax(y[i] + doubles(z)[i], -0.5), 0.75);
  }
  const op::MicrosoftFusedConv fused{conv, FusedActivation::clip, {-0.5f, 0.75f}};
  check_close<float>(run_session(fused, {x, w, b, z})[0], expected, 8, 1e-6);

  const auto last = [](const AnyArray& t) { return run(op::Transpose{.perm = {0, 2, 3, 1}}, {t}); };
  check_close<float>(run_session(op::NhwcFusedConv{fused}, {last(x), w, b, last(z)})[0],
                     doubles(last(array<float>({1, 3, 4, 4}, expected))), 8, 1e-6);
  check_close<float>(run_session(op::NhwcConv{conv}, {last(x), last(w), b})[0],
                     doubles(last(array<float>({1, 3, 4, 4}, y))), 8, 1e-6);
}

TEST_CASE("com.microsoft ConvTransposeWithDynamicPads is ConvTranspose with these pads") {
  const Array<float> x = scattered<float>({1, 2, 3, 4}, -1, 1),
                     w = scattered<float>({2, 3, 3, 3}, -1, 1, 2);
  const op::ConvTranspose padded{.strides = {2, 2}, .output_padding = {1, 0}, .pads = {1, 0, 2, 1}};
  const AnyArray expected = run(padded, {x, w});
  const Array<std::int64_t> pads({4}, {1, 0, 2, 1});
  const AnyArray y =
      run_session(op::ConvTransposeWithDynamicPads{.strides = {2, 2}, .output_padding = {1, 0}},
                  {x, w, pads})[0];
  CHECK(y.info().shape == expected.info().shape);
  check_close<float>(y, doubles(expected), 4, 1e-6);
}
