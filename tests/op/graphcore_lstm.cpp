#include <halftone/op/graphcore_lstm.hpp>

#include <cmath>

#include "expanded.hpp"

using namespace run_op_test;

TEST_CASE("lstm with one weight: the formula in double") {
  constexpr std::size_t steps = 3, batch = 2, in = 3, hidden = 2;
  const Array<float> x = scattered<float>({steps, batch, in}, -1, 1),
                     w = scattered<float>({4, in + hidden, hidden}, -1, 1, 2),
                     b = scattered<float>({4, hidden}, -1, 1, 3),
                     start = scattered<float>({2, batch, hidden}, -1, 1, 4);
  const auto logistic = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (const bool has_start : {true, false}) {
    std::vector<double> h(batch * hidden), c(batch * hidden), expected;
    for (std::size_t i = 0; i < h.size() && has_start; ++i) {
      h[i] = static_cast<double>(start[i]);
      c[i] = static_cast<double>(start[h.size() + i]);
    }
    for (std::size_t t = 0; t < steps; ++t) {
      std::vector<double> next(h.size());
      for (std::size_t n = 0; n < batch; ++n) {
        for (std::size_t k = 0; k < hidden; ++k) {
          double gates[4];
          for (std::size_t g = 0; g < 4; ++g) {
            gates[g] = static_cast<double>(b[g * hidden + k]);
            for (std::size_t j = 0; j < in + hidden; ++j) {
              const double value = j < in ? static_cast<double>(x[(t * batch + n) * in + j])
                                          : h[n * hidden + j - in];
              gates[g] += value * static_cast<double>(w[(g * (in + hidden) + j) * hidden + k]);
            }
          }
          double& cell = c[n * hidden + k];
          cell = logistic(gates[0]) * cell + logistic(gates[1]) * std::tanh(gates[2]);
          next[n * hidden + k] = logistic(gates[3]) * std::tanh(cell);
        }
      }
      h = next;
      expected.insert(expected.end(), h.begin(), h.end());
    }
    const auto run_lstm = [&](std::int64_t full) {
      std::vector<AnyArray> inputs{x, w, b};
      if (has_start) inputs.push_back(start);
      return run_session(op::GraphcoreLSTM{.output_full_sequence = full}, inputs, 2);
    };
    const auto all = run_lstm(1), last = run_lstm(0);
    CHECK(all[0].info().shape == Dims{steps, batch, hidden});
    CHECK(last[0].info().shape == Dims{batch, hidden});
    check_close<float>(all[0], expected, 16, 1e-6);
    check_close<float>(all[1], c, 16, 1e-6);
    check_close<float>(last[0], h, 16, 1e-6);
    check_close<float>(last[1], c, 16, 1e-6);
  }
}
