#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_NORMALIZATION_HPP
#define HALFTONE_OP_NORMALIZATION_HPP

#include <halftone/op/arithmetic.hpp>
#include <halftone/op/cast.hpp>
#include <halftone/op/compare.hpp>
#include <halftone/op/expand.hpp>
#include <halftone/op/math.hpp>
#include <halftone/op/reduce.hpp>
#include <halftone/op/reshape.hpp>

namespace halftone::detail {

/// t in the type that its type is computed in: float for the halves.
constexpr AnyTensor wide(auto t) {
  const ElementType type = t.info().type;
  if (type == ElementType::float32 || type == ElementType::float64) return t;
  return op::cast(t, {.to = ElementType::float32});
}

constexpr AnyTensor reshaped(auto t, const Dims& shape) {
  return t.info().shape == shape ? t : GradientScope::reshape_to(t, shape);
}

/// What the gradients of normalizations share: z = (x - mean) / sqrt(variance + epsilon), with mean
/// and (biased) variance over some dimensions, and how gradients go back through it.
template <class Tensor>
struct Normalized {
  Tensor axes, centered, inverse, z;  ///< inverse = 1 / sqrt(variance + epsilon)
  double count = 1;                   ///< elements that have one mean

  /// x of the compute type; at least one dimension.
  constexpr Normalized(Tensor x, const Dims& over, double epsilon)
      : axes(constant(*x.graph, over)) {
    for (const std::int64_t axis : over) {
      count *= static_cast<double>(x.info().shape[static_cast<std::size_t>(axis)]);
    }
    centered = x - mean_of(x);
    inverse = op::reciprocal(op::sqrt(mean_of(centered * centered) + epsilon));
    z = centered * inverse;
  }
  constexpr Tensor mean_of(Tensor t) const { return op::mean(t, axes); }
  /// From that of z.
  constexpr Tensor gradient(Tensor dz) const {
    return inverse * (dz - mean_of(dz) - z * mean_of(dz * z));
  }
  /// From those of mean, variance and inverse, which have extents of 1 along the dimensions.
  constexpr Tensor from_mean(Tensor d) const {
    return op::expand(d * (1 / count), constant(*d.graph, z.info().shape));
  }
  constexpr Tensor from_variance(Tensor d) const { return centered * (d * (2 / count)); }
  constexpr Tensor from_inverse(Tensor d) const {
    return from_variance(d * inverse * inverse * inverse * -0.5);
  }
};

}  // namespace halftone::detail

#endif
