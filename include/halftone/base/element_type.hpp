#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "halftone/base/bfloat16.hpp"
#include "halftone/base/float8.hpp"
#include "halftone/base/half.hpp"

namespace halftone {

/// Element types, numbered as ONNX's TensorProto.DataType.
enum class ElementType : std::uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8_e4m3fn = 17,
  float8_e4m3fnuz = 18,
  float8_e5m2 = 19,
  float8_e5m2fnuz = 20,
};

namespace detail {

struct ElementTypeRow {
  std::uint8_t size_in_bytes;
  char kind;  // f floating point, s signed integer, u unsigned integer, - none of them
  std::string_view name;
};

/// In the order of the enumeration.
inline constexpr ElementTypeRow element_type_rows[] = {
    {0, '-', "undefined"},      {4, 'f', "float"},      {1, 'u', "uint8"},
    {1, 's', "int8"},           {2, 'u', "uint16"},     {2, 's', "int16"},
    {4, 's', "int32"},          {8, 's', "int64"},      {0, '-', "string"},
    {1, '-', "bool"},           {2, 'f', "float16"},    {8, 'f', "double"},
    {4, 'u', "uint32"},         {8, 'u', "uint64"},     {8, '-', "complex64"},
    {16, '-', "complex128"},    {2, 'f', "bfloat16"},   {1, 'f', "float8e4m3fn"},
    {1, 'f', "float8e4m3fnuz"}, {1, 'f', "float8e5m2"}, {1, 'f', "float8e5m2fnuz"},
};

inline constexpr int element_type_count = sizeof(element_type_rows) / sizeof(ElementTypeRow);

constexpr bool is_upper_case_of(std::string_view text, std::string_view lower_case) {
  if (text.size() != lower_case.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = lower_case[i];
    if (text[i] != (c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c)) return false;
  }
  return true;
}

/// A number outside the enumeration, as a file may hold, counts as undefined.
constexpr const ElementTypeRow& row(ElementType type) {
  const int i = static_cast<int>(type);
  return element_type_rows[i < element_type_count ? i : 0];
}

}  // namespace detail

/// Bytes of one element; 0 for undefined and string.
constexpr int size_in_bytes(ElementType type) { return detail::row(type).size_in_bytes; }

/// ONNX's name in lower case: "float", "double", "float16", "int64", "bool", "float8e4m3fn", ...
constexpr std::string_view name(ElementType type) { return detail::row(type).name; }

/// Floating point of any width, 8 bits included; complex is not.
constexpr bool is_floating_point(ElementType type) { return detail::row(type).kind == 'f'; }

/// Signed or unsigned integer; bool is not.
constexpr bool is_integer(ElementType type) {
  return detail::row(type).kind == 's' || detail::row(type).kind == 'u';
}

/// Floating point or signed integer.
constexpr bool is_signed(ElementType type) {
  return detail::row(type).kind == 's' || detail::row(type).kind == 'f';
}

/// The type with that `name`, all in lower case or, as PopART has it, all in upper case ("FLOAT",
/// "INT32"); undefined if there is none. PopART's FLOAT8_143 and FLOAT8_152 (bias 8 and 16, one
/// NaN, no negative zero) are the formats that ONNX calls FNUZ.
constexpr ElementType parse_element_type(std::string_view text) {
  if (text == "FLOAT8_143") return ElementType::float8_e4m3fnuz;
  if (text == "FLOAT8_152") return ElementType::float8_e5m2fnuz;
  for (int i = 0; i < detail::element_type_count; ++i) {
    const std::string_view known = detail::element_type_rows[i].name;
    if (text == known || detail::is_upper_case_of(text, known)) return static_cast<ElementType>(i);
  }
  return ElementType::undefined;
}

/// The element type that the C++ type T stands for; undefined if it is none.
template <class T>
inline constexpr ElementType element_type = ElementType::undefined;
template <>
inline constexpr ElementType element_type<float> = ElementType::float32;
template <>
inline constexpr ElementType element_type<double> = ElementType::float64;
template <>
inline constexpr ElementType element_type<half> = ElementType::float16;
template <>
inline constexpr ElementType element_type<bfloat16> = ElementType::bfloat16;
template <>
inline constexpr ElementType element_type<float8_e4m3fn> = ElementType::float8_e4m3fn;
template <>
inline constexpr ElementType element_type<float8_e5m2> = ElementType::float8_e5m2;
template <>
inline constexpr ElementType element_type<float8_e4m3fnuz> = ElementType::float8_e4m3fnuz;
template <>
inline constexpr ElementType element_type<float8_e5m2fnuz> = ElementType::float8_e5m2fnuz;
template <>
inline constexpr ElementType element_type<std::int8_t> = ElementType::int8;
template <>
inline constexpr ElementType element_type<std::int16_t> = ElementType::int16;
template <>
inline constexpr ElementType element_type<std::int32_t> = ElementType::int32;
template <>
inline constexpr ElementType element_type<std::int64_t> = ElementType::int64;
template <>
inline constexpr ElementType element_type<std::uint8_t> = ElementType::uint8;
template <>
inline constexpr ElementType element_type<std::uint16_t> = ElementType::uint16;
template <>
inline constexpr ElementType element_type<std::uint32_t> = ElementType::uint32;
template <>
inline constexpr ElementType element_type<std::uint64_t> = ElementType::uint64;
template <>
inline constexpr ElementType element_type<bool> = ElementType::boolean;

/// A C++ type that tensors may have as elements.
template <class T>
concept element = element_type<T> != ElementType::undefined;

/// Floating point to compute with: float, double, half, bfloat16.
template <class T>
concept real = element<T> && is_floating_point(element_type<T>) && sizeof(T) >= 2;

/// Signed or unsigned integer of 8 to 64 bits; bool is not.
template <class T>
concept integer = element<T> && is_integer(element_type<T>);

template <class... T>
struct TypeList {};

namespace detail {
template <class... A, class... B>
TypeList<A..., B...> join(TypeList<A...>, TypeList<B...>);
}  // namespace detail

template <class A, class B>
using Joined = decltype(detail::join(A{}, B{}));

using FloatTypes = TypeList<float, double, half, bfloat16>;
using IntegerTypes = TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                              std::uint16_t, std::uint32_t, std::uint64_t>;
using NumericTypes = Joined<FloatTypes, IntegerTypes>;
using Float8Types = TypeList<float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz>;
using AllTypes = Joined<Joined<NumericTypes, TypeList<bool>>, Float8Types>;

template <class... T>
constexpr bool has_type(TypeList<T...>, ElementType type) {
  return ((type == element_type<T>) || ...);
}

/// Calls f.template operator()<T>() for the T in List whose element type is `type`; false, and no
/// call, if there is none.
template <class List, class F>
constexpr bool visit_type(ElementType type, F&& f) {
  return [&]<class... T>(TypeList<T...>) {
    return ((type == element_type<T> && (static_cast<void>(f.template operator()<T>()), true)) ||
            ...);
  }(List{});
}

}  // namespace halftone
