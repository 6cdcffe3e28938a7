#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_PAD_HPP
#define HALFTONE_OP_PAD_HPP

#include <type_traits>

#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/axes.hpp>

namespace halftone {

namespace detail {
inline constexpr std::string_view pad_mode_names[] = {"constant", "reflect", "edge", "wrap"};
}
constexpr std::span<const std::string_view> names_of(PadMode) { return detail::pad_mode_names; }

namespace op {

/// Adds elements in front of and behind each dimension.
///
/// pads    [begin of each dimension..., end of each...]; a negative number removes elements, which
///         happens before anything is added
/// value   a scalar for mode constant; absent: 0
/// axes    the dimensions that pads are about, from the end if negative; absent: all
/// limits  while pads or axes are not known, neither are y's extents; modes other than constant
///         need an element to repeat
/// grad    dx = the sum of dy over the places where an element stands; dvalue = that of all others
/// source  ai.onnx Pad-19
struct Pad {
  PadMode mode = PadMode::constant;

  static constexpr OpId id{"ai.onnx", "Pad", 11, 13, 18, 19, 21, 23, 24, 25};
  static constexpr Signature signature = "x pads:P value? axes:I? -> y";
  using types = TypeList<BitTypes, TypeList<std::int64_t>, TypeList<std::int32_t, std::int64_t>>;

  constexpr void attributes(auto&& visit) { visit("mode", mode); }

  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(const Inputs& in) const {
    TensorInfo y = in[0];
    if (in.has(2) && in[2].elements() != dynamic && in[2].elements() != 1) {
      return Inferred::mismatch("the value is not a scalar", 1, in[2].elements());
    }
    if (!in.is_constant(1) || (in.has(3) && !in.is_constant(3))) {
      y.shape = Dims::filled(y.rank(), dynamic);
      return y;
    }
    const std::vector<std::int64_t> pads = in.integers(1), named = in.integers(3);
    const Axes axes(named, y.rank());
    if (!axes.ok()) return axes.mismatch();
    const std::size_t count = in.has(3) ? named.size() : y.rank();
    if (pads.size() != 2 * count) {
      return Inferred::mismatch("pads need two numbers per dimension",
                                static_cast<std::int64_t>(2 * count),
                                static_cast<std::int64_t>(pads.size()));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t begin = pads[i], end = pads[count + i];
      for (const std::int64_t amount : {begin, end}) {
        if (amount < -most_pad || amount > most_pad) {
          return Inferred::mismatch("pads are out of range", most_pad, amount);
        }
      }
      std::int64_t& extent = y.shape[in.has(3) ? static_cast<std::size_t>(axes.list[i]) : i];
      if (extent == dynamic) continue;
      const std::int64_t left = kernel::PaddedAxis(extent, begin, end).extent;
      if (left < 0) return Inferred::mismatch("pads remove more than there is", 0, left);
      if (left == 0 && mode != PadMode::constant && (begin > 0 || end > 0)) {
        return Inferred::mismatch("there is no element to repeat", 1, 0);
      }
      extent = left + (begin > 0 ? begin : 0) + (end > 0 ? end : 0);
    }
    return y;
  }

  template <class T, class P, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const P> pads, View<const T> value,
              View<const I> axes, View<T> y) const {
    kernel::PaddedAxis padded[max_rank];
    set_axes(padded, x, pads, axes);
    kernel::pad<T>(*call.executor, mode, padded, value ? value[0] : T(0), x, y);
  }
  /// What the inputs say about each dimension of x.
  static void set_axes(kernel::PaddedAxis* padded, const auto& x, const auto& pads,
                       const auto& axes) {
    for (std::size_t i = 0; i < x.rank; ++i) padded[i] = {x.extent(i), 0, 0};
    const std::int64_t count = pads.size() / 2;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t axis = normalized_axis(axes ? axes[i] : i, x.rank);
      padded[axis] = {x.extent(axis), pads[i], pads[count + i]};
    }
  }
  constexpr void gradient(auto& g) const;

 private:
  static constexpr std::int64_t most_pad = std::int64_t{1} << 48;
};

/// The gradient of Pad: each element of dy is added to the one of dx that stood there.
///
/// dx      of `shape`
/// limits  half and bfloat16 sum in float
struct PadGradient {
  PadMode mode = PadMode::constant;
  Dims shape{};

  static constexpr OpId id{"halftone", "PadGradient", 1};
  static constexpr Signature signature = "dy pads:P axes:I? -> dx";
  using types = TypeList<FloatTypes, TypeList<std::int64_t>, TypeList<std::int32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("mode", mode);
    visit("shape", shape);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    if (mode == PadMode::constant) {
      machine.view();
    } else {
      machine.pass("Add", in[0]);  // what was copied gets the sum
    }
  }
  constexpr Inferred infer(const Inputs& in) const { return TensorInfo{in[0].type, shape}; }

  template <class T, class P, class I>
  void kernel(const KernelCall& call, View<const T> dy, View<const P> pads, View<const I> axes,
              View<T> dx) const {
    using S = halftone::detail::Compute<T>;
    kernel::PaddedAxis padded[max_rank];
    Pad::set_axes(padded, dx, pads, axes);
    S* sums;
    if constexpr (std::is_same_v<T, S>) {
      sums = dx.data;
    } else {
      sums = static_cast<S*>(call.workspace);
    }
    // Leading dimensions that are as they were: their parts do not touch each other.
    std::size_t first = 0;
    while (first + 1 < dx.rank && dx.extent(first) == dy.extent(first) &&
           padded[first].begin == 0 && padded[first].crop == 0) {
      ++first;
    }
    const std::int64_t parts = dx.size(0, first);
    const std::int64_t dx_size = dx.size(first, dx.rank), dy_size = dy.size(first, dx.rank);
    const std::int64_t width = dx.rank == 0 ? 1 : dy.extent(dx.rank - 1);
    kernel::PaddedAxis columns(1, 0, 0);
    if (dx.rank != 0) columns = padded[dx.rank - 1];
    kernel::parallel_for(*call.executor, parts, [&](std::int64_t part) {
      S* const to = sums + part * dx_size;
      for (std::int64_t i = 0; i < dx_size; ++i) to[i] = S(0);
      const T* row = dy.data + part * dy_size;
      const std::int64_t rows = width == 0 ? 0 : dy_size / width;
      for (std::int64_t r = 0; r < rows; ++r, row += width) {
        std::int64_t rest = r, offset = 0, stride = dx.rank == 0 ? 1 : dx.extent(dx.rank - 1);
        bool is_outside = false;
        for (std::size_t d = dx.rank; d-- > first + 1;) {
          const std::int64_t extent = dy.extent(d - 1);
          const std::int64_t at = padded[d - 1].source(rest % extent, mode);
          is_outside = is_outside || at < 0;
          rest /= extent;
          offset += at * stride;
          stride *= dx.extent(d - 1);
        }
        if (is_outside) continue;
        for (std::int64_t i = 0; i < width; ++i) {
          const std::int64_t at = columns.source(i, mode);
          if (at >= 0) to[offset + at] += static_cast<S>(row[i]);
        }
      }
      if constexpr (!std::is_same_v<T, S>) {
        for (std::int64_t i = 0; i < dx_size; ++i) {
          dx[part * dx_size + i] = static_cast<T>(to[i]);
        }
      }
    });
  }
  template <class T, class P, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const P>, View<const I>,
                                  View<T> dx) const {
    using S = halftone::detail::Compute<T>;
    return std::is_same_v<T, S> ? 0 : static_cast<std::size_t>(dx.size()) * sizeof(S);
  }
};

constexpr void Pad::gradient(auto& g) const {
  const auto made =
      halftone::detail::record(g.graph(), PadGradient{.mode = mode, .shape = g.x().info().shape},
                               {g.dy().id, g.x(1).id, g.x(3).id}, 1);
  const AnyTensor dx{&g.graph(), made[0]};
  g.dx(0) += dx;
  if (!g.needs(2)) return;
  const auto sum_of = [](auto t) { return op::sum(t, none, {.keepdims = 0}); };
  const auto dvalue = mode == PadMode::constant ? sum_of(g.dy()) - sum_of(dx) : sum_of(g.dy()) * 0;
  g.dx(2) += GradientScope::reshape_to(dvalue, g.x(2).info().shape);
}

/// Pad whose pads and value are attributes.
struct Pad_2 {
  PadMode mode = PadMode::constant;
  Pads pads{};
  float value = 0;

  static constexpr OpId id{"ai.onnx", "Pad", 2};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("mode", mode);
    visit("pads", pads);
    visit("value", value);
  }
  constexpr AnyTensor expand(auto x) const {
    const auto count = static_cast<std::int64_t>(pads.size());
    const auto amounts = constant(*x.graph, pads.span(), {count});
    // While the type of x is not known there is none for the value: only 0 needs no value.
    if (value == 0) return halftone::op::pad(x, amounts, {.mode = mode});
    return halftone::op::pad(x, amounts, value, {.mode = mode});
  }
};

}  // namespace op
}  // namespace halftone

#endif
