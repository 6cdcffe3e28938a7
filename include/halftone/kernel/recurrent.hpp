#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/gemm.hpp>
#include <halftone/kernel/math.hpp>
#include <halftone/kernel/recurrent_shape.hpp>

/// RNN, GRU and LSTM. The products with the inputs of all time steps are one matrix product; each
/// step then adds one with the state before it. Everything is computed in float, or in double for
/// double; half and bfloat16 are rounded when they are stored.
namespace halftone::kernel {

namespace detail {

/// The packed weights of one direction, in bytes from their begin: w, then r. GRU's r is two
/// matrices where the reset gate comes before the product.
template <class S>
struct PackedCell {
  std::int64_t r = 0, r_candidate = 0, end = 0;
  std::int64_t r_columns = 0;  ///< of the product with the state itself

  constexpr explicit PackedCell(const Recurrent& l) {
    const auto bytes = [](std::int64_t k, std::int64_t n) {
      return (std::int64_t{packed_b_bytes<S>(k, n)} + 63) / 64 * 64;
    };
    const bool is_split = l.cell == Cell::gru && !l.linear_before_reset;
    r_columns = (is_split ? 2 : l.gates()) * l.hidden;
    r = bytes(l.inputs, l.gates() * l.hidden);
    r_candidate = r + bytes(l.hidden, r_columns);
    end = r_candidate + (is_split ? bytes(l.hidden, l.hidden) : 0);
  }
};

/// Arrays in a workspace, one behind the other; without a workspace it counts their bytes.
class Room {
 public:
  constexpr explicit Room(void* base) : base_(base) {}
  template <class S>
  constexpr S* take(std::int64_t n) {
    const std::int64_t at = used_;
    used_ += (n * std::int64_t{sizeof(S)} + 63) / 64 * 64;
    if (base_ == nullptr) return nullptr;
    return reinterpret_cast<S*>(static_cast<char*>(base_) + at);
  }
  constexpr std::int64_t used() const { return used_; }

 private:
  void* base_;
  std::int64_t used_ = 0;
};

template <class S>
struct RecurrentBuffers {
  S *x, *products, *gates, *h, *c, *reset, *bias, *candidate_bias, *peepholes;
  char *packed, *scratch;
  std::int64_t scratch_bytes;

  constexpr RecurrentBuffers(const Recurrent& l, bool converts_x, bool packs, Room& room) {
    const std::int64_t d = l.directions, states = l.batch * l.hidden, wide = l.gates() * l.hidden;
    x = room.take<S>(converts_x ? l.steps * l.batch * l.inputs : 0);
    products = room.take<S>(d * l.steps * l.batch * wide);
    gates = room.take<S>(d * l.gates() * states);
    h = room.take<S>(d * states);
    c = room.take<S>(l.cell == Cell::lstm ? d * states : 0);
    reset = room.take<S>(l.cell == Cell::gru ? d * states : 0);
    bias = room.take<S>(d * wide);
    candidate_bias = room.take<S>(d * l.hidden);
    peepholes = room.take<S>(3 * d * l.hidden);
    packed = room.take<char>(packs ? d * PackedCell<S>(l).end : 0);
    const auto product = [](std::int64_t m, std::int64_t n, std::int64_t k) {
      return std::int64_t{gemm_workspace_bytes<S>(m, n, k, Packed::b)};
    };
    const std::int64_t once = product(l.steps * l.batch, wide, l.inputs);
    const std::int64_t step = product(l.batch, wide, l.hidden);
    const std::int64_t split = product(l.batch, 2 * l.hidden, l.hidden);
    const std::int64_t candidate = product(l.batch, l.hidden, l.hidden);
    scratch_bytes = once > step ? once : step;
    if (split > scratch_bytes) scratch_bytes = split;
    if (candidate > scratch_bytes) scratch_bytes = candidate;
    scratch_bytes = (scratch_bytes + 63) / 64 * 64;
    scratch = room.take<char>(d * scratch_bytes);
  }
};

/// Rows of numbers.
template <class S>
struct CellRow {
  using V = Vec<S>;

  /// v[i] = f(v[i], a[i]...) for i < n.
  template <class F, class... A>
  static HALFTONE_INLINE void map(std::int64_t n, F f, S* v, const A*... a) {
    std::int64_t i = 0;
    for (; i + V::size <= n; i += V::size) {
      V(f(V::load(v + i), V::load(a + i)...)).store(v + i);
    }
    if (i < n) {
      V(f(V::load_partial(v + i, n - i), V::load_partial(a + i, n - i)...))
          .store_partial(v + i, n - i);
    }
  }
  static void add(S* v, const S* a, std::int64_t n) {
    map(n, [](V x, V y) { return x + y; }, v, a);
  }
  static void add_product(S* v, const S* a, const S* b, std::int64_t n) {
    map(n, [](V x, V y, V z) { return x + y * z; }, v, a, b);
  }

  static void activate(CellActivation a, S* v, std::int64_t n) {
    const V alpha(static_cast<S>(a.alpha)), beta(static_cast<S>(a.beta)), zero(0), one(1);
    switch (a.function) {
      case CellFunction::relu:
        return map(n, [&](V x) { return select(x < zero, zero, x); }, v);
      case CellFunction::tanh:
        return map(n, [&](V x) { return tanh(x); }, v);
      case CellFunction::sigmoid:
        return map(n, [&](V x) { return sigmoid(x); }, v);
      case CellFunction::affine:
        return map(n, [&](V x) { return alpha * x + beta; }, v);
      case CellFunction::leaky_relu:
        return map(n, [&](V x) { return select(x < zero, alpha * x, x); }, v);
      case CellFunction::thresholded_relu:
        return map(n, [&](V x) { return select(x < alpha, zero, x); }, v);
      case CellFunction::scaled_tanh:
        return map(n, [&](V x) { return alpha * tanh(beta * x); }, v);
      case CellFunction::hard_sigmoid:
        return map(n, [&](V x) { return min(max(alpha * x + beta, zero), one); }, v);
      case CellFunction::elu:
        return map(n, [&](V x) { return select(x < zero, alpha * (exp(x) - one), x); }, v);
      case CellFunction::softsign:
        return map(n, [&](V x) { return x / (one + abs(x)); }, v);
      case CellFunction::softplus:
        return map(n, [&](V x) { return max(x, zero) + log(one + exp(-abs(x))); }, v);
    }
  }
};

/// All steps of one direction, in the arithmetic of S.
template <class S>
struct RecurrentSteps {
  using Row = CellRow<S>;
  using V = Vec<S>;

  const Recurrent& l;
  const std::int32_t* lengths;
  const S *products, *candidate_bias, *peepholes;  ///< peepholes: null, or of i, o and f
  PackedB<S> r, r_candidate;
  S *gates, *h, *c, *reset;
  char* scratch;
  CellActivation f, g, cell;
  bool is_reverse;
  void* y;  ///< null if it is not wanted
  /// Stores n numbers as elements [at, at + n) of y.
  void (*store)(void* y, std::int64_t at, const S* from, std::int64_t n);
  std::int64_t direction;

  std::int64_t length(std::int64_t row) const {
    return lengths == nullptr ? l.steps : std::int64_t{lengths[row]};
  }
  void clip(S* v, std::int64_t n) const {
    if (!l.clips) return;
    const V lower(-static_cast<S>(l.clip)), upper(static_cast<S>(l.clip));
    Row::map(n, [&](V x) { return min(max(x, lower), upper); }, v);
  }
  void squash(CellActivation a, S* v, std::int64_t n) const {
    clip(v, n);
    Row::activate(a, v, n);
  }

  /// One row of a step: `v` has the products with the state, `x` those with the input.
  void rnn(S* v, const S* x, S* state) const {
    const std::int64_t n = l.hidden;
    Row::add(v, x, n);
    squash(f, v, n);
    for (std::int64_t i = 0; i < n; ++i) state[i] = v[i];
  }
  void lstm(S* v, const S* x, S* state, S* memory) const {
    const std::int64_t n = l.hidden;
    S *const input = v, *const output = v + n, *const forget = v + 2 * n, *const now = v + 3 * n;
    Row::add(v, x, 4 * n);
    if (peepholes != nullptr) {
      Row::add_product(input, peepholes, memory, n);
      Row::add_product(forget, peepholes + 2 * n, memory, n);
    }
    squash(f, input, n);
    if (!l.input_forget) squash(f, forget, n);
    squash(g, now, n);
    if (l.input_forget) {
      Row::map(n, [](V m, V i, V z) { return (V(1) - i) * m + i * z; }, memory, input, now);
    } else {
      Row::map(n, [](V m, V i, V z, V k) { return k * m + i * z; }, memory, input, now, forget);
    }
    if (peepholes != nullptr) Row::add_product(output, peepholes + n, memory, n);
    squash(f, output, n);
    for (std::int64_t i = 0; i < n; ++i) state[i] = memory[i];
    Row::activate(cell, state, n);
    Row::map(n, [](V s, V o) { return s * o; }, state, output);
  }
  void gru_gates(S* v, const S* x) const {
    Row::add(v, x, 2 * l.hidden);
    squash(f, v, 2 * l.hidden);
  }
  void gru_state(S* v, const S* x, S* state) const {
    const std::int64_t n = l.hidden;
    S* const now = v + 2 * n;
    if (l.linear_before_reset) {
      Row::map(
          n, [](V a, V b, V gate, V z) { return (a + b) * gate + z; }, now, candidate_bias,
          static_cast<const S*>(v + n), x + 2 * n);
    } else {
      Row::add(now, x + 2 * n, n);
    }
    squash(g, now, n);
    Row::map(n, [](V s, V z, V a) { return (V(1) - z) * a + z * s; }, state, v, now);
  }

  /// act(row, row of `gates`, row of `products`, row of the state) for the rows that are not at
  /// their end; idle(row) for the others.
  template <class Act, class Idle>
  void rows(std::int64_t step, const Executor& executor, Act act, Idle idle) const {
    constexpr std::int64_t task = 1 << 13;  // numbers that are worth one
    const std::int64_t wide = l.gates() * l.hidden;
    const std::int64_t per_task = wide >= task ? 1 : task / (wide > 0 ? wide : 1);
    parallel_for(executor, (l.batch + per_task - 1) / per_task, [&](std::int64_t t) {
      const std::int64_t first = t * per_task;
      const std::int64_t end = l.batch - first < per_task ? l.batch : first + per_task;
      for (std::int64_t n = first; n < end; ++n) {
        const std::int64_t steps = length(n);
        if (step >= steps) {
          idle(n);
          continue;
        }
        const std::int64_t at = is_reverse ? steps - 1 - step : step;
        const std::int64_t row = l.batch_first ? n * l.steps + at : at * l.batch + n;
        act(n, at, gates + n * wide, products + row * wide, h + n * l.hidden);
      }
    });
  }
  void put(std::int64_t n, std::int64_t at, const S* from) const {
    if (y == nullptr) return;
    const std::int64_t place = l.batch_first ? (n * l.steps + at) * l.directions + direction
                                             : (at * l.directions + direction) * l.batch + n;
    store(y, place * l.hidden, from, l.hidden);
  }

  void run(const Executor& executor) const {
    const std::int64_t wide = l.gates() * l.hidden;
    const auto state = row_major<const S>(h, l.batch, l.hidden);
    const auto no_action = [](std::int64_t) {};
    for (std::int64_t step = 0; step < l.steps; ++step) {
      gemm<S>(state, r, Matrix<S>{gates, l.batch, r.columns, wide, 1}, {}, scratch, executor);
      switch (l.cell) {
        case Cell::rnn:
          rows(
              step, executor,
              [&](std::int64_t n, std::int64_t at, S* v, const S* x, S* s) {
                rnn(v, x, s);
                put(n, at, s);
              },
              no_action);
          break;
        case Cell::lstm:
          rows(
              step, executor,
              [&](std::int64_t n, std::int64_t at, S* v, const S* x, S* s) {
                lstm(v, x, s, c + n * l.hidden);
                put(n, at, s);
              },
              no_action);
          break;
        case Cell::gru:
          if (!l.linear_before_reset) {
            rows(
                step, executor,
                [&](std::int64_t n, std::int64_t, S* v, const S* x, S* s) {
                  gru_gates(v, x);
                  S* const to = reset + n * l.hidden;
                  for (std::int64_t i = 0; i < l.hidden; ++i) to[i] = v[l.hidden + i] * s[i];
                },
                [&](std::int64_t n) {
                  for (std::int64_t i = 0; i < l.hidden; ++i) reset[n * l.hidden + i] = 0;
                });
            gemm<S>(row_major<const S>(reset, l.batch, l.hidden), r_candidate,
                    Matrix<S>{gates + 2 * l.hidden, l.batch, l.hidden, wide, 1}, {}, scratch,
                    executor);
          }
          rows(
              step, executor,
              [&](std::int64_t n, std::int64_t at, S* v, const S* x, S* s) {
                if (l.linear_before_reset) gru_gates(v, x);
                gru_state(v, x, s);
                put(n, at, s);
              },
              no_action);
          break;
      }
    }
  }
};

template <class T>
void store_numbers(void* y, std::int64_t at, const compute_t<T>* from, std::int64_t n) {
  using V = Vec<compute_t<T>>;
  T* const to = static_cast<T*>(y) + at;
  std::int64_t i = 0;
  for (; i + V::size <= n; i += V::size) store_compute(to + i, V::load(from + i));
  if (i < n) store_compute_partial(to + i, V::load_partial(from + i, n - i), n - i);
}

}  // namespace detail

template <class T>
constexpr std::size_t recurrent_packed_bytes(const Recurrent& layer, const KernelCall& call) {
  if (!call.is_constant(1) || !call.is_constant(2)) return 0;
  return std::size_t(layer.directions * detail::PackedCell<compute_t<T>>(layer).end);
}

template <class T>
void recurrent_pack(const Recurrent& layer, void* packed, View<const T> w, View<const T> r) {
  const detail::PackedCell<compute_t<T>> place(layer);
  const std::int64_t wide = layer.gates() * layer.hidden, hidden = layer.hidden;
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    char* const to = static_cast<char*>(packed) + d * place.end;
    const T* const from = r.data + d * wide * hidden;
    pack_b(row_major(w.data + d * wide * layer.inputs, wide, layer.inputs).transposed(), to);
    pack_b(row_major(from, place.r_columns, hidden).transposed(), to + place.r);
    if (place.end > place.r_candidate) {
      pack_b(row_major(from + place.r_columns * hidden, hidden, hidden).transposed(),
             to + place.r_candidate);
    }
  }
}

template <class T>
constexpr std::size_t recurrent_workspace(const Recurrent& layer, const KernelCall& call) {
  using S = compute_t<T>;
  detail::Room room(nullptr);
  detail::RecurrentBuffers<S>(layer, !std::is_same_v<T, S>,
                              recurrent_packed_bytes<T>(layer, call) == 0, room);
  return std::size_t(room.used());
}

template <class T>
void recurrent(const Recurrent& layer, const KernelCall& call, const RecurrentTensors<T>& t) {
  using S = compute_t<T>;
  const Recurrent& l = layer;
  const Executor& executor = *call.executor;
  const std::int64_t hidden = l.hidden, wide = l.gates() * hidden, states = l.batch * hidden;
  const std::int64_t d_count = l.directions;
  if (t.lengths) {
    for (const std::int32_t length : t.lengths) {
      if (length < 0 || length > l.steps) halftone_index_error(length, l.steps + 1);
    }
  }
  detail::Room room(call.workspace);
  const detail::RecurrentBuffers<S> buffers(l, !std::is_same_v<T, S>, call.packed == nullptr, room);
  const detail::PackedCell<S> place(l);
  const auto* packed = static_cast<const char*>(call.packed);
  if (packed == nullptr) {
    recurrent_pack<T>(l, buffers.packed, t.w, t.r);
    packed = buffers.packed;
  }
  const S* x;
  if constexpr (std::is_same_v<T, S>) {
    x = t.x.data;
  } else {
    for (std::int64_t i = 0; i < t.x.size(); ++i) buffers.x[i] = static_cast<S>(t.x[i]);
    x = buffers.x;
  }
  // Of [directions, batch, hidden], or [batch, directions, hidden].
  const auto state_at = [&](std::int64_t d, std::int64_t n) {
    return (l.batch_first ? n * d_count + d : d * l.batch + n) * hidden;
  };
  for (std::int64_t d = 0; d < d_count; ++d) {
    for (std::int64_t n = 0; n < l.batch; ++n) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        const std::int64_t to = d * states + n * hidden + i, from = state_at(d, n) + i;
        buffers.h[to] = t.initial_h ? static_cast<S>(t.initial_h[from]) : S(0);
        if (l.cell == Cell::lstm) {
          buffers.c[to] = t.initial_c ? static_cast<S>(t.initial_c[from]) : S(0);
        }
      }
    }
    // Both biases are added to the products with the inputs, but for the one that the reset gate
    // multiplies.
    for (std::int64_t i = 0; i < wide; ++i) {
      const bool is_apart = l.cell == Cell::gru && l.linear_before_reset && i >= 2 * hidden;
      const std::int64_t from = 2 * d * wide + i;
      const S given = t.b ? static_cast<S>(t.b[from]) : S(0);
      const S recurring = t.b ? static_cast<S>(t.b[from + wide]) : S(0);
      buffers.bias[d * wide + i] = is_apart ? given : given + recurring;
      if (is_apart) buffers.candidate_bias[d * hidden + i - 2 * hidden] = recurring;
    }
    for (std::int64_t i = 0; t.peepholes && i < 3 * hidden; ++i) {
      buffers.peepholes[3 * d * hidden + i] = static_cast<S>(t.peepholes[3 * d * hidden + i]);
    }
    Epilogue<S> epilogue;
    epilogue.addend = buffers.bias + d * wide;
    const std::int64_t rows = l.steps * l.batch;
    const PackedB<S> w{reinterpret_cast<const S*>(packed + d * place.end), l.inputs, wide};
    gemm<S>(row_major(x, rows, l.inputs), w,
            row_major(buffers.products + d * rows * wide, rows, wide), epilogue, buffers.scratch,
            executor);
  }

  const auto run = [&](std::int64_t d, const Executor& threads) {
    const char* const weights = packed + d * place.end;
    const CellActivation* const functions = l.activations + std::int64_t(functions_of(l.cell)) * d;
    const detail::RecurrentSteps<S> steps{
        .l = l,
        .lengths = t.lengths.data,
        .products = buffers.products + d * l.steps * l.batch * wide,
        .candidate_bias = buffers.candidate_bias + d * hidden,
        .peepholes = t.peepholes ? buffers.peepholes + 3 * d * hidden : nullptr,
        .r = {reinterpret_cast<const S*>(weights + place.r), hidden, place.r_columns},
        .r_candidate = {reinterpret_cast<const S*>(weights + place.r_candidate), hidden, hidden},
        .gates = buffers.gates + d * l.batch * wide,
        .h = buffers.h + d * states,
        .c = buffers.c + d * states,
        .reset = buffers.reset + d * states,
        .scratch = buffers.scratch + d * buffers.scratch_bytes,
        .f = functions[0],
        .g = functions[l.cell == Cell::rnn ? 0 : 1],
        .cell = functions[l.cell == Cell::lstm ? 2 : 0],
        .is_reverse = l.is_reverse(d),
        .y = t.y.data,
        .store = &detail::store_numbers<T>,
        .direction = d};
    steps.run(threads);
  };
  // Steps too small to be shared out: the directions are.
  constexpr std::int64_t small = 1 << 20;
  if (d_count == 2 && states * wide < small) {
    parallel_for(executor, d_count, [&](std::int64_t d) { run(d, {}); });
  } else {
    for (std::int64_t d = 0; d < d_count; ++d) run(d, executor);
  }

  for (std::int64_t d = 0; d < d_count; ++d) {
    for (std::int64_t n = 0; n < l.batch; ++n) {
      const std::int64_t from = d * states + n * hidden;
      if (t.y_h) detail::store_numbers<T>(t.y_h.data, state_at(d, n), buffers.h + from, hidden);
      if (t.y_c) detail::store_numbers<T>(t.y_c.data, state_at(d, n), buffers.c + from, hidden);
      if (!t.y || !t.lengths) continue;
      for (std::int64_t at = t.lengths[n]; at < l.steps; ++at) {
        T* const to = t.y.data + (l.batch_first ? (n * l.steps + at) * d_count + d
                                                : (at * d_count + d) * l.batch + n) *
                                     hidden;
        for (std::int64_t i = 0; i < hidden; ++i) to[i] = T{};
      }
    }
  }
}

}  // namespace halftone::kernel
