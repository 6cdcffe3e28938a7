#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include <halftone/ipu/elementwise.hpp>
#include <halftone/ipu/lowering/layout.hpp>
#include <halftone/ipu/planner.hpp>
#include <halftone/ipu/pool.hpp>
#include <halftone/ipu/random.hpp>
#include <halftone/ipu/slice.hpp>
#include <halftone/op/list.hpp>

namespace halftone::ipu::detail {

/// The node that is being lowered, and what its pieces of work leave to each other and to the
/// places of its outputs.
struct NodeWork {
  Steps& steps;
  Layout& layout;
  Planner& planner;
  Frame& frame;
  const Node& node;
  std::size_t number;                ///< of the node in its graph
  bool is_view = false;              ///< the outputs are parts of the inputs
  std::optional<Placed> home{};      ///< the layout that the work goes on in
  std::int64_t broadcast_bytes = 0;  ///< of sums that the next pass needs on every tile

  const Target& target() const { return steps.t; }
  const TensorInfo& info(TensorId id) const { return frame.graph->info(id); }
  TensorId first_input() const { return node.inputs.empty() ? no_tensor : node.inputs[0]; }

  void fetch_inputs() { layout.fetch_inputs(frame, node); }
  /// The work goes on where the first input lies.
  const Mapping& work_on_first_input();
  /// Where the work on x goes on: at home, at the first input's place, or anywhere.
  Mapping work_on(const TensorInfo& x);
  /// Gives the outputs their places.
  void place_outputs();

 private:
  bool place_as_view(std::size_t output);
};

/// Appends the steps of a piece of the node's work.
void lower_work(NodeWork& at, const Work& work);
/// The steps of an element-wise operator, and of one that does not say what it costs.
void lower_elementwise(NodeWork& at);
void lower_unknown(NodeWork& at, std::span<const TensorInfo> in, std::span<const TensorInfo> out);

// The steps of each kind of work, lower_product to lower_transfer.
#define HALFTONE_LOWER(NAME) void lower_##NAME(NodeWork& at, const Work& work);
HALFTONE_WORK_KINDS(HALFTONE_LOWER)
#undef HALFTONE_LOWER

inline const Mapping& NodeWork::work_on_first_input() {
  home = layout.local(frame, node.inputs[0]);
  return home->mapping;
}

inline Mapping NodeWork::work_on(const TensorInfo& x) {
  const std::int64_t elements = x.elements();
  if (!home || home->mapping.elements != elements) {
    fetch_inputs();
    const TensorId id = first_input();
    const bool is_operand = id != no_tensor && info(id).elements() == elements;
    const Placed next = is_operand ? layout.local(frame, id) : layout.linear(x);
    if (!home || is_operand || elements > home->mapping.elements) home = next;
  }
  return home->mapping.elements == elements ? home->mapping
                                            : linear_mapping(target(), elements, x.type);
}

inline bool NodeWork::place_as_view(std::size_t output) {
  const TensorId id = node.outputs[output];
  const int shares = node.op->signature.output_slot(output).shares;
  if (shares < 0 && !is_view) return false;
  // A view of one input, or of several side by side.
  std::vector<TensorId> bases;
  const bool has_several = shares < 0 && node.op->id == op::Concat::id;
  const std::size_t first = shares < 0 ? 0 : static_cast<std::size_t>(shares);
  const std::size_t end = has_several ? node.inputs.size() : first + 1;
  for (std::size_t i = first; i < end && i < node.inputs.size(); ++i) {
    const TensorId base = node.inputs[i];
    if (base == no_tensor || info(base).elements() == 0 || info(base).type != info(id).type) {
      continue;
    }
    bases.push_back(base);
  }
  if (bases.empty()) return false;
  layout.place_view(frame, id, bases, shares >= 0);
  return true;
}

inline void NodeWork::place_outputs() {
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    const TensorId id = node.outputs[o];
    if (id == no_tensor || place_as_view(o)) continue;
    const TensorId input =
        o == 0 ? layout.overwritten(frame, number, home ? &*home : nullptr) : no_tensor;
    if (input != no_tensor) {
      layout.place_over(frame, id, input);
    } else {
      layout.place_output(frame, id, home ? *home : Placed{});
    }
  }
}

inline void lower_unknown(NodeWork& at, std::span<const TensorInfo> in,
                          std::span<const TensorInfo> out) {
  // All inputs that the node does not change come to linear layout; then it takes a cycle and worker
  // turn for each float operation, and a cycle for 8 bytes of results.
  at.fetch_inputs();
  std::int64_t bytes = 0, received = 0;
  const TensorInfo* largest = nullptr;
  for (const TensorInfo& info : out) {
    if (!info.is_known()) continue;
    bytes += info.bytes();
    if (largest == nullptr || info.elements() > largest->elements()) largest = &info;
  }
  if (largest == nullptr) return;
  const Descriptor& op = *at.node.op;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].is_known() && !op.signature.input_slot(i).modified) received += in[i].bytes();
  }
  at.home = at.layout.linear(*largest);
  const std::int64_t tiles = std::max<std::int64_t>(at.home->mapping.pieces, 1);
  at.steps.exchange(divide_up(received, tiles), tiles);
  const std::int64_t flops = std::max(op.flops(at.node.attributes, in, out), largest->elements());
  at.steps.compute(joined({"halftone::", op.id.name}), at.home->mapping,
                   30 + divide_up(flops, tiles) + copy_cycles(at.target(), divide_up(bytes, tiles)),
                   1, flops);
}

// --- passes over elements ------------------------------------------------------------------------

/// Distinct elements of an operand that `count` consecutive elements of y read.
inline std::int64_t distinct(const Dims& x, const Dims& y, std::int64_t count) {
  std::int64_t read = 1;
  for (std::size_t i = 0; i < y.size() && count > 0; ++i) {
    const std::size_t axis = y.size() - 1 - i;
    const std::int64_t extent = y[axis], covered = std::min(extent, count);
    if (i < x.size() && x[x.size() - 1 - i] != 1) read *= covered;
    count = extent > 0 ? divide_up(count, extent) : 0;
    if (count <= 1) break;
  }
  return read;
}

/// The operand of an element-wise node that keeps its place: one with as many elements as the
/// output, and rather one that was computed than one that has no place yet.
inline TensorId leading_operand(const NodeWork& at, std::int64_t elements) {
  TensorId chosen = no_tensor;
  for (const TensorId id : at.node.inputs) {
    if (id == no_tensor || at.info(id).elements() != elements) continue;
    const bool is_better =
        chosen == no_tensor || (at.frame.placed[id].is_known && !at.frame.placed[chosen].is_known);
    if (is_better) chosen = id;
  }
  return chosen;
}

inline void lower_pass(NodeWork& at, const Work& w) {
  const std::int64_t elements = w.x.elements();
  if (elements == 0) return;
  const Mapping over = at.work_on(w.x);
  at.steps.exchange(std::min(at.broadcast_bytes, over.largest() * 4), over.pieces);
  at.broadcast_bytes = 0;
  at.steps.compute(joined({"popops::", w.op, "<", halftone::name(w.x.type), ">"}), over,
                   elementwise_cycles(at.target(), w.op, over.largest(), w.x.type), 1,
                   at.steps.flops_of(elements));
}

/// Whether the first dimensions have so many elements: what is reduced to these lies together.
inline bool has_leading(const Dims& shape, std::int64_t elements) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (product == elements) return true;
    product *= extent;
  }
  return product == elements;
}

inline void lower_reduce(NodeWork& at, const Work& w) {
  const std::int64_t elements = w.x.elements(), outputs = w.count;
  if (elements == 0 || outputs < 1) return;
  const Target& t = at.target();
  at.fetch_inputs();
  if (!at.home) at.work_on_first_input();
  const Mapping over = at.home->mapping.elements == elements
                           ? at.home->mapping
                           : linear_mapping(t, elements, w.x.type);
  const std::int64_t on_tile = over.largest(), each = std::max<std::int64_t>(elements / outputs, 1);
  const std::int64_t on_tile_outputs = std::min(divide_up(on_tile, each), outputs);
  const std::string vertex =
      joined({"popops::Reduce", w.is_sum ? "Add<" : "Max<", halftone::name(w.x.type), ">"});
  const std::int64_t reduced = std::min(each, on_tile);
  const bool is_place = at.node.op->id == op::ArgMax::id || at.node.op->id == op::ArgMin::id;
  const std::int64_t cycles =
      is_place ? on_tile_outputs *
                     arg_max_cycles(t, reduced, divide_up(reduced, t.worker_contexts), w.x.type)
               : reduce_on_tile_cycles(t, on_tile_outputs, reduced, w.x.type, w.is_sum,
                                       has_leading(w.x.shape, outputs));
  at.steps.compute(vertex, over, cycles, 1,
                   at.steps.flops_of(std::max<std::int64_t>(elements - outputs, 0)));
  // Rows that end within a tile, or span several of them.
  const std::int64_t spread = std::min(divide_up(each, std::max<std::int64_t>(on_tile, 1)) +
                                           (each % std::max<std::int64_t>(on_tile, 1) != 0 ? 1 : 0),
                                       over.pieces);
  const TileReduction rest =
      plan_tile_reduction(t, outputs, spread, t.tiles_per_ipu, ElementType::float32);
  const Mapping sums = spread_mapping(t, std::max(outputs, rest.tiles), rest.tiles);
  const std::int64_t stages[][2] = {{rest.first_exchange, rest.first_compute},
                                    {rest.second_exchange, rest.second_compute}};
  for (const auto& [exchange, compute] : stages) {
    if (exchange <= 0) continue;
    at.steps.exchange(exchange, rest.tiles);
    at.steps.compute(vertex, sums, compute);
  }
  at.broadcast_bytes = outputs * 4;
}

inline void lower_cast(NodeWork& at, const Work& w) {
  at.fetch_inputs();
  const Mapping& over = at.work_on_first_input();
  at.steps.compute(
      joined({"popops::Cast<", halftone::name(w.x.type), ",", halftone::name(w.to), ">"}), over,
      cast_cycles(at.target(), over.largest(), w.x.type, w.to), 1, w.x.elements());
}

inline void lower_view(NodeWork& at, const Work&) { at.is_view = true; }

inline void lower_fill(NodeWork& at, const Work& w) {
  if (w.x.elements() == 0) return;
  const Target& t = at.target();
  const Mapping over = at.work_on(w.x);
  const std::int64_t on_worker = divide_up(over.largest(), t.worker_contexts);
  at.steps.compute(joined({"popops::Fill<", halftone::name(w.x.type), ">"}), over,
                   t.worker_contexts * fill_worker_cycles(on_worker, w.x.type));
}

/// A tile's share of a pooling to y: some channels of neighbouring positions, which the workers
/// divide; each kernel position takes a run of them.
inline PoolShape pool_shape(const Target& t, const TensorInfo& y, std::int64_t on_tile,
                            std::int64_t taps) {
  constexpr std::int64_t most_channels = 16;
  const std::int64_t v = t.vector_width(y.type);
  const std::int64_t all = y.rank() > 1 ? y.shape[1] : 1;
  const std::int64_t channels = divide_up(std::min({all, most_channels, on_tile}), v) * v;
  const std::int64_t positions =
      divide_up(on_tile, std::min(channels, std::max<std::int64_t>(all, 1)));
  const std::int64_t on_worker = divide_up(positions, t.worker_contexts);
  const std::int64_t line = y.rank() > 2 ? y.shape.back() : 1;
  const std::int64_t width = std::clamp<std::int64_t>(line, 1, on_worker);
  const std::int64_t busy = divide_up(positions, on_worker);
  return {.channels = channels,
          .outputs = positions,
          .rows = busy * divide_up(on_worker, width),
          .items = taps,
          .width = width};
}

inline void lower_pool(NodeWork& at, const Work& w) {
  at.fetch_inputs();
  const Target& t = at.target();
  const Mapping over = linear_mapping(t, w.x.elements(), w.x.type);
  const TensorInfo& x = at.info(at.node.inputs[0]);
  const std::int64_t taps = std::max<std::int64_t>(w.count, 1);
  const std::int64_t flops = at.steps.flops_of(w.x.elements(), taps);
  at.steps.exchange(divide_up(x.bytes(), std::max<std::int64_t>(over.pieces, 1)), over.pieces);
  const bool is_gradient = !w.is_sum && at.node.op->id.name.ends_with("Gradient");
  at.steps.compute(w.is_sum      ? "popnn::SumPooling"
                   : is_gradient ? "popnn::MaxPoolingGrad"
                                 : "popnn::MaxPooling",
                   over,
                   pool_cycles(t,
                               w.is_sum      ? PoolVertex::sum
                               : is_gradient ? PoolVertex::max_gradient
                                             : PoolVertex::max,
                               pool_shape(t, w.x, over.largest(), taps), w.x.type),
                   1, flops);
  at.home = at.layout.fresh(over, true);
}

inline void lower_random(NodeWork& at, const Work& w) {
  at.fetch_inputs();
  const TensorId id = at.first_input();
  const bool has_operand = id != no_tensor && at.info(id).elements() == w.x.elements();
  at.home = has_operand ? at.layout.local(at.frame, id) : at.layout.linear(w.x);
  const bool is_normal = at.node.op->id.name.find("Normal") != std::string_view::npos;
  const RandomVertex vertex = w.count == 1   ? RandomVertex::bernoulli
                              : w.count == 2 ? RandomVertex::dropout
                              : is_normal    ? RandomVertex::normal
                                             : RandomVertex::uniform;
  at.steps.compute("poprand::Random", at.home->mapping,
                   random_cycles(at.target(), vertex, at.home->mapping.largest(), w.x.type));
}

inline void lower_top_k(NodeWork& at, const Work& w) {
  at.fetch_inputs();
  const Mapping over = linear_mapping(at.target(), w.x.elements(), w.x.type);
  const std::int64_t stages = top_k_stages(w.count, w.each);
  if (stages == 0) return;
  const Steps::Here before = at.steps.open_program("Repeat", stages);
  at.steps.exchange(over.largest() * 8, over.pieces);
  const std::int64_t pairs = divide_up(divide_up(over.largest(), 2), at.target().worker_contexts);
  at.steps.compute(
      "popops::CompareAndSwapAtDistanceKeyVal", over,
      compare_and_swap_cycles(at.target(), {.pairs = pairs, .distance = pairs, .first = pairs},
                              is_floating_point(w.x.type), PairValues::carried));
  at.steps.here = before;
}

inline void lower_vertex(NodeWork& at, const Work& w) {
  if (w.x.elements() == 0) return;
  const Mapping over = at.work_on(w.x);
  at.steps.check_countable("an operator takes more cycles than a profile counts",
                           static_cast<double>(w.count), static_cast<double>(most_repeats));
  at.steps.compute(joined({at.node.op->id.domain, "::", at.node.op->id.name}), over,
                   at.target().worker_contexts * w.count);
}

/// How an operand that is smaller than y meets it: a run of `length` elements of it for each of
/// `rows` rows in turn, or, with length 1, each of its elements for `columns` elements of y.
struct Broadcast {
  std::int64_t length = 1, rows = 1, columns = 1;
};

inline Broadcast broadcast_of(const Dims& x, const Dims& y) {
  Broadcast b;
  std::size_t i = 0;
  const auto extent = [&](std::size_t axis) {
    return axis < x.size() ? x[x.size() - 1 - axis] : std::int64_t{1};
  };
  const auto own = [&](std::size_t axis) { return y[y.size() - 1 - axis]; };
  for (; i < y.size() && extent(i) == 1; ++i) b.columns *= own(i);
  if (b.columns > 1) return b;
  for (; i < y.size() && extent(i) == own(i); ++i) b.length *= own(i);
  for (; i < y.size() && extent(i) == 1; ++i) b.rows *= own(i);
  return b;
}

/// Cycles of an element-wise operator on a tile's elements, one of whose operands is broadcast.
inline std::int64_t broadcast_cycles(const Target& t, std::string_view op, const Broadcast& b,
                                     std::int64_t on_tile, ElementType type, bool is_in_place) {
  const ElementwiseCost* row = find_elementwise(op);
  const bool is_fast = row != nullptr && row->is_fast(type);
  if (is_fast && b.columns > 1) {
    const std::int64_t columns = std::min(b.columns, on_tile);
    return outer_broadcast_cycles(t, divide_up(on_tile, columns), columns, type);
  }
  const bool has_inner = is_fast || (op == "Div" && is_floating_point(type));
  if (has_inner && b.columns == 1 && b.length > 1 && b.length < on_tile) {
    const std::int64_t rows = std::min(b.rows, divide_up(on_tile, b.length));
    return inner_broadcast_cycles(t, op, rows, b.length, divide_up(on_tile, b.length * rows), type,
                                  is_in_place);
  }
  return elementwise_cycles(t, op, on_tile, type, is_in_place);
}

inline void lower_elementwise(NodeWork& at) {
  const Target& t = at.target();
  const TensorInfo& y = at.info(at.node.outputs[0]);
  const TensorId leading = leading_operand(at, y.elements());
  at.home = leading != no_tensor ? at.layout.local(at.frame, leading) : at.layout.linear(y);
  const std::int64_t on_tile = at.home->mapping.largest();
  bool has_scalar = false;
  std::optional<Broadcast> broadcast;
  std::int64_t operands = 0, received = 0;
  for (const TensorId id : at.node.inputs) {
    if (id == no_tensor) continue;
    ++operands;
    if (id == leading) continue;
    const TensorInfo& info = at.info(id);
    if (info.elements() == y.elements()) {
      const Placed& p = at.layout.local(at.frame, id, &*at.home);
      const bool matches = p.layout == at.home->layout && p.mapping == at.home->mapping;
      if (!matches) received += on_tile * element_bytes(info);
      continue;
    }
    at.layout.local(at.frame, id);
    received += distinct(info.shape, y.shape, on_tile) * element_bytes(info);
    if (info.elements() == 1) {
      has_scalar = true;
    } else {
      broadcast = broadcast_of(info.shape, y.shape);
    }
  }
  at.steps.exchange(received, at.home->mapping.pieces);

  const std::string_view op = at.node.op->id.name;
  const ElementType type = leading != no_tensor ? at.info(leading).type : y.type;
  const bool is_in_place =
      leading != no_tensor && at.layout.overwritten(at.frame, at.number, &*at.home) == leading;
  const ElementwiseCost* row = find_elementwise(op);
  std::int64_t cycles = 0;
  if (operands == 2 && broadcast) {
    cycles = broadcast_cycles(t, op, *broadcast, on_tile, type, is_in_place);
  } else if (operands == 2 && has_scalar && row != nullptr && row->inputs == 2) {
    cycles = scalar_broadcast_cycles(t, *row, on_tile, type, is_in_place);
  } else if (op == "Where" && has_scalar && at.info(at.node.inputs[0]).elements() == 1 &&
             at.info(at.node.inputs[1]).elements() == y.elements() &&
             at.info(at.node.inputs[2]).elements() == y.elements()) {
    cycles =
        t.worker_contexts * row_select_worker_cycles(divide_up(on_tile, t.worker_contexts), type);
  } else {
    cycles = elementwise_cycles(t, op, on_tile, type, is_in_place);
  }
  at.steps.compute(joined({"popops::", op, "<", halftone::name(type), ">"}), at.home->mapping,
                   cycles, 1, y.elements());
}

inline void lower_work(NodeWork& at, const Work& w) {
  at.steps.check_countable(
      "an operator goes round more often than a profile counts",
      static_cast<double>(at.steps.here.repeats) * static_cast<double>(w.times),
      static_cast<double>(most_repeats));
  at.steps.here.times = w.times;
#define HALFTONE_FUNCTION(NAME) &lower_##NAME,
  constexpr void (*functions[])(NodeWork&, const Work&) = {HALFTONE_WORK_KINDS(HALFTONE_FUNCTION)};
#undef HALFTONE_FUNCTION
  functions[static_cast<std::size_t>(w.kind)](at, w);
}

}  // namespace halftone::ipu::detail
