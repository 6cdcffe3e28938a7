#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <popart/datatype.hpp>
#include <popart/error.hpp>
#include <popart/filereader.hpp>
#include <popart/graphtransformer.hpp>
#include <popart/names.hpp>
#include <popart/tensorinfo.hpp>
#include <popart/vendored/onnx.hpp>
#include <popart/voiddata.hpp>

/// Models as protobuf has them; programs that include this header link with `-lonnx_proto -lprotobuf`.
namespace popart::onnxutil {

/// The type that ONNX gives this number. Throws popart::error if PopART has no such type.
inline DataType getDataType(int onnxType) {
  for (int i = 0; i < static_cast<int>(DataType::UNDEFINED); ++i) {
    const auto type = static_cast<DataType>(i);
    // The formats of 8 bits have names, but no number that PopART writes.
    if (type == DataType::FLOAT8_143 || type == DataType::FLOAT8_152) continue;
    if (getONNXDataTypeAsInt(type) == onnxType) return type;
  }
  throw error("There is no DataType for ONNX's type {}", onnxType);
}
inline ONNX_NAMESPACE::TensorProto_DataType getTPDataType(DataType type) {
  return static_cast<ONNX_NAMESPACE::TensorProto_DataType>(getONNXDataTypeAsInt(type));
}

/// Where a tensor's data lie if they are in another file: `length` bytes from `offset` on; a length
/// of 0 means up to the end.
class ExternalTensorProtoInfo {
 public:
  /// Throws popart::error if no file is named.
  explicit ExternalTensorProtoInfo(const ONNX_NAMESPACE::TensorProto& tensor) {
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() == "offset") offset = std::stoll(entry.value());
      if (entry.key() == "length") length = std::stoll(entry.value());
    }
    if (location.empty()) throw error("Tensor {} does not say where its data are", tensor.name());
  }

  std::string location;
  std::int64_t offset = 0, length = 0;
};

/// The model in a file, or of these bytes. Throws popart::error.
inline ONNX_NAMESPACE::ModelProto getModelProto(const std::string& modelOrFile) {
  return io::isRegularFile(modelOrFile) ? io::getModelFromFile(modelOrFile)
                                        : io::getModelFromString(modelOrFile);
}

/// An initializer by its name. Throws popart::error if there is none.
inline ONNX_NAMESPACE::TensorProto& getTensorProto(ONNX_NAMESPACE::ModelProto& model,
                                                   const TensorId& id) {
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == id) return tensor;
  }
  throw error("The model has no initializer {}", id);
}
inline ONNX_NAMESPACE::TensorProto getTensorProto(const ONNX_NAMESPACE::ModelProto& model,
                                                  const TensorId& id) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() == id) return tensor;
  }
  throw error("The model has no initializer {}", id);
}
inline bool isInitializer(const ONNX_NAMESPACE::ModelProto& model, const TensorId& id) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() == id) return true;
  }
  return false;
}

/// The elements of a tensor. Those that the model has as bytes, or in a field whose elements have the
/// tensor's type, stay where they are; those in another file are read from there. Throws
/// popart::error for others.
inline ConstVoidData getConstData(const ONNX_NAMESPACE::TensorProto& tensor) {
  const DataType type = getDataType(tensor.data_type());
  const TensorInfo info(type, Shape(tensor.dims().begin(), tensor.dims().end()));
  if (tensor.data_location() == ONNX_NAMESPACE::TensorProto::EXTERNAL) {
    const ExternalTensorProtoInfo where(tensor);
    const std::string bytes = io::bytesOfFile(where.location);
    const auto offset = static_cast<std::size_t>(where.offset);
    const auto size = static_cast<std::size_t>(info.nbytes());
    if (where.offset < 0 || offset > bytes.size() || size > bytes.size() - offset) {
      throw error("File {} ends before the data of tensor {}", where.location, tensor.name());
    }
    ConstVoidData data;
    data.store({bytes.data() + offset, bytes.data() + offset + size}, info);
    return data;
  }
  if (tensor.has_raw_data()) return {tensor.raw_data().data(), info};
  if (type == DataType::FLOAT) return {tensor.float_data().data(), info};
  if (type == DataType::DOUBLE) return {tensor.double_data().data(), info};
  if (type == DataType::INT32) return {tensor.int32_data().data(), info};
  if (type == DataType::INT64) return {tensor.int64_data().data(), info};
  if (type == DataType::UINT64) return {tensor.uint64_data().data(), info};
  throw error("The data of tensor {} of type {} are not raw data", tensor.name(), info.data_type());
}

/// The same to be written, unless they are in another file.
inline MutableVoidData getMutableData(ONNX_NAMESPACE::TensorProto& tensor) {
  if (tensor.data_location() == ONNX_NAMESPACE::TensorProto::EXTERNAL) {
    throw error("The data of tensor {} are in another file", tensor.name());
  }
  const ConstVoidData data = getConstData(tensor);
  MutableVoidData same;
  same.data = const_cast<void*>(data.data);  // the tensor is not const
  same.info = data.info;
  return same;
}

/// Moves the data of initializers to a file; see GraphTransformer::saveInitializersExternally.
inline void saveInitializersExternally(ONNX_NAMESPACE::ModelProto& model,
                                       const std::vector<TensorId>& ids, const std::string& file) {
  GraphTransformer transformer(model.SerializeAsString());
  transformer.saveInitializersExternally(ids, file);
  model = io::getModelFromString(transformer.getModelProto());
}

/// Visits a graph and then those in its nodes' attributes.
inline void visitGraphs(ONNX_NAMESPACE::GraphProto& graph,
                        const std::function<void(ONNX_NAMESPACE::GraphProto&)>& visitor) {
  visitor(graph);
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) visitGraphs(*attribute.mutable_g(), visitor);
      for (auto& inner : *attribute.mutable_graphs()) visitGraphs(inner, visitor);
    }
  }
}
inline void visitModelNodes(ONNX_NAMESPACE::ModelProto& model,
                            std::function<void(ONNX_NAMESPACE::NodeProto&)> visitor) {
  visitGraphs(*model.mutable_graph(), [&](ONNX_NAMESPACE::GraphProto& graph) {
    for (auto& node : *graph.mutable_node()) visitor(node);
  });
}
inline void visitModelInitializers(ONNX_NAMESPACE::ModelProto& model,
                                   std::function<void(ONNX_NAMESPACE::TensorProto&)> visitor) {
  visitGraphs(*model.mutable_graph(), [&](ONNX_NAMESPACE::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer()) visitor(tensor);
  });
}
/// Inputs, outputs and the tensors in between that the model describes.
inline void visitModelValueInfos(ONNX_NAMESPACE::ModelProto& model,
                                 std::function<void(ONNX_NAMESPACE::ValueInfoProto&)> visitor) {
  visitGraphs(*model.mutable_graph(), [&](ONNX_NAMESPACE::GraphProto& graph) {
    for (auto& value : *graph.mutable_value_info()) visitor(value);
    for (auto& value : *graph.mutable_input()) visitor(value);
    for (auto& value : *graph.mutable_output()) visitor(value);
  });
}

}  // namespace popart::onnxutil
