#include <algorithm>
#include <cmath>
#include <optional>

#include <halftone/kernel/recurrent.hpp>
#include <halftone/op/list.hpp>

#include "ipu/arithmetic.hpp"

// Layers of RNN, GRU and LSTM in half, as the machine computes them: one product for the inputs of
// all steps, one for the states of each, and every operation of the gates rounded to half.
namespace halftone::ipu {
namespace {

using kernel::Cell;
using Values = std::vector<float>;

std::optional<kernel::Recurrent> layer_of(const Node& node, const Dims& x, const Dims& r) {
  const auto layer = [&]<class Op>(Cell cell, Op op) {
    return halftone::detail::RecurrentRule{cell}.layer(op, x, r);
  };
  const OpId& id = node.op->id;
  if (id == op::LSTM::id) return layer(Cell::lstm, unpack<op::LSTM>(node.attributes));
  if (id == op::GRU::id) return layer(Cell::gru, unpack<op::GRU>(node.attributes));
  if (id == op::RNN::id) return layer(Cell::rnn, unpack<op::RNN>(node.attributes));
  return std::nullopt;
}

Values floats_of(const AnyView& x) {
  const half* from = static_cast<const half*>(x.data);
  return {from, from + x.info.elements()};
}
Values part(const Values& v, std::int64_t first, std::int64_t count) {
  return {v.begin() + first, v.begin() + first + count};
}
/// Rows [first, first + count) of a matrix, as columns.
Values turned(const Values& v, std::int64_t first, std::int64_t count, std::int64_t width) {
  Values t(static_cast<std::size_t>(count * width));
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t k = 0; k < width; ++k) {
      t[static_cast<std::size_t>(k * count + i)] =
          v[static_cast<std::size_t>((first + i) * width + k)];
    }
  }
  return t;
}

}  // namespace

bool ArithmeticRunner::run_recurrent(const Now& now, const std::vector<TensorInfo>& infos,
                                     std::vector<AnyArray>& outputs) {
  const auto given = [&](std::size_t i) {
    return i < now.inputs.size() && now.inputs[i].data != nullptr ? &now.inputs[i] : nullptr;
  };
  if (now.inputs.size() < 3 || now.inputs[0].info.type != ElementType::float16) return false;
  const std::optional<kernel::Recurrent> found =
      layer_of(now.node, now.inputs[0].info.shape, now.inputs[2].info.shape);
  if (!found) return false;
  const kernel::Recurrent& l = *found;
  const std::int32_t* lengths = nullptr;
  if (const AnyView* view = given(4)) {
    lengths = static_cast<const std::int32_t*>(view->data);
    // The kernel says what is wrong.
    for (std::int64_t n = 0; n < l.batch; ++n) {
      if (lengths[n] < 0 || lengths[n] > l.steps) return false;
    }
  }
  const std::int64_t hidden = l.hidden, gates = l.gates(), wide = gates * hidden;
  const std::int64_t states = l.batch * hidden, rows = l.steps * l.batch;
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };

  const auto rounded = [&](Values v) {
    round_to_half(now, 0, v);
    return v;
  };
  // A shorter operand is repeated, row by row.
  const auto zip = [&](Values a, const Values& b, auto f) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = f(a[i], b[i % b.size()]);
    return rounded(std::move(a));
  };
  const auto plus = [&](Values a, const Values& b) {
    return zip(std::move(a), b, [](float v, float w) { return v + w; });
  };
  const auto times = [&](Values a, const Values& b) {
    return zip(std::move(a), b, [](float v, float w) { return v * w; });
  };
  const auto activated = [&](const kernel::CellActivation& a, Values v) {
    kernel::detail::CellRow<float>::activate(a, v.data(), static_cast<std::int64_t>(v.size()));
    return rounded(std::move(v));
  };
  const auto squashed = [&](const kernel::CellActivation& a, Values v) {
    for (float& x : v) x = l.clips ? std::clamp(x, -l.clip, l.clip) : x;
    return activated(a, std::move(v));
  };
  const auto one_minus = [&](Values v) {
    for (float& x : v) x = 1 - x;
    return rounded(std::move(v));
  };
  const auto multiplied = [&](const Values& left, const Values& right, std::int64_t m,
                              std::int64_t k, std::int64_t n) {
    Values y(size(m * n));
    multiply(now, {m, k, n}, MatrixRows(left.data(), k, k, 1), right.data(), y.data());
    return rounded(std::move(y));
  };

  const Values x = floats_of(now.inputs[0]), w = floats_of(now.inputs[1]),
               r = floats_of(now.inputs[2]);
  Values all_y(size(rows * l.directions * hidden)), last[2];
  for (Values& v : last) v.resize(size(l.directions * states));
  // Of [directions, batch, hidden], or [batch, directions, hidden].
  const auto state_at = [&](std::int64_t d, std::int64_t n) {
    return (l.batch_first ? n * l.directions + d : d * l.batch + n) * hidden;
  };
  const auto initial = [&](std::size_t input, std::int64_t d) {
    Values v(size(states));
    const AnyView* view = given(input);
    if (view == nullptr) return v;
    const half* from = static_cast<const half*>(view->data);
    for (std::int64_t i = 0; i < states; ++i) {
      v[size(i)] = static_cast<float>(from[state_at(d, i / hidden) + i % hidden]);
    }
    return v;
  };

  for (std::int64_t d = 0; d < l.directions; ++d) {
    const std::size_t functions = kernel::functions_of(l.cell);
    const kernel::CellActivation* function = l.activations + size(d) * functions;
    const Values products =
        multiplied(x, turned(part(w, d * wide * l.inputs, wide * l.inputs), 0, wide, l.inputs),
                   rows, l.inputs, wide);
    const Values own_r = part(r, d * wide * hidden, wide * hidden);
    const bool is_linear = l.cell == Cell::gru && l.linear_before_reset;
    // The candidate of a GRU has a product of its own unless its gate is applied behind it.
    const std::int64_t together = l.cell == Cell::gru && !is_linear ? 2 : gates;
    const Values r_gates = turned(own_r, 0, together * hidden, hidden);
    const Values r_candidate =
        turned(own_r, together * hidden, (gates - together) * hidden, hidden);
    Values biases[4], candidate_bias;
    if (const AnyView* view = given(3)) {
      const Values b = floats_of(*view);
      for (std::int64_t k = 0; k < gates; ++k) {
        const Values of_w = part(b, 2 * d * wide + k * hidden, hidden);
        const Values of_r = part(b, (2 * d + 1) * wide + k * hidden, hidden);
        const bool is_apart = is_linear && k == 2;
        biases[k] = is_apart ? of_w : plus(of_w, of_r);
        if (is_apart) candidate_bias = of_r;
      }
    }
    const auto biased = [&](Values v, const Values& bias) {
      return bias.empty() ? v : plus(std::move(v), bias);
    };
    Values peepholes[3];
    for (std::int64_t k = 0; k < 3 && given(7) != nullptr; ++k) {
      peepholes[k] = part(floats_of(*given(7)), (3 * d + k) * hidden, hidden);
    }
    const auto peeked = [&](Values v, const Values& c, const Values& p) {
      return p.empty() ? v : plus(std::move(v), times(c, p));
    };

    Values h = initial(5, d), c = l.cell == Cell::lstm ? initial(6, d) : Values{};
    for (std::int64_t step = 0; step < l.steps; ++step) {
      // Where each sequence is; -1: behind its end.
      const auto place = [&](std::int64_t n) -> std::int64_t {
        const std::int64_t steps = lengths == nullptr ? l.steps : std::int64_t{lengths[n]};
        if (step >= steps) return -1;
        return l.is_reverse(d) ? steps - 1 - step : step;
      };
      const auto of_input = [&](std::int64_t gate) {
        Values v(size(states));
        for (std::int64_t n = 0; n < l.batch; ++n) {
          const std::int64_t at = place(n);
          if (at < 0) continue;
          const std::int64_t row = l.batch_first ? n * l.steps + at : at * l.batch + n;
          const auto from = products.begin() + row * wide + gate * hidden;
          std::copy(from, from + hidden, v.begin() + n * hidden);
        }
        return v;
      };
      const Values recurring = multiplied(h, r_gates, l.batch, hidden, together * hidden);
      const auto of_state = [&](std::int64_t gate) {
        Values v(size(states));
        for (std::int64_t n = 0; n < l.batch; ++n) {
          const auto from = recurring.begin() + (n * together + gate) * hidden;
          std::copy(from, from + hidden, v.begin() + n * hidden);
        }
        return v;
      };
      const auto gate = [&](std::int64_t k) {
        return biased(plus(of_input(k), of_state(k)), biases[k]);
      };
      Values next_h, next_c;
      switch (l.cell) {
        case Cell::rnn:
          next_h = squashed(function[0], gate(0));
          break;
        case Cell::lstm: {
          const Values i = squashed(function[0], peeked(gate(0), c, peepholes[0]));
          const Values forget = l.input_forget
                                    ? one_minus(i)
                                    : squashed(function[0], peeked(gate(2), c, peepholes[2]));
          const Values candidate = squashed(function[1], gate(3));
          next_c = plus(times(forget, c), times(i, candidate));
          const Values o = squashed(function[0], peeked(gate(1), next_c, peepholes[1]));
          next_h = times(o, activated(function[2], next_c));
          break;
        }
        case Cell::gru: {
          const Values z = squashed(function[0], gate(0)), reset = squashed(function[0], gate(1));
          const Values product =
              is_linear ? times(reset, biased(of_state(2), candidate_bias))
                        : multiplied(times(reset, h), r_candidate, l.batch, hidden, hidden);
          const Values candidate =
              squashed(function[1], biased(plus(of_input(2), product), biases[2]));
          next_h = plus(times(one_minus(z), candidate), times(z, h));
          break;
        }
      }
      for (std::int64_t n = 0; n < l.batch; ++n) {
        const std::int64_t at = place(n);
        if (at < 0) continue;
        const auto row = [&](Values& v) { return v.begin() + n * hidden; };
        std::copy(row(next_h), row(next_h) + hidden, row(h));
        if (l.cell == Cell::lstm) std::copy(row(next_c), row(next_c) + hidden, row(c));
        const std::int64_t to = l.batch_first ? (n * l.steps + at) * l.directions + d
                                              : (at * l.directions + d) * l.batch + n;
        std::copy(row(h), row(h) + hidden, all_y.begin() + to * hidden);
      }
    }
    for (std::int64_t i = 0; i < states; ++i) {
      const auto to = size(state_at(d, i / hidden) + i % hidden);
      last[0][to] = h[size(i)];
      if (l.cell == Cell::lstm) last[1][to] = c[size(i)];
    }
  }

  outputs.assign(now.node.outputs.size(), AnyArray{});
  const Values* values[] = {&all_y, &last[0], &last[1]};
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (now.node.outputs[o] == no_tensor) continue;
    outputs[o] = AnyArray(infos[o]);
    std::transform(values[o]->begin(), values[o]->end(), outputs[o].values<half>().begin(),
                   [](float v) { return static_cast<half>(v); });
  }
  return true;
}

}  // namespace halftone::ipu
