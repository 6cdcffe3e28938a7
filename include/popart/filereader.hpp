#pragma once

#include <string>
#include <vector>

#include <popart/error.hpp>
#include <popart/names.hpp>
#include <popart/vendored/onnx.hpp>

// Files, and models as protobuf has them: programs that include this header are linked with libonnx
// and libprotobuf.

namespace popart::io {

/// Throw popart::error unless it is a directory, and one that files can be written to.
void assertDirectoryExists(const std::string& path);
void assertDirectoryWritable(const std::string& path);
/// Absolute, without links. Throw popart::error if there is none.
std::string getCanonicalDirName(const std::string& path);
std::string getCanonicalFilename(const std::string& path);
std::string appendDirFn(const std::string& dir, const std::string& file);
bool isRegularFile(const std::string& file);
void confirmRegularFile(const std::string& file);
/// The files and the directories in a directory; the files whose names contain a text. In order.
std::vector<std::string> getFns(const std::string& dir);
std::vector<std::string> getDirns(const std::string& dir);
std::vector<std::string> getMatchFns(const std::string& dir, const std::string& toMatch);

/// The bytes of a file. Throws popart::error.
std::string bytesOfFile(const std::string& file);
void writeBytes(const std::string& bytes, const std::string& file);

inline ONNX_NAMESPACE::ModelProto getModelFromString(const std::string& bytes) {
  ONNX_NAMESPACE::ModelProto model;
  if (!model.ParseFromString(bytes)) throw error("Failed to parse ModelProto from string");
  return model;
}
inline ONNX_NAMESPACE::ModelProto getModelFromFile(const std::string& file) {
  ONNX_NAMESPACE::ModelProto model;
  if (!model.ParseFromString(bytesOfFile(file))) {
    throw error("Failed to parse ModelProto from file {}", file);
  }
  return model;
}
inline ONNX_NAMESPACE::TensorProto getTensor(const std::string& file) {
  ONNX_NAMESPACE::TensorProto tensor;
  if (!tensor.ParseFromString(bytesOfFile(file))) {
    throw error("Failed to parse TensorProto from file {}", file);
  }
  return tensor;
}
inline void writeModel(const ONNX_NAMESPACE::ModelProto& model, const std::string& file) {
  writeBytes(model.SerializeAsString(), file);
}

}  // namespace popart::io
