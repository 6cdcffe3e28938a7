#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include <halftone/graph/graph.hpp>
#include <popart/names.hpp>

#include "popart/onnx_messages.hpp"

/// Initializers whose data are in a file of their own beside the model.
namespace popart::detail {

/// Files by the initializers that they hold.
using ExternalFiles = std::map<TensorId, std::string>;

/// Whether a model is a file's name, not the model itself.
bool isPath(const std::string& model);

/// The files that a model, a file's name or the model itself, refers to: absolute. Throws the
/// library's errors.
ExternalFiles externalFiles(const std::string& model);

/// Where a model in that folder finds a file: relative to the folder if it is inside.
std::string locationOf(const std::string& file, const std::string& folder);

using TensorData = std::pair<::onnx::TensorProto*, std::span<const std::byte>>;
/// Writes data to a file, and to their tensors where they are. Throws the library's errors.
void writeData(std::span<const TensorData> tensors, const std::string& file,
               const std::string& location);

/// Writes a model's file and the data of these initializers to theirs; each file is complete before
/// it gets its name, the model's comes last. Throws the library's errors.
void saveWithData(halftone::Graph model, const std::string& fn, const ExternalFiles& files);

}  // namespace popart::detail
