#pragma once

#include <array>
#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <halftone/function.hpp>
#include <popxl/ir.hpp>

/// Graphs of callables, and what calls them.
///
///   auto layer = ir.create_graph([](F<8, 4> x, F<4, 2> w) { return ops::matmul(x, w); });
///   auto y = ops::call(layer, x, w);
///   auto twice = ir.create_graph([](auto v, int n) { return v * n; }, x, 2);  // x is a template
///
/// Calls copy what they are given, unless it is given by reference. A call has the graph as it is
/// then: what is added later is for later calls.
///
/// source  popxl.Ir.create_graph, popxl.Module, popxl.ops.call, repeat and conditional
namespace popxl {

/// A parameter that the graph may change in the caller: of a callable, or by_ref{x} as an argument of
/// create_graph().
template <halftone::tensor_handle H>
using TensorByRef = halftone::by_ref<H>;
using halftone::by_ref;

/// Gives an input of create_graph() a name: kw("W", x).
template <class X>
struct Keyword {
  std::string_view name;
  X value;
};
template <class X>
Keyword<X> kw(std::string_view name, const X& value) {
  return {name, value};
}

/// What create_graph() and calls record is in `build`, whose members may keep inputs:
///
///   struct Linear : popxl::Module<Linear> {
///     Tensor<float, Shape<4, 2>> W;
///     auto build(F<8, 4> x) { W = graph_input<float, Shape<4, 2>>("W"); return ops::matmul(x, W); }
///   };
///   Linear linear;
///   auto graph = ir.create_graph(linear, x);
///   ops::call(graph, {{linear.W, w}}, x);
template <class Derived>
struct Module {
  template <class... A, class Own = Derived>
  auto operator()(A&&... arguments)
      -> decltype(std::declval<Own&>().build(std::forward<A>(arguments)...)) {
    return static_cast<Own*>(this)->build(std::forward<A>(arguments)...);
  }
};

/// A graph that knows the types of what it takes and gives.
template <class R, class... P>
class TypedGraph<R(P...)> : public Graph {
 public:
  using result = R;
  explicit TypedGraph(const Graph& graph) : Graph(graph) {}
  /// The same as a function of the library.
  halftone::Function<R(P...)> function() const {
    halftone::Function<R(P...)> f{native(), std::vector<char>(native().inputs.size())};
    for (std::size_t i = 0; i < f.modified.size(); ++i) f.modified[i] = is_by_ref(i);
    return f;
  }
};

/// An argument of a call: a tensor, or a number or array that becomes a constant of the input's type.
class Argument {
 public:
  Argument(const AnyTensor& tensor) : tensor_(tensor) {}
  template <halftone::typed_handle X>
  Argument(const X& tensor) : tensor_(tensor) {}
  Argument(const AnyArray& value) : value_(value) {}
  template <halftone::element T>
  Argument(T number) : value_(Array<T>(Dims{}, {number})) {}

  /// errors  ValueError: a tensor of another graph; ShapeError: one of another type or shape;
  ///         TypeError: a value that the type cannot hold
  void check(const Graph& graph, const TensorSpec& input) const;
  AnyTensor in(const Graph& graph, const TensorSpec& input) const;

 private:
  AnyTensor tensor_{};
  AnyArray value_{};
};

/// Further inputs of a call: the called graph's and what they are given.
struct InputsDict {
  std::vector<std::pair<AnyTensor, Argument>> all{};

  InputsDict() = default;
  InputsDict(std::initializer_list<std::pair<AnyTensor, Argument>> pairs) : all(pairs) {}
};

/// A call of a graph, a loop or a branch that has been recorded in `parent`.
class CallSiteInfo {
 public:
  CallSiteInfo(const Graph& parent, std::size_t node, const Graph& called, std::size_t first_input)
      : parent_(parent), called_(called), node_(node), first_(first_input) {}

  Graph called_graph() const { return called_; }
  /// The node of the parent.
  halftone::Node& node() const { return parent_.native().nodes[node_]; }
  std::size_t node_number() const { return node_; }
  Graph parent() const { return parent_; }

  /// What the caller gives and gets, the trip count and condition of a loop or the condition of a
  /// branch included.
  std::vector<AnyTensor> inputs() const;
  std::vector<AnyTensor> outputs() const;
  /// errors  IndexError
  AnyTensor parent_input(std::size_t index) const;
  AnyTensor parent_output(std::size_t index) const;

  std::size_t graph_to_parent_input_index(std::size_t index) const;
  std::size_t parent_to_graph_input_index(std::size_t index) const;
  std::size_t graph_to_parent_output_index(std::size_t index) const;
  std::size_t parent_to_graph_output_index(std::size_t index) const;

  /// The caller's tensor for an input or output of the called graph.
  /// errors  ValueError: a tensor that is neither
  AnyTensor graph_to_parent(const AnyTensor& graph_tensor) const;
  /// The called graph's input for a tensor that the caller gave, the first of several.
  /// errors  ValueError: a tensor that is not among them
  AnyTensor parent_to_graph(const AnyTensor& parent_tensor) const;

  /// Has changes of the callee reach the caller's tensor. infer_modified_regions: only if it changes
  /// its input, in place of always.
  ///
  /// errors  ValueError: no input; NotImplementedError: loops and branches
  void set_parent_input_modified(const AnyTensor& parent_tensor,
                                 bool infer_modified_regions = false) const;

 private:
  Graph parent_, called_;
  std::size_t node_, first_;
};

/// The same with results by their types.
template <class Signature>
class CallSite;
template <class R, class... P>
class CallSite<R(P...)> : public CallSiteInfo {
 public:
  explicit CallSite(const CallSiteInfo& info)
      : CallSiteInfo(info), out(halftone::detail::result_of<R>(parent().native(), node_number())) {}
  R out;
};

/// Two graphs of which one is called.
class ConditionalSiteInfo {
 public:
  CallSiteInfo then_branch, else_branch;

  std::pair<Graph, Graph> called_graph() const {
    return {then_branch.called_graph(), else_branch.called_graph()};
  }
  std::vector<AnyTensor> inputs() const { return then_branch.inputs(); }
  std::vector<AnyTensor> outputs() const { return then_branch.outputs(); }
  /// errors  IndexError
  bool is_parent_index_in_then_branch(std::size_t index) const;
  const CallSiteInfo& branch(bool is_then) const { return is_then ? then_branch : else_branch; }
};

namespace detail {

/// A graph while a callable is recorded in it: it is current, and goes again unless it is finished.
class Recording {
 public:
  Recording(const Ir& ir, std::string_view name);
  Recording(const Recording&) = delete;
  ~Recording();
  const Graph& graph() const { return graph_; }
  AnyTensor add(const TensorSpec& spec, std::string_view name, bool by_ref) {
    return add_input(spec, name, by_ref);
  }
  void finish() { is_finished_ = true; }

 private:
  Graph graph_;
  In entered_;
  bool is_finished_ = false;
};

CallSiteInfo record_call(const Graph& graph, std::span<const Argument> positional,
                         const InputsDict& more, bool check_inputs);
CallSiteInfo record_repeat(const Graph& graph, std::int64_t count,
                           std::span<const Argument> positional, const InputsDict& more);
struct BranchCall {
  const Graph& graph;
  std::span<const Argument> positional;
  const InputsDict& more;
};
ConditionalSiteInfo record_conditional(const AnyTensor& condition, const BranchCall& yes,
                                       const BranchCall& no);

/// What an argument of create_graph becomes in the new graph: an input or several, or itself.
template <class A>
inline constexpr bool is_keyword = false;
template <class X>
inline constexpr bool is_keyword<Keyword<X>> = true;
template <class A>
concept spec_like = halftone::tensor_handle<A> || std::same_as<A, TensorSpec>;
template <class A>
concept spec_list = requires(const A& a) {
  requires spec_like<std::remove_cvref_t<decltype(*a.begin())>>;
  a.size();
};
template <class A>
concept graph_argument = spec_like<A> || spec_list<A> || halftone::tensor_struct<A> ||
                         halftone::detail::is_by_ref<A> || is_keyword<A>;

template <class A>
struct ParameterOf {
  using type = A;
};
template <>
struct ParameterOf<TensorSpec> {
  using type = AnyTensor;
};
template <class X>
struct ParameterOf<Keyword<X>> : ParameterOf<X> {};
template <>
struct ParameterOf<std::vector<TensorSpec>> {
  using type = std::vector<AnyTensor>;
};
template <class A>
using parameter_of = typename ParameterOf<A>::type;

template <halftone::tensor_handle H>
TensorSpec spec_of(const H& h) {
  if constexpr (halftone::typed_handle<H>) return H::static_info;
  return h.info();
}
inline TensorSpec spec_of(const TensorSpec& spec) { return spec; }

template <class A>
parameter_of<A> make_parameter(Recording& to, const A& a, std::string_view name = {}) {
  if constexpr (is_keyword<A>) {
    return make_parameter(to, a.value, a.name);
  } else if constexpr (spec_like<A>) {
    const AnyTensor input = to.add(spec_of(a), name, false);
    return {input.graph, input.id};
  } else if constexpr (std::same_as<A, std::vector<TensorSpec>>) {
    std::vector<AnyTensor> all;
    for (const TensorSpec& spec : a) {
      const auto item = halftone::detail::item_name({}, all.size());
      all.push_back(
          to.add(spec, std::string(name) + "_" + std::string(item.begin(), item.end()), false));
    }
    return all;
  } else if constexpr (graph_argument<A>) {
    A parameter = a;
    halftone::detail::for_handles(
        parameter,
        [&]<class H>(std::string_view part, H& h, bool is_ref) {
          const AnyTensor input = to.add(spec_of(h), part, is_ref);
          h = {input.graph, input.id};
        },
        std::span(name.data(), name.size()));
    return parameter;
  } else {
    return a;
  }
}

/// The signature of a graph: its result and those of its parameters that are tensors.
template <class R, class Kept, class... P>
struct GraphSignature;
template <class R, class... K>
struct GraphSignature<R, std::tuple<K...>> {
  using type = std::conditional_t<std::is_void_v<R>, std::tuple<>, R>(K...);
};
template <class R, class... K, class P, class... Rest>
struct GraphSignature<R, std::tuple<K...>, P, Rest...>
    : GraphSignature<R,
                     std::conditional_t<graph_argument<P>, std::tuple<K..., parameter_of<P>>,
                                        std::tuple<K...>>,
                     Rest...> {};
template <class R>
struct GraphResult {
  using type = R;
};
template <>
struct GraphResult<void> {
  using type = std::tuple<>;
};

/// The last word of a type's name.
template <class F>
constexpr std::string_view name_of() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("F = ") + 4);
  if (text.find("lambda") != text.npos) return "lambda";
  constexpr std::string_view unnamed = "(anonymous namespace)::";  // as clang writes it
  if (const std::size_t at = text.find(unnamed); at != text.npos) {
    text = text.substr(at + unnamed.size());
  }
  text = text.substr(0, text.find_first_of("<;] ("));
  if (const std::size_t colon = text.rfind(':'); colon != text.npos) text = text.substr(colon + 1);
  return text.empty() ? "graph" : text;
}

template <class F>
concept module = requires { typename std::remove_cvref_t<F>; } &&
                 std::derived_from<std::remove_cvref_t<F>, Module<std::remove_cvref_t<F>>>;

template <class F, class... A>
auto record(const Ir& ir, F& f, const A&... arguments) {
  static_assert(std::is_invocable_v<F&, parameter_of<A>...>,
                "popxl: create_graph() gets other arguments than the callable takes");
  using Returned = std::invoke_result_t<F&, parameter_of<A>...>;
  using Result = typename GraphResult<Returned>::type;
  using Signature = typename GraphSignature<Result, std::tuple<>, A...>::type;
  Recording recording(ir, name_of<std::remove_cvref_t<F>>());
  // In braces, so that inputs come in the order of the parameters.
  std::tuple<parameter_of<A>...> parameters{make_parameter(recording, arguments)...};
  Result result{};
  if constexpr (std::is_void_v<Returned>) {
    std::apply(f, std::move(parameters));
  } else {
    result = std::apply(f, std::move(parameters));
  }
  for (const AnyTensor& output : halftone::detail::handles_of(result)) graph_output(output);
  recording.finish();
  return TypedGraph<Signature>(recording.graph());
}
template <class F, class R, class... P>
auto record_typed(const Ir& ir, F& f, std::type_identity<R(P...)>) {
  return record(ir, f, P{}...);
}
template <class F>
struct Callable : halftone::detail::CallableOf<F> {};
template <module M>
struct Callable<M> : halftone::detail::CallableOf<decltype(&M::build)> {};

/// The arguments of a call, one after the other.
template <class... A>
std::vector<Argument> positional(const A&... arguments) {
  std::vector<Argument> all;
  const auto add = [&]<class X>(const X& x) {
    if constexpr (std::is_constructible_v<Argument, const X&>) {
      all.push_back(Argument(x));
    } else {
      for (const AnyTensor& t : halftone::detail::handles_of(x)) all.push_back(t);
    }
  };
  (add(arguments), ...);
  return all;
}

}  // namespace detail

/// Records a callable as a graph. It runs once, and its tensors are inputs of the new graph: by the
/// types of its parameters, or by arguments, of which tensors, specs, structs, arrays and vectors of
/// them are templates (nothing is connected), in the order of the arguments; graph_input() in the body
/// adds more. Other arguments are handed on. What it returns are the outputs: nothing, a tensor, or
/// several.
///
/// errors  ValueError: an output that is of another graph, a variable in the body; RuntimeError: a
///         session has taken the Ir. The Ir is as before
template <class F, class... A>
auto Ir::create_graph(F&& f, const A&... arguments) const {
  using Plain = std::remove_cvref_t<F>;
  if constexpr (sizeof...(A) == 0 && !std::is_invocable_v<Plain&>) {
    using Signature = typename detail::Callable<Plain>::signature;
    return detail::record_typed(*this, f, std::type_identity<Signature>{});
  } else {
    return detail::record(*this, f, arguments...);
  }
}

namespace ops {

/// Records a call. `more`: inputs that are not among the arguments, by the called graph's tensors.
///
/// errors  ValueError: too many, missing or unknown inputs, one given twice, a tensor that is not in
///         the current graph; TypeError: a value that does not fit; ShapeError: another type or shape
template <class R, class... P>
CallSite<R(P...)> call_with_info(const TypedGraph<R(P...)>& graph, const InputsDict& more,
                                 const halftone::detail::given_for<P>&... arguments) {
  return CallSite<R(P...)>(
      popxl::detail::record_call(graph, popxl::detail::positional(arguments...), more, true));
}
template <class R, class... P>
CallSite<R(P...)> call_with_info(const TypedGraph<R(P...)>& graph,
                                 const halftone::detail::given_for<P>&... arguments) {
  return call_with_info(graph, InputsDict{}, arguments...);
}
template <class R, class... P>
R call(const TypedGraph<R(P...)>& graph, const InputsDict& more,
       const halftone::detail::given_for<P>&... arguments) {
  return call_with_info(graph, more, arguments...).out;
}
template <class R, class... P>
R call(const TypedGraph<R(P...)>& graph, const halftone::detail::given_for<P>&... arguments) {
  return call_with_info(graph, InputsDict{}, arguments...).out;
}
/// The same without types: call(graph, {x, 2.f}, {{w, v}}). check_inputs: whether all inputs have to be
/// given.
inline CallSiteInfo call_with_info(const Graph& graph, const std::vector<Argument>& arguments,
                                   const InputsDict& more = {}, bool check_inputs = true) {
  return popxl::detail::record_call(graph, arguments, more, check_inputs);
}
inline std::vector<AnyTensor> call(const Graph& graph, const std::vector<Argument>& arguments,
                                   const InputsDict& more = {}) {
  return call_with_info(graph, arguments, more).outputs();
}

/// Calls a graph `count` times: the results of a pass are the first inputs of the next one, the others
/// stay as they are. Without any pass the results are the first inputs.
///
/// errors  ValueError: a negative count, more results than inputs; others as call()
template <class R, class... P>
CallSite<R(P...)> repeat_with_info(const TypedGraph<R(P...)>& graph, std::int64_t count,
                                   const InputsDict& more,
                                   const halftone::detail::given_for<P>&... arguments) {
  static_assert(halftone::detail::goes_round<R, P...>() || sizeof...(P) == 0,
                "popxl: repeat() gives the results of a pass to the first inputs of the next one: "
                "their types have to be equal");
  return CallSite<R(P...)>(
      popxl::detail::record_repeat(graph, count, popxl::detail::positional(arguments...), more));
}
template <class R, class... P>
CallSite<R(P...)> repeat_with_info(const TypedGraph<R(P...)>& graph, std::int64_t count,
                                   const halftone::detail::given_for<P>&... arguments) {
  return repeat_with_info(graph, count, InputsDict{}, arguments...);
}
template <class R, class... P>
R repeat(const TypedGraph<R(P...)>& graph, std::int64_t count, const InputsDict& more,
         const halftone::detail::given_for<P>&... arguments) {
  return repeat_with_info(graph, count, more, arguments...).out;
}
template <class R, class... P>
R repeat(const TypedGraph<R(P...)>& graph, std::int64_t count,
         const halftone::detail::given_for<P>&... arguments) {
  return repeat_with_info(graph, count, InputsDict{}, arguments...).out;
}
inline CallSiteInfo repeat_with_info(const Graph& graph, std::int64_t count,
                                     const std::vector<Argument>& arguments,
                                     const InputsDict& more = {}) {
  return popxl::detail::record_repeat(graph, count, arguments, more);
}
inline std::vector<AnyTensor> repeat(const Graph& graph, std::int64_t count,
                                     const std::vector<Argument>& arguments,
                                     const InputsDict& more = {}) {
  return repeat_with_info(graph, count, arguments, more).outputs();
}

/// A graph for conditional(), and what it is called with.
template <class R>
struct Branch {
  Graph graph;
  std::vector<Argument> positional;
  InputsDict more;
};
template <class R, class... P>
Branch<R> then(const TypedGraph<R(P...)>& graph,
               const halftone::detail::given_for<P>&... arguments) {
  return {graph, popxl::detail::positional(arguments...), {}};
}
inline Branch<std::vector<AnyTensor>> then(const Graph& graph,
                                           const std::vector<Argument>& arguments,
                                           const InputsDict& more = {}) {
  return {graph, arguments, more};
}
template <class R, class... P>
Branch<R> otherwise(const TypedGraph<R(P...)>& graph,
                    const halftone::detail::given_for<P>&... arguments) {
  return then(graph, arguments...);
}
inline Branch<std::vector<AnyTensor>> otherwise(const Graph& graph,
                                                const std::vector<Argument>& arguments,
                                                const InputsDict& more = {}) {
  return then(graph, arguments, more);
}
/// Calls one of two graphs: conditional(c, then(inc, a), otherwise(dec, a)).
///
/// errors  ValueError: a condition that is not one bool, other results in the other branch;
///         NotImplementedError: inputs by reference; others as call()
template <class R>
ConditionalSiteInfo conditional_with_info(const AnyTensor& condition, const Branch<R>& yes,
                                          const Branch<R>& no) {
  return popxl::detail::record_conditional(condition, {yes.graph, yes.positional, yes.more},
                                           {no.graph, no.positional, no.more});
}
template <class R>
R conditional(const AnyTensor& condition, const Branch<R>& yes, const Branch<R>& no) {
  const CallSiteInfo site = conditional_with_info(condition, yes, no).then_branch;
  return halftone::detail::result_of<R>(site.parent().native(), site.node_number());
}

}  // namespace ops
}  // namespace popxl
