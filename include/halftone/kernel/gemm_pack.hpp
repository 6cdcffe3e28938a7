#pragma once

#include <cstdint>
#include <halftone/kernel/amx_tile.hpp>
#include <halftone/kernel/matrix.hpp>
#include <halftone/kernel/tile.hpp>
#include <utility>

namespace halftone::kernel {
namespace detail {

inline constexpr std::int64_t most_tasks = 16;

/// Tasks that a product is worth, by its size alone.
constexpr std::int64_t task_count(std::int64_t m, std::int64_t n, std::int64_t k) {
  const double tasks = double(m) * double(n) * double(k) / double(1 << 19);
  return tasks < 1 ? 1 : tasks > double(most_tasks) ? most_tasks : std::int64_t(tasks);
}

template <int D, class R, int... I>
HALFTONE_INLINE void exchange(R& a, R& b, std::integer_sequence<int, I...>) {
  constexpr int N = sizeof...(I);
  const R low = __builtin_shufflevector(a, b, ((I & D) != 0 ? N + I - D : I)...);
  const R high = __builtin_shufflevector(a, b, ((I & D) != 0 ? N + I : I + D)...);
  a = low;
  b = high;
}

/// One step of a transposition in registers: swaps blocks of D lanes between rows D apart.
template <int D, class S, int N>
HALFTONE_INLINE void transpose_step(Vec<S, N>* r) {
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) {
    if ((i & D) == 0) exchange<D>(r[i].v, r[i + D].v, std::make_integer_sequence<int, N>{});
  }
}

/// r[i][j] becomes r[j][i].
template <class S, int N>
HALFTONE_INLINE void transpose(Vec<S, N>* r) {
  if constexpr (N > 8) transpose_step<8>(r);
  if constexpr (N > 4) transpose_step<4>(r);
  if constexpr (N > 2) transpose_step<2>(r);
  transpose_step<1>(r);
}

/// Rows of a matrix in memory that are packed before the next ones.
inline constexpr std::int64_t band_rows = 16;

/// Hides from compilers where a pointer comes from: they would keep one for every row of a block, more
/// than there are registers.
template <class T>
HALFTONE_INLINE T* hidden(T* pointer) {
  asm("" : "+r"(pointer));
  return pointer;
}

/// Transposes a block on its way: to[q * width + i] = x[i * stride + q] for q, i < N; rows from `rows`
/// on are zeros.
template <bool Whole, class T>
void pack_block(const T* x, std::int64_t stride, std::int64_t rows, compute_t<T>* to,
                std::int64_t width) {
  using V = Vec<compute_t<T>>;
  constexpr int N = V::size, group = N < 4 ? N : 4;
  // The hardware does not read ahead of many rows side by side.
  constexpr std::int64_t ahead = 256 / std::int64_t{sizeof(T)};
  V r[N];
#pragma GCC unroll 16
  for (int l = 0; l < N; l += group, x += group * stride) {
    x = hidden(x);
#pragma GCC unroll 4
    for (int k = 0; k < group; ++k) {
      __builtin_prefetch(x + k * stride + ahead);
      r[l + k] = Whole || l + k < rows ? load_compute(x + k * stride) : V(0);
    }
  }
  transpose(r);
#pragma GCC unroll 16
  for (int l = 0; l < N; l += group, to += group * width) {
    to = hidden(to);
#pragma GCC unroll 4
    for (int k = 0; k < group; ++k) r[l + k].store(to + k * width);
  }
}

/// Packs a strip of a matrix for a tile: to[q * width + i] = x[i * stride + q * step] for i < count
/// and q < steps; columns from `count` to `width` become zero. What a whole vector writes too much is
/// overwritten by the next step, but for the last.
template <class T>
void pack_strip(const T* x, std::int64_t stride, std::int64_t step, std::int64_t count,
                std::int64_t steps, compute_t<T>* to, std::int64_t width) {
  using S = compute_t<T>;
  using V = Vec<S>;
  constexpr std::int64_t N = V::size;
  if (step == 1) {
    for (std::int64_t q = 0; q < steps; q += N) {
      const std::int64_t lanes = steps - q < N ? steps - q : N;
      for (std::int64_t i = 0; i < width; i += N) {
        const std::int64_t rows = count - i < N ? count - i : N;
        const std::int64_t wide = width - i < N ? width - i : N;
        const T* from = x + i * stride + q;
        S* out = to + q * width + i;
        if (lanes == N && (wide == N || (width < N && (q + N) * width + N <= steps * width))) {
          if (rows == N) {
            pack_block<true>(from, stride, rows, out, width);
          } else {
            pack_block<false>(from, stride, rows, out, width);
          }
          continue;
        }
        V r[N];
#pragma GCC unroll 16
        for (int l = 0; l < N; ++l) {
          r[l] = l < rows ? load_compute_partial(from + l * stride, lanes) : V(S(0));
        }
        transpose(r);
#pragma GCC unroll 16
        for (int l = 0; l < N; ++l) {
          if (l < lanes) r[l].store_partial(out + l * width, wide);
        }
      }
    }
  } else if (stride == 1) {
    for (std::int64_t q = 0; q < steps; ++q, x += step) {
      for (std::int64_t i = 0; i < width; i += N) {
        __builtin_prefetch(x + i + band_rows * step);  // it is short, for the hardware
        const V values = i + N <= count ? load_compute(x + i)
                         : i < count    ? load_compute_partial(x + i, count - i)
                                        : V(S(0));
        const std::int64_t at = q * width + i;
        if (at + N <= steps * width) {
          values.store(to + at);
        } else {
          values.store_partial(to + at, width - i);
        }
      }
    }
  } else {
    for (std::int64_t q = 0; q < steps; ++q, x += step, to += width) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = S(x[i * stride]);
      for (std::int64_t i = count; i < width; ++i) to[i] = 0;
    }
  }
}

/// Terms that are packed at once on the way to 16 bits.
inline constexpr std::int64_t narrow_terms = 64;

#if HALFTONE_AVX512
/// Pairs of what two vectors hold in the same lane.
HALFTONE_BF16 __attribute__((always_inline)) inline Vec<std::uint32_t> pairs_of(Vec<float> first,
                                                                                Vec<float> second) {
  const auto both = rounded_pairs(first, second);
  return (raw_t<std::uint32_t, 16>)__builtin_shufflevector(
      both, both, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11,
      27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Makes pairs of the neighbours in a row: to[q] = x[2 q], x[2 q + 1].
HALFTONE_BF16 inline void round_row(const float* x, std::int64_t terms, BfloatPair* to) {
  constexpr std::int64_t N = Vec<float>::size;
  std::int64_t q = 0;
  for (; q + 2 * N <= terms; q += 2 * N) {
    const auto pairs = rounded_pairs(Vec<float>::load(x + q), Vec<float>::load(x + q + N));
    __builtin_memcpy(to + q / 2, &pairs, sizeof pairs);
  }
  if (q == terms) return;
  const std::int64_t rest = terms - q, second = rest > N ? rest - N : 0;
  const auto pairs = rounded_pairs(Vec<float>::load_partial(x + q, second > 0 ? N : rest),
                                   Vec<float>::load_partial(x + q + (second > 0 ? N : 0), second));
  __builtin_memcpy(to + q / 2, &pairs, std::size_t(rest + 1) / 2 * sizeof(BfloatPair));
}

/// pack_strip that makes pairs: to[q * width + i] = the terms 2 q and 2 q + 1 of column i. Zero fills up the last
/// pair.
HALFTONE_BF16 inline void pack_pairs(const float* x, std::int64_t stride, std::int64_t step,
                                     std::int64_t count, std::int64_t terms, BfloatPair* to,
                                     std::int64_t width) {
  using V = Vec<float>;
  constexpr std::int64_t N = V::size;
  const auto lanes_of = [](std::int64_t left) { return left < 0 ? 0 : left < N ? left : N; };
  auto* const words = reinterpret_cast<std::uint32_t*>(to);
  for (std::int64_t q = 0; step == 1 && q < terms; q += 2 * N) {
    const std::int64_t first = lanes_of(terms - q), second = lanes_of(terms - q - N);
    for (std::int64_t i = 0; i < width; i += N) {
      constexpr std::int64_t ahead = 4 * N;  // see pack_block
      const std::int64_t columns = lanes_of(count - i), wide = lanes_of(width - i);
      Vec<std::uint32_t> r[N];
#pragma GCC unroll 16
      for (int l = 0; l < N; ++l) {
        r[l] = 0;
        if (l >= columns) continue;
        const float* const from = hidden(x + (i + l) * stride + q);
        __builtin_prefetch(from + ahead);
        const auto pairs =
            rounded_pairs(V::load_partial(from, first), V::load_partial(from + N, second));
        __builtin_memcpy(&r[l].v, &pairs, sizeof pairs);
      }
      transpose(r);
      const std::int64_t pairs = (first + second + 1) / 2;
#pragma GCC unroll 16
      for (int l = 0; l < N; ++l) {
        if (l < pairs) r[l].store_partial(hidden(words + (q / 2 + l) * width + i), wide);
      }
    }
  }
  for (std::int64_t q = 0; step != 1 && q < terms; q += 2, x += 2 * step) {
    for (std::int64_t i = 0; i < width; i += N) {
      const std::int64_t columns = lanes_of(count - i);
      const auto term = [&](std::int64_t at) {
        const float* const from = x + i * stride + at * step;
        if (q + at >= terms) return V(0.f);
        __builtin_prefetch(from + band_rows * step);  // see pack_strip
        if (stride == 1) return V::load_partial(from, columns);
        float lanes[N] = {};
        for (std::int64_t l = 0; l < columns; ++l) lanes[l] = from[l * stride];
        return V::load(lanes);
      };
      pairs_of(term(0), term(1)).store_partial(words + q / 2 * width + i, lanes_of(width - i));
    }
  }
}
#endif

/// pack_strip for elements that are narrower than S: half, or pairs of bfloat16.
template <class W>
void pack_narrow(const float* x, std::int64_t stride, std::int64_t step, std::int64_t count,
                 std::int64_t terms, W* to, std::int64_t width) {
  if constexpr (terms_of<W> == 2) {
    if (width == 1 && step == 1) return round_row(x, terms, to);
    return pack_pairs(x, stride, step, count, terms, to, width);
  } else {
    constexpr std::int64_t N = Vec<float>::size;
    const std::int64_t wide_width = round_up(width, N);
    alignas(64) float wide[narrow_terms * panel_vectors * N];
    for (std::int64_t q = 0; q < terms; q += narrow_terms) {
      const std::int64_t n = terms - q < narrow_terms ? terms - q : narrow_terms;
      pack_strip<float>(x + q * step, stride, step, count, n, wide, wide_width);
      for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t i = 0; i < width; i += N) {
          store_compute(to + (q + r) * width + i, Vec<float>::load(wide + r * wide_width + i));
        }
      }
    }
  }
}

/// Whether what is made of W is multiplied in AMX's registers.
template <class W>
constexpr bool takes_amx() {
  if constexpr (terms_of<W> == 2) {
    return multiplies_in_amx();
  } else {
    return false;
  }
}
/// Rows of a tile of packed matrices.
template <class W>
constexpr std::int64_t rows_of_tile() {
  return takes_amx<W>() ? amx_tile_rows : tile_rows;
}

#if HALFTONE_AVX512
/// Makes pairs of the neighbours in each of some rows, `to_row` apart: the first `terms` terms.
HALFTONE_BF16 inline void round_rows(const float* x, std::int64_t stride, std::int64_t step,
                                     std::int64_t rows, std::int64_t terms, BfloatPair* to,
                                     std::int64_t to_row) {
  constexpr std::int64_t N = Vec<float>::size;
  if (step == 1 || stride != 1) {
    for (std::int64_t i = 0; i < rows; ++i) {
      if (step == 1) {
        round_row(x + i * stride, terms, to + i * to_row);
      } else {
        pack_narrow<BfloatPair>(x + i * stride, stride, step, 1, terms, to + i * to_row, 1);
      }
    }
    return;
  }
  // Pairs of N rows become columns.
  for (std::int64_t i = 0; i < rows; i += N) {
    const std::int64_t count = rows - i < N ? rows - i : N;
    for (std::int64_t q = 0; q < terms; q += 2 * N) {
      const auto term = [&](std::int64_t at) {
        const float* const from = x + i + at * step;
        return at >= terms  ? Vec<float>(0.f)
               : count == N ? Vec<float>::load(from)
                            : Vec<float>::load_partial(from, count);
      };
      Vec<std::uint32_t> r[N];
#pragma GCC unroll 16
      for (int l = 0; l < N; ++l) r[l] = pairs_of(term(q + 2 * l), term(q + 2 * l + 1));
      transpose(r);
      const std::int64_t left = (terms - q + 1) / 2, pairs = left < N ? left : N;
      for (std::int64_t l = 0; l < count; ++l) {
        r[l].store_partial(reinterpret_cast<std::uint32_t*>(to + (i + l) * to_row + q / 2), pairs);
      }
    }
  }
}
#endif

/// Packs a strip for a tile as elements E: the first `terms` terms.
template <class T, class E>
void pack_elements(const T* x, std::int64_t stride, std::int64_t step, std::int64_t count,
                   std::int64_t terms, E* to, std::int64_t width) {
  if constexpr (std::is_same_v<E, compute_t<T>>) {
    pack_strip<T>(x, stride, step, count, terms, to, width);
  } else {
    pack_narrow<E>(x, stride, step, count, terms, to, width);
  }
}

/// Packs `terms` terms of a tile of rows, which begins at `tile` and has k elements of each, from element
/// `at` of each on. Behind the last ones zeros fill the k elements up.
template <class T, class E>
void pack_tile(const T* x, std::int64_t stride, std::int64_t step, std::int64_t rows,
               std::int64_t terms, E* tile, [[maybe_unused]] std::int64_t k, std::int64_t at,
               [[maybe_unused]] bool are_last) {
#if HALFTONE_AVX512
  if constexpr (terms_of<E> == 2) {
    if (multiplies_in_amx()) {
      round_rows(x, stride, step, rows, terms, tile + at, k);
      for (std::int64_t i = 0; are_last && i < rows; ++i) {
        for (std::int64_t q = at + (terms + 1) / 2; q < k; ++q) tile[i * k + q] = {};
      }
      return;
    }
  }
#endif
  pack_elements<T>(x, stride, step, rows, terms, tile + at * rows, rows);
}

/// Vectors of the panel that begins at `column` of n.
template <class S>
constexpr std::int64_t vectors_of_panel(std::int64_t column, std::int64_t n) {
  const std::int64_t vectors = (n - column + Vec<S>::size - 1) / Vec<S>::size;
  return vectors < panel_vectors ? vectors : panel_vectors;
}

template <class S>
inline constexpr std::int64_t panel_columns = panel_vectors * Vec<S>::size;

/// Whether T is computed with by vectors of float or double; integers take simple loops.
template <class T>
inline constexpr bool is_real = std::is_floating_point_v<compute_t<T>>;

}  // namespace detail

/// The right operand b [k, n] of a product, packed: panels of columns, each [k][panel columns] of W:
/// the compute type, or for float also half or pairs of terms in bfloat16. It is 64-byte aligned and
/// fits the instruction set the packing function was compiled for, pairs also the machine.
template <class T, class W = compute_t<T>>
struct PackedB {
  const W* data = nullptr;
  std::int64_t rows = 0, columns = 0;
};

/// The left operand a [m, k], packed: groups of rows, each [k][rows], or [rows][k] for AMX. It is made for
/// a right one of W.
template <class T, class W = compute_t<T>>
struct PackedA {
  const left_t<compute_t<T>, W>* data = nullptr;
  std::int64_t rows = 0, columns = 0;
};

namespace detail {
/// Elements W that hold k terms; for AMX they fill its registers' steps.
template <class W>
constexpr std::int64_t elements_of(std::int64_t k) {
  const std::int64_t elements = (k + terms_of<W> - 1) / terms_of<W>;
  return takes_amx<W>() ? round_up(elements, amx_steps) : elements;
}
}  // namespace detail

template <class T, class W = compute_t<T>>
constexpr std::int64_t packed_b_bytes(std::int64_t k, std::int64_t n) {
  constexpr std::int64_t N = detail::is_real<T> ? Vec<compute_t<T>>::size : 1;
  return detail::elements_of<W>(k) * ((n + N - 1) / N * N) * std::int64_t(sizeof(W));
}

template <class T, class W = compute_t<T>>
constexpr std::int64_t packed_a_bytes(std::int64_t m, std::int64_t k) {
  return m * detail::elements_of<W>(k) * std::int64_t(sizeof(left_t<compute_t<T>, W>));
}

namespace detail {

/// Packs the panels [first, last) of b; `packed` is where panel `first` goes. Rows in memory are
/// read in bands, so that reading is sequential.
template <class T, class W = compute_t<T>>
void pack_panels(Matrix<const T> b, std::int64_t first, std::int64_t last, W* packed) {
  using S = compute_t<T>;
  const std::int64_t band = b.row_stride == 1 || b.rows == 0 ? b.rows : band_rows * terms_of<W>;
  for (std::int64_t q = 0; q < b.rows; q += band) {
    const std::int64_t steps = b.rows - q < band ? b.rows - q : band;
    for (std::int64_t p = first; p < last; ++p) {
      const std::int64_t j = p * panel_columns<S>;
      const std::int64_t width = vectors_of_panel<S>(j, b.columns) * Vec<S>::size;
      pack_elements<T>(
          b.data + j * b.column_stride + q * b.row_stride, b.column_stride, b.row_stride,
          b.columns - j < width ? b.columns - j : width, steps,
          packed + (j - first * panel_columns<S>)*elements_of<W>(b.rows) + q / terms_of<W> * width,
          width);
    }
  }
  if constexpr (terms_of<W> == 2) {
    const std::int64_t k = elements_of<W>(b.rows), used = (b.rows + 1) / 2;
    for (std::int64_t p = first; used < k && p < last; ++p) {
      const std::int64_t j = p * panel_columns<S>;
      const std::int64_t width = vectors_of_panel<S>(j, b.columns) * Vec<S>::size;
      W* const panel = packed + (j - first * panel_columns<S>)*k;
      for (std::int64_t i = used * width; i < k * width; ++i) panel[i] = {};
    }
  }
}

}  // namespace detail

/// Packs b into packed_b_bytes<T, W>(b.rows, b.columns) bytes, 64-byte aligned; void: W is the compute
/// type.
template <class W = void, class T>
auto pack_b(Matrix<T> b, void* packed) {
  using E = std::remove_const_t<T>;
  using S = compute_t<E>;
  using Element = std::conditional_t<std::is_void_v<W>, S, W>;
  auto* const to = static_cast<Element*>(packed);
  if constexpr (detail::is_real<E>) {
    detail::pack_panels<E, Element>(b, 0, Parts(b.columns, detail::panel_columns<S>).parts, to);
  } else {
    for (std::int64_t i = 0; i < b.rows; ++i) {
      for (std::int64_t j = 0; j < b.columns; ++j) to[i * b.columns + j] = b(i, j);
    }
  }
  return PackedB<E, Element>{to, b.rows, b.columns};
}

/// Packs `count` columns of a, from column `first` on, into their part of packed_a_bytes<T, W>(a.rows,
/// a.columns) bytes, 64-byte aligned; void: W is the compute type. Terms of an element belong together.
template <class W = void, class T>
auto pack_a_columns(Matrix<T> a, std::int64_t first, std::int64_t count, void* packed) {
  using E = std::remove_const_t<T>;
  using S = compute_t<E>;
  using Element = std::conditional_t<std::is_void_v<W>, S, W>;
  auto* const to = static_cast<left_t<S, Element>*>(packed);
  if constexpr (detail::is_real<E>) {
    const Parts tiles(a.rows, detail::rows_of_tile<Element>());
    for (std::int64_t t = 0; t < tiles.parts; ++t) {
      const std::int64_t i = tiles.begin(t), rows = tiles.begin(t + 1) - i;
      const std::int64_t k = detail::elements_of<Element>(a.columns);
      detail::pack_tile<E>(a.data + i * a.row_stride + first * a.column_stride, a.row_stride,
                           a.column_stride, rows, count, to + i * k, k, first / terms_of<Element>,
                           first + count == a.columns);
    }
  } else {
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t j = first; j < first + count; ++j) to[i * a.columns + j] = a(i, j);
    }
  }
  return PackedA<E, Element>{to, a.rows, a.columns};
}
template <class W = void, class T>
auto pack_a(Matrix<T> a, void* packed) {
  return pack_a_columns<W>(a, 0, a.columns, packed);
}

}  // namespace halftone::kernel
