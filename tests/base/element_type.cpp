#include "halftone/base/element_type.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <type_traits>

using namespace halftone;

static_assert(element<half> && element<bool> && element<float8_e5m2>);
static_assert(!element<char> && !element<const float> && !element<long double>);
static_assert(real<float> && real<double> && real<half> && real<bfloat16>);
static_assert(!real<float8_e4m3fn> && !real<int> && !real<bool>);
static_assert(integer<std::int8_t> && integer<std::uint64_t> && !integer<bool> && !integer<half>);

TEST_CASE("element_type: number, name and size of every type") {
  struct Row {
    int number;
    const char* name;
    int bytes;
  };
  // onnx/onnx.proto, TensorProto.DataType; bytes from the comments there.
  const Row rows[] = {
      {0, "undefined", 0},       {1, "float", 4},
      {2, "uint8", 1},           {3, "int8", 1},
      {4, "uint16", 2},          {5, "int16", 2},
      {6, "int32", 4},           {7, "int64", 8},
      {8, "string", 8},          {9, "bool", 1},
      {10, "float16", 2},        {11, "double", 8},
      {12, "uint32", 4},         {13, "uint64", 8},
      {14, "complex64", 8},      {15, "complex128", 16},
      {16, "bfloat16", 2},       {17, "float8e4m3fn", 1},
      {18, "float8e4m3fnuz", 1}, {19, "float8e5m2", 1},
      {20, "float8e5m2fnuz", 1}, {21, "uint4", 1},
      {22, "int4", 1},           {23, "float4e2m1", 1},
      {24, "float8e8m0", 1},     {25, "uint2", 1},
      {26, "int2", 1},           {27, "float6e2m3", 1},
      {28, "float6e3m2", 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.number);
    const ElementType type = static_cast<ElementType>(row.number);
    CHECK(name(type) == row.name);
    CHECK(size_in_bytes(type) == row.bytes);
    CHECK(parse_element_type(row.name) == type);
    std::string upper = row.name;
    for (char& c : upper) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    CHECK(parse_element_type(upper) == type);
  }
}

TEST_CASE("element_type: unknown names and numbers are undefined") {
  for (const char* text :
       {"", "floa", "float3", "Float", "fLOAT", "int128", "FLOAT8_144", " bool"}) {
    CHECK(parse_element_type(text) == ElementType::undefined);
  }
  for (int number = 29; number < 32; ++number) {
    const ElementType type = static_cast<ElementType>(number);
    CHECK(name(type) == "undefined");
    CHECK(size_in_bytes(type) == 0);
    CHECK_FALSE(is_floating_point(type));
    CHECK_FALSE(is_integer(type));
  }
}

TEST_CASE("element_type: PopART's names") {
  // popart/datatype.hpp
  CHECK(parse_element_type("FLOAT") == ElementType::float32);
  CHECK(parse_element_type("FLOAT16") == ElementType::float16);
  CHECK(parse_element_type("DOUBLE") == ElementType::float64);
  CHECK(parse_element_type("INT32") == ElementType::int32);
  CHECK(parse_element_type("BOOL") == ElementType::boolean);
  CHECK(parse_element_type("FLOAT8_143") == ElementType::float8_e4m3fnuz);
  CHECK(parse_element_type("FLOAT8_152") == ElementType::float8_e5m2fnuz);
}

TEST_CASE("element_type: predicates") {
  for (int number = 0; number <= 28; ++number) {
    CAPTURE(number);
    const ElementType type = static_cast<ElementType>(number);
    const std::string text(name(type));
    const bool is_float = text.find("float") != std::string::npos || text == "double";
    const bool is_unsigned = text.starts_with("uint");
    CHECK(is_floating_point(type) == is_float);
    CHECK(is_integer(type) == (is_unsigned || text.starts_with("int")));
    CHECK(is_signed(type) == (is_float || text.starts_with("int")));
  }
}

namespace {

template <class T>
void check_type() {
  const ElementType type = element_type<T>;
  CAPTURE(name(type));
  CHECK(size_in_bytes(type) == static_cast<int>(sizeof(T)));
  const bool is_narrow = size_in_bits(type) < 8 && !is_floating_point(type);
  CHECK(is_integer(type) == (is_narrow || (std::is_integral_v<T> && !std::is_same_v<T, bool>)));
  if (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    CHECK(is_signed(type) == std::is_signed_v<T>);
  }
}

}  // namespace

TEST_CASE("element_type: C++ types and dispatch agree") {
  int matches = 0;
  for (int number = 0; number < 256; ++number) {
    const ElementType type = static_cast<ElementType>(number);
    int calls = 0;
    const bool found = visit_type<AllTypes>(type, [&]<class T>() {
      ++calls;
      CHECK(element_type<T> == type);
      check_type<T>();
    });
    CHECK(calls == static_cast<int>(found));
    matches += calls;
  }
  CHECK(matches == 25);

  const auto nothing = []<class T>() {};
  CHECK(visit_type<FloatTypes>(ElementType::bfloat16, nothing));
  CHECK_FALSE(visit_type<FloatTypes>(ElementType::int32, nothing));
  CHECK(visit_type<IntegerTypes>(ElementType::uint64, nothing));
  CHECK_FALSE(visit_type<IntegerTypes>(ElementType::boolean, nothing));
  CHECK(visit_type<NumericTypes>(ElementType::float64, nothing));
  CHECK_FALSE(visit_type<NumericTypes>(ElementType::float8_e5m2, nothing));
  CHECK_FALSE(visit_type<AllTypes>(ElementType::string, nothing));
}

TEST_CASE("element_type: dispatch takes functions with a result and with state") {
  auto count = [bytes = 0]<class T>() mutable { return bytes += static_cast<int>(sizeof(T)); };
  CHECK(visit_type<AllTypes>(ElementType::float64, count));
  CHECK(visit_type<AllTypes>(ElementType::boolean, count));
  CHECK(count.template operator()<float>() == 13);
}
