#pragma once

#include <cstdint>

#include <halftone/base/view.hpp>
#include <halftone/base/window.hpp>
#include <halftone/kernel/byte_image.hpp>
#include <halftone/kernel/gemm_bytes.hpp>
#include <halftone/kernel/requantize.hpp>

/// Convolutions of bytes by channel: a lane has one output and four neighbouring taps of it, which
/// one instruction brings there from a line of the input and another one multiplies and adds up.
/// On machines without the permutation integer_product.hpp adds up planes tap by tap.
namespace halftone::kernel::detail {

#if HALFTONE_AVX512 && defined(__AVX512VNNI__) && defined(__AVX512VBMI__)
#define HALFTONE_VBMI
#elif HALFTONE_AVX512
#define HALFTONE_VBMI __attribute__((target("avx512vnni,avx512vbmi")))
#endif

/// Whether this machine has the instruction that permutes bytes, beside the product of bytes.
constexpr bool permutes_bytes() {
#if HALFTONE_AVX512 && defined(__AVX512VNNI__) && defined(__AVX512VBMI__)
  return true;
#elif HALFTONE_AVX512
  if (std::is_constant_evaluated()) return false;
  return multiplies_bytes() && __builtin_cpu_supports("avx512vbmi") != 0;
#else
  return false;
#endif
}

/// How a window of one or two dimensions is cut into words of four taps.
struct ByteTaps {
  static constexpr std::int64_t most_words = 256;
  std::int64_t rows, columns;  ///< of the kernel
  std::int64_t words;          ///< of a row
  bool fits;

  constexpr ByteTaps(const Window& window, std::int64_t channels)
      : rows(window.rank() == 2 ? window.kernel[0] : 1),
        columns(window.kernel[window.rank() - 1]),
        words((columns + 3) / 4) {
    const std::size_t last = window.rank() - 1;
    const std::int64_t taps = columns < 4 ? columns : 4;
    // The permutation takes its bytes from one register: a vector of outputs must read no others.
    fits = window.rank() <= 2 && channels * rows * words <= most_words &&
           (byte_lanes - 1) * window.strides[last] + (taps - 1) * window.dilations[last] < 64;
  }
};

#if HALFTONE_AVX512
using ByteLine = raw_t<char, 64>;

/// The bytes of a line from p on whose bits are set, the others from `fill`; touches nothing else.
HALFTONE_INLINE ByteLine load_bits(const void* p, ByteLine fill, std::uint64_t bits) {
  return __builtin_ia32_loaddquqi512_mask(AnyPointer{p}, fill, bits);
}

HALFTONE_VBMI __attribute__((always_inline)) inline ByteWords permute_bytes(ByteLine line,
                                                                            ByteLine index) {
#ifdef __clang__
  return (ByteWords)__builtin_ia32_permvarqi512(line, index);
#else
  return (ByteWords)__builtin_ia32_permvarqi512_mask(line, index, ByteLine{}, ~0ull);
#endif
}

/// The planes of a convolution have these numbers in common.
struct BytePlanes {
  ByteTaps taps;
  std::int64_t channels, positions;            ///< of a group, of the kernel
  std::int64_t width, height, columns, lines;  ///< of the input, of the output
  std::int64_t stride, dilation, pad;          ///< along a line
  std::int64_t line_stride = 1, line_dilation = 1, line_pad = 0;
  ByteLine index{}, fill, flip;

  template <class X>
  BytePlanes(const Window& window, const ByteTaps& taps_, std::int64_t channels_, View<const X> x,
             X zero)
      : taps(taps_), channels(channels_), positions(taps.rows * taps.columns) {
    const std::size_t last = window.rank() - 1;
    const bool has_lines = last == 1;
    width = x.extent(2 + last);
    height = has_lines ? x.extent(2) : 1;
    columns = window.output[last];
    lines = has_lines ? window.output[0] : 1;
    stride = window.strides[last];
    dilation = window.dilations[last];
    pad = window.pad_begin(last);
    if (has_lines) {
      line_stride = window.strides[0];
      line_dilation = window.dilations[0];
      line_pad = window.pad_begin(0);
    }
    for (int lane = 0; lane < int(byte_lanes); ++lane) {
      for (int k = 0; k < 4; ++k) {
        const std::int64_t at = lane * stride + k * dilation;
        index[4 * lane + k] = static_cast<char>(at < 64 ? at : 0);
      }
    }
    fill = ByteLine{} + static_cast<char>(zero);
    flip = ByteLine{} + static_cast<char>(flip_left<X>);
  }

  /// The element of a line at which the first output of a vector has the first tap of a word.
  HALFTONE_INLINE std::int64_t place(std::int64_t output, std::int64_t word) const {
    return output * stride - pad + 4 * word * dilation;
  }
  /// Bit i is set if element `at` + i lies in the line.
  HALFTONE_INLINE std::uint64_t bits_inside(std::int64_t at) const {
    const std::int64_t low = at < 0 ? -at : 0, end = width - at < 64 ? width - at : 64;
    return low < end ? first_bits<64>(int(end)) & ~first_bits<64>(int(low)) : 0;
  }

  /// The four elements that each output of a vector reads for a word of weights.
  HALFTONE_VBMI __attribute__((always_inline)) inline ByteWords words(const char* from,
                                                                      std::uint64_t bits) const {
    return permute_bytes(load_bits(from, fill, bits) ^ flip, index);
  }
};

/// The weights of a plane as signed bytes, four in a word, and what their sum and the zero points
/// add to each output.
struct ByteFilter {
  std::uint32_t words[ByteTaps::most_words];
  std::uint32_t start;
  std::uint32_t zero;

  template <class X, class W>
  ByteFilter(const BytePlanes& p, const W* filter, X zero_x, std::int32_t zero_filter) {
    std::int32_t sum = 0;
    std::uint32_t* word = words;
    for (std::int64_t row = 0; row < p.channels * p.taps.rows; ++row) {
      for (std::int64_t k = 0; k < p.taps.columns; k += 4) {
        *word = 0;
        for (std::int64_t r = k; r < k + 4 && r < p.taps.columns; ++r) {
          const auto byte =
              static_cast<std::uint8_t>(static_cast<std::uint8_t>(*filter++) ^ flip_right<W>);
          *word |= std::uint32_t{byte} << (8 * (r - k));
          sum += static_cast<std::int8_t>(byte);
        }
        ++word;
      }
    }
    const std::int32_t zero_w = zero_filter + shift_right<W>;
    const auto count = static_cast<std::int32_t>(p.channels * p.positions);
    start = static_cast<std::uint32_t>((zero_x + shift_left<X>)*(count * zero_w - sum));
    zero = static_cast<std::uint32_t>(zero_w);
  }
};

/// A word that has a one for each of these taps, at most four.
constexpr std::uint32_t ones_of(std::int64_t taps) {
  return taps >= 4 ? 0x01010101u : 0x01010101u >> (8 * (4 - taps));
}

/// Stores vectors of a plane's outputs, `elements` of them: its sums, or bytes that are made of them.
template <ToBytes way>
class StoreOutputs {
 public:
  HALFTONE_INLINE StoreOutputs(const ByteOutput& y, std::int64_t elements)
      : sums_(y.sums),
        bytes_(y.bytes),
        elements_(elements),
        to_bytes_(y.requantize != nullptr ? *y.requantize : none),
        terms_(to_bytes_.of_row(way == ToBytes::none ? 0 : y.row)) {}

  /// From element `to` on, of which `rest` are in its line. It may go over the end of the line, since
  /// the next one comes later, but not over that of the plane.
  HALFTONE_INLINE void operator()(ByteWords sum, std::int64_t to, std::int64_t rest) const {
    using Sums = Vec<std::int32_t, int(byte_lanes)>;
    const Sums v((typename Sums::raw)sum);
    const bool is_whole = to + byte_lanes <= elements_;
    const std::int64_t count = rest < byte_lanes ? rest : byte_lanes;
    if constexpr (way == ToBytes::none) {
      is_whole ? v.store(sums_ + to) : v.store_partial(sums_ + to, count);
    } else {
      const auto made = to_bytes_(terms_, v);
      is_whole ? made.store(bytes_ + to) : made.store_partial(bytes_ + to, count);
    }
  }

 private:
  using Maker = Requantizer<int(byte_lanes), way>;
  static constexpr Requantize none{};

  std::int32_t* sums_;
  std::uint8_t* bytes_;
  std::int64_t elements_;
  Maker to_bytes_;
  typename Maker::Terms terms_;
};

/// This computes the plane of one filter over a group of channels.
template <ToBytes way>
HALFTONE_VBMI void convolve_byte_group(const BytePlanes& p, const ByteFilter& filter, const char* x,
                                       const ByteOutput& y) {
  const StoreOutputs<way> store(y, p.lines * p.columns);
  for (std::int64_t i = 0; i < p.lines; ++i) {
    const std::int64_t first = i * p.line_stride - p.line_pad;
    for (std::int64_t j = 0; j < p.columns; j += byte_lanes) {
      ByteWords sum = ByteWords{} + filter.start, sum_of_x{};
      const std::uint32_t* weight = filter.words;
      for (std::int64_t c = 0; c < p.channels; ++c) {
        for (std::int64_t r = 0; r < p.taps.rows; ++r) {
          const std::int64_t line = first + r * p.line_dilation;
          for (std::int64_t w = 0; w < p.taps.words; ++w) {
            const std::int64_t at = p.place(j, w);
            const std::uint64_t bits = line >= 0 && line < p.height ? p.bits_inside(at) : 0;
            const ByteWords four = p.words(x + (c * p.height + line) * p.width + at, bits);
            const std::uint32_t ones = ones_of(p.taps.columns - 4 * w);
            sum = add_products(sum, four, ByteWords{} + *weight++);
            sum_of_x = add_products(sum_of_x, four, ByteWords{} + ones);
          }
        }
      }
      sum -= sum_of_x * filter.zero;
      store(sum, i * p.columns + j, p.columns - j);
    }
  }
}

/// The same of one channel whose filter has the zero point 0, by its rows, words of a row and step
/// from line to line: a vector of columns goes down the plane with its lines in registers.
template <int Rows, int Words, int Step, ToBytes way>
HALFTONE_VBMI void convolve_byte_lines(const BytePlanes& p, const ByteFilter& filter, const char* x,
                                       const ByteOutput& y) {
  const std::int64_t height = p.height, width = p.width, lines = p.lines, columns = p.columns;
  const ByteLine index = p.index, fill = p.fill, flip = p.flip;
  const ByteWords start = ByteWords{} + filter.start;
  const StoreOutputs<way> store(y, lines * columns);
  ByteWords weight[Rows * Words];
  for (int k = 0; k < Rows * Words; ++k) weight[k] = ByteWords{} + filter.words[k];
  // From the right, since the last vector goes over the end of its lines.
  for (std::int64_t j = (columns - 1) / byte_lanes * byte_lanes; j >= 0; j -= byte_lanes) {
    std::uint64_t bits[Words];
    std::int64_t place[Words];
    for (int w = 0; w < Words; ++w) {
      place[w] = p.place(j, w);
      bits[w] = p.bits_inside(place[w]);
    }
    std::int64_t line = -p.line_pad;
    ByteWords row[Rows][Words];
    const auto next = [&](ByteWords(&to)[Words]) HALFTONE_VBMI {
      const std::uint64_t is_line = line >= 0 && line < height ? ~std::uint64_t{0} : 0;
      for (int w = 0; w < Words; ++w) {
        const ByteLine read = load_bits(x + line * width + place[w], fill, bits[w] & is_line);
        to[w] = permute_bytes(read ^ flip, index);
      }
      ++line;
    };
#pragma GCC unroll 8
    for (int r = 0; r < Rows - Step; ++r) next(row[r + Step]);
    for (std::int64_t i = 0; i < lines; ++i) {
      ByteWords sum = start;
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        if (r < Rows - Step) {
          __builtin_memcpy(row[r], row[r + Step], sizeof(row[r]));
        } else {
          next(row[r]);
        }
        for (int w = 0; w < Words; ++w) {
          sum = add_products(sum, row[r][w], weight[r * Words + w]);
        }
      }
      store(sum, i * columns + j, columns - j);
    }
  }
}

template <ToBytes way>
void convolve_byte_plane(const BytePlanes& p, const ByteFilter& filter, const void* group,
                         const ByteOutput& y) {
  const auto* const x = static_cast<const char*>(group);
  const auto is = [&](std::int64_t rows, std::int64_t words, std::int64_t step) {
    return p.taps.rows == rows && p.taps.words == words && p.line_stride == step;
  };
  if (p.channels == 1 && filter.zero == 0 && p.line_dilation == 1) {
    if (is(3, 1, 1)) return convolve_byte_lines<3, 1, 1, way>(p, filter, x, y);
    if (is(3, 1, 2)) return convolve_byte_lines<3, 1, 2, way>(p, filter, x, y);
    if (is(5, 2, 1)) return convolve_byte_lines<5, 2, 1, way>(p, filter, x, y);
    if (is(5, 2, 2)) return convolve_byte_lines<5, 2, 2, way>(p, filter, x, y);
  }
  convolve_byte_group<way>(p, filter, x, y);
}

inline void convolve_byte_plane(const BytePlanes& p, const ByteFilter& filter, const void* group,
                                const ByteOutput& y) {
  if (y.requantize == nullptr) return convolve_byte_plane<ToBytes::none>(p, filter, group, y);
  with_way(y.requantize->y, [&]<ToBytes way>() { convolve_byte_plane<way>(p, filter, group, y); });
}
#endif

}  // namespace halftone::kernel::detail
