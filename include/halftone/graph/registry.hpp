#pragma once

#include <array>
#include <span>

#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>

#include <halftone/graph/operator.hpp>

namespace halftone {

/// Operators that the importer and the program know, in no particular order.
using OperatorTable = std::span<const Descriptor* const>;

/// A list of operators known to the compiler. An extension extends the library's list:
///   using ops = halftone::builtin::with<Cube, Scale>;
/// and hands `ops::table` to the importer, `ops` itself to static programs.
template <class... Op>
struct Registry {
  static constexpr auto types = boost::hana::tuple_t<Op...>;
  static constexpr std::array<const Descriptor*, sizeof...(Op)> table{&descriptor<Op>...};
  template <class... More>
  using with = Registry<Op..., More...>;
};

}  // namespace halftone
