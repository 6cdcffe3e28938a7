#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CUMSUM_HPP
#define HALFTONE_OP_CUMSUM_HPP

#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/product_types.hpp>

namespace halftone {

namespace kernel {
// kernel/cumsum.hpp. Along the middle one of dimensions [outer, n, inner].
template <class T>
void cumulative_sum(const Executor& executor, bool exclusive, bool reverse, const T* x,
                    std::int64_t outer, std::int64_t n, std::int64_t inner, T* y);
}  // namespace kernel

namespace op {

/// Sums along a dimension: y[i] = x[0] + ... + x[i].
///
/// x, y       at least one dimension
/// axis       one number, from the end if negative; PopART wants a constant
/// exclusive  1: y[i] is without x[i]
/// reverse    1: y[i] = x[i] + ... + x[n - 1]
/// grad       dx = sums of dy from the other end
/// limits     floating point is summed in double; integers wrap. An axis that is out of range is an
///            InputError of the run if it is not constant
/// source     ai.onnx CumSum-14
struct CumSum {
  std::int64_t exclusive = 0, reverse = 0;

  static constexpr OpId id{"ai.onnx", "CumSum", 11, 14};
  static constexpr Signature signature = "x axis:I -> y";
  using types = TypeList<ProductTypes, TypeList<std::int32_t, std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("exclusive", exclusive);
    visit("reverse", reverse);
  }
  static constexpr void cost(auto& machine, auto in, auto) {
    // Which dimension it is, is not among the extents: that with the most steps.
    std::int64_t n = 1;
    for (const std::int64_t extent : in[0].shape) n = extent > n ? extent : n;
    machine.repeat(doublings(n));
    machine.pass("Add", in[0]);
  }
  static constexpr Inferred infer(const Inputs& in) {
    const auto rank = static_cast<std::int64_t>(in[0].rank());
    if (rank == 0) return Inferred::mismatch("the input is a scalar", 1, 0);
    if (in[1].elements() != dynamic && in[1].elements() != 1) {
      return Inferred::mismatch("axis is not one number", 1, in[1].elements());
    }
    for (const std::int64_t axis : in.integers(1)) {
      if (axis < -rank || axis >= rank) {
        return Inferred::mismatch("axis is out of range", rank, axis);
      }
    }
    return in[0];
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axis, View<T> y) const {
    const std::size_t at = normalized_axis(axis[0], x.rank);
    if (at == x.rank) halftone_index_error(axis[0], static_cast<std::int64_t>(x.rank));
    kernel::cumulative_sum<T>(*call.executor, exclusive != 0, reverse != 0, x.data, x.size(0, at),
                              x.extent(at), x.size(at + 1, x.rank), y.data);
  }
  constexpr void gradient(auto& g) const {
    g.dx(0) += cumsum(g.dy(), g.x(1), {.exclusive = exclusive, .reverse = reverse == 0 ? 1 : 0});
  }
};

}  // namespace op
}  // namespace halftone

#endif
