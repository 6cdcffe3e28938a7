#pragma once

#include <array>
#include <bit>
#include <limits>
#include <tuple>

#include <halftone/base/vector.hpp>
#include <halftone/graph/operator.hpp>

namespace halftone {

/// A text of known length as a template argument: compilers print it where it stands in a type. A
/// long one comes in pieces, because clang prints no more than 35 characters of an array.
template <std::size_t N, std::size_t... More>
struct Message {
  char text[N + 1]{};
  Message<More...> more{};

  constexpr void set(std::string_view whole) {
    for (std::size_t i = 0; i < N; ++i) text[i] = whole[i];
    text[N] = 0;  // said, or clang takes it for an array of numbers
    more.set(whole.substr(N));
  }
  friend constexpr bool operator==(const Message& a, std::string_view b) {
    return b.substr(0, N) == a.text && a.more == b.substr(b.size() < N ? b.size() : N);
  }
};
template <std::size_t N>
struct Message<N> {
  char text[N + 1]{};

  constexpr void set(std::string_view whole) {
    for (std::size_t i = 0; i < N; ++i) text[i] = whole[i];
    text[N] = 0;  // said, or clang takes it for an array of numbers
  }
  friend constexpr bool operator==(const Message& a, std::string_view b) { return b == a.text; }
};

/// Never defined: its name is the compiler's error message. Expected and found are what does not fit,
/// in the order of the operator's inputs: two numbers, or the names of two element types.
template <auto What, auto Expected, auto Found>
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

/// Shape<...> or Integers<...>.
template <class X>
concept integer_list = is_integers<X>;

template <std::int64_t... V>
inline constexpr auto integer_bytes = std::bit_cast<std::array<std::byte, 8 * sizeof...(V)>>(
    std::array<std::int64_t, sizeof...(V)>{std::int64_t{V}...});
template <>
inline constexpr auto integer_bytes<> = std::array<std::byte, 0>{};

template <template <std::int64_t...> class List, std::int64_t... V>
constexpr InputInfo integers_argument(List<V...>) {
  return {.info = {ElementType::int64, {static_cast<std::int64_t>(sizeof...(V))}},
          .data = integer_bytes<V...>,
          .is_constant = true};
}

/// Whether an argument's type says all that inference has to know of it.
template <class X>
inline constexpr bool is_static_argument =
    typed_handle<X> || integer_list<X> || std::is_same_v<X, None> || scalar<X>;

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

/// The element type that a number has of its own.
template <scalar X>
constexpr ElementType number_type() {
  if constexpr (halftone::element<X>) {
    return element_type<X>;
  } else {
    return std::is_integral_v<X> ? ElementType::int64 : ElementType::float64;
  }
}

/// An argument of a typed call: an input, or a number that becomes one.
struct StaticArgument {
  InputInfo input{};
  ElementType number = ElementType::undefined;
};
template <class X>
constexpr StaticArgument static_argument() {
  if constexpr (typed_handle<X>) {
    return {.input = {.info = X::static_info}};
  } else if constexpr (integer_list<X>) {
    return {.input = integers_argument(X{})};
  } else if constexpr (std::is_same_v<X, None>) {
    return {};
  } else {
    return {.number = number_type<X>()};
  }
}

/// What inference says of a typed call, without memory of its own. N: the most outputs there are.
template <std::size_t N>
struct StaticInference {
  std::string_view reason{}, attribute{};
  std::int64_t expected = 0, found = 0;
  bool are_types = false;
  bool is_determined = true;  ///< whether all outputs are known well enough for typed handles
  std::size_t outputs = 0;
  TensorInfo infos[N]{};
};

/// Inference in constant evaluation, the only one for a typed call.
template <std::size_t N, class Op>
constexpr StaticInference<N> infer_static(const Op& op, std::span<const StaticArgument> arguments) {
  std::array<InputInfo, Slots::max_slots> in{};
  const std::size_t count = arguments.size();
  Inferred all = Inferred::mismatch("too many inputs");
  if (count <= in.size()) {
    const auto type_of = [&](std::size_t k) { return arguments[k].input.info.type; };
    all = Inferred(Vector<TensorInfo>{});
    for (std::size_t i = 0; i < count; ++i) {
      const ElementType number = arguments[i].number;
      in[i] = arguments[i].input;
      if (number == ElementType::undefined) continue;
      const ElementType type = scalar_type(slots_of<Op>, count, i, type_of);
      in[i].info = {type, {}};
      if (is_floating_point(number) && !is_floating_point(type)) {
        all = Inferred::types("the element type cannot hold the number", type, number);
      }
    }
    if (all.ok()) {
      all = infer_checked(op, Inputs({in.data(), count}, slots_of<Op>.required_outputs()));
    }
  }
  StaticInference<N> result{.reason = all.reason,
                            .attribute = all.attribute,
                            .expected = all.expected,
                            .found = all.found,
                            .are_types = all.are_types,
                            .is_determined = all.outputs.size() <= N,
                            .outputs = all.outputs.size()};
  for (std::size_t i = 0; i < all.outputs.size() && i < N; ++i) {
    result.infos[i] = all.outputs[i];
    result.is_determined = result.is_determined && all.outputs[i].is_known();
  }
  return result;
}

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

/// The words of a message one behind the other, and where they are cut into pieces: behind blanks.
struct MessageText {
  static constexpr std::size_t most = 256, piece = 35;
  char text[most]{};
  std::size_t size = 0, pieces = 0, lengths[most / 2]{};

  constexpr explicit MessageText(std::span<const std::string_view> words) {
    for (const std::string_view word : words) {
      for (const char c : word) {
        if (size < most) text[size++] = c;
      }
    }
    for (std::size_t rest = size; rest > 0; rest -= lengths[pieces++]) {
      std::size_t n = rest < piece ? rest : piece;
      while (n < rest && n > 1 && text[size - rest + n - 1] != ' ') --n;
      lengths[pieces] = n > 1 || rest == 1 ? n : piece;
    }
  }
};
template <std::size_t... N>
constexpr Message<N...> in_pieces(const MessageText& text, std::index_sequence<N...>) {
  Message<N...> message;
  message.set({text.text, text.size});
  return message;
}
/// The message of a class that has `words`.
template <class Source>
constexpr auto message_of() {
  constexpr MessageText text(Source::words);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return in_pieces(text, std::index_sequence<text.lengths[I]...>{});
  }(std::make_index_sequence<text.pieces>{});
}

/// Inference for a call whose arguments are all known to the compiler.
template <auto O, class... X>
struct StaticCall {
  using Op = std::remove_const_t<decltype(O)>;

  static constexpr std::size_t required = slots_of<Op>.required_outputs();
  static constexpr std::size_t capacity =
      required == 0 || slots_of<Op>.has_variadic_output() ? max_rank : required;
  static constexpr std::array<StaticArgument, sizeof...(X)> arguments{static_argument<X>()...};
  static constexpr StaticInference<capacity> inference = infer_static<capacity>(O, arguments);
  static constexpr bool ok = inference.reason.empty();
  static constexpr std::int64_t expected = inference.expected, found = inference.found;

  static constexpr bool lacks_attribute = !inference.attribute.empty();
  /// The reason why there are no outputs: "MatMul: inner dimensions differ".
  static constexpr std::string_view words[] = {
      Op::id.name, ": ", lacks_attribute ? "attribute '" : inference.reason, inference.attribute,
      lacks_attribute ? "' is missing" : ""};
};

template <class Call, std::size_t I, std::size_t... K>
constexpr auto handle_type(std::index_sequence<K...>) {
  constexpr const TensorInfo& info = Call::inference.infos[I];
  using T = typename decltype(cpp_type<info.type>())::type;
  return std::type_identity<Tensor<T, Shape<info.shape[K]...>>>{};
}
template <class Call, std::size_t I>
using Handle = typename decltype(handle_type<Call, I>(
    std::make_index_sequence<Call::inference.infos[I].rank()>{}))::type;

/// The name of an element type; where it is not one that is expected, the others are.
template <std::int64_t Type>
struct TypeName {
  static constexpr auto type = static_cast<ElementType>(Type);
  static constexpr std::string_view words[] = {type == ElementType::undefined ? "another"
                                                                              : name(type)};
};

/// The handle or the tuple of handles that a typed call gives.
template <class Call, std::size_t... I>
constexpr auto fitting_type(std::index_sequence<I...>) {
  if constexpr (sizeof...(I) == 1) {
    return std::type_identity<Handle<Call, 0>>{};
  } else {
    return std::type_identity<std::tuple<Handle<Call, I>...>>{};
  }
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
  Vector<std::byte> bytes;
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
  enum class Kind : std::uint8_t { tensor, real, whole, natural, integers } kind = Kind::tensor;
  TensorId id = no_tensor;  ///< of a tensor; no_tensor for one that is left out
  Graph* graph = nullptr;
  double real = 0;                        ///< of a number: this or
  std::uint64_t natural = 0;              ///< this; negative ones modulo 2^64
  std::span<const std::byte> integers{};  ///< of a Shape or Integers

  constexpr std::int64_t whole() const { return static_cast<std::int64_t>(natural); }
  constexpr ElementType type() const {
    return kind != Kind::tensor || id == no_tensor ? ElementType::undefined : graph->info(id).type;
  }
};

constexpr void join(Graph*& graph, Graph* other) {
  if (other == nullptr) return;
  if (graph != nullptr && other != graph) {
    fail(ErrorKind::usage, {.what = "the inputs of an operator are in different graphs"});
  }
  graph = other;
}

constexpr Argument argument(AnyTensor x) { return {.id = x.id, .graph = x.graph}; }
constexpr Argument argument(None) { return {}; }
template <integer_list X>
constexpr Argument argument(X x) {
  return {.kind = Argument::Kind::integers, .integers = integers_argument(x).data};
}
template <scalar X>
constexpr Argument argument(X x) {
  using Kind = Argument::Kind;
  if constexpr (std::is_integral_v<X>) {
    return {.kind = std::is_signed_v<X> ? Kind::whole : Kind::natural,
            .natural = static_cast<std::uint64_t>(x)};
  } else {
    return {.kind = Kind::real, .real = static_cast<double>(x)};
  }
}

constexpr Graph& common_graph(std::span<const Argument> arguments) {
  Graph* graph = nullptr;
  for (const Argument& a : arguments) join(graph, a.graph);
  if (graph == nullptr) fail(ErrorKind::usage, {.what = "an operator has no tensor as input"});
  return *graph;
}

/// Whether a number becomes an element of that type without loss; rounding to the nearest
/// floating-point number is none.
constexpr bool holds(ElementType type, const Argument& number) {
  const bool is_bool = type == ElementType::boolean;
  if (!is_bool && !is_integer(type)) return true;
  const bool has_sign = !is_bool && is_signed(type);
  const int bits = (is_bool ? 1 : size_in_bits(type)) - (has_sign ? 1 : 0);
  const std::uint64_t most = bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  if (number.kind == Argument::Kind::natural) return number.natural <= most;
  if (number.kind == Argument::Kind::whole) {
    if (number.whole() >= 0) return static_cast<std::uint64_t>(number.whole()) <= most;
    return has_sign && number.whole() >= -static_cast<std::int64_t>(most) - 1;
  }
  const double end = 2 * static_cast<double>(std::uint64_t{1} << (bits - 1));
  if (!(number.real >= (has_sign ? -end : 0) && number.real < end)) return false;
  // From 2^53 on every double is a whole number.
  constexpr double exact = 9007199254740992;
  return number.real >= exact || number.real <= -exact ||
         number.real == static_cast<double>(static_cast<std::int64_t>(number.real));
}

/// The elements of the constant that a number becomes.
template <std::same_as<Argument> A>
constexpr Bytes number_bytes(ElementType type, const A& number) {
  if (!holds(type, number)) {
    fail(ErrorKind::usage, {.what = "the element type cannot hold the number",
                            .expected = name(type),
                            .hint = "cast the tensor, or use another number"});
  }
  if (number.kind == Argument::Kind::real) return scalar_bytes(type, number.real);
  if (number.kind == Argument::Kind::whole) return scalar_bytes(type, number.whole());
  return scalar_bytes(type, number.natural);
}

/// The ids of a node's inputs; numbers, Shapes and Integers become constants of the graph.
template <std::same_as<Graph> G>
constexpr Vector<TensorId> collect(G& graph, const Slots& slots,
                                   std::span<const Argument> arguments) {
  const auto type_of = [&](std::size_t i) { return arguments[i].type(); };
  Vector<TensorId> ids;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& a = arguments[i];
    if (a.kind == Argument::Kind::tensor) {
      ids.push_back(a.id);
    } else if (a.kind == Argument::Kind::integers) {
      const auto count = static_cast<std::int64_t>(a.integers.size() / sizeof(std::int64_t));
      ids.push_back(graph.add_constant({ElementType::int64, {count}},
                                       Bytes({a.integers.begin(), a.integers.end()})));
    } else {
      ElementType type = scalar_type(slots, arguments.size(), i, type_of);
      if (type == ElementType::undefined) type = ElementType::float32;
      ids.push_back(graph.add_constant({type, {}}, number_bytes(type, a)));
    }
  }
  while (!ids.empty() && ids.back() == no_tensor) ids.pop_back();
  return ids;
}

/// Records a node from run-time infos; the ids of its outputs.
template <std::same_as<Graph> G>
constexpr const Vector<TensorId>& record_inferred(G& graph, const Descriptor& op,
                                                  Vector<Word> attributes, Vector<TensorId> inputs,
                                                  std::size_t outputs) {
  const Vector<InputInfo> infos = input_infos(graph, inputs);
  const Inferred inferred = op.infer(attributes, Inputs(infos, outputs));
  if (!inferred.ok()) throw_inference(graph, op, inputs, inferred);
  const std::size_t node =
      graph.add_node(op, std::move(attributes), std::move(inputs), inferred.outputs);
  return graph.nodes[node].outputs;
}

/// Records a node whose outputs' infos are known; the first output, behind which the others are.
template <class A>
constexpr AnyTensor record_known(const Descriptor& op, Vector<Word> attributes,
                                 std::span<const A> arguments, std::span<const TensorInfo> infos) {
  if constexpr (std::is_same_v<A, AnyTensor>) {
    Vector<Argument> all;
    for (const AnyTensor& x : arguments) all.push_back(argument(x));
    return record_known(op, std::move(attributes), std::span<const Argument>(all), infos);
  } else {
    Graph& graph = common_graph(arguments);
    Vector<TensorId> inputs = collect(graph, op.signature, arguments);
    const std::size_t node = graph.add_node(op, std::move(attributes), std::move(inputs), infos);
    return {&graph, graph.nodes[node].outputs[0]};
  }
}

/// The same, compiled in the core: programs compile nothing of it for what they record at run time.
namespace compiled {
Vector<TensorId> collect(Graph& graph, const Slots& slots, std::span<const Argument> arguments);
const Vector<TensorId>& record_inferred(Graph& graph, const Descriptor& op, Vector<Word> attributes,
                                        Vector<TensorId> inputs, std::size_t outputs);
AnyTensor record_known(const Descriptor& op, Vector<Word> attributes,
                       std::span<const Argument> arguments, std::span<const TensorInfo> infos);
AnyTensor record_known(const Descriptor& op, Vector<Word> attributes,
                       std::span<const AnyTensor> arguments, std::span<const TensorInfo> infos);
}  // namespace compiled

/// Records a node from run-time infos, as calls do; the ids of its outputs.
template <std::same_as<Graph> G>
constexpr const Vector<TensorId>& record(G& graph, const Descriptor& op, Vector<Word> attributes,
                                         Vector<TensorId> inputs, std::size_t outputs) {
  if (std::is_constant_evaluated()) {
    return record_inferred(graph, op, std::move(attributes), std::move(inputs), outputs);
  }
  return compiled::record_inferred(graph, op, std::move(attributes), std::move(inputs), outputs);
}
/// The same for an operator's struct.
template <class Op>
constexpr const Vector<TensorId>& record(Graph& graph, const Op& op, Vector<TensorId> inputs,
                                         std::size_t outputs) {
  return record(graph, descriptor<Op>, pack(op), std::move(inputs), outputs);
}

/// The same for an operator's struct.
template <class Op, class A>
[[gnu::noinline]] constexpr AnyTensor record_known(const Op& op, std::span<const A> arguments,
                                                   std::span<const TensorInfo> infos) {
  if (std::is_constant_evaluated()) {
    return record_known(descriptor<Op>, pack(op), arguments, infos);
  }
  return compiled::record_known(descriptor<Op>, pack(op), arguments, infos);
}

// What stands for a call is a class. If the arguments fit, it has a type `fit`, that of the result,
// and a function that records a node; if not, it has a function `misfit`, whose type is the compiler's
// error message (a function, because g++ would print the name of a type as well).

/// A call that gives typed handles.
template <auto O, class... X>
struct TypedCall {
  using Call = StaticCall<O, X...>;
  using fit = typename decltype(fitting_type<Call>(
      std::make_index_sequence<Call::inference.outputs>{}))::type;

  /// `op` may differ from O where no shape depends on it. Not inline, so that a function of a
  /// thousand calls stays small.
  [[gnu::noinline]] static constexpr fit record(const typename Call::Op& op, const X&... x) {
    // Less code than an Argument each where all are handles.
    using Item = std::conditional_t<(typed_handle<X> && ...), AnyTensor, Argument>;
    const std::array<Item, sizeof...(X)> arguments{item<Item>(x)...};
    const AnyTensor first = record_known(op, std::span<const Item>(arguments),
                                         std::span(Call::inference.infos, Call::inference.outputs));
    return handles(first, std::make_index_sequence<Call::inference.outputs>{});
  }

 private:
  template <class Item>
  static constexpr Item item(const auto& x) {
    if constexpr (std::is_same_v<Item, Argument>) {
      return argument(x);
    } else {
      return x;
    }
  }
  template <std::size_t... I>
  static constexpr fit handles(AnyTensor first, std::index_sequence<I...>) {
    if constexpr (sizeof...(I) == 1) {
      return {first.graph, first.id};
    } else {
      return {Handle<Call, I>{first.graph, first.id + static_cast<TensorId>(I)}...};
    }
  }
};

/// A typed call that does not fit.
template <class Call>
struct MismatchedCall {
  static shape_mismatch<message_of<Call>(), Call::expected, Call::found> misfit();
};
template <class Call>
  requires(Call::inference.are_types)
struct MismatchedCall<Call> {
  static shape_mismatch<message_of<Call>(), message_of<TypeName<Call::expected>>(),
                        message_of<TypeName<Call::found>>()>
  misfit();
};

constexpr void add_argument(Vector<Argument>& list, const auto& x) { list.push_back(argument(x)); }
constexpr void add_argument(Vector<Argument>& list, const handle_range auto& handles) {
  for (const auto& x : handles) list.push_back(argument(x));
}

/// Records the node, or those that the operator expands to; the ids of the outputs.
template <class Op>
constexpr Vector<TensorId> record_or_expand(const Op& op, Graph& graph,
                                            std::span<const Argument> arguments) {
  constexpr const Slots& signature = slots_of<Op>;
  constexpr std::size_t wanted = signature.has_variadic_output() ? 0 : signature.required_outputs();
  Vector<TensorId> ids;
  if (std::is_constant_evaluated()) {
    ids = collect(graph, signature, arguments);
  } else {
    ids = compiled::collect(graph, signature, arguments);
  }
  if constexpr (only_expanding_op<Op>) {
    return expanded<Op>(graph, pack(op), ids, wanted);
  } else {
    return detail::record(graph, op, std::move(ids), wanted);
  }
}

/// A call some of whose arguments are known at run time only. It gives a handle, an array of them
/// or, if their number varies, a vector.
template <class Op>
struct UntypedCall {
  static constexpr std::size_t outputs =
      slots_of<Op>.has_variadic_output() ? 0 : slots_of<Op>.required_outputs();
  using fit = std::conditional_t<
      outputs == 0, Vector<AnyTensor>,
      std::conditional_t<outputs == 1, AnyTensor, std::array<AnyTensor, outputs>>>;

  template <class... X>
  static constexpr fit record(const Op& op, const X&... x) {
    if constexpr ((handle_range<X> || ...)) {
      Vector<Argument> arguments;
      (add_argument(arguments, x), ...);
      return handles(op, arguments);
    } else {
      const std::array<Argument, sizeof...(X)> arguments{argument(x)...};
      return handles(op, arguments);
    }
  }

 private:
  static constexpr fit handles(const Op& op, std::span<const Argument> arguments) {
    Graph& graph = common_graph(arguments);
    const Vector<TensorId> ids = record_or_expand(op, graph, arguments);
    if constexpr (outputs == 1) {
      return {&graph, ids[0]};
    } else {
      fit list{};
      if constexpr (outputs == 0) list.resize(ids.size());
      for (std::size_t i = 0; i < list.size(); ++i) list[i] = {&graph, ids[i]};
      return list;
    }
  }
};

/// A call that computes with numbers or vectors of them.
template <class Op, class... X>
struct NumberCall {
  using fit =
      std::remove_cvref_t<decltype(std::declval<const Op&>().forward(std::declval<const X&>()...))>;
  static constexpr fit record(const Op& op, const X&... x) { return op.forward(x...); }
};
template <class Op, class... X>
concept computes =
    (!recorded<X> && ...) && requires(const Op& op, const X&... x) { op.forward(x...); };

/// A call with arguments that no operator takes.
template <class Op>
struct WrongCall {
  static constexpr std::string_view words[] = {
      Op::id.name, ": an argument is a tensor, a number, a Shape, Integers or none"};
  static shape_mismatch<message_of<WrongCall>(), 0, 0> misfit();
};

/// The class that stands for a call; IsConstant: O are the attributes, rather than their type.
template <auto O, bool IsConstant, class... X>
constexpr auto select_call() {
  using Op = std::remove_const_t<decltype(O)>;
  if constexpr (computes<Op, X...>) {
    return NumberCall<Op, X...>{};
  } else if constexpr (!((recorded<X> || is_static_argument<X>) && ...)) {
    return WrongCall<Op>{};
  } else if constexpr (!only_expanding_op<Op> && (IsConstant || static_infer<Op>) &&
                       (is_static_argument<X> && ...)) {
    using Call = StaticCall<O, X...>;
    if constexpr (!Call::ok) {
      return MismatchedCall<Call>{};
    } else if constexpr (Call::inference.is_determined) {
      return TypedCall<O, X...>{};
    } else {
      return UntypedCall<Op>{};
    }
  } else {
    return UntypedCall<Op>{};
  }
}
// Classes, which compilers find again faster than they select a function again.
template <auto O, class... X>
struct ConstantCall : decltype(select_call<O, true, X...>()) {};
/// A call with the attributes that an operator has by default. Op is defined when it is called.
template <class Op, class... X>
struct DefaultCall : ConstantCall<Op{}, X...> {};
/// A call with attributes that are known at run time; O, which has to be Op, is their type.
template <class Op, class O, class... X>
struct VariableCall {};
template <class Op, class... X>
struct VariableCall<Op, Op, X...> : decltype(select_call<Op{}, false, X...>()) {};

template <class Call>
constexpr auto result_type() {
  if constexpr (requires { typename Call::fit; }) {
    return std::type_identity<typename Call::fit>{};
  } else {
    return std::type_identity<decltype(Call::misfit())>{};
  }
}

}  // namespace detail

/// The type of a call: a Tensor, a std::tuple of them, or an undefined shape_mismatch.
template <auto O, class... X>
using result = typename decltype(detail::result_type<detail::ConstantCall<O, X...>>())::type;

/// Why a typed call does not compile: "MatMul: inner dimensions differ"; "MatMul: " if it does.
///   static_assert(why_not<op::MatMul{}, Tensor<float, Shape<4, 8>>, Tensor<float, Shape<9, 16>>>
///                 == "MatMul: inner dimensions differ");
template <auto O, class... X>
inline constexpr auto why_not = detail::message_of<detail::StaticCall<O, X...>>();

/// A call whose attributes are constants, so that the shape of its result is known to the compiler:
/// apply<op::Transpose{.perm = {1, 0}}>(x).
template <auto O, class... X>
constexpr typename detail::ConstantCall<O, X...>::fit apply(const X&... x) {
  return detail::ConstantCall<O, X...>::record(O, x...);
}
/// The same call if the arguments do not fit: its type is the compiler's error message.
template <auto O, class... X>
decltype(detail::ConstantCall<O, X...>::misfit()) apply(const X&... x);

/// The function of an operator. Called with tensors it records a node, or those that the operator
/// expands to: op::softmax(x, {.axis = 1}); called with numbers or vectors of them it computes:
/// op::exp(2.f).
///
/// The result is a typed handle if all inputs are and the shape rule needs no attribute, or none is
/// given; else an AnyTensor. Several outputs are a tuple (typed), an array or a vector. Arguments
/// that do not fit select an overload that is never defined: its type is the error message.
template <class Op>
struct OpFunction {
  template <class... X>
  constexpr typename detail::DefaultCall<Op, X...>::fit operator()(const X&... x) const {
    return detail::DefaultCall<Op, X...>::record(Op{}, x...);
  }
  template <class... X>
  decltype(detail::DefaultCall<Op, X...>::misfit()) operator()(const X&... x) const;

  template <class A, class O = Op>
  constexpr typename detail::VariableCall<Op, O, A>::fit operator()(const A& a, const O& op) const {
    return detail::VariableCall<Op, O, A>::record(op, a);
  }
  template <class A, class O = Op>
  decltype(detail::VariableCall<Op, O, A>::misfit()) operator()(const A&, const O&) const;

  template <class A, class B, class O = Op>
  constexpr typename detail::VariableCall<Op, O, A, B>::fit operator()(const A& a, const B& b,
                                                                       const O& op) const {
    return detail::VariableCall<Op, O, A, B>::record(op, a, b);
  }
  template <class A, class B, class O = Op>
  decltype(detail::VariableCall<Op, O, A, B>::misfit()) operator()(const A&, const B&,
                                                                   const O&) const;

  template <class A, class B, class C, class O = Op>
  constexpr typename detail::VariableCall<Op, O, A, B, C>::fit operator()(const A& a, const B& b,
                                                                          const C& c,
                                                                          const O& op) const {
    return detail::VariableCall<Op, O, A, B, C>::record(op, a, b, c);
  }
  template <class A, class B, class C, class O = Op>
  decltype(detail::VariableCall<Op, O, A, B, C>::misfit()) operator()(const A&, const B&, const C&,
                                                                      const O&) const;

  template <class A, class B, class C, class D, class O = Op>
  constexpr typename detail::VariableCall<Op, O, A, B, C, D>::fit operator()(const A& a, const B& b,
                                                                             const C& c, const D& d,
                                                                             const O& op) const {
    return detail::VariableCall<Op, O, A, B, C, D>::record(op, a, b, c, d);
  }
  template <class A, class B, class C, class D, class O = Op>
  decltype(detail::VariableCall<Op, O, A, B, C, D>::misfit()) operator()(const A&, const B&,
                                                                         const C&, const D&,
                                                                         const O&) const;

  template <class A, class B, class C, class D, class E, class O = Op>
  constexpr typename detail::VariableCall<Op, O, A, B, C, D, E>::fit operator()(
      const A& a, const B& b, const C& c, const D& d, const E& e, const O& op) const {
    return detail::VariableCall<Op, O, A, B, C, D, E>::record(op, a, b, c, d, e);
  }
  template <class A, class B, class C, class D, class E, class O = Op>
  decltype(detail::VariableCall<Op, O, A, B, C, D, E>::misfit()) operator()(const A&, const B&,
                                                                            const C&, const D&,
                                                                            const E&,
                                                                            const O&) const;

  template <class A, class B, class C, class D, class E, class F, class O = Op>
  constexpr typename detail::VariableCall<Op, O, A, B, C, D, E, F>::fit operator()(
      const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const O& op) const {
    return detail::VariableCall<Op, O, A, B, C, D, E, F>::record(op, a, b, c, d, e, f);
  }
  template <class A, class B, class C, class D, class E, class F, class O = Op>
  decltype(detail::VariableCall<Op, O, A, B, C, D, E, F>::misfit()) operator()(const A&, const B&,
                                                                               const C&, const D&,
                                                                               const E&, const F&,
                                                                               const O&) const;

  template <class A, class B, class C, class D, class E, class F, class G, class O = Op>
  constexpr typename detail::VariableCall<Op, O, A, B, C, D, E, F, G>::fit operator()(
      const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g,
      const O& op) const {
    return detail::VariableCall<Op, O, A, B, C, D, E, F, G>::record(op, a, b, c, d, e, f, g);
  }
  template <class A, class B, class C, class D, class E, class F, class G, class O = Op>
  decltype(detail::VariableCall<Op, O, A, B, C, D, E, F, G>::misfit()) operator()(
      const A&, const B&, const C&, const D&, const E&, const F&, const G&, const O&) const;

  template <class A, class B, class C, class D, class E, class F, class G, class H, class O = Op>
  constexpr typename detail::VariableCall<Op, O, A, B, C, D, E, F, G, H>::fit operator()(
      const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g,
      const H& h, const O& op) const {
    return detail::VariableCall<Op, O, A, B, C, D, E, F, G, H>::record(op, a, b, c, d, e, f, g, h);
  }
  template <class A, class B, class C, class D, class E, class F, class G, class H, class O = Op>
  decltype(detail::VariableCall<Op, O, A, B, C, D, E, F, G, H>::misfit()) operator()(
      const A&, const B&, const C&, const D&, const E&, const F&, const G&, const H&,
      const O&) const;

  template <class A, class B, class C, class D, class E, class F, class G, class H, class I,
            class O = Op>
  constexpr typename detail::VariableCall<Op, O, A, B, C, D, E, F, G, H, I>::fit operator()(
      const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g,
      const H& h, const I& i, const O& op) const {
    return detail::VariableCall<Op, O, A, B, C, D, E, F, G, H, I>::record(op, a, b, c, d, e, f, g,
                                                                          h, i);
  }
  template <class A, class B, class C, class D, class E, class F, class G, class H, class I,
            class O = Op>
  decltype(detail::VariableCall<Op, O, A, B, C, D, E, F, G, H, I>::misfit()) operator()(
      const A&, const B&, const C&, const D&, const E&, const F&, const G&, const H&, const I&,
      const O&) const;
};

}  // namespace halftone
