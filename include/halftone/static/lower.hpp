#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/kernel/simd.hpp>
#include <halftone/static/operators.hpp>
#include <halftone/transform/block_channels.hpp>
#include <halftone/transform/choose_convolutions.hpp>
#include <halftone/transform/copy_given.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/fold_batch_norm.hpp>
#include <halftone/transform/fuse.hpp>
#include <halftone/transform/fuse_attention.hpp>
#include <halftone/transform/fuse_convolutions.hpp>
#include <halftone/transform/inline_calls.hpp>
#include <halftone/transform/schedule.hpp>
#include <halftone/transform/seed_random.hpp>

// The passes of static programs: those of the engine, and what it computes before the first run.
namespace halftone::detail {

/// A variable, and its first value if that is bytes.
struct LoweredVariable {
  TensorId id = no_tensor;
  Bytes data{};
};

/// A graph for a static program.
struct Lowered {
  Graph graph{};
  /// How many nodes, the first ones, depend on constants alone and run before the first run. Their
  /// outputs are constants without data.
  std::size_t first_nodes = 0;
  /// Those that count as constants, too, unless they are arrays of the program.
  Vector<LoweredVariable> variables{};
  bool is_random = false;  ///< the last input is the state of random numbers
};

/// Whether nodes of an element type run on vectors of its own: groups of others stay apart.
constexpr bool is_grouped_type(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float64;
}
inline constexpr std::size_t most_member_words = 8;

/// Whether a static program has a group for an element-wise node: all that it computes with is float
/// or double, or bool beside them.
constexpr bool has_static_group(const Graph& graph, const Node& node) {
  if (!node.op->elementwise || node.attributes.size() > most_member_words ||
      node.op->signature.inputs() > 4) {
    return false;
  }
  ElementType lane = ElementType::undefined;
  bool fits = true;
  const auto add = [&](TensorId id) {
    if (id == no_tensor) return;
    const ElementType type = graph.info(id).type;
    if (type == ElementType::boolean) return;
    fits = fits && is_grouped_type(type) && (lane == ElementType::undefined || lane == type);
    lane = type;
  };
  for (const TensorId id : node.inputs) add(id);
  for (const TensorId id : node.outputs) add(id);
  return fits && lane != ElementType::undefined;
}

/// Unchanged variables count as constants: whoever changes them says so.
constexpr void make_static_constants(Graph& graph) {
  const Aliases aliases(graph);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    TensorRecord& t = graph.tensors[i];
    if (t.role == Role::state) t.role = Role::variable;
    if (t.role == Role::variable && !aliases.is_modified(static_cast<TensorId>(i))) {
      t.role = Role::constant;
    }
  }
}

/// Takes nodes out of a graph that depend on constants alone, and give no more than they take.
class FirstNodes {
 public:
  constexpr explicit FirstNodes(Graph& graph) {
    Vector<Node> rest;
    for (Node& node : graph.nodes) {
      if (!is_first(graph, node)) {
        rest.push_back(std::move(node));
        continue;
      }
      for (const TensorId id : node.outputs) {
        if (id == no_tensor) continue;
        TensorRecord& t = graph.tensor(id);
        t.role = Role::constant;
        // The passes look at the values of small constants.
        if (is_view(node)) t.data = data_of_small(graph, node);
      }
      nodes.push_back(std::move(node));
    }
    graph.nodes = std::move(rest);
  }
  /// Puts them in front.
  constexpr std::size_t put_back(Graph& graph) {
    const std::size_t count = nodes.size();
    for (Node& node : graph.nodes) nodes.push_back(std::move(node));
    graph.nodes = std::move(nodes);
    return count;
  }

  Vector<Node> nodes;

 private:
  static constexpr std::int64_t small_bytes = 4096;

  static constexpr Bytes data_of_small(const Graph& graph, const Node& view) {
    const auto shared = static_cast<std::size_t>(view.op->signature.output(0).shares);
    const Bytes& data = graph.tensor(view.inputs[shared]).data;
    // Not by ?:, which g++ 12 destroys twice in constant evaluation.
    if (data.array() == nullptr && data.size() <= 64) return data;
    return {};
  }
  static constexpr bool is_first(const Graph& graph, const Node& node) {
    if (node.inputs.empty() || has_effect(node) || !subgraphs_of(node).empty()) return false;
    std::int64_t taken = small_bytes;
    for (const TensorId id : node.inputs) {
      if (id == no_tensor) continue;
      const TensorRecord& t = graph.tensor(id);
      if (t.role != Role::constant || !t.info.is_static()) return false;
      taken += t.info.bytes();
    }
    for (const TensorId id : node.outputs) {
      if (id == no_tensor) continue;
      if (!graph.info(id).is_static()) return false;
      taken -= graph.info(id).bytes();
    }
    return taken >= 0;
  }
};

/// The engine's passes from fusion on.
constexpr Graph fused_and_ordered(Graph graph) {
  graph = fuse_convolutions(fuse_attention(std::move(graph)));
  graph = block_channels(std::move(graph), kernel::Vec<float>::size);
  graph = choose_convolutions(std::move(graph), Convolution::fast);
  return schedule(fuse_elementwise(std::move(graph), &has_static_group));
}

/// For make_program: bodies go through the engine's passes, too.
struct StaticPasses {
  bool is_body = false;

  constexpr Graph operator()(Graph graph) const {
    if (!is_body) return graph;
    graph = inline_calls(std::move(graph));
    make_static_constants(graph);
    return fused_and_ordered(without_dead_code(std::move(graph)));
  }
  static constexpr StaticPasses inside(const Graph&, const Node&, std::size_t) { return {true}; }
};

constexpr Lowered lowered(Graph graph) {
  Lowered result;
  graph.model.clear();
  result.is_random = seed_random(graph);
  graph = inline_calls(copy_given(std::move(graph)));
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (is_variable(graph.tensors[i])) result.variables.push_back({static_cast<TensorId>(i)});
  }
  make_static_constants(graph);
  erase_if(result.variables, [&](const LoweredVariable& v) {
    const TensorRecord& t = graph.tensor(v.id);
    return t.role == Role::constant && t.data.array() != nullptr;
  });
  for (LoweredVariable& v : result.variables) {
    // Not for the passes: whoever has the program may change it.
    v.data = std::exchange(graph.tensor(v.id).data, {});
  }
  graph = without_dead_code(std::move(graph));
  FirstNodes first(graph);
  graph = fold_batch_norm(std::move(graph), [&](Graph& g, Node& conv, const Node& norm) {
    const float epsilon = unpack<op::BatchNormalization>(norm.attributes).epsilon;
    Vector<TensorId> inputs{conv.inputs[1]};
    for (std::size_t i = 1; i < 5; ++i) inputs.push_back(norm.inputs[i]);
    inputs.push_back(conv.inputs[2]);
    const auto folded = [&](const TensorInfo& info) {
      return g.add_tensor({.info = info, .role = Role::constant}, {});
    };
    conv.inputs[1] = folded(g.info(inputs[0]));
    conv.inputs[2] = folded(g.info(inputs[1]));
    first.nodes.push_back({.op = &descriptor<FoldedNormalization>,
                           .attributes = pack(FoldedNormalization{epsilon}),
                           .inputs = std::move(inputs),
                           .outputs = {conv.inputs[1], conv.inputs[2]}});
  });
  graph = fused_and_ordered(std::move(graph));
  result.first_nodes = first.put_back(graph);
  result.graph = std::move(graph);
  return result;
}

}  // namespace halftone::detail
