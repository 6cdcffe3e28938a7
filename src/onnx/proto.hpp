#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/base/element_type.hpp>

#include "onnx/wire.hpp"

// The messages of ONNX, read in place: texts and data are views into the file.
namespace halftone::onnx {

using wire::Message;

/// The default domain has two spellings.
inline std::string_view domain_of(std::string_view domain) {
  return domain.empty() ? "ai.onnx" : domain;
}

/// Fields that are younger than the installed onnx.proto.
inline constexpr int model_devices = 26, node_devices = 10;

struct OpsetImport {
  std::string_view domain;
  std::int64_t version = 0;
};

struct ModelMessage {
  std::int64_t ir_version = 0;
  std::vector<OpsetImport> opsets;
  std::vector<Message> graph;  ///< one message, perhaps in several parts
  std::vector<Message> functions;
  std::vector<std::pair<std::string_view, std::string_view>> metadata;  ///< key and value
  std::vector<Message> devices;  ///< configurations of several devices
};
ModelMessage read_model(const Message& message);

struct GraphMessage {
  std::string_view name;
  std::vector<Message> nodes, initializers, sparse_initializers, inputs, outputs, value_infos;
};
GraphMessage read_graph(std::span<const Message> parts);

/// ONNX's AttributeProto.AttributeType.
enum class AttributeType : std::uint8_t {
  undefined = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14,
};
/// "FLOAT", "INTS", ...
std::string_view name(AttributeType type);

struct AttributeMessage {
  std::string_view name{}, reference{};
  AttributeType type = AttributeType::undefined;
  std::int64_t integer = 0;
  float real = 0;
  std::string_view text{};
  Message content{};  ///< of a tensor, sparse tensor or graph
  Message message{};  ///< the whole attribute, for lists

  std::vector<std::int64_t> integers() const;
  std::vector<float> reals() const;
  std::vector<std::string_view> texts() const;
};
AttributeMessage read_attribute(const Message& message);

struct NodeMessage {
  std::string_view name, op, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeMessage> attributes;
  std::string devices;  ///< its parts for several devices: these fields as they are written

  const AttributeMessage* find(std::string_view attribute) const {
    for (const AttributeMessage& a : attributes) {
      if (a.name == attribute) return &a;
    }
    return nullptr;
  }
};
NodeMessage read_node(const Message& message);

struct FunctionMessage {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<AttributeMessage> attribute_defaults;
  std::vector<Message> nodes;
  std::vector<OpsetImport> opsets;
};
FunctionMessage read_function(const Message& message);

struct Dimension {
  std::int64_t extent = -1;  ///< -1: not given
  std::string_view symbol;
};

struct ValueMessage {
  enum class Kind : std::uint8_t { none, tensor, sparse_tensor, sequence, optional, map, opaque };
  std::string_view name;
  Kind kind = Kind::none;
  std::int64_t element_type = 0;  ///< of a tensor
  /// Of a sequence, an optional value or a map; undefined if it is of a kind that is not offered.
  ElementType type = ElementType::undefined;
  bool has_shape = false;
  std::vector<Dimension> shape;
};
ValueMessage read_value(const Message& message);
std::string_view name(ValueMessage::Kind kind);

struct TensorMessage {
  std::string_view name;
  std::vector<std::int64_t> shape;
  std::int64_t element_type = 0;
  bool is_segment = false, is_external = false, has_raw = false;
  wire::Span raw;
  std::vector<Message> external;  ///< key and value
  std::vector<Message> sparse;    ///< of a sparse tensor: values and indices, tensors themselves
  Message message;                ///< the whole tensor, for its typed data
};
TensorMessage read_tensor(const Message& message);
/// A sparse tensor has its values' name and type.
TensorMessage read_sparse_tensor(const Message& message);

}  // namespace halftone::onnx
