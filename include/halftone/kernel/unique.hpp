#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/element_type.hpp>
#include <halftone/kernel/sort.hpp>

namespace halftone::kernel {

/// The little-endian element at `at` by its place in the order of its type: zeros of both signs are
/// equal, NaN is above all. Also for what only knows its type at run time, unlike order_code.
inline std::uint64_t order_code_of(ElementType type, const std::byte* at) {
  const int size = size_in_bytes(type);
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, at, static_cast<std::size_t>(size));
  const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
  if (!is_signed(type)) return bits;
  if (!is_floating_point(type)) return bits ^ sign;
  const std::uint64_t infinity = type == ElementType::float16    ? 0x7c00
                                 : type == ElementType::bfloat16 ? 0x7f80
                                 : type == ElementType::float32  ? 0x7f80'0000
                                                                 : 0x7ff0'0000'0000'0000;
  const std::uint64_t magnitude = bits & (sign - 1);
  if (magnitude > infinity) return ~std::uint64_t{0};
  return (bits & sign) != 0 ? sign - magnitude : sign + magnitude;
}

/// The different ones among n slices: slice j is x[:, j, :] of x [outer, n, inner].
struct UniqueSlices {
  std::int64_t count = 0;
  std::int64_t* firsts = nullptr;   ///< [count] the first slice of each kind
  std::int64_t* counts = nullptr;   ///< [count] how many there are
  std::int64_t* inverse = nullptr;  ///< [n] which kind each slice is

  static constexpr std::int64_t workspace(std::int64_t n) {
    return n * std::int64_t(2 * sizeof(Coded) + 4 * sizeof(std::int64_t));
  }

  /// In ascending order, the first element counting most; or, not sorted, as they come.
  UniqueSlices(ElementType type, const std::byte* x, std::int64_t outer, std::int64_t n,
               std::int64_t inner, bool sorted, void* memory) {
    if (n == 0) return;
    auto* const items = static_cast<Coded*>(memory);
    firsts = reinterpret_cast<std::int64_t*>(items + 2 * n);
    counts = firsts + n;
    inverse = counts + n;
    std::int64_t* const numbers = inverse + n;
    const std::int64_t size = size_in_bytes(type), run = outer * inner;
    const auto code = [&](std::int64_t slice, std::int64_t e) {
      return order_code_of(type, x + ((e / inner * n + slice) * inner + e % inner) * size);
    };
    for (std::int64_t j = 0; j < n; ++j) items[j].index = j;
    // By the last element first: the sort keeps the order of equal ones.
    for (std::int64_t e = run; e-- > 0;) {
      for (std::int64_t j = 0; j < n; ++j) items[j].code = code(items[j].index, e);
      sort_codes(items, items + n, n);
    }
    for (std::int64_t j = 0; j < n; ++j) {
      bool is_new = j == 0;
      for (std::int64_t e = 0; e < run && !is_new; ++e) {
        is_new = code(items[j - 1].index, e) != code(items[j].index, e);
      }
      if (is_new) {
        firsts[count] = items[j].index;
        counts[count] = 0;
        ++count;
      }
      ++counts[count - 1];
      inverse[items[j].index] = count - 1;
    }
    if (sorted) return;
    // Renumbered by their first slices; the items' memory is free now.
    auto* const places = reinterpret_cast<std::int64_t*>(items);
    std::int64_t next = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      if (firsts[inverse[j]] == j) numbers[inverse[j]] = next++;
    }
    for (std::int64_t u = 0; u < count; ++u) {
      places[numbers[u]] = firsts[u];
      places[n + numbers[u]] = counts[u];
    }
    __builtin_memcpy(firsts, places, static_cast<std::size_t>(count) * sizeof(std::int64_t));
    __builtin_memcpy(counts, places + n, static_cast<std::size_t>(count) * sizeof(std::int64_t));
    for (std::int64_t j = 0; j < n; ++j) inverse[j] = numbers[inverse[j]];
  }
};

}  // namespace halftone::kernel
