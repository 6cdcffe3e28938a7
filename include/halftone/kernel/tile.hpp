#pragma once

#include <cstdint>
#include <halftone/kernel/precision.hpp>
#include <halftone/kernel/simd.hpp>
#include <type_traits>

/// The register tile that matrix products and convolutions share: H rows (or pixels) by V vectors
/// of sums that stay in registers while the sum runs. A step q adds x(i, q) * w(q, column) to all.
namespace halftone::kernel {

/// Where x(i, q) lies from a segment's start; N is the number of lanes.
enum class Source {
  pixels,  ///< x[i * N + q]: blocked activations, neighbouring pixels
  line,    ///< x[i + q]: plain activations
  panel,   ///< x[i + q * H]: packed rows of a matrix
  row,     ///< x[q]: one row; w are several panels, w_step elements apart
  rows,    ///< x[i * x_row + q * x_step]: any matrix; w is not packed either
  tiles,   ///< as pixels; each sum is one chain, however many rows there are
};

/// Vectors of a packed panel of weights: w(q, column) is w[q * V * N + column].
inline constexpr int panel_vectors = 2;

/// Rows or pixels of a tile: with two vectors per row all registers but a few are sums.
inline constexpr int tile_rows = register_bytes == 64 ? 14 : 6;

/// Panels of Source::row: so many sums do not wait for each other.
inline constexpr int row_panels = 4;

/// The same for Source::rows, where every row needs an address register.
inline constexpr int direct_rows = 6;
inline constexpr int direct_vectors = register_bytes == 64 ? 4 : 2;

/// Consecutive steps of a sum; their x begin `offset` elements behind the tile's.
struct Segment {
  std::int64_t offset = 0;
  std::int64_t steps = 0;
};

/// Two neighbouring terms of a sum in bfloat16, the first one in the lower half: an element of both
/// operands where a step adds the products of two terms.
struct BfloatPair {
  std::uint32_t bits;
};
/// Terms in an element of weights W.
template <class W>
inline constexpr std::int64_t terms_of = std::is_same_v<W, BfloatPair> ? 2 : 1;
/// The elements of x beside weights W where sums are S: weights may also be half beside floats.
template <class S, class W>
using left_t = std::conditional_t<std::is_same_v<W, BfloatPair>, BfloatPair, S>;

/// Arguments of a tile kernel; strides in elements.
template <class S, class W = S>
struct Tile {
  const left_t<S, W>* x = nullptr;
  const W* w = nullptr;
  S* y = nullptr;                                   ///< y(i, v) is a vector
  std::int64_t x_row = 0, x_step = 0, w_step = 0;   ///< of Source::rows, w_step of Source::row
  std::int64_t y_row = 0, y_vector = Vec<S>::size;  ///< from y(i, v) to y(i + 1, v), y(i, v + 1)
  const Segment* segments = nullptr;
  std::int64_t segment_count = 0;
  bool accumulate = false;      ///< the sums go on from what y holds
  const S* bias = nullptr;      ///< else from this, one per column; null: from zero
  const S* residual = nullptr;  ///< added at last, as y but for its row stride
  std::int64_t residual_row = 0;
  bool clamp = false;
  S lower = 0, upper = 0;
  /// Of Source::panel and Source::tiles: memory that is needed next, fetched `ahead_step` bytes further
  /// each step.
  const char* ahead = nullptr;
  std::int64_t ahead_step = 0;
};

template <class S, class W = S>
using TileKernel = void (*)(const Tile<S, W>&);

namespace detail {

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// The sums of a tile before the first step.
template <int H, int V, class S, class W>
HALFTONE_INLINE void begin_sums(const Tile<S, W>& t, Vec<S> (&sum)[H][V]) {
  using Vector = Vec<S>;
  constexpr std::int64_t N = Vector::size;
  if (t.accumulate) {
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        sum[i][v] = Vector::load(t.y + i * t.y_row + v * t.y_vector);
      }
    }
  } else {
    Vector first[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) first[v] = t.bias != nullptr ? Vector::load(t.bias + v * N) : S(0);
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[i][v] = first[v];
    }
  }
}

/// Finishes and stores the sums behind the last step.
template <int H, int V, class S, class W>
HALFTONE_INLINE void end_sums(const Tile<S, W>& t, Vec<S> (&sum)[H][V]) {
  using Vector = Vec<S>;
  if (t.residual != nullptr) {
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        sum[i][v] += Vector::load(t.residual + i * t.residual_row + v * t.y_vector);
      }
    }
  }
  if (t.clamp) {
    const Vector lower = t.lower, upper = t.upper;
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[i][v] = clamp(sum[i][v], lower, upper);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < H; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[i][v].store(t.y + i * t.y_row + v * t.y_vector);
  }
}

/// The tile below comes next.
template <int H, int V, class S, class W>
HALFTONE_INLINE void prefetch_below(const Tile<S, W>& t) {
#pragma GCC unroll 16
  for (int i = 0; i < H; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) __builtin_prefetch(t.y + (H + i) * t.y_row + v * Vec<S>::size, 1);
  }
}

/// Tells where vector v of a step's weights lies: in one panel, or in several.
template <bool Several, class S, class W>
HALFTONE_INLINE std::int64_t panel_offset(const Tile<S, W>& t, int v) {
  constexpr std::int64_t N = Vec<S>::size;
  return Several ? v / panel_vectors * t.w_step + v % panel_vectors * N : v * N;
}

template <class S, class W, int H, int V, Source source>
void run_tile(const Tile<S, W>& t) {
  using Vector = Vec<S>;
  constexpr std::int64_t N = Vector::size;
  Vector sum[H][V];
  begin_sums(t, sum);

  constexpr bool direct = source == Source::rows;
  constexpr bool blocked = source == Source::pixels || source == Source::tiles;
  const std::int64_t x_row = direct ? t.x_row : blocked ? N : 1;
  const std::int64_t x_step = direct ? t.x_step : source == Source::panel ? H : 1;
  constexpr bool panels = source == Source::row;
  const std::int64_t w_step = direct ? t.w_step : (panels ? panel_vectors : V) * N;
  const W* w = t.w;
  const char* ahead = t.ahead;
  // Few sums would wait for each other: of pixels, whose steps come in even numbers, and of weights
  // in half every other step has sums of its own.
  constexpr bool narrow = !std::is_same_v<S, W>;
  constexpr bool halves = (source == Source::pixels || narrow) && H * V < 8;
  Vector odd[halves ? H : 1][halves ? V : 1];
  if constexpr (halves) {
    for (int i = 0; i < H; ++i) {
      for (int v = 0; v < V; ++v) odd[i][v] = S(0);
    }
  }
  if constexpr (source == Source::panel) prefetch_below<H, V>(t);
  for (std::int64_t s = 0; s < t.segment_count; ++s) {
    const S* x = t.x + t.segments[s].offset;
    const auto add_step = [&](auto& sums) __attribute__((always_inline)) {
      Vector wide[V];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) wide[v] = load_compute(w + panel_offset<panels>(t, v));
#pragma GCC unroll 16
      for (int i = 0; i < H; ++i) {
        const Vector one = x[i * x_row];
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sums[i][v] = fma(one, wide[v], sums[i][v]);
      }
      x += x_step;
      w += w_step;
    };
    for (std::int64_t q = t.segments[s].steps; q > 0; q -= halves ? 2 : 1) {
      add_step(sum);
      if constexpr (halves) {
        if (!narrow || q > 1) add_step(odd);
      }
      if constexpr (source == Source::panel) {
        __builtin_prefetch(ahead, 0, 2);
        ahead += t.ahead_step;
      }
      if constexpr (source == Source::tiles) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) __builtin_prefetch(ahead + v * t.ahead_step / V, 0, 2);
        ahead += t.ahead_step;
      }
    }
  }
  if constexpr (halves) {
    for (int i = 0; i < H; ++i) {
      for (int v = 0; v < V; ++v) sum[i][v] += odd[i][v];
    }
  }
  end_sums(t, sum);
}

/// The floats of the first or second block of a pixel in pairs.
template <int N>
HALFTONE_INLINE Vec<float, N> load_half_of_block(const float* pixel, bool second) {
  Vec<std::uint16_t, N> bits;
  __builtin_memcpy(&bits.v, pixel + (second ? N / 2 : 0), sizeof(bits.v));
  return float_from_bfloat16(bits);
}
template <int N>
HALFTONE_INLINE void store_half_of_block(Vec<float, N> lanes, float* pixel, bool second) {
  const auto bits = bfloat16_from_float(lanes);
  __builtin_memcpy(pixel + (second ? N / 2 : 0), &bits.v, sizeof(bits.v));
}

#if HALFTONE_AVX512
#ifdef __AVX512BF16__
#define HALFTONE_BF16
#else
#define HALFTONE_BF16 __attribute__((target("avx512bf16")))
#endif

/// The floats of two vectors as bfloat16, one behind the other (to nearest, ties to even; subnormal
/// numbers become zero).
HALFTONE_BF16 __attribute__((always_inline)) inline raw_t<std::uint16_t, 32> rounded_pairs(
    Vec<float> first, Vec<float> second) {
#ifdef __clang__
  return (raw_t<std::uint16_t, 32>)__builtin_ia32_cvtne2ps2bf16_512(second.v, first.v);
#elif __GNUC__ >= 13
  return (raw_t<std::uint16_t, 32>)__builtin_ia32_cvtne2ps2bf16_v32bf(second.v, first.v);
#else
  return (raw_t<std::uint16_t, 32>)__builtin_ia32_cvtne2ps2bf16_v32hi(second.v, first.v);
#endif
}

/// Adds the products of the pairs in each lane to its sum.
HALFTONE_BF16 __attribute__((always_inline)) inline Vec<float> add_pairs(Vec<float> sums,
                                                                         Vec<std::uint32_t> left,
                                                                         Vec<std::uint32_t> right) {
#if defined(__clang__) || __GNUC__ >= 13
  typedef __bf16 Pairs __attribute__((vector_size(64)));
#else
  using Pairs = raw_t<short, 32>;
#endif
#ifdef __clang__
  return __builtin_ia32_dpbf16ps_512(sums.v, (Pairs)left.v, (Pairs)right.v);
#else
  return __builtin_ia32_dpbf16ps_v16sf(sums.v, (Pairs)left.v, (Pairs)right.v);
#endif
}

/// Computes a tile of pairs. Every other step has sums of its own where few sums would wait for each other.
template <int H, int V, Source source>
HALFTONE_BF16 void run_pair_tile(const Tile<float, BfloatPair>& t) {
  using Words = Vec<std::uint32_t>;
  constexpr std::int64_t N = Words::size;
  constexpr int chains = H * V < 8 ? 2 : 1;
  Vec<float> sum[H][V], odd[chains == 2 ? H : 1][chains == 2 ? V : 1];
  begin_sums(t, sum);
  if constexpr (chains == 2) {
    for (int i = 0; i < H; ++i) {
      for (int v = 0; v < V; ++v) odd[i][v] = 0.f;
    }
  }
  constexpr bool direct = source == Source::rows;
  constexpr bool blocked = source == Source::pixels || source == Source::tiles;
  constexpr bool panels = source == Source::row;
  const std::int64_t x_row = direct ? t.x_row : blocked ? N / 2 : 1;
  const std::int64_t x_step = direct ? t.x_step : source == Source::panel ? H : 1;
  const std::int64_t w_step = direct ? t.w_step : (panels ? panel_vectors : V) * N;
  const BfloatPair* w = t.w;
  const char* ahead = t.ahead;
  if constexpr (source == Source::panel) prefetch_below<H, V>(t);
  for (std::int64_t s = 0; s < t.segment_count; ++s) {
    const BfloatPair* x = t.x + t.segments[s].offset;
    const std::int64_t steps = t.segments[s].steps;
    for (std::int64_t q = 0; q < steps; q += chains) {
#pragma GCC unroll 2
      for (int chain = 0; chain < chains; ++chain) {
        if (chain == 1 && q + 1 == steps) break;
        Words wide[V];
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v)
          __builtin_memcpy(&wide[v].v, w + panel_offset<panels>(t, v), 64);
#pragma GCC unroll 16
        for (int i = 0; i < H; ++i) {
          const Words one = x[i * x_row].bits;
#pragma GCC unroll 8
          for (int v = 0; v < V; ++v) {
            Vec<float>& to = chain == 0 ? sum[i][v] : odd[chains == 2 ? i : 0][chains == 2 ? v : 0];
            to = add_pairs(to, one, wide[v]);
          }
        }
        x += x_step;
        w += w_step;
        if constexpr (source == Source::panel || source == Source::tiles) {
          __builtin_prefetch(ahead, 0, 2);
          if constexpr (source == Source::tiles && V == 2) {
            __builtin_prefetch(ahead + t.ahead_step / 2, 0, 2);
          }
          ahead += t.ahead_step;
        }
      }
    }
  }
  if constexpr (chains == 2) {
    for (int i = 0; i < H; ++i) {
      for (int v = 0; v < V; ++v) sum[i][v] += odd[i][v];
    }
  }
  end_sums(t, sum);
}
#endif

/// Whether there are tiles for weights W. Pairs also need a processor that multiplies them.
template <class S, class W>
inline constexpr bool has_tiles =
    std::is_same_v<S, W> ||
    (has_precisions &&
     (std::is_same_v<W, BfloatPair> ? HALFTONE_AVX512 != 0 : register_bytes >= 32));

/// Whether this machine runs the tiles of pairs.
inline bool multiplies_pairs() {
#if HALFTONE_AVX512
  return has_precisions && __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

/// The kernels of one source by rows and vectors.
template <class S, class W, Source source>
struct TileTable {
  static constexpr int rows = source == Source::rows  ? direct_rows
                              : source == Source::row ? 1
                                                      : tile_rows;
  static constexpr int vectors = source == Source::rows  ? direct_vectors
                                 : source == Source::row ? row_panels * panel_vectors
                                                         : panel_vectors;
  TileKernel<S, W> kernels[rows][vectors]{};

  constexpr TileTable() { fill<1, 1>(); }

 private:
  template <int H, int V>
  constexpr void fill() {
    constexpr bool is_used = source != Source::row || (V > panel_vectors && V % panel_vectors == 0);
#if HALFTONE_AVX512
    if constexpr (is_used && std::is_same_v<W, BfloatPair>) {
      kernels[H - 1][V - 1] = run_pair_tile<H, V, source>;
    }
#endif
    if constexpr (is_used && !std::is_same_v<W, BfloatPair>) {
      kernels[H - 1][V - 1] = run_tile<S, W, H, V, source>;
    }
    if constexpr (V < vectors) {
      fill<H, V + 1>();
    } else if constexpr (H < rows) {
      fill<H + 1, 1>();
    }
  }
};

template <class S, class W, Source source>
inline constexpr TileTable<S, W, source> tile_table{};

}  // namespace detail

/// The kernel for `rows` in [1, tile_rows] and `vectors` in [1, panel_vectors] (direct_rows and
/// direct_vectors for Source::rows; one row and those of row_panels for Source::row).
template <class S, Source source, class W = S>
TileKernel<S, W> tile_kernel(std::int64_t rows, std::int64_t vectors) {
  return detail::tile_table<S, W, source>.kernels[rows - 1][vectors - 1];
}

/// `count` things in the least number of parts of at most `largest`, whose sizes differ by one at
/// most. No part is so small that the latency of its sums would show.
struct Parts {
  std::int64_t count = 0, parts = 0;
  constexpr Parts(std::int64_t things, std::int64_t largest)
      : count(things), parts((things + largest - 1) / largest) {}
  /// First thing of part i in [0, parts]; that of `parts` is the end.
  constexpr std::int64_t begin(std::int64_t i) const { return parts == 0 ? 0 : i * count / parts; }
};

}  // namespace halftone::kernel
