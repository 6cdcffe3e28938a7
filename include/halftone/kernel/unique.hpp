#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/config.hpp>
#include <halftone/base/element_type.hpp>
#include <halftone/kernel/sort.hpp>

namespace halftone::kernel {

/// Little-endian elements by their places in the order of their type: zeros of both signs are equal,
/// NaN is above all. For what only knows its type at run time, unlike order_code.
struct OrderCodes {
  int size;
  bool is_unsigned, is_float;
  std::uint64_t sign, infinity = 0;

  explicit OrderCodes(ElementType type)
      : size(size_in_bytes(type)),
        is_unsigned(!is_signed(type)),
        is_float(is_floating_point(type)),
        sign(std::uint64_t{1} << (8 * size - 1)) {
    if (!is_float) return;
    infinity = type == ElementType::float16    ? 0x7c00
               : type == ElementType::bfloat16 ? 0x7f80
               : type == ElementType::float32  ? 0x7f80'0000
                                               : 0x7ff0'0000'0000'0000;
  }

  HALFTONE_INLINE std::uint64_t operator()(const std::byte* at) const {
    std::uint64_t bits = 0;
    // The numbers of bytes are constants, so that no function is called.
    if (size == 4) {
      __builtin_memcpy(&bits, at, 4);
    } else if (size == 8) {
      __builtin_memcpy(&bits, at, 8);
    } else if (size == 2) {
      __builtin_memcpy(&bits, at, 2);
    } else {
      __builtin_memcpy(&bits, at, 1);
    }
    if (is_unsigned) return bits;
    if (!is_float) return bits ^ sign;
    const std::uint64_t magnitude = bits & (sign - 1);
    if (magnitude > infinity) return ~std::uint64_t{0};
    return (bits & sign) != 0 ? sign - magnitude : sign + magnitude;
  }
};

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
    const OrderCodes codes(type);
    const std::int64_t size = codes.size, run = outer * inner;
    if (run == 1 && find_elements(codes, x, n, items)) {
      if (sorted) sort_elements(items, n, numbers);
      return;
    }
    const auto code = [&](std::int64_t slice, std::int64_t e) {
      return codes(x + ((e / inner * n + slice) * inner + e % inner) * size);
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
    renumber(numbers, n, places);
  }

 private:
  /// Finds the elements as they come, in a table of their codes. Fails if it takes too many steps,
  /// or if there are too many elements. Optimised even where other code is not, since it reads a
  /// whole tensor.
#ifndef __clang__
  [[gnu::optimize("O2")]]
#endif
  bool find_elements(const OrderCodes& codes, const std::byte* x, std::int64_t n, Coded* items) {
    if (n >= std::int64_t{1} << 31) return false;
    // The numbers of the elements, plus 1, are where their codes lead: at most half are taken.
    auto* const table = reinterpret_cast<std::uint32_t*>(items + n);
    int bits = 1;
    while ((std::int64_t{1} << bits) < 2 * n) ++bits;
    const std::uint64_t last = (std::uint64_t{1} << bits) - 1;
    __builtin_memset(table, 0, (last + 1) * sizeof(std::uint32_t));
    std::int64_t steps = 0, found = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const std::uint64_t code = codes(x + j * codes.size);
      std::uint64_t place = code * 0x9e37'79b9'7f4a'7c15 >> (64 - bits);
      while (table[place] != 0 && items[table[place] - 1].code != code) {
        place = (place + 1) & last;
        ++steps;
      }
      if (table[place] == 0) {
        items[found] = {code, found};
        firsts[found] = j;
        counts[found] = 0;
        table[place] = static_cast<std::uint32_t>(++found);
      }
      const std::int64_t number = table[place] - 1;
      ++counts[number];
      inverse[j] = number;
      if (steps > 16 * n) return false;
    }
    count = found;
    return true;
  }
  void sort_elements(Coded* items, std::int64_t n, std::int64_t* numbers) {
    sort_codes(items, items + n, count);
    for (std::int64_t u = 0; u < count; ++u) numbers[items[u].index] = u;
    renumber(numbers, n, reinterpret_cast<std::int64_t*>(items));
  }
  /// `places` has room for 2 n.
  void renumber(const std::int64_t* numbers, std::int64_t n, std::int64_t* places) {
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
