#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CUMPROD_HPP
#define HALFTONE_OP_CUMPROD_HPP

#include <halftone/op/cumsum.hpp>

namespace halftone {

namespace kernel {
// kernel/cumsum.hpp. Along the middle one of dimensions [outer, n, inner].
template <class T>
void cumulative_product(const Executor& executor, bool exclusive, bool reverse, const T* x,
                        std::int64_t outer, std::int64_t n, std::int64_t inner, T* y);
}  // namespace kernel

namespace op {

/// Products along a dimension: y[i] = x[0] * ... * x[i].
///
/// x, y       at least one dimension
/// axis       one number, from the end if negative
/// exclusive  1: y[i] is without x[i], and y[0] is 1
/// reverse    1: y[i] = x[i] * ... * x[n - 1]
/// grad       CumProdGradient; right for zeros in x, too
/// limits     floating point is multiplied in double; integers wrap. An axis that is out of range is
///            an InputError of the run if it is not constant
/// source     ai.onnx CumProd-26
struct CumProd {
  std::int64_t exclusive = 0, reverse = 0;

  static constexpr OpId id{"ai.onnx", "CumProd", 26};
  static constexpr Signature signature = "x axis:I -> y";
  using types = TypeList<ProductTypes, TypeList<std::int32_t, std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("exclusive", exclusive);
    visit("reverse", reverse);
  }
  static constexpr void cost(auto& machine, auto in, auto out) { CumSum::cost(machine, in, out); }
  static constexpr Inferred infer(const Inputs& in) { return CumSum::infer(in); }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axis, View<T> y) const {
    const std::size_t at = normalized_axis(axis[0], x.rank);
    if (at == x.rank) halftone_index_error(axis[0], static_cast<std::int64_t>(x.rank));
    kernel::cumulative_product<T>(*call.executor, exclusive != 0, reverse != 0, x.data,
                                  x.size(0, at), x.extent(at), x.size(at + 1, x.rank), y.data);
  }
  constexpr void gradient(auto& g) const;
};

/// The gradient of CumProd: dx[i] = (x[0] * ... * x[i - 1]) * r[i], where r[i] = dy[i] + x[i + 1] *
/// r[i + 1], which divides by nothing.
struct CumProdGradient {
  std::int64_t exclusive = 0, reverse = 0;

  static constexpr OpId id{"halftone", "CumProdGradient", 1};
  static constexpr Signature signature = "x axis:I dy -> dx";
  using types = TypeList<FloatTypes, TypeList<std::int32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("exclusive", exclusive);
    visit("reverse", reverse);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    CumSum::cost(machine, in, out);
    CumSum::cost(machine, in, out);
    machine.pass("Mul", in[0]);
  }
  static constexpr Inferred infer(const Inputs& in) { return in[0]; }
  template <class T, class I>
  void kernel(const KernelCall&, View<const T> x, View<const I> axis, View<const T> dy,
              View<T> dx) const {
    const std::size_t at = normalized_axis(axis[0], x.rank);
    if (at == x.rank) halftone_index_error(axis[0], static_cast<std::int64_t>(x.rank));
    const std::int64_t n = x.extent(at), inner = x.size(at + 1, x.rank);
    const std::int64_t lines = x.size(0, at) * inner;
    const std::int64_t step = reverse != 0 ? -inner : inner;
    for (std::int64_t line = 0; n > 0 && line < lines; ++line) {
      const std::int64_t first = line / inner * n * inner + line % inner,
                         start = first + (reverse != 0 ? (n - 1) * inner : 0);
      double after = 0;  // r of the next element
      for (std::int64_t i = n; i-- > 0;) {
        const std::int64_t here = start + i * step;
        const bool is_last = i == n - 1;
        const double behind = is_last ? 0 : static_cast<double>(x[here + step]) * after;
        const double own = exclusive == 0 ? static_cast<double>(dy[here])
                           : is_last      ? 0
                                          : static_cast<double>(dy[here + step]);
        after = own + behind;
        dx[here] = static_cast<T>(after);
      }
      double before = 1;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t here = start + i * step;
        dx[here] = static_cast<T>(static_cast<double>(dx[here]) * before);
        before *= static_cast<double>(x[here]);
      }
    }
  }
};

constexpr void CumProd::gradient(auto& g) const {
  const auto dx = halftone::detail::record(
      g.graph(), CumProdGradient{.exclusive = exclusive, .reverse = reverse},
      {g.x(0).id, g.x(1).id, g.dy().id}, 1);
  g.dx(0) += AnyTensor{&g.graph(), dx[0]};
}

}  // namespace op
}  // namespace halftone

#endif
