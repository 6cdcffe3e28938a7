#include "onnx/proto.hpp"

#include <onnx/onnx_pb.h>

namespace halftone::onnx {

namespace {

using wire::Field;
using wire::Reader;
using wire::Type;

/// Fields that are younger than the installed onnx.proto.
constexpr int node_overload = 8, function_attribute_proto = 11, function_overload = 13;

/// Calls f with each element of a repeated number, packed or not.
template <class F>
void for_each_varint(const Field& field, F&& f) {
  if (field.type != Type::bytes) {
    f(field.integer());
    return;
  }
  Reader packed(field.message());
  for (std::uint64_t value; packed.next(value);) f(static_cast<std::int64_t>(value));
}

OpsetImport read_opset(const Message& message) {
  using P = ::onnx::OperatorSetIdProto;
  OpsetImport opset{.domain = domain_of({})};
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number == P::kDomainFieldNumber) opset.domain = domain_of(f.text());
    if (f.number == P::kVersionFieldNumber) opset.version = f.integer();
  }
  return opset;
}

}  // namespace

ModelMessage read_model(const Message& message) {
  using P = ::onnx::ModelProto;
  ModelMessage model;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    switch (f.number) {
      case P::kIrVersionFieldNumber:
        model.ir_version = f.integer();
        break;
      case P::kOpsetImportFieldNumber:
        model.opsets.push_back(read_opset(f.message()));
        break;
      case P::kGraphFieldNumber:
        model.graph.push_back(f.message());
        break;
      case P::kFunctionsFieldNumber:
        model.functions.push_back(f.message());
        break;
      default:
        break;
    }
  }
  return model;
}

GraphMessage read_graph(std::span<const Message> parts) {
  using P = ::onnx::GraphProto;
  GraphMessage graph;
  for (const Message& part : parts) {
    Reader reader(part);
    for (Field f; reader.next(f);) {
      switch (f.number) {
        case P::kNameFieldNumber:
          graph.name = f.text();
          break;
        case P::kNodeFieldNumber:
          graph.nodes.push_back(f.message());
          break;
        case P::kInitializerFieldNumber:
          graph.initializers.push_back(f.message());
          break;
        case P::kSparseInitializerFieldNumber:
          graph.sparse_initializers.push_back(f.message());
          break;
        case P::kInputFieldNumber:
          graph.inputs.push_back(f.message());
          break;
        case P::kOutputFieldNumber:
          graph.outputs.push_back(f.message());
          break;
        case P::kValueInfoFieldNumber:
          graph.value_infos.push_back(f.message());
          break;
        default:
          break;
      }
    }
  }
  return graph;
}

std::string_view name(AttributeType type) {
  constexpr std::string_view names[] = {
      "UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
      "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
      "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
  const auto i = static_cast<std::size_t>(type);
  return names[i < std::size(names) ? i : 0];
}

AttributeMessage read_attribute(const Message& message) {
  using P = ::onnx::AttributeProto;
  AttributeMessage attribute;
  attribute.message = message;
  // Files before IR version 2 do not state the type: the field that is there tells it.
  AttributeType seen = AttributeType::undefined;
  std::int64_t stated = 0;
  Message tensor, graph;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    switch (f.number) {
      case P::kNameFieldNumber:
        attribute.name = f.text();
        break;
      case P::kRefAttrNameFieldNumber:
        attribute.reference = f.text();
        break;
      case P::kTypeFieldNumber:
        stated = f.integer();
        break;
      case P::kFFieldNumber:
        attribute.real = f.real();
        seen = AttributeType::real;
        break;
      case P::kIFieldNumber:
        attribute.integer = f.integer();
        seen = AttributeType::integer;
        break;
      case P::kSFieldNumber:
        attribute.text = f.text();
        seen = AttributeType::text;
        break;
      case P::kTFieldNumber:
        tensor = f.message();
        seen = AttributeType::tensor;
        break;
      case P::kGFieldNumber:
        graph = f.message();
        seen = AttributeType::graph;
        break;
      case P::kFloatsFieldNumber:
        seen = AttributeType::reals;
        break;
      case P::kIntsFieldNumber:
        seen = AttributeType::integers;
        break;
      case P::kStringsFieldNumber:
        seen = AttributeType::texts;
        break;
      case P::kTensorsFieldNumber:
        seen = AttributeType::tensors;
        break;
      case P::kGraphsFieldNumber:
        seen = AttributeType::graphs;
        break;
      case P::kSparseTensorFieldNumber:
        seen = AttributeType::sparse_tensor;
        break;
      case P::kSparseTensorsFieldNumber:
        seen = AttributeType::sparse_tensors;
        break;
      case P::kTpFieldNumber:
        seen = AttributeType::type;
        break;
      case P::kTypeProtosFieldNumber:
        seen = AttributeType::types;
        break;
      default:
        break;
    }
  }
  const bool known = stated > 0 && stated <= static_cast<std::int64_t>(AttributeType::types);
  attribute.type = known ? static_cast<AttributeType>(stated) : seen;
  attribute.content = attribute.type == AttributeType::graph ? graph : tensor;
  return attribute;
}

std::vector<std::int64_t> AttributeMessage::integers() const {
  std::vector<std::int64_t> values;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number != ::onnx::AttributeProto::kIntsFieldNumber) continue;
    for_each_varint(f, [&](std::int64_t value) { values.push_back(value); });
  }
  return values;
}

std::vector<float> AttributeMessage::reals() const {
  std::vector<float> values;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number != ::onnx::AttributeProto::kFloatsFieldNumber) continue;
    if (f.type != Type::bytes) {
      values.push_back(f.real());
      continue;
    }
    if (f.bytes.size() % 4 != 0) Field::malformed("a list of floats ends within one", {});
    for (std::size_t at = 0; at < f.bytes.size(); at += 4) {
      std::uint32_t bits = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        bits |= std::to_integer<std::uint32_t>(f.bytes[at + i]) << (8 * i);
      }
      values.push_back(std::bit_cast<float>(bits));
    }
  }
  return values;
}

std::vector<std::string_view> AttributeMessage::texts() const {
  std::vector<std::string_view> values;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number == ::onnx::AttributeProto::kStringsFieldNumber) values.push_back(f.text());
  }
  return values;
}

NodeMessage read_node(const Message& message) {
  using P = ::onnx::NodeProto;
  NodeMessage node;
  node.domain = domain_of({});
  Reader reader(message);
  for (Field f; reader.next(f);) {
    switch (f.number) {
      case P::kNameFieldNumber:
        node.name = f.text();
        break;
      case P::kOpTypeFieldNumber:
        node.op = f.text();
        break;
      case P::kDomainFieldNumber:
        node.domain = domain_of(f.text());
        break;
      case node_overload:
        node.overload = f.text();
        break;
      case P::kInputFieldNumber:
        node.inputs.push_back(f.text());
        break;
      case P::kOutputFieldNumber:
        node.outputs.push_back(f.text());
        break;
      case P::kAttributeFieldNumber:
        node.attributes.push_back(read_attribute(f.message()));
        break;
      default:
        break;
    }
  }
  return node;
}

FunctionMessage read_function(const Message& message) {
  using P = ::onnx::FunctionProto;
  FunctionMessage function;
  function.domain = domain_of({});
  Reader reader(message);
  for (Field f; reader.next(f);) {
    switch (f.number) {
      case P::kNameFieldNumber:
        function.name = f.text();
        break;
      case P::kDomainFieldNumber:
        function.domain = domain_of(f.text());
        break;
      case function_overload:
        function.overload = f.text();
        break;
      case P::kInputFieldNumber:
        function.inputs.push_back(f.text());
        break;
      case P::kOutputFieldNumber:
        function.outputs.push_back(f.text());
        break;
      case P::kAttributeFieldNumber:
        function.attributes.push_back(f.text());
        break;
      case function_attribute_proto:
        function.attribute_defaults.push_back(read_attribute(f.message()));
        break;
      case P::kNodeFieldNumber:
        function.nodes.push_back(f.message());
        break;
      case P::kOpsetImportFieldNumber:
        function.opsets.push_back(read_opset(f.message()));
        break;
      default:
        break;
    }
  }
  return function;
}

namespace {

Dimension read_dimension(const Message& message) {
  using P = ::onnx::TensorShapeProto_Dimension;
  Dimension dimension;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    // One of the two: the later one counts.
    if (f.number == P::kDimValueFieldNumber) dimension = {.extent = f.integer(), .symbol = {}};
    if (f.number == P::kDimParamFieldNumber) dimension = {.extent = -1, .symbol = f.text()};
  }
  return dimension;
}

void read_tensor_type(const Message& message, ValueMessage& value) {
  using P = ::onnx::TypeProto_Tensor;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number == P::kElemTypeFieldNumber) value.element_type = f.integer();
    if (f.number == P::kShapeFieldNumber) {
      value.has_shape = true;
      Reader shape(f.message());
      for (Field d; shape.next(d);) {
        if (d.number == ::onnx::TensorShapeProto::kDimFieldNumber) {
          value.shape.push_back(read_dimension(d.message()));
        }
      }
    }
  }
}

void read_type(const Message& message, ValueMessage& value) {
  using P = ::onnx::TypeProto;
  using Kind = ValueMessage::Kind;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    switch (f.number) {
      case P::kTensorTypeFieldNumber:
        value.kind = Kind::tensor;
        read_tensor_type(f.message(), value);
        break;
      case P::kSparseTensorTypeFieldNumber:
        value.kind = Kind::sparse_tensor;
        break;
      case P::kSequenceTypeFieldNumber:
        value.kind = Kind::sequence;
        break;
      case P::kOptionalTypeFieldNumber:
        value.kind = Kind::optional;
        break;
      case P::kMapTypeFieldNumber:
        value.kind = Kind::map;
        break;
      case P::kOpaqueTypeFieldNumber:
        value.kind = Kind::opaque;
        break;
      default:
        break;
    }
  }
}

}  // namespace

ValueMessage read_value(const Message& message) {
  using P = ::onnx::ValueInfoProto;
  ValueMessage value;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number == P::kNameFieldNumber) value.name = f.text();
    if (f.number == P::kTypeFieldNumber) read_type(f.message(), value);
  }
  return value;
}

std::string_view name(ValueMessage::Kind kind) {
  constexpr std::string_view names[] = {"no type",  "tensor", "sparse tensor", "sequence",
                                        "optional", "map",    "opaque type"};
  return names[static_cast<std::size_t>(kind)];
}

TensorMessage read_tensor(const Message& message) {
  using P = ::onnx::TensorProto;
  TensorMessage tensor;
  tensor.message = message;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    switch (f.number) {
      case P::kNameFieldNumber:
        tensor.name = f.text();
        break;
      case P::kDataTypeFieldNumber:
        tensor.element_type = f.integer();
        break;
      case P::kDimsFieldNumber:
        for_each_varint(f, [&](std::int64_t extent) { tensor.shape.push_back(extent); });
        break;
      case P::kSegmentFieldNumber:
        tensor.is_segment = true;
        break;
      case P::kRawDataFieldNumber:
        tensor.has_raw = true;
        tensor.raw = f.message().bytes;
        break;
      case P::kDataLocationFieldNumber:
        tensor.is_external = f.integer() == ::onnx::TensorProto::EXTERNAL;
        break;
      case P::kExternalDataFieldNumber:
        tensor.external.push_back(f.message());
        break;
      default:
        break;
    }
  }
  return tensor;
}

}  // namespace halftone::onnx
