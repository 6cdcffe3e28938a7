#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/gemm.hpp>
#include <halftone/kernel/math.hpp>
#include <halftone/kernel/matmul.hpp>
#include <halftone/kernel/recurrent_shape.hpp>

/// RNN, GRU and LSTM. The products with the inputs of many time steps are one matrix product; each
/// step then adds one with the state before it. Large layers are divided into portions of their hidden
/// units, a task each: its weights stay in the cache of the core that has it, and steps are all that
/// tasks wait for. Everything is computed in float, or in double for double; half and bfloat16 are
/// rounded when they are stored. Products of floats may have factors of 16 bits, see CellProducts.
namespace halftone::kernel {

namespace detail {

/// The hidden units in equal portions. Weights lie portion by portion, in each gate by gate; so do
/// biases and the products with the inputs.
struct Portions {
  std::int64_t count = 1, units = 0;

  constexpr explicit Portions(const Recurrent& l) {
    constexpr std::int64_t least = 32;                       // whole panels of packed weights
    constexpr std::int64_t weights = std::int64_t{1} << 16;  // that are worth a task
    constexpr std::int64_t most = 16;
    while (2 * count <= most && l.hidden % (2 * count * least) == 0 &&
           2 * count * weights <= l.gates() * l.hidden * l.hidden) {
      count *= 2;
    }
    units = l.hidden / count;
  }
  /// Where a gate of a portion lies among `gates` of all units, and where a unit of it.
  constexpr std::int64_t at(std::int64_t portion, std::int64_t gate, std::int64_t gates) const {
    return (portion * gates + gate) * units;
  }
};

/// The products of a layer with its weights: packed weights of a k and n columns, in one precision.
/// T is float, double or what is computed in float.
struct CellProducts {
  Precision precision = Precision::float32;

  /// Weights that one call packs have to be used by several rows.
  template <class T>
  static constexpr CellProducts of(const Recurrent& l, Precision wanted, bool are_constant) {
    const double weights = double(l.gates()) * double(l.hidden) * double(l.hidden);
    const bool pays =
        weights >= many_weights && l.hidden >= Vec<float>::size &&
        (are_constant || (wanted == Precision::bfloat16 && l.steps * l.batch >= rounding_rows));
    if (!std::is_same_v<T, float> || !pays) return {};
    return {wanted};
  }
  template <class T>
  static constexpr CellProducts of(const Recurrent& l, const KernelCall& call) {
    return of<T>(l, call.precision, call.is_constant(1) && call.is_constant(2));
  }

  template <class T>
  constexpr std::int64_t weight_bytes(std::int64_t k, std::int64_t n) const {
    return with_elements<T>(precision, [&]<class W>(std::type_identity<W>) {
      return std::int64_t{packed_b_bytes<T, W>(k, n)};
    });
  }
  template <class T>
  constexpr std::int64_t row_bytes(std::int64_t m, std::int64_t k) const {
    return with_elements<T>(precision, [&]<class W>(std::type_identity<W>) {
      return std::int64_t{packed_a_bytes<T, W>(m, k)};
    });
  }
  template <class T>
  constexpr std::int64_t workspace_bytes(std::int64_t m, std::int64_t n, std::int64_t k) const {
    return with_elements<T>(precision, [&]<class W>(std::type_identity<W>) {
      return std::int64_t{gemm_workspace_bytes<T, W>(m, n, k, Packed::b)};
    });
  }
  template <class T>
  void pack_weights(Matrix<const T> b, void* to) const {
    with_elements<T>(precision, [&]<class W>(std::type_identity<W>) { pack_b<W>(b, to); });
  }
  /// Where rows are that pack_rows packs: one row may be used as it is.
  template <class T>
  const void* place_of_rows(Matrix<const T> a, void* to) const {
    return with_elements<T>(precision, [&]<class W>(std::type_identity<W>) -> const void* {
      return a.rows == 1 && std::is_same_v<T, left_t<compute_t<T>, W>> ? a.data : to;
    });
  }
  /// Packs `count` columns of rows, from column `first` on; whole vectors, or up to the last one.
  template <class T>
  void pack_rows(Matrix<const T> a, std::int64_t first, std::int64_t count, void* to) const {
    if (place_of_rows(a, to) != to) return;
    with_elements<T>(
        precision, [&]<class W>(std::type_identity<W>) { pack_a_columns<W>(a, first, count, to); });
  }
  /// y = a times packed weights; `rows`: a when pack_rows has packed it, or null.
  template <class T>
  void multiply(Matrix<const T> a, const void* rows, const void* weights, Matrix<T> y,
                const Epilogue<T>& epilogue, void* scratch, const Executor& executor) const {
    if (y.rows == 0 || y.columns == 0) return;
    with_elements<T>(precision, [&]<class W>(std::type_identity<W>) {
      detail::multiply<T, W>(a, static_cast<const left_t<compute_t<T>, W>*>(rows),
                             {nullptr, a.columns, y.columns, 0, 0}, static_cast<const W*>(weights),
                             y, epilogue, scratch, executor);
    });
  }
};

/// The packed weights of one direction, in bytes from their begin: w, then r. GRU's r is two
/// matrices where the reset gate comes before the product.
template <class T>
struct PackedCell {
  std::int64_t r = 0, r_candidate = 0, end = 0;
  std::int64_t r_gates = 0;  ///< of the product with the state itself

  constexpr PackedCell(const Recurrent& l, CellProducts products) {
    const auto bytes = [&](std::int64_t k, std::int64_t n) {
      return aligned(products.weight_bytes<T>(k, n));
    };
    const bool is_split = l.cell == Cell::gru && !l.linear_before_reset;
    r_gates = is_split ? 2 : l.gates();
    r = bytes(l.inputs, l.gates() * l.hidden);
    r_candidate = r + bytes(l.hidden, r_gates * l.hidden);
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

/// Whether the directions run side by side, since their steps are too small to be shared out.
constexpr bool shares_directions(const Recurrent& l) {
  return l.directions == 2 && Portions(l).count == 1 &&
         l.batch * l.hidden * l.gates() * l.hidden < (std::int64_t{1} << 20);
}

/// How many steps have their products with the inputs computed at once. These are to stay in the second cache
/// until they are used, but not to be smaller than the weights, which each such product reads.
template <class S>
constexpr std::int64_t steps_at_once(const Recurrent& l, CellProducts form) {
  constexpr std::int64_t cached = std::int64_t{1} << 19;
  const std::int64_t wide = l.gates() * l.hidden, step = l.batch * wide * std::int64_t{sizeof(S)};
  const std::int64_t weights = form.weight_bytes<S>(l.inputs, wide);
  const std::int64_t bytes = weights > cached ? weights : cached;
  // The reverse direction would need those of sequences that end in different steps.
  const bool needs_all = l.keeps_gates && l.is_reverse(l.directions - 1);
  if (needs_all || shares_directions(l) || l.steps * step <= bytes) return l.steps;
  return (bytes + step - 1) / step;
}

template <class S>
struct RecurrentBuffers {
  S *x, *products, *gates, *h, *next, *c, *reset, *bias, *candidate_bias, *peepholes;
  char *packed_rows, *packed, *scratch;
  std::int64_t at_once;  ///< steps_at_once
  bool has_own_x;        ///< of these steps, in their order: that of x, or its type, is another one
  std::int64_t rows_bytes, scratch_bytes,
      portion_bytes;  ///< of a direction; of a portion in a step

  constexpr RecurrentBuffers(const Recurrent& l, CellProducts form, bool converts_x, bool packs,
                             Room& room)
      : at_once(steps_at_once<S>(l, form)),
        has_own_x(converts_x ||
                  (at_once < l.steps && (l.batch_first || l.is_reverse(l.directions - 1)))) {
    const std::int64_t d = l.directions, states = l.batch * l.hidden, wide = l.gates() * l.hidden;
    const std::int64_t rows_at_once = at_once * l.batch;
    x = room.take<S>(has_own_x ? d * rows_at_once * l.inputs : 0);
    products = room.take<S>(l.keeps_gates ? 0 : d * rows_at_once * wide);
    gates = room.take<S>(d * l.gates() * states);
    h = room.take<S>(d * states);
    next = room.take<S>(d * states);
    rows_bytes = aligned(form.row_bytes<S>(l.batch, l.hidden));
    packed_rows = room.take<char>(2 * d * rows_bytes);
    c = room.take<S>(l.cell == Cell::lstm ? d * states : 0);
    reset = room.take<S>(l.cell == Cell::gru ? d * states : 0);
    bias = room.take<S>(d * wide);
    candidate_bias = room.take<S>(d * l.hidden);
    peepholes = room.take<S>(3 * d * l.hidden);
    packed = room.take<char>(packs ? d * PackedCell<S>(l, form).end : 0);
    const Portions portions(l);
    const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      return aligned(form.workspace_bytes<S>(m, n, k));
    };
    const std::int64_t once = product(rows_at_once, wide, l.inputs);
    portion_bytes = 0;
    for (std::int64_t gates_at_once = 1; gates_at_once <= l.gates(); ++gates_at_once) {
      const std::int64_t bytes = product(l.batch, gates_at_once * portions.units, l.hidden);
      portion_bytes = bytes > portion_bytes ? bytes : portion_bytes;
    }
    const std::int64_t all = portions.count * portion_bytes;
    scratch_bytes = once > all ? once : all;
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
  const void* inputs;
  /// Loads n numbers, from element `at` of the inputs on.
  void (*load)(const void* inputs, std::int64_t at, S* to, std::int64_t n);
  S* own_inputs;  ///< null: the inputs serve as they are
  const S* bias;
  const char* input_weights;  ///< packed
  std::int64_t at_once;
  S* products;  ///< with the inputs and, with keeps_gates, of all steps; else of those at once
  S* cells;     ///< [steps, batch, hidden] before each step: with keeps_gates
  const S *candidate_bias, *peepholes;  ///< peepholes: null, or of i, o and f
  CellProducts form;
  const char *r, *r_candidate;  ///< packed
  std::int64_t r_gates;
  S *gates, *h, *next, *c, *reset;
  char* packed_rows[2];  ///< by turns, of a phase and the next
  char* scratch;
  std::int64_t portion_bytes;
  CellActivation f, g, cell;
  bool is_reverse;
  void* y;  ///< null if it is not wanted
  /// Stores n numbers as elements [at, at + n) of y.
  void (*store)(void* y, std::int64_t at, const S* from, std::int64_t n);
  std::int64_t direction;

  const Portions portions{l};
  const std::int64_t units = portions.units, wide = l.gates() * l.hidden;
  const bool keeps_values = l.keeps_values();
  /// Whether LSTM has the functions of its definition, and nothing beside them.
  const bool is_usual = f.function == CellFunction::sigmoid && g.function == CellFunction::tanh &&
                        cell.function == CellFunction::tanh && peepholes == nullptr && !l.clips &&
                        !l.input_forget && (!l.keeps_gates || keeps_values);

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

  /// One row of a portion in a step: `v` has the products with the state, `x` those with the input;
  /// `first` is the portion's first unit.
  void rnn(S* v, const S* x, S* state) const {
    Row::add(v, x, units);
    squash(f, v, units);
    for (std::int64_t i = 0; i < units; ++i) state[i] = v[i];
  }
  void lstm(std::int64_t first, S* v, S* x, S* state, S* memory) const {
    if (is_usual) return usual_lstm(v, x, state, memory);
    const std::int64_t n = units;
    S *const input = v, *const output = v + n, *const forget = v + 2 * n, *const now = v + 3 * n;
    const S* const peep = peepholes == nullptr ? nullptr : peepholes + first;
    Row::add(v, x, 4 * n);
    const auto keep = [&] {
      for (std::int64_t i = 0; i < 4 * n; ++i) x[i] = v[i];
    };
    if (l.keeps_gates && !keeps_values) keep();
    if (peep != nullptr) {
      Row::add_product(input, peep, memory, n);
      Row::add_product(forget, peep + 2 * l.hidden, memory, n);
    }
    squash(f, input, n);
    if (!l.input_forget) squash(f, forget, n);
    squash(g, now, n);
    if (l.input_forget) {
      Row::map(n, [](V m, V i, V z) { return (V(1) - i) * m + i * z; }, memory, input, now);
    } else {
      Row::map(n, [](V m, V i, V z, V k) { return k * m + i * z; }, memory, input, now, forget);
    }
    if (peep != nullptr) Row::add_product(output, peep + l.hidden, memory, n);
    squash(f, output, n);
    if (keeps_values) keep();
    for (std::int64_t i = 0; i < n; ++i) state[i] = memory[i];
    Row::activate(cell, state, n);
    Row::map(n, [](V s, V o) { return s * o; }, state, output);
  }
  /// This does the same in one pass, for sigmoid and tanh without clip, peepholes and input_forget.
  void usual_lstm(const S* v, S* x, S* state, S* memory) const {
    const std::int64_t n = units;
    const auto act = [&](std::int64_t i, auto read, auto write) __attribute__((always_inline)) {
      const auto sum = [&](std::int64_t gate) __attribute__((always_inline)) {
        return read(v + gate * n + i) + read(x + gate * n + i);
      };
      const V input = sigmoid(sum(0)), output = sigmoid(sum(1)), forget = sigmoid(sum(2));
      const V now = tanh(sum(3)), after = forget * read(memory + i) + input * now;
      write(after, memory + i);
      write(output * tanh(after), state + i);
      if (!keeps_values) return;
      write(input, x + i);
      write(output, x + n + i);
      write(forget, x + 2 * n + i);
      write(now, x + 3 * n + i);
    };
    std::int64_t i = 0;
    for (; i + V::size <= n; i += V::size) {
      act(i, [](const S* from) { return V::load(from); }, [](V given, S* to) { given.store(to); });
    }
    const std::int64_t left = n - i;
    if (left == 0) return;
    act(
        i, [&](const S* from) { return V::load_partial(from, left); },
        [&](V given, S* to) { given.store_partial(to, left); });
  }
  void gru_gates(S* v, const S* x) const {
    Row::add(v, x, 2 * units);
    squash(f, v, 2 * units);
  }
  void gru_state(std::int64_t first, S* v, const S* x, S* state) const {
    const std::int64_t n = units;
    S* const now = v + 2 * n;
    if (l.linear_before_reset) {
      Row::map(
          n, [](V a, V b, V gate, V z) { return (a + b) * gate + z; }, now, candidate_bias + first,
          static_cast<const S*>(v + n), x + 2 * n);
    } else {
      Row::add(now, x + 2 * n, n);
    }
    squash(g, now, n);
    Row::map(n, [](V s, V z, V a) { return (V(1) - z) * a + z * s; }, state, v, now);
  }

  /// The row of a sequence and its time among those of the inputs.
  std::int64_t row_of(std::int64_t n, std::int64_t at) const {
    return l.batch_first ? n * l.steps + at : at * l.batch + n;
  }
  /// Computes the products with the inputs of the steps from `step` on that are to be there at once.
  void begin_steps(std::int64_t step, const Executor& executor) const {
    const std::int64_t count = l.steps - step < at_once ? l.steps - step : at_once;
    const std::int64_t rows = count * l.batch, first = step * l.batch;
    const S* from = own_inputs;
    if (own_inputs == nullptr) {
      from = static_cast<const S*>(inputs) + first * l.inputs;
    } else if (count == l.steps) {
      load(inputs, 0, own_inputs, rows * l.inputs);
    } else {
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t n = i % l.batch, own = step + i / l.batch, steps = length(n);
        const std::int64_t at = own >= steps ? 0 : is_reverse ? steps - 1 - own : own;
        load(inputs, row_of(n, at) * l.inputs, own_inputs + i * l.inputs, l.inputs);
      }
    }
    S* const to = products + (l.keeps_gates ? first * wide : 0);
    Epilogue<S> epilogue;
    epilogue.addend = bias;
    form.multiply<S>(row_major(from, rows, l.inputs), nullptr, input_weights,
                     row_major(to, rows, wide), epilogue, scratch, executor);
  }

  S* gates_of(std::int64_t portion) const { return gates + portion * l.batch * l.gates() * units; }
  /// Packs some units of states as the left operand of a product.
  void pack(const S* x, std::int64_t first, std::int64_t count, char* to) const {
    form.pack_rows<S>(row_major(x, l.batch, l.hidden), first, count, to);
  }
  /// The products of `count` gates, from gate `from` on, with packed states.
  void multiply(const void* x, const char* weights, std::int64_t from, std::int64_t count,
                std::int64_t portion, const Executor& executor) const {
    const std::int64_t row = l.gates() * units, columns = count * units;
    const std::int64_t bytes = form.weight_bytes<S>(l.hidden, columns);
    form.multiply<S>({nullptr, l.batch, l.hidden, 0, 0}, x, weights + portion * bytes,
                     {gates_of(portion) + from * units, l.batch, columns, row, 1}, {},
                     scratch + portion * portion_bytes, executor);
  }

  /// act(row, its time, row of gates, row of `products`) for the rows [begin, end) that are not at
  /// their end; idle(row) for the others.
  template <class Act, class Idle>
  void rows(std::int64_t step, std::int64_t portion, std::int64_t begin, std::int64_t end, Act act,
            Idle idle) const {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::int64_t steps = length(n);
      if (step >= steps) {
        idle(n);
        continue;
      }
      const std::int64_t at = is_reverse ? steps - 1 - step : step;
      const bool has_all = l.keeps_gates || at_once == l.steps;
      const std::int64_t row = has_all ? row_of(n, at) : step % at_once * l.batch + n;
      act(n, at, gates_of(portion) + n * l.gates() * units,
          products + row * wide + portions.at(portion, 0, l.gates()));
    }
  }
  void put(std::int64_t n, std::int64_t at, std::int64_t first, const S* from) const {
    if (y == nullptr) return;
    const std::int64_t place = l.batch_first ? (n * l.steps + at) * l.directions + direction
                                             : (at * l.directions + direction) * l.batch + n;
    store(y, place * l.hidden + first, from, units);
  }

  void keep_cell(std::int64_t n, std::int64_t at, std::int64_t first) const {
    if (!l.keeps_gates) return;
    const S* const from = c + n * l.hidden + first;
    S* const to = cells + (at * l.batch + n) * l.hidden + first;
    for (std::int64_t i = 0; i < units; ++i) to[i] = from[i];
  }

  /// The gates of GRU, and what the reset gate leaves of the state `from`.
  void reset_rows(std::int64_t step, std::int64_t portion, std::int64_t begin, std::int64_t end,
                  const S* from) const {
    const std::int64_t first = portion * units;
    rows(
        step, portion, begin, end,
        [&](std::int64_t n, std::int64_t, S* v, const S* x) {
          gru_gates(v, x);
          const S* const state = from + n * l.hidden + first;
          S* const to = reset + n * l.hidden + first;
          for (std::int64_t i = 0; i < units; ++i) to[i] = v[units + i] * state[i];
        },
        [&](std::int64_t n) {
          for (std::int64_t i = 0; i < units; ++i) reset[n * l.hidden + first + i] = 0;
        });
  }
  /// The states `to` behind a step, of those before it.
  void state_rows(std::int64_t step, std::int64_t portion, std::int64_t begin, std::int64_t end,
                  const S* from, S* to) const {
    const std::int64_t first = portion * units;
    const auto keep = [&](std::int64_t n) {
      const std::int64_t at = n * l.hidden + first;
      for (std::int64_t i = 0; i < units; ++i) to[at + i] = from[at + i];
    };
    rows(
        step, portion, begin, end,
        [&](std::int64_t n, std::int64_t at, S* v, S* x) {
          S* const state = to + n * l.hidden + first;
          switch (l.cell) {
            case Cell::rnn:
              rnn(v, x, state);
              break;
            case Cell::lstm:
              keep_cell(n, at, first);
              lstm(first, v, x, state, c + n * l.hidden + first);
              break;
            case Cell::gru:
              keep(n);
              if (l.linear_before_reset) gru_gates(v, x);
              gru_state(first, v, x, state);
              break;
          }
          put(n, at, first, state);
        },
        keep);
  }

  /// Runs all steps, behind begin_steps(0), and returns where the last states are.
  const S* run(const Executor& executor) const {
    const bool is_split = l.cell == Cell::gru && !l.linear_before_reset;
    S *from = h, *to = next;
    // Tasks of portions pack the states that they make.
    const bool packs_portions = portions.count > 1 && executor.threads > 1;
    std::int64_t turn = 0;
    if (packs_portions) pack(from, 0, l.hidden, packed_rows[0]);
    for (std::int64_t step = 0; step < l.steps; ++step) {
      if (step > 0 && step % at_once == 0) begin_steps(step, executor);
      // act(portion, first row, end) behind its products makes other states: portions side by side, or
      // rows.
      const auto phase = [&](const S* states, const S* made, const char* weights,
                             std::int64_t first_gate, std::int64_t count, auto act) {
        char* const rows = packed_rows[turn];
        const void* const x = form.place_of_rows<S>(row_major(states, l.batch, l.hidden), rows);
        if (packs_portions) {
          turn = 1 - turn;
          parallel_for(executor, portions.count, [&](std::int64_t portion) {
            multiply(x, weights, first_gate, count, portion, {});
            act(portion, std::int64_t{0}, l.batch);
            pack(made, portion * units, units, packed_rows[turn]);
          });
          return;
        }
        pack(states, 0, l.hidden, rows);
        if (portions.count > 1) {
          for (std::int64_t task = 0; task < portions.count; ++task) {
            // It turns round: the weights read last are still in the cache.
            const std::int64_t portion = step % 2 == 1 ? portions.count - 1 - task : task;
            multiply(x, weights, first_gate, count, portion, {});
          }
          // The products of a row lie side by side, which the hardware reads ahead.
          for (std::int64_t n = 0; n < l.batch; ++n) {
            for (std::int64_t portion = 0; portion < portions.count; ++portion) {
              act(portion, n, n + 1);
            }
          }
          return;
        }
        multiply(x, weights, first_gate, count, 0, executor);
        constexpr std::int64_t task = 1 << 13;  // numbers that are worth one
        const std::int64_t per_task = wide >= task ? 1 : task / (wide > 0 ? wide : 1);
        parallel_for(executor, (l.batch + per_task - 1) / per_task, [&](std::int64_t t) {
          const std::int64_t begin = t * per_task;
          act(std::int64_t{0}, begin, l.batch - begin < per_task ? l.batch : begin + per_task);
        });
      };
      const auto end_step = [&](std::int64_t portion, std::int64_t begin, std::int64_t end) {
        state_rows(step, portion, begin, end, from, to);
      };
      if (is_split) {
        phase(from, reset, r, 0, r_gates,
              [&](std::int64_t portion, std::int64_t begin, std::int64_t end) {
                reset_rows(step, portion, begin, end, from);
              });
        phase(reset, to, r_candidate, r_gates, 1, end_step);
      } else {
        phase(from, to, r, 0, r_gates, end_step);
      }
      S* const swapped = from;
      from = to;
      to = swapped;
    }
    return from;
  }
};

template <class T>
void load_numbers(const void* x, std::int64_t at, compute_t<T>* to, std::int64_t n) {
  using V = Vec<compute_t<T>>;
  const T* const from = static_cast<const T*>(x) + at;
  std::int64_t i = 0;
  for (; i + V::size <= n; i += V::size) V(load_compute(from + i)).store(to + i);
  if (i < n) V(load_compute_partial(from + i, n - i)).store_partial(to + i, n - i);
}
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
  const detail::CellProducts products = detail::CellProducts::of<T>(layer, call);
  return std::size_t(layer.directions * detail::PackedCell<T>(layer, products).end);
}

template <class T>
void recurrent_pack(const Recurrent& layer, const KernelCall& call, void* packed, View<const T> w,
                    View<const T> r) {
  const detail::CellProducts products = detail::CellProducts::of<T>(layer, call);
  const detail::PackedCell<T> place(layer, products);
  const detail::Portions portions(layer);
  const std::int64_t wide = layer.gates() * layer.hidden, hidden = layer.hidden;
  // Of `gates` with `columns` numbers for each unit, portion by portion.
  const auto pack = [&](const T* from, std::int64_t gates, std::int64_t columns, char* to) {
    if (portions.count == 1) {
      products.pack_weights<T>(row_major(from, gates * hidden, columns).transposed(), to);
      return;
    }
    for (std::int64_t p = 0; p < portions.count; ++p) {
      for (std::int64_t gate = 0; gate < gates; ++gate) {
        const T* const own = from + (gate * hidden + p * portions.units) * columns;
        const std::int64_t bytes = products.weight_bytes<T>(columns, portions.units);
        products.pack_weights<T>(row_major(own, portions.units, columns).transposed(),
                                 to + (p * gates + gate) * bytes);
      }
    }
  };
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    char* const to = static_cast<char*>(packed) + d * place.end;
    const T* const from = r.data + d * wide * hidden;
    pack(w.data + d * wide * layer.inputs, layer.gates(), layer.inputs, to);
    pack(from, place.r_gates, hidden, to + place.r);
    if (place.end > place.r_candidate) {
      pack(from + place.r_gates * hidden * hidden, 1, hidden, to + place.r_candidate);
    }
  }
}

template <class T>
constexpr std::size_t recurrent_workspace(const Recurrent& layer, const KernelCall& call) {
  using S = compute_t<T>;
  detail::Room room(nullptr);
  detail::RecurrentBuffers<S>(layer, detail::CellProducts::of<T>(layer, call),
                              !std::is_same_v<T, S>, recurrent_packed_bytes<T>(layer, call) == 0,
                              room);
  return std::size_t(room.used());
}

template <class T>
void recurrent(const Recurrent& layer, const KernelCall& call, const RecurrentTensors<T>& t) {
  using S = compute_t<T>;
  const Recurrent& l = layer;
  const Executor& executor = *call.executor;
  const std::int64_t hidden = l.hidden, wide = l.gates() * hidden, states = l.batch * hidden;
  const std::int64_t d_count = l.directions, rows = l.steps * l.batch;
  if (t.lengths) {
    for (const std::int32_t length : t.lengths) {
      if (length < 0 || length > l.steps) halftone_index_error(length, l.steps + 1);
    }
  }
  detail::Room room(call.workspace);
  const detail::CellProducts form = detail::CellProducts::of<T>(l, call);
  const detail::RecurrentBuffers<S> buffers(l, form, !std::is_same_v<T, S>, call.packed == nullptr,
                                            room);
  const detail::PackedCell<T> place(l, form);
  const detail::Portions portions(l);
  const auto* packed = static_cast<const char*>(call.packed);
  if (packed == nullptr) {
    recurrent_pack<T>(l, call, buffers.packed, t.w, t.r);
    packed = buffers.packed;
  }
  S *products = buffers.products, *cells = nullptr;
  if constexpr (std::is_same_v<T, S>) {
    if (l.keeps_gates) {
      products = t.gates.data;
      cells = t.cells.data;
    }
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
      const std::int64_t gate = i / hidden, unit = i % hidden;
      const bool is_apart = l.cell == Cell::gru && l.linear_before_reset && gate == 2;
      const std::int64_t from = 2 * d * wide + i;
      const S given = t.b ? static_cast<S>(t.b[from]) : S(0);
      const S recurring = t.b ? static_cast<S>(t.b[from + wide]) : S(0);
      const std::int64_t to =
          portions.at(unit / portions.units, gate, l.gates()) + unit % portions.units;
      buffers.bias[d * wide + to] = is_apart ? given : given + recurring;
      if (is_apart) buffers.candidate_bias[d * hidden + unit] = recurring;
    }
    for (std::int64_t i = 0; t.peepholes && i < 3 * hidden; ++i) {
      buffers.peepholes[3 * d * hidden + i] = static_cast<S>(t.peepholes[3 * d * hidden + i]);
    }
  }

  const std::int64_t rows_at_once = buffers.at_once * l.batch;
  const auto steps_of = [&](std::int64_t d) {
    const char* const weights = packed + d * place.end;
    const CellActivation* const functions = l.activations + std::int64_t(functions_of(l.cell)) * d;
    return detail::RecurrentSteps<S>{
        .l = l,
        .lengths = t.lengths.data,
        .inputs = t.x.data,
        .load = &detail::load_numbers<T>,
        .own_inputs = buffers.has_own_x ? buffers.x + d * rows_at_once * l.inputs : nullptr,
        .bias = buffers.bias + d * wide,
        .input_weights = weights,
        .at_once = buffers.at_once,
        .products = products + d * (l.keeps_gates ? rows : rows_at_once) * wide,
        .cells = cells + (l.keeps_gates ? d * rows * hidden : 0),
        .candidate_bias = buffers.candidate_bias + d * hidden,
        .peepholes = t.peepholes ? buffers.peepholes + 3 * d * hidden : nullptr,
        .form = form,
        .r = weights + place.r,
        .r_candidate = weights + place.r_candidate,
        .r_gates = place.r_gates,
        .gates = buffers.gates + d * l.batch * wide,
        .h = buffers.h + d * states,
        .next = buffers.next + d * states,
        .c = buffers.c + d * states,
        .reset = buffers.reset + d * states,
        .packed_rows = {buffers.packed_rows + 2 * d * buffers.rows_bytes,
                        buffers.packed_rows + (2 * d + 1) * buffers.rows_bytes},
        .scratch = buffers.scratch + d * buffers.scratch_bytes,
        .portion_bytes = buffers.portion_bytes,
        .f = functions[0],
        .g = functions[l.cell == Cell::rnn ? 0 : 1],
        .cell = functions[l.cell == Cell::lstm ? 2 : 0],
        .is_reverse = l.is_reverse(d),
        .y = t.y.data,
        .store = &detail::store_numbers<T>,
        .direction = d};
  };
  const S* last[2]{};  // states, of each direction
  if (detail::shares_directions(l)) {
    for (std::int64_t d = 0; d < d_count; ++d) steps_of(d).begin_steps(0, executor);
    parallel_for(executor, d_count, [&](std::int64_t d) { last[d] = steps_of(d).run({}); });
  } else {
    for (std::int64_t d = 0; d < d_count; ++d) {
      const detail::RecurrentSteps<S> steps = steps_of(d);
      steps.begin_steps(0, executor);
      last[d] = steps.run(executor);
    }
  }

  for (std::int64_t d = 0; d < d_count; ++d) {
    for (std::int64_t n = 0; n < l.batch; ++n) {
      const std::int64_t from = d * states + n * hidden;
      if (t.y_h) {
        detail::store_numbers<T>(t.y_h.data, state_at(d, n), last[d] + n * hidden, hidden);
      }
      if (t.y_c) detail::store_numbers<T>(t.y_c.data, state_at(d, n), buffers.c + from, hidden);
      for (std::int64_t at = t.lengths ? t.lengths[n] : l.steps; at < l.steps; ++at) {
        for (std::int64_t i = 0; l.keeps_gates && i < hidden; ++i) {
          cells[(d * rows + at * l.batch + n) * hidden + i] = S(0);
        }
        if (!t.y) continue;
        T* const to = t.y.data + (l.batch_first ? (n * l.steps + at) * d_count + d
                                                : (at * d_count + d) * l.batch + n) *
                                     hidden;
        for (std::int64_t i = 0; i < hidden; ++i) to[i] = T{};
      }
    }
  }
}

}  // namespace halftone::kernel
