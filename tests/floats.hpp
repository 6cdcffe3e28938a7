#pragma once

#include <span>
#include <vector>

#include <halftone/base/array.hpp>

namespace test {

using Floats = std::vector<float>;

inline Floats floats_of(const halftone::AnyView& view) {
  const std::span<const float> values = view.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace test
