#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

#include <halftone/base/tensor_info.hpp>

// Texts for errors and reports, made from what a model says: safe to print. For sources and for
// headers that no other header includes.
namespace halftone::detail {

/// The texts, one behind the other.
inline std::string joined(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const std::string_view text : texts) all += text;
  return all;
}

/// The bytes of the UTF-8 sequence that starts at text[at]; 0 if there is none.
inline std::size_t utf8_length(std::string_view text, std::size_t at = 0) {
  auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  auto continues = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned first = byte(at), second = byte(at + 1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(at + 1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second >= 0xa0;
    return continues(at + 1) && continues(at + 2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && second < 0x90;
    const bool too_large = first == 0xf4 && second >= 0x90;
    return continues(at + 1) && continues(at + 2) && continues(at + 3) && !overlong && !too_large
               ? 4
               : 0;
  }
  return 0;
}

/// Whether a valid sequence is a control character or breaks a line.
inline bool is_control(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first < 0x20 || first == 0x7f;
  if (sequence.size() == 2) return first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
  return sequence == "\u2028" || sequence == "\u2029";
}

inline void append_escaped(std::string& to, char c) {
  switch (c) {
    case '\n':
      to += "\\n";
      return;
    case '\r':
      to += "\\r";
      return;
    case '\t':
      to += "\\t";
      return;
    default:
      break;
  }
  char code[5];
  std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  to += code;
}

inline constexpr std::size_t longest_quote = 160;

/// The text as one line of valid UTF-8: control characters, line separators and bytes that are no
/// UTF-8 become \n, \t, \xNN.
inline std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const std::string_view piece = text.substr(at, length == 0 ? 1 : length);
    if (length == 0 || is_control(piece)) {
      for (const char c : piece) append_escaped(result, c);
    } else {
      result += piece;
    }
    at += piece.size();
  }
  return result;
}

/// 'text', escaped and shortened to what a person can read.
inline std::string quoted(std::string_view text) {
  if (text.size() <= longest_quote) return "'" + escaped(text) + "'";
  std::size_t end = 0;
  while (end < longest_quote) {
    const std::size_t length = utf8_length(text, end);
    end += length == 0 ? 1 : length;
  }
  return "'" + escaped(text.substr(0, end)) + "...'";
}

/// "[1, ?, 8]"; unknown extents are question marks.
inline std::string to_text(const Dims& shape) {
  std::string result = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) result += ", ";
    result += shape[i] < 0 ? "?" : std::to_string(shape[i]);
  }
  return result + "]";
}

/// "float", "seq(tensor(float))", "map(string,tensor(int64))", as ONNX spells types.
inline std::string to_text(ElementType type) {
  if (is_tensor(type)) return std::string(name(type));
  auto inner = [](ElementType t) {
    return is_tensor(t) ? "tensor(" + std::string(name(t)) + ")" : to_text(t);
  };
  if (is_sequence(type)) return "seq(" + inner(item_of(type)) + ")";
  if (is_optional(type)) return "optional(" + inner(item_of(type)) + ")";
  const bool is_text = kind_of(type) == ValueKind::string_map;
  return std::string(is_text ? "map(string," : "map(int64,") + inner(element_of(type)) + ")";
}

/// "[1, ?, 8] float", "seq(tensor(float))", "unknown".
inline std::string to_text(const TensorInfo& info) {
  if (!info.is_known()) return "unknown";
  if (!is_tensor(info.type)) return to_text(info.type);
  return to_text(info.shape) + " " + std::string(name(info.type));
}

/// A number of bytes as people read it: "712 KiB".
inline std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit < 6) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 || value >= 100 ? "%.0f %s" : "%.3g %s", value,
                units[unit]);
  return text;
}

}  // namespace halftone::detail
