#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/element_type.hpp>

namespace halftone::detail {

/// Whether files hold several elements of the type in one byte, as a stream of bits that begins
/// with the lowest of each byte (ONNX's TensorProto). In memory every element has a byte.
constexpr bool is_packed(ElementType type) { return size_in_bits(type) % 8 != 0; }

/// Bytes of that many elements in a file.
constexpr std::uint64_t packed_bytes(ElementType type, std::uint64_t elements) {
  const auto bits = static_cast<std::uint64_t>(size_in_bits(type));
  return elements / 8 * bits + (elements % 8 * bits + 7) / 8;
}

inline std::uint8_t packed_code(const std::byte* packed, std::uint64_t i, int bits) {
  const std::uint64_t at = i * static_cast<std::uint64_t>(bits);
  const auto shift = static_cast<int>(at % 8);
  unsigned code = std::to_integer<unsigned>(packed[at / 8]) >> shift;
  if (shift + bits > 8) code |= std::to_integer<unsigned>(packed[at / 8 + 1]) << (8 - shift);
  return static_cast<std::uint8_t>(code & ((1u << bits) - 1));
}

inline void unpack_elements(ElementType type, const std::byte* packed, std::byte* elements,
                            std::uint64_t count) {
  visit_type<NarrowTypes>(type, [&]<class T>() {
    const int bits = size_in_bits(type);
    for (std::uint64_t i = 0; i < count; ++i) {
      reinterpret_cast<T*>(elements)[i] = T::from_bits(packed_code(packed, i, bits));
    }
  });
}

/// `packed` is zeroed.
inline void pack_elements(ElementType type, const std::byte* elements, std::byte* packed,
                          std::uint64_t count) {
  visit_type<NarrowTypes>(type, [&]<class T>() {
    if constexpr (requires(T x) { x.bits(); }) {
      const int bits = size_in_bits(type);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t at = i * static_cast<std::uint64_t>(bits);
        const auto shift = static_cast<int>(at % 8);
        const unsigned code = reinterpret_cast<const T*>(elements)[i].bits();
        packed[at / 8] |= static_cast<std::byte>(code << shift);
        if (shift + bits > 8) packed[at / 8 + 1] |= static_cast<std::byte>(code >> (8 - shift));
      }
    }
  });
}

}  // namespace halftone::detail
