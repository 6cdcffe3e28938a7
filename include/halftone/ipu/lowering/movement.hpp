#pragma once

#include <halftone/ipu/lowering/work.hpp>
#include <halftone/op/list.hpp>

// Pieces of work that move data: rows of tables, slices, copies, streaming memory.
namespace halftone::ipu::detail {

/// How the rows of `groups` tables are split: tables first, then the rows' elements, then the
/// entries, at least two a tile. `elements`: a tile's share of a row; `serial`: a tile's tables, one
/// after the other.
struct RowSplit {
  std::int64_t tiles, dictionary, elements, serial;
};

/// Brings the inputs to this IPU; nothing if there are no rows.
inline std::optional<RowSplit> split_rows(NodeWork& at, const Work& w) {
  at.fetch_inputs();
  if (w.count < 1 || w.each < 1 || w.groups < 1) return std::nullopt;
  const std::int64_t tiles = at.target().tiles_per_ipu;
  const std::int64_t grain = std::max<std::int64_t>(8 / element_bytes(w.x), 1);
  const std::int64_t entries = w.x.elements() / w.groups / w.each;
  const std::int64_t at_once = std::min(w.groups, tiles), each = tiles / at_once;
  const std::int64_t parts = std::min(divide_up(w.each, grain), each);
  const std::int64_t dictionary =
      std::clamp<std::int64_t>(each / parts, 1, std::max<std::int64_t>(entries / 2, 1));
  return RowSplit{at_once * parts * dictionary, dictionary, divide_up(w.each, parts),
                  divide_up(w.groups, at_once)};
}

inline void lower_gather(NodeWork& at, const Work& w) {
  // Every tile serves the lookups that fall into its part of the tables.
  const std::optional<RowSplit> split = split_rows(at, w);
  if (!split) return;
  const Target& t = at.target();
  const auto& [tiles, dictionary, elements, serial] = *split;
  const Mapping over = spread_mapping(t, tiles, tiles);
  at.steps.exchange(w.count * serial * 4, tiles);
  const std::int64_t offsets = divide_up(w.count * serial, t.worker_contexts);
  const std::int64_t here = divide_up(offsets, dictionary);
  at.steps.compute("popops::MultiSlice", over,
                   gather_cycles(t, {offsets, here}, elements, w.x.type));
  if (dictionary > 1) {
    const std::int64_t shared = divide_up(w.count, dictionary);
    const std::int64_t second = divide_up(shared, t.worker_contexts);
    at.steps.exchange(w.count * elements * element_bytes(w.x) / dictionary *
                          std::min<std::int64_t>(dictionary, 8),
                      tiles);
    at.steps.compute("popops::MultiSlice", over,
                     gather_cycles(t, {second, second}, elements, w.x.type));
  }
  at.home = at.layout.fresh(spread_mapping(t, w.groups * w.count * w.each, tiles));
}

inline void lower_scatter(NodeWork& at, const Work& w) {
  const std::optional<RowSplit> split = split_rows(at, w);
  if (!split) return;
  const auto& [tiles, dictionary, elements, serial] = *split;
  const Target& t = at.target();
  const std::int64_t rows = w.count * serial;
  const Mapping over = spread_mapping(t, tiles, tiles);
  at.steps.exchange(rows * (4 + elements * element_bytes(w.x)), tiles);
  if (w.is_sum) {
    const std::int64_t here = divide_up(rows, dictionary);
    at.steps.compute("popops::MultiUpdateAdd", over,
                     scatter_add_cycles(t, {rows, here}, elements, w.x.type), 1,
                     at.steps.flops_of(w.groups * w.count * w.each));
  } else {
    const std::int64_t offsets = divide_up(rows, t.worker_contexts);
    const std::int64_t here = divide_up(offsets, dictionary);
    at.steps.compute("popops::MultiUpdate", over,
                     scatter_cycles(t, {offsets, here}, elements, w.x.type));
  }
}

inline void lower_dynamic_slice(NodeWork& at, const Work& w) {
  const std::int64_t elements = w.x.elements();
  if (elements == 0 || w.count < 1) return;
  at.fetch_inputs();
  // Every tile has its share of all slices: nothing is exchanged.
  const Target& t = at.target();
  const Mapping over = linear_mapping(t, elements / w.count, w.x.type);
  at.steps.compute("popops::DynamicSlice", over,
                   dynamic_slice_cycles(t, over.largest(), w.count, w.x.type));
  if (!at.home) at.home = at.layout.fresh(spread_mapping(t, elements, over.pieces));
}

inline void lower_keep(NodeWork& at, const Work& w) {
  if (w.x.elements() == 0) return;
  at.fetch_inputs();
  const Mapping& over = at.work_on_first_input();
  const TensorId overwritten = at.layout.overwritten(at.frame, at.number, &*at.home);
  if (overwritten != no_tensor && overwritten == at.node.inputs[0]) return;
  at.steps.copy(copy_cycles(at.target(), over.largest() * element_bytes(w.x)), over.pieces);
}

/// How many replicas the node's tensors go between.
inline std::int64_t members_of(const Node& node, std::int64_t replicas) {
  const auto of = [&](const op::Collective& collective) -> std::int64_t {
    if (collective.collective_operator == CollectiveOperator::local) return 1;
    return collective.members(static_cast<int>(replicas)).size;
  };
  if (node.op->id == op::ReplicatedAllReduce::id) {
    return of(unpack<op::ReplicatedAllReduce>(node.attributes).collective);
  }
  if (node.op->id == op::ReplicatedReduceScatter::id) {
    return of(unpack<op::ReplicatedReduceScatter>(node.attributes).collective);
  }
  if (node.op->id == op::ReplicatedAllGather::id) {
    return of(unpack<op::ReplicatedAllGather>(node.attributes).collective);
  }
  return replicas;
}

inline void lower_move(NodeWork& at, const Work& w) {
  if (w.x.elements() == 0) return;
  if (at.node.op->reaches == Reaches::replicas) {
    // What is joined as a whole is added up part by part, and the sums go round once more.
    const TensorId x = at.first_input(),
                   y = at.node.outputs.empty() ? no_tensor : at.node.outputs[0];
    const bool is_whole =
        x != no_tensor && y != no_tensor && at.info(x).elements() == at.info(y).elements();
    at.work_on(w.x);
    at.steps.join(w.x.bytes(), members_of(at.node, at.steps.report.replicas), is_whole ? 2 : 1);
    return;
  }
  const Mapping over = at.work_on(w.x);
  at.steps.exchange(over.largest() * element_bytes(w.x), over.pieces);
}

inline void lower_transfer(NodeWork& at, const Work& w) {
  if (w.x.elements() == 0) return;
  const std::vector<TensorId>& outputs = at.node.outputs;
  at.home = outputs.empty() ? at.layout.local(at.frame, at.node.inputs[0]) : at.layout.linear(w.x);
  const Mapping& over = at.home->mapping;
  const std::int64_t on_tile = over.largest() * element_bytes(w.x);
  at.steps.add(
      StepKind::streaming,
      std::max(streaming_cycles(at.target(), w.x.bytes()), exchange_cycles(at.target(), on_tile)),
      w.x.bytes(), over.pieces);
}

}  // namespace halftone::ipu::detail
