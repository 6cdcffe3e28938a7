#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ML_LINEAR_HPP
#define HALFTONE_OP_ML_LINEAR_HPP

#include <halftone/op/ml_post_transform.hpp>

namespace halftone::op {

/// x times the transpose of [targets, c] coefficients, plus an intercept for each target.
constexpr AnyTensor linear_scores(std::same_as<AnyTensor> auto given, AnyTensor coefficients,
                                  AnyTensor intercepts, std::int64_t targets) {
  const auto x = halftone::detail::float_matrix(given);
  const std::int64_t count = coefficients.is_absent() ? 0 : coefficients.info().elements();
  if (targets < 1 || count == 0 || count % targets != 0) {
    fail(ErrorKind::model, {.what = "coefficients need a row for each target",
                            .expected = std::to_string(targets) + " rows",
                            .found = std::to_string(count) + " coefficients"});
  }
  const auto w = reshape(coefficients, constant(*x.graph, Dims{targets, count / targets}));
  return intercepts.is_absent() ? gemm(x, w, none, {.trans_b = true})
                                : gemm(x, w, intercepts, {.trans_b = true});
}

/// y = x * coefficients^T + intercepts; recorded as these operators.
///
/// x               [n, c] or [c], float, double, int32 or int64; computed in float
/// y               float [n, targets]
/// coefficients    [targets * c], row by row
/// intercepts      [targets], absent: 0
/// post_transform  what becomes of a row of several targets; of one target only PROBIT is done, as
///                 ONNX Runtime has it
/// source          ai.onnx.ml LinearRegressor-1
struct LinearRegressor {
  PostTransform post_transform = PostTransform::as_is;
  std::int64_t targets = 1;

  static constexpr OpId id{"ai.onnx.ml", "LinearRegressor", 1};
  static constexpr Signature signature = "x coefficients=:F intercepts=?:F -> y:F";
  using types = TypeList<TypeList<float, double, std::int64_t, std::int32_t>, TypeList<float>>;

  constexpr void attributes(auto&& visit) {
    visit("post_transform", post_transform);
    visit("targets", targets);
  }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto coefficients,
                             tensor_handle auto intercepts) const {
    if (!intercepts.is_absent() && intercepts.info().elements() != targets) {
      fail(ErrorKind::model, {.what = "intercepts need one number for each target",
                              .expected = std::to_string(targets),
                              .found = std::to_string(intercepts.info().elements())});
    }
    const auto y = linear_scores(x, coefficients, intercepts, targets);
    if (targets == 1 && post_transform != PostTransform::probit) return y;
    return halftone::detail::transformed(post_transform, y);
  }
};

/// The label whose score x * coefficients^T + intercepts is largest; recorded as these operators.
///
/// x             [n, c] or [c], float, double, int32 or int64; computed in float
/// y             [n]: labels
/// z             float [n, e]: scores, e the number of intercepts
/// coefficients  [e * c], row by row
/// classlabels_ints, classlabels_strings, post_transform  the labels, numbers or texts; what becomes of the scores
/// limits        with one score s and two labels y is the second one if s > 0, and z is 1 - s, s, as
///               ONNX Runtime has it, or with LOGISTIC sigmoid(-s), sigmoid(s); with other labels y
///               is 1 or 0. multi_class means nothing
/// source        ai.onnx.ml LinearClassifier-1
struct LinearClassifier {
  std::int64_t multi_class = 0;
  PostTransform post_transform = PostTransform::as_is;

  static constexpr OpId id{"ai.onnx.ml", "LinearClassifier", 1};
  static constexpr Signature signature =
      "x classlabels_ints=?:L classlabels_strings=?:L coefficients=:F intercepts=?:F -> y:L z:F";
  using types = TypeList<TypeList<float, double, std::int64_t, std::int32_t>,
                         TypeList<std::int64_t, String>, TypeList<float>>;

  constexpr void attributes(auto&& visit) {
    visit("multi_class", multi_class);
    visit("post_transform", post_transform);
  }
  constexpr Vector<AnyTensor> expand(tensor_handle auto x, tensor_handle auto numbers,
                                     tensor_handle auto texts, tensor_handle auto coefficients,
                                     tensor_handle auto intercepts) const {
    using halftone::detail::transformed;
    auto& graph = *x.graph;
    const auto labels = texts.is_absent() ? numbers : texts;
    const std::int64_t count = labels.is_absent() ? 0 : labels.info().elements();
    const std::int64_t targets = intercepts.is_absent() ? count : intercepts.info().elements();
    const auto scores = linear_scores(x, coefficients, intercepts, targets);
    if (targets > 1) {
      if (count < targets) {
        fail(ErrorKind::model, {.what = "the classifier needs a label for each score",
                                .expected = std::to_string(targets),
                                .found = std::to_string(count)});
      }
      const auto best = argmax(scores, {.axis = -1, .keepdims = 0});
      return {gather(labels, best), transformed(post_transform, scores)};
    }
    const auto is_second = reshape(greater(scores, 0.0f), constant(graph, Dims{-1}));
    const auto index = cast(is_second, {.to = ElementType::int64});
    const bool is_probit = post_transform == PostTransform::probit;
    const auto z = is_probit ? transformed(post_transform, scores) : scores;
    if (count != 2 && !texts.is_absent()) {
      fail(ErrorKind::unsupported, {.what = "one score for other than two texts is not offered"});
    }
    if (count != 2) return {index, z};
    // Negating before sigmoid keeps the small probability exact, unlike 1 - sigmoid(s).
    const bool is_logistic = post_transform == PostTransform::logistic;
    const auto first = is_logistic ? sigmoid(neg(z)) : sub(1.0f, z);
    const auto second = is_logistic ? sigmoid(z) : z;
    return {gather(labels, index), concat(std::array<AnyTensor, 2>{first, second}, {.axis = 1})};
  }
};

}  // namespace halftone::op

#endif
