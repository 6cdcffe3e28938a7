#include <popart/graphtransformer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <span>

#include <popart/error.hpp>
#include <popart/filereader.hpp>
#include <popart/tensorinfo.hpp>
#include <popart/util.hpp>
#include <popart/vendored/onnx.hpp>

#include "popart/convert.hpp"
#include "popart/external.hpp"

namespace popart {

struct GraphTransformer::Model {
  ::onnx::ModelProto proto;
  ::onnx::GraphProto& graph() { return *proto.mutable_graph(); }
};

namespace {

using OnnxTensor = ::onnx::TensorProto;

DataType typeOf(int onnx) {
  switch (onnx) {
    case OnnxTensor::FLOAT:
      return DataType::FLOAT;
    case OnnxTensor::DOUBLE:
      return DataType::DOUBLE;
    case OnnxTensor::FLOAT16:
      return DataType::FLOAT16;
    case OnnxTensor::INT8:
      return DataType::INT8;
    case OnnxTensor::UINT8:
      return DataType::UINT8;
    case OnnxTensor::INT16:
      return DataType::INT16;
    case OnnxTensor::UINT16:
      return DataType::UINT16;
    case OnnxTensor::INT32:
      return DataType::INT32;
    case OnnxTensor::INT64:
      return DataType::INT64;
    default:
      break;
  }
  throw error("GraphTransformer does not convert elements of ONNX's type {}", onnx);
}

template <class T, class List>
std::vector<char> packed(const List& list) {
  std::vector<char> bytes(sizeof(T) * static_cast<std::size_t>(list.size()));
  for (int i = 0; i < list.size(); ++i) {
    const T x = static_cast<T>(list.Get(i));
    std::memcpy(bytes.data() + sizeof(T) * static_cast<std::size_t>(i), &x, sizeof(T));
  }
  return bytes;
}

/// The elements of a tensor, row-major and little-endian.
std::vector<char> bytesOf(const OnnxTensor& tensor) {
  if (tensor.data_location() == OnnxTensor::EXTERNAL) {
    throw error("The data of tensor '{}' are in a file of their own", tensor.name());
  }
  if (tensor.has_raw_data()) return {tensor.raw_data().begin(), tensor.raw_data().end()};
  switch (tensor.data_type()) {
    case OnnxTensor::FLOAT:
      return packed<float>(tensor.float_data());
    case OnnxTensor::DOUBLE:
      return packed<double>(tensor.double_data());
    case OnnxTensor::INT64:
      return packed<int64_t>(tensor.int64_data());
    case OnnxTensor::INT32:
      return packed<int32_t>(tensor.int32_data());
    case OnnxTensor::INT8:
      return packed<int8_t>(tensor.int32_data());
    case OnnxTensor::UINT8:
      return packed<uint8_t>(tensor.int32_data());
    case OnnxTensor::INT16:
      return packed<int16_t>(tensor.int32_data());
    default:  // halves are bits here
      return packed<uint16_t>(tensor.int32_data());
  }
}

/// bfloat16 is the upper half of float.
std::vector<char> widened(const std::vector<char>& halves) {
  std::vector<char> floats(halves.size() * 2);
  for (std::size_t i = 0; i + 1 < halves.size(); i += 2) {
    std::memcpy(floats.data() + 2 * i + 2, halves.data() + i, 2);
  }
  return floats;
}

/// Throws for numbers beyond 32 bits, or makes them the nearest one.
std::vector<char> limited(const OnnxTensor& tensor, std::vector<char> bytes, bool clip) {
  constexpr int64_t least = std::numeric_limits<int32_t>::min(),
                    most = std::numeric_limits<int32_t>::max();
  for (std::size_t at = 0; at + sizeof(int64_t) <= bytes.size(); at += sizeof(int64_t)) {
    int64_t x = 0;
    std::memcpy(&x, bytes.data() + at, sizeof x);
    if (x >= least && x <= most) continue;
    if (!clip) throw error("Tensor '{}' has the element {}, beyond INT32", tensor.name(), x);
    x = std::clamp(x, least, most);
    std::memcpy(bytes.data() + at, &x, sizeof x);
  }
  return bytes;
}

class Conversion {
 public:
  Conversion(int from, int to, bool clip) : from_(from), to_(to), clip_(clip) {}

  void apply(::onnx::GraphProto& graph) const {
    for (auto* infos :
         {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
      for (auto& info : *infos) {
        auto& type = *info.mutable_type()->mutable_tensor_type();
        if (type.elem_type() == from_) type.set_elem_type(to_);
      }
    }
    for (OnnxTensor& tensor : *graph.mutable_initializer()) apply(tensor);
    for (auto& node : *graph.mutable_node()) {
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_t()) apply(*attribute.mutable_t());
        if (attribute.has_g()) apply(*attribute.mutable_g());
        const bool isTarget = node.op_type() == "Cast" && attribute.name() == "to";
        if (isTarget && attribute.i() == from_) attribute.set_i(to_);
      }
    }
  }

 private:
  void apply(OnnxTensor& tensor) const {
    if (tensor.data_type() != from_) return;
    std::vector<char> bytes = bytesOf(tensor);
    if (from_ == OnnxTensor::INT64) bytes = limited(tensor, std::move(bytes), clip_);
    bytes =
        from_ == OnnxTensor::BFLOAT16 ? widened(bytes) : cast(typeOf(from_), typeOf(to_), bytes);
    tensor.clear_float_data();
    tensor.clear_double_data();
    tensor.clear_int32_data();
    tensor.clear_int64_data();
    tensor.set_raw_data(bytes.data(), bytes.size());
    tensor.set_data_type(to_);
  }

  int from_, to_;
  bool clip_;
};

template <class List, class Condition>
void removeFrom(List& list, Condition isRemoved) {
  list.erase(std::remove_if(list.begin(), list.end(), isRemoved), list.end());
}

}  // namespace

GraphTransformer::GraphTransformer(const std::string& model) : model_(std::make_unique<Model>()) {
  model_->proto =
      detail::isPath(model) ? io::getModelFromFile(model) : io::getModelFromString(model);
}
GraphTransformer::~GraphTransformer() = default;
std::string GraphTransformer::getModelProto() const { return model_->proto.SerializeAsString(); }

void GraphTransformer::convertFloatsToHalfs() {
  Conversion(OnnxTensor::FLOAT, OnnxTensor::FLOAT16, false).apply(model_->graph());
}
void GraphTransformer::convertDoublesToFloats() {
  Conversion(OnnxTensor::DOUBLE, OnnxTensor::FLOAT, false).apply(model_->graph());
}
void GraphTransformer::convertDoublesToHalfs() {
  Conversion(OnnxTensor::DOUBLE, OnnxTensor::FLOAT16, false).apply(model_->graph());
}
void GraphTransformer::convertBFloats16ToFloat32() {
  Conversion(OnnxTensor::BFLOAT16, OnnxTensor::FLOAT, false).apply(model_->graph());
}
void GraphTransformer::convertUINT8ToINT32() {
  Conversion(OnnxTensor::UINT8, OnnxTensor::INT32, false).apply(model_->graph());
}
void GraphTransformer::convertUINT16ToINT32() {
  Conversion(OnnxTensor::UINT16, OnnxTensor::INT32, false).apply(model_->graph());
}
void GraphTransformer::convertINT8ToINT32() {
  Conversion(OnnxTensor::INT8, OnnxTensor::INT32, false).apply(model_->graph());
}
void GraphTransformer::convertINT16ToINT32() {
  Conversion(OnnxTensor::INT16, OnnxTensor::INT32, false).apply(model_->graph());
}
void GraphTransformer::convertINT64ToINT32(bool clip) {
  Conversion(OnnxTensor::INT64, OnnxTensor::INT32, clip).apply(model_->graph());
}

void GraphTransformer::convertInitializersToConstants(const std::vector<TensorId>& ids) {
  ::onnx::GraphProto& graph = model_->graph();
  const std::set<TensorId> wanted(ids.begin(), ids.end());
  std::vector<::onnx::NodeProto> constants;
  for (const OnnxTensor& tensor : graph.initializer()) {
    if (wanted.count(tensor.name()) == 0) continue;
    ::onnx::NodeProto& node = constants.emplace_back();
    node.set_op_type("Constant");
    node.add_output(tensor.name());
    ::onnx::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(::onnx::AttributeProto::TENSOR);
    *value.mutable_t() = tensor;
  }
  if (constants.size() != wanted.size()) {
    for (const TensorId& id : wanted) {
      const auto& all = graph.initializer();
      if (std::any_of(all.begin(), all.end(),
                      [&](const OnnxTensor& t) { return t.name() == id; })) {
        continue;
      }
      throw error("Tensor '{}' is not an initializer", id);
    }
  }
  const auto isWanted = [&](const auto& item) { return wanted.count(item.name()) != 0; };
  removeFrom(*graph.mutable_initializer(), isWanted);
  removeFrom(*graph.mutable_input(), isWanted);
  for (const ::onnx::NodeProto& node : graph.node()) constants.push_back(node);
  graph.clear_node();
  for (::onnx::NodeProto& node : constants) *graph.add_node() = std::move(node);
}

void GraphTransformer::convertAllFixedPointInitializersToConstants() {
  std::vector<TensorId> ids;
  for (const OnnxTensor& tensor : model_->graph().initializer()) {
    const int type = tensor.data_type();
    const bool isFloating = type == OnnxTensor::FLOAT || type == OnnxTensor::FLOAT16 ||
                            type == OnnxTensor::DOUBLE || type == OnnxTensor::BFLOAT16;
    if (!isFloating) ids.push_back(tensor.name());
  }
  convertInitializersToConstants(ids);
}

namespace {

void addReads(const ::onnx::GraphProto& graph, std::set<TensorId>& reads) {
  for (const ::onnx::NodeProto& node : graph.node()) {
    reads.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) addReads(attribute.g(), reads);
    }
  }
  for (const auto& output : graph.output()) reads.insert(output.name());
}

}  // namespace

void GraphTransformer::removeUnusedInputs() {
  ::onnx::GraphProto& graph = model_->graph();
  std::set<TensorId> reads;
  addReads(graph, reads);
  const auto isUnused = [&](const auto& item) { return reads.count(item.name()) == 0; };
  removeFrom(*graph.mutable_input(), isUnused);
  removeFrom(*graph.mutable_initializer(), isUnused);
}

void GraphTransformer::prepareNodesForTraining() {
  for (auto& node : *model_->graph().mutable_node()) {
    if (node.op_type() != "BatchNormalization" || node.output_size() == 0) continue;
    constexpr const char* ends[] = {"mean", "var", "saved_mean", "saved_var"};
    const std::string stem = node.output(0) + "__training_";
    for (int i = node.output_size(); i < 5; ++i) node.add_output(stem + ends[i - 1]);
  }
}

void GraphTransformer::saveInitializersExternally(const std::vector<TensorId>& ids,
                                                  const std::string& file) {
  std::vector<std::vector<char>> data;
  std::vector<OnnxTensor*> tensors;
  for (const TensorId& id : ids) {
    auto& all = *model_->graph().mutable_initializer();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const OnnxTensor& t) { return t.name() == id; });
    if (found == all.end()) throw error("Tensor '{}' is not an initializer", id);
    data.push_back(bytesOf(*found));
    tensors.push_back(&*found);
  }
  std::vector<detail::TensorData> moved;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    moved.emplace_back(tensors[i], std::as_bytes(std::span(data[i])));
  }
  detail::translated<error>([&] { detail::writeData(moved, file, detail::locationOf(file, {})); });
  for (OnnxTensor* tensor : tensors) {
    tensor->clear_raw_data();
    tensor->clear_float_data();
    tensor->clear_double_data();
    tensor->clear_int32_data();
    tensor->clear_int64_data();
    tensor->set_data_location(OnnxTensor::EXTERNAL);
  }
}

}  // namespace popart
