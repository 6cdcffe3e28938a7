#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include <halftone/base/storage.hpp>
#include <halftone/graph/graph.hpp>
#include <popart/names.hpp>

#include <popart/vendored/onnx.hpp>

/// Initializers whose data are in a file of their own beside the model.
namespace popart::detail {

/// Files by the initializers that they hold.
using ExternalFiles = std::map<TensorId, std::string>;

/// Whether a model is a file's name, not the model itself.
bool isPath(const std::string& model);

/// A model as it came.
class GivenModel {
 public:
  /// A file's name or the model itself. A large file is mapped; it must not be changed in place. Throws
  /// the library's errors.
  explicit GivenModel(const std::string& model);

  std::span<const std::byte> bytes() const;
  const std::string& folder() const { return folder_; }

 private:
  std::string text_;
  halftone::Storage file_;  ///< instead of the text
  std::string folder_;
};

/// Throws the library's errors.
::onnx::ModelProto parsed(const GivenModel& model);

/// The files that a model refers to: absolute. Throws the library's errors.
ExternalFiles externalFiles(const GivenModel& model);

/// Where a model in that folder finds a file: relative to the folder if it is inside.
std::string locationOf(const std::string& file, const std::string& folder);

using TensorData = std::pair<::onnx::TensorProto*, std::span<const std::byte>>;
/// Writes data to a file, and to their tensors where they are. Throws the library's errors.
void writeData(std::span<const TensorData> tensors, const std::string& file,
               const std::string& location);

/// Writes the model that came, with the values that a graph of it has now, and the optimizer's state.
/// The data of initializers with files go there, those of others into the model's file. Each file is
/// complete before it gets its name, the model's comes last. Throws the library's errors.
void saveModel(const GivenModel& model, const halftone::Graph& values, const std::string& fn,
               const ExternalFiles& files);

}  // namespace popart::detail
