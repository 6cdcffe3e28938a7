#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <halftone/base/storage.hpp>
#include <halftone/kernel/simd.hpp>

/// Measuring beside other users of the machine: many short runs, the best of them, and the
/// machine's own limits measured in between.
namespace bench {

using halftone::kernel::Vec;

inline double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// Zeroed memory as the library's arrays have it, with room for a vector more.
template <class T>
struct Buffer {
  explicit Buffer(std::int64_t n, T value = T(0))
      : size(n), memory(halftone::Storage::allocate(std::size_t(n) * sizeof(T) + 64)) {
    for (std::int64_t i = 0; i < n; ++i) data()[i] = value;
  }
  /// Numbers in [-1, 1).
  void randomize(std::uint32_t seed = 1) {
    for (std::int64_t i = 0; i < size; ++i) {
      seed = seed * 1664525 + 1013904223;
      data()[i] = T(float(std::int32_t(seed)) * 0x1p-31f);
    }
  }
  T* data() const { return reinterpret_cast<T*>(memory.data()); }

  std::int64_t size;
  halftone::Storage memory;
};

/// Seconds of one call of f, averaged over so many that they take about 200 us.
template <class F>
double time_once(F&& f, std::int64_t& calls) {
  for (;;) {
    const double begin = now();
    for (std::int64_t i = 0; i < calls; ++i) f();
    const double seconds = now() - begin;
    if (seconds > 1e-4 || calls > (std::int64_t{1} << 30)) return seconds / double(calls);
    calls *= seconds > 1e-5 ? 1 + std::int64_t(2e-4 / seconds) : 16;
  }
}

/// Rate of one run of fused multiply-adds on registers, in GFLOP/s.
template <class T>
double fma_rate() {
  constexpr int chains = halftone::kernel::register_bytes == 64 ? 24 : 12;
  constexpr std::int64_t rounds = 20000;
  static volatile T factor_source = T(0.5);
  const Vec<T> factor = T(factor_source), addend = T(factor_source);
  Vec<T> x[chains];
#pragma GCC unroll 24
  for (int i = 0; i < chains; ++i) x[i] = addend + T(i);  // equal chains would be merged
  const double begin = now();
#pragma GCC unroll 1
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < chains; ++i) x[i] = fma(x[i], factor, addend);
  }
  const double seconds = now() - begin;
  Vec<T> sum = x[0];
#pragma GCC unroll 24
  for (int i = 1; i < chains; ++i) sum += x[i];
  factor_source = sum[0] > T(1e30) ? T(0.25) : T(0.5);
  return 2e-9 * double(rounds) * chains * Vec<T>::size / seconds;
}

/// GB/s of one pass that reads `buffer`.
inline double read_rate(const Buffer<float>& buffer) {
  Vec<float> sum[8];
  for (auto& s : sum) s = 0;
  constexpr std::int64_t N = Vec<float>::size;
  const double begin = now();
  for (std::int64_t i = 0; i + 8 * N <= buffer.size; i += 8 * N) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) sum[j] += Vec<float>::load(buffer.data() + i + j * N);
  }
  const double seconds = now() - begin;
  for (int j = 1; j < 8; ++j) sum[0] += sum[j];
  static volatile float sink = 0;
  sink = sink + sum[0][0];
  return 4e-9 * double(buffer.size) / seconds;
}

/// Prints `name  rate unit  share of limit`: the best of `seconds` of runs of f, `amount` (in
/// billions) each, beside the best of the limit (a function that runs once and gives its rate).
template <class F, class Limit>
double report(const char* name, const char* unit, const char* of, double amount, F&& f,
              Limit&& limit, double seconds = 0.25) {
  std::int64_t calls = 1;
  double best = 1e30, peak = 0;
  f();
  const double begin = now();
  do {
    for (int i = 0; i < 5; ++i) {
      const double t = time_once(f, calls);
      if (t < best) best = t;
    }
    const double p = limit();
    if (p > peak) peak = p;
  } while (now() - begin < seconds);
  const double rate = amount / best;
  std::printf("%-44s %8.1f %s  %3.0f %% of %s\n", name, rate, unit, 100 * rate / peak, of);
  std::fflush(stdout);
  return rate / peak;
}

}  // namespace bench
