#pragma once

#include <bit>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/graph.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/graph/some_attributes.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/infer.hpp>

namespace halftone {

namespace detail {

/// The attribute `seed` of a node, as bits.
class SeedAttribute final : public SomeAttributes {
 public:
  Optional<std::int64_t> bits;

  constexpr void integer(std::string_view name, std::int64_t& value, bool& present) override {
    if (name == "seed" && present) bits = value;
  }
  constexpr void real(std::string_view name, float& value, bool& present) override {
    if (name == "seed" && present) bits = std::int64_t{std::bit_cast<std::int32_t>(value)};
  }
};

class RandomSeeds {
 public:
  static constexpr TensorInfo state_info{ElementType::uint32, {6}};

  /// A Dropout that does not drop is its input.
  static constexpr void remove_idle(Graph& graph) {
    for (Node& node : graph.nodes) {
      const bool is_dropout = node.op->id == op::Dropout::id;
      if ((!is_dropout && node.op->id != op::ShapedDropout::id) || is_training(graph, node)) {
        continue;
      }
      if (is_dropout && node.outputs.size() > 1 && node.outputs[1] != no_tensor) {
        // It has no need of a seed to make a mask of true.
        continue;
      }
      node.op = &descriptor<op::Identity>;
      node.attributes = pack(op::Identity{});
      node.inputs.resize(1);
      node.outputs.resize(1);
    }
    for (Graph& body : graph.graphs) remove_idle(body);
  }

  static constexpr bool needs_seed(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      if (lacks_seed(graph, node)) return true;
      for (const std::int32_t index : subgraphs_of(node)) {
        if (needs_seed(graph.graphs[static_cast<std::size_t>(index)])) return true;
      }
    }
    return false;
  }

  constexpr void place(Graph& graph, TensorId state) {
    Vector<Node> nodes = std::exchange(graph.nodes, {});
    for (Node& node : nodes) {
      const bool is_random = lacks_seed(graph, node);
      const Vector<std::int32_t> indices = subgraphs_of(node);
      bool is_random_inside = false;
      for (const std::int32_t index : indices) {
        is_random_inside =
            is_random_inside || needs_seed(graph.graphs[static_cast<std::size_t>(index)]);
      }
      if (is_random) {
        SeedAttribute attribute;
        Vector<Word> words = node.attributes;
        node.op->attributes(words, attribute);
        const TensorInfo infos[]{{ElementType::uint32, {2}}};
        const PlaceScope there(graph, node.place);
        const std::size_t n = graph.add_node(
            descriptor<op::DeriveSeed>,
            pack(op::DeriveSeed{.number = ++numbers_, .fixed = attribute.bits}), {state}, infos);
        node.inputs.resize(node.op->signature.inputs(), no_tensor);
        node.inputs.back() = graph.nodes[n].outputs[0];
      } else if (is_random_inside) {
        const bool is_loop = node.op->id == op::Loop::id;
        if (is_loop || node.op->id == op::Scan::id) {
          place_in_loop(graph, node, indices[0], state);
        } else {
          node.inputs.push_back(state);
          for (const std::int32_t index : indices) {
            Graph& body = graph.graphs[static_cast<std::size_t>(index)];
            place(body, body.add_input(state_info, {}));
          }
        }
      }
      graph.nodes.push_back(std::move(node));
    }
  }

 private:
  static constexpr bool is_training(const Graph& graph, const Node& node) {
    const std::size_t input = node.op->id == op::Dropout::id ? 2 : 1;
    if (!has_input(node, input)) return false;
    const TensorRecord& mode = graph.tensor(node.inputs[input]);
    return mode.role != Role::constant || mode.data.size() == 0 ||
           mode.data.span()[0] != std::byte{0};
  }
  static constexpr bool lacks_seed(const Graph& graph, const Node& node) {
    const Slots& signature = node.op->signature;
    if (!signature.has_seed()) return false;
    if (node.inputs.size() == signature.inputs() && node.inputs.back() != no_tensor) return false;
    return node.op->id != op::Dropout::id || is_training(graph, node);
  }

  /// The state is one of the loop's, and another one in each pass.
  constexpr void place_in_loop(Graph& graph, Node& node, std::int32_t index, TensorId state) {
    Graph& body = graph.graphs[static_cast<std::size_t>(index)];
    op::Repeat repeat;
    if (!describe_repeat(graph, node, repeat)) return;  // inference says so
    if (node.inputs.size() < repeat.first_state) node.inputs.resize(repeat.first_state, no_tensor);
    auto insert = [](Vector<TensorId>& ids, std::size_t at, TensorId id) {
      ids.insert(ids.begin() + static_cast<std::ptrdiff_t>(at), id);
    };
    const Vector<Word> number = pack(op::AdvanceRandom{.number = ++numbers_});
    const TensorInfo infos[]{state_info};
    const PlaceScope there(graph, node.place);
    const std::size_t first = graph.add_node(descriptor<op::AdvanceRandom>, number, {state}, infos);
    insert(node.inputs, repeat.first_state + repeat.states, graph.nodes[first].outputs[0]);
    if (node.outputs.size() > repeat.states) insert(node.outputs, repeat.states, no_tensor);

    const TensorId inner = body.add_tensor({.info = state_info, .role = Role::input}, {});
    insert(body.inputs, repeat.body_state + repeat.states, inner);
    place(body, inner);
    const std::size_t next = body.add_node(descriptor<op::AdvanceRandom>, number, {inner}, infos);
    insert(body.outputs, repeat.body_result + repeat.states, body.nodes[next].outputs[0]);
  }

  std::int64_t numbers_ = 0;
};

}  // namespace detail

/// Gives every random node that has no seed one that is derived from the state of random numbers:
/// a new last input of the graph, uint32 [6], which holds the session's seed and the number of the
/// run (two words each, the low one first) and two zeros. Every node draws other numbers, in each
/// run and each pass of a loop. Nodes with the attribute `seed` draw numbers that follow from it
/// and from the run alone.
///
/// Says whether there is such an input. Before that, a Dropout that is known not to drop becomes
/// its input.
constexpr bool seed_random(Graph& graph) {
  detail::RandomSeeds::remove_idle(graph);
  if (!detail::RandomSeeds::needs_seed(graph)) return false;
  const TensorId state = graph.add_input(detail::RandomSeeds::state_info, {});
  detail::RandomSeeds().place(graph, state);
  return true;
}

}  // namespace halftone
