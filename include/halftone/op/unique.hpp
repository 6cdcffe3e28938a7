#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_UNIQUE_HPP
#define HALFTONE_OP_UNIQUE_HPP

#include <concepts>
#include <type_traits>

#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/unique.hpp>

namespace halftone::op {

/// The different elements of a tensor, or different slices along a dimension.
///
/// x                any shape
/// axis             the dimension, from the end if negative; absent: x counts as one dense vector
/// sorted           1: in ascending order, of slices the first element counts most; 0: as they come
/// y                [count], or x's shape with count slices
/// indices          int64 [count]: where each of y is in x for the first time
/// inverse_indices  int64 [n]: where each element (slice) of x is in y
/// counts           int64 [count]: how often each is in x
/// limits           zeros of both signs are equal, and so are NaNs, which come last. While x is not
///                  known, neither is count
/// source           ai.onnx Unique-11
struct Unique {
  Optional<std::int64_t> axis{};
  std::int64_t sorted = 1;

  static constexpr OpId id{"ai.onnx", "Unique", 11, 28};
  static constexpr Signature signature = "x -> y indices:I? inverse_indices:I? counts:I?";
  using types = TypeList<Joined<NumericTypes, TypeList<bool>>, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("sorted", sorted);
  }
  /// A template, so that only the core compiles the search.
  constexpr Inferred infer(const std::same_as<Inputs> auto& in) const {
    const TensorInfo& x = in[0];
    const std::size_t at = axis ? normalized_axis(*axis, x.rank()) : 0;
    if (axis && at == x.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()), *axis);
    }
    const std::int64_t n = axis ? x.shape[at] : x.elements();
    std::int64_t count = dynamic;
    if (in.is_constant(0) && x.bytes() == static_cast<std::int64_t>(in.data(0).size()) &&
        !std::is_constant_evaluated()) {
      std::vector<std::int64_t> memory(
          static_cast<std::size_t>(kernel::UniqueSlices::workspace(n)) / sizeof(std::int64_t));
      const std::span<const std::int64_t> extents = x.shape.span();
      const std::int64_t outer = axis ? product(extents.first(at)) : 1;
      const std::int64_t inner = axis ? product(extents.subspan(at + 1)) : 1;
      count = kernel::UniqueSlices(x.type, in.data(0).data(), outer, n, inner, false, memory.data())
                  .count;
    }
    TensorInfo y{x.type, {count}};
    if (axis) {
      y.shape = x.shape;
      y.shape[at] = count;
    }
    const TensorInfo each{ElementType::int64, {count}};
    return {y, each, TensorInfo{ElementType::int64, {n}}, each};
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<T> y, View<I> indices, View<I> inverse,
              View<I> counts) const {
    const std::size_t at = axis ? normalized_axis(*axis, x.rank) : 0;
    const std::int64_t outer = axis ? x.size(0, at) : 1, n = axis ? x.extent(at) : x.size();
    const std::int64_t inner = axis ? x.size(at + 1, x.rank) : 1;
    const kernel::UniqueSlices found(element_type<T>, reinterpret_cast<const std::byte*>(x.data),
                                     outer, n, inner, sorted != 0, call.workspace);
    for (std::int64_t u = 0; u < found.count && outer * inner == 1; ++u) y[u] = x[found.firsts[u]];
    for (std::int64_t o = 0; o < outer && outer * inner != 1; ++o) {
      for (std::int64_t u = 0; u < found.count && inner != 0; ++u) {
        __builtin_memcpy(y.data + (o * found.count + u) * inner,
                         x.data + (o * n + found.firsts[u]) * inner,
                         static_cast<std::size_t>(inner) * sizeof(T));
      }
    }
    for (std::int64_t u = 0; u < found.count; ++u) {
      if (indices) indices[u] = found.firsts[u];
      if (counts) counts[u] = found.counts[u];
    }
    for (std::int64_t j = 0; j < n && inverse; ++j) inverse[j] = found.inverse[j];
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<T>, View<I>, View<I>,
                                  View<I>) const {
    const std::int64_t n = axis ? x.extent(normalized_axis(*axis, x.rank)) : x.size();
    return static_cast<std::size_t>(kernel::UniqueSlices::workspace(n));
  }
};

}  // namespace halftone::op

#endif
