#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <utility>

#include <halftone/base/split_mix.hpp>
#include <halftone/graph/graph.hpp>

// The first values of variables without data. They depend on a seed, the variable's name and the
// element alone: not on the order of variables or on threads.
namespace halftone::detail {

/// In (0, 1).
constexpr double unit(std::uint64_t seed, std::uint64_t counter) {
  return (static_cast<double>(mixed(seed ^ mixed(counter)) >> 11) + 0.5) * 0x1p-53;
}

/// The seed of a variable of that name.
constexpr std::uint64_t own_seed(std::uint64_t seed, std::string_view name) {
  for (const char c : name) seed = mixed(seed ^ static_cast<unsigned char>(c));
  return seed;
}

/// Numbers of inputs and outputs of one unit, as for a dense layer [in, out] or a convolution
/// [out, in, spatial...].
constexpr std::pair<double, double> fans(const Dims& shape) {
  if (shape.empty()) return {1, 1};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double window = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) window *= static_cast<double>(shape[i]);
  const auto a = static_cast<double>(shape[0]), b = static_cast<double>(shape[1]);
  return {window * b, window * a};
}

/// Element i of a variable with that seed of its own.
inline double initial_value(const Initial& initial, const Dims& shape, std::uint64_t seed,
                            std::uint64_t i) {
  switch (initial.rule) {
    case Initial::Rule::data:
    case Initial::Rule::fill:
      return initial.a;
    case Initial::Rule::normal: {
      // Box and Muller 1958, one of the pair.
      const double radius = std::sqrt(-2 * std::log(unit(seed, 2 * i)));
      return initial.a +
             initial.b * radius * std::cos(2 * std::numbers::pi * unit(seed, 2 * i + 1));
    }
    case Initial::Rule::uniform:
      return initial.a + (static_cast<double>(initial.b) - initial.a) * unit(seed, i);
    case Initial::Rule::glorot: {
      const auto [in, out] = fans(shape);
      return std::sqrt(6 / (in + out)) * (2 * unit(seed, i) - 1);
    }
  }
  return 0;
}

}  // namespace halftone::detail
