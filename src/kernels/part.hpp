// The kernels of some of the library's operators: those whose number in op/list.hpp is
// HALFTONE_PART modulo the number of parts. Compiled for each instruction set (HALFTONE_ISA), and in
// once/ those that gain nothing from a newer one (`Op::compiled_once`); the root namespace is
// renamed on the command line so that the copies do not clash.
#pragma once

#include "base/library_numbers.hpp"

#include "shared.hpp"

namespace halftone {
namespace {

#ifdef HALFTONE_ONCE
constexpr bool is_once = true;
#else
constexpr bool is_once = false;
#endif
constexpr int part_count = is_once ? detail::once_part_count : detail::kernel_part_count;

template <class Op>
Kernel find_kernel(std::span<const ElementType> types) {
  if constexpr (detail::elementwise_op<Op>) {
    return detail::select_kernel<Op, kernel::VectorMaker>(types);
  } else if constexpr (detail::kernel_op<Op>) {
    return detail::select_kernel<Op, detail::ScalarMaker>(types);
  } else {
    return {};
  }
}

template <class... Op>
Kernel find_kernel(Registry<Op...>, int wanted, std::span<const ElementType> types) {
  Kernel kernel;
  // In an array: clang nests a fold expression at most 256 deep.
  [[maybe_unused]] const int tried[]{[&] {
    constexpr int number = detail::library_number<Op>;
    if constexpr (number % part_count == HALFTONE_PART) {
      if constexpr (detail::compiled_once_op<Op> == is_once) {
        if (number == wanted) kernel = find_kernel<Op>(types);
      }
    }
    return 0;
  }()...};
  return kernel;
}

}  // namespace
}  // namespace halftone

#define HALFTONE_JOIN(a, b, c, d) a##b##c##d
#define HALFTONE_SYMBOL(isa, part) HALFTONE_JOIN(halftone_kernel_, isa, _, part)

/// Fills a Kernel, which has the same layout in every copy of the namespace.
extern "C" __attribute__((visibility("hidden"))) void HALFTONE_SYMBOL(HALFTONE_ISA, HALFTONE_PART)(
    int number, const void* types, std::size_t count, void* kernel) {
  *static_cast<halftone::Kernel*>(kernel) = halftone::find_kernel(
      halftone::builtin{}, number, {static_cast<const halftone::ElementType*>(types), count});
}
