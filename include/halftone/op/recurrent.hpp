#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_RECURRENT_HPP
#define HALFTONE_OP_RECURRENT_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/recurrent_shape.hpp>

namespace halftone::detail {

/// What RNN, GRU and LSTM have in common; Op has their attributes.
struct RecurrentRule {
  kernel::Cell cell;
  /// Inputs behind sequence_lens (4): initial_h (5), LSTM's initial_c (6) and p (7).
  std::int64_t gates = kernel::gates_of(cell);

  template <class Op>
  constexpr Inferred infer(const Op& op, const Inputs& in) const {
    const std::size_t wanted_functions =
        kernel::functions_of(cell) * (op.direction == Direction::bidirectional ? 2 : 1);
    if (!op.activations.empty() && op.activations.size() != wanted_functions) {
      return mismatch("the number of activations is not that of the layer",
                      static_cast<std::int64_t>(wanted_functions), op.activations.size());
    }
    for (std::size_t i = 0; i < 3; ++i) {
      if (in[i].rank() != 3) {
        return mismatch("the input or a weight has not three dimensions", 3, in[i].rank());
      }
    }
    if (op.layout != 0 && op.layout != 1) {
      return Inferred::mismatch("layout is neither 0 nor 1", 1, op.layout);
    }
    const Dims& x = in[0].shape;
    const std::int64_t steps = x[op.layout == 0 ? 0 : 1], batch = x[op.layout == 0 ? 1 : 0];
    const std::int64_t directions = op.direction == Direction::bidirectional ? 2 : 1;
    std::int64_t hidden = op.hidden_size.value_or(dynamic);
    if (op.hidden_size && hidden < 1) {
      return Inferred::mismatch("hidden_size is not positive", 1, hidden);
    }
    hidden = agree(hidden, in[2].shape[2]);
    if (hidden == contradictory) {
      return Inferred::mismatch("hidden_size is not the weight's", *op.hidden_size, in[2].shape[2]);
    }
    const std::int64_t wide = hidden == dynamic ? dynamic : gates * hidden;
    const auto times = [&](std::int64_t n) { return hidden == dynamic ? dynamic : n * hidden; };
    const Dims state =
        op.layout == 0 ? Dims{directions, batch, hidden} : Dims{batch, directions, hidden};
    const struct {
      std::size_t input;
      Dims shape;
      std::string_view reason;
    } shapes[] = {
        {1, {directions, wide, x[2]}, "an extent of w does not fit"},
        {2, {directions, wide, hidden}, "an extent of r does not fit"},
        {3, {directions, times(2 * gates)}, "the bias does not fit"},
        {4, {batch}, "there is not one sequence length per batch"},
        {5, state, "the initial state does not fit"},
        {6, state, "the initial cell does not fit"},
        {7, {directions, times(3)}, "the peepholes do not fit"},
    };
    for (const auto& s : shapes) {
      if (!in.has(s.input)) continue;
      const Dims& found = in[s.input].shape;
      if (found.size() != s.shape.size()) return mismatch(s.reason, s.shape.size(), found.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (contradict(s.shape[i], found[i])) {
          return Inferred::mismatch(s.reason, s.shape[i], found[i]);
        }
      }
    }
    const ElementType type = in[0].type;
    Vector<TensorInfo> outputs{{type, op.layout == 0 ? Dims{steps, directions, batch, hidden}
                                                     : Dims{batch, steps, directions, hidden}},
                               {type, state}};
    if (cell == kernel::Cell::lstm) outputs.push_back({type, state});
    return outputs;
  }

  /// The product of all inputs with their weights, then step by step that of the state, and the
  /// gates.
  template <class Op>
  constexpr void cost(const Op& op, auto& machine, auto in) const {
    const Dims &x = in[0].shape, &r = in[2].shape;
    const std::int64_t steps = x[op.layout == 0 ? 0 : 1], batch = x[op.layout == 0 ? 1 : 0];
    const std::int64_t directions = r[0], wide = r[1], hidden = r[2];
    machine.product({.rows = steps * batch, .inner = x[2], .columns = directions * wide});
    machine.repeat(steps);
    machine.product({.groups = directions, .rows = batch, .inner = hidden, .columns = wide});
    const TensorInfo all{in[0].type, {directions, batch, wide}};
    const TensorInfo state{in[0].type, {directions, batch, hidden}};
    machine.pass("Add", all);
    if (cell != kernel::Cell::rnn) machine.pass("Sigmoid", all);
    machine.pass("Tanh", state);
    for (std::int64_t pass = 1; pass < gates; ++pass) machine.pass("Mul", state);
    machine.repeat(1);
  }

  /// `first` functions of a direction, where the node names none.
  template <class Op>
  constexpr kernel::Recurrent layer(const Op& op, std::span<const std::int64_t> x,
                                    std::span<const std::int64_t> r) const {
    kernel::Recurrent l{.cell = cell,
                        .directions = r[0],
                        .steps = x[op.layout == 0 ? 0 : 1],
                        .batch = x[op.layout == 0 ? 1 : 0],
                        .inputs = x[2],
                        .hidden = r[2],
                        .first_is_reverse = op.direction == Direction::reverse,
                        .batch_first = op.layout != 0,
                        .clips = op.clip.present,
                        .clip = op.clip.value_or(0)};
    if constexpr (requires { op.input_forget; }) l.input_forget = op.input_forget != 0;
    if constexpr (requires { op.linear_before_reset; }) {
      l.linear_before_reset = op.linear_before_reset != 0;
    }
    const std::size_t each = kernel::functions_of(cell);
    std::size_t alphas = 0, betas = 0;
    for (std::size_t i = 0; i < each * static_cast<std::size_t>(l.directions); ++i) {
      kernel::CellActivation& a = l.activations[i];
      const bool is_gate = each > 1 && i % each == 0;
      a.function = i < op.activations.size() ? op.activations[i]
                   : is_gate                 ? CellFunction::sigmoid
                                             : CellFunction::tanh;
      // Each list has numbers for the functions that have such a parameter, in their order.
      switch (a.function) {
        case CellFunction::affine:
        case CellFunction::scaled_tanh:
          a.alpha = next(op.activation_alpha, alphas, 1);
          a.beta = next(op.activation_beta, betas, a.function == CellFunction::affine ? 0 : 1);
          break;
        case CellFunction::hard_sigmoid:
          a.alpha = next(op.activation_alpha, alphas, 0.2f);
          a.beta = next(op.activation_beta, betas, 0.5f);
          break;
        case CellFunction::leaky_relu:
          a.alpha = next(op.activation_alpha, alphas, 0.01f);
          break;
        case CellFunction::thresholded_relu:
        case CellFunction::elu:
          a.alpha = next(op.activation_alpha, alphas, 1);
          break;
        default:
          break;
      }
    }
    return l;
  }

  /// Records the gradient of a layer; defined behind RecurrentGradient.
  template <class Op>
  constexpr void gradient(const Op& op, auto& g) const;

 private:
  static constexpr Inferred mismatch(std::string_view reason, std::size_t expected,
                                     std::size_t found) {
    return Inferred::mismatch(reason, static_cast<std::int64_t>(expected),
                              static_cast<std::int64_t>(found));
  }
  static float next(const BoundedList<float, 6>& list, std::size_t& at, float otherwise) {
    return at < list.size() ? list[at++] : otherwise;
  }
};

/// Each weight once for each number of a step that it multiplies.
constexpr std::int64_t recurrent_flops(std::span<const TensorInfo> in) {
  return 2 * (in[1].elements() + in[2].elements()) * in[0].shape[0] * in[0].shape[1];
}

}  // namespace halftone::detail

namespace halftone::op {

/// A layer of long short-term memory. With f, g and h its functions (sigmoid, tanh, tanh), and the
/// state and cell before them H and C:
///
///   i, o, k = f(x W^T + H R^T + b + P C)   (o takes the new C)
///   C' = k C + i g(x W^T + H R^T + b)      H' = o h(C')
///
/// x              [steps, batch, inputs], with layout 1 [batch, steps, inputs]
/// w, r           [directions, 4 hidden, inputs] and [directions, 4 hidden, hidden]; the gates are
///                i, o, k (forget) and the candidate
/// b              [directions, 8 hidden]: of w, then of r
/// sequence_lens  [batch]; behind its length a sequence's y is 0 and its state stays. The reverse
///                direction begins at its end
/// initial_h, initial_c   [directions, batch, hidden], with layout 1 [batch, directions, hidden]; 0
/// p              [directions, 3 hidden]: peepholes of i, o and k; absent: 0
/// y              [steps, directions, batch, hidden], with layout 1 [batch, steps, directions,
///                hidden]
/// y_h, y_c       the last state and cell, of the initial ones' shape
/// activations    f, g, h of each direction; activation_alpha and _beta have numbers for those
///                functions that have such parameters, in their order
/// clip           of what goes into f and g, not of the cell
/// input_forget   k = 1 - i
/// grad           back through time; the steps are computed again
/// limits         half and bfloat16 are computed in float, states included. PopART has forward
///                layers without peepholes, clip and input_forget, and zeroes the state behind a
///                sequence's end
/// source         ai.onnx LSTM-14; Hochreiter and Schmidhuber 1997, Neural Computation 9(8)
struct LSTM {
  BoundedList<CellFunction, 6> activations{};
  BoundedList<float, 6> activation_alpha{}, activation_beta{};
  Optional<float> clip{};
  Direction direction = Direction::forward;
  Optional<std::int64_t> hidden_size{};
  std::int64_t input_forget = 0, layout = 0;

  static constexpr OpId id{"ai.onnx", "LSTM", 7, 14, 22};
  static constexpr Signature signature =
      "x w r b? sequence_lens:I? initial_h? initial_c? p? -> y y_h y_c";
  using types = TypeList<FloatTypes, TypeList<std::int32_t>>;
  static constexpr int packed_input = 1;

  constexpr void attributes(auto&& visit) {
    visit("activations", activations);
    visit("activation_alpha", activation_alpha);
    visit("activation_beta", activation_beta);
    visit("clip", clip);
    visit("direction", direction);
    visit("hidden_size", hidden_size);
    visit("input_forget", input_forget);
    visit("layout", layout);
  }
  constexpr void cost(auto& machine, auto in, auto) const { rule.cost(*this, machine, in); }
  constexpr Inferred infer(const Inputs& in) const { return rule.infer(*this, in); }
  static constexpr std::int64_t flops(auto in, auto) {
    return halftone::detail::recurrent_flops(in);
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const T> w, View<const T> r,
              View<const T> b, View<const I> sequence_lens, View<const T> initial_h,
              View<const T> initial_c, View<const T> p, View<T> y, View<T> y_h, View<T> y_c) const {
    kernel::recurrent<T>(rule.layer(*this, x.shape(), r.shape()), call,
                         {x, w, r, b, sequence_lens, initial_h, initial_c, p, y, y_h, y_c, {}, {}});
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> x, View<const T>,
                                  View<const T> r, auto...) const {
    return kernel::recurrent_workspace<T>(rule.layer(*this, x.shape(), r.shape()), call);
  }
  template <class T, class I>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const T> x, View<const T>,
                                     View<const T> r, auto...) const {
    return kernel::recurrent_packed_bytes<T>(rule.layer(*this, x.shape(), r.shape()), call);
  }
  template <class T, class I>
  void pack(const KernelCall& call, void* packed, View<const T> x, View<const T> w, View<const T> r,
            auto...) const {
    kernel::recurrent_pack<T>(rule.layer(*this, x.shape(), r.shape()), call, packed, w, r);
  }

  constexpr void gradient(auto& g) const { rule.gradient(*this, g); }

 private:
  static constexpr halftone::detail::RecurrentRule rule{kernel::Cell::lstm};
};

/// A layer of gated recurrent units. With f and g its functions (sigmoid, tanh), and the state
/// before it H:
///
///   z, r = f(x W^T + H R^T + b)      H' = (1 - z) a + z H
///   a = g(x W^T + (r H) R^T + b)     or, with linear_before_reset, g(x W^T + b_w + r (H R^T +
///   b_r))
///
/// w, r, b        [directions, 3 hidden, ...], as LSTM's; the gates are z, r and the candidate a
/// activations    f and g of each direction
/// limits         PopART has no reverse layers that put y in order, no other functions and no clip,
///                and ignores sequence_lens
/// source         ai.onnx GRU-14; Cho et al. 2014, arXiv:1406.1078. All else as LSTM
struct GRU {
  BoundedList<CellFunction, 6> activations{};
  BoundedList<float, 6> activation_alpha{}, activation_beta{};
  Optional<float> clip{};
  Direction direction = Direction::forward;
  Optional<std::int64_t> hidden_size{};
  std::int64_t linear_before_reset = 0, layout = 0;

  static constexpr OpId id{"ai.onnx", "GRU", 7, 14, 22};
  static constexpr Signature signature = "x w r b? sequence_lens:I? initial_h? -> y y_h";
  using types = TypeList<FloatTypes, TypeList<std::int32_t>>;
  static constexpr int packed_input = 1;

  constexpr void attributes(auto&& visit) {
    visit("activations", activations);
    visit("activation_alpha", activation_alpha);
    visit("activation_beta", activation_beta);
    visit("clip", clip);
    visit("direction", direction);
    visit("hidden_size", hidden_size);
    visit("linear_before_reset", linear_before_reset);
    visit("layout", layout);
  }
  constexpr void cost(auto& machine, auto in, auto) const { rule.cost(*this, machine, in); }
  constexpr Inferred infer(const Inputs& in) const { return rule.infer(*this, in); }
  static constexpr std::int64_t flops(auto in, auto) {
    return halftone::detail::recurrent_flops(in);
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const T> w, View<const T> r,
              View<const T> b, View<const I> sequence_lens, View<const T> initial_h, View<T> y,
              View<T> y_h) const {
    kernel::recurrent<T>(rule.layer(*this, x.shape(), r.shape()), call,
                         {x, w, r, b, sequence_lens, initial_h, {}, {}, y, y_h, {}, {}, {}});
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> x, View<const T>,
                                  View<const T> r, auto...) const {
    return kernel::recurrent_workspace<T>(rule.layer(*this, x.shape(), r.shape()), call);
  }
  template <class T, class I>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const T> x, View<const T>,
                                     View<const T> r, auto...) const {
    return kernel::recurrent_packed_bytes<T>(rule.layer(*this, x.shape(), r.shape()), call);
  }
  template <class T, class I>
  void pack(const KernelCall& call, void* packed, View<const T> x, View<const T> w, View<const T> r,
            auto...) const {
    kernel::recurrent_pack<T>(rule.layer(*this, x.shape(), r.shape()), call, packed, w, r);
  }

  constexpr void gradient(auto& g) const { rule.gradient(*this, g); }

 private:
  static constexpr halftone::detail::RecurrentRule rule{kernel::Cell::gru};
};

/// A plain recurrent layer: H' = f(x W^T + H R^T + b), f is tanh.
///
/// w, r, b        [directions, hidden, ...], as LSTM's
/// activations    f of each direction
/// limits         PopART has forward layers without clip, and ignores sequence_lens
/// source         ai.onnx RNN-14; Elman 1990, Cognitive Science 14(2). All else as LSTM
struct RNN {
  BoundedList<CellFunction, 6> activations{};
  BoundedList<float, 6> activation_alpha{}, activation_beta{};
  Optional<float> clip{};
  Direction direction = Direction::forward;
  Optional<std::int64_t> hidden_size{};
  std::int64_t layout = 0;

  static constexpr OpId id{"ai.onnx", "RNN", 7, 14, 22};
  static constexpr Signature signature = "x w r b? sequence_lens:I? initial_h? -> y y_h";
  using types = TypeList<FloatTypes, TypeList<std::int32_t>>;
  static constexpr int packed_input = 1;

  constexpr void attributes(auto&& visit) {
    visit("activations", activations);
    visit("activation_alpha", activation_alpha);
    visit("activation_beta", activation_beta);
    visit("clip", clip);
    visit("direction", direction);
    visit("hidden_size", hidden_size);
    visit("layout", layout);
  }
  constexpr void cost(auto& machine, auto in, auto) const { rule.cost(*this, machine, in); }
  constexpr Inferred infer(const Inputs& in) const { return rule.infer(*this, in); }
  static constexpr std::int64_t flops(auto in, auto) {
    return halftone::detail::recurrent_flops(in);
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const T> w, View<const T> r,
              View<const T> b, View<const I> sequence_lens, View<const T> initial_h, View<T> y,
              View<T> y_h) const {
    kernel::recurrent<T>(rule.layer(*this, x.shape(), r.shape()), call,
                         {x, w, r, b, sequence_lens, initial_h, {}, {}, y, y_h, {}, {}, {}});
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> x, View<const T>,
                                  View<const T> r, auto...) const {
    return kernel::recurrent_workspace<T>(rule.layer(*this, x.shape(), r.shape()), call);
  }
  template <class T, class I>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const T> x, View<const T>,
                                     View<const T> r, auto...) const {
    return kernel::recurrent_packed_bytes<T>(rule.layer(*this, x.shape(), r.shape()), call);
  }
  template <class T, class I>
  void pack(const KernelCall& call, void* packed, View<const T> x, View<const T> w, View<const T> r,
            auto...) const {
    kernel::recurrent_pack<T>(rule.layer(*this, x.shape(), r.shape()), call, packed, w, r);
  }

  constexpr void gradient(auto& g) const { rule.gradient(*this, g); }

 private:
  static constexpr halftone::detail::RecurrentRule rule{kernel::Cell::rnn};
};

/// LSTM that keeps for its gradient what it computes of all steps. Made by the pass `keep_gates`.
///
/// gates, cells  those of kernel::RecurrentTensors; the layer has layout 0
/// source        none. All else as LSTM
struct TrainedLSTM {
  LSTM layer{};

  static constexpr OpId id{"halftone", "TrainedLSTM", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature =
      "x w r b? sequence_lens:I? initial_h? initial_c? p? -> y y_h y_c gates cells";
  using types = TypeList<TypeList<float, double>, TypeList<std::int32_t>>;
  static constexpr int packed_input = LSTM::packed_input;

  constexpr void attributes(auto&& visit) { layer.attributes(visit); }
  constexpr Inferred infer(const Inputs& in) const {
    Inferred inferred = layer.infer(in);
    if (!inferred.ok()) return inferred;
    if (layer.layout != 0) return Inferred::mismatch("layout is not 0", 0, layer.layout);
    TensorInfo gates = inferred.outputs[0], cells = gates;
    const Dims& y = inferred.outputs[0].shape;
    cells.shape = {y[1], y[0], y[2], y[3]};
    gates.shape = {y[1], y[0], y[2], in[1].shape[1]};
    inferred.outputs.push_back(gates);
    inferred.outputs.push_back(cells);
    return inferred;
  }
  static constexpr std::int64_t flops(auto in, auto out) { return LSTM::flops(in, out); }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const T> w, View<const T> r,
              View<const T> b, View<const I> sequence_lens, View<const T> initial_h,
              View<const T> initial_c, View<const T> p, View<T> y, View<T> y_h, View<T> y_c,
              View<T> gates, View<T> cells) const {
    kernel::recurrent<T>(
        shape(x, r), call,
        {x, w, r, b, sequence_lens, initial_h, initial_c, p, y, y_h, y_c, gates, cells});
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> x, View<const T>,
                                  View<const T> r, auto...) const {
    return kernel::recurrent_workspace<T>(shape(x, r), call);
  }
  template <class T, class I>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const T> x, View<const T> w,
                                     View<const T> r, auto...) const {
    return layer.packed_bytes<T, I>(call, x, w, r);
  }
  template <class T, class I>
  void pack(const KernelCall& call, void* packed, View<const T> x, View<const T> w, View<const T> r,
            auto...) const {
    layer.pack<T, I>(call, packed, x, w, r);
  }

 private:
  constexpr kernel::Recurrent shape(const auto& x, const auto& r) const {
    kernel::Recurrent shape =
        halftone::detail::RecurrentRule{kernel::Cell::lstm}.layer(layer, x.shape(), r.shape());
    shape.keeps_gates = true;
    return shape;
  }
};

/// What the steps of a recurrent layer contribute to its gradients, see RecurrentGradientTensors.
/// The layer has layout 0. of_gru is db with linear_before_reset, else gated. With TrainedLSTM's cells
/// `a` are its gates. Half and bfloat16 are computed in float and rounded when they are stored.
struct RecurrentGradient {
  kernel::Cell cell = kernel::Cell::rnn;
  BoundedList<CellFunction, 6> activations{};
  BoundedList<float, 6> activation_alpha{}, activation_beta{};
  Optional<float> clip{};
  Direction direction = Direction::forward;
  std::int64_t input_forget = 0, linear_before_reset = 0;
  static constexpr std::int64_t layout = 0;

  static constexpr OpId id{"halftone", "RecurrentGradient", 1};
  static constexpr Signature signature =
      "a r y candidate_bias? lengths:I? initial_h? initial_c? p? dy? dy_h? dy_c? cells? -> "
      "da of_gru h d_initial_h d_initial_c dp";
  using types = TypeList<FloatTypes, TypeList<std::int32_t>>;

  constexpr void attributes(auto&& visit) {
    visit("cell", cell);
    visit("activations", activations);
    visit("activation_alpha", activation_alpha);
    visit("activation_beta", activation_beta);
    visit("clip", clip);
    visit("direction", direction);
    visit("input_forget", input_forget);
    visit("linear_before_reset", linear_before_reset);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo none{in[0].type, {0}};
    TensorInfo h = in[0], state = in[0], dp = in[0];
    h.shape[3] = in[1].shape[2];
    const std::int64_t directions = h.shape[0], batch = h.shape[2], hidden = h.shape[3];
    state.shape = {directions, batch, hidden};
    dp.shape = {directions, batch, 3 * hidden};
    const bool is_gru = cell == kernel::Cell::gru, is_linear = linear_before_reset != 0;
    return {in[0], !is_gru ? none : is_linear ? in[0] : h,    h,
            state, cell == kernel::Cell::lstm ? state : none, in.has(7) ? dp : none};
  }
  /// The states' products of all steps at once and the gates, then step by step those of their
  /// gradients, and the gates'.
  constexpr void cost(auto& machine, auto in, auto) const {
    const Dims &a = in[0].shape, &r = in[1].shape;
    const std::int64_t directions = a[0], steps = a[1], batch = a[2], wide = a[3], hidden = r[2];
    machine.product(
        {.groups = directions, .rows = steps * batch, .inner = hidden, .columns = wide});
    machine.pass("Add", in[0]);
    machine.pass("Sigmoid", in[0]);
    machine.repeat(steps);
    const TensorInfo all{in[0].type, {directions, batch, wide}};
    for (int pass = 0; pass < 3; ++pass) machine.pass("Mul", all);
    machine.product({.groups = directions, .rows = batch, .inner = wide, .columns = hidden});
    machine.repeat(1);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> a, View<const T> r, View<const T> y,
              View<const T> bias, View<const I> lengths, View<const T> initial_h,
              View<const T> initial_c, View<const T> p, View<const T> dy, View<const T> dy_h,
              View<const T> dy_c, View<const T> cells, View<T> da, View<T> of_gru, View<T> h,
              View<T> d_initial_h, View<T> d_initial_c, View<T> dp) const {
    const bool is_linear = linear_before_reset != 0;
    kernel::recurrent_gradient<T>(
        layer(a, r, cells), call,
        {a, r, y, bias, lengths, initial_h, initial_c, p, dy, dy_h, dy_c, cells, da,
         is_linear ? of_gru : View<T>{}, h, is_linear ? View<T>{} : of_gru, d_initial_h,
         d_initial_c, p ? dp : View<T>{}});
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> a, View<const T> r,
                                  View<const T> y, View<const T> bias, View<const I> lengths,
                                  View<const T> initial_h, View<const T> initial_c, View<const T> p,
                                  View<const T> dy, View<const T> dy_h, View<const T> dy_c,
                                  View<const T> cells, auto... outputs) const {
    const std::int64_t sizes[] = {
        a.size(),         r.size(),         y.size(),         bias.size(), lengths.size(),
        initial_h.size(), initial_c.size(), p.size(),         dy.size(),   dy_h.size(),
        dy_c.size(),      cells.size(),     outputs.size()...};
    return kernel::recurrent_gradient_workspace<T>(layer(a, r, cells), call, sizes);
  }

 private:
  constexpr kernel::Recurrent layer(const auto& a, const auto& r, const auto& cells) const {
    const std::int64_t x[] = {a.extent(1), a.extent(2), 0};
    kernel::Recurrent shape = halftone::detail::RecurrentRule{cell}.layer(*this, x, r.shape());
    shape.keeps_gates = bool(cells);
    return shape;
  }
};

}  // namespace halftone::op

namespace halftone::detail {

template <class Op>
constexpr void RecurrentRule::gradient(const Op& op, auto& g) const {
  auto& graph = g.graph();
  const auto list = [&](std::initializer_list<std::int64_t> values) {
    return constant(graph, Dims(values));
  };
  const ElementType type = g.x().info().type;
  const bool batch_first = op.layout != 0;
  const auto state = [&](auto x) {
    return x.is_absent() || !batch_first ? x : op::transpose(x, {.perm = {1, 0, 2}});
  };
  const auto x = state(g.x(0));
  const auto w = g.x(1), r = g.x(2), b = g.x(3);
  const auto by_steps = [&](auto t) {
    return batch_first ? op::transpose(t, {.perm = {1, 2, 0, 3}}) : t;
  };
  const auto dy = g.has_dy(0) ? by_steps(g.dy(0)) : AnyTensor{};
  // The states of all steps: what the layer gives, unless it does not.
  auto y = g.y(0);
  if (y.is_absent()) {
    Vector<TensorId> ids;
    for (std::size_t i = 0; i < g.inputs(); ++i) ids.push_back(g.x(i).id);
    y = {&graph, record(graph, op, ids, 1)[0]};
  }
  y = by_steps(y);
  const Dims extents = x.info().shape;
  const std::int64_t steps = extents[0], batch = extents[1], features = extents[2];
  const std::int64_t directions = r.info().shape[0], hidden = r.info().shape[2];
  const std::int64_t wide = gates * hidden, rows = steps * batch;
  bool is_linear = false;
  if constexpr (requires { op.linear_before_reset; }) is_linear = op.linear_before_reset != 0;
  const bool is_lstm = cell == kernel::Cell::lstm;

  const auto turned = [&](auto t) { return op::transpose(t, {.perm = {0, 2, 1}}); };
  // It multiplies t by u^T, or t^T by u, for each direction; a single one needs no transposes.
  const auto product = [&](auto t, auto u, bool turns_t) -> AnyTensor {
    if (directions != 1) return turns_t ? op::matmul(turned(t), u) : op::matmul(t, turned(u));
    const auto matrix = [&](auto m) {
      return GradientScope::reshape_to(m, {m.info().shape[1], m.info().shape[2]});
    };
    const AnyTensor plain =
        op::gemm(matrix(t), matrix(u), {.trans_a = turns_t, .trans_b = !turns_t});
    return GradientScope::reshape_to(plain, {1, plain.info().shape[0], plain.info().shape[1]});
  };
  const auto all_x = GradientScope::reshape_to(x, {1, rows, features});
  auto a = product(all_x, w, false);
  AnyTensor candidate_bias;
  if (!b.is_absent()) {
    const auto part = [&](std::int64_t first, std::int64_t end) -> AnyTensor {
      return op::slice(b, list({first}), list({end}), list({1}));
    };
    auto recurring = part(wide, 2 * wide);
    if (is_linear) {
      candidate_bias = part(wide + 2 * hidden, 2 * wide);
      const auto none = GradientScope::zeros(graph, {type, {directions, hidden}});
      recurring = op::concat(std::array{part(wide, wide + 2 * hidden), none}, {.axis = 1});
    }
    a = a + op::reshape(part(0, wide) + recurring, list({directions, 1, wide}));
  }
  a = GradientScope::reshape_to(a, {directions, steps, batch, wide});

  op::RecurrentGradient back{.cell = cell,
                             .activations = op.activations,
                             .activation_alpha = op.activation_alpha,
                             .activation_beta = op.activation_beta,
                             .clip = op.clip,
                             .direction = op.direction,
                             .linear_before_reset = is_linear ? 1 : 0};
  if constexpr (requires { op.input_forget; }) back.input_forget = op.input_forget;
  const auto arrives = [&](std::size_t i) { return g.has_dy(i) ? state(g.dy(i)) : AnyTensor{}; };
  const auto initial_c = is_lstm ? state(g.x(6)) : AnyTensor{};
  const auto p = is_lstm ? g.x(7) : AnyTensor{};
  const Vector<TensorId> inputs{a.id,
                                r.id,
                                y.id,
                                candidate_bias.id,
                                g.x(4).id,
                                state(g.x(5)).id,
                                initial_c.id,
                                p.id,
                                dy.id,
                                arrives(1).id,
                                is_lstm ? arrives(2).id : no_tensor};
  const Vector<TensorId> made = record(graph, back, inputs, 6);
  const auto output = [&](std::size_t i) { return AnyTensor{&graph, made[i]}; };

  const auto flat = [&](auto t, std::int64_t columns) {
    return GradientScope::reshape_to(t, {directions, rows, columns});
  };
  const auto da = flat(output(0), wide), db = is_linear ? flat(output(1), wide) : da;
  if (g.needs(0)) {
    AnyTensor each = op::matmul(da, w);
    if (directions != 1) each = op::sum(each, list({0}), {.keepdims = 0});
    g.dx(0) += state(GradientScope::reshape_to(each, extents));
  }
  if (g.needs(1)) g.dx(1) += product(da, all_x, true);
  if (g.needs(2)) {
    const auto h = flat(output(2), hidden);
    if (cell == kernel::Cell::gru && !is_linear) {
      const auto columns = [&](std::int64_t first, std::int64_t end) {
        return op::slice(db, list({first}), list({end}), list({2}));
      };
      const auto of_gates = product(columns(0, 2 * hidden), h, true);
      const auto of_candidate = product(columns(2 * hidden, wide), flat(output(1), hidden), true);
      g.dx(2) += op::concat(std::array{of_gates, of_candidate}, {.axis = 1});
    } else {
      g.dx(2) += product(db, h, true);
    }
  }
  if (g.needs(3)) {
    const auto of_w = op::sum(da, list({1}), {.keepdims = 0});
    const auto of_r = is_linear ? AnyTensor(op::sum(db, list({1}), {.keepdims = 0})) : of_w;
    g.dx(3) += op::concat(std::array{of_w, of_r}, {.axis = 1});
  }
  if (g.needs(5)) g.dx(5) += state(output(3));
  if (is_lstm && g.needs(6)) g.dx(6) += state(output(4));
  if (is_lstm && g.needs(7)) g.dx(7) += op::sum(output(5), list({1}), {.keepdims = 0});
}

/// Records the newer form of a recurrent layer, with as many outputs as the node has.
template <class New>
constexpr Vector<AnyTensor> record_recurrent(auto& graph, const New& newer, const auto& inputs,
                                             std::size_t outputs) {
  Vector<TensorId> ids;
  for (const auto& x : inputs) ids.push_back(x.id);
  Vector<AnyTensor> made;
  for (const TensorId y : record(graph, newer, ids, slots_of<New>.required_outputs())) {
    if (made.size() == outputs) break;
    made.push_back({&graph, y});
  }
  return made;
}

}  // namespace halftone::detail

namespace halftone::op {

/// LSTM before opset 7; output_sequence only said whether y is wanted, which the node shows.
struct LSTM_1 {
  LSTM layer{};
  std::int64_t output_sequence = 0;

  static constexpr OpId id{"ai.onnx", "LSTM", 1};
  static constexpr Signature signature =
      "x w r b? sequence_lens:I? initial_h? initial_c? p? -> y? y_h? y_c?";
  using types = LSTM::types;

  constexpr void attributes(auto&& visit) {
    layer.attributes(visit);
    visit("output_sequence", output_sequence);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    return halftone::detail::record_recurrent(graph, layer, inputs, outputs);
  }
};

/// GRU before opset 7, see LSTM_1.
struct GRU_1 {
  GRU layer{};
  std::int64_t output_sequence = 0;

  static constexpr OpId id{"ai.onnx", "GRU", 1, 3};
  static constexpr Signature signature = "x w r b? sequence_lens:I? initial_h? -> y? y_h?";
  using types = GRU::types;

  constexpr void attributes(auto&& visit) {
    layer.attributes(visit);
    visit("output_sequence", output_sequence);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    return halftone::detail::record_recurrent(graph, layer, inputs, outputs);
  }
};

/// RNN before opset 7, see LSTM_1.
struct RNN_1 {
  RNN layer{};
  std::int64_t output_sequence = 0;

  static constexpr OpId id{"ai.onnx", "RNN", 1};
  static constexpr Signature signature = "x w r b? sequence_lens:I? initial_h? -> y? y_h?";
  using types = RNN::types;

  constexpr void attributes(auto&& visit) {
    layer.attributes(visit);
    visit("output_sequence", output_sequence);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    return halftone::detail::record_recurrent(graph, layer, inputs, outputs);
  }
};

}  // namespace halftone::op

#endif
