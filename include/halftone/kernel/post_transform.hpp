#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace halftone {

/// The step that operators of ai.onnx.ml apply to scores before they write them.
enum class PostTransform : std::uint8_t { as_is, softmax, logistic, softmax_zero, probit };

namespace detail {
inline constexpr std::string_view post_transform_names[] = {"NONE", "SOFTMAX", "LOGISTIC",
                                                            "SOFTMAX_ZERO", "PROBIT"};
}
constexpr std::span<const std::string_view> names_of(PostTransform) {
  return detail::post_transform_names;
}

// Functions of the compiler's: <cmath> costs everybody who includes halftone.hpp 0.08 s.
namespace kernel {

/// 1 / (1 + exp(-x)), by the exponential of a negative number.
inline float logistic(float x) {
  const float y = 1 / (1 + __builtin_expf(-__builtin_fabsf(x)));
  return x < 0 ? 1 - y : y;
}

/// The quantile of the normal distribution, by Winitzki's approximation of the inverse of erf.
inline float probit(float p) {
  const float x = 2 * p - 1;
  const float l = __builtin_logf((1 - x) * (1 + x));
  const float v = 2 / (3.14159265f * 0.147f) + 0.5f * l;
  const float y = __builtin_sqrtf(-v + __builtin_sqrtf(v * v - l / 0.147f));
  return 1.41421356f * (x < 0 ? -y : y);
}

/// Two or more scores of one row, in place, all in float as ONNX Runtime computes them.
/// softmax_zero leaves a score that is almost 0 next to 0.
template <class C>
void post_transform(PostTransform kind, C* scores, std::int64_t n) {
  if (kind == PostTransform::as_is) return;
  if (kind == PostTransform::logistic || kind == PostTransform::probit) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto s = static_cast<float>(scores[i]);
      scores[i] = static_cast<C>(kind == PostTransform::logistic ? logistic(s) : probit(s));
    }
    return;
  }
  float largest = std::numeric_limits<float>::lowest(), sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto s = static_cast<float>(scores[i]);
    if (s > largest) largest = s;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const auto s = static_cast<float>(scores[i]);
    const bool is_zero = kind == PostTransform::softmax_zero && __builtin_fabsf(s) <= 0.0000001f;
    const float e = is_zero ? s * __builtin_expf(-largest) : __builtin_expf(s - largest);
    if (!is_zero) sum += e;
    scores[i] = static_cast<C>(e);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    scores[i] = static_cast<C>(static_cast<float>(scores[i]) / sum);
  }
}

}  // namespace kernel
}  // namespace halftone
