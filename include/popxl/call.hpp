#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

#include <halftone/call_argument.hpp>
#include <halftone/generic_function.hpp>
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
halftone::Named<X> kw(std::string_view name, const X& value) {
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
struct TypedGraph<R(P...)> : Graph {
  using result = R;
  explicit TypedGraph(const Graph& graph) : Graph(graph) {}
};

using Argument = halftone::CallArgument;
/// Further inputs of a call: the called graph's and what they are given.
using InputsDict = std::vector<std::pair<AnyTensor, Argument>>;

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
struct CallSite;
template <class R, class... P>
struct CallSite<R(P...)> : CallSiteInfo {
  explicit CallSite(const CallSiteInfo& info)
      : CallSiteInfo(info), out(halftone::detail::result_of<R>(parent().native(), node_number())) {}
  R out;
};

/// Two graphs of which one is called.
struct ConditionalSiteInfo {
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
  /// A new input of the graph.
  AnyTensor operator()(const TensorSpec& spec, std::string_view name, bool by_ref) const;
  Graph finish(std::span<const AnyTensor> outputs);

 private:
  Graph graph_;
  In entered_;
  bool is_finished_ = false;
};

CallSiteInfo record_call(const Graph& graph, std::span<const Argument> positional,
                         const InputsDict& more, bool check_inputs = true);
CallSiteInfo record_repeat(const Graph& graph, std::int64_t count,
                           std::span<const Argument> positional, const InputsDict& more);
/// A graph for conditional(), and what it is called with.
struct Branch {
  Graph graph;
  std::vector<Argument> positional;
  InputsDict more;
};
ConditionalSiteInfo record_conditional(const AnyTensor& condition, const Branch& yes,
                                       const Branch& no);
/// Whether the results of a graph may be its next first inputs.
template <class R, class... P>
inline constexpr bool fits_call = true;
template <class R, class... P>
inline constexpr bool fits_repeat = halftone::detail::goes_round<R, P...>();

template <class F>
concept module = std::derived_from<F, Module<F>>;
template <class F>
struct Callable : halftone::detail::CallableOf<F> {};
template <module M>
struct Callable<M> : halftone::detail::CallableOf<decltype(&M::build)> {};

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
    return [&]<class R, class... P>(std::type_identity<R(P...)>) {
      return create_graph(f, P{}...);
    }(std::type_identity<typename detail::Callable<Plain>::signature>{});
  } else {
    detail::Recording recording(*this, halftone::detail::type_word<Plain>());
    const auto result = halftone::detail::call_generic(recording, f, arguments...);
    return TypedGraph<halftone::detail::generic_signature<Plain, A...>>(
        recording.finish(halftone::detail::handles_of(result)));
  }
}

namespace ops {

// name(graph, arguments...) gives the results of a call, and name_with_info(graph, arguments...) tells about
// it; with {{input, argument}, ...} in front of the arguments for inputs that are not among them, by the
// called graph's tensors. Without types: name(graph, {arguments...}, {{input, argument}, ...}).
#define POPXL_CALLS(name, ...)                                                                   \
  template <class R, class... P>                                                                 \
  CallSite<R(P...)> name##_with_info(const TypedGraph<R(P...)>& graph,                           \
                                     __VA_OPT__(std::int64_t __VA_ARGS__, )                      \
                                         const InputsDict& more,                                 \
                                     const halftone::detail::given_for<P>&... arguments) {       \
    static_assert(popxl::detail::fits_##name<R, P...>,                                           \
                  "popxl: repeat() gives the results of a pass to the first inputs of the next " \
                  "one: their types have to be equal");                                          \
    return CallSite<R(P...)>(popxl::detail::record_##name(                                       \
        graph, __VA_OPT__(__VA_ARGS__, ) halftone::call_arguments(arguments...), more));         \
  }                                                                                              \
  template <class R, class... P>                                                                 \
  CallSite<R(P...)> name##_with_info(const TypedGraph<R(P...)>& graph,                           \
                                     __VA_OPT__(std::int64_t __VA_ARGS__, )                      \
                                         const halftone::detail::given_for<P>&... arguments) {   \
    return name##_with_info(graph, __VA_OPT__(__VA_ARGS__, ) InputsDict{}, arguments...);        \
  }                                                                                              \
  template <class R, class... P>                                                                 \
  R name(const TypedGraph<R(P...)>& graph,                                                       \
         __VA_OPT__(std::int64_t __VA_ARGS__, ) const InputsDict& more,                          \
         const halftone::detail::given_for<P>&... arguments) {                                   \
    return name##_with_info(graph, __VA_OPT__(__VA_ARGS__, ) more, arguments...).out;            \
  }                                                                                              \
  template <class R, class... P>                                                                 \
  R name(const TypedGraph<R(P...)>& graph,                                                       \
         __VA_OPT__(std::int64_t __VA_ARGS__, )                                                  \
             const halftone::detail::given_for<P>&... arguments) {                               \
    return name##_with_info(graph, __VA_OPT__(__VA_ARGS__, ) InputsDict{}, arguments...).out;    \
  }                                                                                              \
  template <class... Checked>                                                                    \
  CallSiteInfo name##_with_info(const Graph& graph,                                              \
                                __VA_OPT__(std::int64_t __VA_ARGS__, )                           \
                                    const std::vector<Argument>& arguments,                      \
                                const InputsDict& more = {}, Checked... check) {                 \
    return popxl::detail::record_##name(graph, __VA_OPT__(__VA_ARGS__, ) arguments, more,        \
                                        check...);                                               \
  }                                                                                              \
  inline std::vector<AnyTensor> name(const Graph& graph,                                         \
                                     __VA_OPT__(std::int64_t __VA_ARGS__, )                      \
                                         const std::vector<Argument>& arguments,                 \
                                     const InputsDict& more = {}) {                              \
    return name##_with_info(graph, __VA_OPT__(__VA_ARGS__, ) arguments, more).outputs();         \
  }
/// Calls a graph. The untyped call_with_info takes whether all inputs have to be given.
///
/// errors  ValueError: too many, missing or unknown inputs, one given twice, a tensor that is not in
///         the current graph; TypeError: a value that does not fit; ShapeError: another type or shape
POPXL_CALLS(call)
/// Calls a graph `count` times: repeat(graph, count, arguments...). The results of a pass are the first
/// inputs of the next one, the others stay as they are. Without any pass the results are the first
/// inputs.
///
/// errors  ValueError: a negative count, more results than inputs; others as call()
POPXL_CALLS(repeat, count)
#undef POPXL_CALLS

template <class R>
struct Branch : popxl::detail::Branch {};
// then(graph, arguments...) and otherwise(graph, arguments...), for conditional().
#define POPXL_BRANCH(name)                                                                       \
  template <class R, class... P>                                                                 \
  Branch<R> name(const TypedGraph<R(P...)>& graph,                                               \
                 const halftone::detail::given_for<P>&... arguments) {                           \
    return {{graph, halftone::call_arguments(arguments...), {}}};                                \
  }                                                                                              \
  inline Branch<std::vector<AnyTensor>> name(                                                    \
      const Graph& graph, const std::vector<Argument>& arguments, const InputsDict& more = {}) { \
    return {{graph, arguments, more}};                                                           \
  }
POPXL_BRANCH(then)
POPXL_BRANCH(otherwise)
#undef POPXL_BRANCH
/// Calls one of two graphs: conditional(c, then(inc, a), otherwise(dec, a)).
///
/// errors  ValueError: a condition that is not one bool, other results in the other branch;
///         NotImplementedError: inputs by reference; others as call()
template <class R>
ConditionalSiteInfo conditional_with_info(const AnyTensor& condition, const Branch<R>& yes,
                                          const Branch<R>& no) {
  return popxl::detail::record_conditional(condition, yes, no);
}
template <class R>
R conditional(const AnyTensor& condition, const Branch<R>& yes, const Branch<R>& no) {
  const CallSiteInfo site = conditional_with_info(condition, yes, no).then_branch;
  return halftone::detail::result_of<R>(site.parent().native(), site.node_number());
}

}  // namespace ops
}  // namespace popxl
