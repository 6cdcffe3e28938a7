#include "cli/tensor_file.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cli/file.hpp"

using namespace halftone;
using namespace halftone::cli;

namespace {

// Written by NumPy: make_models.py.
const std::string models = "tests/cli/models/";

ErrorKind kind_of(auto&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::usage;  // nothing here fails that way
}

template <class T>
std::vector<T> values_of(const AnyArray& array) {
  const auto values = array.values<T>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("files of NumPy are read") {
  const std::vector<float> x{-5, 0, 0.5, 1, -2.5, 100};  // make_models.py
  const AnyArray plain = read_tensor(models + "x.npy");
  CHECK(plain.info() == TensorInfo{ElementType::float32, {2, 3}});
  CHECK(values_of<float>(plain) == x);
  const AnyArray reversed = read_tensor(models + "x_reversed.npy");  // columns first, big-endian
  CHECK(reversed.info() == plain.info());
  CHECK(values_of<float>(reversed) == x);
  const AnyArray scalar = read_tensor(models + "scalar_half.npy");
  CHECK(scalar.info() == TensorInfo{ElementType::float16, {}});
  CHECK(static_cast<float>(scalar.values<half>()[0]) == 0.0999755859375f);  // nearest binary16
  CHECK(values_of<bool>(read_tensor(models + "bools.npy")) == std::vector{true, false, true});
  CHECK(read_tensor(models + "empty.npy").info() == TensorInfo{ElementType::int64, {0, 4}});
}

TEST_CASE("what is written is NumPy's file, byte for byte") {
  for (const char* name : {"x.npy", "scalar_half.npy", "bools.npy", "empty.npy"}) {
    CAPTURE(name);
    const std::string file = read_file(models + name);
    CHECK(format_npy(parse_npy(file, name)) == file);
  }
}

TEST_CASE("broken files of NumPy are refused") {
  CHECK(kind_of([] { read_tensor(models + "text.npy"); }) == ErrorKind::input);
  CHECK(kind_of([] { read_tensor(models + "absent.npy"); }) == ErrorKind::io);
  const std::string file = read_file(models + "x.npy");
  for (std::size_t size = 0; size < file.size(); ++size) {
    CAPTURE(size);
    CHECK(kind_of([&] { parse_npy(file.substr(0, size), "x.npy"); }) == ErrorKind::input);
  }
  CHECK(kind_of([&] { parse_npy(file + "x", "x.npy"); }) == ErrorKind::input);
  // An array far larger than the file, and one whose size does not fit 64 bits.
  for (const char* shape : {"(9000000000000, )", "(4294967296, 4294967296, 4294967296)",
                            "(1, 1, 1, 1, 1, 1, 1, 1, 6)", "(-2, 3)", "(2, 3", "(2 3)", "[2, 3]"}) {
    CAPTURE(shape);
    std::string large = file;
    large.replace(large.find("(2, 3), }"), 40,
                  (std::string(shape) + "}" + std::string(40, ' ')).substr(0, 40));
    CHECK(kind_of([&] { parse_npy(large, "x.npy"); }) == ErrorKind::input);
  }
}

TEST_CASE("text files are read") {
  const AnyArray x =
      parse_text("# two rows\nfloat 2 3\n1 +2.5 -3  # first\n\nnan -inf 4e-3", "x.txt");
  CHECK(x.info() == TensorInfo{ElementType::float32, {2, 3}});
  const auto values = x.values<float>();
  CHECK(values[1] == 2.5f);
  CHECK(values[2] == -3);
  CHECK(std::isnan(values[3]));
  CHECK(values[4] == -std::numeric_limits<float>::infinity());
  CHECK(values[5] == 0.004f);
  CHECK(values_of<std::int64_t>(parse_text("int64\n-9223372036854775808\n", "x")) ==
        std::vector{std::numeric_limits<std::int64_t>::min()});
  CHECK(values_of<bool>(parse_text("bool 3\r\n0 true\r\n1", "x")) ==
        std::vector{false, true, true});
  CHECK(parse_text("float16 0 7", "x").info() == TensorInfo{ElementType::float16, {0, 7}});
  CHECK(static_cast<float>(parse_text("float16\n65504", "x").values<half>()[0]) == 65504);
}

TEST_CASE("broken text files are refused") {
  for (const char* text :
       {"", "floot 2\n1 2", "float 2 1 2", "float -1\n", "float 2\n1", "float 2\n1 2 3",
        "float 1\n1,5", "float 99999999999\n1 2", "uint8 1\n256", "int32 1\n1.5",
        "float16 1\n70000", "bool 1\n2", "float 1 1 1 1 1 1 1 1 1\n1", "string 1\n\"a",
        "float 18446744073709551616\n1"}) {
    CAPTURE(text);
    CHECK(kind_of([&] { parse_text(text, "x.txt"); }) == ErrorKind::input);
  }
}

TEST_CASE_TEMPLATE("written text and NumPy files are read back", T, float, double, half, bfloat16,
                   float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, std::int8_t,
                   std::int64_t, std::uint8_t, std::uint64_t, bool) {
  Array<T> array({3, 2});
  const int numbers[] = {0, 1, 3, 96, 1, 0};
  for (std::size_t i = 0; i < 6; ++i) array[i] = static_cast<T>(static_cast<float>(numbers[i]));
  if constexpr (std::is_integral_v<T>) array[2] = std::numeric_limits<T>::max();
  const AnyArray text = parse_text(format_text(array), "x.txt");
  CHECK(text.info() == array.info());
  const auto bits = [](const AnyArray& a) {
    return std::string(reinterpret_cast<const char*>(a.data()), a.bytes());
  };
  CHECK(bits(text) == bits(array));
  constexpr bool has_numpy_type =
      !std::is_same_v<T, bfloat16> && (std::is_arithmetic_v<T> || sizeof(T) > 1);
  if (has_numpy_type) {
    CHECK(bits(parse_npy(format_npy(array), "x.npy")) == bits(array));
  } else {
    CHECK(kind_of([&] { format_npy(array); }) == ErrorKind::unsupported);
  }
}

TEST_CASE("IDX files are read") {
  // http://yann.lecun.com/exdb/mnist: two zeros, the type, the rank; extents and elements are
  // big-endian.
  using namespace std::string_literals;
  const AnyArray bytes = parse_idx("\0\0\x08\x02\0\0\0\x02\0\0\0\x03\1\2\3\4\5\xff"s, "f");
  CHECK(bytes.info() == TensorInfo{ElementType::uint8, {2, 3}});
  CHECK(values_of<std::uint8_t>(bytes) == std::vector<std::uint8_t>{1, 2, 3, 4, 5, 255});
  const AnyArray numbers = parse_idx("\0\0\x0d\x01\0\0\0\x01\x3f\xc0\0\0"s, "f");
  CHECK(values_of<float>(numbers) == std::vector<float>{1.5f});  // 0x3fc00000
  for (const std::string& broken :
       {""s, "\x1f\x8b\x08\x00"s, "\0\0\x0a\0"s, "\0\0\x08\x02\0\0"s, "\0\0\x08\x01\0\0\0\x02\1"s,
        "\0\0\x08\x01\0\0\0\x02\1\2\3"s, "\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff"s}) {
    CHECK(kind_of([&] { parse_idx(broken, "f"); }) == ErrorKind::input);
  }
}
