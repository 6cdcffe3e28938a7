#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/gemm_packed.hpp>
#include <halftone/kernel/requantize.hpp>

/// The product of matrices of bytes by VNNI or AMX: sums of four products of an unsigned and a signed byte
/// in each lane of int32. Where the machine has no such instruction, integer_product.hpp computes in
/// float, which gives the same sums.
namespace halftone::kernel::detail {

#if HALFTONE_AVX512 && defined(__AVX512VNNI__)
#define HALFTONE_VNNI
#elif HALFTONE_AVX512
#define HALFTONE_VNNI __attribute__((target("avx512vnni")))
#endif

/// Whether kernels of this instruction set have the product of bytes, on a machine that has it too.
#if HALFTONE_AVX512
inline constexpr bool can_multiply_bytes = true;
#else
inline constexpr bool can_multiply_bytes = false;
#endif

/// Whether this machine runs them. A program that plans when it is compiled knows only its flags.
constexpr bool multiplies_bytes() {
#if HALFTONE_AVX512 && defined(__AVX512VNNI__)
  return true;
#elif HALFTONE_AVX512
  if (std::is_constant_evaluated()) return false;
  return __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}

/// The left operand lies in tiles of rows, the right one in panels of columns, both with four terms
/// side by side and the terms padded to a multiple of four.
inline constexpr std::int64_t byte_rows = 12, byte_lanes = 16, byte_columns = 2 * byte_lanes;
/// Rows whose sums wait in the first cache.
inline constexpr std::int64_t byte_rows_at_once = 96;
/// Rows of a tile.
inline std::int64_t rows_of_byte_tile() {
  return multiplies_bytes_in_amx() ? amx_tile_rows : byte_rows;
}
/// Bytes of the left operand that a task goes through for each panel, and of the right operand that
/// are packed at once; both stay in L2.
inline constexpr std::int64_t byte_group = std::int64_t{1} << 18;
inline constexpr std::int64_t byte_block = std::int64_t{1} << 19;
/// Panels whose lines are asked for together.
inline constexpr std::int64_t byte_strip = 8;

/// Sizes of the packed operands of an [m, k] by [k, n] product. The terms are `runs` equal runs,
/// each padded to a multiple of four.
struct ByteShape {
  std::int64_t m, n, k, runs = 1;

  constexpr std::int64_t terms() const { return runs * round_up(k / runs, 4); }
  constexpr std::int64_t columns() const { return round_up(n, byte_lanes); }
  /// The rows and their sums.
  constexpr std::int64_t a_bytes() const { return round_up(m * terms(), 64) + round_up(4 * m, 64); }
  /// The columns and their sums.
  constexpr std::int64_t b_bytes() const { return columns() * terms() + 4 * columns(); }
  constexpr std::int64_t panels() const { return (n + byte_columns - 1) / byte_columns; }
  /// Panels that are packed at once on the way.
  constexpr std::int64_t panels_at_once() const {
    const std::int64_t fit = k == 0 ? panels() : byte_block / (terms() * byte_columns);
    const std::int64_t strips = fit < byte_strip ? 1 : fit / byte_strip;
    return strips * byte_strip < panels() ? strips * byte_strip : panels();
  }
  /// Scratch memory for operands that are not packed and for zero points.
  constexpr std::int64_t workspace_bytes() const {
    const ByteShape block{m, panels_at_once() * byte_columns, k, runs};
    return 64 + a_bytes() + block.b_bytes() + 2 * round_up(4 * m, 64) + 4 * columns();
  }
};

/// How a byte becomes one of the operand's sign: 128 more or less is the same change of a bit.
template <class T>
inline constexpr std::uint8_t flip_left = std::is_signed_v<T> ? 0x80 : 0;
template <class T>
inline constexpr std::uint8_t flip_right = std::is_signed_v<T> ? 0 : 0x80;
/// A zero point grows by this when its bytes are flipped.
template <class T>
inline constexpr std::int32_t shift_left = std::is_signed_v<T> ? 128 : 0;
template <class T>
inline constexpr std::int32_t shift_right = std::is_signed_v<T> ? 0 : -128;

/// Packs the rows of a tile; fill(row, term, count, to) gives a piece of a row.
template <class A, class Fill>
void pack_byte_tile(const ByteShape& s, Fill&& fill, std::int64_t row, std::int64_t rows,
                    std::uint8_t* to, std::int32_t* sums) {
  constexpr std::int64_t piece = 512;
  std::uint8_t line[piece];
  const std::int64_t length = s.k / s.runs, stride = round_up(length, 4);
  const bool has_words = !multiplies_bytes_in_amx();  // of one row behind those of another
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int32_t sum = 0;
    for (std::int64_t run = 0; run < s.runs; ++run) {
      for (std::int64_t q = 0; q < length; q += piece) {
        const std::int64_t count = length - q < piece ? length - q : piece;
        fill(row + i, run * length + q, count, line);
        std::int32_t part = 0;
        for (std::int64_t j = 0; j < count; ++j) {
          line[j] = static_cast<std::uint8_t>(line[j] ^ flip_left<A>);
          part += line[j];
        }
        sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) +
                                        static_cast<std::uint32_t>(part));
        for (std::int64_t j = count; j < round_up(count, 4); ++j) line[j] = 0;
        if (!has_words) {
          __builtin_memcpy(to + i * s.terms() + run * stride + q, line,
                           std::size_t(round_up(count, 4)));
          continue;
        }
        std::uint8_t* out = to + (run * stride + q) * rows + i * 4;
        for (std::int64_t j = 0; j < count; j += 4) __builtin_memcpy(out + j * rows, line + j, 4);
      }
    }
    sums[i] = sum;
  }
}

/// Packs the panels [first, last), at most byte_strip of them; fill(term, column, count, to) gives
/// a piece of a line.
template <class B, class Fill>
void pack_byte_panels(const ByteShape& s, Fill&& fill, std::int64_t first, std::int64_t last,
                      std::uint8_t* to, std::int32_t* sums) {
  constexpr std::int64_t most = byte_strip * byte_columns;
  std::uint8_t line[4][most] = {};
  std::uint32_t sum[most] = {};
  const std::int64_t column = first * byte_columns;
  const std::int64_t end = last * byte_columns < s.columns() ? last * byte_columns : s.columns();
  const std::int64_t columns = (end < s.n ? end : s.n) - column;
  for (std::int64_t q = 0; q < s.k; q += 4) {
    for (std::int64_t r = 0; r < 4; ++r) {
      if (q + r >= s.k) {
        for (std::int64_t c = 0; c < columns; ++c) line[r][c] = 0;
        continue;
      }
      fill(q + r, column, columns, line[r]);
      for (std::int64_t c = 0; c < columns; ++c) {
        line[r][c] = static_cast<std::uint8_t>(line[r][c] ^ flip_right<B>);
        sum[c] += static_cast<std::uint32_t>(static_cast<std::int8_t>(line[r][c]));
      }
    }
    for (std::int64_t p = column; p < end; p += byte_columns) {
      const std::int64_t width = end - p < byte_columns ? end - p : byte_columns;
      const std::int64_t from = p - column;
      std::uint32_t word[byte_columns];
      for (std::int64_t c = 0; c < width; ++c) {
        word[c] = line[0][from + c] | std::uint32_t{line[1][from + c]} << 8 |
                  std::uint32_t{line[2][from + c]} << 16 | std::uint32_t{line[3][from + c]} << 24;
      }
      __builtin_memcpy(to + from * s.terms() + q * width, word, std::size_t(width) * 4);
    }
  }
  for (std::int64_t c = 0; c < end - column; ++c) sums[c] = static_cast<std::int32_t>(sum[c]);
}

/// Arguments of a tile of the product.
struct ByteTile {
  const std::uint8_t *a, *b;
  std::int64_t steps;  ///< of four terms
  const std::int32_t *row_terms, *zero_rows, *zero_columns, *column_sums;
  /// All rows have one zero point and all columns have one, which row_terms are multiplied by.
  bool is_even;
  std::int32_t* y;
  std::int64_t y_row;
};

#if HALFTONE_AVX512
using ByteWords = raw_t<std::uint32_t, int(byte_lanes)>;

/// Adds the products of four unsigned and four signed bytes in each lane to its sum, modulo 2^32.
HALFTONE_VNNI __attribute__((always_inline)) inline ByteWords add_products(ByteWords sums,
                                                                           ByteWords left,
                                                                           ByteWords right) {
  using Lanes = raw_t<int, int(byte_lanes)>;
#ifdef __clang__
  return (ByteWords)__builtin_ia32_vpdpbusd512((Lanes)sums, (Lanes)left, (Lanes)right);
#else
  return (ByteWords)__builtin_ia32_vpdpbusd_v16si((Lanes)sums, (Lanes)left, (Lanes)right);
#endif
}

/// H rows by V vectors of sums. They begin with what the zero points z of rows and columns add to
/// the sum of products: z_column (k z_row - sum of the row) - z_row (sum of the column).
template <int H, int V>
HALFTONE_VNNI void run_byte_tile(const ByteTile& t) {
  ByteWords sum[H][V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    ByteWords zeros, columns;
    __builtin_memcpy(&zeros, t.zero_columns + v * byte_lanes, sizeof(zeros));
    __builtin_memcpy(&columns, t.column_sums + v * byte_lanes, sizeof(columns));
    if (t.is_even) {
      columns *= static_cast<std::uint32_t>(t.zero_rows[0]);
#pragma GCC unroll 16
      for (int i = 0; i < H; ++i) {
        sum[i][v] = ByteWords{} + static_cast<std::uint32_t>(t.row_terms[i]) - columns;
      }
      continue;
    }
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
      sum[i][v] = zeros * static_cast<std::uint32_t>(t.row_terms[i]) -
                  columns * static_cast<std::uint32_t>(t.zero_rows[i]);
    }
  }
  const std::uint8_t *a = t.a, *b = t.b;
  for (std::int64_t q = 0; q < t.steps; ++q) {
    ByteWords right[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) __builtin_memcpy(&right[v], b + v * 64, 64);
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
      std::uint32_t four;
      __builtin_memcpy(&four, a + i * 4, 4);
      const ByteWords left = ByteWords{} + four;
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[i][v] = add_products(sum[i][v], left, right[v]);
    }
    a += H * 4;
    b += V * 64;
  }
#pragma GCC unroll 16
  for (int i = 0; i < H; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      __builtin_memcpy(t.y + i * t.y_row + v * byte_lanes, &sum[i][v], sizeof(ByteWords));
    }
  }
}

#if HALFTONE_AMX
/// The same in AMX's registers. Sums wait for what is added to them until the next tile's products, flush() or
/// the end, as those of AmxTiles do.
class AmxByteTiles {
 public:
  explicit AmxByteTiles(std::int64_t steps) : registers_(steps) {}
  AmxByteTiles(const AmxByteTiles&) = delete;
  AmxByteTiles& operator=(const AmxByteTiles&) = delete;
  ~AmxByteTiles() { flush(); }

  /// All that a tile points to, but for a and b, is read later and has to stay until then.
  void run(const ByteTile& t, std::int64_t rows, std::int64_t vectors) {
    registers_.shape(rows);
    registers_.with_counts(vectors, [&]<int R, int V>() { compute<R, V>(t); });
  }

  /// Stores what waits: before somebody else reads y.
  void flush() {
    if (waiting_.rows == 0) return;
    waiting_.is_even ? store_waiting<true>() : store_waiting<false>();
    waiting_.rows = 0;
  }

 private:
  template <int R, int V>
  void compute(const ByteTile& t) {
    registers_.clear();
    const std::int64_t row = 4 * t.steps, at_once = registers_.steps();
    constexpr std::int64_t w_bytes = V * AmxRegisters::line;
    const char *a = reinterpret_cast<const char*>(t.a), *b = reinterpret_cast<const char*>(t.b);
    const std::int64_t second = registers_.first() * row;
    std::int64_t q = t.steps;
    for (; q >= at_once; q -= at_once, a += 4 * at_once, b += at_once * w_bytes) {
      registers_.add<AmxStep::unsigned_bytes, R, V>(a, row, a + second, row, b, w_bytes);
    }
    if (q > 0) {
      registers_.add_last<AmxStep::unsigned_bytes, R, V>(a, row, a + second, row, b, w_bytes, q);
    }
    flush();
    registers_.store<R, V>(sums_, V * byte_lanes, byte_lanes);
    waiting_.row_terms = t.row_terms;
    waiting_.zero_rows = t.zero_rows;
    waiting_.zero_columns = t.zero_columns;
    waiting_.column_sums = t.column_sums;
    waiting_.is_even = t.is_even;
    waiting_.y = t.y;
    waiting_.y_row = t.y_row;
    waiting_.rows = registers_.first() + (R == 2 ? registers_.second() : 0);
    waiting_.vectors = V;
  }

  template <bool is_even>
  void store_waiting() const {
    for (std::int64_t v = 0; v < waiting_.vectors; ++v) {
      ByteWords zeros, columns;
      __builtin_memcpy(&zeros, waiting_.zero_columns + v * byte_lanes, sizeof(zeros));
      __builtin_memcpy(&columns, waiting_.column_sums + v * byte_lanes, sizeof(columns));
      if constexpr (is_even) columns *= static_cast<std::uint32_t>(waiting_.zero_rows[0]);
      for (std::int64_t i = 0; i < waiting_.rows; ++i) {
        ByteWords sum;
        __builtin_memcpy(&sum, sums_ + (i * waiting_.vectors + v) * byte_lanes, sizeof(sum));
        const auto term = static_cast<std::uint32_t>(waiting_.row_terms[i]);
        if constexpr (is_even) {
          sum += term - columns;
        } else {
          sum += zeros * term - columns * static_cast<std::uint32_t>(waiting_.zero_rows[i]);
        }
        __builtin_memcpy(waiting_.y + i * waiting_.y_row + v * byte_lanes, &sum, sizeof(sum));
      }
    }
  }

  /// This says where sums_ go, and what they become on the way; with rows 0 nothing waits.
  struct Waiting {
    const std::int32_t *row_terms = nullptr, *zero_rows = nullptr;
    const std::int32_t *zero_columns = nullptr, *column_sums = nullptr;
    bool is_even = false;
    std::int32_t* y = nullptr;
    std::int64_t y_row = 0, rows = 0, vectors = 0;
  };

  AmxRegisters registers_;
  Waiting waiting_;
  alignas(64) std::uint32_t sums_[amx_tile_rows * amx_tile_vectors * byte_lanes];
};
#endif

using ByteKernel = void (*)(const ByteTile&);

inline ByteKernel byte_kernel(std::int64_t rows, std::int64_t vectors) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    static constexpr ByteKernel kernels[][2]{{run_byte_tile<I + 1, 1>, run_byte_tile<I + 1, 2>}...};
    return kernels[rows - 1][vectors - 1];
  }(std::make_integer_sequence<int, int(byte_rows)>{});
}
#endif

/// Packs the left operand into ByteShape::a_bytes bytes, 64-byte aligned.
template <class A, class Fill>
void pack_bytes_left(const ByteShape& s, Fill&& fill, void* packed, const Executor& executor) {
  auto* const to = static_cast<std::uint8_t*>(packed);
  auto* const sums = reinterpret_cast<std::int32_t*>(to + round_up(s.m * s.terms(), 64));
  const Parts tiles(s.m, rows_of_byte_tile());
  parallel_for(executor, tiles.parts, [&](std::int64_t t) {
    const std::int64_t row = tiles.begin(t), rows = tiles.begin(t + 1) - row;
    pack_byte_tile<A>(s, fill, row, rows, to + row * s.terms(), sums + row);
  });
}

/// Packs the panels [first, last) of the right operand, the sums of their columns behind them;
/// pack(first, last, to, sums) packs up to byte_strip panels.
template <class Pack>
void pack_bytes_right(const ByteShape& s, Pack&& pack, std::int64_t first, std::int64_t last,
                      void* packed, const Executor& executor) {
  auto* const to = static_cast<std::uint8_t*>(packed);
  const std::int64_t column = first * byte_columns;
  const std::int64_t end = last * byte_columns < s.columns() ? last * byte_columns : s.columns();
  auto* const sums = reinterpret_cast<std::int32_t*>(to + (end - column) * s.terms());
  parallel_for(executor, (last - first + byte_strip - 1) / byte_strip, [&](std::int64_t strip) {
    const std::int64_t p = first + strip * byte_strip;
    const std::int64_t at = (p - first) * byte_columns;
    pack(p, p + byte_strip < last ? p + byte_strip : last, to + at * s.terms(), sums + at);
  });
}

/// y[m, n] = sum over k of (a[m, k] - zero_row(m)) (b[k, n] - zero_column(n)), modulo 2^32.
/// packed_a, packed_b: operands packed before, or null for those that fill_a and pack_b give, as
/// pack_bytes_left and pack_bytes_right have them.
/// workspace: ByteShape::workspace_bytes, 64-byte aligned.
template <class A, class B, class FillA, class PackB, class ZeroRow, class ZeroColumn>
void multiply_bytes([[maybe_unused]] const ByteShape& s, [[maybe_unused]] FillA&& fill_a,
                    [[maybe_unused]] PackB&& pack_b, [[maybe_unused]] ZeroRow&& zero_row,
                    [[maybe_unused]] ZeroColumn&& zero_column,
                    [[maybe_unused]] const void* packed_a, [[maybe_unused]] const void* packed_b,
                    [[maybe_unused]] const ByteOutput& y, [[maybe_unused]] void* workspace,
                    [[maybe_unused]] const Executor& executor) {
#if HALFTONE_AVX512
  char* scratch = static_cast<char*>(workspace);
  const auto take = [&](std::int64_t bytes) {
    char* const at = scratch;
    scratch += round_up(bytes, 64);
    return at;
  };
  if (packed_a == nullptr) {
    char* const to = take(s.a_bytes());
    pack_bytes_left<A>(s, fill_a, to, executor);
    packed_a = to;
  }
  const auto* const a = static_cast<const std::uint8_t*>(packed_a);
  const auto* const row_sums =
      reinterpret_cast<const std::int32_t*>(a + round_up(s.m * s.terms(), 64));
  auto* const zero_rows = reinterpret_cast<std::int32_t*>(take(4 * s.m));
  auto* const row_terms = reinterpret_cast<std::int32_t*>(take(4 * s.m));
  for (std::int64_t i = 0; i < s.m; ++i) {
    zero_rows[i] = zero_row(i) + shift_left<A>;
    row_terms[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(s.k) *
                                                 static_cast<std::uint32_t>(zero_rows[i]) -
                                             static_cast<std::uint32_t>(row_sums[i]));
  }
  auto* const zero_columns = reinterpret_cast<std::int32_t*>(take(4 * s.columns()));
  for (std::int64_t j = 0; j < s.columns(); ++j) {
    zero_columns[j] = j < s.n ? zero_column(j) + shift_right<B> : 0;
  }

  // Multiplications of vectors would take as long as a short product.
  bool is_even = true;
  for (std::int64_t i = 1; i < s.m; ++i) is_even = is_even && zero_rows[i] == zero_rows[0];
  for (std::int64_t j = 1; j < s.n; ++j) is_even = is_even && zero_columns[j] == zero_columns[0];
  for (std::int64_t i = 0; is_even && i < s.m; ++i) {
    row_terms[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(row_terms[i]) *
                                             static_cast<std::uint32_t>(zero_columns[0]));
  }

  const std::int64_t tile_height = rows_of_byte_tile(),
                     tiles_at_once = byte_rows_at_once / tile_height;
  const Parts tiles(s.m, tile_height);
  const std::int64_t fit = byte_group / (tile_height * (s.k == 0 ? 4 : s.terms()));
  const Parts groups(tiles.parts, fit < 1 ? 1 : fit);
  const std::int64_t tasks = Parts(task_count(s.m, s.n, s.k), groups.parts).parts;
  const std::int64_t block = packed_b == nullptr ? s.panels_at_once() : s.panels();
  for (std::int64_t p0 = 0; p0 < s.panels(); p0 += block) {
    const std::int64_t p1 = p0 + block < s.panels() ? p0 + block : s.panels();
    const std::int64_t column0 = p0 * byte_columns;
    const std::int64_t end = p1 * byte_columns < s.columns() ? p1 * byte_columns : s.columns();
    const auto* b = static_cast<const std::uint8_t*>(packed_b);
    if (b == nullptr) {
      pack_bytes_right(s, pack_b, p0, p1, scratch, executor);
      b = reinterpret_cast<const std::uint8_t*>(scratch);
    }
    const auto* const column_sums =
        reinterpret_cast<const std::int32_t*>(b + (end - column0) * s.terms());
    const Parts columns(p1 - p0, Parts(p1 - p0, tasks).parts);
    parallel_for(executor, groups.parts * columns.parts, [&](std::int64_t task) {
      const std::int64_t g = task / columns.parts, c = task % columns.parts;
      std::int32_t buffer[byte_rows_at_once * byte_columns];
#if HALFTONE_AMX
      AmxByteTiles amx(amx_steps_of(s.terms() / 4));
#endif
      for (std::int64_t p = p0 + columns.begin(c); p < p0 + columns.begin(c + 1); ++p) {
        const std::int64_t j = p * byte_columns;
        const std::int64_t width = s.columns() - j < byte_columns ? s.columns() - j : byte_columns;
        const std::int64_t given = s.n - j < width ? s.n - j : width;
        ByteTile tile;
        tile.b = b + (j - column0) * s.terms();
        tile.steps = s.terms() / 4;
        tile.is_even = is_even;
        tile.zero_columns = zero_columns + j;
        tile.column_sums = column_sums + (j - column0);
        const bool is_last = y.requantize == nullptr && given == width;
        tile.y_row = is_last ? s.n : byte_columns;
        const std::int64_t end_tile = groups.begin(g + 1);
        for (std::int64_t t = groups.begin(g); t < end_tile;) {
          const std::int64_t first = tiles.begin(t);
          const std::int64_t stop = t + tiles_at_once < end_tile ? t + tiles_at_once : end_tile;
          for (; t < stop; ++t) {
            const std::int64_t i = tiles.begin(t), rows = tiles.begin(t + 1) - i;
            tile.a = a + i * s.terms();
            tile.row_terms = row_terms + i;
            tile.zero_rows = zero_rows + i;
            tile.y = is_last ? y.sums + i * s.n + j : buffer + (i - first) * byte_columns;
#if HALFTONE_AMX
            if (multiplies_bytes_in_amx()) {
              amx.run(tile, rows, width / byte_lanes);
              continue;
            }
#endif
            byte_kernel(rows, width / byte_lanes)(tile);
          }
          if (is_last) continue;
#if HALFTONE_AMX
          amx.flush();
#endif
          const std::int64_t rows = tiles.begin(stop) - first;
          if (y.requantize != nullptr) {
            requantize(*y.requantize, buffer, byte_columns, y.row + first, j, rows, given,
                       y.bytes + first * s.n + j, s.n);
            continue;
          }
          for (std::int64_t r = 0; r < rows; ++r) {
            __builtin_memcpy(y.sums + (first + r) * s.n + j, buffer + r * byte_columns,
                             std::size_t(given) * sizeof(std::int32_t));
          }
        }
      }
    });
  }
#endif
}

}  // namespace halftone::kernel::detail
