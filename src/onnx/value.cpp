#include "onnx/value.hpp"

#include <cstring>

#include "base/describe.hpp"
#include "onnx/tensor.hpp"
#include "onnx/writer.hpp"

namespace halftone::onnx {

namespace {

using wire::Field;
using wire::Reader;
using wire::Type;

// The fields of onnx-data.proto: SequenceProto and OptionalProto have the same numbers.
constexpr int name_field = 1, kind_field = 2, tensor_field = 3, sequence_field = 5, map_field = 6;
constexpr int key_type_field = 2, keys_field = 3, string_keys_field = 4, values_field = 5;
/// SequenceProto.DataType and OptionalProto.DataType.
constexpr std::uint64_t tensor_kind = 1, sequence_kind = 3, map_kind = 4;

[[noreturn]] void wrong(std::string_view what, ElementType expected, std::string_view found) {
  fail(ErrorKind::model,
       {.what = what, .expected = detail::to_text(TensorInfo{expected, {}}), .found = found});
}

AnyArray read_item(const Message& message, ElementType type);

AnyArray read_map(const Message& message, ElementType type) {
  const bool is_text = kind_of(type) == ValueKind::string_map;
  std::vector<std::int64_t> numbers;
  std::vector<std::string_view> texts;
  std::vector<AnyArray> values;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number == keys_field && f.type == Type::bytes) {
      Reader list(f.message());
      for (std::uint64_t key; list.next(key);) numbers.push_back(static_cast<std::int64_t>(key));
    } else if (f.number == keys_field) {
      numbers.push_back(f.integer());
    } else if (f.number == string_keys_field) {
      texts.push_back(f.text());
    } else if (f.number == values_field) {
      Reader sequence(f.message());
      for (Field v; sequence.next(v);) {
        if (v.number == tensor_field) values.push_back(read_item(v.message(), element_of(type)));
      }
    }
  }
  const std::size_t count = is_text ? texts.size() : numbers.size();
  if (values.size() != count) {
    wrong("a map has another number of keys than of values", type,
          std::to_string(count) + " and " + std::to_string(values.size()));
  }
  const Dims shape{static_cast<std::int64_t>(count)};
  AnyArray keys =
      is_text ? AnyArray(shape, texts)
              : AnyArray(Array<std::int64_t>(shape, std::span<const std::int64_t>(numbers)));
  AnyArray all(TensorInfo{element_of(type), shape});
  const auto size = static_cast<std::size_t>(size_in_bytes(element_of(type)));
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i].info().elements() != 1) {
      wrong("a value of a map is not one element", type, detail::to_text(values[i].info()));
    }
    std::memcpy(all.data() + i * size, values[i].data(), size);
  }
  all.own_objects();
  return AnyArray(type, Map::make(std::move(keys), std::move(all)));
}

/// The items of a SequenceProto or OptionalProto.
AnyArray read_items(const Message& message, ElementType type) {
  const ElementType item = item_of(type);
  const int field = is_tensor(item) ? tensor_field : is_map(item) ? map_field : sequence_field;
  std::vector<AnyArray> items;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (static_cast<int>(f.number) == field) {
      items.push_back(read_item(f.message(), item));
    } else if (f.number > kind_field && f.type == Type::bytes && !f.bytes.empty()) {
      wrong("a value in the file is of another kind than the model's", type,
            "field " + std::to_string(f.number));
    }
  }
  if (is_optional(type) && items.size() > 1) wrong("an optional value holds two", type, {});
  return AnyArray(type, Sequence::make(std::move(items)));
}

AnyArray read_item(const Message& message, ElementType type) {
  if (is_map(type)) return read_map(message, type);
  if (!is_tensor(type)) return read_items(message, type);
  const TensorData data = TensorReader({}, nullptr).read(read_tensor(message));
  if (data.info.type != type) {
    wrong("a tensor has another element type than its sequence or map", type,
          detail::to_text(data.info));
  }
  return AnyArray::copy_of({data.info, data.data.span().data()});
}

std::string field(int number, const std::string& bytes) {
  return field_header(number, bytes.size()) + bytes;
}

std::string number_field(int number, std::uint64_t value) {
  std::string bytes(1, static_cast<char>(number << 3));
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string tensor_message(std::string_view name, const AnyView& tensor) {
  ::onnx::TensorProto proto = tensor_header(tensor.info, name);
  const std::span bytes(static_cast<const std::byte*>(tensor.data), tensor.bytes());
  const auto raw = set_data(proto, tensor.info, bytes);
  if (raw.size() == bytes.size()) proto.set_raw_data(raw.data(), raw.size());
  return proto.SerializePartialAsString();
}

std::string map_message(const AnyView& value) {
  const bool is_text = kind_of(value.info.type) == ValueKind::string_map;
  std::string message =
      number_field(key_type_field,
                   static_cast<std::uint64_t>(is_text ? ElementType::string : ElementType::int64));
  const Map map = value.map();
  std::string values = number_field(kind_field, tensor_kind);
  if (map) {
    if (is_text) {
      for (const String key : map.keys().values<String>()) {
        message += field(string_keys_field, std::string(key.view()));
      }
    } else {
      for (const std::int64_t key : map.keys().values<std::int64_t>()) {
        message += number_field(keys_field, static_cast<std::uint64_t>(key));
      }
    }
    const auto size = static_cast<std::size_t>(size_in_bytes(map.values().info().type));
    for (std::size_t i = 0; i * size < map.values().bytes(); ++i) {
      const AnyView one{{map.values().info().type, {}}, map.values().data() + i * size};
      values += field(tensor_field, tensor_message({}, one));
    }
  }
  return message + field(values_field, values);
}

}  // namespace

NamedArray read_value_file(const Message& message, ElementType type) {
  std::string_view name;
  Reader reader(message);
  for (Field f; reader.next(f);) {
    if (f.number == name_field) name = f.text();
  }
  return {read_item(message, type), name};
}

std::string value_message(std::string_view name, const AnyView& value) {
  std::string message;
  if (!name.empty()) message += field(name_field, std::string(name));
  const ElementType type = value.info.type;
  if (is_map(type)) return message + map_message(value);
  const ElementType item = item_of(type);
  const Sequence sequence = value.sequence();
  if (is_sequence(type) || sequence.size() != 0) {
    message += number_field(kind_field, is_tensor(item) ? tensor_kind
                                        : is_map(item)  ? map_kind
                                                        : sequence_kind);
  }
  const int number = is_tensor(item) ? tensor_field : is_map(item) ? map_field : sequence_field;
  for (const AnyArray& i : sequence.items()) {
    message += field(number, is_tensor(item) ? tensor_message({}, i) : value_message({}, i));
  }
  return message;
}

}  // namespace halftone::onnx
