#pragma once

#include <array>
#include <bit>
#include <limits>
#include <tuple>

#include <halftone/graph/operator.hpp>

namespace halftone {

/// A text of known length as a template argument: compilers print it where it stands in a type.
template <std::size_t N>
struct Message {
  char text[N + 1]{};
  constexpr std::string_view view() const { return {text, N}; }
  friend constexpr bool operator==(const Message& a, std::string_view b) { return a.view() == b; }
};

/// Never defined: its name is the compiler's error message. Expected and found are the two numbers
/// that do not fit, in the order of the operator's inputs.
template <auto What, std::int64_t Expected, std::int64_t Found>
struct shape_mismatch;

/// Throws ModelError or ShapeError about a node that was to be recorded. Defined in the core.
[[noreturn]] void throw_inference(const Graph& graph, const Descriptor& op,
                                  std::span<const TensorId> inputs, const Inferred& inferred);

namespace detail {

template <class X>
concept handle_range = requires(const X& x) {
  { *x.begin() } -> tensor_handle;
  x.end();
};
/// An argument that makes a call record a node, rather than compute with numbers.
template <class X>
concept recorded = tensor_handle<X> || handle_range<X>;

template <std::int64_t... D>
inline constexpr auto shape_bytes = std::bit_cast<std::array<std::byte, 8 * sizeof...(D)>>(
    std::array<std::int64_t, sizeof...(D)>{std::int64_t{D}...});
template <>
inline constexpr auto shape_bytes<> = std::array<std::byte, 0>{};

template <std::int64_t... D>
constexpr InputInfo shape_argument(Shape<D...>) {
  return {.info = {ElementType::int64, {static_cast<std::int64_t>(sizeof...(D))}},
          .data = shape_bytes<D...>,
          .is_constant = true};
}

/// Element type that a number as argument i takes: that of the first tensor among the arguments
/// (`type_of` tells their types) whose elements have the same type by the signature, else that of
/// the first tensor.
constexpr ElementType scalar_type(const Slots& slots, std::size_t arguments, std::size_t i,
                                  auto type_of) {
  ElementType any = ElementType::undefined;
  for (std::size_t k = 0; k < arguments; ++k) {
    const ElementType type = type_of(k);
    if (type == ElementType::undefined) continue;
    if (slots.input_slot(k).type_variable == slots.input_slot(i).type_variable) return type;
    if (any == ElementType::undefined) any = type;
  }
  return any;
}

template <class X>
constexpr InputInfo static_argument(ElementType scalars) {
  if constexpr (typed_handle<X>) {
    return {.info = X::static_info};
  } else if constexpr (is_shape<X>) {
    return shape_argument(X{});
  } else if constexpr (std::is_same_v<X, None>) {
    return {};
  } else {
    static_assert(scalar<X>, "halftone: an argument is a tensor, a number, a Shape or none");
    return {.info = {scalars, {}}};
  }
}

/// The arguments' infos; numbers take their element types from the tensors.
template <class Op, class... X>
constexpr std::array<InputInfo, sizeof...(X)> static_arguments() {
  constexpr auto type = []<class A>(std::type_identity<A>) {
    if constexpr (typed_handle<A>) {
      return A::static_info.type;
    } else {
      return ElementType::undefined;
    }
  };
  const std::array<ElementType, sizeof...(X)> types{type(std::type_identity<X>{})...};
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<InputInfo, sizeof...(X)>{static_argument<X>(
        scalar_type(slots_of<Op>, sizeof...(X), I, [&](std::size_t k) { return types[k]; }))...};
  }(std::index_sequence_for<X...>{});
}

/// Inference in constant evaluation.
template <auto O, class... X>
struct StaticCall {
  using Op = std::remove_const_t<decltype(O)>;

  static constexpr Inferred infer() {
    const std::array<InputInfo, sizeof...(X)> in = static_arguments<Op, X...>();
    return infer_checked(O, Inputs(in, slots_of<Op>.required_outputs()));
  }
  static constexpr bool ok = infer().ok();
  static constexpr std::int64_t expected = infer().expected, found = infer().found;
  static constexpr std::size_t outputs = infer().outputs.size();
  template <std::size_t I>
  static constexpr TensorInfo info = infer().outputs[I];

  static constexpr std::size_t length = Op::id.name.size() + 2 + infer().reason.size();
  static constexpr Message<length> message() {
    Message<length> m;
    std::size_t at = 0;
    for (const char c : Op::id.name) m.text[at++] = c;
    m.text[at++] = ':';
    m.text[at++] = ' ';
    for (const char c : infer().reason) m.text[at++] = c;
    return m;
  }
};

template <ElementType E>
constexpr auto cpp_type() {
  if constexpr (E == ElementType::float32) return std::type_identity<float>{};
  if constexpr (E == ElementType::float64) return std::type_identity<double>{};
  if constexpr (E == ElementType::float16) return std::type_identity<half>{};
  if constexpr (E == ElementType::bfloat16) return std::type_identity<bfloat16>{};
  if constexpr (E == ElementType::float8_e4m3fn) return std::type_identity<float8_e4m3fn>{};
  if constexpr (E == ElementType::float8_e5m2) return std::type_identity<float8_e5m2>{};
  if constexpr (E == ElementType::float8_e4m3fnuz) return std::type_identity<float8_e4m3fnuz>{};
  if constexpr (E == ElementType::float8_e5m2fnuz) return std::type_identity<float8_e5m2fnuz>{};
  if constexpr (E == ElementType::int8) return std::type_identity<std::int8_t>{};
  if constexpr (E == ElementType::int16) return std::type_identity<std::int16_t>{};
  if constexpr (E == ElementType::int32) return std::type_identity<std::int32_t>{};
  if constexpr (E == ElementType::int64) return std::type_identity<std::int64_t>{};
  if constexpr (E == ElementType::uint8) return std::type_identity<std::uint8_t>{};
  if constexpr (E == ElementType::uint16) return std::type_identity<std::uint16_t>{};
  if constexpr (E == ElementType::uint32) return std::type_identity<std::uint32_t>{};
  if constexpr (E == ElementType::uint64) return std::type_identity<std::uint64_t>{};
  if constexpr (E == ElementType::boolean) return std::type_identity<bool>{};
}

template <class Call, std::size_t I, std::size_t... K>
constexpr auto handle_type(std::index_sequence<K...>) {
  using T = typename decltype(cpp_type<Call::template info<I>.type>())::type;
  return std::type_identity<Tensor<T, Shape<Call::template info<I>.shape[K]...>>>{};
}
template <class Call, std::size_t I>
using Handle = typename decltype(handle_type<Call, I>(
    std::make_index_sequence<Call::template info<I>.rank()>{}))::type;

/// The handle, or the tuple of handles, that a typed call gives.
template <class Call, std::size_t... I>
constexpr auto result_type(std::index_sequence<I...>) {
  if constexpr (!Call::ok) {
    return std::type_identity<shape_mismatch<Call::message(), Call::expected, Call::found>>{};
  } else if constexpr (sizeof...(I) == 1) {
    return std::type_identity<Handle<Call, 0>>{};
  } else {
    return std::type_identity<std::tuple<Handle<Call, I>...>>{};
  }
}

/// Whether every output of a typed call is known well enough for a typed handle.
template <class Call>
constexpr bool is_determined() {
  for (const TensorInfo& info : Call::infer().outputs) {
    if (!info.is_known()) return false;
  }
  return true;
}

template <class Op>
concept static_infer =
    elementwise_op<Op> || requires(const Inputs& in) { Op::infer(in); } ||
    requires(TensorInfo i) { Op::infer(i); } || requires(TensorInfo i) { Op::infer(i, i); } ||
    requires(TensorInfo i) { Op::infer(i, i, i); } ||
    requires(TensorInfo i) { Op::infer(i, i, i, i); } ||
    requires(TensorInfo i) { Op::infer(i, i, i, i, i); };

/// The value as a T; what an integer cannot hold becomes the nearest one, NaN zero.
template <class T, class V>
constexpr T nearest(V value) {
  if constexpr (std::is_floating_point_v<V> && std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    if (value != value) return 0;
    if (value <= static_cast<V>(low)) return low;
    if (value >= static_cast<V>(high)) return high;
  }
  return static_cast<T>(value);
}

template <class V>
constexpr Bytes scalar_bytes(ElementType type, V value) {
  std::vector<std::byte> bytes;
  visit_type<AllTypes>(type, [&]<class T>() {
    for (const std::byte b : std::bit_cast<std::array<std::byte, sizeof(T)>>(nearest<T>(value))) {
      bytes.push_back(b);
    }
  });
  return Bytes(std::move(bytes));
}

/// An argument of a call that records a node, without its type in C++: what is done with it is
/// compiled once, not for each operator.
struct Argument {
  Graph* graph = nullptr;
  std::vector<TensorId> ids{};  ///< of its tensors; no_tensor for one that is left out
  bool is_constant = false;     ///< a number or a Shape
  /// Elements of the constant that a number (in the element type) or a Shape becomes.
  Bytes (*elements)(ElementType, const Argument&) = nullptr;
  TensorInfo shape{};  ///< of a Shape
  double real = 0;     ///< of a number: one of these
  std::int64_t whole = 0;
  std::uint64_t natural = 0;

  constexpr ElementType type() const {
    return ids.empty() || ids[0] == no_tensor ? ElementType::undefined : graph->info(ids[0]).type;
  }
};

constexpr void join(Graph*& graph, Graph* other) {
  if (other == nullptr) return;
  if (graph != nullptr && other != graph) {
    fail(ErrorKind::usage, {.what = "the inputs of an operator are in different graphs"});
  }
  graph = other;
}

template <class X>
constexpr Argument argument(const X& x) {
  Argument a;
  if constexpr (tensor_handle<X>) {
    a.graph = x.graph;
    a.ids.push_back(x.id);
  } else if constexpr (handle_range<X>) {
    for (const auto& item : x) {
      join(a.graph, item.graph);
      a.ids.push_back(item.id);
    }
  } else if constexpr (std::is_same_v<X, None>) {
    a.ids.push_back(no_tensor);
  } else if constexpr (is_shape<X>) {
    a.is_constant = true;
    a.shape = shape_argument(x).info;
    a.elements = [](ElementType, const Argument&) {
      const InputInfo data = shape_argument(X{});
      return Bytes({data.data.begin(), data.data.end()});
    };
  } else {
    static_assert(scalar<X>, "halftone: an argument is a tensor, a number, a Shape or none");
    a.is_constant = true;
    if constexpr (std::is_signed_v<X> && std::is_integral_v<X>) {
      a.whole = x;
      a.elements = [](ElementType t, const auto& n) { return scalar_bytes(t, n.whole); };
    } else if constexpr (std::is_integral_v<X>) {
      a.natural = x;
      a.elements = [](ElementType t, const auto& n) { return scalar_bytes(t, n.natural); };
    } else {
      a.real = static_cast<double>(x);
      a.elements = [](ElementType t, const auto& n) { return scalar_bytes(t, n.real); };
    }
  }
  return a;
}

constexpr Graph& common_graph(std::span<const Argument> arguments) {
  Graph* graph = nullptr;
  for (const Argument& a : arguments) join(graph, a.graph);
  if (graph == nullptr) fail(ErrorKind::usage, {.what = "an operator has no tensor as input"});
  return *graph;
}

/// The ids of a node's inputs; numbers and Shapes become constants of the graph.
template <std::same_as<Graph> G>
constexpr std::vector<TensorId> collect(G& graph, const Slots& slots,
                                        std::span<const Argument> arguments) {
  const auto type_of = [&](std::size_t i) { return arguments[i].type(); };
  std::vector<TensorId> ids;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& a = arguments[i];
    for (const TensorId id : a.ids) ids.push_back(id);
    if (!a.is_constant) continue;
    TensorInfo info = a.shape;
    if (!info.is_known()) {
      const ElementType type = scalar_type(slots, arguments.size(), i, type_of);
      info = {type == ElementType::undefined ? ElementType::float32 : type, {}};
    }
    ids.push_back(graph.add_constant(info, a.elements(info.type, a)));
  }
  while (!ids.empty() && ids.back() == no_tensor) ids.pop_back();
  return ids;
}

/// Records a node from run-time infos; the ids of its outputs. A template, like what calls it: only
/// programs that record nodes compile it.
template <std::same_as<Graph> G>
constexpr const std::vector<TensorId>& record(G& graph, const Descriptor& op,
                                              std::vector<Word> attributes,
                                              std::vector<TensorId> inputs, std::size_t outputs) {
  const std::vector<InputInfo> infos = input_infos(graph, inputs);
  const Inferred inferred = op.infer(attributes, Inputs(infos, outputs));
  if (!inferred.ok()) throw_inference(graph, op, inputs, inferred);
  const std::size_t node =
      graph.add_node(op, std::move(attributes), std::move(inputs), inferred.outputs);
  return graph.nodes[node].outputs;
}

/// The same for an operator's struct.
template <class Op>
constexpr const auto& record(Graph& graph, const Op& op, std::vector<TensorId> inputs,
                             std::size_t outputs) {
  return record(graph, descriptor<Op>, pack(op), std::move(inputs), outputs);
}

template <class Op, class... X>
constexpr auto record_untyped(const Op& op, const X&... x) {
  const std::array<Argument, sizeof...(X)> arguments{argument(x)...};
  Graph& graph = common_graph(arguments);
  constexpr const Slots& signature = slots_of<Op>;
  constexpr std::size_t wanted = signature.has_variadic_output() ? 0 : signature.required_outputs();
  std::vector<TensorId> ids = collect(graph, signature, arguments);
  if constexpr (only_expanding_op<Op>) {
    ids = expanded<Op>(graph, pack(op), ids, wanted);
  } else {
    ids = record(graph, op, std::move(ids), wanted);
  }
  if constexpr (signature.has_variadic_output()) {
    std::vector<AnyTensor> handles;
    for (const TensorId id : ids) handles.push_back({&graph, id});
    return handles;
  } else if constexpr (wanted == 1) {
    return AnyTensor{&graph, ids[0]};
  } else {
    std::array<AnyTensor, wanted> handles;
    for (std::size_t i = 0; i < wanted; ++i) handles[i] = {&graph, ids[i]};
    return handles;
  }
}

/// Result of a typed call. An incomplete shape_mismatch here is the error message.
template <class Call, class R, class... X>
constexpr R record_typed(const typename Call::Op& op, const X&... x) {
  if constexpr (!Call::ok) {
    return R{};
  } else {
    const std::array<Argument, sizeof...(X)> arguments{argument(x)...};
    Graph& graph = common_graph(arguments);
    std::vector<TensorId> ids = collect(graph, slots_of<typename Call::Op>, arguments);
    const std::vector<TensorInfo> infos = Call::infer().outputs;
    const std::size_t node = add_node(graph, op, std::move(ids), infos);
    const auto& out = graph.nodes[node].outputs;
    if constexpr (Call::outputs == 1) {
      return R{&graph, out[0]};
    } else {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return R{Handle<Call, I>{&graph, out[I]}...};
      }(std::make_index_sequence<Call::outputs>{});
    }
  }
}

template <class X>
inline constexpr bool is_static_argument =
    typed_handle<X> || is_shape<X> || std::is_same_v<X, None> || scalar<X>;

}  // namespace detail

/// The type of a typed call: a Tensor, a std::tuple of them, or an undefined shape_mismatch.
template <auto O, class... X>
using result = typename decltype(detail::result_type<detail::StaticCall<O, X...>>(
    std::make_index_sequence<detail::StaticCall<O, X...>::outputs>{}))::type;

/// Why a typed call does not compile: "MatMul: inner dimensions differ"; "MatMul: " if it does.
///   static_assert(why_not<op::MatMul{}, Tensor<float, Shape<4, 8>>, Tensor<float, Shape<9, 16>>>
///                 == "MatMul: inner dimensions differ");
template <auto O, class... X>
inline constexpr auto why_not = detail::StaticCall<O, X...>::message();

/// A call whose attributes are constants, so that the shape of its result is known to the compiler:
/// apply<op::Transpose{.perm = {1, 0}}>(x).
template <auto O, class... X>
constexpr auto apply(const X&... x) {
  if constexpr (!detail::only_expanding_op<std::remove_const_t<decltype(O)>> &&
                (detail::is_static_argument<X> && ...)) {
    using Call = detail::StaticCall<O, X...>;
    if constexpr (!Call::ok || detail::is_determined<Call>()) {
      return detail::record_typed<Call, result<O, X...>>(O, x...);
    } else {
      return detail::record_untyped(O, x...);
    }
  } else {
    return detail::record_untyped(O, x...);
  }
}

/// The function of an operator. Called with tensors it records a node, or those that the operator
/// expands to: op::softmax(x, {.axis = 1}); called with numbers or vectors of them it computes:
/// op::exp(2.f).
///
/// The result is a typed handle if all inputs are and the shape rule needs no attribute, or none is
/// given; else an AnyTensor. Several outputs are a tuple (typed), an array or a vector.
template <class Op>
struct OpFunction {
  template <class... X>
  constexpr auto operator()(const X&... x) const {
    if constexpr ((detail::recorded<X> || ...)) {
      return apply<Op{}>(x...);
    } else {
      return Op{}.forward(x...);
    }
  }
  template <class A>
  constexpr auto operator()(const A& a, Op op) const {
    return with(op, a);
  }
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b, Op op) const {
    return with(op, a, b);
  }
  template <class A, class B, class C>
  constexpr auto operator()(const A& a, const B& b, const C& c, Op op) const {
    return with(op, a, b, c);
  }
  template <class A, class B, class C, class D>
  constexpr auto operator()(const A& a, const B& b, const C& c, const D& d, Op op) const {
    return with(op, a, b, c, d);
  }
  template <class A, class B, class C, class D, class E>
  constexpr auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e,
                            Op op) const {
    return with(op, a, b, c, d, e);
  }
  template <class A, class B, class C, class D, class E, class F>
  constexpr auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
                            Op op) const {
    return with(op, a, b, c, d, e, f);
  }

 private:
  template <class... X>
  static constexpr auto with(const Op& op, const X&... x) {
    if constexpr (!(detail::recorded<X> || ...)) {
      return op.forward(x...);
    } else if constexpr (!detail::only_expanding_op<Op> && detail::static_infer<Op> &&
                         (detail::is_static_argument<X> && ...)) {
      using Call = detail::StaticCall<Op{}, X...>;
      return detail::record_typed<Call, result<Op{}, X...>>(op, x...);
    } else {
      return detail::record_untyped(op, x...);
    }
  }
};

}  // namespace halftone
