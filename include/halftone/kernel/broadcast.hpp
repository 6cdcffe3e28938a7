#pragma once

#include <cstddef>
#include <cstdint>

/// Reading a tensor as if it had a larger shape (numpy's broadcasting), a block at a time.
namespace halftone::kernel {

namespace detail {

/// n elements of one value; may write behind to + n, but not at `end` or behind it.
template <class E>
void fill_run(E* to, std::int64_t n, const E* end, E value) {
  constexpr std::int64_t step = 32 / static_cast<std::int64_t>(sizeof(E));
  typedef E Lanes __attribute__((vector_size(32)));
  Lanes lanes{};
  for (int i = 0; i < step; ++i) lanes[i] = value;
  std::int64_t i = 0;
  if (end - to >= (n + step - 1) / step * step) {
    for (; i < n; i += step) __builtin_memcpy(to + i, &lanes, sizeof(lanes));
  } else {
    for (; i < n; ++i) to[i] = value;
  }
}

/// The first and the last `Size` bytes of n, Size <= n <= 2 Size.
template <std::size_t Size>
inline void copy_ends(char* to, const char* from, std::size_t n) {
  char first[Size], last[Size];
  __builtin_memcpy(first, from, Size);
  __builtin_memcpy(last, from + n - Size, Size);
  __builtin_memcpy(to, first, Size);
  __builtin_memcpy(to + n - Size, last, Size);
}

/// As memcpy; short runs are not worth its call.
inline void copy_run(void* to_elements, const void* from_elements, std::size_t n) {
  auto* to = static_cast<char*>(to_elements);
  const auto* from = static_cast<const char*>(from_elements);
  if (n > 64) {
    __builtin_memcpy(to, from, n);
  } else if (n >= 32) {
    copy_ends<32>(to, from, n);
  } else if (n >= 16) {
    copy_ends<16>(to, from, n);
  } else if (n >= 8) {
    copy_ends<8>(to, from, n);
  } else if (n >= 4) {
    copy_ends<4>(to, from, n);
  } else if (n >= 2) {
    copy_ends<2>(to, from, n);
  } else if (n == 1) {
    *to = *from;
  }
}

}  // namespace detail

/// One dense tensor, read in the order of an output that it broadcasts to.
///
/// Neighbouring dimensions are joined where the tensor allows it, so that what remains is a list of
/// loops, inner one first, whose innermost stride is 1 or 0. Positions are counted through in a
/// block; divisions happen once per block.
class BroadcastInput {
 public:
  BroadcastInput() = default;
  /// The input's extents are aligned with the last ones of the output; each is the output's or 1.
  constexpr BroadcastInput(const std::int64_t* output, std::size_t output_rank,
                           const std::int64_t* input, std::size_t input_rank,
                           std::size_t element_size)
      : rank_(0), element_size_(element_size) {
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < output_rank; ++i) {
      const std::int64_t extent = output[output_rank - 1 - i];
      const std::int64_t own = i < input_rank ? input[input_rank - 1 - i] : 1;
      if (extent != 1) add(extent, own == 1 ? 0 : stride);
      stride *= own;
    }
    if (rank_ == 0) add(1, 1);
  }

  /// Whether blocks lie in the tensor as they are.
  constexpr bool is_dense() const { return rank_ == 1 && strides_[0] == 1; }
  /// Whether every element of the output reads the same one: a block once filled serves again.
  constexpr bool is_uniform() const { return rank_ == 1 && strides_[0] == 0; }

  /// Outputs in a row, beginning at any multiple of their number, that all read the same `period`
  /// elements over and over; 0: there are none.
  constexpr std::int64_t repeats(std::int64_t period) const {
    if (strides_[0] == 0) return extents_[0];
    const bool is_row = rank_ > 1 && strides_[0] == 1 && strides_[1] == 0;
    return is_row && extents_[0] == period ? extents_[0] * extents_[1] : 0;
  }

  /// The elements that outputs [first, first + n) read: in place where they lie side by side, else
  /// in `temporary`, which has room for n elements and is then filled.
  const void* fetch(const void* data, std::int64_t first, std::int64_t n, void* temporary) const {
    const auto* bytes = static_cast<const unsigned char*>(data);
    if (is_dense()) return bytes + static_cast<std::size_t>(first) * element_size_;
    std::int64_t position[max_loops] = {}, offset = 0, rest = first;
    for (std::size_t i = 0; i + 1 < rank_ && rest != 0; ++i) {
      position[i] = rest % extents_[i];
      rest /= extents_[i];
      offset += position[i] * strides_[i];
    }
    position[rank_ - 1] = rank_ == 1 ? 0 : rest;
    if (rank_ > 1) offset += rest * strides_[rank_ - 1];
    if (strides_[0] == 1 && extents_[0] - position[0] >= n) {
      return bytes + static_cast<std::size_t>(offset) * element_size_;
    }
    switch (element_size_) {
      case 1:
        fill<std::uint8_t>(data, offset, position, n, temporary);
        break;
      case 2:
        fill<std::uint16_t>(data, offset, position, n, temporary);
        break;
      case 4:
        fill<std::uint32_t>(data, offset, position, n, temporary);
        break;
      default:
        fill<std::uint64_t>(data, offset, position, n, temporary);
        break;
    }
    return temporary;
  }

 private:
  static constexpr std::size_t max_loops = 8;

  constexpr void add(std::int64_t extent, std::int64_t stride) {
    if (rank_ > 0) {
      std::int64_t& inner = extents_[rank_ - 1];
      const std::int64_t inner_stride = strides_[rank_ - 1];
      const bool is_joined =
          stride == 0 ? inner_stride == 0 : inner_stride != 0 && stride == inner_stride * inner;
      if (is_joined) {
        inner *= extent;
        return;
      }
    }
    extents_[rank_] = extent;
    strides_[rank_++] = stride;
  }

  template <class E>
  void fill(const void* data, std::int64_t offset, std::int64_t* position, std::int64_t n,
            void* temporary) const {
    typedef E Element __attribute__((may_alias));
    auto* to = static_cast<Element*>(temporary);
    const auto* from = static_cast<const Element*>(data);
    Element* const end = to + n;
    std::int64_t run = extents_[0] - position[0];
    if (rank_ == 2 && strides_[0] == 1 && strides_[1] == 0) {
      repeat(to, from, run, n);
      return;
    }
    for (;;) {
      if (run > end - to) run = end - to;
      if (strides_[0] == 0) {
        detail::fill_run(to, run, end, from[offset]);
      } else {
        detail::copy_run(to, from + offset, static_cast<std::size_t>(run) * sizeof(E));
      }
      to += run;
      if (to == end) return;
      // The next row: its first element, wherever this one began.
      offset -= position[0] * strides_[0];
      position[0] = 0;
      run = extents_[0];
      for (std::size_t i = 1; i < rank_; ++i) {
        offset += strides_[i];
        if (++position[i] < extents_[i]) break;
        offset -= extents_[i] * strides_[i];
        position[i] = 0;
      }
    }
  }

  /// One row again and again: whole periods are copied from those that are there already.
  template <class E>
  void repeat(E* to, const E* from, std::int64_t run, std::int64_t n) const {
    const std::int64_t period = extents_[0];
    const auto copy = [&](std::int64_t at, const E* elements, std::int64_t count) {
      detail::copy_run(to + at, elements, static_cast<std::size_t>(count) * sizeof(E));
    };
    copy(0, from + (period - run), run);
    std::int64_t done = run + (period < n - run ? period : n - run);
    copy(run, from, done - run);
    while (done < n) {
      const std::int64_t piece = done - run < n - done ? done - run : n - done;
      copy(done, to + run, piece);
      done += piece;
    }
  }

  std::int64_t extents_[max_loops] = {1}, strides_[max_loops] = {1};
  std::size_t rank_ = 1, element_size_ = 1;
};

}  // namespace halftone::kernel
