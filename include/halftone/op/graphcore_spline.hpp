#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_SPLINE_HPP
#define HALFTONE_OP_GRAPHCORE_SPLINE_HPP

#include <halftone/base/math.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Values of the B-spline basis at points, and the weights they belong to. With p = (degree + 1)^d
/// products of one spline for each dimension, s = sum of m_i * (degree + 1)^i:
/// basis[e, s] = product of B(fraction of v_i, m_i) and weight_index[e, s] = sum of
/// (whole part of v_i + m_i) mod kernel_size_i * product of the earlier kernel sizes, where
/// v_i = x[e, i] * (kernel_size_i - degree * is_open_i).
///
/// x             [points, d], between 0 and 1
/// kernel_size   [d] int32
/// is_open       [d] uint8, 1: the spline ends at the borders, 0: it goes round
/// basis         [points, p]; weight_index: [points, p] int32
/// degree        1, 2 or 3
/// limits        a kernel size below 1 counts as 1
/// source        ai.graphcore SplineBasis-1; Fey et al. 2018, arXiv:1711.08920
struct SplineBasis {
  std::int64_t degree = 0;

  static constexpr OpId id{"ai.graphcore", "SplineBasis", 1};
  static constexpr Signature signature = "x kernel_size:I is_open:B -> basis weight_index:I";
  using types = TypeList<FloatTypes, TypeList<std::int32_t>, TypeList<std::uint8_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("degree", degree); }
  constexpr void cost(auto& machine, auto in, auto out) const {
    machine.repeat(in[0].shape[1]);
    machine.pass("Floor", in[0]);
    // A polynomial by Horner's rule and its factor of the product.
    machine.repeat(in[0].shape[1] * (degree + 1));
    machine.pass("Mul", out[0]);
    machine.pass("Add", out[0]);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo kernel_size, TensorInfo is_open) const {
    if (degree < 1 || degree > 3) return Inferred::mismatch("degree is not 1, 2 or 3", 1, degree);
    if (x.rank() != 2) {
      return Inferred::mismatch("the points are not a matrix", 2,
                                static_cast<std::int64_t>(x.rank()));
    }
    std::int64_t d = x.shape[1];
    for (const TensorInfo& list : {kernel_size, is_open}) {
      if (list.rank() != 1) {
        return Inferred::mismatch("a parameter is not a vector", 1,
                                  static_cast<std::int64_t>(list.rank()));
      }
      const std::int64_t both = agree(d, list.shape[0]);
      if (both == contradictory) {
        return Inferred::mismatch("a parameter has not one element per dimension", d,
                                  list.shape[0]);
      }
      d = both;
    }
    if (d > 12) return Inferred::mismatch("too many dimensions", 12, d);
    std::int64_t products = d == dynamic ? dynamic : 1;
    for (std::int64_t i = 0; i < d; ++i) products *= degree + 1;
    return {{x.type, {x.shape[0], products}}, {ElementType::int32, {x.shape[0], products}}};
  }
  template <class T, class I, class B>
  void kernel(const KernelCall& call, View<const T> x, View<const I> kernel_size,
              View<const B> is_open, View<T> basis, View<I> weight_index) const {
    const std::int64_t points = x.extent(0), d = x.extent(1), products = basis.extent(1);
    constexpr std::int64_t task = 256;
    kernel::parallel_for(*call.executor, (points + task - 1) / task, [&](std::int64_t t) {
      const std::int64_t end = points - t * task < task ? points : (t + 1) * task;
      for (std::int64_t e = t * task; e < end; ++e) {
        for (std::int64_t s = 0; s < products; ++s) {
          std::int64_t rest = s, index = 0, stride = 1;
          double value = 1;
          for (std::int64_t i = 0; i < d; ++i) {
            const std::int64_t m = rest % (degree + 1),
                               size = kernel_size[i] < 1 ? 1 : kernel_size[i];
            rest /= degree + 1;
            const double v = static_cast<double>(x[e * d + i]) *
                             static_cast<double>(size - degree * (is_open[i] != 0 ? 1 : 0));
            const double whole = math::trunc(v);
            const std::int64_t at = (math::saturated<std::int32_t>(whole) + m) % size;
            index += (at < 0 ? at + size : at) * stride;
            stride *= size;
            value *= spline(v - whole, m);
          }
          basis[e * products + s] =
              static_cast<T>(static_cast<halftone::detail::Compute<T>>(value));
          weight_index[e * products + s] = static_cast<I>(index);
        }
      }
    });
  }

 private:
  /// Part m of the spline at f in [0, 1).
  constexpr double spline(double f, std::int64_t m) const {
    const double g = 1 - f;
    if (degree == 1) return m == 0 ? g : f;
    if (degree == 2) {
      if (m == 0) return 0.5 * f * f - f + 0.5;
      return m == 1 ? -f * f + f + 0.5 : 0.5 * f * f;
    }
    if (m == 0) return g * g * g / 6;
    if (m == 1) return (3 * f * f * f - 6 * f * f + 4) / 6;
    return m == 2 ? (-3 * f * f * f + 3 * f * f + 3 * f + 1) / 6 : f * f * f / 6;
  }
};

/// y[e, o] = sum over s and c of basis[e, s] * w[weight_index[e, s], c, o] * x[e, c].
///
/// x             [points, c]
/// w             [kernels, c, o]
/// basis         [points, p]; weight_index: [points, p] int32, numbers of kernels
/// y             [points, o]
/// limits        an index that is out of range is an InputError of the run; half and bfloat16 sum
///               in float
/// source        ai.graphcore SplineWeighting-1; Fey et al. 2018, arXiv:1711.08920
struct SplineWeighting {
  static constexpr OpId id{"ai.graphcore", "SplineWeighting", 1};
  static constexpr Signature signature = "x w basis weight_index:I -> y";
  using types = TypeList<FloatTypes, TypeList<std::int32_t>>;
  static constexpr bool compiled_once = true;

  static constexpr void cost(auto& machine, auto in, auto out) {
    const std::int64_t points = in[0].shape[0], inner = in[1].shape[1], columns = in[1].shape[2];
    machine.repeat(in[2].shape[1]);
    machine.gather(in[1], points, inner * columns);
    machine.product({.groups = points, .rows = 1, .inner = inner, .columns = columns});
    machine.pass("Mul", out[0]);
    machine.pass("Add", out[0]);
  }
  static constexpr Inferred infer(TensorInfo x, TensorInfo w, TensorInfo basis, TensorInfo index) {
    if (x.rank() != 2 || w.rank() != 3 || basis.rank() != 2 || index.rank() != 2) {
      return Inferred::mismatch("an input has another number of dimensions");
    }
    if (contradict(x.shape[1], w.shape[1])) {
      return Inferred::mismatch("channels differ from those of the weights", x.shape[1],
                                w.shape[1]);
    }
    for (const TensorInfo& list : {basis, index}) {
      if (contradict(x.shape[0], list.shape[0])) {
        return Inferred::mismatch("the numbers of points differ", x.shape[0], list.shape[0]);
      }
    }
    if (contradict(basis.shape[1], index.shape[1])) {
      return Inferred::mismatch("basis and weight index differ in shape", basis.shape[1],
                                index.shape[1]);
    }
    return TensorInfo{x.type, {x.shape[0], w.shape[2]}};
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const T> w, View<const T> basis,
              View<const I> weight_index, View<T> y) const {
    using S = halftone::detail::Compute<T>;
    const std::int64_t channels = x.extent(1), outputs = w.extent(2), p = basis.extent(1);
    for (const I index :
         std::span(weight_index.data, static_cast<std::size_t>(weight_index.size()))) {
      if (index < 0 || index >= w.extent(0)) halftone_index_error(index, w.extent(0));
    }
    constexpr std::int64_t strip = 64;
    kernel::parallel_for(*call.executor, x.extent(0), [&](std::int64_t e) {
      for (std::int64_t first = 0; first < outputs; first += strip) {
        const std::int64_t n = outputs - first < strip ? outputs - first : strip;
        S sums[strip] = {};
        for (std::int64_t s = 0; s < p; ++s) {
          const S b = static_cast<S>(basis[e * p + s]);
          const T* const rows = w.data + weight_index[e * p + s] * channels * outputs + first;
          for (std::int64_t c = 0; c < channels; ++c) {
            const S factor = b * static_cast<S>(x[e * channels + c]);
            const T* const row = rows + c * outputs;
            for (std::int64_t o = 0; o < n; ++o) sums[o] += factor * static_cast<S>(row[o]);
          }
        }
        for (std::int64_t o = 0; o < n; ++o) y[e * outputs + first + o] = static_cast<T>(sums[o]);
      }
    });
  }
};

}  // namespace halftone::op

#endif
