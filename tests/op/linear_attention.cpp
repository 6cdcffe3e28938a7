#include <halftone/op/linear_attention.hpp>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

constexpr std::size_t batch = 2, steps = 5, key_heads = 2, group = 2, size = 3, values = 4;

struct Inputs {
  std::vector<double> q, k, v, past, decay, beta;
};

/// The recurrence of the specification in double: y and the last states.
std::pair<std::vector<double>, std::vector<double>> recurrence(const Inputs& in, bool is_gated,
                                                               bool is_delta) {
  const std::size_t heads = key_heads * group;
  std::vector<double> y(batch * steps * heads * values), states = in.past;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < key_heads; ++h) {
      double* const s = states.data() + (b * key_heads + h) * size * values;
      for (std::size_t t = b * steps; t < (b + 1) * steps; ++t) {
        const double* const k = in.k.data() + (t * key_heads + h) * size;
        for (std::size_t i = 0; is_gated && i < size * values; ++i) {
          s[i] *= std::exp(
              in.decay[(t * key_heads + h) * (in.decay.size() / batch / steps / key_heads) +
                       (in.decay.size() == batch * steps * key_heads ? 0 : i / values)]);
        }
        for (std::size_t m = 0; m < values; ++m) {
          double v = in.v[(t * key_heads + h) * values + m];
          if (is_delta) {
            for (std::size_t d = 0; d < size; ++d) v -= s[d * values + m] * k[d];
            v *= in.beta[in.beta.size() == batch * steps ? t : t * key_heads + h];
          }
          for (std::size_t d = 0; d < size; ++d) s[d * values + m] += k[d] * v;
        }
        for (std::size_t g = h * group; g < (h + 1) * group; ++g) {
          for (std::size_t m = 0; m < values; ++m) {
            double sum = 0;
            for (std::size_t d = 0; d < size; ++d) {
              sum += in.q[(t * heads + g) * size + d] * s[d * values + m];
            }
            y[(t * heads + g) * values + m] = sum / std::sqrt(3.0);
          }
        }
      }
    }
  }
  return {y, states};
}

}  // namespace

TEST_CASE_TEMPLATE("linear attention: all rules", T, float, half) {
  const Array<T> q = scattered<T>({2, 5, 12}, -1, 1), k = scattered<T>({2, 5, 6}, -0.6, 0.6, 2),
                 v = scattered<T>({2, 5, 8}, -1, 1, 3);
  const Array<float> past = scattered<float>({2, 2, 3, 4}, -1, 1, 4);
  using Rule = op::UpdateRule;
  for (const Rule rule : {Rule::linear, Rule::gated, Rule::delta, Rule::gated_delta}) {
    const op::LinearAttention op{.q_num_heads = 4, .kv_num_heads = 2, .update_rule = rule};
    for (const bool is_narrow : {false, true}) {
      const Array<T> decay = scattered<T>({2, 5, is_narrow ? 2 : 6}, -1, 0, 5);
      const Array<T> beta = scattered<T>({2, 5, is_narrow ? 1 : 2}, 0, 1, 6);
      const auto [y, states] = recurrence(
          {doubles(q), doubles(k), doubles(v), doubles(past), doubles(decay), doubles(beta)},
          op.is_gated(), op.is_delta());
      const auto out = run_all(op,
                               {q, k, v, past, op.is_gated() ? AnyArray(decay) : absent(),
                                op.is_delta() ? AnyArray(beta) : absent()},
                               2);
      check_close<T>(out[0], y, 8, 8 * rounding<T>());
      check_close<float>(out[1], states, 64, 1e-6);
    }
  }
}

TEST_CASE("linear attention: no past, wrong inputs") {
  const Array<float> q = scattered<float>({1, 2, 6}, -1, 1),
                     state = scattered<float>({1, 2, 3, 3}, 0, 1);
  const op::LinearAttention op{
      .q_num_heads = 2, .kv_num_heads = 2, .scale = 2, .update_rule = op::UpdateRule::linear};
  const auto out = run_all(op, {q, q, q}, 2);
  CHECK(out[1].info() == TensorInfo{ElementType::float32, {1, 2, 3, 3}});
  // The first step alone: y = 2 * v (k' q).
  double product = 0;
  for (std::size_t i = 0; i < 3; ++i) product += doubles(q)[i] * doubles(q)[i];
  CHECK(doubles(out[0])[1] == doctest::Approx(2 * doubles(q)[1] * product));
  CHECK(reason(op::LinearAttention{.q_num_heads = 3, .kv_num_heads = 2}, {q, q, q}) ==
        "q_num_heads is not a positive multiple of kv_num_heads");
  CHECK(reason(op::LinearAttention{.q_num_heads = 2, .kv_num_heads = 2}, {q, q, q}) ==
        "the update rule needs decay");
  CHECK(reason(op, {q, q, q, absent(), q}) == "the update rule has no decay");
  CHECK(reason(op, {q, q, q, Array<float>({1, 2, 3, 2})}) == "the state does not fit the inputs");
  CHECK(reason(op, {q, Array<float>({1, 3, 6}), q}) == "numbers of steps differ");
}
