#pragma once

#include <cstdint>

#include <halftone/base/error.hpp>
#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/late.hpp>
#include <halftone/transform/memory_plan.hpp>

namespace halftone {

/// Whether x86-64 has addresses for a tensor; extents beside one of 0 count, too, so that numbers of
/// elements, rows and bytes fit kernels' integers.
constexpr bool fits_memory(const TensorInfo& info) {
  constexpr std::int64_t most = std::int64_t{1} << 48;
  std::int64_t bytes = size_in_bytes(info.type) > 1 ? size_in_bytes(info.type) : 1;
  for (const std::int64_t extent : info.shape) {
    if (extent <= 1) continue;
    if (bytes > most / extent) return false;
    bytes *= extent;
  }
  return true;
}

/// Which memory the values of a graph lie in while its nodes run in their order: what shares
/// memory, how long it is needed, and what is written over what nobody reads any more. A function of
/// the graph alone: neither kernels nor a device matter. Late nodes (see is_late) copy what they
/// would share, and have memory for those outputs alone that can be planned.
struct Buffers {
  static constexpr int none = -1;

  TensorMap<TensorId> root;        ///< the tensor whose memory a tensor shares, itself for most
  TensorMap<std::int64_t> offset;  ///< where in that memory it lies, in bytes
  TensorMap<int> number;           ///< of roots: in `lifetimes`; none: inputs, constants, variables
  NodeMap<bool> is_copied;         ///< a view that is read after its tensor changes: it has memory
  NodeMap<bool> is_piecewise;      ///< a Concat or Slice without work: see `with_pieces`
  NodeMap<bool> is_written;        ///< a CopyVarUpdate whose value is made where the variable lies
  NodeMap<bool> is_late;
  Vector<Lifetime> lifetimes;  ///< in steps, which are the positions of nodes

  /// in_place     whether a node may write over what nobody reads any more
  /// with_late    whether there may be late nodes
  /// with_pieces  whether what Concat joins is written where it belongs, and what Slice gives is read
  ///              where it lies, if that is dense and begins a line of the cache; not with late nodes
  constexpr explicit Buffers(const Graph& graph, bool in_place = true, bool with_late = false,
                             bool with_pieces = false)
      : root(graph),
        offset(graph, 0),
        number(graph, none),
        is_copied(graph, false),
        is_piecewise(graph, false),
        is_written(graph, false),
        is_late(graph, false),
        in_place_(in_place),
        is_piece_(graph, false),
        last_(graph, no_node) {
    bool any_late = false;
    for (std::size_t n = 0; with_late && n < graph.nodes.size(); ++n) {
      is_late[n] = halftone::is_late(graph, graph.nodes[n]);
      any_late = any_late || is_late[n];
    }
    find_copies(graph);
    find_roots(graph);
    if (in_place) find_updates(graph);
    if (with_pieces && !any_late) find_pieces(graph);
    find_last_reads(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) assign(graph, n);
  }

  constexpr int of(TensorId id) const { return number[root[id]]; }
  /// Whether a node is no step: its output is the memory of its input.
  constexpr bool shares(const Graph& graph, std::size_t n) const {
    return is_piecewise[n] || is_written[n] ||
           (is_view(graph.nodes[n]) && !is_copied[n] && !is_late[n]);
  }
  /// A further buffer, for the steps from first to last.
  constexpr int add(std::int64_t bytes, std::int32_t first, std::int32_t last) {
    if (bytes > INT64_MAX / 2 - all_bytes_) {
      fail(ErrorKind::memory, {.what = "the tensors of the graph do not fit into memory"});
    }
    all_bytes_ += bytes;
    lifetimes.push_back({bytes, first, last});
    return static_cast<int>(lifetimes.size()) - 1;
  }

  /// Whether a node may write output number `output` over input number `input`.
  static constexpr bool overwrites(const Graph& graph, const Node& node, std::size_t output,
                                   std::size_t input) {
    const TensorInfo& x = graph.info(node.inputs[input]);
    const TensorInfo& y = graph.info(node.outputs[output]);
    if (x.shape != y.shape || size_in_bytes(x.type) != size_in_bytes(y.type)) return false;
    if (node.op->elementwise) return true;
    if (node.op->id != op::Fused::id) return node.op->in_place && output == 0 && input == 0;
    // In a group nobody may read the input's block once the output's is written.
    const Graph& body = graph.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
    std::size_t written = body.nodes.size(), last_read = 0;
    for (std::size_t n = 0; n < body.nodes.size(); ++n) {
      if (body.nodes[n].outputs[0] == body.outputs[output]) written = n;
      for (const TensorId id : body.nodes[n].inputs) {
        if (id == body.inputs[input]) last_read = n;
      }
    }
    return last_read <= written;
  }

 private:
  /// Views that are read after a change of the variable whose memory they would share keep what it
  /// was, but for those that are to follow it.
  constexpr void find_copies(const Graph& graph) {
    const std::size_t steps = graph.nodes.size();
    const Aliases aliases(graph);
    TensorMap<std::size_t> last_read(graph, 0);
    const auto read = [&](TensorId id, std::size_t step) {
      last_read[id] = last_read[id] > step ? last_read[id] : step;
    };
    for (const TensorId id : graph.outputs) read(id, steps);
    for (std::size_t n = steps; n-- > 0;) {
      const Node& node = graph.nodes[n];
      for (const TensorId id : node.inputs) {
        const bool is_shared = is_view(node) && !is_late[n];
        if (id != no_tensor) read(id, is_shared ? last_read[node.outputs[0]] : n);
      }
    }
    TensorMap<Vector<std::size_t>> changes(graph);
    for (std::size_t n = 0; n < steps; ++n) {
      const Node& node = graph.nodes[n];
      for_each_modified(node,
                        [&](std::size_t i) { changes[aliases.root(node.inputs[i])].push_back(n); });
    }
    for (std::size_t n = 0; n < steps; ++n) {
      if (!is_view(graph.nodes[n]) || graph.nodes[n].is_tied || is_late[n]) continue;
      const TensorId y = graph.nodes[n].outputs[0];
      for (const std::size_t change : changes[aliases.root(y)]) {
        if (n < change && change < last_read[y]) is_copied[n] = true;
      }
    }
  }

  constexpr void find_roots(const Graph& graph) {
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      root[static_cast<TensorId>(i)] = static_cast<TensorId>(i);
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (is_copied[n]) continue;
      for_each_view(node, [&](std::size_t output, std::size_t input) {
        if (is_late[n] && !node.op->signature.input_slot(input).modified) return;
        root[node.outputs[output]] = root[node.inputs[input]];
      });
    }
  }

  // --- next values of variables ---------------------------------------------------------------

  /// The steps that read or write what lies in one memory, in their order; the number of nodes: an
  /// output.
  constexpr TensorMap<Vector<std::size_t>> uses_of_memory(const Graph& graph) const {
    TensorMap<Vector<std::size_t>> uses(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const TensorId id : graph.nodes[n].inputs) {
        if (id != no_tensor) uses[root[id]].push_back(n);
      }
    }
    for (const TensorId id : graph.outputs) uses[root[id]].push_back(graph.nodes.size());
    return uses;
  }
  /// Lets the node that makes the next value of a variable write it over the last one.
  constexpr void find_updates(const Graph& graph) {
    bool any = false;
    for (const Node& node : graph.nodes) any = any || node.op->id == op::CopyVarUpdate::id;
    if (!any) return;
    const Uses producers(graph);
    TensorMap<Vector<std::size_t>> uses = uses_of_memory(graph), changes(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for_each_modified(graph.nodes[n], [&](std::size_t i) {
        changes[root[graph.nodes[n].inputs[i]]].push_back(n);
      });
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (node.op->id != op::CopyVarUpdate::id || is_late[n]) continue;
      const TensorId variable = root[node.inputs[0]], next = node.inputs[1];
      const int maker = producers.producer[next];
      if (maker == no_node || root[next] != next || graph.tensor(next).role != Role::value ||
          !is_variable(graph.tensor(variable)) ||
          !may_update(graph, static_cast<std::size_t>(maker), n)) {
        continue;
      }
      // It is free of readers that need the last value, or this one when a further one is there.
      bool is_free = changes[next].empty();
      for (const std::size_t use : uses[variable]) {
        is_free = is_free && (use <= static_cast<std::size_t>(maker) || use >= n);
      }
      for (const std::size_t change : changes[variable]) {
        is_free = is_free && (change <= n || uses[next].back() <= change);
      }
      if (!is_free) continue;
      for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
        const auto id = static_cast<TensorId>(i);
        if (root[id] == next) root[id] = variable;
      }
      for (const std::size_t use : uses[next]) uses[variable].push_back(use);
      is_written[n] = true;
    }
  }
  /// Whether node `maker` may write the next value of a variable, which step n would copy, over its
  /// last value.
  constexpr bool may_update(const Graph& graph, std::size_t maker, std::size_t n) const {
    const Node &node = graph.nodes[maker], &update = graph.nodes[n];
    if (is_late[maker] || is_view(node) || has_objects(graph.info(update.inputs[1]).type))
      return false;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] != update.inputs[1]) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorId in = node.inputs[i];
        if (in == no_tensor || root[in] != root[update.inputs[0]]) continue;
        if (overwrites(graph, node, o, i) && !reads_beside(graph, node, i)) return true;
      }
    }
    return false;
  }

  // --- pieces of other tensors ----------------------------------------------------------------

  static constexpr std::int64_t line = 64;

  /// Whether parts of a tensor along an axis are dense: the dimensions in front of it have one element.
  static constexpr bool is_dense(const TensorInfo& info, std::size_t axis) {
    if (!info.is_static() || has_objects(info.type) || info.elements() == 0) return false;
    for (std::size_t d = 0; d < axis; ++d) {
      if (info.shape[d] != 1) return false;
    }
    return true;
  }
  /// This tells which tensors may hold others in their memory, and which may lie in that of others.
  struct Movable {
    Aliases aliases;
    TensorMap<bool> is_made, is_output;

    constexpr Movable(const Graph& graph, const TensorMap<TensorId>& root)
        : aliases(graph), is_made(graph, false), is_output(graph, false) {
      for (const Node& node : graph.nodes) {
        for (const TensorId id : node.outputs) {
          if (id != no_tensor) is_made[id] = graph.tensor(id).role == Role::value;
        }
      }
      for (const TensorId id : graph.outputs) is_output[id] = is_output[root[id]] = true;
    }
    constexpr bool holds_pieces(TensorId whole) const {
      return is_made[whole] && !aliases.is_modified(whole);
    }
    constexpr bool operator()(TensorId piece) const {
      return holds_pieces(piece) && !is_output[piece];
    }
  };
  constexpr void find_pieces(const Graph& graph) {
    const Movable may_move(graph, root);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) cut(graph, n, may_move);
    TensorMap<Vector<TensorId>> members(graph);
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      follow_root(id);
      if (root[id] != id) members[root[id]].push_back(id);
    }
    // From the last one on: what it joins may be joined itself.
    for (std::size_t n = graph.nodes.size(); n-- > 0;) join(graph, n, may_move, members);
  }
  /// The outputs of a Slice or Split lie in its input.
  constexpr void cut(const Graph& graph, std::size_t n, const Movable& may_move) {
    const Node& node = graph.nodes[n];
    if ((node.op->id != op::Slice::id && node.op->id != op::Split::id) || node.outputs.empty())
      return;
    const TensorId x = node.inputs[0];
    follow_root(x);
    const Vector<std::int64_t> begins = begins_of_parts(graph, node);
    if (begins.empty() || !may_move.holds_pieces(root[x])) return;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (!may_move(node.outputs[o]) || (offset[x] + begins[o]) % line != 0) return;
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      root[node.outputs[o]] = root[x];
      offset[node.outputs[o]] = offset[x] + begins[o];
    }
    is_piecewise[n] = true;
  }
  /// The inputs of a Concat, with all that lie in them, lie in its output.
  constexpr void join(const Graph& graph, std::size_t n, const Movable& may_move,
                      TensorMap<Vector<TensorId>>& members) {
    const Node& node = graph.nodes[n];
    if (node.op->id != op::Concat::id || is_evaluated(node)) return;
    const TensorId y = node.outputs[0], whole = root[y];
    const TensorInfo& info = graph.info(y);
    const std::size_t axis = normalized_axis(unpack<op::Concat>(node.attributes).axis, info.rank());
    if (!may_move.holds_pieces(whole) || !is_dense(info, axis)) return;
    bool all = true;
    std::int64_t at = offset[y];
    for (const TensorId x : node.inputs) {
      const TensorId piece = root[x];
      const std::int64_t bytes = graph.info(x).bytes();
      const bool fits =
          piece != whole && may_move(piece) && at % line == 0 && graph.info(piece).bytes() == bytes;
      if (fits) {
        members[piece].push_back(piece);
        for (const TensorId id : members[piece]) {
          root[id] = whole;
          offset[id] += at;
          members[whole].push_back(id);
        }
        members[piece] = {};
        is_piece_[piece] = true;
      }
      all = all && fits;
      at += bytes;
    }
    is_piecewise[n] = all;
  }
  /// A view of what a Slice gives lies there, too.
  constexpr void follow_root(TensorId id) {
    const TensorId shared = root[id];
    if (root[shared] == shared) return;
    offset[id] += offset[shared];
    root[id] = root[shared];
  }
  /// The bytes of x that the outputs of a Slice or Split begin at; empty: they are no dense runs of x.
  static constexpr Vector<std::int64_t> begins_of_parts(const Graph& graph, const Node& node) {
    Vector<std::int64_t> begins;
    const TensorInfo& x = graph.info(node.inputs[0]);
    if (!x.is_static() || has_objects(x.type)) return begins;
    if (node.op->id == op::Split::id) {
      const std::size_t axis = normalized_axis(unpack<op::Split>(node.attributes).axis, x.rank());
      std::int64_t begin = 0;
      for (const TensorId y : node.outputs) {
        if (y == no_tensor || !is_dense(graph.info(y), axis)) return {};
        begins.push_back(begin);
        begin += graph.info(y).bytes();
      }
    } else if (const std::int64_t begin = begin_of_slice(graph, node); begin >= 0) {
      begins.push_back(begin);
    }
    return begins;
  }
  /// The same of a Slice; below 0: it gives no dense run.
  static constexpr std::int64_t begin_of_slice(const Graph& graph, const Node& node) {
    const TensorInfo &x = graph.info(node.inputs[0]), &y = graph.info(node.outputs[0]);
    if (!x.is_static() || !y.is_static() || x.rank() != y.rank()) return -1;
    std::size_t axis = 0;
    while (axis < x.rank() && x.shape[axis] == y.shape[axis]) ++axis;
    if (axis == x.rank() || !is_dense(y, axis)) return -1;
    const Vector<InputInfo> infos = input_infos(graph, node.inputs);
    const Inputs in(infos, 1);
    const auto list = [&](std::size_t i) { return in.integers(i); };
    const Vector<std::int64_t> starts = list(1), ends = list(2), axes = list(3), steps = list(4);
    std::int64_t begin = -1;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (i < steps.size() && steps[i] != 1) return -1;
      const std::int64_t given = i < axes.size() ? axes[i] : static_cast<std::int64_t>(i);
      const std::size_t at = normalized_axis(given, x.rank());
      if (at > axis && x.shape[at] != y.shape[at]) return -1;
      if (at == axis) begin = op::Slice::Range(x.shape[at], starts[i], ends[i], 1).start;
    }
    if (begin < 0) return -1;
    for (std::size_t d = axis + 1; d < x.rank(); ++d) begin *= x.shape[d];
    return begin * size_in_bytes(x.type);
  }

  /// A tensor lives as long as any that shares its memory.
  constexpr void find_last_reads(const Graph& graph) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const TensorId id : graph.nodes[n].inputs) {
        if (id != no_tensor) last_[root[id]] = static_cast<int>(n);
      }
    }
    for (const TensorId id : graph.outputs) last_[root[id]] = static_cast<int>(graph.nodes.size());
  }

  /// Whether a node reads an input's memory through another one, too, beside where it writes: a part of it
  /// may be broadcast, and a group may write before it reads the same elements again.
  constexpr bool reads_beside(const Graph& graph, const Node& node, std::size_t input) const {
    const TensorId x = node.inputs[input];
    for (const TensorId id : node.inputs) {
      if (id == no_tensor || id == x || root[id] != root[x]) continue;
      const bool is_same =
          offset[id] == offset[x] && graph.info(id).bytes() == graph.info(x).bytes();
      if (!is_same || !node.op->elementwise) return true;
    }
    return false;
  }
  /// Memory for the outputs of node n: that of an input that nobody needs any more, or its own.
  constexpr void assign(const Graph& graph, std::size_t n) {
    const Node& node = graph.nodes[n];
    if (shares(graph, n)) return;
    const auto step = static_cast<std::int32_t>(n);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const TensorId id = node.outputs[o];
      if (id == no_tensor) continue;
      if (const TensorId whole = root[id]; whole != id) {
        // The first of its pieces that is made needs the memory of the whole.
        if (is_piece_[id] && number[whole] == none) {
          number[whole] = add(graph.info(whole).bytes(), step, last_[whole]);
        }
        continue;
      }
      if (number[id] != none) continue;
      // What a node makes before the first run stays: it has memory of its own.
      if (graph.tensor(id).role == Role::constant) continue;
      if (is_late[n] && !is_plannable(graph.info(id))) continue;
      const std::int64_t bytes = graph.info(id).bytes();
      const std::int32_t end = last_[id] > step ? last_[id] : step;
      for (std::size_t i = 0;
           in_place_ && !is_late[n] && i < node.inputs.size() && number[id] == none; ++i) {
        const TensorId in = node.inputs[i];
        if (in == no_tensor || of(in) == none || offset[in] != 0) continue;
        Lifetime& life = lifetimes[static_cast<std::size_t>(of(in))];
        if (life.last != step || last_[root[in]] != step) continue;
        if (!overwrites(graph, node, o, i) || reads_beside(graph, node, i)) continue;
        number[id] = of(in);
        life.last = end;
        life.bytes = life.bytes > bytes ? life.bytes : bytes;
      }
      if (number[id] == none) number[id] = add(bytes, step, end);
    }
  }

  bool in_place_;
  TensorMap<bool> is_piece_;  ///< written where it belongs in a root that Concat makes
  TensorMap<int> last_;  // step of the last read of a root's memory; the number of nodes: an output
  std::int64_t all_bytes_ = 0;  // as if nothing shared memory
};

}  // namespace halftone
