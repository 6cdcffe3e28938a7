#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/base/config.hpp>
#include <halftone/base/element_type.hpp>

namespace halftone::kernel {

namespace detail {

/// The little-endian numbers that have a bit of `mask`. Optimised even where other code is not,
/// since it reads a whole tensor.
template <class Bits>
#ifndef __clang__
[[gnu::optimize("O3")]]
#endif
inline std::int64_t count_with(const std::byte* x, std::int64_t n, Bits mask) {
  std::int64_t count = 0;
  for (std::int64_t first = 0; first < n; first += 128) {
    // Sums of as many bits as a number has are made of vectors.
    Bits some = 0;
    const std::int64_t end = n - first < 128 ? n : first + 128;
    for (std::int64_t i = first; i < end; ++i) {
      Bits bits;
      __builtin_memcpy(&bits, x + i * std::int64_t(sizeof(Bits)), sizeof(Bits));
      some = static_cast<Bits>(some + ((bits & mask) != 0));
    }
    count += static_cast<std::int64_t>(some);
  }
  return count;
}

}  // namespace detail

/// Whether x is not zero; NaN is not. Bits are compared sooner than numbers, of which NaN is a case.
template <class T>
HALFTONE_INLINE bool is_nonzero(const T& x) {
  if constexpr (std::is_integral_v<T>) {
    return x != 0;
  } else {
    using Short = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>;
    std::conditional_t<sizeof(T) == 8, std::uint64_t, Short> bits;
    static_assert(sizeof(bits) == sizeof(T));
    __builtin_memcpy(&bits, static_cast<const void*>(&x), sizeof(T));
    return (bits & (static_cast<decltype(bits)>(~decltype(bits){0}) >> 1)) != 0;
  }
}

/// How many of n elements are not zero; minus zero is a zero.
inline std::int64_t count_nonzero(ElementType type, const std::byte* x, std::int64_t n) {
  const bool is_float = is_floating_point(type);
  switch (size_in_bytes(type)) {
    case 1:
      return detail::count_with<std::uint8_t>(x, n, is_float ? 0x7f : 0xff);
    case 2:
      return detail::count_with<std::uint16_t>(x, n, is_float ? 0x7fff : 0xffff);
    case 4:
      return detail::count_with<std::uint32_t>(x, n, is_float ? 0x7fffffff : 0xffffffff);
    default:
      return detail::count_with<std::uint64_t>(x, n, ~std::uint64_t{0} >> (is_float ? 1 : 0));
  }
}

}  // namespace halftone::kernel
