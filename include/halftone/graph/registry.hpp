#pragma once

#include <array>
#include <span>

#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>

#include <halftone/graph/operator.hpp>

namespace halftone {

namespace detail {

/// The descriptor of an operator of the library, from the core: to name `descriptor<Op>` would have
/// the compiler make each of them again.
template <class Op>
const Descriptor* library_descriptor();

template <class Op>
const Descriptor* registered() {
  if constexpr (library_op<Op>) {
    return library_descriptor<Op>();
  } else {
    return &descriptor<Op>;
  }
}

}  // namespace detail

/// Operators that the importer and the program know, in no particular order.
using OperatorTable = std::span<const Descriptor* const>;

/// A list of operators known to the compiler. An extension extends the library's list:
///   using ops = halftone::builtin::with<Cube, Scale>;
/// and hands `ops::table` to the importer, `ops` itself to static programs.
template <class... Op>
struct Registry {
  static constexpr auto types = boost::hana::tuple_t<Op...>;
  static inline const std::array<const Descriptor*, sizeof...(Op)> table{
      detail::registered<Op>()...};
  template <class... More>
  using with = Registry<Op..., More...>;
};

}  // namespace halftone
