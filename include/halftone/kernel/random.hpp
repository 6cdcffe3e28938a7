#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

/// Philox 4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011: four random words from a counter and a key, without any state.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return counter;
}

namespace random_detail {

using Block = std::array<std::uint32_t, 4>;

using Wide = detail::raw_t<std::uint64_t, register_bytes / 8>;  ///< a block a lane
inline constexpr std::int64_t lanes = register_bytes / 8;

/// Products of the low halves of lanes.
HALFTONE_INLINE Wide multiply_low(Wide a, Wide b) {
#ifdef __clang__
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#elif HALFTONE_AVX512
  using Halves = detail::raw_t<int, 16>;
  return (Wide)__builtin_ia32_pmuludq512_mask((Halves)a, (Halves)b, detail::raw_t<long long, 8>{},
                                              -1);
#elif defined(__AVX2__)
  return (Wide)__builtin_ia32_pmuludq256((detail::raw_t<int, 8>)a, (detail::raw_t<int, 8>)b);
#else
  return (Wide)__builtin_ia32_pmuludq128((detail::raw_t<int, 4>)a, (detail::raw_t<int, 4>)b);
#endif
}

/// The words of a block in each lane, by philox() with their counters from `first` on. High halves of
/// lanes are noise until the end.
inline void philox_lanes(std::int64_t first, std::array<std::uint32_t, 2> key, std::uint32_t* to) {
  constexpr int N = int(lanes);
  static constexpr std::uint64_t count[] = {0, 1, 2, 3, 4, 5, 6, 7};
  Wide number;
  __builtin_memcpy(&number, count, sizeof(number));
  number += static_cast<std::uint64_t>(first);
  Wide counter[4] = {number, number >> 32};
  Wide first_key = Wide{} + key[0], second_key = Wide{} + key[1];
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const Wide a = multiply_low(Wide{} + 0xd2511f53u, counter[0]);
    const Wide b = multiply_low(Wide{} + 0xcd9e8d57u, counter[2]);
    counter[0] = b >> 32 ^ counter[1] ^ first_key;
    counter[2] = a >> 32 ^ counter[3] ^ second_key;
    counter[1] = b;
    counter[3] = a;
    first_key += 0x9e3779b9u;
    second_key += 0xbb67ae85u;
  }
  const Wide low = (counter[0] & 0xffffffffu) | counter[1] << 32;
  const Wide high = (counter[2] & 0xffffffffu) | counter[3] << 32;
#if HALFTONE_AVX512
  const Wide begin = __builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11);
  const Wide end = __builtin_shufflevector(low, high, 4, 12, 5, 13, 6, 14, 7, 15);
#elif defined(__AVX2__)
  const Wide begin = __builtin_shufflevector(low, high, 0, 4, 1, 5);
  const Wide end = __builtin_shufflevector(low, high, 2, 6, 3, 7);
#else
  const Wide begin = __builtin_shufflevector(low, high, 0, 2);
  const Wide end = __builtin_shufflevector(low, high, 1, 3);
#endif
  __builtin_memcpy(to, &begin, sizeof(begin));
  __builtin_memcpy(to + 2 * N, &end, sizeof(end));
}

/// The words of one seed, four for each number of a block. Null: the seed 0.
class Words {
 public:
  explicit Words(const std::uint32_t* seed)
      : key_(seed != nullptr ? std::array<std::uint32_t, 2>{seed[0], seed[1]}
                             : std::array<std::uint32_t, 2>{}) {}
  Block block(std::int64_t i) const {
    const auto n = static_cast<std::uint64_t>(i);
    return philox({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32), 0, 0}, key_);
  }
  /// f(first word, words, number of words) for all words of blocks [begin, end), some at a time.
  template <class F>
  void each_run(std::int64_t begin, std::int64_t end, F&& f) const {
    constexpr std::int64_t most = 64;  // blocks
    alignas(64) std::uint32_t words[4 * most];
    for (std::int64_t b = begin; b < end; b += most) {
      const std::int64_t count = std::min(most, end - b);
      for (std::int64_t i = 0; i < count; i += lanes) philox_lanes(b + i, key_, words + 4 * i);
      f(4 * b, static_cast<const std::uint32_t*>(words), 4 * count);
    }
  }

 private:
  std::array<std::uint32_t, 2> key_;
};

/// The words in turn; neighbours come from one block.
class WordReader {
 public:
  explicit WordReader(const Words& words) : words_(words) {}
  std::uint32_t operator[](std::int64_t i) {
    if (i / 4 != at_) {
      at_ = i / 4;
      block_ = words_.block(at_);
    }
    return block_[static_cast<std::size_t>(i % 4)];
  }

 private:
  Words words_;
  Block block_{};
  std::int64_t at_ = -1;
};

inline constexpr std::int64_t chunk = 8192;  ///< elements of one task; a multiple of a block's

template <class F>
void for_chunks(const Executor& executor, std::int64_t n, F&& f) {
  parallel_for(executor, (n + chunk - 1) / chunk,
               [&](std::int64_t c) { f(c * chunk, std::min(n, (c + 1) * chunk)); });
}

/// In [0, 1), 53 bits.
inline double unit(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

/// y[i] from the words of its block: f(its four words, numbers), which makes as many as a block gives.
template <class T, class F>
void fill_blocks(const Executor& executor, const std::uint32_t* seed, T* y, std::int64_t n,
                 const F& f) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr std::int64_t per_block = std::is_same_v<C, double> ? 2 : 4;
  const Words words(seed);
  for_chunks(executor, n, [&](std::int64_t first, std::int64_t end) {
    C numbers[per_block];
    const std::int64_t blocks = (end + per_block - 1) / per_block;
    words.each_run(first / per_block, blocks,
                   [&](std::int64_t begin, const std::uint32_t* from, std::int64_t count) {
                     for (std::int64_t w = 0; w < count; w += 4) {
                       f(from + w, numbers);
                       const std::int64_t i = (begin + w) / 4 * per_block;
                       for (std::int64_t k = 0; k < std::min(per_block, end - i); ++k) {
                         y[i + k] = static_cast<T>(numbers[k]);
                       }
                     }
                   });
  });
}

/// A word below this drops an element.
inline std::uint64_t drop_limit(double ratio) {
  if (!(ratio > 0)) return 0;
  return ratio >= 1 ? std::uint64_t{1} << 32 : static_cast<std::uint64_t>(ratio * 0x1p32);
}

template <class T>
T keep_scale(double ratio) {
  return static_cast<T>(ratio >= 1 ? 0 : ratio > 0 ? 1 / (1 - ratio) : 1);
}

}  // namespace random_detail

template <class T>
void random_uniform(const Executor& executor, const std::uint32_t* seed, double low, double high,
                    T* y, std::int64_t n) {
  random_detail::fill_blocks(
      executor, seed, y, n, [&]<class C>(const std::uint32_t* words, C* numbers) {
        const C from = static_cast<C>(low), range = static_cast<C>(high - low);
        if constexpr (std::is_same_v<C, double>) {
          for (std::size_t k = 0; k < 2; ++k) {
            numbers[k] = from + range * random_detail::unit(words[2 * k], words[2 * k + 1]);
          }
        } else {
          for (std::size_t k = 0; k < 4; ++k) {
            numbers[k] = from + range * (static_cast<float>(words[k] >> 8) * 0x1p-24f);
          }
        }
      });
}

template <class T>
void random_normal(const Executor& executor, const std::uint32_t* seed, double mean, double scale,
                   T* y, std::int64_t n) {
  // Box and Muller 1958, both of each pair.
  random_detail::fill_blocks(
      executor, seed, y, n, [&]<class C>(const std::uint32_t* words, C* numbers) {
        auto pair = [&](C radius_of, C turn, C* to) {
          const C radius = static_cast<C>(scale) * std::sqrt(-2 * std::log(radius_of));
          const C angle = 2 * std::numbers::pi_v<C> * turn;
          to[0] = static_cast<C>(mean) + radius * std::cos(angle);
          to[1] = static_cast<C>(mean) + radius * std::sin(angle);
        };
        if constexpr (std::is_same_v<C, double>) {
          pair(1 - random_detail::unit(words[0], words[1]), random_detail::unit(words[2], words[3]),
               numbers);
        } else {
          for (std::size_t k = 0; k < 4; k += 2) {
            pair((static_cast<float>(words[k]) + 0.5f) * 0x1p-32f,
                 static_cast<float>(words[k + 1]) * 0x1p-32f, numbers + k);
          }
        }
      });
}

template <class T, class U>
void bernoulli(const Executor& executor, const std::uint32_t* seed, const T* x, U one, U* y,
               std::int64_t n) {
  const random_detail::Words words(seed);
  random_detail::for_chunks(executor, n, [&](std::int64_t first, std::int64_t end) {
    random_detail::WordReader word(words);
    for (std::int64_t i = first; i < end; ++i) {
      y[i] = static_cast<double>(word[i]) < static_cast<double>(x[i]) * 0x1p32 ? one : U{0};
    }
  });
}

template <class T, class I>
void multinomial(const Executor& executor, const std::uint32_t* seed, const T* x, std::int64_t rows,
                 std::int64_t classes, std::int64_t samples, double* sums, I* y) {
  const random_detail::Words words(seed);
  parallel_for(executor, rows, [&](std::int64_t row) {
    const T* in = x + row * classes;
    double* sum = sums + row * classes;
    double largest = -INFINITY, total = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      largest = std::max(largest, static_cast<double>(in[c]));
    }
    for (std::int64_t c = 0; c < classes; ++c) {
      total += std::isfinite(largest) ? std::exp(static_cast<double>(in[c]) - largest) : 1;
      sum[c] = total;
    }
    for (std::int64_t s = row * samples; s < (row + 1) * samples; ++s) {
      const random_detail::Block block = words.block(s);
      const double u = random_detail::unit(block[0], block[1]) * total;
      const std::int64_t c = std::upper_bound(sum, sum + classes, u) - sum;
      y[s] = static_cast<I>(std::min(c, classes - 1));
    }
  });
}

template <class T>
void dropout(const Executor& executor, const std::uint32_t* seed, double ratio, const T* x, T* y,
             bool* mask, std::int64_t n) {
  using C = halftone::detail::Compute<T>;
  const random_detail::Words words(seed);
  const std::uint64_t limit = random_detail::drop_limit(ratio);
  const C scale = random_detail::keep_scale<C>(ratio);
  using V = Vec<C>;
  constexpr std::int64_t N = V::size;
  using Numbers = Vec<std::uint32_t, int(N)>;
  const Numbers least(static_cast<std::uint32_t>(limit));
  const bool keeps_any = limit >> 32 == 0;
  random_detail::for_chunks(executor, n, [&](std::int64_t first, std::int64_t end) {
    const auto run = [&](std::int64_t begin, const std::uint32_t* word, std::int64_t given) {
      const std::int64_t count = std::min(given, end - begin);
      const T* const from = x + begin;
      T* const to = y + begin;
      for (std::int64_t k = 0; k < count; k += N) {
        const auto kept = (Numbers::load(word + k) >= least) & typename Numbers::mask(keeps_any);
        const auto dropped = [&](V v) { return select(convert<C>(kept), v * V(scale), V(C(0))); };
        if (count - k >= N) {
          store_compute(to + k, dropped(load_compute(from + k)));
          if (mask != nullptr) kept.store(mask + begin + k);
        } else {
          store_compute_partial(to + k, dropped(load_compute_partial(from + k, count - k)),
                                count - k);
          if (mask != nullptr) kept.store_partial(mask + begin + k, count - k);
        }
      }
    };
    words.each_run(first / 4, (end + 3) / 4, run);
  });
}

template <class T>
void shaped_dropout(const Executor& executor, const std::uint32_t* seed, double ratio,
                    const std::int64_t* extents, const std::int64_t* steps, std::size_t rank,
                    const T* x, T* y, std::int64_t n) {
  using C = halftone::detail::Compute<T>;
  const random_detail::Words words(seed);
  const std::uint64_t limit = random_detail::drop_limit(ratio);
  const C scale = random_detail::keep_scale<C>(ratio);
  random_detail::for_chunks(executor, n, [&](std::int64_t first, std::int64_t end) {
    random_detail::WordReader word(words);
    std::int64_t index[max_rank] = {}, at = 0;
    for (std::int64_t rest = first, d = static_cast<std::int64_t>(rank) - 1; d >= 0; --d) {
      index[d] = rest % extents[d];
      rest /= extents[d];
      at += index[d] * steps[d];
    }
    for (std::int64_t i = first; i < end; ++i) {
      y[i] = word[at] >= limit ? static_cast<T>(static_cast<C>(x[i]) * scale) : T{};
      for (std::size_t d = rank; d-- > 0;) {
        at += steps[d];
        if (++index[d] < extents[d]) break;
        at -= index[d] * steps[d];
        index[d] = 0;
      }
    }
  });
}

template <class Word>
void derive_seed(const Word* state, std::int64_t number, bool is_fixed, std::int64_t fixed,
                 Word* seed) {
  const auto low = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::int64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  // Nodes with a seed of their own draw the same numbers wherever they are.
  const auto words =
      is_fixed ? philox({state[4], state[5], state[2], state[3]}, {low(fixed), high(fixed)})
               : philox({state[4], state[5], low(number), high(number)}, {state[0], state[1]});
  seed[0] = words[0];
  seed[1] = words[1];
}

template <class Word>
void advance_random(const Word* state, std::int64_t number, Word* next) {
  const auto words = philox({state[4], state[5], static_cast<std::uint32_t>(number), 0}, {0, 0});
  std::copy(state, state + 4, next);
  next[4] = words[0];
  next[5] = words[1];
}

}  // namespace halftone::kernel
