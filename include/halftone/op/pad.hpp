#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_PAD_HPP
#define HALFTONE_OP_PAD_HPP

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
/// need
///         an element to repeat
/// source  ai.onnx Pad-19
struct Pad {
  PadMode mode = PadMode::constant;

  static constexpr OpId id{"ai.onnx", "Pad", 11, 13, 18, 19, 21};
  static constexpr Signature signature = "x pads:P value? axes:I? -> y";
  using types = TypeList<BitTypes, TypeList<std::int64_t>, TypeList<std::int32_t, std::int64_t>>;

  constexpr void attributes(auto&& visit) { visit("mode", mode); }

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
    for (std::size_t i = 0; i < x.rank; ++i) padded[i] = {x.extent(i), 0, 0};
    const std::int64_t count = pads.size() / 2;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t axis = normalized_axis(axes ? axes[i] : i, x.rank);
      padded[axis] = {x.extent(axis), pads[i], pads[count + i]};
    }
    kernel::pad<T>(*call.executor, mode, padded, value ? value[0] : T(0), x, y);
  }

 private:
  static constexpr std::int64_t most_pad = std::int64_t{1} << 48;
};

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
  AnyTensor expand(auto x) const {
    const auto count = static_cast<std::int64_t>(pads.size());
    const AnyTensor amounts = constant(*x.graph, pads.span(), {count});
    // While the type of x is not known there is none for the value: only 0 needs no value.
    if (value == 0) return halftone::op::pad(x, amounts, {.mode = mode});
    return halftone::op::pad(x, amounts, value, {.mode = mode});
  }
};

}  // namespace op
}  // namespace halftone

#endif
