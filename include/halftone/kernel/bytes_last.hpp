#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <halftone/base/view.hpp>
#include <halftone/base/window.hpp>
#include <halftone/kernel/byte_planes.hpp>
#include <halftone/kernel/byte_sum.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/gemm_bytes.hpp>
#include <halftone/kernel/last_shape.hpp>
#include <halftone/kernel/requantize.hpp>

/// Convolutions of bytes whose channels lie last: activations [batch, height, width, channels] are
/// read where they are, four channels of a pixel in a word that all lanes share, and a lane has a filter.
/// By channel, a lane has four taps of a channel. Filters have no zero points.
namespace halftone::kernel::detail {

/// Lanes of a panel of filters: as many vectors as there are left, four at most.
inline constexpr std::int64_t last_panel = 4 * byte_lanes;
/// Pixels that a panel of filters goes through before the next one, at most: their sums stay in the first
/// cache.
inline constexpr std::int64_t last_pixels = 64;
/// Tasks at most: threads ask for them one by one.
inline constexpr std::int64_t last_shares = 32;

/// The place of a filter's word in those of its block of 64 channels: the instructions that bring four
/// taps of a channel together leave the lanes in this order.
constexpr std::int64_t word_of_channel(std::int64_t c) {
  const std::int64_t quarter = c % 64 / 16, vector = c % 16 / 4;
  return c / 64 * 64 + vector * 16 + quarter * 4 + c % 4;
}

/// The bytes of a filter lie here: that of a term is at begin + term / 4 * step + term % 4, the sum of
/// all at `sum`.
struct PackedFilter {
  std::int64_t begin, step, sum;

  /// By channel, blocks of 64 filters are [words of taps][64 filters][4 taps], then their sums;
  /// otherwise panels are [words of terms][filters][4 terms], and all sums come behind them.
  constexpr PackedFilter(const LastShape& s, std::int64_t f) {
    if (s.by_channel) {
      begin = f / 64 * 256 * (s.words() + 1) + word_of_channel(f % 64) * 4;
      step = 256;
      sum = begin + s.words() * 256;
      return;
    }
    const std::int64_t panel = f / last_panel * last_panel, rest = s.columns() - panel;
    begin = panel * s.terms() + (f - panel) * 4;
    step = 4 * (rest < last_panel ? rest : last_panel);
    sum = s.columns() * s.terms() + 4 * f;
  }
  constexpr std::int64_t at(std::int64_t term) const { return begin + term / 4 * step + term % 4; }
};

/// Packs filters [filters, channels, taps] as signed bytes.
template <class W>
void pack_last(const LastShape& s, const W* w, void* packed) {
  auto* const to = static_cast<std::int8_t*>(packed);
  __builtin_memset(to, 0, std::size_t(s.packed_bytes()));
  for (std::int64_t f = 0; f < s.filters; ++f) {
    const PackedFilter place(s, f);
    std::int32_t sum = 0;
    for (std::int64_t c = 0; c < s.own_channels(); ++c) {
      for (std::int64_t t = 0; t < s.taps(); ++t, ++w) {
        const auto value = static_cast<std::int8_t>(static_cast<std::uint8_t>(*w) ^ flip_right<W>);
        to[place.at(s.term(t, c))] = value;
        sum += value;
      }
    }
    __builtin_memcpy(to + place.sum, &sum, 4);
  }
}

/// The function finds the runs of neighbouring pixels, rows[run * last_pixels + pixel], for the `count`
/// pixels from `first` on. `beside` is read beside the image; x is its copy where runs are rows. `shares`: the
/// columns of taps that a pixel shares with the one before it are asked for at the begin of a line
/// alone.
inline void find_runs(const LastShape& s, const std::uint8_t* x, const std::uint8_t* beside,
                      std::int64_t first, std::int64_t count, bool shares,
                      const std::uint8_t** rows) {
  const Window& window = s.window;
  const bool is_copy = s.reads_rows();
  const std::int64_t height = is_copy ? s.copied(0) : s.height;
  const std::int64_t width = is_copy ? s.copied(1) : s.width;
  const std::int64_t columns = is_copy ? 1 : window.kernel[1];
  for (std::int64_t p = 0; s.by_channel && p < s.places(); ++p) {
    if (p % (4 * s.column_words()) < window.kernel[0]) continue;
    for (std::int64_t i = 0; i < count; ++i) rows[p * last_pixels + i] = beside;
  }
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t pixel = first + i, image = pixel / s.image(), at = pixel % s.image();
    const std::int64_t line = at / window.output[1], column = at % window.output[1];
    // The rest of a line of outputs.
    const std::int64_t rest = window.output[1] - column;
    const std::int64_t pixels = rest < count - i ? rest : count - i;
    const std::int64_t step = window.strides[1];
    for (std::int64_t r = 0; r < s.runs(); ++r) {
      const std::uint8_t** const to = rows + (s.by_channel ? s.place(r) : r) * last_pixels + i;
      std::int64_t row = line * window.strides[0] + r / columns * window.dilations[0];
      std::int64_t start = column * step + r % columns * window.dilations[1];
      if (!is_copy) {
        row -= window.pad_begin(0);
        start -= window.pad_begin(1);
      }
      const std::uint8_t* const from = x + ((image * height + row) * width + start) * s.channels;
      const bool is_inside = row >= 0 && row < height;
      // Pixels [low, high) have it in the image.
      const std::int64_t end = shares && r % columns + step < columns ? 1 : pixels;
      std::int64_t low = 0, high = is_inside ? end : 0;
      while (low < high && start + low * step < 0) ++low;
      while (low < high && start + (high - 1) * step >= width) --high;
      for (std::int64_t k = 0; k < low; ++k) to[k] = beside;
      const std::uint8_t* inside = from + low * step * s.channels;
      for (std::int64_t k = low; k < high; ++k, inside += step * s.channels) to[k] = inside;
      for (std::int64_t k = high; k < end; ++k) to[k] = beside;
    }
    i += pixels;
  }
}

/// The image with its padding; `beside` is a pixel of that.
inline void copy_padded(const LastShape& s, const std::uint8_t* x, const std::uint8_t* beside,
                        std::uint8_t* to, const Executor& executor) {
  const std::int64_t height = s.copied(0), width = s.copied(1), line = width * s.channels;
  const std::int64_t begin = s.window.pad_begin(1) < width ? s.window.pad_begin(1) : width;
  const std::int64_t given = s.width < width - begin ? s.width : width - begin;
  const auto fill = [&](std::uint8_t* from, std::int64_t pixels) {
    for (std::int64_t i = 0; i < pixels; ++i) {
      __builtin_memcpy(from + i * s.channels, beside, std::size_t(s.channels));
    }
  };
  const Parts parts(s.batch * height, (s.batch * height + last_shares - 1) / last_shares);
  parallel_for(executor, parts.parts, [&](std::int64_t part) {
    for (std::int64_t at = parts.begin(part); at < parts.begin(part + 1); ++at) {
      const std::int64_t row = at % height - s.window.pad_begin(0);
      std::uint8_t* const out = to + at * line;
      const bool is_inside = row >= 0 && row < s.height;
      fill(out, is_inside ? begin : width);
      if (!is_inside) continue;
      const std::int64_t from = (at / height * s.height + row) * s.width * s.channels;
      __builtin_memcpy(out + begin * s.channels, x + from, std::size_t(given * s.channels));
      fill(out + (begin + given) * s.channels, width - begin - given);
    }
  });
  __builtin_memset(to + s.batch * height * line, 0, 4);  // behind the last run
}

/// Sums of filters [first, first + count) for one pixel, modulo 2^32.
inline void sums_of_pixel(const LastShape& s, const std::uint8_t* const* rows,
                          const std::int8_t* filters, std::uint8_t flip, std::int32_t zero,
                          std::int64_t first, std::int64_t count, std::int32_t* y) {
  for (std::int64_t f = first; f < first + count; ++f) {
    const PackedFilter place(s, f);
    std::uint32_t sum = 0;
    for (std::int64_t t = 0; t < s.taps(); ++t) {
      for (std::int64_t c = 0; c < s.own_channels(); ++c) {
        const std::int64_t term = s.term(t, c);
        const std::int64_t run = s.by_channel ? term : term / s.run_bytes();
        const std::uint8_t x = rows[run * last_pixels][s.by_channel ? f : term % s.run_bytes()];
        sum += static_cast<std::uint32_t>(((x ^ flip) - zero) * filters[place.at(term)]);
      }
    }
    y[f - first] = static_cast<std::int32_t>(sum);
  }
}

#if HALFTONE_AVX512
/// Words of 64 channels or filters. No array: GCC would leave that in memory.
struct FourWords {
  ByteWords a, b, c, d;
};

HALFTONE_INLINE ByteWords words_at(const void* from) {
  ByteWords words;
  __builtin_memcpy(&words, from, 64);
  return words;
}

/// Makes the bytes of 64 filters at once where they saturate, see Requantize.
class LastBytes {
  using F = Vec<float, 16>;
  using I = Vec<std::int32_t, 16>;

 public:
  /// All filters share these. A loop has its own copy, since bytes that it stores could change an object.
  struct Common {
    F divisor, inverse;
    I zero;
  };

  /// Filters [first, first + given). by_channel: sums are in the order of word_of_channel. `begin` are
  /// the sums of the filters' weights, and become what sums begin with: the addends are among it where
  /// bytes are made here.
  LastBytes(const Requantize& how, std::int64_t first, std::int64_t given, bool by_channel,
            std::int32_t zero, std::int32_t (&begin)[64])
      : common{how.y.scale, how.y.inverse, static_cast<std::int32_t>(how.y.zero)},
        is_signed_(how.y.is_signed) {
    alignas(64) std::int32_t addend[64];
    load(how.addend, first, given, by_channel, 0, addend);
    load(how.scale, first, given, by_channel, 1.f, scale_);
    load(how.bias, first, given, by_channel, 0.f, bias_);
    for (std::int64_t c = 0; c < 64; ++c) {
      const auto less = static_cast<std::uint32_t>(begin[c]) * static_cast<std::uint32_t>(zero);
      const std::uint32_t more = how.y.is_saturating ? static_cast<std::uint32_t>(addend[c]) : 0;
      begin[c] = static_cast<std::int32_t>(more - less);
    }
  }
  Common common;

  /// The integers of vector `v` of sums, before they saturate.
  HALFTONE_INLINE ByteWords whole(ByteWords sums, int v, const Common& c) const {
    const F sum = convert<float>(I((typename I::raw)sums));
    const F x = apart(sum * F::load(scale_ + 16 * v)) + F::load(bias_ + 16 * v);
    F q = x * c.inverse;
    q = fma(fma(-q, c.divisor, x), c.inverse, q);
    return (ByteWords)(nearest(q) + c.zero).v;
  }
  /// Their bytes: lanes of a quarter follow each other.
  HALFTONE_INLINE ByteLine saturated(const FourWords& words) const {
    using Words = raw_t<int, 16>;
    using Halves = raw_t<short, 32>;
#ifdef __clang__
    const auto low = (Halves)__builtin_ia32_packssdw512((Words)words.a, (Words)words.b);
    const auto high = (Halves)__builtin_ia32_packssdw512((Words)words.c, (Words)words.d);
    if (is_signed_) return (ByteLine)__builtin_ia32_packsswb512(low, high);
    return (ByteLine)__builtin_ia32_packuswb512(low, high);
#else
    const auto low =
        (Halves)__builtin_ia32_packssdw512_mask((Words)words.a, (Words)words.b, Halves{}, -1);
    const auto high =
        (Halves)__builtin_ia32_packssdw512_mask((Words)words.c, (Words)words.d, Halves{}, -1);
    if (is_signed_) {
      return (ByteLine)__builtin_ia32_packsswb512_mask(low, high, ByteLine{}, ~0ull);
    }
    return (ByteLine)__builtin_ia32_packuswb512_mask(low, high, ByteLine{}, ~0ull);
#endif
  }
  /// Stores the first `given` of them in the order of the lanes.
  HALFTONE_INLINE void store(const FourWords& words, std::int64_t given, std::uint8_t* y) const {
    const auto by_quarter = (ByteWords)saturated(words);
    const auto in_order = __builtin_shufflevector(by_quarter, by_quarter, 0, 4, 8, 12, 1, 5, 9, 13,
                                                  2, 6, 10, 14, 3, 7, 11, 15);
    masked_store<1>(y, (ByteLine)in_order, int(given));
  }

 private:
  template <class T>
  static void load(const Requantize::Numbers<T>& numbers, std::int64_t first, std::int64_t given,
                   bool by_channel, T otherwise, T (&to)[64]) {
    alignas(64) T plain[64];
    for (std::int64_t c = 0; c < 64; c += 16) {
      const std::int64_t rest = given - c < 16 ? given - c : 16;
      const auto v =
          rest > 0 ? numbers.template at<16>(first + c, rest, otherwise) : Vec<T, 16>(otherwise);
      v.store((by_channel ? plain : to) + c);
    }
    for (std::int64_t c = 0; by_channel && c < 64; c += 4) {
      __builtin_memcpy(to + word_of_channel(c), plain + c, 4 * sizeof(T));
    }
  }

  alignas(64) float scale_[64], bias_[64];
  bool is_signed_;
};

/// A task computes this part of a panel.
struct LastPart {
  const std::uint8_t* const* rows;
  std::int64_t pixel, count;  ///< the first one, and how many there are
  std::int64_t runs, steps;
  const std::uint8_t* b;
  const std::int32_t* begin;  ///< what sums of filters begin with
  std::int32_t* sums;
  std::int64_t given;      ///< filters
  const LastBytes* bytes;  ///< null: sums are wanted
  std::uint8_t* y;
  std::int64_t y_row;
};

/// Sums of H pixels and V vectors of filters; `flip` makes the bytes of a word unsigned.
template <int H, int V, bool flip>
HALFTONE_VNNI void run_last_tile(const LastPart& t, std::int64_t first) {
  ByteWords sum[H][V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    ByteWords begin;
    __builtin_memcpy(&begin, t.begin + v * byte_lanes, sizeof(begin));
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) sum[i][v] = begin;
  }
  const std::uint8_t* b = t.b;
  for (std::int64_t r = 0; r < t.runs; ++r) {
    const std::uint8_t* row[H];
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) row[i] = t.rows[r * last_pixels + first + i];
    for (std::int64_t q = 0; q < 4 * t.steps; q += 4) {
      ByteWords right[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) __builtin_memcpy(&right[v], b + v * 64, 64);
#pragma GCC unroll 16
      for (int i = 0; i < H; ++i) {
        std::uint32_t four;
        __builtin_memcpy(&four, row[i] + q, 4);
        ByteWords left = ByteWords{} + four;
        if constexpr (flip) left ^= 0x80808080u;
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sum[i][v] = add_products(sum[i][v], left, right[v]);
      }
      b += V * 64;
    }
  }
  if (t.bytes == nullptr) {
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        __builtin_memcpy(t.sums + (first + i) * last_panel + v * byte_lanes, &sum[i][v],
                         sizeof(ByteWords));
      }
    }
    return;
  }
  const LastBytes& bytes = *t.bytes;
  const LastBytes::Common common = bytes.common;
  std::uint8_t* y = t.y + first * t.y_row;
#pragma GCC unroll 16
  for (int i = 0; i < H; ++i, y += t.y_row) {
    FourWords whole{bytes.whole(sum[i][0], 0, common), {}, {}, {}};
    if constexpr (V > 1) whole.b = bytes.whole(sum[i][1], 1, common);
    if constexpr (V > 2) whole.c = bytes.whole(sum[i][2], 2, common);
    if constexpr (V > 3) whole.d = bytes.whole(sum[i][3], 3, common);
    bytes.store(whole, t.given, y);
  }
}

#if HALFTONE_AMX
/// The words of some pixels of a run, which registers load from where they lie if these are equally far
/// apart, or else from a copy.
class LastRows {
 public:
  LastRows(const std::uint8_t* const* rows, std::int64_t count) : rows_(rows), count_(count) {
    apart_ = count > 1 ? rows[1] - rows[0] : 0;
    for (std::int64_t i = 2; i < count && is_even_; ++i) is_even_ = rows[i] - rows[i - 1] == apart_;
  }
  /// The word `at` of the first pixel, with so many behind it; the other pixels' lie apart() bytes apart.
  const char* words(std::int64_t at, std::int64_t count) {
    if (is_even_) return reinterpret_cast<const char*>(rows_[0] + 4 * at);
    for (std::int64_t i = 0; i < count_; ++i) {
      using Words = Vec<std::uint32_t>;
      const auto* const from = reinterpret_cast<const std::uint32_t*>(rows_[i] + 4 * at);
      Words::load_partial(from, count).store(copy_ + i * amx_steps);
    }
    return reinterpret_cast<const char*>(copy_);
  }
  std::int64_t apart() const { return is_even_ ? apart_ : AmxRegisters::line; }

 private:
  const std::uint8_t* const* rows_;
  std::int64_t count_, apart_;
  bool is_even_ = true;
  alignas(64) std::uint32_t copy_[amx_rows * amx_steps];
};

/// Sums of R groups of pixels from `first` on and V vectors of filters from vector `v` on.
template <AmxStep step, int R, int V>
void run_last_registers(AmxRegisters& registers, const LastPart& t, std::int64_t first,
                        std::int64_t v, std::int64_t vectors) {
  registers.load<R, V>(t.begin + v * byte_lanes, 0, byte_lanes);
  const std::int64_t at_once = registers.steps(), w_bytes = vectors * AmxRegisters::line;
  const char* w = reinterpret_cast<const char*>(t.b) + v * AmxRegisters::line;
  for (std::int64_t r = 0; r < t.runs; ++r) {
    const std::uint8_t* const* const pixels = t.rows + r * last_pixels + first;
    LastRows x(pixels, registers.first()), more(pixels + registers.first(), registers.second());
    std::int64_t q = 0;
    for (; q + at_once <= t.steps; q += at_once, w += at_once * w_bytes) {
      registers.add<step, R, V>(x.words(q, at_once), x.apart(),
                                R == 2 ? more.words(q, at_once) : nullptr, more.apart(), w,
                                w_bytes);
    }
    const std::int64_t left = t.steps - q;
    if (left == 0) continue;
    registers.add_last<step, R, V>(x.words(q, left), x.apart(),
                                   R == 2 ? more.words(q, left) : nullptr, more.apart(), w, w_bytes,
                                   left);
    w += left * w_bytes;
  }
  registers.store<R, V>(t.sums + first * last_panel + v * byte_lanes, last_panel, byte_lanes);
}

/// All tiles of a part in AMX's registers; `flip`: bytes are signed, and stay so.
template <int V, bool flip>
void run_last_in_amx(const LastPart& t) {
  constexpr AmxStep step = flip ? AmxStep::signed_bytes : AmxStep::unsigned_bytes;
  AmxRegisters registers(amx_steps_of(t.steps));
  for (std::int64_t first = 0; first < t.count; first += amx_tile_rows) {
    const std::int64_t left = t.count - first, rows = left < amx_tile_rows ? left : amx_tile_rows;
    registers.shape(rows);
    for (int v = 0; v < V; v += 2) {
      registers.with_counts(V - v, [&]<int R, int W>() {
        run_last_registers<step, R, W>(registers, t, first, v, V);
      });
    }
  }
  if (t.bytes == nullptr) return;
  const LastBytes& bytes = *t.bytes;
  const LastBytes::Common common = bytes.common;
  std::uint8_t* y = t.y;
  for (std::int64_t i = 0; i < t.count; ++i, y += t.y_row) {
    const std::int32_t* const sums = t.sums + i * last_panel;
    FourWords whole{bytes.whole(words_at(sums), 0, common), {}, {}, {}};
    if constexpr (V > 1) whole.b = bytes.whole(words_at(sums + byte_lanes), 1, common);
    if constexpr (V > 2) whole.c = bytes.whole(words_at(sums + 2 * byte_lanes), 2, common);
    if constexpr (V > 3) whole.d = bytes.whole(words_at(sums + 3 * byte_lanes), 3, common);
    bytes.store(whole, t.given, y);
  }
}
#endif

/// Pixels of a tile: few vectors leave registers for more of them.
constexpr std::int64_t last_rows(std::int64_t vectors) {
  return vectors < 3 ? 12 : vectors == 3 ? 8 : 6;
}

/// All tiles of a part.
template <int V, bool flip>
void run_last_tiles(const LastPart& part) {
#if HALFTONE_AMX
  if (multiplies_bytes_in_amx()) return run_last_in_amx<V, flip>(part);
#endif
  constexpr int most = int(last_rows(V));
  using Run = void (*)(const LastPart&, std::int64_t);
  static constexpr auto kernels = []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<Run, most>{run_last_tile<I + 1, V, flip>...};
  }(std::make_integer_sequence<int, most>{});
  const Parts tiles(part.count, most);
  for (std::int64_t t = 0; t < tiles.parts; ++t) {
    const std::int64_t first = tiles.begin(t);
    kernels[std::size_t(tiles.begin(t + 1) - first - 1)](part, first);
  }
}

/// A word of four taps of 64 channels of a pixel, in the order of word_of_channel; rows: of its first
/// tap; given: channels that there are.
template <bool flip>
HALFTONE_VNNI HALFTONE_INLINE FourWords load_word(const std::uint8_t* const* rows,
                                                  std::int64_t channel, int given) {
  using Line = raw_t<char, 64>;
  using Pairs = raw_t<short, 32>;
  const auto tap = [&](int i) HALFTONE_VNNI __attribute__((always_inline)) {
    const void* const from = rows[i * last_pixels] + channel;
    Line line = masked_load<1>(from, Line{}, given);
    if constexpr (flip) line ^= char(0x80);
    return line;
  };
  // Pairs of taps within quarters of 16 channels, then fours.
  const auto low = [](Line a, Line c) HALFTONE_VNNI __attribute__((always_inline)) {
    return (Pairs)__builtin_shufflevector(
        a, c, 0, 64, 1, 65, 2, 66, 3, 67, 4, 68, 5, 69, 6, 70, 7, 71, 16, 80, 17, 81, 18, 82, 19,
        83, 20, 84, 21, 85, 22, 86, 23, 87, 32, 96, 33, 97, 34, 98, 35, 99, 36, 100, 37, 101, 38,
        102, 39, 103, 48, 112, 49, 113, 50, 114, 51, 115, 52, 116, 53, 117, 54, 118, 55, 119);
  };
  const auto high = [](Line a, Line c) HALFTONE_VNNI __attribute__((always_inline)) {
    return (Pairs)__builtin_shufflevector(a, c, 8, 72, 9, 73, 10, 74, 11, 75, 12, 76, 13, 77, 14,
                                          78, 15, 79, 24, 88, 25, 89, 26, 90, 27, 91, 28, 92, 29,
                                          93, 30, 94, 31, 95, 40, 104, 41, 105, 42, 106, 43, 107,
                                          44, 108, 45, 109, 46, 110, 47, 111, 56, 120, 57, 121, 58,
                                          122, 59, 123, 60, 124, 61, 125, 62, 126, 63, 127);
  };
  const auto low_pairs = [](Pairs a, Pairs c) HALFTONE_VNNI __attribute__((always_inline)) {
    return (ByteWords)__builtin_shufflevector(a, c, 0, 32, 1, 33, 2, 34, 3, 35, 8, 40, 9, 41, 10,
                                              42, 11, 43, 16, 48, 17, 49, 18, 50, 19, 51, 24, 56,
                                              25, 57, 26, 58, 27, 59);
  };
  const auto high_pairs = [](Pairs a, Pairs c) HALFTONE_VNNI __attribute__((always_inline)) {
    return (ByteWords)__builtin_shufflevector(a, c, 4, 36, 5, 37, 6, 38, 7, 39, 12, 44, 13, 45, 14,
                                              46, 15, 47, 20, 52, 21, 53, 22, 54, 23, 55, 28, 60,
                                              29, 61, 30, 62, 31, 63);
  };
  const Line tap_0 = tap(0), tap_1 = tap(1), tap_2 = tap(2), tap_3 = tap(3);
  const Pairs first = low(tap_0, tap_1), third = low(tap_2, tap_3);
  const Pairs second = high(tap_0, tap_1), fourth = high(tap_2, tap_3);
  return {low_pairs(first, third), high_pairs(first, third), low_pairs(second, fourth),
          high_pairs(second, fourth)};
}

HALFTONE_VNNI HALFTONE_INLINE FourWords add_word(const FourWords& word, const std::uint8_t* b,
                                                 const FourWords& sum) {
  return {add_products(sum.a, word.a, words_at(b)), add_products(sum.b, word.b, words_at(b + 64)),
          add_products(sum.c, word.c, words_at(b + 128)),
          add_products(sum.d, word.d, words_at(b + 192))};
}

/// Calls f(i, sums) for each pixel of a part in turn, the sums of 64 channels from `channel` on in the
/// order of word_of_channel. Neighbours of a line share columns of taps: those of three are kept.
template <bool flip, class F>
HALFTONE_VNNI HALFTONE_INLINE void each_pixel_by_channel(const LastShape& s, const LastPart& part,
                                                         std::int64_t channel, F&& f) {
  const std::int64_t words = s.words(), step = s.window.strides[1], line = s.window.output[1];
  const std::int64_t count = part.count;
  const int given = int(part.given);
  const std::uint8_t* const b = part.b;
  const std::uint8_t* const* const rows = part.rows;
  const auto first = [&]() __attribute__((always_inline)) {
    return FourWords{words_at(part.begin), words_at(part.begin + 16), words_at(part.begin + 32),
                     words_at(part.begin + 48)};
  };
  const auto load = [&](std::int64_t word, std::int64_t i) HALFTONE_VNNI
      __attribute__((always_inline)) {
        return load_word<flip>(rows + 4 * word * last_pixels + i, channel, given);
      };
  if (!s.slides()) {
    for (std::int64_t i = 0; i < count; ++i) {
      FourWords sum = first();
      for (std::int64_t w = 0; w < words; ++w) sum = add_word(load(w, i), b + w * 256, sum);
      f(i, sum);
    }
    return;
  }
  std::int64_t column = part.pixel % line;
  FourWords left{}, middle{}, right{};
  for (std::int64_t i = 0; i < count; ++i) {
    // The operands of f stay in memory, because the columns need the registers.
    asm volatile("" : : : "memory");
    if (i == 0 || column == 0) {
      left = load(0, i);
      middle = load(1, i);
    } else if (step == 2) {
      left = right;
      middle = load(1, i);
    } else {
      left = middle;
      middle = right;
    }
    right = load(2, i);
    f(i, add_word(right, b + 512, add_word(middle, b + 256, add_word(left, b, first()))));
    if (++column == line) column = 0;
  }
}
#endif

/// Computes bytes of a convolution part by part.
template <bool flip>
class LastConvolution {
 public:
  LastConvolution(const LastShape& s, std::int32_t zero, const void* packed, const Requantize& how)
      : shape_(s), zero_(zero), filters_(static_cast<const std::uint8_t*>(packed)), how_(how) {}

  /// The `count` pixels from `pixel` on, whose runs are given, and filters [first, first + given), a
  /// panel.
  void compute(const std::uint8_t* const* rows, [[maybe_unused]] std::int64_t pixel,
               std::int64_t count, std::int64_t first, std::int64_t given, std::uint8_t* y) const {
    alignas(64) std::int32_t sums[last_pixels * last_panel];
#if HALFTONE_AVX512
    if (multiplies_bytes()) {
      const PackedFilter place(shape_, first);
      const std::int64_t vectors = shape_.by_channel ? 4 : (given + byte_lanes - 1) / byte_lanes;
      alignas(64) std::int32_t begin[64] = {};
      __builtin_memcpy(begin, filters_ + place.sum, std::size_t(64 * vectors));
      // AMX multiplies signed bytes as they are.
      const bool keeps_signs = flip && !shape_.by_channel && multiplies_bytes_in_amx();
      const std::int32_t zero = keeps_signs ? zero_ - 128 : zero_;
      const LastBytes bytes(how_, first, given, shape_.by_channel, zero, begin);
      const LastBytes* const made = how_.y.is_saturating ? &bytes : nullptr;
      const LastPart part{rows,
                          pixel,
                          count,
                          shape_.runs(),
                          shape_.run_bytes() / 4,
                          filters_ + place.begin,
                          begin,
                          sums,
                          given,
                          made,
                          y,
                          shape_.filters};
      if (shape_.by_channel) {
        compute_channels(part, first);
      } else if (vectors == 1) {
        run_last_tiles<1, flip>(part);
      } else if (vectors == 2) {
        run_last_tiles<2, flip>(part);
      } else if (vectors == 3) {
        run_last_tiles<3, flip>(part);
      } else {
        run_last_tiles<4, flip>(part);
      }
      if (!how_.y.is_saturating) {
        requantize(how_, sums, last_panel, 0, first, count, given, y, shape_.filters);
      }
      return;
    }
#endif
    for (std::int64_t i = 0; i < count; ++i) {
      sums_of_pixel(shape_, rows + i, reinterpret_cast<const std::int8_t*>(filters_),
                    flip ? 0x80 : 0, zero_, first, given, sums + i * last_panel);
    }
    requantize(how_, sums, last_panel, 0, first, count, given, y, shape_.filters);
  }

 private:
#if HALFTONE_AVX512
  HALFTONE_VNNI void compute_channels(const LastPart& part, std::int64_t first) const {
    if (part.bytes != nullptr) {
      const LastBytes& bytes = *part.bytes;
      const LastBytes::Common common = bytes.common;
      const int given = int(part.given);
      const auto make = [&, common](std::int64_t i, const FourWords& sum) HALFTONE_VNNI
          __attribute__((always_inline)) {
            const FourWords whole{bytes.whole(sum.a, 0, common), bytes.whole(sum.b, 1, common),
                                  bytes.whole(sum.c, 2, common), bytes.whole(sum.d, 3, common)};
            masked_store<1>(part.y + i * part.y_row, bytes.saturated(whole), given);
          };
      return each_pixel_by_channel<flip>(shape_, part, first, make);
    }
    const auto keep = [&](std::int64_t i, const FourWords& sum) HALFTONE_VNNI
        __attribute__((always_inline)) {
          std::int32_t ordered[64];
          __builtin_memcpy(ordered, &sum, sizeof(ordered));
          std::int32_t* const to = part.sums + i * last_panel;
          for (std::int64_t c = 0; c < 64; ++c) to[c] = ordered[word_of_channel(c)];
        };
    each_pixel_by_channel<flip>(shape_, part, first, keep);
  }
#endif

  const LastShape& shape_;
  std::int32_t zero_;
  const std::uint8_t* filters_;
  const Requantize& how_;
};

/// Bytes y [pixels, filters] of an image of bytes x. `zero` is x's zero point; packed: pack_last's; how:
/// its numbers are those of columns; sum: of y and another tensor, if there is one.
template <class X>
void convolve_last(const LastShape& s, const X* x, std::int32_t zero, const void* packed,
                   const Requantize& how, const ByteSum& sum, std::uint8_t* y, void* workspace,
                   const Executor& executor) {
  const auto* image = reinterpret_cast<const std::uint8_t*>(x);
  auto* const beside = static_cast<std::uint8_t*>(workspace);
  __builtin_memset(beside, static_cast<std::uint8_t>(zero), std::size_t(s.channels));
  if (s.reads_rows()) {
    std::uint8_t* const copy = beside + round_up(s.channels, 64);
    copy_padded(s, image, beside, copy, executor);
    image = copy;
  }
  const LastConvolution<flip_left<X> != 0> convolution(s, zero + shift_left<X>, packed, how);
  // The filters are more bytes than a few pixels: those go through all filters at once.
  const bool takes_all = s.pixels() <= last_pixels || multiplies_bytes_in_amx();
  const std::int64_t usual = takes_all ? last_pixels : 48;
  const Parts chunks(s.pixels(), usual);
  const std::int64_t panels = (s.filters + last_panel - 1) / last_panel;
  // Few pixels: filters are divided, too.
  const std::int64_t wanted = chunks.parts >= 16 ? 1 : 16 / chunks.parts;
  const Parts columns(panels, (panels + wanted - 1) / wanted);
  const std::int64_t pieces = chunks.parts * columns.parts;
  const Parts shares(pieces, (pieces + last_shares - 1) / last_shares);
  parallel_for(executor, shares.parts, [&](std::int64_t share) {
    const std::uint8_t* rows[LastShape::most_places * last_pixels];
    for (std::int64_t piece = shares.begin(share); piece < shares.begin(share + 1); ++piece) {
      const std::int64_t chunk = piece / columns.parts, part = piece % columns.parts;
      const std::int64_t first = chunks.begin(chunk), count = chunks.begin(chunk + 1) - first;
      find_runs(s, image, beside, first, count, s.slides() && multiplies_bytes(), rows);
      for (std::int64_t p = columns.begin(part); p < columns.begin(part + 1); ++p) {
        const std::int64_t f = p * last_panel;
        const std::int64_t given = s.filters - f < last_panel ? s.filters - f : last_panel;
        const std::int64_t at = first * s.filters + f;
        convolution.compute(rows, first, count, f, given, y + at);
        if (sum.residual != nullptr) add_bytes(sum, at, count, given, s.filters, y);
      }
    }
  });
}

}  // namespace halftone::kernel::detail
