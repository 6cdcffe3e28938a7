#pragma once

#include <cstdint>
#include <string_view>

#include <halftone/base/element_type.hpp>

namespace halftone::onnx {

/// The newest version of the default operator set whose operators are known here.
inline constexpr int newest_opset = 28;
/// That of ai.onnx.ml.
inline constexpr int newest_ml_opset = 5;

/// The oldest and the newest version of the file format that are read.
inline constexpr std::int64_t oldest_ir = 3, newest_ir = 14;

/// The version of the file format that came with a version of the default operator set from 15 on
/// (onnx.helper.VERSION_TABLE).
constexpr std::int64_t ir_of_opset(std::int64_t opset) {
  if (opset >= 28) return 14;
  if (opset >= 25) return 13;
  if (opset >= 23) return opset - 12;
  return opset >= 21 ? 10 : opset >= 19 ? 9 : 8;
}

/// The since-version that an operator of the default domain has in that version of the operator
/// set; 0 if there is no such operator.
int since_version(std::string_view name, std::int64_t opset);

/// The first version of the operator set in which that operator takes tensors of that element type
/// as its first input. Known of integers and booleans, which many operators took up later; 0: there
/// was no such change.
int first_opset_of(std::string_view name, ElementType type);
/// The last of these for any type.
int last_extension(std::string_view name);

}  // namespace halftone::onnx
