#include <halftone/op/causal_conv.hpp>

#include "expanded.hpp"
#include "gradient_check.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("causal convolution: the definition, whole and in pieces", T, float, half) {
  const std::size_t channels = 3, steps = 7, k = 4;
  const Array<T> x = scattered<T>({2, 3, 7}, -2, 2), w = scattered<T>({3, 1, 4}, -1, 1, 2),
                 b = scattered<T>({3}, -1, 1, 3), past = scattered<T>({2, 3, 3}, -2, 2, 4);
  for (const bool has_past : {false, true}) {
    for (const bool has_bias : {false, true}) {
      for (const auto activation : {op::CausalActivation::none, op::CausalActivation::by_silu}) {
        std::vector<double> y, present;
        for (std::size_t line = 0; line < 2 * channels; ++line) {
          const auto whole = [&](std::size_t i) {
            return i < k - 1 ? (has_past ? doubles(past)[line * (k - 1) + i] : 0)
                             : doubles(x)[line * steps + i - (k - 1)];
          };
          for (std::size_t t = 0; t < steps; ++t) {
            double sum = has_bias ? doubles(b)[line % channels] : 0;
            for (std::size_t j = 0; j < k; ++j) {
              sum += whole(t + j) * doubles(w)[line % channels * k + j];
            }
            y.push_back(activation == op::CausalActivation::none ? sum
                                                                 : sum / (1 + std::exp(-sum)));
          }
          for (std::size_t i = steps; i < steps + k - 1; ++i) present.push_back(whole(i));
        }
        const auto out = run_session(
            op::CausalConvWithState{activation},
            {x, w, has_bias ? AnyArray(b) : absent(), has_past ? AnyArray(past) : absent()}, 2);
        check_close<T>(out[0], y, 8, 8 * rounding<T>());
        check_equal<T>(out[1], {2, 3, 3}, present);
      }
    }
  }
}

TEST_CASE("causal convolution: a kernel of one step keeps nothing; what is refused") {
  const Array<float> x({1, 2, 3}, {1, 2, 3, 4, 5, 6}), w({2, 1, 1}, {2, -1});
  const auto out = run_session(op::CausalConvWithState{}, {x, w, absent(), absent()}, 2);
  check_equal<float>(out[0], {1, 2, 3}, {2, 4, 6, -4, -5, -6});
  check_equal<float>(out[1], {1, 2, 0}, {});
  const auto refused = [&](const std::vector<AnyArray>& in) {
    CHECK_THROWS_AS(run_session(op::CausalConvWithState{}, in), ModelError);
  };
  refused({x, Array<float>({3, 1, 2}), absent(), absent()});
  refused({x, Array<float>({2, 2, 2}), absent(), absent()});
  refused({x, Array<float>({2, 2}), absent(), absent()});
  refused({x, Array<float>({2, 1, 3}), absent(), Array<float>({1, 2, 1})});
}

TEST_CASE("gradient of causal convolution") {
  using gradient_test::check_gradients;
  using gradient_test::scattered;
  check_gradients({scattered({2, 2, 5}), scattered({2, 1, 3}, -1, 1, 2), scattered({2}, -1, 1, 3),
                   scattered({2, 2, 2}, -1, 1, 4)},
                  [](Graph& graph, auto& in) {
                    return op::CausalConvWithState{op::CausalActivation::by_swish}.expand(graph, in,
                                                                                          2);
                  });
}
