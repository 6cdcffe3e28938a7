#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/graph.hpp>

namespace halftone {

namespace detail {

/// Values by number. Those of bool are bytes, so that references to them are plain ones.
template <class T, class Number>
class IndexedValues {
 public:
  using Value = std::conditional_t<std::is_same_v<T, bool>, char, T>;

  constexpr IndexedValues() = default;
  constexpr IndexedValues(std::size_t n, const Value& value) : values_(n, value) {}

  constexpr std::size_t size() const { return values_.size(); }
  constexpr auto begin() const { return values_.begin(); }
  constexpr auto end() const { return values_.end(); }
  constexpr Value& operator[](Number i) {
    if (!__builtin_is_constant_evaluated()) check(i);
    return values_[static_cast<std::size_t>(i)];
  }
  constexpr const Value& operator[](Number i) const {
    if (!__builtin_is_constant_evaluated()) check(i);
    return values_[static_cast<std::size_t>(i)];
  }

 protected:
  /// Constant evaluation finds out by itself, and would spend half its time on this.
  constexpr void check([[maybe_unused]] Number i) const {
    assert(static_cast<std::size_t>(i) < values_.size());
  }
  Vector<Value> values_;
};

}  // namespace detail

/// A value for each tensor of a graph, by its id. Tensors that the graph gets later have none until
/// `follow`.
template <class T>
class TensorMap : public detail::IndexedValues<T, TensorId> {
 public:
  using Value = typename TensorMap::IndexedValues::Value;

  constexpr TensorMap() = default;
  constexpr explicit TensorMap(const Graph& graph, const Value& value = {})
      : TensorMap::IndexedValues(graph.tensors.size(), value) {}

  constexpr bool has(TensorId id) const { return static_cast<std::size_t>(id) < this->size(); }
  /// Gives the tensors that the graph has got since a value.
  constexpr void follow(const Graph& graph, const Value& value = {}) {
    this->values_.resize(graph.tensors.size(), value);
  }
};

/// A value for each node of a graph, by its position.
template <class T>
class NodeMap : public detail::IndexedValues<T, std::size_t> {
 public:
  using Value = typename NodeMap::IndexedValues::Value;

  constexpr NodeMap() = default;
  constexpr explicit NodeMap(const Graph& graph, const Value& value = {})
      : NodeMap::IndexedValues(graph.nodes.size(), value) {}
};

inline constexpr int no_node = -1;

/// Which nodes of a graph make and read each tensor, by position.
struct Uses {
  TensorMap<int> producer;   ///< no_node: none does
  TensorMap<int> count;      ///< how often nodes read it and the graph gives it as an output
  TensorMap<int> last_read;  ///< the number of nodes, of outputs; no_node: nobody reads it

  constexpr explicit Uses(const Graph& graph)
      : producer(graph, no_node), count(graph, 0), last_read(graph, no_node) {
    const int end = static_cast<int>(graph.nodes.size());
    for (int n = 0; n < end; ++n) {
      const Node& node = graph.nodes[static_cast<std::size_t>(n)];
      for (const TensorId id : node.inputs) {
        if (id == no_tensor) continue;
        ++count[id];
        last_read[id] = n;
      }
      for (const TensorId id : node.outputs) {
        if (id != no_tensor) producer[id] = n;
      }
    }
    for (const TensorId id : graph.outputs) {
      ++count[id];
      last_read[id] = end;
    }
    end_ = end;
  }
  /// The node that alone reads a tensor, once; no_node if there is no such node.
  constexpr int only_reader(TensorId id) const {
    return count[id] == 1 && last_read[id] != end_ ? last_read[id] : no_node;
  }

 private:
  int end_ = 0;
};

/// Whether a node with these attributes changes an input in place.
constexpr bool modifies(const Descriptor& op, std::span<const Word> attributes, std::size_t input) {
  return op.signature.input_slot(input).modified ||
         (op.modifies != nullptr && op.modifies(attributes, input));
}
/// Calls f(input number) for each input that a node modifies in place.
template <class F>
constexpr void for_each_modified(const Node& node, F&& f) {
  if (!node.op->signature.modifies() && node.op->modifies == nullptr) return;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != no_tensor && modifies(*node.op, node.attributes, i)) f(i);
  }
}
/// Calls f(output number, input number) for each output that shares an input's memory.
template <class F>
constexpr void for_each_view(const Node& node, F&& f) {
  if (!node.op->signature.shares()) return;
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    const int shares = node.op->signature.output_slot(o).shares;
    if (shares >= 0 && node.outputs[o] != no_tensor) f(o, static_cast<std::size_t>(shares));
  }
}

/// Whether a node needs no work: its output is an input's memory, which it leaves as it is.
constexpr bool is_view(const Node& node) {
  const Slots& signature = node.op->signature;
  if (!signature.shares() || signature.outputs() != 1 || signature.output(0).shares < 0) {
    return false;
  }
  return !signature.input(static_cast<std::size_t>(signature.output(0).shares)).modified;
}

/// Which tensors share memory, and which memory nodes modify.
class Aliases {
 public:
  constexpr explicit Aliases(const Graph& graph) : root_(graph), modified_(graph, false) {
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      root_[static_cast<TensorId>(i)] = static_cast<TensorId>(i);
    }
    for (const Node& node : graph.nodes) add(node);
  }
  /// The tensor whose memory a tensor shares; itself if it has its own.
  constexpr TensorId root(TensorId id) const { return root_[id]; }
  /// Whether a node modifies the memory that a tensor lies in.
  constexpr bool is_modified(TensorId id) const { return modified_[root_[id]]; }
  constexpr bool any_modified() const {
    for (const char modified : modified_) {
      if (modified) return true;
    }
    return false;
  }

 private:
  constexpr void add(const Node& node) {
    for_each_view(node, [&](std::size_t output, std::size_t input) {
      root_[node.outputs[output]] = root_[node.inputs[input]];
    });
    for_each_modified(node, [&](std::size_t i) { modified_[root_[node.inputs[i]]] = true; });
  }

  TensorMap<TensorId> root_;
  TensorMap<bool> modified_;
};

}  // namespace halftone
