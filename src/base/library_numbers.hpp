#pragma once

#include <halftone/op/list.hpp>

/// The library's operators by number: what the core finds their kernels with. Public headers have
/// no numbers, since hundreds of them would cost every program compile time.
namespace halftone::detail {

#define HALFTONE_NUMBER(Struct, function) Struct,
#define HALFTONE_NUMBER_OLD(Struct) Struct,
enum class LibraryNumber : int { HALFTONE_OPERATORS(HALFTONE_NUMBER, HALFTONE_NUMBER_OLD) };
#undef HALFTONE_NUMBER
#undef HALFTONE_NUMBER_OLD

template <class Op>
inline constexpr int library_number = -1;
#define HALFTONE_INDEX(Struct, function) \
  template <>                            \
  inline constexpr int library_number<op::Struct> = static_cast<int>(LibraryNumber::Struct);
#define HALFTONE_INDEX_OLD(Struct) HALFTONE_INDEX(Struct, )
HALFTONE_OPERATORS(HALFTONE_INDEX, HALFTONE_INDEX_OLD)
#undef HALFTONE_INDEX
#undef HALFTONE_INDEX_OLD

/// How many files the kernels of an instruction set are divided into, and those that are compiled once.
inline constexpr int kernel_part_count = 8, once_part_count = 4;

}  // namespace halftone::detail
