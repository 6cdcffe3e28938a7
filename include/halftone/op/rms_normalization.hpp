#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_RMS_NORMALIZATION_HPP
#define HALFTONE_OP_RMS_NORMALIZATION_HPP

#include <halftone/op/layer_normalization.hpp>

namespace halftone::kernel {

// kernel/layer_normalization.hpp
template <class T, class V, class S>
void rms_normalization(const Executor& executor, const T* x, const V* scale, V* y,
                       std::int64_t outer, std::int64_t n, S epsilon);

}  // namespace halftone::kernel

namespace halftone::op {

/// y = x / sqrt(mean of x^2 + epsilon) * scale, with the mean over the dimensions from `axis` on.
///
/// x           [outer..., inner...], floating point; inner from `axis` on
/// scale       [inner...], or what broadcasts to x, faster to [inner...]
/// y           x's shape, scale's element type
/// stash_type  element type that the mean is computed in: 1 float, 10 float16, 11 double, 16
///             bfloat16
/// grad        with d = dy * scale, r = 1 / sqrt(mean of x^2 + epsilon) and z = x * r, dx = r * (d -
///             z * mean(d * z)); dscale = sum(dy * z)
/// limits      computed in float, double in double, whatever stash_type says
/// source      ai.onnx RMSNormalization-23; Zhang and Sennrich 2019, arXiv:1910.07467
struct RMSNormalization {
  std::int64_t axis = -1;
  float epsilon = 1e-5f;
  std::int64_t stash_type = 1;

  static constexpr OpId id{"ai.onnx", "RMSNormalization", 23};
  static constexpr Signature signature = "x scale:V -> y:V";
  using types = TypeList<FloatTypes, FloatTypes>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("epsilon", epsilon);
    visit("stash_type", stash_type);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    const std::size_t first = normalized_axis(axis, in[0].rank());
    std::int64_t rows = 1;
    for (std::size_t i = 0; i < first && i < in[0].rank(); ++i) rows *= in[0].shape[i];
    machine.reduce(in[0], rows);
    machine.pass("Mul", in[0]);
    machine.pass("Mul", in[0]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    const std::size_t at = normalized_axis(axis, x.rank());
    if (at == x.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()), axis);
    }
    if (stash_type < 0 || stash_type > 255 ||
        !has_type(FloatTypes{}, static_cast<ElementType>(stash_type))) {
      return Inferred::mismatch("stash_type is no floating-point type", 1, stash_type);
    }
    const Inferred fits = halftone::detail::check_parameter(x, in[1].shape);
    if (!fits.ok()) return fits;
    return TensorInfo{in[1].type, x.shape};
  }

  template <class T, class V>
  void kernel(const KernelCall& call, View<const T> x, View<const V> scale, View<V> y) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    const std::int64_t outer = x.size(0, at), n = x.size(at, x.rank);
    const std::size_t inner = x.rank - at;
    const std::int64_t rows = halftone::detail::differs_by_row(scale, inner) ? 1 : outer;
    for (std::int64_t row = 0; row < outer; row += rows) {
      auto* room = static_cast<V*>(call.workspace);
      const V* const factors =
          halftone::detail::spread_parameter(scale, x.shape(), inner, n, row, room);
      kernel::rms_normalization(*call.executor, x.data + row * n, factors, y.data + row * n, rows,
                                n, static_cast<halftone::detail::Compute<T>>(epsilon));
    }
  }
  template <class T, class V>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const V> scale,
                                  View<V>) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    const std::int64_t n = x.size(at, x.rank);
    return static_cast<std::size_t>(halftone::detail::parameter_room(scale, x.rank - at, n)) *
           sizeof(V);
  }
  constexpr void gradient(auto& g) const {
    const TensorInfo info = g.x().info();
    const bool is_double =
        info.type == ElementType::float64 || g.x(1).info().type == ElementType::float64;
    const auto wide = [&](auto t) {
      return cast(t, {.to = is_double ? ElementType::float64 : ElementType::float32});
    };
    Dims over;
    for (std::size_t i = normalized_axis(axis, info.rank()); i < info.rank(); ++i) {
      over.push_back(static_cast<std::int64_t>(i));
    }
    const auto axes = constant(g.graph(), over);
    const auto x = wide(g.x()), dy = wide(g.dy());
    const auto inverse = reciprocal(sqrt(mean(x * x, axes) + double(epsilon)));
    const auto z = x * inverse;
    if (g.needs(0)) {
      const auto d = dy * wide(g.x(1));
      g.dx(0) += inverse * (d - z * mean(d * z, axes));
    }
    if (g.needs(1)) g.dx(1) += dy * z;
  }
};

}  // namespace halftone::op

#endif
