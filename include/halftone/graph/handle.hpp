#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <halftone/base/shape.hpp>
#include <halftone/graph/graph.hpp>

namespace halftone {

namespace detail {
// Defined in op/handle_parts.hpp.
template <class X>
struct Transposed;
template <class X, class Index>
struct IndexedBy;
}  // namespace detail

/// A tensor of a graph whose type and shape are known at run time only. Dies when its graph moves;
/// its id and name stay good.
struct AnyTensor {
  Graph* graph = nullptr;
  TensorId id = no_tensor;

  /// What the graph knows of it. A copy: the graph moves its own when an operator is recorded.
  constexpr TensorInfo info() const { return graph->info(id); }
  constexpr std::string_view name() const { return graph->name(id); }
  /// Whether it stands for an optional tensor that was not given.
  constexpr bool is_absent() const { return id == no_tensor; }
  /// Whether they are handles of one tensor; op::equal compares elements.
  friend constexpr bool operator==(const AnyTensor&, const AnyTensor&) = default;
  /// The typed handle; throws ShapeError if element type or an extent differ. Extents that the
  /// graph does not know yet pass.
  template <class Handle>
  constexpr Handle as() const;

  /// The tensor with its dimensions in reverse order.
  template <class X = AnyTensor>
  constexpr typename detail::Transposed<X>::fit transposed() const;
  /// Parts along the first axis: x[-1], the last row, without the axis; x[slice<1, 3>] and
  /// x[Section{1, n}]; x[rows], where `rows` is a tensor of row numbers (op::gather); x[mask], where
  /// a tensor of bool leaves elements as they are or makes zeros of them.
  template <class Index>
  constexpr typename detail::IndexedBy<AnyTensor, Index>::fit operator[](const Index& index) const;
  template <class Index>
  decltype(detail::IndexedBy<AnyTensor, Index>::misfit()) operator[](const Index& index) const;
};

/// A tensor of a graph whose element type and shape the compiler knows; single extents may be
/// `dynamic`.
template <class T, class S>
struct Tensor {
  using element_type = T;
  using shape_type = S;
  static constexpr TensorInfo static_info{halftone::element_type<T>, S::dims};

  Graph* graph = nullptr;
  TensorId id = no_tensor;

  constexpr TensorInfo info() const { return graph->info(id); }
  constexpr std::string_view name() const { return graph->name(id); }
  constexpr operator AnyTensor() const { return {graph, id}; }
  friend constexpr bool operator==(const Tensor&, const Tensor&) = default;

  /// As those of AnyTensor, and typed where the index is.
  template <class X = Tensor>
  constexpr typename detail::Transposed<X>::fit transposed() const;
  template <class Index, class X = Tensor>
  constexpr typename detail::IndexedBy<X, Index>::fit operator[](const Index& index) const;
  template <class Index, class X = Tensor>
  decltype(detail::IndexedBy<X, Index>::misfit()) operator[](const Index& index) const;
};

/// A list of integers as an argument of an operator: a constant int64 tensor with these values, known
/// to the compiler. Unlike a Shape's they may be any: op::slice(x, Integers<-3>{}, Integers<-1>{}).
template <std::int64_t... Values>
struct Integers {};

/// Stands for an optional input that is left out: op::conv(x, w, none, residual).
struct None {};
inline constexpr None none;

namespace detail {
/// AnyTensor, known only when a template is used: compilers leave what is done with it until then.
template <std::same_as<Graph> G>
using HandleIn = std::conditional_t<std::is_same_v<G, Graph>, AnyTensor, None>;

template <class X>
inline constexpr bool is_typed = false;
template <class T, class S>
inline constexpr bool is_typed<Tensor<T, S>> = true;
template <class X>
inline constexpr bool is_integers = false;
template <std::int64_t... D>
inline constexpr bool is_integers<Shape<D...>> = true;
template <std::int64_t... V>
inline constexpr bool is_integers<Integers<V...>> = true;
}  // namespace detail

/// Tensor<T, Shape<...>>.
template <class X>
concept typed_handle = detail::is_typed<std::remove_cvref_t<X>>;
/// Tensor<T, Shape<...>> or AnyTensor.
template <class X>
concept tensor_handle = typed_handle<X> || std::same_as<std::remove_cvref_t<X>, AnyTensor>;
/// A number; it becomes a constant of the other inputs' element type.
template <class X>
concept scalar =
    std::is_arithmetic_v<std::remove_cvref_t<X>> || halftone::element<std::remove_cvref_t<X>>;

template <class Handle>
constexpr Handle AnyTensor::as() const {
  static_assert(typed_handle<Handle>, "halftone: as<> wants a Tensor<T, Shape<...>>");
  const TensorInfo have = info();
  constexpr TensorInfo want = Handle::static_info;
  if (have.is_known()) {
    if (have.type != want.type) {
      fail(ErrorKind::model, {.what = "tensor has another element type than its typed handle",
                              .tensor = name(),
                              .expected = halftone::name(want.type),
                              .found = halftone::name(have.type)});
    }
    if (have.rank() != want.rank()) {
      throw_extent("tensor has another rank than its typed handle", name(), -1,
                   static_cast<std::int64_t>(want.rank()), static_cast<std::int64_t>(have.rank()));
    }
    for (std::size_t i = 0; i < want.rank(); ++i) {
      if (contradict(want.shape[i], have.shape[i])) {
        throw_extent("tensor has another extent than its typed handle", name(),
                     static_cast<std::int64_t>(i), want.shape[i], have.shape[i]);
      }
    }
  }
  return {graph, id};
}

}  // namespace halftone
