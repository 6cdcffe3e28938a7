#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/graph/model.hpp>
#include <halftone/op/list.hpp>

/// Functions: bodies that are recorded once, from a callable, and called any number of times. What a
/// function takes and gives are typed handles, structs of handles, arrays of these, or a vector of
/// untyped handles.
///
///   struct Weights {  // a struct of handles says what it has
///     Tensor<float, Shape<64, 10>> W;
///     Tensor<float, Shape<10>> b;
///     constexpr void tensors(auto&& visit) { visit("W", W); visit("b", b); }
///   };
///   auto layer = function([](Tensor<float, Shape<32, 64>> x, Weights w) {
///     return op::matmul(x, w.W) + w.b;
///   });
///   auto y = call(layer, x, parameters<Weights>(g, "head"));  // head.W, head.b
///
/// source  popxl.Ir.create_graph, popxl.ops.call, repeat and conditional
namespace halftone {

/// A gradient of a function; see autodiff.hpp.
struct BodyGradient;

/// A struct of handles, and of such structs, which shows them by their names to a visitor.
template <class X>
concept tensor_struct = requires(X& x) { x.tensors([](std::string_view, auto&) {}); };

/// A parameter that the function may change: variables that are given for it have the new value
/// when the call has run, as they have for another parameter that the body does change. `*x` is the handle.
template <tensor_handle H>
struct by_ref {
  using handle = H;
  H tensor{};
  constexpr const H& operator*() const { return tensor; }
};

namespace detail {

template <class X>
inline constexpr bool is_by_ref = false;
template <class H>
inline constexpr bool is_by_ref<by_ref<H>> = true;

template <class X>
inline constexpr bool is_tuple = false;
template <class... X>
inline constexpr bool is_tuple<std::tuple<X...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

/// The name of a part: joined to that of the whole by a dot.
constexpr Vector<char> part_name(std::span<const char> whole, std::string_view part) {
  Vector<char> name(whole.begin(), whole.end());
  if (!name.empty() && !part.empty()) name.push_back('.');
  name.insert(name.end(), part.begin(), part.end());
  return name;
}
/// The digits of the number of an item.
constexpr Vector<char> item_name(std::span<const char> whole, std::size_t number) {
  Vector<char> digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + number % 10));
    number /= 10;
  } while (number != 0);
  return part_name(whole, {digits.data(), digits.size()});
}

/// Calls f(name, handle, whether it is by_ref) for every handle of a parameter or result, in order.
template <class X, class F>
constexpr void for_handles(X& x, F&& f, std::span<const char> name = {}) {
  if constexpr (tensor_handle<X>) {
    f(std::string_view(name.data(), name.size()), x, false);
  } else if constexpr (is_by_ref<X>) {
    f(std::string_view(name.data(), name.size()), x.tensor, true);
  } else if constexpr (is_tuple<X>) {
    std::apply([&](auto&... item) { (for_handles(item, f, name), ...); }, x);
  } else if constexpr (tensor_struct<X>) {
    x.tensors([&](std::string_view part, auto& member) {
      for_handles(member, f, part_name(name, part));
    });
  } else {
    static_assert(
        requires { x.size(), x.begin(); },
        "halftone: what a function takes and gives are tensors, structs with "
        "'tensors(auto&& visit)', arrays of these, and by_ref");
    std::size_t number = 0;
    for (auto& item : x) for_handles(item, f, item_name(name, number++));
  }
}

template <class X>
constexpr Vector<AnyTensor> handles_of(X x) {
  Vector<AnyTensor> all;
  for_handles(x, [&](std::string_view, auto& h, bool) { all.push_back(h); });
  return all;
}
/// How many handles a type has whose number follows from the type.
template <class X>
constexpr std::size_t handle_count() {
  return handles_of(X{}).size();
}

/// Sets the handles of x to these tensors, one after the other.
template <class X>
constexpr void set_handles(X& x, Graph& graph, std::span<const TensorId> ids, std::size_t& at) {
  for_handles(x, [&](std::string_view, auto& h, bool) { h = {&graph, ids[at++]}; });
}

/// The type of what a call gives for a parameter.
template <class P>
struct GivenFor {
  using type = P;
};
template <class H>
struct GivenFor<by_ref<H>> {
  using type = H;
};
template <class P>
using given_for = typename GivenFor<P>::type;

/// The tuple of gradients, or the gradient if there is one parameter.
template <class... P>
struct GradientsOf {
  using type = std::tuple<given_for<P>...>;
};
template <class P>
struct GradientsOf<P> {
  using type = given_for<P>;
};

/// The parameters and the result of a callable.
template <class F>
struct CallableOf : CallableOf<decltype(&F::operator())> {};
template <class R, class... P>
struct CallableOf<R (*)(P...)> {
  using signature = R(std::remove_cvref_t<P>...);
  static constexpr bool takes_graph = false;
};
/// A first parameter Graph& is the body.
template <class R, class... P>
struct CallableOf<R (*)(Graph&, P...)> : CallableOf<R (*)(P...)> {
  static constexpr bool takes_graph = true;
};
template <class R, class F, class... P>
struct CallableOf<R (F::*)(P...) const> : CallableOf<R (*)(P...)> {};
template <class R, class F, class... P>
struct CallableOf<R (F::*)(P...)> : CallableOf<R (*)(P...)> {};

constexpr Vector<TensorInfo> infos_of(const Graph& graph, std::span<const TensorId> ids) {
  Vector<TensorInfo> infos;
  for (const TensorId id : ids) infos.push_back(graph.info(id));
  return infos;
}

/// The number of a body among the graphs of another one. Equal bodies are one.
constexpr std::int32_t share_body(Graph& graph, const Graph& body) {
  for (std::size_t i = 0; i < graph.graphs.size(); ++i) {
    if (graph.graphs[i] == body) return static_cast<std::int32_t>(i);
  }
  graph.graphs.push_back(body);
  return static_cast<std::int32_t>(graph.graphs.size()) - 1;
}

constexpr Graph& graph_of(std::span<const AnyTensor> tensors) {
  Graph* graph = nullptr;
  for (const AnyTensor& t : tensors) join(graph, t.graph);
  if (graph == nullptr) fail(ErrorKind::usage, {.what = "a call has no tensor as input"});
  return *graph;
}
constexpr void check_graph(Graph& graph, std::span<const AnyTensor> tensors) {
  Graph* all = &graph;
  for (const AnyTensor& t : tensors) join(all, t.graph);
}
constexpr Vector<TensorId> ids_of(std::span<const AnyTensor> tensors) {
  Vector<TensorId> ids;
  for (const AnyTensor& t : tensors) ids.push_back(t.id);
  return ids;
}

/// Makes variables constants of their values.
constexpr void fix_variables(Graph& body) {
  for (TensorRecord& t : body.tensors) {
    if (!is_variable(t)) continue;
    if (t.data.size() == 0 && t.info.bytes() != 0) {
      fail(ErrorKind::usage, {.what = "a variable of a function's graph has no values yet",
                              .tensor = body.text(t.name),
                              .hint = "make it an input of the graph"});
    }
    t.role = Role::constant;
  }
}

/// Throws ModelError or ShapeError if a body's inputs or outputs are not what its typed face says.
template <class X>
constexpr void check_face(const Graph& body, std::span<const TensorId> ids, std::size_t& at) {
  X x{};
  for_handles(x, [&]<class H>(std::string_view, H&, bool) {
    if (at == ids.size()) {
      throw_extent("a graph has fewer inputs or outputs than its typed face", {}, -1,
                   static_cast<std::int64_t>(at) + 1, static_cast<std::int64_t>(ids.size()));
    }
    Graph& graph = const_cast<Graph&>(body);
    if constexpr (typed_handle<H>) static_cast<void>(AnyTensor{&graph, ids[at]}.as<H>());
    ++at;
  });
}

}  // namespace detail

template <class Signature>
struct Function;

/// A body, with the types of what it takes and gives. A value; calls put the body into the graphs
/// that they are recorded in.
template <class R, class... P>
struct Function<R(P...)> {
  using result = R;
  using parameters = std::tuple<P...>;

  Graph body{};
  Vector<char> modified{};  ///< of each input: whether a call changes it

  /// The numbers of the inputs that a call changes.
  ///
  /// errors  UsageError: more than 255
  constexpr op::InputNumbers modified_inputs() const {
    op::InputNumbers numbers;
    for (std::size_t i = 0; i < modified.size(); ++i) {
      if (modified[i] == 0) continue;
      if (numbers.size() == numbers.capacity()) {
        fail(ErrorKind::usage, {.what = "a function changes more than 255 of its inputs"});
      }
      numbers.push_back(static_cast<std::int64_t>(i));
    }
    return numbers;
  }
};

/// A function of any number of untyped tensors.
using AnyFunction = Function<Vector<AnyTensor>(Vector<AnyTensor>)>;

namespace detail {

/// Inputs that nodes change, beside those that are given by reference.
template <class R, class... P>
constexpr void find_modified(Function<R(P...)>& f) {
  const Aliases aliases(f.body);
  f.modified.resize(f.body.inputs.size());
  for (std::size_t i = 0; i < f.modified.size(); ++i) {
    if (aliases.is_modified(f.body.inputs[i])) f.modified[i] = 1;
  }
}

template <class R, class... P, class F>
constexpr Function<R(P...)> record_function(const F& callable, std::type_identity<R(P...)>) {
  Function<R(P...)> f;
  std::tuple<P...> parameters{};
  for_handles(parameters, [&]<class H>(std::string_view name, H& h, bool is_ref) {
    static_assert(typed_handle<H>, "halftone: untyped parameters need infos: function(f, infos)");
    h = {&f.body, f.body.add_input(H::static_info, name)};
    f.modified.push_back(is_ref);
  });
  R result = [&]() -> R {
    if constexpr (CallableOf<F>::takes_graph) {
      return std::apply([&](auto&... all) { return callable(f.body, all...); }, parameters);
    } else {
      return std::apply(callable, std::move(parameters));
    }
  }();
  for (const AnyTensor& t : handles_of(result)) {
    Graph* graph = &f.body;
    join(graph, t.graph);
    f.body.add_output(t.id);
  }
  find_modified(f);
  return f;
}

}  // namespace detail

/// Records a callable, whose parameters are not templates. It is called once, with handles of the
/// body's inputs; tensors of other graphs are given as parameters. A first parameter `Graph&` is the
/// body itself, for what is made of no tensor: loads, constants. Nothing is `std::tuple<>` as a result.
///
/// errors  UsageError: it uses a tensor of another graph; those of the operators it calls
template <class F>
  requires(!std::is_same_v<F, Graph>)
constexpr auto function(const F& callable) {
  using Recorded = typename detail::CallableOf<F>::signature;
  return detail::record_function(callable, std::type_identity<Recorded>{});
}

/// The same for a callable that takes and gives a vector of untyped handles.
template <class F>
constexpr AnyFunction function(const F& callable, std::span<const TensorInfo> infos) {
  AnyFunction f;
  Vector<AnyTensor> inputs;
  for (const TensorInfo& info : infos) inputs.push_back({&f.body, f.body.add_input(info, {})});
  const Vector<AnyTensor> outputs = callable(inputs);
  for (const AnyTensor& t : outputs) f.body.add_output(t.id);
  detail::find_modified(f);
  return f;
}
template <class F>
constexpr AnyFunction function(const F& callable, std::initializer_list<TensorInfo> infos) {
  return function(callable, std::span(infos.begin(), infos.size()));
}

/// A graph, an ONNX model for example, as a function. Its variables stay inside: a body that is
/// called has constants of their values.
///
/// errors  ModelError or ShapeError: inputs or outputs that are not what the types say;
///         UsageError: a variable that has no values yet
template <class Signature>
constexpr Function<Signature> function(Graph graph) {
  Function<Signature> f{.body = std::move(graph)};
  detail::fix_variables(f.body);
  std::size_t inputs = 0, outputs = 0;
  detail::check_face<typename Function<Signature>::parameters>(f.body, f.body.inputs, inputs);
  detail::check_face<typename Function<Signature>::result>(f.body, f.body.outputs, outputs);
  if (inputs != f.body.inputs.size() || outputs != f.body.outputs.size()) {
    throw_extent("a graph has more inputs or outputs than its typed face", {}, -1,
                 static_cast<std::int64_t>(inputs + outputs),
                 static_cast<std::int64_t>(f.body.inputs.size() + f.body.outputs.size()));
  }
  detail::find_modified(f);
  return f;
}
/// The same without types.
constexpr AnyFunction function(Graph graph) {
  AnyFunction f{.body = std::move(graph)};
  detail::fix_variables(f.body);
  detail::find_modified(f);
  return f;
}

template <class Signature>
struct CallSite;

/// A call that has been recorded. Good while its graph stays where it is.
template <class R, class... P>
struct CallSite<R(P...)> {
  Graph* graph = nullptr;
  std::size_t node = 0;
  Vector<TensorId> inner_inputs{}, inner_outputs{};  ///< of the function's body
  Vector<TensorId> modified{};                       ///< of the caller: what the call changes
  R out{};

  /// The caller's tensor for an input or output of the body.
  ///
  /// errors  UsageError: a tensor that is neither
  constexpr AnyTensor outer(TensorId inner) const { return {graph, find(inner, true)}; }
  /// The body's input or output for a tensor that the caller gave or got.
  ///
  /// errors  UsageError: a tensor that the call has nothing to do with
  constexpr TensorId inner(AnyTensor tensor) const { return find(tensor.id, false); }

 private:
  constexpr TensorId find(TensorId id, bool is_inner) const {
    const Node& call = graph->nodes[node];
    for (std::size_t i = 0; i < inner_inputs.size() + inner_outputs.size(); ++i) {
      const bool is_input = i < inner_inputs.size();
      const std::size_t k = is_input ? i : i - inner_inputs.size();
      const TensorId inside = is_input ? inner_inputs[k] : inner_outputs[k];
      const TensorId outside = is_input ? call.inputs[k] : call.outputs[k];
      if ((is_inner ? inside : outside) == id) return is_inner ? outside : inside;
    }
    fail(ErrorKind::usage, {.what = "a tensor is neither an input nor an output of the call",
                            .node = graph->name(call)});
  }
};

namespace detail {

template <class R, class... P>
constexpr void check_given(const Function<R(P...)>& f, std::span<const AnyTensor> given) {
  if (given.size() == f.body.inputs.size()) return;
  throw_extent("a function gets another number of inputs", {}, -1,
               static_cast<std::int64_t>(f.body.inputs.size()),
               static_cast<std::int64_t>(given.size()));
}

/// The handles of all arguments, one after the other.
template <class... A>
constexpr Vector<AnyTensor> all_handles(const A&... arguments) {
  return handles_of(std::tuple<A...>(arguments...));
}

/// Whether a result is a list of handles, whose length is that of the node's outputs.
template <class R>
inline constexpr bool is_handle_list =
    std::is_same_v<R, Vector<AnyTensor>> || std::is_same_v<R, std::vector<AnyTensor>>;

/// The result that a node's outputs are.
template <class R>
constexpr R result_of(Graph& graph, std::size_t node) {
  const Vector<TensorId> ids = graph.nodes[node].outputs;
  R result{};
  if constexpr (is_handle_list<R>) {
    for (const TensorId id : ids) result.push_back({&graph, id});
  } else {
    std::size_t at = 0;
    set_handles(result, graph, ids, at);
  }
  return result;
}

}  // namespace detail

/// Records a call and tells about it; `call` gives its results alone. A function without parameters is
/// told the graph that calls it.
///
/// errors  UsageError: arguments in different graphs; ShapeError: another number of inputs (untyped)
template <class R, class... P>
constexpr CallSite<R(P...)> call_with_info(Graph& graph, const Function<R(P...)>& f,
                                           const detail::given_for<P>&... arguments) {
  const Vector<AnyTensor> given = detail::all_handles(arguments...);
  detail::check_given(f, given);
  detail::check_graph(graph, given);
  const op::Call call{.callee = {detail::share_body(graph, f.body)},
                      .modified_inputs = f.modified_inputs()};
  const Vector<TensorInfo> infos = detail::infos_of(f.body, f.body.outputs);
  CallSite<R(P...)> site{
      .graph = &graph,
      .node = graph.add_node(descriptor<op::Call>, pack(call), detail::ids_of(given), infos),
      .inner_inputs = f.body.inputs,
      .inner_outputs = f.body.outputs};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (f.modified[i] != 0) site.modified.push_back(given[i].id);
  }
  site.out = detail::result_of<R>(graph, site.node);
  return site;
}

template <class R, class... P>
constexpr CallSite<R(P...)> call_with_info(const Function<R(P...)>& f,
                                           const detail::given_for<P>&... arguments) {
  return call_with_info(detail::graph_of(detail::all_handles(arguments...)), f, arguments...);
}

namespace detail {

struct OtherCount {
  static constexpr std::string_view words[] = {"call: another number of arguments"};
};
struct OtherType {
  static constexpr std::string_view words[] = {"call: an argument has another type"};
};
struct OtherRank {
  static constexpr std::string_view words[] = {"call: an argument has another rank"};
};
struct OtherExtent {
  static constexpr std::string_view words[] = {"call: an argument has another extent"};
};
struct OtherArgument {
  static constexpr std::string_view words[] = {"call: no such argument, at number"};
};

/// Whether an argument of that type may be given to a parameter.
template <class P, class A>
inline constexpr bool takes_argument = std::is_convertible_v<const A&, const given_for<P>&>;

/// The first dimension in which two shapes of one rank differ.
constexpr std::size_t first_other(const Dims& x, const Dims& y) {
  std::size_t at = 0;
  while (at + 1 < x.size() && x[at] == y[at]) ++at;
  return at;
}

/// What the compiler says of argument I.
template <std::size_t I, class P, class A>
constexpr auto wrong_argument() {
  constexpr auto number = static_cast<std::int64_t>(I);
  if constexpr (!typed_handle<P> || !typed_handle<A>) {
    return std::type_identity<shape_mismatch<message_of<OtherArgument>(), number, number>>{};
  } else {
    constexpr const TensorInfo &p = P::static_info, &a = A::static_info;
    if constexpr (p.type != a.type) {
      return std::type_identity<shape_mismatch<
          message_of<OtherType>(), message_of<TypeName<static_cast<std::int64_t>(p.type)>>(),
          message_of<TypeName<static_cast<std::int64_t>(a.type)>>()>>{};
    } else if constexpr (p.rank() != a.rank()) {
      return std::type_identity<shape_mismatch<message_of<OtherRank>(), std::int64_t{p.rank()},
                                               std::int64_t{a.rank()}>>{};
    } else {
      constexpr std::size_t at = first_other(P::static_info.shape, A::static_info.shape);
      return std::type_identity<
          shape_mismatch<message_of<OtherExtent>(), p.shape[at], a.shape[at]>>{};
    }
  }
}
template <class... P>
struct Parameters {
  template <class... A>
  static constexpr bool take() {
    if constexpr (sizeof...(P) == sizeof...(A)) {
      return (takes_argument<P, A> && ...);
    } else {
      return false;
    }
  }
  /// The type that a call with these arguments has.
  template <class... A>
  static constexpr auto refusal() {
    if constexpr (sizeof...(P) != sizeof...(A)) {
      return std::type_identity<shape_mismatch<message_of<OtherCount>(), std::int64_t{sizeof...(P)},
                                               std::int64_t{sizeof...(A)}>>{};
    } else if constexpr (take<A...>()) {  // clang asks before it looks at constraints
      return std::type_identity<void>{};
    } else {
      constexpr std::size_t at = [] {
        std::size_t i = 0, wrong = sizeof...(P);
        ((wrong = wrong == sizeof...(P) && !takes_argument<P, A> ? i : wrong, ++i), ...);
        return wrong;
      }();
      return wrong_argument<at, std::tuple_element_t<at, std::tuple<P...>>,
                            std::tuple_element_t<at, std::tuple<A...>>>();
    }
  }
};

}  // namespace detail

/// The results of a function for these arguments. Wrong ones do not compile.
template <class R, class... P>
constexpr R call(const Function<R(P...)>& f, const detail::given_for<P>&... arguments) {
  return call_with_info(f, arguments...).out;
}
template <class R, class... P>
constexpr R call(Graph& graph, const Function<R(P...)>& f,
                 const detail::given_for<P>&... arguments) {
  return call_with_info(graph, f, arguments...).out;
}
/// Declared only: the result is the compiler's message.
template <class R, class... P, class... A>
  requires(!detail::Parameters<P...>::template take<A...>())
typename decltype(detail::Parameters<P...>::template refusal<A...>())::type call(
    const Function<R(P...)>& f, const A&... arguments);

namespace detail {

/// Whether results have the types of the first parameters.
template <class R, class... P>
constexpr bool goes_round() {
  Vector<TensorInfo> results, parameters;
  R result{};
  std::tuple<P...> all{};
  for_handles(result,
              [&]<class H>(std::string_view, H&, bool) { results.push_back(H::static_info); });
  for_handles(all,
              [&]<class H>(std::string_view, H&, bool) { parameters.push_back(H::static_info); });
  if (results.size() > parameters.size()) return false;
  parameters.resize(results.size());
  return results == parameters;
}

/// The body of a Loop: the function with the number of the pass and the condition in front. What
/// is behind the results stays as it is from pass to pass.
constexpr Graph loop_body(Graph body) {
  const Vector<TensorId> states = body.inputs;
  Vector<TensorId> outputs = body.outputs;
  body.inputs.clear();
  body.add_input({ElementType::int64, {}}, {});
  outputs.insert(outputs.begin(), body.add_input({ElementType::boolean, {}}, {}));
  body.inputs.insert(body.inputs.end(), states.begin(), states.end());
  for (std::size_t i = outputs.size() - 1; i < states.size(); ++i) outputs.push_back(states[i]);
  body.outputs = std::move(outputs);
  return body;
}

}  // namespace detail

/// Calls a function `passes` times. The results of a pass are the first arguments of the next one;
/// the others stay as they are, or are changed by the passes if the function takes them by reference.
/// Without any pass the results are the first arguments.
///
/// errors  UsageError: a negative number of passes, a function that changes one of its first
///         parameters; ShapeError: results that are not like the first arguments (untyped)
template <class R, class... P>
constexpr R repeat(Graph& graph, const Function<R(P...)>& f, std::int64_t passes,
                   const detail::given_for<P>&... arguments) {
  if constexpr (!detail::is_handle_list<R>) {
    static_assert(detail::goes_round<R, P...>(),
                  "halftone: repeat() gives the results of a pass to the first parameters of the "
                  "next one: their types have to be equal");
  }
  if (passes < 0) fail(ErrorKind::usage, {.what = "the number of passes is negative"});
  const Vector<AnyTensor> given = detail::all_handles(arguments...);
  detail::check_given(f, given);
  detail::check_graph(graph, given);
  const std::size_t carried = f.body.outputs.size();
  op::InputNumbers modified;
  for (const std::int64_t input : f.modified_inputs()) {
    if (input < static_cast<std::int64_t>(carried)) {
      fail(
          ErrorKind::usage,
          {.what = "a function that is repeated changes a parameter that goes from pass to pass",
           .hint = "return the new value, or take it by reference behind those that are returned"});
    }
    // Behind the number of passes and the condition.
    modified.push_back(input + 2);
  }
  for (std::size_t i = 0; i < carried; ++i) {
    if (i < given.size() && f.body.info(f.body.outputs[i]) == f.body.info(f.body.inputs[i])) {
      continue;
    }
    throw_extent("the results of a function that is repeated are not like its first inputs", {}, -1,
                 static_cast<std::int64_t>(given.size()), static_cast<std::int64_t>(carried));
  }
  if (passes == 0) {
    std::size_t at = 0;
    R result{};
    if constexpr (detail::is_handle_list<R>) {
      result.assign(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(carried));
    } else {
      const Vector<TensorId> ids = detail::ids_of(given);
      detail::set_handles(result, graph, ids, at);
    }
    return result;
  }
  Vector<TensorId> inputs{constant(graph, std::span<const std::int64_t>(&passes, 1), Dims{}).id,
                          no_tensor};
  for (const AnyTensor& t : given) inputs.push_back(t.id);
  const op::Loop loop{.body = {detail::share_body(graph, detail::loop_body(f.body))},
                      .modified_inputs = modified};
  Vector<TensorInfo> infos = detail::infos_of(f.body, f.body.inputs);
  const std::size_t node =
      graph.add_node(descriptor<op::Loop>, pack(loop), std::move(inputs), infos);
  for (std::size_t i = carried; i < graph.nodes[node].outputs.size(); ++i) {
    graph.nodes[node].outputs[i] = no_tensor;
  }
  graph.nodes[node].outputs.resize(carried);
  return detail::result_of<R>(graph, node);
}
template <class R, class... P>
constexpr R repeat(const Function<R(P...)>& f, std::int64_t passes,
                   const detail::given_for<P>&... arguments) {
  return repeat(detail::graph_of(detail::all_handles(arguments...)), f, passes, arguments...);
}

/// A function and what it is to be called with, for `conditional`.
template <class R>
struct Branch {
  Graph body{};
  Vector<AnyTensor> given{};
};

namespace detail {
template <class R, class... P>
constexpr Branch<R> branch(const Function<R(P...)>& f, const given_for<P>&... arguments) {
  static_assert((!is_by_ref<P> && ...), "halftone: branches have no parameters by reference");
  if (!f.modified_inputs().empty()) {
    fail(ErrorKind::usage,
         {.what = "a branch changes what it is given", .hint = "return the new value"});
  }
  Branch<R> result{f.body, all_handles(arguments...)};
  check_given(f, result.given);
  return result;
}
/// A branch also has the inputs of the other one, which it does not read.
constexpr Graph branch_body(const Graph& own, const Graph& other, bool is_first) {
  Graph body = own;
  const Vector<TensorId> inputs = body.inputs;
  body.inputs.clear();
  if (is_first) body.inputs = inputs;
  for (const TensorId id : other.inputs) body.add_input(other.info(id), {});
  if (!is_first) body.inputs.insert(body.inputs.end(), inputs.begin(), inputs.end());
  return body;
}
}  // namespace detail

/// The function for `conditional` if the condition holds, and its arguments.
template <class R, class... P>
constexpr Branch<R> then(const Function<R(P...)>& f, const detail::given_for<P>&... arguments) {
  return detail::branch(f, arguments...);
}
/// The function for `conditional` if the condition does not hold, and its arguments.
template <class R, class... P>
constexpr Branch<R> otherwise(const Function<R(P...)>& f,
                              const detail::given_for<P>&... arguments) {
  return detail::branch(f, arguments...);
}

/// The results of one of two functions, which give the same types; the other one does not run.
///
/// condition  one boolean
/// errors     UsageError: arguments in different graphs; ModelError: a condition that is not one
///            boolean, results of different types (untyped)
template <tensor_handle C, class R>
constexpr R conditional(const C& condition, const Branch<R>& yes,
                        const std::type_identity_t<Branch<R>>& no) {
  Vector<AnyTensor> given{AnyTensor(condition)};
  given.insert(given.end(), yes.given.begin(), yes.given.end());
  given.insert(given.end(), no.given.begin(), no.given.end());
  Graph& graph = detail::graph_of(given);
  const op::If choice{
      .then_branch = {detail::share_body(graph, detail::branch_body(yes.body, no.body, true))},
      .else_branch = {detail::share_body(graph, detail::branch_body(no.body, yes.body, false))}};
  const Vector<Vector<TensorInfo>> branches{detail::infos_of(yes.body, yes.body.outputs),
                                            detail::infos_of(no.body, no.body.outputs)};
  const Vector<TensorId> ids = detail::ids_of(given);
  const Vector<InputInfo> infos = input_infos(graph, ids);
  const Inferred inferred = op::If::infer(Inputs(infos, branches[0].size(), branches));
  if (!inferred.ok()) throw_inference(graph, descriptor<op::If>, ids, inferred);
  const std::size_t node = graph.add_node(descriptor<op::If>, pack(choice), ids, inferred.outputs);
  return detail::result_of<R>(graph, node);
}

/// New variables for every handle of a struct, called like its parts: `prefix.W`. Those of two
/// dimensions and more start by Glorot's rule, others with zeros, unless `rule(name, info)` gives
/// an Initial of its own.
template <class W, class Rule>
constexpr W parameters(Graph& graph, std::string_view prefix, const Rule& rule) {
  W weights{};
  detail::for_handles(
      weights,
      [&]<class H>(std::string_view name, H& h, bool) {
        static_assert(typed_handle<H> && H::static_info.is_static(),
                      "halftone: every extent of a parameter is known");
        h = {&graph, graph.add_variable(H::static_info, rule(name, H::static_info), name)};
      },
      std::span(prefix.data(), prefix.size()));
  return weights;
}
template <class W>
constexpr W parameters(Graph& graph, std::string_view prefix = {}) {
  return parameters<W>(graph, prefix, [](std::string_view, const TensorInfo& info) {
    return info.rank() > 1 ? detail::initial(glorot{}) : detail::initial(zeros);
  });
}

/// f(a, b) for each pair of handles of two structs of one type, such as weights and their
/// gradients. Pairs of which one is absent are passed over.
template <class W, class F>
constexpr void for_pairs(W a, W b, F&& f) {
  const Vector<AnyTensor> others = detail::handles_of(b);
  std::size_t at = 0;
  detail::for_handles(a, [&]<class H>(std::string_view, H& h, bool) {
    const AnyTensor& other = others[at++];
    if (h.id != no_tensor && !other.is_absent()) f(h, H{other.graph, other.id});
  });
}

}  // namespace halftone
