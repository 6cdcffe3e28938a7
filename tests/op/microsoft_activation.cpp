#include <halftone/op/microsoft_activation.hpp>

#include "microsoft.hpp"

using namespace microsoft_test;

TEST_CASE("com.microsoft: activations against their formulas") {
  const Array<float> x = scattered<float>({2, 3, 8}, -4, 4), bias = scattered<float>({8}, -1, 1, 2);
  const Numbers plain = doubles(x), biased = with_row(plain, doubles(bias));
  const auto each = [](Numbers v, auto f) {
    for (double& n : v) n = f(n);
    return v;
  };
  const auto gelu = [](double v) { return v * phi(v); };
  const auto fast = [](double v) {
    return v / 2 * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
  };
  const auto check = [](const AnyArray& y, const Numbers& expected) {
    check_close<float>(y, expected, 8, 1e-6);
  };
  check(run_session(op::MicrosoftGelu{}, {x})[0], each(plain, gelu));
  check(run_session(op::BiasGelu{}, {x, bias})[0], each(biased, gelu));
  check(run_session(op::FastGelu{}, {x})[0], each(plain, fast));
  check(run_session(op::FastGelu{}, {x, bias})[0], each(biased, fast));
  check(run_session(op::QuickGelu{.alpha = 2}, {x})[0],
        each(plain, [](double v) { return v * logistic(2 * v); }));
  Numbers split;
  for (std::size_t i = 0; i < biased.size(); ++i) {
    if (i % 8 < 4) split.push_back(biased[i] * gelu(biased[i + 4]));
  }
  check(run_session(op::BiasSplitGelu{}, {x, bias})[0], split);
  check(run_session(op::BiasAdd{}, {x, bias, x})[0],
        each(biased, [i = 0, &plain](double v) mutable {
          return v + plain[static_cast<std::size_t>(i++)];
        }));
}

TEST_CASE("com.microsoft BiasSoftmax goes over all dimensions from its axis on") {
  const Array<float> x = scattered<float>({2, 3, 4}, -2, 2),
                     bias = scattered<float>({1, 1, 4}, -1, 1);
  Numbers expected = with_row(doubles(x), doubles(bias));
  for (std::size_t first = 0; first < 24; first += 12) {
    double total = 0;
    for (std::size_t i = 0; i < 12; ++i)
      total += expected[first + i] = std::exp(expected[first + i]);
    for (std::size_t i = 0; i < 12; ++i) expected[first + i] /= total;
  }
  check_close<float>(run_session(op::BiasSoftmax{.axis = 1, .is_inner_broadcast = 0}, {x, bias})[0],
                     expected, 8);
}
