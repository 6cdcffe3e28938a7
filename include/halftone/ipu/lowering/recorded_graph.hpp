#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/static/operators.hpp>
#include <halftone/transform/infer.hpp>

// A graph that constant evaluation records, as numbers that are there at run time: operators by their
// place in a table, texts and bytes by their place in one pool.
namespace halftone::ipu::detail {

/// Where the bytes of a tensor are.
enum class StoredData : std::uint8_t { none, pool, array };

/// Writes a graph, in constant evaluation.
template <class List>
class GraphWriter {
 public:
  std::vector<std::int64_t> words{};
  std::vector<std::byte> bytes{};
  std::vector<const void*> arrays{};     ///< in_place() data
  std::vector<std::size_t> operators{};  ///< numbers in the list
  std::vector<char> is_folded{};         ///< of operators: whether they have nodes of constants
  bool has_all_operators = true;

  constexpr explicit GraphWriter(const Graph& graph) {
    add_graph(graph);
    is_folded.resize(operators.size(), char{0});
    find_folded(graph, {});
  }

 private:
  constexpr void add(auto number) { words.push_back(static_cast<std::int64_t>(number)); }
  constexpr void add_list(const auto& list) {
    add(list.size());
    for (const auto& item : list) add(item);
  }
  constexpr void add_text(std::string_view text) {
    add(bytes.size());
    add(text.size());
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  }

  constexpr void add_graph(const Graph& graph) {
    add_text(graph.text(graph.graph_name));
    add(graph.tensors.size());
    for (const TensorRecord& t : graph.tensors) add_tensor(graph, t);
    add(graph.nodes.size());
    for (const Node& node : graph.nodes) add_node(graph, node);
    add_list(graph.inputs);
    add_list(graph.outputs);
    add(graph.graphs.size());
    for (const Graph& body : graph.graphs) add_graph(body);
  }
  constexpr void add_tensor(const Graph& graph, const TensorRecord& t) {
    add(t.info.type);
    add_list(t.info.shape);
    add(t.role);
    add_text(graph.text(t.name));
    // Nobody asks for the values of weights: only constants are computed with, and variables of
    // integers may become constants.
    const bool is_asked_for =
        t.role == Role::constant || (t.data.size() != 0 && !is_floating_point(t.info.type));
    if (!is_asked_for) {
      add(StoredData::none);
    } else if (t.data.array() != nullptr) {
      add(StoredData::array);
      add(arrays.size());
      add(t.data.size());
      arrays.push_back(t.data.array());
    } else {
      add(StoredData::pool);
      add(bytes.size());
      add(t.data.size());
      for (const std::byte b : t.data.span()) bytes.push_back(b);
    }
  }
  constexpr void add_node(const Graph& graph, const Node& node) {
    add(number_of(node.op->id));
    add_list(node.attributes);
    add_list(node.inputs);
    add_list(node.outputs);
    add_text(graph.name(node));
    add(std::bit_cast<std::int32_t>(node.planning.available_memory_proportion));
    add(node.planning.partials);
    add(node.place.ipu);
    add(node.place.part);
    add(node.place.recompute);
  }
  /// Marks the operators of nodes that the pass `infer` computes. `given`: for the last inputs of a
  /// body, whether they may be constants.
  constexpr void find_folded(const Graph& graph, std::span<const char> given) {
    TensorMap<bool> is_constant(graph, false);
    const Aliases aliases(graph);
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const TensorRecord& t = graph.tensors[i];
      const auto id = static_cast<TensorId>(i);
      is_constant[id] =
          t.role == Role::constant || (is_variable(t) && t.data.size() != 0 &&
                                       !is_floating_point(t.info.type) && !aliases.is_modified(id));
    }
    for (std::size_t i = 0; i < given.size(); ++i) is_constant[graph.inputs[i]] = given[i] != 0;
    for (const Node& node : graph.nodes) {
      bool all = true, any = false;
      for (const TensorId id : node.inputs) {
        if (id == no_tensor) continue;
        all = all && is_constant[id];
        any = any || is_constant[id];
      }
      const std::vector<std::int32_t> bodies = subgraphs_of(node);
      for (const std::int32_t index : bodies) {
        const Graph& body = graph.graphs[static_cast<std::size_t>(index)];
        std::vector<char> inside(body.inputs.size(), static_cast<char>(any));
        const std::size_t first = node.inputs.size() - body.inputs.size();
        for (std::size_t i = 0; node.op->id == op::Call::id && i < inside.size(); ++i) {
          inside[i] = is_constant[node.inputs[first + i]];
        }
        find_folded(body, inside);
      }
      const bool is_computed = bodies.empty() && !node.op->signature.has_seed() &&
                               !node.op->has_effect && (all || node.op->only_infos);
      if (!is_computed) continue;
      is_folded[static_cast<std::size_t>(number_of(node.op->id))] = true;
      for (const TensorId id : node.outputs) {
        if (id != no_tensor) is_constant[id] = true;
      }
    }
  }

  /// Of an operator in the table.
  constexpr std::int64_t number_of(const OpId& id) {
    const int found = List::find(id);
    has_all_operators = has_all_operators && found >= 0;
    if (found < 0) return 0;
    const auto wanted = static_cast<std::size_t>(found);
    for (std::size_t i = 0; i < operators.size(); ++i) {
      if (operators[i] == wanted) return static_cast<std::int64_t>(i);
    }
    operators.push_back(wanted);
    return static_cast<std::int64_t>(operators.size()) - 1;
  }
};

/// Reads a graph that GraphWriter wrote.
class GraphReader {
 public:
  GraphReader(const std::int64_t* words, const std::byte* bytes, const void* const* arrays,
              const Descriptor* const* operators)
      : next_(words), bytes_(bytes), arrays_(arrays), operators_(operators) {}

  Graph read() {
    Graph graph;
    graph.graph_name = graph.store_name(text());
    for (std::int64_t n = number(); n > 0; --n) add_tensor(graph);
    for (std::int64_t n = number(); n > 0; --n) add_node(graph);
    graph.inputs = list<TensorId>();
    graph.outputs = list<TensorId>();
    for (std::int64_t n = number(); n > 0; --n) graph.graphs.push_back(read());
    return graph;
  }

 private:
  template <class T = std::int64_t>
  T number() {
    return static_cast<T>(*next_++);
  }
  template <class T>
  std::vector<T> list() {
    std::vector<T> items;
    for (std::int64_t n = number(); n > 0; --n) items.push_back(number<T>());
    return items;
  }
  std::span<const std::byte> piece() {
    const auto first = number<std::size_t>();
    return {bytes_ + first, number<std::size_t>()};
  }
  std::string_view text() {
    const std::span<const std::byte> text = piece();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  Bytes data() {
    const auto place = number<StoredData>();
    if (place == StoredData::none) return {};
    std::span<const std::byte> data;
    if (place == StoredData::pool) {
      data = piece();
    } else {
      const void* const array = arrays_[number<std::size_t>()];
      data = {static_cast<const std::byte*>(array), number<std::size_t>()};
    }
    return Bytes(std::vector<std::byte>(data.begin(), data.end()));
  }

  void add_tensor(Graph& graph) {
    TensorRecord t;
    t.info.type = number<ElementType>();
    for (std::int64_t n = number(); n > 0; --n) t.info.shape.push_back(number());
    t.role = number<Role>();
    const std::string_view name = text();
    t.data = data();
    graph.add_tensor(std::move(t), name);
  }
  void add_node(Graph& graph) {
    Node node{.op = operators_[number<std::size_t>()]};
    node.attributes = list<Word>();
    node.inputs = list<TensorId>();
    node.outputs = list<TensorId>();
    graph.rename(node, text());
    node.planning.available_memory_proportion = std::bit_cast<float>(number<std::int32_t>());
    node.planning.partials = number<ElementType>();
    node.place.ipu = number<std::int16_t>();
    node.place.part = number<Part>();
    node.place.recompute = number<Recompute>();
    graph.nodes.push_back(std::move(node));
  }

  const std::int64_t* next_;
  const std::byte* bytes_;
  const void* const* arrays_;
  const Descriptor* const* operators_;
};

/// An operator's descriptor without what records nodes, and with a kernel if it has nodes of
/// constants: no code of the library is in it.
template <class Op, bool IsFolded>
inline constexpr Descriptor lowered_descriptor = [] {
  Descriptor d = halftone::detail::make_descriptor<Op>();
  d.defaults = nullptr;
  d.expand = nullptr;
  d.kernel = nullptr;
  if constexpr (IsFolded &&
                (halftone::detail::elementwise_op<Op> || halftone::detail::kernel_op<Op>)) {
    d.kernel = &halftone::detail::kernel_thunk<Op>;
  }
  d.run = nullptr;
  d.gradient = nullptr;
  d.choices = nullptr;
  return d;
}();

/// The graph that a model builds, calls and all.
template <class Model, class List>
class RecordedGraph {
  using Build = halftone::detail::StaticBuild<Model, List>;
  struct Sizes {
    std::size_t words{}, bytes{}, arrays{}, operators{};
    bool has_all_operators = true;
  };
  static constexpr Sizes sizes = [] {
    const GraphWriter<List> w(Build::graph());
    return Sizes{w.words.size(), w.bytes.size(), w.arrays.size(), w.operators.size(),
                 w.has_all_operators};
  }();
  struct Tables {
    std::array<std::int64_t, sizes.words> words{};
    std::array<std::byte, sizes.bytes + 1> bytes{};
    std::array<const void*, sizes.arrays + 1> arrays{};
    std::array<std::size_t, sizes.operators> operators{};
    std::array<bool, sizes.operators> is_folded{};
  };
  static constexpr Tables tables = [] {
    const GraphWriter<List> w(Build::graph());
    Tables t;
    for (std::size_t i = 0; i < sizes.words; ++i) t.words[i] = w.words[i];
    for (std::size_t i = 0; i < sizes.bytes; ++i) t.bytes[i] = w.bytes[i];
    for (std::size_t i = 0; i < sizes.arrays; ++i) t.arrays[i] = w.arrays[i];
    for (std::size_t i = 0; i < sizes.operators; ++i) t.operators[i] = w.operators[i];
    for (std::size_t i = 0; i < sizes.operators; ++i) t.is_folded[i] = w.is_folded[i] != 0;
    return t;
  }();

 public:
  static constexpr bool has_all_operators = sizes.has_all_operators;

  static Graph read() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      static constexpr const Descriptor* operators[] = {
          &lowered_descriptor<typename List::template at<tables.operators[I]>,
                              tables.is_folded[I]>...,
          nullptr};
      return GraphReader(tables.words.data(), tables.bytes.data(), tables.arrays.data(), operators)
          .read();
    }(std::make_index_sequence<sizes.operators>{});
  }
};

}  // namespace halftone::ipu::detail
