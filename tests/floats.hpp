#pragma once

#include <span>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/graph/handle.hpp>

namespace test {

using Floats = std::vector<float>;
template <std::int64_t... D>
using F = halftone::Tensor<float, halftone::Shape<D...>>;

inline Floats floats_of(const halftone::AnyView& view) {
  const std::span<const float> values = view.values<float>();
  return {values.begin(), values.end()};
}

/// first, first + 1, ...
inline halftone::Array<float> counted(const halftone::Dims& shape, float first = 0) {
  halftone::Array<float> x(shape);
  for (std::int64_t i = 0; i < x.info().elements(); ++i) x[i] = first + static_cast<float>(i);
  return x;
}

}  // namespace test
