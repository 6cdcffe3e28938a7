#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "halftone/base/bfloat16.hpp"
#include "halftone/base/float8.hpp"
#include "halftone/base/half.hpp"
#include "halftone/base/mx_float.hpp"
#include "halftone/base/narrow_integer.hpp"

namespace halftone {

/// Element types, numbered as ONNX's TensorProto.DataType; further numbers stand for values that are
/// no tensors, see ValueKind.
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
  uint4 = 21,
  int4 = 22,
  float4_e2m1 = 23,
  float8_e8m0 = 24,
  uint2 = 25,
  int2 = 26,
  float6_e2m3 = 27,
  float6_e3m2 = 28,
};

namespace detail {

struct ElementTypeRow {
  std::uint8_t size_in_bytes;
  char kind;  // f floating point, s signed integer, u unsigned integer, - none of them
  std::string_view name;
  std::uint8_t size_in_bits = 0;  // if it is less than that of the bytes
};

/// In the order of the enumeration.
inline constexpr ElementTypeRow element_type_rows[] = {
    {0, '-', "undefined"},      {4, 'f', "float"},         {1, 'u', "uint8"},
    {1, 's', "int8"},           {2, 'u', "uint16"},        {2, 's', "int16"},
    {4, 's', "int32"},          {8, 's', "int64"},         {8, '-', "string"},
    {1, '-', "bool"},           {2, 'f', "float16"},       {8, 'f', "double"},
    {4, 'u', "uint32"},         {8, 'u', "uint64"},        {8, '-', "complex64"},
    {16, '-', "complex128"},    {2, 'f', "bfloat16"},      {1, 'f', "float8e4m3fn"},
    {1, 'f', "float8e4m3fnuz"}, {1, 'f', "float8e5m2"},    {1, 'f', "float8e5m2fnuz"},
    {1, 'u', "uint4", 4},       {1, 's', "int4", 4},       {1, 'f', "float4e2m1", 4},
    {1, 'f', "float8e8m0"},     {1, 'u', "uint2", 2},      {1, 's', "int2", 2},
    {1, 'f', "float6e2m3", 6},  {1, 'f', "float6e3m2", 6},
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

inline constexpr int value_kind_bits = 5;

}  // namespace detail

/// What a value is: ONNX has lists, optional values and maps beside tensors. In memory each of them
/// is a scalar whose one element refers to an object (base/object.hpp). The kind is the upper three
/// bits of an ElementType, the element type of the tensors in the value the lower five.
enum class ValueKind : std::uint8_t {
  tensor = 0,
  sequence = 1,           ///< of tensors
  optional = 2,           ///< a tensor or nothing
  optional_sequence = 3,  ///< a sequence of tensors or nothing
  int64_map = 4,          ///< from int64 to numbers or texts
  string_map = 5,
  int64_maps = 6,  ///< a sequence of such maps
  string_maps = 7,
};
constexpr ValueKind kind_of(ElementType type) {
  return static_cast<ValueKind>(static_cast<std::uint8_t>(type) >> detail::value_kind_bits);
}
constexpr bool is_tensor(ElementType type) { return kind_of(type) == ValueKind::tensor; }
/// The element type of a value's tensors (of a map: of its values); of a tensor, its own.
constexpr ElementType element_of(ElementType type) {
  constexpr int mask = (1 << detail::value_kind_bits) - 1;
  return static_cast<ElementType>(static_cast<std::uint8_t>(type) & mask);
}
constexpr ElementType value_type(ValueKind kind, ElementType element) {
  return static_cast<ElementType>(static_cast<int>(kind) << detail::value_kind_bits |
                                  static_cast<int>(element));
}
/// The type of a sequence of values of that type, which are tensors or maps.
constexpr ElementType sequence_of(ElementType item) {
  switch (kind_of(item)) {
    case ValueKind::int64_map:
      return value_type(ValueKind::int64_maps, element_of(item));
    case ValueKind::string_map:
      return value_type(ValueKind::string_maps, element_of(item));
    case ValueKind::tensor:
      return value_type(ValueKind::sequence, item);
    default:
      return ElementType::undefined;
  }
}
/// The type of an optional value of that type, which is a tensor or a sequence of tensors.
constexpr ElementType optional_of(ElementType item) {
  switch (kind_of(item)) {
    case ValueKind::tensor:
      return value_type(ValueKind::optional, item);
    case ValueKind::sequence:
      return value_type(ValueKind::optional_sequence, element_of(item));
    default:
      return ElementType::undefined;
  }
}
constexpr bool is_sequence(ElementType type) {
  const ValueKind kind = kind_of(type);
  return kind == ValueKind::sequence || kind == ValueKind::int64_maps ||
         kind == ValueKind::string_maps;
}
constexpr bool is_optional(ElementType type) {
  return kind_of(type) == ValueKind::optional || kind_of(type) == ValueKind::optional_sequence;
}
constexpr bool is_map(ElementType type) {
  return kind_of(type) == ValueKind::int64_map || kind_of(type) == ValueKind::string_map;
}
/// The type of what a sequence or an optional value holds; undefined for other types.
constexpr ElementType item_of(ElementType type) {
  switch (kind_of(type)) {
    case ValueKind::sequence:
    case ValueKind::optional:
      return element_of(type);
    case ValueKind::optional_sequence:
      return value_type(ValueKind::sequence, element_of(type));
    case ValueKind::int64_maps:
      return value_type(ValueKind::int64_map, element_of(type));
    case ValueKind::string_maps:
      return value_type(ValueKind::string_map, element_of(type));
    default:
      return ElementType::undefined;
  }
}

/// Whether elements refer to objects, which arrays of them own (base/object.hpp): texts, and values
/// that are no tensors.
constexpr bool has_objects(ElementType type) {
  return type == ElementType::string || !is_tensor(type);
}

/// Bytes of one element in memory; 0 for undefined.
constexpr int size_in_bytes(ElementType type) {
  return is_tensor(type) ? detail::row(type).size_in_bytes : 8;
}

/// Bits of one element in a file, where elements of less than a byte are packed.
constexpr int size_in_bits(ElementType type) {
  const detail::ElementTypeRow& row = detail::row(type);
  return row.size_in_bits != 0 ? row.size_in_bits : 8 * row.size_in_bytes;
}

/// ONNX's name in lower case: "float", "double", "float16", "int64", "bool", "float8e4m3fn", ...;
/// of a value that is no tensor the name of its kind.
constexpr std::string_view name(ElementType type) {
  if (is_tensor(type)) return detail::row(type).name;
  return is_sequence(type) ? "sequence" : is_map(type) ? "map" : "optional";
}

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

template <>
inline constexpr ElementType element_type<uint4> = ElementType::uint4;
template <>
inline constexpr ElementType element_type<int4> = ElementType::int4;
template <>
inline constexpr ElementType element_type<float4_e2m1> = ElementType::float4_e2m1;
template <>
inline constexpr ElementType element_type<float8_e8m0> = ElementType::float8_e8m0;
template <>
inline constexpr ElementType element_type<uint2> = ElementType::uint2;
template <>
inline constexpr ElementType element_type<int2> = ElementType::int2;
template <>
inline constexpr ElementType element_type<float6_e2m3> = ElementType::float6_e2m3;
template <>
inline constexpr ElementType element_type<float6_e3m2> = ElementType::float6_e3m2;

/// A C++ type that tensors may have as elements.
template <class T>
concept element = element_type<T> != ElementType::undefined;

/// Floating point to compute with: float, double, half, bfloat16.
template <class T>
concept real = element<T> && is_floating_point(element_type<T>) && sizeof(T) >= 2;

/// Signed or unsigned integer of 8 to 64 bits; bool is not.
template <class T>
concept integer = element<T> && std::is_integral_v<T> && is_integer(element_type<T>);

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
/// Integers of less than a byte, and the formats of Microscaling.
using NarrowTypes =
    TypeList<uint4, int4, uint2, int2, float4_e2m1, float6_e2m3, float6_e3m2, float8_e8m0>;
/// All element types that are numbers.
using AllTypes = Joined<Joined<Joined<NumericTypes, TypeList<bool>>, Float8Types>, NarrowTypes>;

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
