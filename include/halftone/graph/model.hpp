#pragma once

#include <halftone/base/vector.hpp>
#include <halftone/graph/call.hpp>

namespace halftone {

/// How a variable starts: every element that value.
struct filled {
  float value = 0;
};
inline constexpr filled zeros{0}, ones{1};
/// Gaussian with that standard deviation (and mean).
struct normal {
  float deviation = 1, mean = 0;
};
/// Uniform in [low, high).
struct uniform {
  float low = 0, high = 1;
};
/// Uniform with the limits of Glorot and Bengio 2010: sqrt(6 / (fan in + fan out)).
struct glorot {};

namespace detail {
constexpr Initial initial(filled rule) { return {Initial::Rule::fill, rule.value, 0}; }
constexpr Initial initial(normal rule) {
  return {Initial::Rule::normal, rule.mean, rule.deviation};
}
constexpr Initial initial(uniform rule) { return {Initial::Rule::uniform, rule.low, rule.high}; }
constexpr Initial initial(glorot) { return {Initial::Rule::glorot, 0, 0}; }

template <class T>
constexpr Bytes bytes_of(std::span<const T> values) {
  Vector<std::byte> bytes;
  bytes.reserve(values.size() * sizeof(T));
  for (const T& value : values) {
    for (const std::byte b : std::bit_cast<std::array<std::byte, sizeof(T)>>(value)) {
      bytes.push_back(b);
    }
  }
  return Bytes(std::move(bytes));
}
}  // namespace detail

/// A new graph input as a typed handle: input<float, Shape<dynamic, 784>>(g, "x").
template <class T, class S>
constexpr Tensor<T, S> input(Graph& graph, std::string_view name) {
  return {&graph, graph.add_input(Tensor<T, S>::static_info, name)};
}

/// A new variable (weight) as a typed handle, with a rule for its first value.
template <class T, class S, class Rule = glorot>
  requires requires(Rule rule) { detail::initial(rule); }
constexpr Tensor<T, S> parameter(Graph& graph, std::string_view name, Rule rule = {}) {
  static_assert(Tensor<T, S>::static_info.is_static(),
                "halftone: every extent of a parameter is known");
  return {&graph, graph.add_variable(Tensor<T, S>::static_info, detail::initial(rule), name)};
}
/// A new variable with data, which are copied; as many elements as the shape has.
template <class T, class S>
constexpr Tensor<T, S> parameter(Graph& graph, std::string_view name, std::span<const T> data) {
  constexpr TensorInfo info = Tensor<T, S>::static_info;
  static_assert(info.is_static(), "halftone: every extent of a parameter is known");
  if (static_cast<std::int64_t>(data.size()) != info.elements()) {
    throw_extent("a parameter's data have another number of elements than its shape", name, -1,
                 info.elements(), static_cast<std::int64_t>(data.size()));
  }
  return {&graph, graph.add_variable(info, detail::bytes_of(data), name)};
}

/// A new variable whose value differs from group to group of replicas, with data for all groups one
/// behind the other: [groups, shape].
///
///   parameter<float, Shape<4>>(g, "w", data, {.grouping = ReplicaGrouping(8, 1, 2)});
template <class T, class S>
constexpr Tensor<T, S> parameter(Graph& graph, std::string_view name, std::span<const T> data,
                                 const VariableSettings& settings) {
  constexpr TensorInfo info = Tensor<T, S>::static_info;
  static_assert(info.is_static(), "halftone: every extent of a parameter is known");
  const std::int64_t elements = info.elements() * settings.grouping.num_groups();
  if (static_cast<std::int64_t>(data.size()) != elements) {
    throw_extent("a parameter's data have another number of elements than its groups", name, -1,
                 elements, static_cast<std::int64_t>(data.size()));
  }
  const TensorId id = graph.add_variable(info, detail::bytes_of(data), name);
  graph.set_variable(id, settings);
  return {&graph, id};
}

/// An array that outlives every graph, such as those of a header of weights: static programs read it
/// where it is.
template <class T, std::size_t N>
struct InPlace {
  const T (&array)[N];
};
template <class T, std::size_t N>
constexpr InPlace<T, N> in_place(const T (&array)[N]) {
  return {array};
}

namespace detail {
/// In constant evaluation those of the array itself, if nothing there will want to know them: what
/// shapes and limits follow from is small.
template <class T, std::size_t N>
constexpr Bytes bytes_of(InPlace<T, N> data) {
  constexpr std::size_t small = is_floating_point(element_type<T>) ? 16 : 256;
  if (std::is_constant_evaluated() && N > small) {
    return Bytes::of_array(data.array, N * sizeof(T));
  }
  return bytes_of(std::span<const T>(data.array));
}
}  // namespace detail

/// A new variable with data that stay where they are: parameter<float, S>(g, "w", in_place(w)).
template <class T, class S, std::size_t N>
constexpr Tensor<T, S> parameter(Graph& graph, std::string_view name, InPlace<T, N> data) {
  constexpr TensorInfo info = Tensor<T, S>::static_info;
  static_assert(static_cast<std::int64_t>(N) == info.elements(),
                "halftone: an array has another number of elements than its parameter");
  return {&graph, graph.add_variable(info, detail::bytes_of(data), name)};
}
/// A constant whose data stay where they are.
template <class T, class S, std::size_t N>
constexpr Tensor<T, S> constant(Graph& graph, InPlace<T, N> data, std::string_view name = {}) {
  constexpr TensorInfo info = Tensor<T, S>::static_info;
  static_assert(static_cast<std::int64_t>(N) == info.elements(),
                "halftone: an array has another number of elements than its constant");
  return {&graph, graph.add_constant(info, detail::bytes_of(data), name)};
}

/// A constant tensor; the data are copied.
template <class T, class S>
constexpr Tensor<T, S> constant(Graph& graph, std::span<const T> data, std::string_view name = {}) {
  constexpr TensorInfo info = Tensor<T, S>::static_info;
  static_assert(info.is_static(), "halftone: every extent of a constant is known");
  if (static_cast<std::int64_t>(data.size()) != info.elements()) {
    throw_extent("a constant's data have another number of elements than its shape", name, -1,
                 info.elements(), static_cast<std::int64_t>(data.size()));
  }
  return {&graph, graph.add_constant(info, detail::bytes_of(data), name)};
}
/// A constant whose shape is known at run time.
template <class T>
constexpr AnyTensor constant(Graph& graph, std::span<const T> data, const Dims& shape,
                             std::string_view name = {}) {
  if (static_cast<std::int64_t>(data.size()) != product(shape)) {
    throw_extent("a constant's data have another number of elements than its shape", name, -1,
                 product(shape), static_cast<std::int64_t>(data.size()));
  }
  return {&graph, graph.add_constant({element_type<T>, shape}, detail::bytes_of(data), name)};
}
/// A one-dimensional int64 constant, as the shape and axes inputs of operators are.
constexpr AnyTensor constant(Graph& graph, const Dims& values) {
  return constant(graph, values.span(), {static_cast<std::int64_t>(values.size())});
}

namespace detail {

/// Throws UsageError unless a tensor is of a graph.
constexpr void check_graph(const Graph& graph, const tensor_handle auto& x, std::string_view what) {
  if (x.graph == &graph && x.id != no_tensor) return;
  const bool has_name =
      x.graph != nullptr && x.id >= 0 && static_cast<std::size_t>(x.id) < x.graph->tensors.size();
  fail(ErrorKind::usage,
       {.what = what,
        .tensor = has_name ? x.graph->name(x.id) : std::string_view{},
        .hint = "handles are of the graph that they were recorded in, and do not follow copies"});
}

}  // namespace detail

/// Marks a tensor as an output of its graph and gives it a name, in the place of the one that it had.
///
/// errors  UsageError: the tensor is of another graph, or of none
template <tensor_handle X>
constexpr void output(Graph& graph, const X& x, std::string_view name = {}) {
  detail::check_graph(graph, x, "an output is not of the graph that is to have it");
  if (!name.empty()) graph.rename(x.id, name);
  graph.add_output(x.id);
}

template <class T>
constexpr AnyTensor Graph::input(std::string_view name, const Dims& extents) {
  return {this, add_input({element_type<T>, extents}, name)};
}

/// Throws InputError that lists the names there are. Defined in the core.
[[noreturn]] void throw_unknown_name(const Graph& graph, std::string_view name);

constexpr AnyTensor Graph::operator[](std::string_view name) {
  const TensorId id = find(name);
  if (id == no_tensor) throw_unknown_name(*this, name);
  return {this, id};
}

}  // namespace halftone
