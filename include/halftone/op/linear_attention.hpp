#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_LINEAR_ATTENTION_HPP
#define HALFTONE_OP_LINEAR_ATTENTION_HPP

#include <halftone/base/math.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone {

namespace op {
/// How LinearAttention's state changes at each step.
enum class UpdateRule : std::uint8_t { linear, gated, delta, gated_delta };
}  // namespace op

namespace detail {
inline constexpr std::string_view update_rule_names[] = {"linear", "gated", "delta", "gated_delta"};
}

namespace op {
constexpr std::span<const std::string_view> names_of(UpdateRule) {
  return halftone::detail::update_rule_names;
}

/// Attention without a softmax: each head has a matrix s as state, to which step t adds its key and
/// value, s += k v', and of which it reads y = scale * s' q.
///
/// q          [batch, steps, q_num_heads * size]
/// k          [batch, steps, kv_num_heads * size]; query heads may be a multiple, neighbours share a
///            state
/// v          [batch, steps, kv_num_heads * values]
/// past_state, present_state  [batch, kv_num_heads, size, values]; absent: zeros
/// decay      [batch, steps, kv_num_heads], or times size: with the gated rules each row of s is
///            first multiplied by e^decay
/// beta       [batch, steps, kv_num_heads or 1]: with the delta rules v becomes beta * (v - s' k)
/// y          [batch, steps, q_num_heads * values]
/// scale      0: 1 / sqrt(size)
/// chunk_size without effect: steps are taken one by one
/// limits     computed in float; no gradient
/// source     ai.onnx LinearAttention-27; Yang et al. 2024, arXiv:2412.06464
struct LinearAttention {
  std::int64_t q_num_heads = required, kv_num_heads = required, chunk_size = 64;
  float scale = 0;
  UpdateRule update_rule = UpdateRule::gated_delta;

  static constexpr OpId id{"ai.onnx", "LinearAttention", 27};
  static constexpr Signature signature = "q k v past_state:S? decay? beta? -> y present_state:S";
  using types = TypeList<TypeList<float, half, bfloat16>, TypeList<float, half, bfloat16>>;

  constexpr void attributes(auto&& visit) {
    visit("q_num_heads", q_num_heads);
    visit("kv_num_heads", kv_num_heads);
    visit("chunk_size", chunk_size);
    visit("scale", scale);
    visit("update_rule", update_rule);
  }
  constexpr bool is_gated() const {
    return update_rule == UpdateRule::gated || update_rule == UpdateRule::gated_delta;
  }
  constexpr bool is_delta() const {
    return update_rule == UpdateRule::delta || update_rule == UpdateRule::gated_delta;
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    const std::int64_t steps = in[0].shape[1];
    TensorInfo state = out[1];
    state.type = in[0].type;
    machine.repeat(steps);
    if (is_gated()) machine.pass("Mul", state);
    if (is_delta()) machine.pass("Mul", state);
    machine.pass("Mul", state);
    machine.pass("Add", state);
    machine.pass("Mul", state);
    machine.reduce(state, out[0].elements() / (steps > 0 ? steps : 1));
  }
  constexpr Inferred infer(const Inputs& in) const {
    if (q_num_heads < 1 || kv_num_heads < 1 || q_num_heads % kv_num_heads != 0) {
      return Inferred::mismatch("q_num_heads is not a positive multiple of kv_num_heads",
                                kv_num_heads, q_num_heads);
    }
    if (is_gated() != in.has(4)) {
      return Inferred::mismatch(is_gated() ? "the update rule needs decay"
                                           : "the update rule has no decay");
    }
    if (is_delta() != in.has(5)) {
      return Inferred::mismatch(is_delta() ? "the update rule needs beta"
                                           : "the update rule has no beta");
    }
    std::int64_t batch = dynamic, steps = dynamic;
    for (const std::size_t i : {0, 1, 2, 4, 5}) {
      if (!in.has(i)) continue;
      if (in[i].rank() != 3) {
        return Inferred::mismatch("an input has not three dimensions", 3,
                                  static_cast<std::int64_t>(in[i].rank()));
      }
      const std::int64_t b = agree(batch, in[i].shape[0]), s = agree(steps, in[i].shape[1]);
      if (b == contradictory) return Inferred::mismatch("batches differ", batch, in[i].shape[0]);
      if (s == contradictory)
        return Inferred::mismatch("numbers of steps differ", steps, in[i].shape[1]);
      batch = b;
      steps = s;
    }
    const auto per_head = [&](std::size_t i, std::int64_t heads) {
      const std::int64_t all = in[i].shape[2];
      return all == dynamic ? dynamic : all % heads == 0 ? all / heads : std::int64_t{-2};
    };
    const std::int64_t size = agree(per_head(0, q_num_heads), per_head(1, kv_num_heads));
    const std::int64_t values = per_head(2, kv_num_heads);
    if (size == contradictory || values == contradictory) {
      return Inferred::mismatch("the heads do not fit the last dimensions");
    }
    if (is_gated()) {
      const std::int64_t decays = in[4].shape[2];
      if (decays != dynamic && decays != kv_num_heads && size != dynamic &&
          decays != kv_num_heads * size) {
        return Inferred::mismatch("decay has neither a number for each head nor one for each key",
                                  kv_num_heads, decays);
      }
    }
    if (is_delta()) {
      const std::int64_t betas = in[5].shape[2];
      if (betas != dynamic && betas != kv_num_heads && betas != 1) {
        return Inferred::mismatch("beta has not one number for each head", kv_num_heads, betas);
      }
    }
    TensorInfo state{in.has(3) ? in[3].type : in[0].type, {batch, kv_num_heads, size, values}};
    if (in.has(3)) {
      if (in[3].rank() != 4) {
        return Inferred::mismatch("the state has not four dimensions", 4,
                                  static_cast<std::int64_t>(in[3].rank()));
      }
      for (std::size_t i = 0; i < 4; ++i) {
        const std::int64_t both = agree(state.shape[i], in[3].shape[i]);
        if (both == contradictory) {
          return Inferred::mismatch("the state does not fit the inputs", state.shape[i],
                                    in[3].shape[i]);
        }
        state.shape[i] = both;
      }
    }
    if (state.shape[3] > INT64_MAX / q_num_heads) return Inferred::mismatch("too many values");
    const std::int64_t out = state.shape[3] == dynamic ? dynamic : q_num_heads * state.shape[3];
    return {TensorInfo{in[0].type, {batch, steps, out}}, state};
  }

  template <class T, class S>
  void kernel(const KernelCall& call, View<const T> q, View<const T> k, View<const T> v,
              View<const S> past_state, View<const T> decay, View<const T> beta, View<T> y,
              View<S> present_state) const {
    const std::int64_t batch = present_state.extent(0), size = present_state.extent(2),
                       values = present_state.extent(3), steps = q.extent(1);
    const std::int64_t group = q_num_heads / kv_num_heads, matrix = size * values;
    const float by = scale == 0 ? 1 / math::sqrt(static_cast<float>(size)) : scale;
    float* const room = static_cast<float*>(call.workspace);
    kernel::parallel_for(*call.executor, batch * kv_num_heads, [&](std::int64_t unit) {
      const std::int64_t sample = unit / kv_num_heads, head = unit % kv_num_heads;
      float* const state = room + unit * (matrix + values);
      float* const row = state + matrix;  // what is added, then what is read
      for (std::int64_t i = 0; i < matrix; ++i) {
        state[i] = past_state ? static_cast<float>(past_state[unit * matrix + i]) : 0.f;
      }
      for (std::int64_t step = sample * steps; step < (sample + 1) * steps; ++step) {
        const T* const key = k.data + (step * kv_num_heads + head) * size;
        const T* const value = v.data + (step * kv_num_heads + head) * values;
        if (is_gated()) {
          const bool is_shared = decay.extent(2) == kv_num_heads;
          for (std::int64_t d = 0; d < size; ++d) {
            const std::int64_t at = step * kv_num_heads + head;
            const float g = math::exp(static_cast<float>(decay[is_shared ? at : at * size + d]));
            for (std::int64_t m = 0; m < values; ++m) state[d * values + m] *= g;
          }
        }
        for (std::int64_t m = 0; m < values; ++m) row[m] = static_cast<float>(value[m]);
        if (is_delta()) {
          const std::int64_t betas = beta.extent(2);
          const float b = static_cast<float>(beta[step * betas + (betas == 1 ? 0 : head)]);
          for (std::int64_t d = 0; d < size; ++d) {
            const float x = static_cast<float>(key[d]);
            for (std::int64_t m = 0; m < values; ++m) row[m] -= state[d * values + m] * x;
          }
          for (std::int64_t m = 0; m < values; ++m) row[m] *= b;
        }
        for (std::int64_t d = 0; d < size; ++d) {
          const float x = static_cast<float>(key[d]);
          for (std::int64_t m = 0; m < values; ++m) state[d * values + m] += x * row[m];
        }
        for (std::int64_t h = head * group; h < (head + 1) * group; ++h) {
          const T* const query = q.data + (step * q_num_heads + h) * size;
          T* const to = y.data + (step * q_num_heads + h) * values;
          for (std::int64_t m = 0; m < values; ++m) row[m] = 0;
          for (std::int64_t d = 0; d < size; ++d) {
            const float x = static_cast<float>(query[d]);
            for (std::int64_t m = 0; m < values; ++m) row[m] += state[d * values + m] * x;
          }
          for (std::int64_t m = 0; m < values; ++m) to[m] = static_cast<T>(by * row[m]);
        }
      }
      for (std::int64_t i = 0; i < matrix; ++i) {
        present_state[unit * matrix + i] = static_cast<S>(state[i]);
      }
    });
  }
  template <class T, class S>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const T>, View<const T>,
                                  View<const S>, View<const T>, View<const T>, View<T>,
                                  View<S> present_state) const {
    const std::int64_t values = present_state.extent(3);
    const std::int64_t units = present_state.extent(0) * present_state.extent(1);
    return static_cast<std::size_t>(units * (present_state.extent(2) + 1) * values) * sizeof(float);
  }
};

}  // namespace op
}  // namespace halftone

#endif
