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

  TensorMap<TensorId> root;  ///< the tensor whose memory a tensor shares, itself for most
  TensorMap<int> number;     ///< of roots: in `lifetimes`; none: inputs, constants, variables
  NodeMap<bool> is_copied;   ///< a view that is read after its tensor changes: it has memory
  NodeMap<bool> is_late;
  Vector<Lifetime> lifetimes;  ///< in steps, which are the positions of nodes

  /// in_place   whether a node may write over what nobody reads any more
  /// with_late  whether there may be late nodes
  constexpr explicit Buffers(const Graph& graph, bool in_place = true, bool with_late = false)
      : root(graph),
        number(graph, none),
        is_copied(graph, false),
        is_late(graph, false),
        in_place_(in_place),
        last_(graph, no_node) {
    for (std::size_t n = 0; with_late && n < graph.nodes.size(); ++n) {
      is_late[n] = halftone::is_late(graph, graph.nodes[n]);
    }
    find_copies(graph);
    find_roots(graph);
    find_last_reads(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) assign(graph, n);
  }

  constexpr int of(TensorId id) const { return number[root[id]]; }
  /// Whether a node is no step: its output is the memory of its input.
  constexpr bool shares(const Graph& graph, std::size_t n) const {
    return is_view(graph.nodes[n]) && !is_copied[n] && !is_late[n];
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
  /// was.
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
      if (!is_view(graph.nodes[n]) || is_late[n]) continue;
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

  /// A tensor lives as long as any that shares its memory.
  constexpr void find_last_reads(const Graph& graph) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const TensorId id : graph.nodes[n].inputs) {
        if (id != no_tensor) last_[root[id]] = static_cast<int>(n);
      }
    }
    for (const TensorId id : graph.outputs) last_[root[id]] = static_cast<int>(graph.nodes.size());
  }

  /// Memory for the outputs of node n: that of an input that nobody needs any more, or its own.
  constexpr void assign(const Graph& graph, std::size_t n) {
    const Node& node = graph.nodes[n];
    if (shares(graph, n)) return;
    const auto step = static_cast<std::int32_t>(n);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const TensorId id = node.outputs[o];
      if (id == no_tensor || root[id] != id) continue;
      // What a node makes before the first run stays: it has memory of its own.
      if (graph.tensor(id).role == Role::constant) continue;
      if (is_late[n] && !is_plannable(graph.info(id))) continue;
      const std::int64_t bytes = graph.info(id).bytes();
      const std::int32_t end = last_[id] > step ? last_[id] : step;
      for (std::size_t i = 0;
           in_place_ && !is_late[n] && i < node.inputs.size() && number[id] == none; ++i) {
        const TensorId in = node.inputs[i];
        if (in == no_tensor || of(in) == none) continue;
        Lifetime& life = lifetimes[static_cast<std::size_t>(of(in))];
        if (life.last != step || last_[root[in]] != step) continue;
        if (!overwrites(graph, node, o, i)) continue;
        number[id] = of(in);
        life.last = end;
        life.bytes = life.bytes > bytes ? life.bytes : bytes;
      }
      if (number[id] == none) number[id] = add(bytes, step, end);
    }
  }

  bool in_place_;
  TensorMap<int> last_;  // step of the last read of a root's memory; the number of nodes: an output
  std::int64_t all_bytes_ = 0;  // as if nothing shared memory
};

}  // namespace halftone
