#pragma once

#include <halftone/function.hpp>

/// Functions of callables whose parameters have no types of their own: arguments say what they are.
///
///   auto sum = function([](auto a, auto b, int n) { return (a + b) * n; }, F<2>{}, F<2>{}, 2);
///   auto y = call(sum, x, x);  // sum is a Function<F<2>(F<2>, F<2>)>
///
/// Arguments that are tensors, infos of tensors, structs, arrays and vectors of these, or by_ref, are
/// templates of inputs, to which nothing is connected; others are handed on. A name for an input:
/// named("W", x).
///
/// source  popxl.Ir.create_graph
namespace halftone {

/// An argument whose inputs get a name.
template <class X>
struct Named {
  std::string_view name;
  X value;
};
template <class X>
constexpr Named<X> named(std::string_view name, const X& value) {
  return {name, value};
}

namespace detail {

template <class A>
inline constexpr bool is_named = false;
template <class X>
inline constexpr bool is_named<Named<X>> = true;
/// What stands for one input, and what stands for a list of them.
template <class A>
concept input_like = tensor_handle<A> || std::is_same_v<A, TensorInfo>;
template <class A>
concept input_list = requires(const A& a) {
  requires input_like<std::remove_cvref_t<decltype(*a.begin())>>;
  a.size();
};
/// Whether an argument stands for inputs. Others are handed on.
template <class A>
concept input_argument =
    input_like<A> || input_list<A> || tensor_struct<A> || is_by_ref<A> || is_named<A>;

/// What a callable gets of an argument.
template <class A>
struct ParameterOf {
  using type = A;
};
template <>
struct ParameterOf<TensorInfo> {
  using type = AnyTensor;
};
template <>
struct ParameterOf<std::vector<TensorInfo>> {
  using type = std::vector<AnyTensor>;
};
template <class X>
struct ParameterOf<Named<X>> : ParameterOf<X> {};
template <class A>
using parameter_of = typename ParameterOf<A>::type;

/// What a callable returns for arguments; nothing is std::tuple<>.
template <class F, class... A>
struct GenericResult {
  static_assert(std::is_invocable_v<F&, parameter_of<A>...>,
                "halftone: a callable gets other arguments than it takes");
  using returned = std::invoke_result_t<F&, parameter_of<A>...>;
  using type = std::conditional_t<std::is_void_v<returned>, std::tuple<>, returned>;
};

/// R(P...) with those of A... that stand for inputs.
template <class R, class Kept, class... A>
struct InputSignature;
template <class R, class... K>
struct InputSignature<R, std::tuple<K...>> {
  using type = R(K...);
};
template <class R, class... K, class A, class... Rest>
struct InputSignature<R, std::tuple<K...>, A, Rest...>
    : InputSignature<R,
                     std::conditional_t<input_argument<A>, std::tuple<K..., parameter_of<A>>,
                                        std::tuple<K...>>,
                     Rest...> {};
template <class F, class... A>
using generic_signature =
    typename InputSignature<typename GenericResult<F, A...>::type, std::tuple<>, A...>::type;

template <input_like A>
constexpr TensorInfo input_info_of(const A& a) {
  if constexpr (typed_handle<A>) {
    return A::static_info;
  } else if constexpr (std::is_same_v<A, TensorInfo>) {
    return a;
  } else {
    return a.info();
  }
}

/// Makes inputs of an argument by add(info, name, whether it is by_ref).
template <class Add, class A>
constexpr parameter_of<A> make_parameter(Add& add, const A& a, std::string_view name = {}) {
  if constexpr (is_named<A>) {
    return make_parameter(add, a.value, a.name);
  } else if constexpr (std::is_same_v<A, TensorInfo>) {
    return add(a, name, false);
  } else if constexpr (std::is_same_v<A, std::vector<TensorInfo>>) {
    std::vector<AnyTensor> all;
    for (const TensorInfo& info : a) {
      const std::vector<char> item = item_name({name.data(), name.size()}, all.size());
      all.push_back(add(info, std::string_view(item.data(), item.size()), false));
    }
    return all;
  } else if constexpr (input_argument<A>) {
    A parameter = a;
    for_handles(
        parameter,
        [&]<class H>(std::string_view part, H& h, bool is_ref) {
          const AnyTensor input = add(input_info_of(h), part, is_ref);
          h = {input.graph, input.id};
        },
        std::span(name.data(), name.size()));
    return parameter;
  } else {
    return a;
  }
}

/// Calls a callable with the inputs that its arguments stand for.
template <class Add, class F, class... A>
constexpr typename GenericResult<F, A...>::type call_generic(Add& add, F& f,
                                                             const A&... arguments) {
  // In braces, so that inputs come in the order of the parameters.
  std::tuple<parameter_of<A>...> parameters{make_parameter(add, arguments)...};
  if constexpr (std::is_void_v<typename GenericResult<F, A...>::returned>) {
    std::apply(f, std::move(parameters));
    return {};
  } else {
    return std::apply(f, std::move(parameters));
  }
}

/// The last word of a type's name; "lambda" and "graph" for types without one.
template <class F>
constexpr std::string_view type_word() {
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

}  // namespace detail

/// Records a callable with arguments as templates of its inputs.
///
/// errors  as function()
template <class F, class First, class... A>
  requires(!std::is_same_v<F, Graph> && !std::is_convertible_v<First, std::span<const TensorInfo>>)
constexpr auto function(const F& callable, const First& first, const A&... arguments) {
  Function<detail::generic_signature<const F, First, A...>> f;
  const auto add = [&](const TensorInfo& info, std::string_view name, bool is_ref) {
    f.modified.push_back(is_ref);
    return AnyTensor{&f.body, f.body.add_input(info, name)};
  };
  for (const AnyTensor& t :
       detail::handles_of(detail::call_generic(add, callable, first, arguments...))) {
    Graph* graph = &f.body;
    detail::join(graph, t.graph);
    f.body.add_output(t.id);
  }
  detail::find_modified(f);
  return f;
}

}  // namespace halftone
