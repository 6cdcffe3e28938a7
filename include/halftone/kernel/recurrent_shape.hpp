#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <halftone/base/view.hpp>

namespace halftone {

/// The functions that recurrent layers may use; alpha and beta are their parameters.
enum class CellFunction : std::uint8_t {
  relu,
  tanh,
  sigmoid,
  affine,            ///< alpha x + beta
  leaky_relu,        ///< x, alpha x below 0
  thresholded_relu,  ///< x from alpha on, else 0
  scaled_tanh,       ///< alpha tanh(beta x)
  hard_sigmoid,      ///< alpha x + beta, clipped to [0, 1]
  elu,               ///< x, alpha (e^x - 1) below 0
  softsign,          ///< x / (1 + |x|)
  softplus,          ///< log(1 + e^x)
};

enum class Direction : std::uint8_t { forward, reverse, bidirectional };

namespace detail {
inline constexpr std::string_view cell_function_names[] = {
    "Relu",       "Tanh",        "Sigmoid", "Affine",   "LeakyRelu", "ThresholdedRelu",
    "ScaledTanh", "HardSigmoid", "Elu",     "Softsign", "Softplus"};
inline constexpr std::string_view direction_names[] = {"forward", "reverse", "bidirectional"};
}  // namespace detail
constexpr std::span<const std::string_view> names_of(CellFunction) {
  return detail::cell_function_names;
}
constexpr std::span<const std::string_view> names_of(Direction) { return detail::direction_names; }

struct KernelCall;

namespace kernel {

enum class Cell : std::uint8_t { rnn, gru, lstm };
inline constexpr std::string_view cell_names[] = {"RNN", "GRU", "LSTM"};
constexpr std::span<const std::string_view> names_of(Cell) { return cell_names; }

constexpr std::int64_t gates_of(Cell cell) {
  return cell == Cell::rnn ? 1 : cell == Cell::gru ? 3 : 4;
}
/// Functions of one direction: of the gates, of the candidate, and LSTM's of the cell.
constexpr std::size_t functions_of(Cell cell) {
  return cell == Cell::rnn ? 1 : cell == Cell::gru ? 2 : 3;
}

struct CellActivation {
  CellFunction function = CellFunction::tanh;
  float alpha = 0, beta = 0;
};

/// A recurrent layer as its kernel sees it; weights are ONNX's.
struct Recurrent {
  Cell cell = Cell::rnn;
  std::int64_t directions = 1, steps = 0, batch = 0, inputs = 0, hidden = 0;
  bool first_is_reverse = false, batch_first = false;
  bool input_forget = false, linear_before_reset = false;
  /// LSTM's forward pass writes the gates and cells of all steps; its gradient reads them.
  bool keeps_gates = false;
  bool clips = false;
  float clip = 0;  ///< of what goes into the functions of gates and candidate
  CellActivation activations[6]{};

  constexpr std::int64_t gates() const { return gates_of(cell); }
  /// Whether what the gates' functions give is kept, not what goes into them: their slopes follow.
  constexpr bool keeps_values() const {
    if (!keeps_gates || clips) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(directions) * functions_of(cell); ++i) {
      const CellFunction f = activations[i].function;
      const bool is_of_cell = i % functions_of(cell) == 2;
      if (!is_of_cell && f != CellFunction::sigmoid && f != CellFunction::tanh) return false;
    }
    return true;
  }
  constexpr bool is_reverse(std::int64_t direction) const {
    return first_is_reverse || direction == 1;
  }
};

/// The tensors of a layer; b, lengths, initial_h, initial_c, peepholes and y, y_h, y_c may be null.
template <class T>
struct RecurrentTensors {
  View<const T> x, w, r, b;
  View<const std::int32_t> lengths;
  View<const T> initial_h, initial_c, peepholes;
  View<T> y, y_h, y_c;
  /// [directions, steps, batch, 4 hidden] what the functions give or, peepholes aside, what goes into
  /// them, portion by portion, and [directions, steps, batch, hidden] the cell before each step: with
  /// keeps_gates.
  View<T> gates, cells;
};

/// What the way back through the steps reads and writes, all row-major; `rows` stands for
/// [directions, steps, batch]. The products with inputs and weights that do not depend on the order
/// of the steps are the caller's.
template <class T>
struct RecurrentGradientTensors {
  /// [rows, wide] products with the inputs, and the biases; with keeps_gates the layer's `gates`.
  View<const T> a;
  View<const T> r;               ///< [directions, wide, hidden]
  View<const T> y;               ///< [steps, directions, batch, hidden] of the layer
  View<const T> candidate_bias;  ///< [directions, hidden] of GRU with linear_before_reset, or null
  View<const std::int32_t> lengths;
  View<const T> initial_h, initial_c;  ///< [directions, batch, hidden] or null
  View<const T> peepholes;             ///< [directions, 3 hidden] or null
  View<const T> dy;                    ///< as y, or null
  View<const T> dy_h, dy_c;            ///< [directions, batch, hidden] or null
  View<const T> cells;                 ///< with keeps_gates, the layer's

  View<T> da;                        ///< [rows, wide]
  View<T> db;                        ///< as da, of the products with the states
  View<T> h;                         ///< [rows, hidden] the state before each step
  View<T> gated;                     ///< as h, times the reset gate; of GRU
  View<T> d_initial_h, d_initial_c;  ///< [directions, batch, hidden]
  View<T> dp;                        ///< [directions, batch, 3 hidden]: of each row
};

// kernel/recurrent_gradient.hpp: results do not depend on the number of threads.
template <class T>
void recurrent_gradient(const Recurrent& layer, const KernelCall& call,
                        const RecurrentGradientTensors<T>& tensors);
/// `sizes`: elements of each of the tensors.
template <class T>
constexpr std::size_t recurrent_gradient_workspace(const Recurrent& layer, const KernelCall& call,
                                                   std::span<const std::int64_t> sizes);

// kernel/recurrent.hpp
template <class T>
void recurrent(const Recurrent& layer, const KernelCall& call, const RecurrentTensors<T>& tensors);
template <class T>
constexpr std::size_t recurrent_workspace(const Recurrent& layer, const KernelCall& call);
template <class T>
constexpr std::size_t recurrent_packed_bytes(const Recurrent& layer, const KernelCall& call);
template <class T>
void recurrent_pack(const Recurrent& layer, const KernelCall& call, void* packed, View<const T> w,
                    View<const T> r);

}  // namespace kernel
}  // namespace halftone
