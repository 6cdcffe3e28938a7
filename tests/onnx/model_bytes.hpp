#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/onnx.hpp>

#include "../contains.hpp"

// ONNX messages made by hand, right and wrong ones: independent of the library's writer. Numbers of
// fields are those of onnx.proto.
namespace test {

class Message {
 public:
  Message& integer(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& text(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& real(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    char bits[4];
    std::memcpy(bits, &value, 4);
    bytes_.append(bits, 4);
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  Message& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  Message& varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

using Names = std::initializer_list<std::string_view>;

// --- attributes
inline Message attribute(std::string_view name, int type) {
  return Message().text(1, name).integer(20, type);
}
inline Message real(std::string_view name, float value) {
  return attribute(name, 1).real(2, value);
}
inline Message integer(std::string_view name, std::int64_t value) {
  return attribute(name, 2).integer(3, value);
}
inline Message text(std::string_view name, std::string_view value) {
  return attribute(name, 3).text(4, value);
}
inline Message tensor_attribute(std::string_view name, const Message& tensor) {
  return attribute(name, 4).message(5, tensor);
}
inline Message graph_attribute(std::string_view name, const Message& graph) {
  return attribute(name, 5).message(6, graph);
}
inline Message integers(std::string_view name, std::initializer_list<std::int64_t> values) {
  Message m = attribute(name, 7);
  for (const std::int64_t v : values) m.integer(8, v);
  return m;
}
inline Message reference(std::string_view name, int type, std::string_view to) {
  return attribute(name, type).text(21, to);
}

// --- graphs
struct NodeParts {
  std::string_view name{}, domain{};
  std::vector<Message> attributes{};
};
inline Message node(std::string_view op, Names inputs, Names outputs, const NodeParts& parts = {}) {
  Message m;
  for (const std::string_view i : inputs) m.text(1, i);
  for (const std::string_view o : outputs) m.text(2, o);
  if (!parts.name.empty()) m.text(3, parts.name);
  m.text(4, op);
  for (const Message& a : parts.attributes) m.message(5, a);
  if (!parts.domain.empty()) m.text(7, parts.domain);
  return m;
}

inline constexpr int float32 = 1, int32 = 6, int64 = 7, uint32 = 12;

/// An extent: a number or a symbol; "" is unknown.
struct Extent {
  std::int64_t value = -1;
  std::string_view symbol{};
  Extent(int v) : value(v) {}
  Extent(const char* s) : symbol(s) {}
};
inline Message type_of(int element, std::initializer_list<Extent> shape) {
  Message dims;
  for (const Extent& e : shape) {
    Message d;
    if (!e.symbol.empty()) {
      d.text(2, e.symbol);
    } else if (e.value != -1) {
      d.integer(1, e.value);
    }
    dims.message(1, d);
  }
  return Message().message(1, Message().integer(1, element).message(2, dims));
}
inline Message value(std::string_view name, int element, std::initializer_list<Extent> shape) {
  return Message().text(1, name).message(2, type_of(element, shape));
}
/// A tensor value without a shape.
inline Message shapeless(std::string_view name, int element) {
  return Message().text(1, name).message(2, Message().message(1, Message().integer(1, element)));
}

template <class T>
Message tensor(std::string_view name, int element, std::initializer_list<std::int64_t> shape,
               const std::vector<T>& values) {
  Message m;
  for (const std::int64_t extent : shape) m.integer(1, extent);
  m.integer(2, element);
  if (!name.empty()) m.text(8, name);
  return m.text(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}
inline Message floats(std::string_view name, std::initializer_list<std::int64_t> shape,
                      const std::vector<float>& values) {
  return tensor(name, float32, shape, values);
}

struct GraphParts {
  std::vector<Message> nodes{}, initializers{}, inputs{}, outputs{}, values{};
};
inline Message graph(const GraphParts& parts) {
  Message m;
  for (const Message& n : parts.nodes) m.message(1, n);
  m.text(2, "g");
  for (const Message& i : parts.initializers) m.message(5, i);
  for (const Message& i : parts.inputs) m.message(11, i);
  for (const Message& o : parts.outputs) m.message(12, o);
  for (const Message& v : parts.values) m.message(13, v);
  return m;
}

inline Message opset(std::int64_t version, std::string_view domain = {}) {
  Message m;
  if (!domain.empty()) m.text(1, domain);
  return m.integer(2, version);
}
struct ModelParts {
  std::int64_t ir = 8, opset = 13;
  std::vector<Message> opsets{}, functions{};
};
inline std::string model(const Message& g, const ModelParts& parts = {}) {
  Message m;
  m.integer(1, parts.ir).message(7, g).message(8, opset(parts.opset));
  for (const Message& o : parts.opsets) m.message(8, o);
  for (const Message& f : parts.functions) m.message(25, f);
  return m.bytes();
}
inline std::string model(const GraphParts& g, const ModelParts& parts = {}) {
  return model(graph(g), parts);
}

inline std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline halftone::Graph loaded(std::string_view model,
                              const halftone::onnx::LoadOptions& options = {}) {
  return halftone::onnx::load(bytes(model), options);
}
/// The error that a model gives; kind `internal` and the text "loaded" if there is none.
inline halftone::Error error_of(std::string_view model,
                                const halftone::onnx::LoadOptions& options = {}) {
  const auto result = halftone::onnx::try_load(bytes(model), options);
  if (!result) return result.error();
  return halftone::InternalError({.what = "loaded"});
}

}  // namespace test
