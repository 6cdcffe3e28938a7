#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/cast.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/gemm.hpp>
#include <halftone/kernel/lanes.hpp>
#include <halftone/kernel/math.hpp>
#include <halftone/kernel/recurrent.hpp>

/// Back through time. The states of all steps are known, so that what goes into the functions of
/// all of them is one matrix product; only the gradients of the states go from step to step. Half
/// and bfloat16 are computed in float.
namespace halftone::kernel {

namespace detail {

/// The gradient packs the weights anew each time.
template <class T>
constexpr CellProducts gradient_products(const Recurrent& l, const KernelCall& call) {
  return CellProducts::of<T>(l, call.precision, false);
}

/// The function of a cell and its derivative, of numbers that are clipped before.
template <class T>
struct CellValue {
  Vec<T> y, slope;
};

/// Not inlined: a cell has up to five of them, there and back.
template <class T>
__attribute__((noinline)) CellValue<T> cell_value(CellActivation f, T clip, Vec<T> x) {
  using V = Vec<T>;
  const V alpha(static_cast<T>(f.alpha)), beta(static_cast<T>(f.beta)), zero(0), one(1), most(clip);
  const auto is_outside = (x < -most) | (x > most);
  x = select(x < -most, -most, select(x > most, most, x));
  V y = zero, slope = zero;
  switch (f.function) {
    case CellFunction::relu:
      y = select(x < zero, zero, x);
      slope = select(x > zero, one, zero);
      break;
    case CellFunction::tanh:
      y = tanh(x);
      slope = one - y * y;
      break;
    case CellFunction::sigmoid:
      y = sigmoid(x);
      slope = y * (one - y);
      break;
    case CellFunction::affine:
      y = alpha * x + beta;
      slope = alpha;
      break;
    case CellFunction::leaky_relu:
      y = select(x < zero, alpha * x, x);
      slope = select(x < zero, alpha, one);
      break;
    case CellFunction::thresholded_relu:
      y = select(x < alpha, zero, x);
      slope = select(x < alpha, zero, one);
      break;
    case CellFunction::scaled_tanh: {
      const V t = tanh(beta * x);
      y = alpha * t;
      slope = alpha * beta * (one - t * t);
      break;
    }
    case CellFunction::hard_sigmoid: {
      const V line = alpha * x + beta;
      y = min(max(line, zero), one);
      slope = select((line > zero) & (line < one), alpha, zero);
      break;
    }
    case CellFunction::elu: {
      const V e = select(x < zero, alpha * exp(x), one);
      y = select(x < zero, e - alpha, x);
      slope = e;
      break;
    }
    case CellFunction::softsign: {
      const V d = one + abs(x);
      y = x / d;
      slope = one / (d * d);
      break;
    }
    case CellFunction::softplus: {
      const V e = exp(-abs(x));
      y = max(x, zero) + log(one + e);
      slope = select(x < zero, e, one) / (one + e);
      break;
    }
  }
  return {y, select(is_outside, zero, slope)};
}

/// Workspace of one direction; the next one uses it again.
template <class T>
struct RecurrentGradientBuffers {
  T* memories;        ///< LSTM's cell before each step, [steps, batch, hidden]
  T *dh, *next, *dc;  ///< gradients of the states, [batch, hidden]
  T* from_candidate;  ///< as dh, of GRU
  T* rows;            ///< [batch, wide] of a step, if sequences have lengths of their own
  char *packed, *packed_candidate;  ///< the weights of the gates, and of GRU's candidate alone
  char* scratch;

  constexpr RecurrentGradientBuffers(const Recurrent& l, CellProducts form, Room& room) {
    const std::int64_t states = l.batch * l.hidden, wide = l.gates() * l.hidden;
    const std::int64_t all = l.steps * l.batch;
    memories = room.take<T>(l.cell == Cell::lstm && !l.keeps_gates ? all * l.hidden : 0);
    dh = room.take<T>(states);
    next = room.take<T>(states);
    dc = room.take<T>(l.cell == Cell::lstm ? states : 0);
    from_candidate = room.take<T>(l.cell == Cell::gru ? states : 0);
    rows = room.take<T>(l.batch * wide);
    packed = room.take<char>(form.weight_bytes<T>(wide, l.hidden));
    packed_candidate = room.take<char>(form.weight_bytes<T>(l.hidden, l.hidden));
    const auto there = [&](std::int64_t columns) -> std::int64_t {
      const auto weights = Matrix<const T>{nullptr, columns, l.hidden, l.hidden, 1}.transposed();
      return l.keeps_gates ? 0 : ProductForm{all, false, form.precision}.workspace_bytes(weights);
    };
    const std::int64_t back = form.workspace_bytes<T>(l.batch, l.hidden, wide);
    scratch = room.take<char>(std::max({there(wide), there(l.hidden), back}));
  }
};

/// This computes one direction: go() computes what goes into the functions of all steps and leaves it
/// in `da`, unless the layer has kept it in `a`; the last third of `db` gets the product that the reset
/// gate multiplies. Then come() goes back through the steps.
template <class T>
struct RecurrentWayBack {
  using V = Vec<T>;
  using Tensors = RecurrentGradientTensors<T>;

  const Recurrent& l;
  const Tensors& t;
  const Executor& executor;
  std::int64_t d;
  CellProducts form;
  RecurrentGradientBuffers<T> buffers;

  const std::int64_t hidden = l.hidden, wide = l.gates() * l.hidden, all = l.steps * l.batch;
  const CellActivation* const functions =
      l.activations + static_cast<std::int64_t>(functions_of(l.cell)) * d;
  const CellActivation f = functions[0], g = functions[l.cell == Cell::rnn ? 0 : 1],
                       cell = functions[l.cell == Cell::lstm ? 2 : 0];
  const T* const r = t.r.data + d * wide * hidden;
  const T* const p = t.peepholes ? t.peepholes.data + 3 * d * hidden : nullptr;
  const bool is_gru = l.cell == Cell::gru, is_split = is_gru && !l.linear_before_reset;
  const std::int64_t units = l.keeps_gates ? Portions(l).units : hidden;  ///< side by side
  const bool keeps_values = l.keeps_values();
  // The rows of this direction.
  const T* const a = t.a.data + d * all * wide;
  T* const da = t.da.data + d * all * wide;
  T* const db = t.db.data + (is_gru && !is_split ? d * all * wide : 0);
  T* const h = t.h.data + d * all * hidden;
  T* const gated = t.gated.data + (is_split ? d * all * hidden : 0);

  static constexpr T infinity = __builtin_inff();
  CellValue<T> gate(CellActivation function, V x) const {
    return cell_value<T>(function, l.clips ? static_cast<T>(l.clip) : infinity, x);
  }
  /// A gate of kept ones: sigmoid's or tanh's value, or what goes into its function.
  CellValue<T> kept_gate(CellActivation function, V kept, V peephole) const {
    if (!keeps_values) return gate(function, kept + peephole);
    const V one(1);
    return {kept,
            function.function == CellFunction::tanh ? one - kept * kept : kept * (one - kept)};
  }
  std::int64_t length(std::int64_t n) const {
    return t.lengths ? std::int64_t{t.lengths[n]} : l.steps;
  }
  bool is_active(std::int64_t step, std::int64_t n) const { return step < length(n); }
  /// The row of a sequence in a step.
  std::int64_t row(std::int64_t step, std::int64_t n) const {
    return (l.is_reverse(d) ? length(n) - 1 - step : step) * l.batch + n;
  }
  std::int64_t state(std::int64_t n) const { return (d * l.batch + n) * hidden; }
  const T* of_step(const T* y, std::int64_t at) const {  ///< [steps, directions, batch, hidden]
    return y + ((at / l.batch * l.directions + d) * l.batch + at % l.batch) * hidden;
  }

  /// act(sequence) for all of them.
  template <class F>
  void sequences(F act) const {
    constexpr std::int64_t task = 1 << 11;  // elements of a state that are worth one
    const std::int64_t per_task = hidden >= task || hidden == 0 ? 1 : task / hidden;
    parallel_for(executor, (l.batch + per_task - 1) / per_task, [&](std::int64_t i) {
      const std::int64_t first = i * per_task;
      const std::int64_t end = l.batch - first < per_task ? l.batch : first + per_task;
      for (std::int64_t n = first; n < end; ++n) act(n);
    });
  }
  template <class F>
  void each(F act) const {
    for_lanes<T>(0, hidden, act);
  }

  void run() const {
    go();
    come();
    // What is behind a sequence's end has no part in the products.
    for (std::int64_t n = 0; t.lengths && n < l.batch; ++n) {
      for (std::int64_t at = length(n); at < l.steps; ++at) {
        for (std::int64_t i = 0; i < wide; ++i) {
          da[(at * l.batch + n) * wide + i] = 0;
          if (is_gru && !is_split) db[(at * l.batch + n) * wide + i] = 0;
        }
      }
    }
  }

  /// to[rows, count] = x times the weights [first, first + count), transposed, plus an addend of a
  /// row's shape or, with a row stride, of all rows'.
  void product(const T* x, std::int64_t first, std::int64_t count, const T* residual, const T* bias,
               T* to) const {
    Epilogue<T> e;
    e.addend = bias;
    e.residual = residual == nullptr ? nullptr : residual + first;
    e.residual_row_stride = wide;
    const auto weights = row_major(r + first * hidden, count, hidden).transposed();
    ProductForm{all, false, form.precision}.multiply<T>(row_major(x, all, hidden), weights, nullptr,
                                                        {to + first, all, count, wide, 1}, e,
                                                        buffers.scratch, executor);
  }

  /// What goes into the functions of all steps, and LSTM's cells.
  void go() const {
    sequences([&](std::int64_t n) {
      const T* before = t.initial_h ? t.initial_h.data + state(n) : nullptr;
      for (std::int64_t step = 0; step < length(n); ++step) {
        const std::int64_t at = row(step, n);
        T* const to = h + at * hidden;
        for (std::int64_t i = 0; i < hidden; ++i) to[i] = before == nullptr ? T(0) : before[i];
        before = of_step(t.y.data, at);
      }
      for (std::int64_t at = length(n); at < l.steps; ++at) {
        for (std::int64_t i = 0; i < hidden; ++i) h[(at * l.batch + n) * hidden + i] = 0;
      }
    });
    if (l.keeps_gates) return;
    product(h, 0, is_gru ? 2 * hidden : wide, a, nullptr, da);
    if (is_gru) {
      if (!is_split) {
        const T* const bias = t.candidate_bias ? t.candidate_bias.data + d * hidden : nullptr;
        product(h, 2 * hidden, hidden, nullptr, bias, db);
      }
      sequences([&](std::int64_t n) {
        for (std::int64_t at = n; at < all; at += l.batch) {
          T* const z = da + at * wide;
          each([&](auto lanes) {
            const V reset = gate(f, lanes.load(z + hidden)).y;
            if (is_split) {
              lanes.store(gated + at * hidden, reset * lanes.load(h + at * hidden));
            } else {
              const V recurring = lanes.load(db + at * wide + 2 * hidden);
              lanes.store(z + 2 * hidden,
                          lanes.load(a + at * wide + 2 * hidden) + reset * recurring);
            }
          });
        }
      });
      if (is_split) product(gated, 2 * hidden, hidden, a, nullptr, da);
    }
    if (l.cell != Cell::lstm) return;
    sequences([&](std::int64_t n) {
      const T* const initial = t.initial_c ? t.initial_c.data + state(n) : nullptr;
      each([&](auto lanes) {
        V c = initial == nullptr ? V(T(0)) : lanes.load(initial);
        for (std::int64_t step = 0; step < length(n); ++step) {
          const std::int64_t at = row(step, n);
          lanes.store(buffers.memories + at * hidden, c);
          const T* const z = da + at * wide;
          const V input = gate(f, lanes.load(z) + peep(0, lanes) * c).y;
          const V now = gate(g, lanes.load(z + 3 * hidden)).y;
          const V keep = l.input_forget
                             ? V(1) - input
                             : gate(f, lanes.load(z + 2 * hidden) + peep(2, lanes) * c).y;
          c = keep * c + input * now;
        }
      });
    });
  }
  V peep(std::int64_t gate, auto lanes) const {
    return p == nullptr ? V(T(0)) : lanes.load(p + gate * hidden);
  }

  /// The rows of a step, one behind the other: `from` is da or db.
  const T* rows_of(std::int64_t step, const T* from) const {
    if (!t.lengths) return from + row(step, 0) * wide;
    sequences([&](std::int64_t n) {
      T* const to = buffers.rows + n * wide;
      const T* const own = is_active(step, n) ? from + row(step, n) * wide : nullptr;
      for (std::int64_t i = 0; i < wide; ++i) to[i] = own == nullptr ? T(0) : own[i];
    });
    return buffers.rows;
  }

  void come() const {
    const std::int64_t columns = is_split ? 2 * hidden : wide;
    form.pack_weights<T>(row_major(r, columns, hidden), buffers.packed);
    form.pack_weights<T>(row_major(r + columns * hidden, wide - columns, hidden),
                         buffers.packed_candidate);
    T *dh = buffers.dh, *next = buffers.next;
    T* const dp = p == nullptr ? nullptr : t.dp.data + d * l.batch * 3 * hidden;
    sequences([&](std::int64_t n) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        dh[n * hidden + i] = t.dy_h ? t.dy_h[state(n) + i] : T(0);
        if (buffers.dc != nullptr && l.cell == Cell::lstm) {
          buffers.dc[n * hidden + i] = t.dy_c ? t.dy_c[state(n) + i] : T(0);
        }
      }
      for (std::int64_t i = 0; dp != nullptr && i < 3 * hidden; ++i) dp[n * 3 * hidden + i] = 0;
    });
    for (std::int64_t step = l.steps; step-- > 0;) {
      sequences([&](std::int64_t n) {
        if (!is_active(step, n)) return;
        const std::int64_t at = row(step, n);
        T* const own = dh + n * hidden;
        if (t.dy) {
          const T* const arrives = of_step(t.dy.data, at);
          each([&](auto lanes) { lanes.store(own, lanes.load(own) + lanes.load(arrives)); });
        }
        if (l.cell == Cell::rnn) {
          T* const z = da + at * wide;
          each([&](auto lanes) {
            lanes.store(z, lanes.load(own) * gate(f, lanes.load(z)).slope);
            lanes.store(own, V(T(0)));
          });
        } else if (is_gru) {
          come_gru(at, own);
        } else {
          come_lstm(at, own, buffers.dc + n * hidden,
                    dp == nullptr ? nullptr : dp + 3 * n * hidden);
        }
      });
      const T* const from = is_gru && !is_split ? db : da;
      if (is_split) {
        const Matrix<const T> x{rows_of(step, from) + 2 * hidden, l.batch, hidden, wide, 1};
        form.multiply<T>(x, nullptr, buffers.packed_candidate,
                         row_major(buffers.from_candidate, l.batch, hidden), {}, buffers.scratch,
                         executor);
        sequences([&](std::int64_t n) {
          if (is_active(step, n)) come_from_candidate(row(step, n), n, dh + n * hidden);
        });
      }
      Epilogue<T> e;
      e.residual = dh;
      e.residual_row_stride = hidden;
      const Matrix<const T> x{rows_of(step, from), l.batch, columns, wide, 1};
      form.multiply<T>(x, nullptr, buffers.packed, row_major(next, l.batch, hidden), e,
                       buffers.scratch, executor);
      T* const swapped = dh;
      dh = next;
      next = swapped;
    }
    sequences([&](std::int64_t n) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        if (t.d_initial_h) t.d_initial_h[state(n) + i] = dh[n * hidden + i];
        if (t.d_initial_c && l.cell == Cell::lstm) {
          t.d_initial_c[state(n) + i] = buffers.dc[n * hidden + i];
        }
      }
    });
  }

  /// Nothing of dh goes on but through the product.
  void come_lstm(std::int64_t at, T* dh, T* dc, T* dp) const {
    const T* const kept = (l.keeps_gates ? a : da) + at * wide;
    const T* const memory =
        (l.keeps_gates ? t.cells.data + d * all * hidden : buffers.memories) + at * hidden;
    for (std::int64_t first = 0; first < hidden; first += units) {
      for_lanes<T>(first, first + units, [&](auto lanes) {
        come_lstm(lanes, kept + 3 * first, memory, da + at * wide, dh, dc, dp);
      });
    }
  }
  HALFTONE_INLINE void come_lstm(auto lanes, const T* kept, const T* memory, T* z, T* dh, T* dc,
                                 T* dp) const {
    const V c = lanes.load(memory), arrives = lanes.load(dh);
    const auto input = kept_gate(f, lanes.load(kept), peep(0, lanes) * c);
    const auto now = kept_gate(g, lanes.load(kept + 3 * units), V(T(0)));
    CellValue<T> forget{V(1) - input.y, V(T(0))};
    if (!l.input_forget) forget = kept_gate(f, lanes.load(kept + 2 * units), peep(2, lanes) * c);
    const V after = forget.y * c + input.y * now.y;
    const auto squashed = cell_value<T>(cell, infinity, after);
    const auto output = kept_gate(f, lanes.load(kept + units), peep(1, lanes) * after);
    const V d_output = arrives * squashed.y * output.slope;
    const V total =
        lanes.load(dc) + arrives * output.y * squashed.slope + d_output * peep(1, lanes);
    const V d_forget = total * c * forget.slope;
    const V d_input = total * (l.input_forget ? now.y - c : now.y) * input.slope;
    lanes.store(z, d_input);
    lanes.store(z + hidden, d_output);
    lanes.store(z + 2 * hidden, d_forget);
    lanes.store(z + 3 * hidden, total * input.y * now.slope);
    lanes.store(dc, total * forget.y + d_input * peep(0, lanes) + d_forget * peep(2, lanes));
    lanes.store(dh, V(T(0)));
    if (dp == nullptr) return;
    lanes.store(dp, lanes.load(dp) + d_input * c);
    lanes.store(dp + hidden, lanes.load(dp + hidden) + d_output * after);
    lanes.store(dp + 2 * hidden, lanes.load(dp + 2 * hidden) + d_forget * c);
  }

  /// The reset gate's part of is_split waits for the product with the candidate's weight.
  void come_gru(std::int64_t at, T* dh) const {
    T* const z = da + at * wide;
    T* const recurring = db + at * wide;
    each([&](auto lanes) {
      const V arrives = lanes.load(dh), before = lanes.load(h + at * hidden);
      const auto keep = gate(f, lanes.load(z)), now = gate(g, lanes.load(z + 2 * hidden));
      const V d_keep = arrives * (before - now.y) * keep.slope;
      const V d_now = arrives * (V(1) - keep.y) * now.slope;
      lanes.store(dh, arrives * keep.y);
      lanes.store(z + 2 * hidden, d_now);
      lanes.store(z, d_keep);
      if (is_split) return;
      const auto reset = gate(f, lanes.load(z + hidden));
      const V d_reset = d_now * lanes.load(recurring + 2 * hidden) * reset.slope;
      lanes.store(z + hidden, d_reset);
      lanes.store(recurring, d_keep);
      lanes.store(recurring + hidden, d_reset);
      lanes.store(recurring + 2 * hidden, d_now * reset.y);
    });
  }
  void come_from_candidate(std::int64_t at, std::int64_t n, T* dh) const {
    const T* const arrives = buffers.from_candidate + n * hidden;
    T* const z = da + at * wide + hidden;
    each([&](auto lanes) {
      const auto reset = gate(f, lanes.load(z));
      const V d_gated = lanes.load(arrives);
      lanes.store(dh, lanes.load(dh) + d_gated * reset.y);
      lanes.store(z, d_gated * lanes.load(h + at * hidden) * reset.slope);
    });
  }
};

}  // namespace detail

template <class T>
constexpr std::size_t recurrent_gradient_workspace(const Recurrent& l, const KernelCall& call,
                                                   std::span<const std::int64_t> sizes) {
  using S = compute_t<T>;
  detail::Room room(nullptr);
  for (const std::int64_t size : sizes) room.take<S>(std::is_same_v<T, S> ? 0 : size);
  detail::RecurrentGradientBuffers<S>(l, detail::gradient_products<T>(l, call), room);
  return std::size_t(room.used());
}

template <class T>
void recurrent_gradient(const Recurrent& l, const KernelCall& call,
                        const RecurrentGradientTensors<T>& t) {
  using S = compute_t<T>;
  if (t.lengths) {
    for (const std::int32_t length : t.lengths) {
      if (length < 0 || length > l.steps) halftone_index_error(length, l.steps + 1);
    }
  }
  detail::Room room(call.workspace);
  const auto run = [&](const RecurrentGradientTensors<S>& tensors) {
    const detail::CellProducts form = detail::gradient_products<T>(l, call);
    const detail::RecurrentGradientBuffers<S> buffers(l, form, room);
    for (std::int64_t d = 0; d < l.directions; ++d) {
      detail::RecurrentWayBack<S>{l, tensors, *call.executor, d, form, buffers}.run();
    }
  };
  if constexpr (std::is_same_v<T, S>) {
    run(t);
  } else {
    const auto copy = [&](View<const T> x) -> View<const S> {
      if (!x) return {};
      S* const to = room.take<S>(x.size());
      detail::widen(x.data, to, x.size());
      return {to, x.extents, x.rank};
    };
    const auto result = [&](View<T> y) -> View<S> {
      if (!y) return {};
      return {room.take<S>(y.size()), y.extents, y.rank};
    };
    const RecurrentGradientTensors<S> wide{.a = copy(t.a),
                                           .r = copy(t.r),
                                           .y = copy(t.y),
                                           .candidate_bias = copy(t.candidate_bias),
                                           .lengths = t.lengths,
                                           .initial_h = copy(t.initial_h),
                                           .initial_c = copy(t.initial_c),
                                           .peepholes = copy(t.peepholes),
                                           .dy = copy(t.dy),
                                           .dy_h = copy(t.dy_h),
                                           .dy_c = copy(t.dy_c),
                                           .cells = copy(t.cells),
                                           .da = result(t.da),
                                           .db = result(t.db),
                                           .h = result(t.h),
                                           .gated = result(t.gated),
                                           .d_initial_h = result(t.d_initial_h),
                                           .d_initial_c = result(t.d_initial_c),
                                           .dp = result(t.dp)};
    run(wide);
    const auto store = [](View<S> from, View<T> to) {
      if (to) detail::narrow(from.data, to.data, to.size(), {});
    };
    store(wide.da, t.da);
    store(wide.db, t.db);
    store(wide.h, t.h);
    store(wide.gated, t.gated);
    store(wide.d_initial_h, t.d_initial_h);
    store(wide.d_initial_c, t.d_initial_c);
    store(wide.dp, t.dp);
  }
}

}  // namespace halftone::kernel
