#pragma once

#include <cstdint>
#include <string_view>

namespace halftone::onnx {

/// The newest version of the default operator set whose operators are known here.
inline constexpr int newest_opset = 21;

/// The since-version that an operator of the default domain has in that version of the operator
/// set; 0 if there is no such operator.
int since_version(std::string_view name, std::int64_t opset);

}  // namespace halftone::onnx
