#pragma once

#include <halftone/kernel/gemm_bytes.hpp>
#include <halftone/kernel/gemm_pack.hpp>

#include "measure.hpp"

/// Peaks of products of less than 32 bits on registers.
namespace bench {

namespace detail = halftone::kernel::detail;

#if HALFTONE_AMX
/// Rate of one run of products in AMX's registers, in GFLOP/s or GOP/s.
template <detail::AmxStep step>
double amx_rate() {
  constexpr std::int64_t rounds = 10000, terms = step == detail::AmxStep::pair ? 2 : 4;
  detail::AmxRegisters registers(detail::amx_steps);
  registers.shape(detail::amx_rows, detail::amx_rows);
  registers.clear();
  const double begin = now();
  for (std::int64_t r = 0; r < rounds; ++r) {
    if constexpr (step == detail::AmxStep::pair) {
      asm volatile(
          "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\ttdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
          "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\ttdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::
              : "memory");
    } else {
      asm volatile(
          "tdpbusd %%tmm6, %%tmm4, %%tmm0\n\ttdpbusd %%tmm7, %%tmm4, %%tmm1\n\t"
          "tdpbusd %%tmm6, %%tmm5, %%tmm2\n\ttdpbusd %%tmm7, %%tmm5, %%tmm3" ::
              : "memory");
    }
  }
  const double seconds = now() - begin;
  return 1e-9 * 2 * terms * 4 * 16 * 16 * 16 * double(rounds) / seconds;
}
#endif

#if HALFTONE_AVX512
/// Rate of one run of products of pairs on registers, in GFLOP/s.
HALFTONE_BF16 inline double pair_rate() {
  constexpr int chains = 24;
  constexpr std::int64_t rounds = 20000;
  static volatile std::uint32_t source = 0x3f003f00;
  const Vec<std::uint32_t> pair = std::uint32_t(source);
  Vec<float> x[chains];
#pragma GCC unroll 24
  for (int i = 0; i < chains; ++i) x[i] = float(i);
  const double begin = now();
#pragma GCC unroll 1
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < chains; ++i) x[i] = detail::add_pairs(x[i], pair, pair);
  }
  const double seconds = now() - begin;
  Vec<float> sum = x[0];
#pragma GCC unroll 24
  for (int i = 1; i < chains; ++i) sum += x[i];
  source = sum[0] > 1e30f ? 0x3f003f01 : 0x3f003f00;
  return 64e-9 * double(rounds) * chains / seconds;
}
#endif

inline double pair_peak() {
#if HALFTONE_AVX512
#if HALFTONE_AMX
  if (detail::multiplies_in_amx()) return amx_rate<detail::AmxStep::pair>();
#endif
  if (detail::multiplies_pairs()) return pair_rate();
#endif
  return fma_rate<float>();
}

#ifdef HALFTONE_VNNI
/// Rate of one run of the instruction on registers, in GOP/s.
HALFTONE_VNNI inline double byte_rate() {
  constexpr int chains = 24;
  constexpr std::int64_t rounds = 20000;
  using Lanes = detail::ByteWords;
  static volatile std::uint32_t source = 0x01020304;
  const Lanes a = Lanes{} + source, b = Lanes{} + source;
  Lanes x[chains];
#pragma GCC unroll 24
  for (int i = 0; i < chains; ++i) x[i] = a + std::uint32_t(i);
  const double begin = now();
#pragma GCC unroll 1
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < chains; ++i) x[i] = detail::add_products(x[i], a, b);
  }
  const double seconds = now() - begin;
  Lanes sum = x[0];
#pragma GCC unroll 24
  for (int i = 1; i < chains; ++i) sum ^= x[i];
  source = sum[0] == 1 ? 0x01020305 : 0x01020304;
  return 128e-9 * double(rounds) * chains / seconds;
}
#endif

inline double byte_peak() {
#ifdef HALFTONE_VNNI
#if HALFTONE_AMX
  if (detail::multiplies_bytes_in_amx()) return amx_rate<detail::AmxStep::unsigned_bytes>();
#endif
  if (detail::multiplies_bytes()) return byte_rate();
#endif
  return fma_rate<float>();
}

}  // namespace bench
