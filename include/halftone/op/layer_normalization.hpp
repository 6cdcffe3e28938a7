#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_LAYER_NORMALIZATION_HPP
#define HALFTONE_OP_LAYER_NORMALIZATION_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/normalization.hpp>

namespace halftone::kernel {

// kernel/layer_normalization.hpp
template <class T, class S>
void layer_normalization(const Executor& executor, const T* x, const T* scale, const T* bias, T* y,
                         std::int64_t outer, std::int64_t n, S epsilon, S* mean, S* inverse);

}  // namespace halftone::kernel

namespace halftone::detail {

/// Whether a parameter of a normalization broadcasts to x: reason, expected and found if not.
constexpr Inferred check_parameter(const TensorInfo& x, const Dims& given) {
  if (given.size() > x.rank()) {
    return Inferred::mismatch("a parameter has more dimensions than the input",
                              static_cast<std::int64_t>(x.rank()),
                              static_cast<std::int64_t>(given.size()));
  }
  for (std::size_t d = 0; d < given.size(); ++d) {
    const std::int64_t wanted = x.shape[x.rank() - given.size() + d];
    if (given[d] != 1 && contradict(wanted, given[d])) {
      return Inferred::mismatch("a parameter does not broadcast to the input", wanted, given[d]);
    }
  }
  return x;
}

/// Whether a parameter has extents in front of the normalized dimensions, the last `inner` ones of x: rows of
/// x may then have different values.
template <class T>
constexpr bool differs_by_row(View<const T> p, std::size_t inner) {
  return p && p.rank > inner && p.size(0, p.rank - inner) != 1;
}
/// Elements of room that spread_parameter needs for it.
template <class T>
constexpr std::int64_t parameter_room(View<const T> p, std::size_t inner, std::int64_t n) {
  return p && (differs_by_row(p, inner) || p.size() != n) ? n : 0;
}

/// The n elements of a parameter for a row of x, one for each place of its last `inner` dimensions: its own,
/// or copies in `room`, which moves on.
template <class T>
const T* spread_parameter(View<const T> p, std::span<const std::int64_t> x, std::size_t inner,
                          std::int64_t n, std::int64_t row, T*& room) {
  if (parameter_room(p, inner, n) == 0) return p.data;
  T* const to = room;
  room += n;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = row * n + i, step = 1, from = 0;
    for (std::size_t d = p.rank; d-- > 0;) {
      const std::int64_t extent = x[x.size() - p.rank + d];
      from += p.extent(d) == 1 ? 0 : rest % extent * step;
      rest /= extent;
      step *= p.extent(d);
    }
    to[i] = p[from];
  }
  return to;
}

}  // namespace halftone::detail

namespace halftone::op {

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and (biased) variance over
/// the dimensions from `axis` on.
///
/// x, y            [outer..., inner...], floating point; inner from `axis` on
/// scale, bias     [inner...], or what broadcasts to x, faster to [inner...]; bias may be absent
/// mean, inv_std   [outer..., 1...]: the mean, and 1 / sqrt(variance + epsilon)
/// stash_type      element type of mean and inv_std: 1 float, 16 bfloat16
/// grad            with d = dy * scale and z = y without scale and bias, dx = inv_std * (d -
/// mean(d)
///                 - z * mean(d * z)); dscale = sum(dy * z); dbias = sum(dy)
/// limits          computed in float, double in double, whatever stash_type says
/// source          ai.onnx LayerNormalization-17; Ba et al. 2016, arXiv:1607.06450
struct LayerNormalization {
  std::int64_t axis = -1;
  float epsilon = 1e-5f;
  std::int64_t stash_type = 1;

  static constexpr OpId id{"ai.onnx", "LayerNormalization", 17};
  static constexpr Signature signature = "x scale bias? -> y mean:U? inv_std:U?";
  using types = TypeList<FloatTypes, TypeList<float, bfloat16>>;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("epsilon", epsilon);
    visit("stash_type", stash_type);
  }

  constexpr void cost(auto& machine, auto in, auto) const {
    const std::size_t first = normalized_axis(axis, in[0].rank());
    std::int64_t rows = 1;
    for (std::size_t i = 0; i < first && i < in[0].rank(); ++i) rows *= in[0].shape[i];
    // Mean and mean of squares in one reduction each, then subtract, multiply, scale and shift.
    const std::int64_t statistics = rows;
    machine.reduce(in[0], statistics);
    machine.reduce(in[0], statistics);
    machine.pass("Sub", in[0]);
    machine.pass("Mul", in[0]);
    machine.pass("Mul", in[0]);
    if (in[2].is_known()) machine.pass("Add", in[0]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    const std::size_t at = normalized_axis(axis, x.rank());
    if (at == x.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()), axis);
    }
    if (stash_type != 1 && stash_type != 16) {
      return Inferred::mismatch("stash_type is neither float nor bfloat16", 1, stash_type);
    }
    for (std::size_t i = 1; i < 3; ++i) {
      if (!in.has(i)) continue;
      const Inferred fits = halftone::detail::check_parameter(x, in[i].shape);
      if (!fits.ok()) return fits;
    }
    Vector<TensorInfo> outputs{x};
    TensorInfo statistics{static_cast<ElementType>(stash_type), x.shape};
    for (std::size_t d = at; d < x.rank(); ++d) statistics.shape[d] = 1;
    while (outputs.size() < in.output_count()) outputs.push_back(statistics);
    return outputs;
  }

  template <class T, class U>
  void kernel(const KernelCall& call, View<const T> x, View<const T> scale, View<const T> bias,
              View<T> y, View<U> average, View<U> inv_std) const {
    using S = halftone::detail::Compute<T>;
    const std::size_t at = normalized_axis(axis, x.rank);
    const std::int64_t outer = x.size(0, at), n = x.size(at, x.rank);
    auto* const means = static_cast<S*>(call.workspace);
    S* const inverses = means + (average ? outer : 0);
    const std::size_t inner = x.rank - at;
    const bool by_row = halftone::detail::differs_by_row(scale, inner) ||
                        halftone::detail::differs_by_row(bias, inner);
    const std::int64_t rows = by_row ? 1 : outer;
    for (std::int64_t row = 0; row < outer; row += rows) {
      T* room = reinterpret_cast<T*>(inverses + (inv_std ? outer : 0));
      const auto parameter = [&](View<const T> p) {
        return halftone::detail::spread_parameter(p, x.shape(), inner, n, row, room);
      };
      const T* const factors = parameter(scale);
      kernel::layer_normalization<T>(*call.executor, x.data + row * n, factors, parameter(bias),
                                     y.data + row * n, rows, n, static_cast<S>(epsilon),
                                     average ? means + row : static_cast<S*>(nullptr),
                                     inv_std ? inverses + row : static_cast<S*>(nullptr));
    }
    for (std::int64_t i = 0; i < outer; ++i) {
      if (average) average[i] = static_cast<U>(means[i]);
      if (inv_std) inv_std[i] = static_cast<U>(inverses[i]);
    }
  }
  template <class T, class U>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const T> scale,
                                  View<const T> bias, View<T>, View<U> average,
                                  View<U> inv_std) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    const std::int64_t outer = x.size(0, at), n = x.size(at, x.rank);
    std::int64_t bytes = ((average ? outer : 0) + (inv_std ? outer : 0)) *
                         std::int64_t{sizeof(halftone::detail::Compute<T>)};
    for (const View<const T>& p : {scale, bias}) {
      bytes += halftone::detail::parameter_room(p, x.rank - at, n) * std::int64_t{sizeof(T)};
    }
    return static_cast<std::size_t>(bytes);
  }
  constexpr void gradient(auto& g) const {
    const auto x = halftone::detail::wide(g.x());
    const ElementType type = x.info().type;
    Dims over;
    for (std::size_t i = normalized_axis(axis, x.info().rank()); i < x.info().rank(); ++i) {
      over.push_back(static_cast<std::int64_t>(i));
    }
    const halftone::detail::Normalized normalized(x, over, double(epsilon));
    if (g.has_dy(0)) {
      const auto dy = halftone::detail::wide(g.dy());
      if (g.needs(0)) g.dx(0) += normalized.gradient(dy * halftone::detail::wide(g.x(1)));
      if (g.needs(1)) g.dx(1) += dy * normalized.z;
      if (g.needs(2)) g.dx(2) += dy;
    }
    for (std::size_t i = 1; i < 3; ++i) {
      if (!g.has_dy(i)) continue;
      const auto d = op::cast(g.dy(i), {.to = type});
      g.dx(0) += i == 1 ? normalized.from_mean(d) : normalized.from_inverse(d);
    }
  }
};

}  // namespace halftone::op

#endif
