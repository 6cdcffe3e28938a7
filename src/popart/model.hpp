#pragma once

#include <string>

#include <halftone/onnx.hpp>

namespace popart::detail {

/// The operators that models may have; empty: the library's.
halftone::OperatorTable operators();

/// Reads a model: a file's name, or the model itself. Throws the library's errors.
halftone::Graph readModel(const std::string& model, halftone::onnx::LoadOptions options = {});

}  // namespace popart::detail
