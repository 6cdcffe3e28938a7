#pragma once

#include <cstdint>
#include <halftone/kernel/tile.hpp>

/// Tiles whose sums are in AMX's registers: 16 rows of 16 sums each, to which an instruction adds 16 steps of
/// pairs in bfloat16 or of four bytes. A sum takes 16 steps at a time, counted from its first one, however
/// many rows a tile has.
/// source  Intel 64 and IA-32 Architectures Software Developer's Manual, TDPBF16PS, TDPBUSD, TDPBSSD
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#define HALFTONE_AMX HALFTONE_AVX512
#else
#define HALFTONE_AMX 0
#endif

namespace halftone::kernel::detail {

/// Rows, and steps, of a register.
inline constexpr std::int64_t amx_rows = 16, amx_steps = 16;
/// Rows of a tile, and its vectors: four registers of sums.
inline constexpr std::int64_t amx_tile_rows = 2 * amx_rows, amx_tile_vectors = 2;

/// Steps that a register takes at once of runs of so many: it need not be full, since one that is left over
/// with few steps would have to be filled up each time.
constexpr std::int64_t amx_steps_of(std::int64_t run) {
  const std::int64_t least = (run + amx_steps - 1) / amx_steps;
  for (std::int64_t parts = least; parts <= 2 * least && parts > 0; ++parts) {
    if (run % parts == 0) return run / parts;
  }
  return amx_steps;
}

/// Whether the processor has these registers and Linux, which keeps 8 KiB a thread for them, lets this
/// process use them.
inline bool has_amx() {
#if defined(__x86_64__) && defined(__linux__)
  static const bool has = [] {
    if (!__builtin_cpu_supports("amx-bf16") || !__builtin_cpu_supports("amx-int8")) return false;
    constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XTILEDATA
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return has;
#else
  return false;
#endif
}

/// Whether products of pairs, or of bytes, take these tiles.
inline bool multiplies_in_amx() { return HALFTONE_AMX && has_precisions && has_amx(); }
inline bool multiplies_bytes_in_amx() { return HALFTONE_AMX && has_amx(); }

#if HALFTONE_AMX
/// A step adds the products of a pair, or those of four bytes, unsigned or signed, by four signed ones.
enum class AmxStep : std::uint8_t { pair, unsigned_bytes, signed_bytes };

/// AMX's registers, from the first shape that they get to the destruction of this object: 0 to 3 hold the
/// sums of both vectors of the first rows, then of the second ones; 4 and 5 rows; 6 and 7 weights.
class AmxRegisters {
 public:
  explicit AmxRegisters(std::int64_t steps) : steps_(steps) {}
  AmxRegisters(const AmxRegisters&) = delete;
  AmxRegisters& operator=(const AmxRegisters&) = delete;
  ~AmxRegisters() {
    if (first_ > 0) asm volatile("tilerelease" ::: "memory");
  }

  static constexpr std::int64_t line = 64;  ///< bytes of a register's row

  std::int64_t steps() const { return steps_; }
  std::int64_t first() const { return first_; }
  std::int64_t second() const { return second_; }

  /// Up to amx_tile_rows rows, in two groups where one register does not hold them.
  void shape(std::int64_t rows) {
    const std::int64_t first = rows > amx_rows ? (rows + 1) / 2 : rows;
    shape(first, rows - first);
  }
  void shape(std::int64_t first, std::int64_t second) {
    if (first == first_ && second == second_) return;
    first_ = first;
    second_ = second;
    struct {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {};
      std::uint8_t rows[16] = {};
    } shape;
    const std::int64_t rows[] = {first, first, second, second, first, second, steps_, steps_};
    for (int i = 0; i < 8; ++i) {
      const bool has_terms = i == 4 || i == 5;
      shape.rows[i] = std::uint8_t(rows[i] > 0 ? rows[i] : 1);
      shape.row_bytes[i] = std::uint16_t(has_terms ? steps_ * 4 : line);
    }
    asm volatile("ldtilecfg %0" ::"m"(shape) : "memory");
  }

  /// Calls f.operator()<R, V>() for the groups of rows that there are, and one or two vectors.
  template <class F>
  void with_counts(std::int64_t vectors, F&& f) const {
    if (second_ > 0) {
      vectors > 1 ? f.template operator()<2, 2>() : f.template operator()<2, 1>();
    } else {
      vectors > 1 ? f.template operator()<1, 2>() : f.template operator()<1, 1>();
    }
  }

#define HALFTONE_AMX_LOAD(tile, from, bytes) \
  asm volatile("tileloadd (%0, %1, 1), %%tmm" #tile ::"r"(from), "r"(bytes) : "memory")
#define HALFTONE_AMX_STORE(tile, to, bytes) \
  asm volatile("tilestored %%tmm" #tile ", (%0, %1, 1)" ::"r"(to), "r"(bytes) : "memory")
#define HALFTONE_AMX_ADD(rows, weights, sums)                                              \
  if constexpr (step == AmxStep::pair) {                                                   \
    asm volatile("tdpbf16ps %%tmm" #weights ", %%tmm" #rows ", %%tmm" #sums ::: "memory"); \
  } else if constexpr (step == AmxStep::unsigned_bytes) {                                  \
    asm volatile("tdpbusd %%tmm" #weights ", %%tmm" #rows ", %%tmm" #sums ::: "memory");   \
  } else {                                                                                 \
    asm volatile("tdpbssd %%tmm" #weights ", %%tmm" #rows ", %%tmm" #sums ::: "memory");   \
  }

  static void clear() {
    asm volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" ::
                     : "memory");
  }
  /// Sums of R groups of rows and V vectors, which lie `row` and `vector` words apart.
  template <int R, int V>
  void load(const void* sums, std::int64_t row, std::int64_t vector) const {
    const auto* const from = static_cast<const std::uint32_t*>(sums);
    const std::int64_t bytes = 4 * row;
    HALFTONE_AMX_LOAD(0, from, bytes);
    if constexpr (V == 2) HALFTONE_AMX_LOAD(1, from + vector, bytes);
    if constexpr (R == 2) HALFTONE_AMX_LOAD(2, from + first_ * row, bytes);
    if constexpr (R == 2 && V == 2) HALFTONE_AMX_LOAD(3, from + first_ * row + vector, bytes);
  }
  template <int R, int V>
  void store(void* sums, std::int64_t row, std::int64_t vector) const {
    auto* const to = static_cast<std::uint32_t*>(sums);
    const std::int64_t bytes = 4 * row;
    HALFTONE_AMX_STORE(0, to, bytes);
    if constexpr (V == 2) HALFTONE_AMX_STORE(1, to + vector, bytes);
    if constexpr (R == 2) HALFTONE_AMX_STORE(2, to + first_ * row, bytes);
    if constexpr (R == 2 && V == 2) HALFTONE_AMX_STORE(3, to + first_ * row + vector, bytes);
  }
  /// Adds steps() steps: rows of both groups, and weights, that lie so many bytes apart.
  template <AmxStep step, int R, int V>
  HALFTONE_INLINE static void add(const void* first, std::int64_t first_bytes, const void* second,
                                  std::int64_t second_bytes, const void* w, std::int64_t w_bytes) {
    HALFTONE_AMX_LOAD(6, w, w_bytes);
    HALFTONE_AMX_LOAD(4, first, first_bytes);
    HALFTONE_AMX_ADD(4, 6, 0)
    if constexpr (V == 2) {
      HALFTONE_AMX_LOAD(7, static_cast<const char*>(w) + line, w_bytes);
      HALFTONE_AMX_ADD(4, 7, 1)
    }
    if constexpr (R == 2) {
      HALFTONE_AMX_LOAD(5, second, second_bytes);
      HALFTONE_AMX_ADD(5, 6, 2)
    }
    if constexpr (R == 2 && V == 2) {
      HALFTONE_AMX_ADD(5, 7, 3)
    }
  }
  /// Adds the last, fewer steps; those that fill a register up are zeros.
  template <AmxStep step, int R, int V>
  void add_last(const char* first, std::int64_t first_bytes, const char* second,
                std::int64_t second_bytes, const char* w, std::int64_t w_bytes,
                std::int64_t steps) const {
    using Words = Vec<std::uint32_t>;
    alignas(64) std::uint32_t rows[R * amx_rows * amx_steps], weights[amx_steps * V * Words::size];
    const auto copy = [](const char* from, std::int64_t words, std::uint32_t* to) {
      Words::load_partial(reinterpret_cast<const std::uint32_t*>(from), words).store(to);
    };
    for (std::int64_t i = 0; i < first_; ++i) {
      copy(first + i * first_bytes, steps, rows + i * amx_steps);
    }
    for (std::int64_t i = 0; R == 2 && i < second_; ++i) {
      copy(second + i * second_bytes, steps, rows + (amx_rows + i) * amx_steps);
    }
    for (std::int64_t q = 0; q < steps_; ++q) {
      for (int v = 0; v < V; ++v) {
        copy(w + (q < steps ? q : 0) * w_bytes + v * line, q < steps ? Words::size : 0,
             weights + (q * V + v) * Words::size);
      }
    }
    add<step, R, V>(rows, line, rows + (R - 1) * amx_rows * amx_steps, line, weights, V * line);
  }
#undef HALFTONE_AMX_LOAD
#undef HALFTONE_AMX_STORE
#undef HALFTONE_AMX_ADD

 private:
  std::int64_t steps_, first_ = 0, second_ = 0;
};
#endif

/// Computes tiles of pairs. Sums to which a residual is added, that are clamped, or that become pairs are
/// stored beside the next tile's products, or by flush(): they go through memory, and the processor
/// does not forward what a register of AMX stores, so that they would be waited for. Tiles are read where they
/// are: the processor does not forward a few fields to a copy of them all, either.
class AmxTiles {
 public:
  using PairTile = Tile<float, BfloatPair>;

  /// `steps`: that a register takes at once. `makes_pairs`: y gets two vectors at most, which become one line
  /// of bfloat16, the second one zero if there is none; `residual_in_pairs`: so does the residual lie.
  explicit AmxTiles([[maybe_unused]] std::int64_t steps = amx_steps,
                    [[maybe_unused]] bool makes_pairs = false,
                    [[maybe_unused]] bool residual_in_pairs = false)
#if HALFTONE_AMX
      : registers_(steps),
        makes_pairs_(makes_pairs),
        residual_in_pairs_(residual_in_pairs)
#endif
  {
  }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  ~AmxTiles() { flush(); }

  /// A tile of `first` rows, x_row apart, and of `second` ones from element `second_offset` on; both in
  /// [0, amx_rows], first > 0. The weights of a step lie w_step elements behind those of the step before;
  /// x_step is 1.
  void run([[maybe_unused]] const PairTile& t, [[maybe_unused]] std::int64_t first,
           [[maybe_unused]] std::int64_t second, [[maybe_unused]] std::int64_t second_offset,
           [[maybe_unused]] std::int64_t vectors) {
#if HALFTONE_AMX
    registers_.shape(first, second);
    registers_.with_counts(vectors, [&]<int R, int V>() {
      compute<R, V>(t, 0, 0, second_offset, t.ahead, t.ahead_step);
    });
#endif
  }

  /// The same for any number of rows that are x_row apart, and of vectors.
  void run_rows([[maybe_unused]] const PairTile& t, [[maybe_unused]] std::int64_t rows,
                [[maybe_unused]] std::int64_t vectors) {
#if HALFTONE_AMX
    // Each pass fetches its share of what is needed next.
    const std::int64_t passes =
        Parts(vectors, amx_tile_vectors).parts * Parts(rows, amx_tile_rows).parts;
    if (passes == 0) return;
    const std::int64_t ahead_step = (t.ahead_step + passes - 1) / passes;
    const char* ahead = t.ahead;
    for (std::int64_t v = 0; v < vectors; v += amx_tile_vectors) {
      for (std::int64_t row = 0; row < rows; row += amx_tile_rows) {
        registers_.shape(rows - row < amx_tile_rows ? rows - row : amx_tile_rows);
        registers_.with_counts(vectors - v, [&]<int R, int V>() {
          ahead = compute<R, V>(t, row, v, registers_.first() * t.x_row, ahead, ahead_step);
        });
      }
    }
#endif
  }

  /// Stores what waits: before somebody else reads y.
  void flush() {
#if HALFTONE_AMX
    if (waiting_.rows > 0) store_waiting(waiting_.rows);
#endif
  }

 private:
#if HALFTONE_AMX
  /// The tile's rows from `row` on and its vectors from `vector` on; see run() for `second`. A step fetches
  /// ahead_step bytes from `ahead` on; returns where the next pass goes on with that.
  template <int R, int V>
  const char* compute(const PairTile& t, std::int64_t row, std::int64_t vector, std::int64_t second,
                      const char* ahead, std::int64_t ahead_step) {
    constexpr std::int64_t N = Vec<float>::size;
    float* const y = t.y + row * t.y_row + vector * t.y_vector;
    if (t.accumulate) {
      flush();
      registers_.load<R, V>(y, t.y_row, t.y_vector);
    } else if (t.bias != nullptr) {
      registers_.load<R, V>(t.bias + vector * N, 0, N);  // the same for all rows
    } else {
      registers_.clear();
    }
    const std::int64_t x_bytes = 4 * t.x_row, w_bytes = 4 * t.w_step, at_once = registers_.steps();
    const BfloatPair* const first = t.x + row * t.x_row;
    const char* w = reinterpret_cast<const char*>(t.w + vector * N);
    const std::int64_t beside = rows_beside_step(t);
    for (std::int64_t s = 0; s < t.segment_count; ++s) {
      const char* x = reinterpret_cast<const char*>(first + t.segments[s].offset);
      std::int64_t q = t.segments[s].steps;
      for (; q >= at_once; q -= at_once, x += 4 * at_once, w += at_once * w_bytes) {
        registers_.add<AmxStep::pair, R, V>(x, x_bytes, x + 4 * second, x_bytes, w, w_bytes);
        if (waiting_.rows > 0) store_waiting(beside);
        for (std::int64_t b = 0; b < at_once * ahead_step; b += AmxRegisters::line) {
          __builtin_prefetch(ahead + b, 0, 2);
        }
        ahead += at_once * ahead_step;
      }
      if (q == 0) continue;
      registers_.add_last<AmxStep::pair, R, V>(x, x_bytes, x + 4 * second, x_bytes, w, w_bytes, q);
      w += q * w_bytes;
    }
    if (t.residual == nullptr && !t.clamp && !makes_pairs_) {
      registers_.store<R, V>(y, t.y_row, t.y_vector);
      return ahead;
    }
    flush();
    registers_.store<R, V>(sums_, V * N, N);
    waiting_.y = y;
    waiting_.y_row = t.y_row;
    waiting_.y_vector = t.y_vector;
    waiting_.residual = t.residual;
    if (t.residual != nullptr) waiting_.residual += row * t.residual_row + vector * t.y_vector;
    waiting_.residual_row = t.residual_row;
    waiting_.rows = registers_.first() + (R == 2 ? registers_.second() : 0);
    waiting_.vectors = V;
    waiting_.clamp = t.clamp;
    waiting_.lower = t.lower;
    waiting_.upper = t.upper;
    return ahead;
  }

  /// Rows that are stored beside a step: so many that take less time than its products do, or those that
  /// all steps together have to.
  std::int64_t rows_beside_step(const PairTile& t) const {
    constexpr std::int64_t least = 4;
    if (t.segment_count == 0 || t.segments[0].steps == 0) return least;  // there is no step
    const std::int64_t at_once = registers_.steps();
    const std::int64_t steps = t.segment_count * ((t.segments[0].steps + at_once - 1) / at_once);
    return steps * least >= amx_tile_rows ? least : (amx_tile_rows + steps - 1) / steps;
  }
  enum class Residual : std::uint8_t { none, floats, pairs };

  /// Stores up to so many more of the rows that wait.
  void store_waiting(std::int64_t count) {
    const std::int64_t begin = waiting_.stored, left = waiting_.rows - begin;
    const std::int64_t end = begin + (count < left ? count : left);
    if (waiting_.residual == nullptr) {
      store_rows<Residual::none>(begin, end);
    } else if (residual_in_pairs_) {
      store_rows<Residual::pairs>(begin, end);
    } else {
      store_rows<Residual::floats>(begin, end);
    }
    waiting_.stored = end;
    if (end == waiting_.rows) waiting_.rows = waiting_.stored = 0;
  }
  template <Residual residual>
  void store_rows(std::int64_t begin, std::int64_t end) {
    if (waiting_.clamp) {
      makes_pairs_ ? store_pairs<residual, true>(begin, end)
                   : store_floats<residual, true>(begin, end);
    } else {
      makes_pairs_ ? store_pairs<residual, false>(begin, end)
                   : store_floats<residual, false>(begin, end);
    }
  }

  /// The sum of row i and vector v, with what is done to it.
  template <Residual residual, bool clamps>
  HALFTONE_INLINE Vec<float> finished(std::int64_t i, std::int64_t v) const {
    using Lanes = Vec<float>;
    Lanes sum = Lanes::load(sums_ + (i * waiting_.vectors + v) * Lanes::size);
    const std::int64_t row = i * waiting_.residual_row;
    if constexpr (residual == Residual::floats) {
      sum += Lanes::load(waiting_.residual + row + v * waiting_.y_vector);
    }
    if constexpr (residual == Residual::pairs) {
      sum += load_half_of_block<Lanes::size>(waiting_.residual + row, v == 1);
    }
    if constexpr (clamps) sum = clamp(sum, Lanes(waiting_.lower), Lanes(waiting_.upper));
    return sum;
  }
  template <Residual residual, bool clamps>
  void store_floats(std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = 0; v < waiting_.vectors; ++v) {
      float* y = waiting_.y + v * waiting_.y_vector + begin * waiting_.y_row;
      for (std::int64_t i = begin; i < end; ++i, y += waiting_.y_row) {
        finished<residual, clamps>(i, v).store(y);
      }
    }
  }
  template <Residual residual, bool clamps>
  HALFTONE_BF16 void store_pairs(std::int64_t begin, std::int64_t end) {
    float* y = waiting_.y + begin * waiting_.y_row;
    for (std::int64_t i = begin; i < end; ++i, y += waiting_.y_row) {
      const Vec<float> first = finished<residual, clamps>(i, 0);
      const Vec<float> second =
          waiting_.vectors == 2 ? finished<residual, clamps>(i, 1) : Vec<float>(0.f);
      const auto pairs = rounded_pairs(first, second);
      __builtin_memcpy(y, &pairs, sizeof pairs);
    }
  }

  /// This says where sums_ go, and what they become on the way.
  struct Waiting {
    float* y = nullptr;
    const float* residual = nullptr;
    std::int64_t y_row = 0, y_vector = 0, residual_row = 0;
    std::int64_t rows = 0, vectors = 0;  ///< rows 0: nothing waits
    std::int64_t stored = 0;             ///< of the rows
    float lower = 0, upper = 0;
    bool clamp = false;
  };

  AmxRegisters registers_;
  bool makes_pairs_, residual_in_pairs_;
  Waiting waiting_;
  alignas(64) float sums_[amx_tile_rows * amx_tile_vectors * Vec<float>::size];
#endif
};

/// Weights that are no pairs have no tiles of AMX; this takes no memory.
struct NoAmxTiles {
  explicit NoAmxTiles(std::int64_t = 0, bool = false, bool = false) {}
  void flush() {}
};
template <class W>
using AmxTilesOf = std::conditional_t<terms_of<W> == 2, AmxTiles, NoAmxTiles>;

}  // namespace halftone::kernel::detail
