#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CLIP_HPP
#define HALFTONE_OP_CLIP_HPP

#include <halftone/base/math.hpp>

namespace halftone {

namespace detail {

/// y's info, where the inputs from `first` on are limits: one element each, or left out.
constexpr Inferred within_limits(const TensorInfo& y, const Inputs& in, std::size_t first) {
  for (std::size_t i = first; i < in.size(); ++i) {
    const std::int64_t n = in[i].elements();
    if (in.has(i) && n != dynamic && n != 1) {
      return Inferred::mismatch("a limit is one element", 1, n);
    }
  }
  return y;
}

}  // namespace detail

namespace op {

/// x held between two limits: y = min(max(x, lower), upper), element by element.
///
/// x, y          any shape, any numbers
/// lower, upper  one element each, x's type; left out: no limit on that side
/// grad          dx = dy strictly inside, else 0, as PopART has it; nothing reaches the limits
/// limits        NaN stays NaN; lower > upper gives upper
/// source        ai.onnx Clip-11, where the limits are called min and max
struct Clip {
  static constexpr OpId id{"ai.onnx", "Clip", 11, 12, 13};
  static constexpr Signature signature = "x lower? upper? -> y";
  static constexpr bool is_short = true;
  using types = TypeList<NumericTypes>;

  static constexpr Inferred infer(const Inputs& in) { return detail::within_limits(in[0], in, 1); }
  template <class T>
  static constexpr T absent(std::size_t input) {
    if constexpr (real<T>) {
      return static_cast<T>(input == 1 ? -__builtin_inff() : __builtin_inff());
    } else {
      return math::saturated<T>(input == 1 ? -1e30 : 1e30);
    }
  }
  static constexpr auto forward(auto x, auto lower, auto upper) {
    return math::min(math::max(x, lower), upper);
  }
  static constexpr void gradient(auto& g);
};

/// The gradient of Clip: dx = dy where y lies strictly between the limits, else 0. It asks for y, so that x's
/// memory is free.
///
/// dy, y, dx     one shape, floating point
/// lower, upper  as Clip's
/// grad          as Where's: ddy = d where y lies strictly between the limits, else 0
/// source        none
struct ClipGradient {
  static constexpr OpId id{"halftone", "ClipGradient", 1};
  static constexpr Signature signature = "dy y lower? upper? -> dx";
  static constexpr bool is_short = true;

  static constexpr Inferred infer(const Inputs& in) {
    const TensorInfo &dy = in[0], &y = in[1];
    if (dy.rank() != y.rank()) {
      return Inferred::mismatch("the gradient has another rank than the output",
                                static_cast<std::int64_t>(y.rank()),
                                static_cast<std::int64_t>(dy.rank()));
    }
    for (std::size_t i = 0; i < y.rank(); ++i) {
      if (contradict(dy.shape[i], y.shape[i])) {
        return Inferred::mismatch("the gradient has another extent than the output", y.shape[i],
                                  dy.shape[i]);
      }
    }
    return detail::within_limits(dy, in, 2);
  }
  template <class T>
  static constexpr T absent(std::size_t input) {
    return Clip::absent<T>(input - 1);
  }
  static constexpr auto forward(auto dy, auto y, auto lower, auto upper) {
    return math::select(y > lower, math::select(y < upper, dy, 0), 0);
  }
  static constexpr void gradient(auto& g);
};

constexpr void Clip::gradient(auto& g) {
  Vector<TensorId> inputs{g.dy().id, g.y().id};
  for (std::size_t i = 1; i < g.inputs(); ++i) inputs.push_back(g.x(i).id);
  const auto dx = halftone::detail::record(g.graph(), ClipGradient{}, inputs, 1);
  g.dx(0) += AnyTensor{&g.graph(), dx[0]};
}
constexpr void ClipGradient::gradient(auto& g) {
  Vector<TensorId> inputs{g.dy().id, g.x(1).id};
  for (std::size_t i = 2; i < g.inputs(); ++i) inputs.push_back(g.x(i).id);
  const auto d = halftone::detail::record(g.graph(), ClipGradient{}, inputs, 1);
  g.dx(0) += AnyTensor{&g.graph(), d[0]};
}

/// Clip with its limits as attributes; the defaults are float's limits, which infinity becomes.
/// source  ai.onnx Clip-6
struct Clip_1 {
  static constexpr float largest = 0x1.fffffep127f;

  float max = largest, min = -largest;
  Dims consumed_inputs{};  ///< an old hint about memory, without effect

  static constexpr OpId id{"ai.onnx", "Clip", 1, 6};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("max", max);
    visit("min", min);
    visit("consumed_inputs", consumed_inputs);
  }
  constexpr AnyTensor expand(auto x) const { return clip(x, min, max); }
};

}  // namespace op

}  // namespace halftone

#endif
