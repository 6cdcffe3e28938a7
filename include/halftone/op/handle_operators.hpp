#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_HANDLE_OPERATORS_HPP
#define HALFTONE_OP_HANDLE_OPERATORS_HPP

// x + y, x % 2, mask & other and the like for handles. Each records the node of an operator; like its
// function it is typed where the arguments are.

namespace halftone {

namespace detail {

// A handle is among the arguments X of the calls below, else they have no type: clang looks for one
// wherever the symbol stands between whatever two values.

/// A call of an operator.
template <class Op, class... X>
struct HandleCall {};
template <class Op, class... X>
  requires(tensor_handle<X> || ...)
struct HandleCall<Op, X...> : DefaultCall<Op, X...> {};

/// x % y, which has the sign of x, as in C++. Mod is op::Mod, which is not defined yet.
template <class Mod, class... X>
struct RemainderCall {};
template <class Mod, class... X>
  requires(tensor_handle<X> || ...)
struct RemainderCall<Mod, X...> : ConstantCall<Mod{.fmod = 1}, X...> {
  static constexpr auto remainder(const X&... x) { return apply<Mod{.fmod = 1}>(x...); }
};

template <class X>
inline constexpr bool is_bool_handle = false;
template <class S>
inline constexpr bool is_bool_handle<Tensor<bool, S>> = true;

constexpr bool holds_bool(const AnyTensor& x) { return x.info().type == ElementType::boolean; }
constexpr bool holds_bool(scalar auto) { return false; }

/// A call of the logical operator if a tensor among the arguments holds bool, else of the one that
/// works bit by bit.
template <class Logical, class Bitwise, class... X>
struct BitCall
    : HandleCall<std::conditional_t<(is_bool_handle<X> || ...), Logical, Bitwise>, X...> {
  static constexpr auto bits(const X&... x) {
    return OpFunction<std::conditional_t<(is_bool_handle<X> || ...), Logical, Bitwise>>{}(x...);
  }
};
template <class Logical, class Bitwise, class... X>
  requires(std::same_as<X, AnyTensor> || ...)
struct BitCall<Logical, Bitwise, X...> {
  using fit = AnyTensor;
  static constexpr AnyTensor bits(const X&... x) {
    return (holds_bool(x) || ...) ? OpFunction<Logical>{}(x...) : OpFunction<Bitwise>{}(x...);
  }
};

}  // namespace detail

// The last argument stands for the call of `a symbol b`.
#define HALFTONE_BINARY_OPERATOR(symbol, record, ...)                                   \
  template <tensor_handle A, class B>                                                   \
  constexpr typename detail::__VA_ARGS__::fit operator symbol(const A& a, const B& b) { \
    return record(a, b);                                                                \
  }                                                                                     \
  template <tensor_handle A, class B>                                                   \
  decltype(detail::__VA_ARGS__::misfit()) operator symbol(const A&, const B&);          \
  template <scalar A, tensor_handle B>                                                  \
  constexpr typename detail::__VA_ARGS__::fit operator symbol(const A& a, const B& b) { \
    return record(a, b);                                                                \
  }                                                                                     \
  template <scalar A, tensor_handle B>                                                  \
  decltype(detail::__VA_ARGS__::misfit()) operator symbol(const A&, const B&);
#define HALFTONE_UNARY_OPERATOR(symbol, record, ...)                        \
  template <tensor_handle A>                                                \
  constexpr typename detail::__VA_ARGS__::fit operator symbol(const A& a) { \
    return record(a);                                                       \
  }                                                                         \
  template <tensor_handle A>                                                \
  decltype(detail::__VA_ARGS__::misfit()) operator symbol(const A&);

HALFTONE_BINARY_OPERATOR(+, op::add, HandleCall<op::Add, A, B>)
HALFTONE_BINARY_OPERATOR(-, op::sub, HandleCall<op::Sub, A, B>)
HALFTONE_BINARY_OPERATOR(*, op::mul, HandleCall<op::Mul, A, B>)
HALFTONE_BINARY_OPERATOR(/, op::div, HandleCall<op::Div, A, B>)
HALFTONE_BINARY_OPERATOR(%, (detail::RemainderCall<op::Mod, A, B>::remainder),
                         RemainderCall<op::Mod, A, B>)
HALFTONE_BINARY_OPERATOR(&, (detail::BitCall<op::And, op::BitwiseAnd, A, B>::bits),
                         BitCall<op::And, op::BitwiseAnd, A, B>)
HALFTONE_BINARY_OPERATOR(|, (detail::BitCall<op::Or, op::BitwiseOr, A, B>::bits),
                         BitCall<op::Or, op::BitwiseOr, A, B>)
HALFTONE_UNARY_OPERATOR(-, op::neg, HandleCall<op::Neg, A>)
HALFTONE_UNARY_OPERATOR(~, (detail::BitCall<op::Not, op::BitwiseNot, A>::bits),
                        BitCall<op::Not, op::BitwiseNot, A>)
#undef HALFTONE_BINARY_OPERATOR
#undef HALFTONE_UNARY_OPERATOR

}  // namespace halftone

#endif
