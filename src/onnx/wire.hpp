#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/base/error.hpp>

// Protocol buffers' wire format, read in place: nothing is copied, every length is checked against
// the message that holds it. Wrong bytes throw ModelError.
namespace halftone::onnx::wire {

using Span = std::span<const std::byte>;

/// Where the whole file lies, to say at which byte something is wrong.
struct Message {
  Span bytes;
  const std::byte* file = nullptr;

  bool operator==(const Message& other) const { return bytes.data() == other.bytes.data(); }
};

enum class Type : std::uint8_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  group_begin = 3,
  group_end = 4,
  fixed32 = 5,
};

struct Field {
  std::uint32_t number = 0;
  Type type = Type::varint;
  std::uint64_t value = 0;  ///< of a varint, fixed32 or fixed64
  Span bytes;               ///< of a length-delimited field
  const std::byte* file = nullptr;

  Message message() const {
    expect(Type::bytes);
    return {bytes, file};
  }
  std::string_view text() const {
    expect(Type::bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::int64_t integer() const {
    expect(Type::varint);
    return static_cast<std::int64_t>(value);
  }
  float real() const {
    expect(Type::fixed32);
    return std::bit_cast<float>(static_cast<std::uint32_t>(value));
  }
  void expect(Type wanted) const {
    if (type != wanted) malformed("field " + std::to_string(number) + " has another wire type", {});
  }
  [[noreturn]] static void malformed(const std::string& why, const std::string& where) {
    const std::string what = "the file is no ONNX model\n" + why + where;
    fail(ErrorKind::model, {.what = what});
  }
};

/// The tag and length that stand before a length-delimited field.
inline std::string field_header(int number, std::size_t size) {
  std::string header;
  auto varint = [&](std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) header += static_cast<char>((value & 0x7f) | 0x80);
    header += static_cast<char>(value);
  };
  varint(static_cast<std::uint64_t>(number) << 3 | 2);
  varint(size);
  return header;
}

/// The fields of a message, one after the other.
class Reader {
 public:
  explicit Reader(const Message& message)
      : at_(message.bytes.data()), end_(at_ + message.bytes.size()), file_(message.file) {}

  bool next(Field& field) {
    if (at_ == end_) return false;
    field.file = file_;
    read(field);
    if (field.type == Type::group_begin) skip_group(field.number);
    if (field.type == Type::group_end) malformed("a group of fields ends that never began");
    return true;
  }

  /// The next varint of a packed field.
  bool next(std::uint64_t& value) {
    if (at_ == end_) return false;
    value = varint();
    return true;
  }

 private:
  static constexpr int deepest_group = 32;

  void read(Field& field) {
    const std::uint64_t tag = varint();
    field.number = static_cast<std::uint32_t>(tag >> 3);
    if (tag >> 32 != 0 || field.number == 0) malformed("there is a field without a number");
    field.type = static_cast<Type>(tag & 7);
    field.value = 0;
    field.bytes = {};
    switch (field.type) {
      case Type::varint:
        field.value = varint();
        return;
      case Type::fixed64:
        field.value = fixed(8);
        return;
      case Type::fixed32:
        field.value = fixed(4);
        return;
      case Type::bytes: {
        const std::uint64_t size = varint();
        if (size > left()) malformed("it ends within a field (was it cut short?)");
        field.bytes = {at_, static_cast<std::size_t>(size)};
        at_ += size;
        return;
      }
      case Type::group_begin:
      case Type::group_end:
        return;
    }
    malformed("there is a field of unknown wire type");
  }

  /// ONNX has no groups, but unknown fields may be of any kind.
  void skip_group(std::uint32_t number) {
    std::vector<std::uint32_t> open{number};
    Field field;
    while (!open.empty()) {
      if (at_ == end_ || open.size() > deepest_group) malformed("a group of fields has no end");
      read(field);
      if (field.type == Type::group_begin) open.push_back(field.number);
      if (field.type == Type::group_end) {
        if (field.number != open.back()) malformed("groups of fields overlap");
        open.pop_back();
      }
    }
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) malformed("it ends within a number (was it cut short?)");
      const auto b = std::to_integer<std::uint64_t>(*at_++);
      if (shift == 63 && b > 1) break;
      value |= (b & 0x7f) << shift;
      if (b < 0x80) return value;
    }
    malformed("there is a number of more than 64 bits");
  }
  std::uint64_t fixed(std::size_t size) {
    if (size > left()) malformed("it ends within a number (was it cut short?)");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= std::to_integer<std::uint64_t>(at_[i]) << (8 * i);
    }
    at_ += size;
    return value;
  }
  std::uint64_t left() const { return static_cast<std::uint64_t>(end_ - at_); }
  [[noreturn]] void malformed(const char* why) const {
    Field::malformed(why,
                     file_ == nullptr ? std::string() : ", at byte " + std::to_string(at_ - file_));
  }

  const std::byte* at_;
  const std::byte* end_;
  const std::byte* file_;
};

}  // namespace halftone::onnx::wire
