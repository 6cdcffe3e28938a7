#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <halftone/kernel/recurrent_gradient.hpp>
#include <halftone/op/list.hpp>

#include "ipu/arithmetic.hpp"

// Layers of RNN, GRU and LSTM in half, as the machine computes them, there and back: one product
// for the inputs (back: the states) of all steps, one for the states (back: their gradients) of
// each, and every operation of the gates rounded to half.
namespace halftone::ipu {
namespace {

using kernel::Cell;
using Values = std::vector<float>;

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

std::optional<kernel::Recurrent> layer_of(const Node& node, const Dims& x, const Dims& r) {
  const auto layer = [&]<class Op>(Cell cell, Op op) {
    return halftone::detail::RecurrentRule{cell}.layer(op, x, r);
  };
  const OpId& id = node.op->id;
  if (id == op::LSTM::id) return layer(Cell::lstm, unpack<op::LSTM>(node.attributes));
  if (id == op::GRU::id) return layer(Cell::gru, unpack<op::GRU>(node.attributes));
  if (id == op::RNN::id) return layer(Cell::rnn, unpack<op::RNN>(node.attributes));
  if (id == op::RecurrentGradient::id) {
    const auto op = unpack<op::RecurrentGradient>(node.attributes);
    return layer(op.cell, op);
  }
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
  Values t(size(count * width));
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t k = 0; k < width; ++k) {
      t[size(k * count + i)] = v[size((first + i) * width + k)];
    }
  }
  return t;
}
/// Columns [first, first + count) of rows of `width`.
Values columns(const Values& v, std::int64_t width, std::int64_t first, std::int64_t count) {
  Values part(v.size() / size(width) * size(count));
  for (std::size_t row = 0; row * size(width) < v.size(); ++row) {
    std::copy_n(v.begin() + static_cast<std::int64_t>(row) * width + first, count,
                part.begin() + static_cast<std::int64_t>(row) * count);
  }
  return part;
}
/// Rows of the parts' rows, one behind the other.
Values side_by_side(std::initializer_list<const Values*> parts, std::int64_t width) {
  Values joined;
  const std::int64_t rows = static_cast<std::int64_t>((*parts.begin())->size()) / width;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const Values* v : parts) {
      joined.insert(joined.end(), v->begin() + row * width, v->begin() + (row + 1) * width);
    }
  }
  return joined;
}

}  // namespace

/// One direction of a layer at a time: its weights, and the operations of its gates.
struct ArithmeticRunner::Layer {
  ArithmeticRunner& runner;
  const Now& now;
  kernel::Recurrent l;
  const std::int32_t* lengths;
  std::int64_t d = 0;
  Values r_gates{}, r_candidate{};  ///< [hidden, ...]
  Values peepholes[3]{};            ///< of i, o and k, or empty

  const std::int64_t hidden = l.hidden, gates = l.gates(), wide = gates * hidden;
  const std::int64_t states = l.batch * hidden, rows = l.steps * l.batch;
  const bool is_linear = l.cell == Cell::gru && l.linear_before_reset;
  /// The candidate of a GRU has a product of its own unless its gate is applied behind it.
  const bool is_split = l.cell == Cell::gru && !is_linear;
  const std::int64_t together = is_split ? 2 : gates;

  /// Layers of half with lengths that fit, of the weight in input `r` and the lengths in `sizes`.
  static std::optional<Layer> of(ArithmeticRunner& runner, const Now& now, std::size_t r,
                                 std::size_t sizes, const Dims& x) {
    std::optional<kernel::Recurrent> l = layer_of(now.node, x, now.inputs[r].info.shape);
    if (!l) return std::nullopt;
    Layer layer{.runner = runner, .now = now, .l = *l, .lengths = nullptr};
    if (const AnyView* view = layer.given(sizes)) {
      layer.lengths = static_cast<const std::int32_t*>(view->data);
      // The kernel says what is wrong.
      for (std::int64_t n = 0; n < l->batch; ++n) {
        if (layer.lengths[n] < 0 || layer.lengths[n] > l->steps) return std::nullopt;
      }
    }
    return layer;
  }
  const AnyView* given(std::size_t i) const {
    return i < now.inputs.size() && now.inputs[i].data != nullptr ? &now.inputs[i] : nullptr;
  }
  void set_direction(std::int64_t direction, const AnyView& r, const AnyView* p) {
    d = direction;
    const Values own = part(floats_of(r), d * wide * hidden, wide * hidden);
    r_gates = turned(own, 0, together * hidden, hidden);
    r_candidate = turned(own, together * hidden, (gates - together) * hidden, hidden);
    for (std::int64_t k = 0; k < 3 && p != nullptr; ++k) {
      peepholes[k] = part(floats_of(*p), (3 * d + k) * hidden, hidden);
    }
  }
  const kernel::CellActivation& function(std::size_t i) const {
    return l.activations[size(d) * kernel::functions_of(l.cell) + i];
  }
  /// The row of a sequence in [steps, batch], or [batch, steps]; -1: the step is behind its end.
  std::int64_t row(std::int64_t step, std::int64_t n) const {
    const std::int64_t steps = lengths == nullptr ? l.steps : std::int64_t{lengths[n]};
    if (step >= steps) return -1;
    const std::int64_t at = l.is_reverse(d) ? steps - 1 - step : step;
    return l.batch_first ? n * l.steps + at : at * l.batch + n;
  }
  /// Calls f(sequence, its row) for the sequences that are in a step.
  void for_each_row(std::int64_t step, auto&& f) const {
    for (std::int64_t n = 0; n < l.batch; ++n) {
      if (const std::int64_t at = row(step, n); at >= 0) f(n, at);
    }
  }
  /// Of [steps, directions, batch, hidden], or [batch, steps, directions, hidden].
  std::int64_t y_at(std::int64_t row) const {
    if (l.batch_first) return (row * l.directions + d) * hidden;
    return ((row / l.batch * l.directions + d) * l.batch + row % l.batch) * hidden;
  }
  /// Of [directions, batch, hidden], or [batch, directions, hidden].
  std::int64_t state_at(std::int64_t n) const {
    return (l.batch_first ? n * l.directions + d : d * l.batch + n) * hidden;
  }
  /// A step's rows of an array of all steps; 0 behind a sequence's end.
  Values of_step(std::int64_t step, const Values& all, std::int64_t width, std::int64_t first,
                 std::int64_t count) const {
    Values v(size(l.batch * count));
    for_each_row(step, [&](std::int64_t n, std::int64_t from) {
      std::copy_n(all.begin() + from * width + first, count, v.begin() + n * count);
    });
    return v;
  }
  Values of_step(std::int64_t step, const Values& all) const {
    return of_step(step, all, hidden, 0, hidden);
  }
  Values initial(const AnyView* view) const {
    Values v(size(states));
    if (view == nullptr) return v;
    const half* from = static_cast<const half*>(view->data);
    for (std::int64_t i = 0; i < states; ++i) {
      v[size(i)] = static_cast<float>(from[state_at(i / hidden) + i % hidden]);
    }
    return v;
  }
  /// Of the sequences that are in this step, the rest stays.
  void advance(std::int64_t step, Values& state, const Values& next) const {
    for_each_row(step, [&](std::int64_t n, std::int64_t) {
      std::copy_n(next.begin() + n * hidden, hidden, state.begin() + n * hidden);
    });
  }

  Values rounded(Values v) const {
    runner.round_to_half(now, 0, v);
    return v;
  }
  /// A shorter operand is repeated, row by row.
  Values zip(Values a, const Values& b, auto f) const {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = f(a[i], b[i % b.size()]);
    return rounded(std::move(a));
  }
  Values plus(Values a, const Values& b) const {
    return zip(std::move(a), b, [](float v, float w) { return v + w; });
  }
  Values minus(Values a, const Values& b) const {
    return zip(std::move(a), b, [](float v, float w) { return v - w; });
  }
  Values times(Values a, const Values& b) const {
    return zip(std::move(a), b, [](float v, float w) { return v * w; });
  }
  Values one_minus(Values v) const {
    for (float& x : v) x = 1 - x;
    return rounded(std::move(v));
  }
  Values multiplied(const Values& left, const Values& right, std::int64_t m, std::int64_t k,
                    std::int64_t n) const {
    Values y(size(m * n));
    runner.multiply(now, {m, k, n}, matrix_rows(left.data(), k, k, 1), right.data(), y.data());
    return rounded(std::move(y));
  }
  /// What may be absent is empty.
  Values plus_given(Values v, const Values& b) const {
    return b.empty() ? v : plus(std::move(v), b);
  }
  Values plus_product(Values v, const Values& a, const Values& b) const {
    return b.empty() ? v : plus(std::move(v), times(a, b));
  }

  Values activated(const kernel::CellActivation& a, Values v) const {
    kernel::detail::CellRow<float>::activate(a, v.data(), static_cast<std::int64_t>(v.size()));
    return rounded(std::move(v));
  }
  Values squashed(const kernel::CellActivation& a, Values v) const {
    for (float& x : v) x = l.clips ? std::clamp(x, -l.clip, l.clip) : x;
    return activated(a, std::move(v));
  }
  /// The derivative of a function that clips its argument: one operation.
  Values slope(const kernel::CellActivation& a, Values v, bool clips = true) const {
    using V = kernel::Vec<float>;
    const float most = clips && l.clips ? l.clip : std::numeric_limits<float>::infinity();
    kernel::detail::CellRow<float>::map(
        static_cast<std::int64_t>(v.size()),
        [&](V x) { return kernel::detail::cell_value<float>(a, most, x).slope; }, v.data());
    return rounded(std::move(v));
  }

  /// The gates of LSTM but for the output's, from what goes into them and the cell before.
  struct Memory {
    Values to_input, to_keep;  ///< what goes into their functions
    Values input, keep, now, cell;
  };
  Memory memory(const Values& z_input, const Values& z_keep, const Values& z_now,
                const Values& c) const {
    Memory m;
    m.to_input = plus_product(z_input, c, peepholes[0]);
    m.input = squashed(function(0), m.to_input);
    if (l.input_forget) {
      m.keep = one_minus(m.input);
    } else {
      m.to_keep = plus_product(z_keep, c, peepholes[2]);
      m.keep = squashed(function(0), m.to_keep);
    }
    m.now = squashed(function(1), z_now);
    m.cell = plus(times(m.keep, c), times(m.input, m.now));
    return m;
  }

  std::vector<Values> forward();   ///< y, y_h and y_c
  std::vector<Values> backward();  ///< the outputs of RecurrentGradient

 private:
  /// What the way there computed in a direction, of all steps: what goes into the functions of the
  /// gates, their values and slopes.
  struct Computed {
    Values h, a, products;  ///< the state before each step, the inputs' part, the states' part
    Values z, keep, z_slope, reset, reset_slope, recurring, gated, candidate, candidate_slope;
    Values c, output, output_slope, keep_slope, result, result_slope;
    Memory m;
  };
  struct Gradients {
    Values da, db, dh, dc, peepholes[3], candidate_weights;
  };
  Values of_input(const Computed& all, std::int64_t k) const {
    return columns(all.a, wide, k * hidden, hidden);
  }
  Values of_state(const Computed& all, std::int64_t k) const {
    return columns(all.products, together * hidden, k * hidden, hidden);
  }
  Values gate(const Computed& all, std::int64_t k) const {
    return plus(of_input(all, k), of_state(all, k));
  }
  /// Rows of a step to an array of all steps, but those behind a sequence's end.
  void put(Values& all, std::int64_t step, const Values& v, std::int64_t width) const {
    for_each_row(step, [&](std::int64_t n, std::int64_t at) {
      std::copy_n(v.begin() + n * width, width, all.begin() + at * width);
    });
  }
  Computed computed(const Values& all_a, const Values& all_y) const;
  void compute_gru(Computed& all) const;
  void compute_lstm(Computed& all) const;
  /// From the gradient that arrives at a step's state: that of the products of its gates. `rest` is
  /// what the state before gets beside it.
  Values back_lstm(const Computed& all, Gradients& g, std::int64_t step,
                   const Values& arrives) const;
  Values back_gru(const Computed& all, Gradients& g, std::int64_t step, const Values& arrives,
                  Values& rest) const;
};

std::vector<Values> ArithmeticRunner::Layer::forward() {
  const AnyView *inputs = now.inputs.data(), *b = given(3);
  const Values x = floats_of(inputs[0]), w = floats_of(inputs[1]);
  std::vector<Values> results{Values(size(rows * l.directions * hidden)),
                              Values(size(l.directions * states)),
                              Values(size(l.directions * states))};
  for (std::int64_t direction = 0; direction < l.directions; ++direction) {
    set_direction(direction, inputs[2], given(7));
    const Values own_w = part(w, d * wide * l.inputs, wide * l.inputs);
    const Values products = multiplied(x, turned(own_w, 0, wide, l.inputs), rows, l.inputs, wide);
    Values biases[4], candidate_bias;
    for (std::int64_t k = 0; k < gates && b != nullptr; ++k) {
      const Values of_w = part(floats_of(*b), 2 * d * wide + k * hidden, hidden);
      const Values of_r = part(floats_of(*b), (2 * d + 1) * wide + k * hidden, hidden);
      const bool is_apart = is_linear && k == 2;
      biases[k] = is_apart ? of_w : plus(of_w, of_r);
      if (is_apart) candidate_bias = of_r;
    }
    Values h = initial(given(5)), c;
    if (l.cell == Cell::lstm) c = initial(given(6));
    for (std::int64_t step = 0; step < l.steps; ++step) {
      Computed one;
      one.a = of_step(step, products, wide, 0, wide);
      one.products = multiplied(h, r_gates, l.batch, hidden, together * hidden);
      const auto biased = [&](std::int64_t k) { return plus_given(gate(one, k), biases[k]); };
      Values next;
      switch (l.cell) {
        case Cell::rnn:
          next = squashed(function(0), biased(0));
          break;
        case Cell::lstm: {
          const Values z_input = biased(0), z_keep = l.input_forget ? Values{} : biased(2);
          const Values cell = memory(z_input, z_keep, biased(3), c).cell;
          const Values z_output = plus_product(biased(1), cell, peepholes[1]);
          next = times(squashed(function(0), z_output), activated(function(2), cell));
          advance(step, c, cell);
          break;
        }
        case Cell::gru: {
          const Values keep = squashed(function(0), biased(0));
          const Values reset = squashed(function(0), biased(1));
          const Values product =
              is_linear ? times(reset, plus_given(of_state(one, 2), candidate_bias))
                        : multiplied(times(reset, h), r_candidate, l.batch, hidden, hidden);
          const Values candidate =
              squashed(function(1), plus_given(plus(of_input(one, 2), product), biases[2]));
          next = plus(times(one_minus(keep), candidate), times(keep, h));
          break;
        }
      }
      advance(step, h, next);
      for_each_row(step, [&](std::int64_t n, std::int64_t to) {
        std::copy_n(h.begin() + n * hidden, hidden, results[0].begin() + y_at(to));
      });
    }
    for (std::int64_t n = 0; n < l.batch; ++n) {
      std::copy_n(h.begin() + n * hidden, hidden, results[1].begin() + state_at(n));
      if (c.empty()) continue;
      std::copy_n(c.begin() + n * hidden, hidden, results[2].begin() + state_at(n));
    }
  }
  return results;
}

ArithmeticRunner::Layer::Computed ArithmeticRunner::Layer::computed(const Values& all_a,
                                                                    const Values& all_y) const {
  // 0 behind a sequence's end.
  Computed all;
  all.h.resize(size(rows * hidden));
  all.a.resize(size(rows * wide));
  const Values first_h = initial(given(5));
  for (std::int64_t step = 0; step < l.steps; ++step) {
    for_each_row(step, [&](std::int64_t n, std::int64_t at) {
      const auto from =
          step == 0 ? first_h.begin() + n * hidden : all_y.begin() + y_at(row(step - 1, n));
      std::copy_n(from, hidden, all.h.begin() + at * hidden);
      std::copy_n(all_a.begin() + (d * rows + at) * wide, wide, all.a.begin() + at * wide);
    });
  }
  all.products = multiplied(all.h, r_gates, rows, hidden, together * hidden);
  all.z = gate(all, 0);
  if (l.cell == Cell::gru) compute_gru(all);
  if (l.cell == Cell::lstm) compute_lstm(all);
  all.z_slope = slope(function(0), all.z);
  return all;
}

void ArithmeticRunner::Layer::compute_gru(Computed& all) const {
  const kernel::CellActivation& f = function(0);
  const Values bias =
      given(3) != nullptr ? part(floats_of(*given(3)), d * hidden, hidden) : Values{};
  const Values to_reset = gate(all, 1);
  all.keep = squashed(f, all.z);
  all.reset = squashed(f, to_reset);
  all.reset_slope = slope(f, to_reset);
  if (is_linear) {
    all.recurring = plus_given(of_state(all, 2), bias);
  } else {
    all.gated = times(all.reset, all.h);
  }
  const Values product = is_linear ? times(all.reset, all.recurring)
                                   : multiplied(all.gated, r_candidate, rows, hidden, hidden);
  const Values to_now = plus(of_input(all, 2), product);
  all.candidate = squashed(function(1), to_now);
  all.candidate_slope = slope(function(1), to_now);
}

void ArithmeticRunner::Layer::compute_lstm(Computed& all) const {
  const kernel::CellActivation& f = function(0);
  const Values z_keep = l.input_forget ? Values{} : gate(all, 2), z_now = gate(all, 3);
  all.c.resize(size(rows * hidden));
  Values last = initial(given(6));
  for (std::int64_t step = 0; step < l.steps; ++step) {
    put(all.c, step, last, hidden);
    const Values keeps = l.input_forget ? Values{} : of_step(step, z_keep);
    advance(step, last, memory(of_step(step, all.z), keeps, of_step(step, z_now), last).cell);
  }
  all.m = memory(all.z, z_keep, z_now, all.c);
  all.z = all.m.to_input;
  if (!l.input_forget) all.keep_slope = slope(f, all.m.to_keep);
  all.candidate_slope = slope(function(1), z_now);
  const Values to_output = plus_product(gate(all, 1), all.m.cell, peepholes[1]);
  all.output = squashed(f, to_output);
  all.output_slope = slope(f, to_output);
  all.result = activated(function(2), all.m.cell);
  all.result_slope = slope(function(2), all.m.cell, false);
}

Values ArithmeticRunner::Layer::back_lstm(const Computed& all, Gradients& g, std::int64_t step,
                                          const Values& arrives) const {
  const Values cell = of_step(step, all.c), input = of_step(step, all.m.input),
               proposed = of_step(step, all.m.now);
  const Values d_output =
      times(times(arrives, of_step(step, all.result)), of_step(step, all.output_slope));
  Values total(size(states));
  advance(step, total, g.dc);
  total = plus(std::move(total),
               times(times(arrives, of_step(step, all.output)), of_step(step, all.result_slope)));
  total = plus_product(std::move(total), d_output, peepholes[1]);
  const Values d_keep = l.input_forget ? Values(size(states))
                                       : times(times(total, cell), of_step(step, all.keep_slope));
  const Values d_input = times(times(total, l.input_forget ? minus(proposed, cell) : proposed),
                               of_step(step, all.z_slope));
  const Values d_now = times(times(total, input), of_step(step, all.candidate_slope));
  Values to_gates = side_by_side({&d_input, &d_output, &d_keep, &d_now}, hidden);
  put(g.da, step, to_gates, wide);
  Values next = times(total, of_step(step, all.m.keep));
  next = plus_product(std::move(next), d_input, peepholes[0]);
  next = plus_product(std::move(next), d_keep, peepholes[2]);
  advance(step, g.dc, next);
  if (peepholes[0].empty()) return to_gates;
  const Values after = of_step(step, all.m.cell);
  g.peepholes[0] = plus(g.peepholes[0], times(d_input, cell));
  g.peepholes[1] = plus(g.peepholes[1], times(d_output, after));
  g.peepholes[2] = plus(g.peepholes[2], times(d_keep, cell));
  return to_gates;
}

Values ArithmeticRunner::Layer::back_gru(const Computed& all, Gradients& g, std::int64_t step,
                                         const Values& arrives, Values& rest) const {
  const Values kept = of_step(step, all.keep), state = of_step(step, all.h),
               proposed = of_step(step, all.candidate), own_reset = of_step(step, all.reset);
  const Values d_keep = times(times(arrives, minus(state, proposed)), of_step(step, all.z_slope));
  const Values d_now = times(times(arrives, one_minus(kept)), of_step(step, all.candidate_slope));
  rest = times(arrives, kept);
  Values d_reset, to_gates;
  if (is_linear) {
    d_reset = times(times(d_now, of_step(step, all.recurring)), of_step(step, all.reset_slope));
    const Values d_recurring = times(d_now, own_reset);
    to_gates = side_by_side({&d_keep, &d_reset, &d_recurring}, hidden);
    put(g.db, step, to_gates, wide);
  } else {
    const Values d_gated = multiplied(d_now, g.candidate_weights, l.batch, hidden, hidden);
    d_reset = times(times(d_gated, state), of_step(step, all.reset_slope));
    rest = plus(std::move(rest), times(d_gated, own_reset));
    to_gates = side_by_side({&d_keep, &d_reset}, hidden);
  }
  put(g.da, step, side_by_side({&d_keep, &d_reset, &d_now}, hidden), wide);
  return to_gates;
}

std::vector<Values> ArithmeticRunner::Layer::backward() {
  const AnyView *inputs = now.inputs.data(), *p = given(7);
  const Values all_a = floats_of(inputs[0]), all_y = floats_of(inputs[2]);
  Values all_dy;
  if (given(8) != nullptr) all_dy = floats_of(inputs[8]);
  enum : std::size_t { da, of_gru, before, d_initial_h, d_initial_c, dp };
  std::vector<Values> results(6);
  const auto append = [&](std::size_t output, const Values& v) {
    results[output].insert(results[output].end(), v.begin(), v.end());
  };

  for (std::int64_t direction = 0; direction < l.directions; ++direction) {
    set_direction(direction, inputs[1], p);
    const Computed all = computed(all_a, all_y);
    // Back, step by step. Nothing arrives at sequences that are behind their end.
    const std::int64_t depth = together * hidden;
    const Values weights = turned(r_gates, 0, hidden, depth);
    Gradients g{.da = Values(size(rows * wide)),
                .db = Values(is_linear ? size(rows * wide) : 0),
                .dh = initial(given(9)),
                .dc = l.cell == Cell::lstm ? initial(given(10)) : Values{},
                .peepholes = {},
                .candidate_weights = turned(r_candidate, 0, hidden, wide - depth)};
    for (Values& v : g.peepholes) v.resize(p == nullptr ? 0 : size(states));
    for (std::int64_t step = l.steps; step-- > 0;) {
      Values arrives(size(states));
      advance(step, arrives, g.dh);
      if (!all_dy.empty()) {
        Values dy(size(states));
        for_each_row(step, [&](std::int64_t n, std::int64_t at) {
          std::copy_n(all_dy.begin() + y_at(at), hidden, dy.begin() + n * hidden);
        });
        arrives = plus(std::move(arrives), dy);
      }
      Values to_gates, rest;  // what the product with the weights is made of, and what is added
      if (l.cell == Cell::lstm) {
        to_gates = back_lstm(all, g, step, arrives);
      } else if (l.cell == Cell::gru) {
        to_gates = back_gru(all, g, step, arrives, rest);
      } else {
        to_gates = times(arrives, of_step(step, all.z_slope));
        put(g.da, step, to_gates, wide);
      }
      advance(step, g.dh, plus_given(multiplied(to_gates, weights, l.batch, depth, hidden), rest));
    }
    append(da, g.da);
    append(of_gru, is_linear ? g.db : all.gated);
    append(before, all.h);
    append(d_initial_h, g.dh);
    append(d_initial_c, g.dc);
    if (p != nullptr) {
      append(dp, side_by_side({&g.peepholes[0], &g.peepholes[1], &g.peepholes[2]}, hidden));
    }
  }
  return results;
}

bool ArithmeticRunner::run_recurrent(const Now& now, const Vector<TensorInfo>& infos,
                                     std::vector<AnyArray>& outputs) {
  const bool is_gradient = now.node.op->id == op::RecurrentGradient::id;
  if (now.inputs.size() < (is_gradient ? 2 : 3) ||
      now.inputs[0].info.type != ElementType::float16) {
    return false;
  }
  std::vector<Values> results;
  if (is_gradient) {
    // [directions, steps, batch, wide]; how many features the inputs have does not matter.
    const Dims& a = now.inputs[0].info.shape;
    std::optional<Layer> layer = Layer::of(*this, now, 1, 4, {a[1], a[2], 0});
    if (!layer) return false;
    results = layer->backward();
  } else {
    std::optional<Layer> layer = Layer::of(*this, now, 2, 4, now.inputs[0].info.shape);
    if (!layer) return false;
    results = layer->forward();
  }
  outputs.assign(now.node.outputs.size(), AnyArray{});
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (now.node.outputs[o] == no_tensor) continue;
    outputs[o] = AnyArray(infos[o]);
    std::transform(results[o].begin(), results[o].end(), outputs[o].values<half>().begin(),
                   [](float v) { return static_cast<half>(v); });
  }
  return true;
}

}  // namespace halftone::ipu
