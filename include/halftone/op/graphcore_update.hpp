#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_UPDATE_HPP
#define HALFTONE_OP_GRAPHCORE_UPDATE_HPP

#include <halftone/op/compare.hpp>

namespace halftone {

/// The rule of automatic loss scaling, for numbers and tensors: half of the factor if more than the
/// proportion `threshold` of all numbers are beyond the edge, else twice the factor.
constexpr auto next_loss_scale(auto factor, auto within, auto beyond, float threshold) {
  return select(beyond > threshold / (1 - threshold) * within, factor * 0.5f, factor * 2.f);
}

namespace op {

/// y = A + B in the memory of A: a variable is changed, and y is the variable then.
///
/// A, y    any shape
/// B       broadcasts to A's shape
/// limits  nothing is changed in place that is no variable, so that others who read A see what it
///         was: y is the sum. Integer initializers count as constants, and what a body captures is
///         no variable in it
/// grad    as Add's, but for a variable, which has none
/// source  ai.graphcore AddLhsInplace-1
struct AddLhsInplace {
  static constexpr OpId id{"ai.graphcore", "AddLhsInplace", 1};
  static constexpr Signature signature = "A B -> y";
  using types = TypeList<NumericTypes>;

  constexpr AnyTensor expand(auto a, auto b) const {
    const AnyTensor y = add(a, b);
    if (y.info().is_known() && a.info().is_known() && !fits(a.info(), y.info())) {
      fail(ErrorKind::model, {.what = "the right operand does not broadcast to the left one"});
    }
    if (!is_variable(a.graph->tensor(a.id))) return y;
    return copy_var_update(a, y);
  }

 private:
  static constexpr bool fits(const TensorInfo& a, const TensorInfo& y) {
    if (a.rank() != y.rank()) return false;
    for (std::size_t i = 0; i < a.rank(); ++i) {
      if (contradict(a.shape[i], y.shape[i])) return false;
    }
    return true;
  }
};

/// The tensor itself: marks a gradient that automatic loss scaling looks at, which here takes
/// names. source  ai.graphcore AutoLossScaleProxy-1
struct AutoLossScaleProxy {
  static constexpr OpId id{"ai.graphcore", "AutoLossScaleProxy", 1};
  static constexpr Signature signature = "x -> y@x";
  using types = TypeList<FloatTypes>;
  static constexpr Inferred infer(TensorInfo x) { return x; }
  static constexpr void gradient(auto& g) { g.dx(0) += g.dy(); }
};

/// The next factor of automatic loss scaling: half of it if too many numbers were beyond the edge,
/// else twice the factor. A factor that is a variable is changed.
///
/// factor      one floating-point number
/// statistics  [2], numbers within the edge and beyond it
/// thresholdUpperCountProportion  in [0, 1): too many are more than this proportion of all. PopART
///                                has it among the session's options, with the same default
/// grad        none
/// source      ai.graphcore LossScaleUpdate-1
struct LossScaleUpdate {
  float threshold = 1e-7f;

  static constexpr OpId id{"ai.graphcore", "LossScaleUpdate", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "factor statistics:U -> y";
  using types = TypeList<FloatTypes, TypeList<std::uint32_t>>;

  constexpr void attributes(auto&& visit) { visit("thresholdUpperCountProportion", threshold); }
  constexpr AnyTensor expand(auto factor, auto statistics) const {
    if (!(threshold >= 0 && threshold < 1)) {
      fail(ErrorKind::model, {.what = "thresholdUpperCountProportion is not in [0, 1)"});
    }
    if (factor.info().elements() != dynamic && factor.info().elements() != 1) {
      fail(ErrorKind::model, {.what = "the factor is not one number"});
    }
    const TensorInfo counts = statistics.info();
    if (counts.is_known() && (counts.rank() != 1 || contradict(counts.shape[0], 2))) {
      fail(ErrorKind::model, {.what = "the statistics are not two numbers"});
    }
    const AnyTensor numbers = cast(statistics, {.to = ElementType::float32});
    const auto count = [&](std::int64_t i) {
      const Dims place = {i};
      return gather(numbers, constant(*factor.graph, place.span(), Dims{}));
    };
    const AnyTensor next = next_loss_scale(factor, count(0), count(1), threshold);
    if (!is_variable(factor.graph->tensor(factor.id))) return next;
    return copy_var_update(factor, next);
  }
};

}  // namespace op
}  // namespace halftone

#endif
