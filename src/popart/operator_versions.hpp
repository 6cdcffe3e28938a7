#pragma once

#include <span>
#include <string_view>

namespace popart::detail {

/// The versions of ONNX's default domain that changed an operator.
struct OperatorVersions {
  std::string_view name;
  unsigned versions[9];  ///< in order, then zeros
};

/// By name, in order.
std::span<const OperatorVersions> operatorVersions();
/// The types of in-place operators, in order.
std::span<const std::string_view> inPlaceOperators();

}  // namespace popart::detail
