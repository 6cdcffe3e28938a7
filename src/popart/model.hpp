#pragma once

#include <string>
#include <string_view>

#include <halftone/onnx.hpp>

namespace popart::detail {

/// The operators that models may have; empty: the library's.
halftone::OperatorTable operators();

/// Reads a model: a file's name, or the model itself. Throws the library's errors. Unless it is strict, a
/// model of a newer operator set than there is is read as one of the newest.
halftone::Graph readModel(const std::string& model, halftone::onnx::LoadOptions options = {},
                          bool isStrict = true);

/// The metadata of a variable's settings beside PopART's: how far the members of a group are apart; 0:
/// the comm group says it.
inline constexpr const char* variableStride = "__variable_stride";

/// The number that the metadata of a model have for a tensor; `otherwise` if there is none.
int settingOf(const halftone::Graph& graph, const char* key, std::string_view tensor,
              int otherwise);

}  // namespace popart::detail
