#include "onnx/proto.hpp"

#include <onnx/onnx_pb.h>

namespace halftone::onnx {

namespace {

using wire::Field;
using wire::Reader;
using wire::Type;

/// More of those.
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

std::pair<std::string_view, std::string_view> read_entry(const Message& message) {
  using P = ::onnx::StringStringEntryProto;
  std::pair<std::string_view, std::string_view> entry;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number == P::kKeyFieldNumber) entry.first = f.text();
    if (f.number == P::kValueFieldNumber) entry.second = f.text();
  }
  return entry;
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
      case P::kMetadataPropsFieldNumber:
        model.metadata.push_back(read_entry(f.message()));
        break;
      case model_devices:
        model.devices.push_back(f.message());
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

/// The type of a value that is in another one; undefined if it is not offered.
ElementType inner_type(const Message& message, int depth = 0) {
  using P = ::onnx::TypeProto;
  constexpr int deepest = 3;
  ElementType type = ElementType::undefined;
  if (depth > deepest) return type;
  auto inner = [&](const Message& holder, std::uint32_t field) {
    ElementType found = ElementType::undefined;
    Reader reader(holder);
    for (Field f; reader.next(f);) {
      if (f.number == field) found = inner_type(f.message(), depth + 1);
    }
    return found;
  };
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number == P::kTensorTypeFieldNumber) {
      ValueMessage tensor;
      read_tensor_type(f.message(), tensor);
      const bool is_known =
          tensor.element_type > 0 && tensor.element_type < detail::element_type_count;
      type = is_known ? static_cast<ElementType>(tensor.element_type) : ElementType::undefined;
    } else if (f.number == P::kSequenceTypeFieldNumber) {
      type = inner(f.message(), ::onnx::TypeProto_Sequence::kElemTypeFieldNumber);
      if (type != ElementType::undefined) type = sequence_of(type);
    } else if (f.number == P::kOptionalTypeFieldNumber) {
      type = inner(f.message(), ::onnx::TypeProto_Optional::kElemTypeFieldNumber);
      if (type != ElementType::undefined) type = optional_of(type);
    } else if (f.number == P::kMapTypeFieldNumber) {
      using M = ::onnx::TypeProto_Map;
      std::int64_t key = 0;
      Reader map(f.message());
      for (Field m; map.next(m);) {
        if (m.number == M::kKeyTypeFieldNumber) key = m.integer();
      }
      type = inner(f.message(), M::kValueTypeFieldNumber);
      const bool is_text = key == static_cast<std::int64_t>(ElementType::string);
      if (type == ElementType::undefined || !is_tensor(type) ||
          (!is_text && key != static_cast<std::int64_t>(ElementType::int64))) {
        type = ElementType::undefined;
      } else {
        type = value_type(is_text ? ValueKind::string_map : ValueKind::int64_map, type);
      }
    }
  }
  return type;
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
  if (value.kind == Kind::sequence || value.kind == Kind::optional || value.kind == Kind::map) {
    value.type = inner_type(message);
  }
}

}  // namespace

AttributeMessage read_attribute(const Message& message) {
  using P = ::onnx::AttributeProto;
  AttributeMessage attribute;
  attribute.message = message;
  // Files before IR version 2 do not state the type: the field that is there tells it.
  AttributeType seen = AttributeType::undefined;
  std::int64_t stated = 0;
  Message tensor, graph, sparse, type_message;
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
        sparse = f.message();
        seen = AttributeType::sparse_tensor;
        break;
      case P::kSparseTensorsFieldNumber:
        seen = AttributeType::sparse_tensors;
        break;
      case P::kTpFieldNumber:
        type_message = f.message();
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
  if (attribute.type == AttributeType::type) {
    // Operators have the type as a number; one that is not offered stays what it is.
    const ElementType type = inner_type(type_message);
    if (type != ElementType::undefined) {
      attribute.type = AttributeType::integer;
      attribute.integer = static_cast<std::int64_t>(type);
    }
  }
  attribute.content = attribute.type == AttributeType::graph           ? graph
                      : attribute.type == AttributeType::sparse_tensor ? sparse
                                                                       : tensor;
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
      case node_devices:
        node.devices += wire::field_header(node_devices, f.message().bytes.size());
        node.devices += f.text();
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

TensorMessage read_sparse_tensor(const Message& message) {
  using P = ::onnx::SparseTensorProto;
  TensorMessage tensor;
  tensor.message = message;
  tensor.sparse.resize(2);
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number == P::kValuesFieldNumber) tensor.sparse[0] = f.message();
    if (f.number == P::kIndicesFieldNumber) tensor.sparse[1] = f.message();
    if (f.number == P::kDimsFieldNumber) {
      for_each_varint(f, [&](std::int64_t extent) { tensor.shape.push_back(extent); });
    }
  }
  const TensorMessage values = read_tensor(tensor.sparse[0]);
  tensor.name = values.name;
  tensor.element_type = values.element_type;
  return tensor;
}

}  // namespace halftone::onnx
