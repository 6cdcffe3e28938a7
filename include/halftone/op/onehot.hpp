#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ONEHOT_HPP
#define HALFTONE_OP_ONEHOT_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// A dimension more, in which one element is `on` and the others are `off`: where indices say.
///
/// indices  any shape; numbers in [-depth, depth), negative ones count from the end, also for
///          version 9, which does not have them; others, and NaN, leave the whole line off
/// depth    one number, the new extent; PopART wants a constant
/// values   [2]: off, on
/// axis     where the new dimension is in y, from its end if negative
/// grad     of values: the sums of dy where y is off and where it is on
/// limits   indices and depth are any numbers, fractions are cut off. While depth is not known,
///          neither is y's extent
/// source   ai.onnx OneHot-11
struct OneHot {
  std::int64_t axis = -1;

  static constexpr OpId id{"ai.onnx", "OneHot", 9, 11, 28};
  static constexpr Signature signature = "indices:I depth:D values:T -> y:T";
  using types = TypeList<NumericTypes, BitTypes, BitTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }

  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.fill(out[0]);
    machine.pass("OneHotValues", {out[0].type, in[0].shape});
  }
  constexpr Inferred infer(const Inputs& in) const {
    const std::size_t rank = in[0].rank() + 1;
    const std::size_t at = normalized_axis(axis, rank);
    if (at == rank) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(rank), axis);
    }
    if (rank > max_rank) {
      return Inferred::mismatch("too many dimensions", max_rank, static_cast<std::int64_t>(rank));
    }
    if (in[1].elements() != dynamic && in[1].elements() != 1) {
      return Inferred::mismatch("depth is not one number", 1, in[1].elements());
    }
    if (!has_type(NumericTypes{}, in[1].type)) return Inferred::mismatch("depth is no number");
    if (in[2].rank() != 1 || contradict(in[2].shape[0], 2)) {
      return Inferred::mismatch("values are not a pair", 2, in[2].elements());
    }
    TensorInfo y{in[2].type, in[0].shape};
    const std::vector<double> depth = in.numbers(1);
    if (!depth.empty() && !(depth[0] >= 0 && depth[0] < 0x1p48)) {
      return Inferred::mismatch("depth is out of range");
    }
    y.shape.insert(at, depth.empty() ? dynamic : static_cast<std::int64_t>(depth[0]));
    return y;
  }
  template <class I, class D, class T>
  void kernel(const KernelCall& call, View<const I> indices, View<const D>, View<const T> values,
              View<T> y) const {
    fill<I, T>(call, indices, values, y);
  }
  constexpr void gradient(auto& g) const {
    const auto dy = g.dy();
    const ElementType type = dy.info().type;
    const auto masked = [&](const Dims& pair) {
      const auto values = cast(constant(g.graph(), pair), {.to = type});
      const auto mask = OpFunction<OneHot>{}(g.x(0), g.x(1), values, *this);
      return reshape(sum(dy * mask), constant(g.graph(), Dims{1}));
    };
    g.dx(2) += concat(std::array{masked({1, 0}), masked({0, 1})}, {.axis = 0});
  }

 private:
  template <class I, class T>
  [[gnu::noinline]] void fill(const KernelCall& call, View<const I> indices, View<const T> values,
                              View<T> y) const {
    const std::size_t at = normalized_axis(axis, y.rank);
    const std::int64_t n = indices.size(), depth = y.extent(at), inner = y.size(at + 1, y.rank);
    kernel::fill<T>(*call.executor, values[0], y.data, y.size());
    for (std::int64_t i = 0; i < n; ++i) {
      const I index = indices[i];
      if constexpr (real<I>) {
        if (!(index > static_cast<I>(-depth - 1) && index < static_cast<I>(depth))) continue;
      }
      auto k = static_cast<std::int64_t>(index);
      if constexpr (!std::is_unsigned_v<I>) {
        if (k < 0) k += depth;
      }
      if (k >= 0 && k < depth) y[(i / inner * depth + k) * inner + i % inner] = values[1];
    }
  }
};

}  // namespace halftone::op

#endif
