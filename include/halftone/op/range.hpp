#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_RANGE_HPP
#define HALFTONE_OP_RANGE_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// The numbers start, start + delta, start + 2 delta, ... before limit.
///
/// start, limit, delta  one number each
/// y                    [max(0, ceil((limit - start) / delta))]
/// stash_type           the type in which float16 and bfloat16 are computed: float or double, which
///                      are the same here
/// limits               delta 0 is refused; floating point is computed in double. While the inputs
///                      are not known, neither is y's extent
/// source               ai.onnx Range-27, before which float16 and bfloat16 are missing
struct Range {
  ElementType stash_type = ElementType::float32;

  static constexpr OpId id{"ai.onnx", "Range", 11, 27};
  static constexpr Signature signature = "start limit delta -> y";
  using types = TypeList<Joined<FloatTypes, TypeList<std::int16_t, std::int32_t, std::int64_t>>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("stash_type", stash_type); }

  constexpr Inferred infer(const Inputs& in) const {
    if (stash_type != ElementType::float32 && stash_type != ElementType::float64) {
      return Inferred::mismatch("stash_type is not offered", 1,
                                static_cast<std::int64_t>(stash_type));
    }
    TensorInfo y{in[0].type, {dynamic}};
    for (std::size_t i = 0; i < 3; ++i) {
      if (in[i].elements() != dynamic && in[i].elements() != 1) {
        return Inferred::mismatch("an input is not one number", 1, in[i].elements());
      }
    }
    if (is_integer(in[0].type)) {
      const std::vector<std::int64_t> start = in.integers(0), limit = in.integers(1),
                                      delta = in.integers(2);
      if (!delta.empty() && delta[0] == 0) return Inferred::mismatch("delta is 0");
      if (start.empty() || limit.empty() || delta.empty()) return y;
      const bool is_up = delta[0] > 0;
      const auto low = static_cast<std::uint64_t>(is_up ? start[0] : limit[0]);
      const auto high = static_cast<std::uint64_t>(is_up ? limit[0] : start[0]);
      const std::uint64_t step =
          is_up ? static_cast<std::uint64_t>(delta[0]) : 0 - static_cast<std::uint64_t>(delta[0]);
      const bool is_empty = is_up ? start[0] >= limit[0] : limit[0] >= start[0];
      const std::uint64_t count = is_empty ? 0 : (high - low - 1) / step + 1;
      if (count > most) return Inferred::mismatch("there are too many numbers");
      y.shape[0] = static_cast<std::int64_t>(count);
      return y;
    }
    const std::vector<double> start = in.numbers(0), limit = in.numbers(1), delta = in.numbers(2);
    if (!delta.empty() && delta[0] == 0) return Inferred::mismatch("delta is 0");
    if (start.empty() || limit.empty() || delta.empty()) return y;
    const double steps = (limit[0] - start[0]) / delta[0];
    if (!(steps < static_cast<double>(most))) {
      return Inferred::mismatch("there are too many numbers");
    }
    const auto whole = static_cast<std::int64_t>(steps > 0 ? steps : 0);
    y.shape[0] = whole + (static_cast<double>(whole) < steps ? 1 : 0);
    return y;
  }
  template <class T>
  void kernel(View<const T> start, View<const T>, View<const T> delta, View<T> y) const {
    const std::int64_t n = y.size();
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (integer<T>) {
        y[i] = static_cast<T>(static_cast<std::uint64_t>(start[0]) +
                              static_cast<std::uint64_t>(delta[0]) * static_cast<std::uint64_t>(i));
      } else {
        y[i] = static_cast<T>(static_cast<double>(start[0]) +
                              static_cast<double>(delta[0]) * static_cast<double>(i));
      }
    }
  }

 private:
  static constexpr std::uint64_t most = std::uint64_t{1} << 48;
};

}  // namespace halftone::op

#endif
