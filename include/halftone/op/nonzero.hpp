#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_NONZERO_HPP
#define HALFTONE_OP_NONZERO_HPP

#include <type_traits>

#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/nonzero.hpp>

namespace halftone::op {

/// Where the elements are that are not zero.
///
/// x       any shape
/// y       int64 [rank, count]: column j holds the indices of the j-th such element, in row-major
///         order; [0, count] for a scalar
/// limits  NaN is not zero. While x is not known, neither is y's extent
/// source  ai.onnx NonZero-13
struct NonZero {
  static constexpr OpId id{"ai.onnx", "NonZero", 9, 13};
  static constexpr Signature signature = "x -> y:I";
  using types = TypeList<Joined<NumericTypes, TypeList<bool>>, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  static constexpr Inferred infer(const Inputs& in) {
    const TensorInfo& x = in[0];
    TensorInfo y{ElementType::int64, {static_cast<std::int64_t>(x.rank()), dynamic}};
    if (!in.is_constant(0)) return y;
    const std::span<const std::byte> data = in.data(0);
    const auto size = static_cast<std::size_t>(size_in_bytes(x.type));
    if (!std::is_constant_evaluated()) {
      const auto n = static_cast<std::int64_t>(data.size() / size);
      y.shape[1] = kernel::count_nonzero(x.type, data.data(), n);
      return y;
    }
    // Minus zero is a zero.
    const std::byte top{static_cast<std::uint8_t>(is_floating_point(x.type) ? 0x7f : 0xff)};
    std::int64_t count = 0;
    for (std::size_t at = 0; at + size <= data.size(); at += size) {
      std::byte bits = data[at + size - 1] & top;
      for (std::size_t b = 0; b + 1 < size; ++b) bits |= data[at + b];
      count += bits != std::byte{0};
    }
    y.shape[1] = count;
    return y;
  }
  template <class T, class I>
  void kernel(View<const T> x, View<I> y) const {
    const std::int64_t count = y.extent(1), n = x.size();
    if (x.rank == 0) return;
    // Rows that are worth their own indices: the last dimension's, or all as one.
    const std::int64_t last = x.extent(x.rank - 1), row = last < 16 ? n : last;
    I* const places = y.data + static_cast<std::int64_t>(x.rank - 1) * count;
    std::int64_t found = 0;
    for (std::int64_t first = 0; first < n && found < count; first += row) {
      const std::int64_t before = found;
      const T* const from = x.data + first;
      // No branch depends on the element. There is room for its place, even if that is not taken.
      std::int64_t i = 0;
      for (; i + 4 <= row && found + 4 <= count; i += 4) {
        // Loads in front of the stores, which may change what they lead to for all the compiler knows.
        const bool a = kernel::is_nonzero(from[i]), b = kernel::is_nonzero(from[i + 1]);
        const bool c = kernel::is_nonzero(from[i + 2]), d = kernel::is_nonzero(from[i + 3]);
        places[found] = i;
        places[found += a] = i + 1;
        places[found += b] = i + 2;
        places[found += c] = i + 3;
        found += d;
      }
      for (; i < row && found < count; ++i) {
        places[found] = i;
        found += kernel::is_nonzero(from[i]);
      }
      if (row == last) fill(x.shape().first(x.rank - 1), first / row, y.data, before, found, count);
    }
    if (row != last) split(x.shape(), y.data, count);
  }

 private:
  /// The indices of row `number` along the dimensions in front of it, for columns [first, end).
  static void fill(std::span<const std::int64_t> extents, std::int64_t number, std::int64_t* y,
                   std::int64_t first, std::int64_t end, std::int64_t count) {
    if (first == end) return;
    for (std::size_t d = extents.size(); d-- > 0; number /= extents[d]) {
      std::int64_t* const to = y + static_cast<std::int64_t>(d) * count;
      const std::int64_t index = number % extents[d];
      for (std::int64_t j = first; j < end; ++j) to[j] = index;
    }
  }
  /// From places in the dense tensor, which are in the last row.
  static void split(std::span<const std::int64_t> extents, std::int64_t* y, std::int64_t count) {
    const std::int64_t* const places = y + static_cast<std::int64_t>(extents.size() - 1) * count;
    for (std::int64_t j = 0; j < count; ++j) {
      std::int64_t rest = places[j];
      for (std::size_t d = extents.size(); d-- > 0;) {
        y[static_cast<std::int64_t>(d) * count + j] = d == 0 ? rest : rest % extents[d];
        if (d != 0) rest /= extents[d];
      }
    }
  }
};

/// The elements, or slices along a dimension, that a condition picks.
///
/// x          any shape
/// condition  [count] bool, not longer than the dimension (the tensor); what it is too short for is
///            not picked
/// axis       the dimension, from the end if negative; absent: x counts as one dense vector
/// y          x's shape with as many slices as are true; without axis a vector
/// limits     while condition is not known, neither is y's extent
/// source     ai.onnx Compress-11
struct Compress {
  Optional<std::int64_t> axis{};

  static constexpr OpId id{"ai.onnx", "Compress", 9, 11, 28};
  static constexpr Signature signature = "x condition:B -> y";
  using types = TypeList<BitTypes, TypeList<bool>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }

  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    std::size_t at = 0;
    TensorInfo y{x.type, {x.elements()}};
    if (axis) {
      at = normalized_axis(*axis, x.rank());
      if (at == x.rank()) {
        return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()),
                                  *axis);
      }
      y.shape = x.shape;
    }
    if (in[1].rank() != 1) {
      return Inferred::mismatch("the condition is not a vector", 1,
                                static_cast<std::int64_t>(in[1].rank()));
    }
    if (y.shape[at] != dynamic && in[1].shape[0] > y.shape[at]) {
      return Inferred::mismatch("the condition is longer than the dimension", y.shape[at],
                                in[1].shape[0]);
    }
    y.shape[at] = dynamic;
    if (!in.is_constant(1)) return y;
    y.shape[at] = 0;
    for (const std::byte b : in.data(1)) y.shape[at] += b != std::byte{0};
    return y;
  }
  template <class T, class B>
  void kernel(const KernelCall& call, View<const T> x, View<const B> condition, View<T> y) const {
    const std::size_t at = axis ? normalized_axis(*axis, x.rank) : 0;
    const std::int64_t outer = axis ? x.size(0, at) : 1, n = axis ? x.extent(at) : x.size();
    const std::int64_t run = axis ? x.size(at + 1, x.rank) : 1, count = condition.size();
    const std::int64_t kept = axis ? y.extent(at) : y.size();
    if (y.size() == 0) return;
    const std::int64_t work = kept * run, task = 1 << 15;
    const std::int64_t per_task = work >= task ? 1 : task / work;
    kernel::parallel_for(*call.executor, (outer + per_task - 1) / per_task, [&](std::int64_t t) {
      const std::int64_t end = (t + 1) * per_task < outer ? (t + 1) * per_task : outer;
      for (std::int64_t o = t * per_task; o < end; ++o) {
        T* to = y.data + o * kept * run;
        for (std::int64_t i = 0; i < count; ++i) {
          if (!condition[i]) continue;
          __builtin_memcpy(to, x.data + (o * n + i) * run,
                           static_cast<std::size_t>(run) * sizeof(T));
          to += run;
        }
      }
    });
  }
};

}  // namespace halftone::op

#endif
