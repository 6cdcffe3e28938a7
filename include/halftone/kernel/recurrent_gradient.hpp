#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/math.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/recurrent_shape.hpp>

namespace halftone::kernel {

/// What the way back through the steps reads and writes, all row-major; `rows` stands for
/// [directions, steps, batch]. The products with inputs and weights that do not depend on the order
/// of the steps are the caller's.
template <class T>
struct RecurrentGradientTensors {
  View<const T> a;               ///< [rows, wide] products with the inputs, and the biases
  View<const T> r;               ///< [directions, wide, hidden]
  View<const T> candidate_bias;  ///< [directions, hidden] of GRU with linear_before_reset, or null
  View<const std::int32_t> lengths;
  View<const T> initial_h, initial_c;  ///< [directions, batch, hidden] or null
  View<const T> peepholes;             ///< [directions, 3 hidden] or null
  View<const T> dy;                    ///< [steps, directions, batch, hidden] or null
  View<const T> dy_h, dy_c;            ///< [directions, batch, hidden] or null

  View<T> da;                        ///< [rows, wide]
  View<T> db;                        ///< as da, of the products with the states
  View<T> h;                         ///< [rows, hidden] the state before each step
  View<T> gated;                     ///< as h, times the reset gate; of GRU
  View<T> d_initial_h, d_initial_c;  ///< [directions, batch, hidden]
  View<T> dp;                        ///< [directions, batch, 3 hidden]: of each row
};

namespace detail {

/// The function of a cell and its derivative, of a number that was clipped.
template <class T>
struct CellValue {
  T y{}, slope{};

  CellValue(const Recurrent& l, CellActivation f, T x, bool clips = true) {
    T outside = 1;
    if (clips && l.clips) {
      const T clip = static_cast<T>(l.clip);
      if (x < -clip || x > clip) outside = 0;
      x = x < -clip ? -clip : x > clip ? clip : x;
    }
    const T alpha = static_cast<T>(f.alpha), beta = static_cast<T>(f.beta);
    switch (f.function) {
      case CellFunction::relu:
        y = x < 0 ? T(0) : x;
        slope = x > 0 ? T(1) : T(0);
        break;
      case CellFunction::tanh:
        y = math::tanh(x);
        slope = 1 - y * y;
        break;
      case CellFunction::sigmoid:
        y = 1 / (1 + math::exp(-x));
        slope = y * (1 - y);
        break;
      case CellFunction::affine:
        y = alpha * x + beta;
        slope = alpha;
        break;
      case CellFunction::leaky_relu:
        y = x < 0 ? alpha * x : x;
        slope = x < 0 ? alpha : T(1);
        break;
      case CellFunction::thresholded_relu:
        y = x < alpha ? T(0) : x;
        slope = x < alpha ? T(0) : T(1);
        break;
      case CellFunction::scaled_tanh: {
        const T t = math::tanh(beta * x);
        y = alpha * t;
        slope = alpha * beta * (1 - t * t);
        break;
      }
      case CellFunction::hard_sigmoid: {
        const T line = alpha * x + beta;
        y = line < 0 ? T(0) : line > 1 ? T(1) : line;
        slope = line > 0 && line < 1 ? alpha : T(0);
        break;
      }
      case CellFunction::elu: {
        const T e = x < 0 ? alpha * math::exp(x) : T(1);
        y = x < 0 ? e - alpha : x;
        slope = e;
        break;
      }
      case CellFunction::softsign: {
        const T d = 1 + (x < 0 ? -x : x);
        y = x / d;
        slope = 1 / (d * d);
        break;
      }
      case CellFunction::softplus: {
        const T e = math::exp(x < 0 ? x : -x);
        y = (x > 0 ? x : T(0)) + math::log(1 + e);
        slope = (x < 0 ? e : T(1)) / (1 + e);
        break;
      }
    }
    slope *= outside;
  }
};

/// Some sequences of one direction, there and back. While it goes there, `da` keeps what goes into
/// the functions, and the last third of `db` the product that the reset gate multiplies.
template <class T>
struct RecurrentWayBack {
  static constexpr std::int64_t most = 8;  ///< sequences that go together

  const Recurrent& l;
  const RecurrentGradientTensors<T>& t;
  std::int64_t d, first, count;
  T* memories;  ///< LSTM's cell before each step, [rows, hidden]

  const std::int64_t hidden = l.hidden, wide = l.gates() * l.hidden;
  const CellActivation* const functions =
      l.activations + static_cast<std::int64_t>(functions_of(l.cell)) * d;
  const CellActivation f = functions[0], g = functions[l.cell == Cell::rnn ? 0 : 1],
                       cell = functions[l.cell == Cell::lstm ? 2 : 0];
  const T* const r = t.r.data + d * wide * hidden;
  const T* const p = t.peepholes ? t.peepholes.data + 3 * d * hidden : nullptr;
  const bool is_split = l.cell == Cell::gru && !l.linear_before_reset;

  std::int64_t length(std::int64_t n) const {
    return t.lengths ? std::int64_t{t.lengths[first + n]} : l.steps;
  }
  bool is_active(std::int64_t step, std::int64_t n) const { return step < length(n); }
  /// The row of a sequence in a step.
  std::int64_t row(std::int64_t step, std::int64_t n) const {
    const std::int64_t at = l.is_reverse(d) ? length(n) - 1 - step : step;
    return (d * l.steps + at) * l.batch + first + n;
  }
  std::int64_t state(std::int64_t n) const { return (d * l.batch + first + n) * hidden; }

  /// to[n][k] += v[n] . r[k] for weights k in [begin, end).
  void times_weight(std::int64_t step, std::int64_t begin, std::int64_t end, const T* const* v,
                    T* const* to) const {
    for (std::int64_t k = begin; k < end; ++k) {
      const T* const w = r + k * hidden;
      for (std::int64_t n = 0; n < count; ++n) {
        if (!is_active(step, n)) continue;
        // Four sums, which the compiler keeps in a vector.
        T s[4] = {};
        std::int64_t i = 0;
        for (; i + 4 <= hidden; i += 4) {
          for (std::int64_t j = 0; j < 4; ++j) s[j] += v[n][i + j] * w[i + j];
        }
        for (; i < hidden; ++i) s[0] += v[n][i] * w[i];
        to[n][k] += (s[0] + s[1]) + (s[2] + s[3]);
      }
    }
  }
  /// to[n] += sum of v[n][k] r[k] over weights k in [begin, end).
  void times_transposed(std::int64_t step, std::int64_t begin, std::int64_t end, const T* const* v,
                        T* const* to) const {
    for (std::int64_t k = begin; k < end; ++k) {
      const T* const w = r + k * hidden;
      for (std::int64_t n = 0; n < count; ++n) {
        if (!is_active(step, n)) continue;
        const T s = v[n][k];
        for (std::int64_t i = 0; i < hidden; ++i) to[n][i] += s * w[i];
      }
    }
  }

  /// `now` and `memory` are the states of [count, hidden]; the way there.
  void go(T* now, T* memory) const {
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        now[n * hidden + i] = t.initial_h ? t.initial_h[state(n) + i] : T(0);
        if (memory) memory[n * hidden + i] = t.initial_c ? t.initial_c[state(n) + i] : T(0);
      }
    }
    const T* states[most];
    T* to[most];
    for (std::int64_t step = 0; step < l.steps; ++step) {
      for (std::int64_t n = 0; n < count; ++n) {
        if (!is_active(step, n)) continue;
        const std::int64_t at = row(step, n);
        T* const h = t.h.data + at * hidden;
        T* const z = to[n] = t.da.data + at * wide;
        states[n] = h;
        for (std::int64_t i = 0; i < hidden; ++i) h[i] = now[n * hidden + i];
        for (std::int64_t k = 0; k < wide; ++k) z[k] = t.a[at * wide + k];
      }
      times_weight(step, 0, l.cell == Cell::gru ? 2 * hidden : wide, states, to);
      if (l.cell == Cell::gru) go_to_candidate(step, states, to);
      for (std::int64_t n = 0; n < count; ++n) {
        if (!is_active(step, n)) continue;
        const T* const z = to[n];
        T* const h = now + n * hidden;
        if (l.cell == Cell::rnn) {
          for (std::int64_t i = 0; i < hidden; ++i) h[i] = CellValue<T>(l, f, z[i]).y;
        } else if (l.cell == Cell::gru) {
          for (std::int64_t i = 0; i < hidden; ++i) {
            const T keep = CellValue<T>(l, f, z[i]).y;
            h[i] = (1 - keep) * CellValue<T>(l, g, z[2 * hidden + i]).y + keep * h[i];
          }
        } else {
          T* const c = memory + n * hidden;
          T* const before = memories + row(step, n) * hidden;
          for (std::int64_t i = 0; i < hidden; ++i) {
            before[i] = c[i];
            const Lstm s(*this, to[n], i, c[i]);
            c[i] = s.c;
            h[i] = s.output.y * s.squashed.y;
          }
        }
      }
    }
  }

  void go_to_candidate(std::int64_t step, const T* const* states, T* const* z) const {
    const T* in[most];
    T* to[most];
    for (std::int64_t n = 0; n < count; ++n) {
      if (!is_active(step, n)) continue;
      const std::int64_t at = row(step, n);
      in[n] = states[n];
      to[n] = z[n];
      if (is_split) {
        T* const gated = t.gated.data + at * hidden;
        for (std::int64_t i = 0; i < hidden; ++i) {
          gated[i] = CellValue<T>(l, f, z[n][hidden + i]).y * states[n][i];
        }
        in[n] = gated;
      } else {
        to[n] = t.db.data + at * wide;
        for (std::int64_t i = 0; i < hidden; ++i) {
          to[n][2 * hidden + i] = t.candidate_bias ? t.candidate_bias[d * hidden + i] : T(0);
        }
      }
    }
    times_weight(step, 2 * hidden, 3 * hidden, in, to);
    for (std::int64_t n = 0; n < count && !is_split; ++n) {
      if (!is_active(step, n)) continue;
      for (std::int64_t i = 0; i < hidden; ++i) {
        z[n][2 * hidden + i] += CellValue<T>(l, f, z[n][hidden + i]).y * to[n][2 * hidden + i];
      }
    }
  }

  /// One element of a step of LSTM; adds what the peepholes give to what goes into the functions.
  struct Lstm {
    CellValue<T> input, forget, now;
    T keep, c;
    CellValue<T> squashed, output;

    Lstm(const RecurrentWayBack& b, const T* z, std::int64_t i, T before)
        : input(b.l, b.f, z[i] + b.peep(0, i) * before),
          forget(b.l, b.f, z[2 * b.hidden + i] + b.peep(2, i) * before),
          now(b.l, b.g, z[3 * b.hidden + i]),
          keep(b.l.input_forget ? 1 - input.y : forget.y),
          c(keep * before + input.y * now.y),
          squashed(b.l, b.cell, c, false),
          output(b.l, b.f, z[b.hidden + i] + b.peep(1, i) * c) {}
  };
  T peep(std::int64_t gate, std::int64_t i) const {
    return p == nullptr ? T(0) : p[gate * hidden + i];
  }

  /// The way back; dh and dc are gradients of the states, [count, hidden].
  void come(T* dh, T* dc, T* spare) const {
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        dh[n * hidden + i] = t.dy_h ? t.dy_h[state(n) + i] : T(0);
        if (dc) dc[n * hidden + i] = t.dy_c ? t.dy_c[state(n) + i] : T(0);
      }
    }
    T* const dp = t.dp ? t.dp.data + (d * l.batch + first) * 3 * hidden : nullptr;
    for (std::int64_t i = 0; dp != nullptr && i < 3 * count * hidden; ++i) dp[i] = 0;
    const T* from[most];
    T* to[most];
    for (std::int64_t step = l.steps; step-- > 0;) {
      for (std::int64_t n = 0; n < count; ++n) {
        if (!is_active(step, n)) continue;
        const std::int64_t at = row(step, n);
        T* const z = t.da.data + at * wide;
        T* const dh_n = to[n] = dh + n * hidden;
        from[n] = z;
        if (t.dy) {
          const std::int64_t on = at / l.batch % l.steps;
          const T* const arrives =
              t.dy.data + ((on * l.directions + d) * l.batch + first + n) * hidden;
          for (std::int64_t i = 0; i < hidden; ++i) dh_n[i] += arrives[i];
        }
        if (l.cell == Cell::rnn) {
          for (std::int64_t i = 0; i < hidden; ++i) {
            z[i] = dh_n[i] * CellValue<T>(l, f, z[i]).slope;
            dh_n[i] = 0;
          }
        } else if (l.cell == Cell::gru) {
          come_gru(at, z, dh_n);
          if (!is_split) from[n] = t.db.data + at * wide;
        } else {
          come_lstm(at, z, dh_n, dc + n * hidden, dp == nullptr ? nullptr : dp + 3 * n * hidden);
        }
      }
      if (is_split) {
        come_from_candidate(step, dh, spare);
        times_transposed(step, 0, 2 * hidden, from, to);
      } else {
        times_transposed(step, 0, wide, from, to);
      }
    }
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        if (t.d_initial_h) t.d_initial_h[state(n) + i] = dh[n * hidden + i];
        if (t.d_initial_c && dc) t.d_initial_c[state(n) + i] = dc[n * hidden + i];
      }
    }
  }

  void come_lstm(std::int64_t at, T* z, T* dh, T* dc, T* dp) const {
    const T* const before = memories + at * hidden;
    for (std::int64_t i = 0; i < hidden; ++i) {
      const T c = before[i];
      const Lstm s(*this, z, i, c);
      const T d_output = dh[i] * s.squashed.y * s.output.slope;
      const T total = dc[i] + dh[i] * s.output.y * s.squashed.slope + d_output * peep(1, i);
      const T d_forget = l.input_forget ? T(0) : total * c * s.forget.slope;
      const T d_input = total * (l.input_forget ? s.now.y - c : s.now.y) * s.input.slope;
      z[i] = d_input;
      z[hidden + i] = d_output;
      z[2 * hidden + i] = d_forget;
      z[3 * hidden + i] = total * s.input.y * s.now.slope;
      dc[i] = total * s.keep + d_input * peep(0, i) + d_forget * peep(2, i);
      dh[i] = 0;
      if (dp == nullptr) continue;
      dp[i] += d_input * c;
      dp[hidden + i] += d_output * s.c;
      dp[2 * hidden + i] += d_forget * c;
    }
  }

  /// The reset gate's part of is_split waits for the product with the candidate's weight.
  void come_gru(std::int64_t at, T* z, T* dh) const {
    const T* const h = t.h.data + at * hidden;
    T* const recurring = is_split ? nullptr : t.db.data + at * wide;
    for (std::int64_t i = 0; i < hidden; ++i) {
      const CellValue<T> keep(l, f, z[i]), now(l, g, z[2 * hidden + i]);
      const T d_keep = dh[i] * (h[i] - now.y) * keep.slope;
      const T d_now = dh[i] * (1 - keep.y) * now.slope;
      dh[i] *= keep.y;
      z[2 * hidden + i] = d_now;
      z[i] = d_keep;
      if (is_split) continue;
      const CellValue<T> reset(l, f, z[hidden + i]);
      z[hidden + i] = d_now * recurring[2 * hidden + i] * reset.slope;
      recurring[i] = d_keep;
      recurring[hidden + i] = z[hidden + i];
      recurring[2 * hidden + i] = d_now * reset.y;
    }
  }
  void come_from_candidate(std::int64_t step, T* dh, T* spare) const {
    const T* from[most];
    T* to[most];
    for (std::int64_t n = 0; n < count; ++n) {
      if (!is_active(step, n)) continue;
      from[n] = t.da.data + row(step, n) * wide;
      to[n] = spare + n * hidden;
      for (std::int64_t i = 0; i < hidden; ++i) to[n][i] = 0;
    }
    times_transposed(step, 2 * hidden, 3 * hidden, from, to);
    for (std::int64_t n = 0; n < count; ++n) {
      if (!is_active(step, n)) continue;
      const std::int64_t at = row(step, n);
      T* const z = t.da.data + at * wide + hidden;
      const T* const h = t.h.data + at * hidden;
      for (std::int64_t i = 0; i < hidden; ++i) {
        const CellValue<T> reset(l, f, z[i]);
        dh[n * hidden + i] += to[n][i] * reset.y;
        z[i] = to[n][i] * h[i] * reset.slope;
      }
    }
  }
};

}  // namespace detail

template <class T>
constexpr std::int64_t recurrent_gradient_workspace(const Recurrent& l) {
  const std::int64_t memories = l.cell == Cell::lstm ? l.steps : 0;
  return l.directions * l.batch * l.hidden * (memories + 3) * std::int64_t{sizeof(T)};
}

/// Back through time: recomputes the steps, then takes the gradients from the last to the first.
/// Sums in T, each sequence by itself: results do not depend on the number of threads.
template <class T>
void recurrent_gradient(const Recurrent& l, const Executor& executor, void* workspace,
                        const RecurrentGradientTensors<T>& t) {
  if (t.lengths) {
    for (const std::int32_t length : t.lengths) {
      if (length < 0 || length > l.steps) halftone_index_error(length, l.steps + 1);
    }
    // What is behind a sequence's end has no part in the products.
    for (const View<T>& v : {t.da, t.db, t.h, t.gated}) {
      for (std::int64_t i = 0; v && i < v.size(); ++i) v[i] = T{};
    }
  }
  constexpr std::int64_t most = detail::RecurrentWayBack<T>::most;
  const std::int64_t groups = (l.batch + most - 1) / most,
                     states = l.directions * l.batch * l.hidden;
  T* const space = static_cast<T*>(workspace);
  parallel_for(executor, l.directions * groups, [&](std::int64_t task) {
    const std::int64_t d = task / groups, first = task % groups * most;
    const std::int64_t count = l.batch - first < most ? l.batch - first : most;
    T* const h = space + (d * l.batch + first) * l.hidden;
    T* const c = l.cell == Cell::lstm ? h + states : nullptr;
    const detail::RecurrentWayBack<T> way{l, t, d, first, count, space + 3 * states};
    way.go(h, c);
    way.come(h, c, h + 2 * states);
  });
}

}  // namespace halftone::kernel
