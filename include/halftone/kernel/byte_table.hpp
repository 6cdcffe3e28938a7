#pragma once

#include <cstdint>

#include <halftone/base/view.hpp>
#include <halftone/kernel/byte_planes.hpp>
#include <halftone/kernel/executor.hpp>

namespace halftone::kernel {

namespace detail {

#if HALFTONE_AVX512
/// Four permutations of 64 bytes are a table of 256; the upper bits of an index choose between them.
HALFTONE_VBMI inline void look_up_lines(const std::uint8_t* x, const std::uint8_t* table,
                                        std::uint8_t* y, std::int64_t lines) {
  ByteLine part[4];
  __builtin_memcpy(part, table, sizeof part);
  for (std::int64_t i = 0; i < lines; ++i) {
    ByteLine index;
    __builtin_memcpy(&index, x + i * 64, sizeof index);
    ByteLine found[4];
    for (int k = 0; k < 4; ++k) found[k] = (ByteLine)permute_bytes(part[k], index);
    const auto second = (index & 64) != 0, upper = index < 0;
    const ByteLine low = second ? found[1] : found[0], high = second ? found[3] : found[2];
    const ByteLine chosen = upper ? high : low;
    __builtin_memcpy(y + i * 64, &chosen, sizeof chosen);
  }
}
#endif

}  // namespace detail

/// op::ByteTable: y[i] = table[x[i]]; y may be x.
template <class X, class Y>
void look_up_bytes(const Executor& executor, View<const X> x, View<const Y> table, View<Y> y) {
  constexpr std::int64_t task = 1 << 15;
  const std::int64_t n = y.size();
  const auto* const from = reinterpret_cast<const std::uint8_t*>(x.data);
  const auto* const values = reinterpret_cast<const std::uint8_t*>(table.data);
  auto* const to = reinterpret_cast<std::uint8_t*>(y.data);
  parallel_for(executor, (n + task - 1) / task, [&](std::int64_t t) {
    std::int64_t i = t * task;
    const std::int64_t end = n - i < task ? n : i + task;
#if HALFTONE_AVX512
    if (detail::permutes_bytes()) {
      detail::look_up_lines(from + i, values, to + i, (end - i) / 64);
      i += (end - i) / 64 * 64;
    }
#endif
    for (; i < end; ++i) to[i] = values[from[i]];
  });
}

}  // namespace halftone::kernel
