#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_HANDLE_PARTS_HPP
#define HALFTONE_OP_HANDLE_PARTS_HPP

// x.transposed() and x[index] of handles.

namespace halftone {

/// The rows start, start + step, ... before stop of a tensor, along its first axis: x[Section{1, n}].
/// Negative numbers count from the end, what is outside is clamped; see op::Slice.
struct Section {
  std::int64_t start = 0, stop = INT64_MAX, step = 1;
};
/// A section whose numbers the compiler knows, so that it knows the shape of the part as well.
template <std::int64_t Start, std::int64_t Stop, std::int64_t Step>
struct ConstantSection {};
/// x[slice<1, 3>] is rows 1 and 2, x[slice<-2>] the last two.
template <std::int64_t Start, std::int64_t Stop = INT64_MAX, std::int64_t Step = 1>
inline constexpr ConstantSection<Start, Stop, Step> slice{};

namespace detail {

template <class X>
struct Transposed : DefaultCall<op::Transpose, X> {};

/// x[index]: the rows that it names.
template <class X, class Index>
struct IndexedBy : WrongCall<op::Gather> {};

/// One row, from the end if the number is negative.
template <class X, std::integral Index>
  requires(!std::same_as<Index, bool>)
struct IndexedBy<X, Index> : DefaultCall<op::Gather, X, Tensor<std::int64_t, Shape<>>> {
  static constexpr auto part(const X& x, Index index) {
    const TensorInfo info = x.info();
    const auto row = static_cast<std::int64_t>(index);
    if (info.rank() > 0 && info.shape[0] != dynamic &&
        (row >= info.shape[0] || row < -info.shape[0])) {
      throw_extent("an index is out of range", x.name(), 0, info.shape[0], row);
    }
    const Argument number = argument(row);
    const TensorId id =
        x.graph->add_constant({ElementType::int64, {}}, number_bytes(ElementType::int64, number));
    return OpFunction<op::Gather>{}(x, Tensor<std::int64_t, Shape<>>{x.graph, id});
  }
};
template <class X, std::int64_t Start, std::int64_t Stop, std::int64_t Step>
struct IndexedBy<X, ConstantSection<Start, Stop, Step>>
    : DefaultCall<op::Slice, X, Integers<Start>, Integers<Stop>, Integers<0>, Integers<Step>> {
  static constexpr auto part(const X& x, ConstantSection<Start, Stop, Step>) {
    return OpFunction<op::Slice>{}(x, Integers<Start>{}, Integers<Stop>{}, Integers<0>{},
                                   Integers<Step>{});
  }
};
template <class X>
struct IndexedBy<X, Section> {
  using fit = AnyTensor;
  static constexpr AnyTensor part(const AnyTensor& x, const Section& rows) {
    const auto list = [&](std::int64_t value) { return constant(*x.graph, Dims{value}); };
    return OpFunction<op::Slice>{}(x, list(rows.start), list(rows.stop), list(0), list(rows.step));
  }
};
/// Rows by their numbers, or elements by a mask: zeros where it is false.
template <class X, tensor_handle Index>
struct IndexedBy<X, Index> : DefaultCall<op::Gather, X, Index> {
  static constexpr auto part(const X& x, const Index& rows) {
    return OpFunction<op::Gather>{}(x, rows);
  }
};
template <class X, class S>
struct IndexedBy<X, Tensor<bool, S>> : DefaultCall<op::Where, Tensor<bool, S>, X, int> {
  static constexpr auto part(const X& x, const Tensor<bool, S>& mask) {
    return OpFunction<op::Where>{}(mask, x, 0);
  }
};
template <class X>
struct IndexedBy<X, AnyTensor> {
  using fit = AnyTensor;
  static constexpr AnyTensor part(const AnyTensor& x, const AnyTensor& index) {
    return holds_bool(index) ? OpFunction<op::Where>{}(index, x, 0)
                             : OpFunction<op::Gather>{}(x, index);
  }
};

}  // namespace detail

template <class X>
constexpr typename detail::Transposed<X>::fit AnyTensor::transposed() const {
  return op::transpose(*this);
}
template <class Index>
constexpr typename detail::IndexedBy<AnyTensor, Index>::fit AnyTensor::operator[](
    const Index& index) const {
  return detail::IndexedBy<AnyTensor, Index>::part(*this, index);
}

template <class T, class S>
template <class X>
constexpr typename detail::Transposed<X>::fit Tensor<T, S>::transposed() const {
  return op::transpose(*this);
}
template <class T, class S>
template <class Index, class X>
constexpr typename detail::IndexedBy<X, Index>::fit Tensor<T, S>::operator[](
    const Index& index) const {
  return detail::IndexedBy<X, Index>::part(*this, index);
}

}  // namespace halftone

#endif
