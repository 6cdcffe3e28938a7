#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "../folder.hpp"
#include "model_bytes.hpp"

namespace test {

using namespace halftone;
namespace fs = std::filesystem;

namespace {

/// The model that gives back an initializer.
std::string constant_model(const Message& tensor) {
  return model({.nodes = {node("Identity", {"w"}, {"y"})},
                .initializers = {tensor},
                .outputs = {shapeless("y", 0)}});
}

Message typed(int element, std::initializer_list<std::int64_t> shape) {
  Message m;
  for (const std::int64_t extent : shape) m.integer(1, extent);
  return m.integer(2, element).text(8, "w");
}

template <class T>
std::vector<T> elements(const Message& tensor) {
  const Graph g = loaded(constant_model(tensor));
  const TensorRecord& record = g.tensor(g.find("w"));
  CHECK(record.info.type == element_type<T>);
  std::vector<T> values(record.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), record.data.span().data(), record.data.size());
  return values;
}

ErrorKind kind_of(const Message& tensor) { return error_of(constant_model(tensor)).kind(); }

std::string packed(std::initializer_list<std::int64_t> values) {
  Message m;
  for (const std::int64_t v : values) m.varint(static_cast<std::uint64_t>(v));
  return m.bytes();
}

Message external(std::string_view location, std::string_view offset = {},
                 std::string_view length = {}) {
  Message m = typed(float32, {4}).integer(14, 1);
  auto entry = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) m.message(13, Message().text(1, key).text(2, value));
  };
  entry("location", location);
  entry("offset", offset);
  entry("length", length);
  return m;
}

}  // namespace

TEST_CASE("tensors: typed data, packed or one by one") {
  CHECK(elements<std::int64_t>(typed(7, {3}).integer(7, 5).integer(7, -6).integer(7, 7)) ==
        std::vector<std::int64_t>{5, -6, 7});
  CHECK(elements<std::int64_t>(typed(7, {3}).text(7, packed({5, -6, 7}))) ==
        std::vector<std::int64_t>{5, -6, 7});
  CHECK(elements<std::int64_t>(typed(7, {3}).text(7, packed({5, -6})).integer(7, 7)) ==
        std::vector<std::int64_t>{5, -6, 7});
  CHECK(elements<float>(typed(1, {2}).real(4, 1.5f).real(4, -2)) == std::vector<float>{1.5f, -2});
  const float two[] = {3, 4};
  CHECK(elements<float>(typed(1, {2}).text(4, {reinterpret_cast<const char*>(two), 8})) ==
        std::vector<float>{3, 4});
  const double wide[] = {3.25};
  CHECK(elements<double>(typed(11, {}).text(10, {reinterpret_cast<const char*>(wide), 8})) ==
        std::vector<double>{3.25});
  CHECK(elements<std::int32_t>(typed(6, {2}).text(5, packed({-1, 2}))) ==
        std::vector<std::int32_t>{-1, 2});
  CHECK(elements<std::int8_t>(typed(3, {2}).text(5, packed({-128, 127}))) ==
        std::vector<std::int8_t>{-128, 127});
  CHECK(elements<std::uint8_t>(typed(2, {1}).text(5, packed({255}))) ==
        std::vector<std::uint8_t>{255});
  CHECK(elements<std::uint32_t>(typed(12, {1}).text(11, packed({4294967295}))) ==
        std::vector<std::uint32_t>{4294967295u});
  CHECK(elements<std::uint64_t>(typed(13, {1}).text(11, packed({-1}))) ==
        std::vector<std::uint64_t>{UINT64_MAX});
  // 16-bit floats are there as their codes: 0x3e00 is 1.5 as IEEE 754 binary16, 0x3fc0 as bfloat16.
  CHECK(elements<half>(typed(10, {1}).text(5, packed({0x3e00})))[0] == half(1.5f));
  CHECK(elements<bfloat16>(typed(16, {1}).text(5, packed({0x3fc0})))[0] == bfloat16(1.5f));
  const Graph g = loaded(constant_model(typed(9, {2}).text(5, packed({0, 1}))));
  CHECK(g.tensor(g.find("w")).data.span()[1] == std::byte{1});
}

TEST_CASE("tensors: raw data of type bool are zeros and ones") {
  const Graph g = loaded(constant_model(typed(9, {3}).text(9, std::string_view("\0\2\1", 3))));
  const auto data = g.tensor(g.find("w")).data.span();
  CHECK(data[0] == std::byte{0});
  CHECK(data[1] == std::byte{1});
  CHECK(data[2] == std::byte{1});
}

TEST_CASE("tensors: no elements, one element") {
  CHECK(elements<float>(typed(1, {0, 5})).empty());
  CHECK(elements<float>(typed(1, {4, 0}).text(9, "")).empty());
  CHECK(elements<float>(typed(1, {}).real(4, 2)) == std::vector<float>{2});
}

TEST_CASE("tensors: data and shape must agree") {
  CHECK(kind_of(typed(1, {2}).real(4, 1)) == ErrorKind::model);
  CHECK(kind_of(typed(1, {2}).real(4, 1).real(4, 1).real(4, 1)) == ErrorKind::model);
  CHECK(kind_of(typed(1, {2}).text(4, "1234567")) == ErrorKind::model);
  CHECK(kind_of(typed(1, {2}).text(9, "1234567")) == ErrorKind::model);
  CHECK(kind_of(typed(1, {2}).text(9, "123456789")) == ErrorKind::model);
  CHECK(kind_of(typed(1, {2})) == ErrorKind::model);
  CHECK(kind_of(typed(7, {2}).real(4, 1).real(4, 1)) == ErrorKind::model);  // in another field
  CHECK(kind_of(typed(1, {-1}).real(4, 1)) == ErrorKind::model);
  CHECK(kind_of(typed(3, {1}).integer(5, 200)) == ErrorKind::model);
  CHECK(kind_of(typed(9, {1}).integer(5, 2)) == ErrorKind::model);
  CHECK(kind_of(typed(10, {1}).integer(5, 65536)) == ErrorKind::model);
  CHECK(kind_of(typed(8, {2}).text(6, "text")) == ErrorKind::model);
  CHECK(kind_of(typed(8, {1}).text(9, "text")) == ErrorKind::model);  // texts are never raw
  CHECK(kind_of(typed(22, {3}).text(9, "1")) == ErrorKind::model);
  CHECK(kind_of(typed(22, {3}).integer(5, 300).integer(5, 0)) == ErrorKind::model);
  CHECK(kind_of(typed(29, {1}).text(9, "1")) == ErrorKind::unsupported);
  CHECK(kind_of(typed(0, {1}).real(4, 1)) == ErrorKind::model);
  CHECK(kind_of(typed(999, {1}).real(4, 1)) == ErrorKind::model);
  CHECK(kind_of(typed(1, {1, 1, 1, 1, 1, 1, 1, 1, 1}).real(4, 1)) == ErrorKind::unsupported);
  CHECK(kind_of(typed(1, {1}).real(4, 1).message(3, Message().integer(1, 0))) ==
        ErrorKind::unsupported);
}

TEST_CASE("tensors: sizes that the file does not have are refused before memory is asked for") {
  for (const std::int64_t extent : {std::int64_t{1} << 30, std::int64_t{1} << 40, INT64_MAX}) {
    for (const int type : {1, 7, 9, 11, 13}) {
      CAPTURE(extent);
      CHECK(kind_of(typed(type, {extent})) == ErrorKind::model);
      CHECK(kind_of(typed(type, {extent, extent, extent})) == ErrorKind::model);
      CHECK(kind_of(typed(type, {extent}).text(9, "12345678")) == ErrorKind::model);
      CHECK(kind_of(typed(type, {extent}).integer(7, 1).integer(5, 1)) == ErrorKind::model);
    }
  }
}

TEST_CASE("tensors: large data stay in the file") {
  const test::Folder folder;
  constexpr std::int64_t count = 32 << 20;
  {
    // All but the data, which are a hole in the file.
    const std::string name = "w";
    std::ofstream file(folder / "large.onnx", std::ios::binary);
    Message tensor;
    tensor.integer(1, count).integer(2, float32).text(8, name).varint(9 << 3 | 2).varint(4 * count);
    Message g;
    g.message(1, node("Identity", {"w"}, {"y"})).message(12, shapeless("y", 0));
    const std::size_t tensor_size = tensor.bytes().size() + 4 * count;
    g.varint(5 << 3 | 2).varint(tensor_size).raw(tensor.bytes());
    Message whole;
    whole.integer(1, 8).message(8, opset(13));
    whole.varint(7 << 3 | 2).varint(g.bytes().size() + 4 * count).raw(g.bytes());
    file << whole.bytes();
    file.close();
    fs::resize_file(folder / "large.onnx", whole.bytes().size() + 4 * count);
  }
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  Graph g = onnx::load(folder / "large.onnx");
  ::getrusage(RUSAGE_SELF, &after);
  CHECK(after.ru_maxrss - before.ru_maxrss < 8 << 10);  // KiB, of 128 MiB
  CHECK(g.tensor(g.find("w")).data.size() == 4 * count);
  // A copy has the same bytes, and the file may go.
  const Graph copy = g;
  CHECK(copy.tensor(0).data.span().data() == g.tensor(0).data.span().data());
  fs::remove(folder / "large.onnx");
  g = Graph();
  CHECK(copy.tensor(copy.find("w")).data.span()[4 * count - 1] == std::byte{0});
}

TEST_CASE("tensors: external data are found in the model's folder, and only there") {
  const test::Folder folder;
  const float data[] = {9, 9, 1, 2, 3, 4};
  folder.write("data", {reinterpret_cast<const char*>(data), sizeof data});
  fs::create_directory(folder / "inside");
  folder.write("inside/data", {reinterpret_cast<const char*>(data), sizeof data});
  const test::Folder other;
  other.write("data", {reinterpret_cast<const char*>(data), sizeof data});
  fs::create_symlink(other / "data", folder / "link");
  fs::create_symlink("data", folder / "good_link");
  fs::create_directory_symlink(other.path, folder / "linked_folder");

  auto result = [&](const Message& tensor) {
    folder.write("m.onnx", constant_model(tensor));
    return onnx::try_load(folder / "m.onnx");
  };
  for (const char* location : {"data", "inside/data", "./data", "good_link"}) {
    CAPTURE(location);
    const auto r = result(external(location, "8", "16"));
    REQUIRE(r);
    float values[4];
    std::memcpy(values, r.graph().tensor(r.graph().find("w")).data.span().data(), 16);
    CHECK(values[0] == 1);
    CHECK(values[3] == 4);
  }
  CHECK(result(external("data", "8")));
  CHECK(result(external("data")));
  const std::string above = "../" + other.path.filename().string() + "/data";
  for (const std::string& location :
       {other / "data", above, "inside/../data" + std::string(), std::string("link"),
        std::string("linked_folder/data"), std::string("da\0ta", 5), std::string()}) {
    CAPTURE(location);
    const auto r = result(external(location, "0", "16"));
    REQUIRE_FALSE(r);
    CHECK(r.error().kind() == ErrorKind::model);
  }
  for (const auto& [offset, length] :
       {std::pair("16", "16"), std::pair("8", "20"), std::pair("18446744073709551615", "16"),
        std::pair("8", "18446744073709551615"), std::pair("-1", "16"), std::pair("8", "12"),
        std::pair("x", "16"), std::pair("99999999999999999999", "1")}) {
    CAPTURE(offset);
    const auto r = result(external("data", offset, length));
    REQUIRE_FALSE(r);
    CHECK(r.error().kind() == ErrorKind::model);
  }
  for (const char* location : {"absent", "inside", "absent/data"}) {
    CAPTURE(location);
    const auto r = result(external(location));
    REQUIRE_FALSE(r);
    CHECK(r.error().kind() == ErrorKind::io);
  }
  // Without a folder there are no other files.
  const std::string text = constant_model(external("data", "8", "16"));
  CHECK(error_of(text).kind() == ErrorKind::model);
  CHECK(onnx::try_load(bytes(text), {}, folder.path.string()));
}

TEST_CASE("files: what cannot be read is an IoError") {
  const test::Folder folder;
  auto kind = [](const std::string& path) { return onnx::try_load(path).error().kind(); };
  CHECK(kind(folder / "absent.onnx") == ErrorKind::io);
  CHECK(kind(folder.path.string()) == ErrorKind::io);
  CHECK(kind("/dev/zero") == ErrorKind::io);
  CHECK(kind("") == ErrorKind::io);
  CHECK(kind(std::string("a\0b", 3)) == ErrorKind::io);
  folder.write("empty.onnx", "");
  CHECK(kind(folder / "empty.onnx") == ErrorKind::model);
  CHECK(contains(onnx::try_load(folder / "absent.onnx").error().line(), "absent.onnx"));
}

TEST_CASE("tensor files: what is written is read again, of every type") {
  const test::Folder folder;
  for (int i = 1; i <= 28; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (type == ElementType::string) continue;  // tests/op/text.cpp
    CAPTURE(name(type));
    AnyArray array(TensorInfo{type, {7, 3}});  // an odd number: packed bytes are not full
    for (std::size_t b = 0; b < array.bytes(); ++b) {
      array.data()[b] = static_cast<std::byte>(type == ElementType::boolean ? b % 2 : 37 * b + 1);
    }
    visit_type<NarrowTypes>(type, [&]<class T>() {
      std::uint8_t code = 0;
      for (T& element : array.values<T>()) element = T::from_bits(code += 5);
    });
    onnx::save_tensor(folder / "t.pb", "the name", array);
    const onnx::NamedArray again = onnx::load_tensor(folder / "t.pb");
    CHECK(again.name() == "the name");
    CHECK(again.info() == array.info());
    CHECK(std::memcmp(again.data(), array.data(), array.bytes()) == 0);
    const std::vector<std::byte> memory = onnx::tensor_to_bytes("n", array);
    CHECK(std::memcmp(onnx::load_tensor(memory).data(), array.data(), array.bytes()) == 0);
  }
  const Array<float> scalar(Dims{}, {2.5f}), empty({3, 0});
  CHECK(onnx::load_tensor(onnx::tensor_to_bytes("", scalar)).values<float>()[0] == 2.5f);
  CHECK(onnx::load_tensor(onnx::tensor_to_bytes("", empty)).info().shape == Dims{3, 0});
  CHECK(fs::directory_iterator(folder.path) != fs::directory_iterator());
  CHECK_THROWS_AS(onnx::load_tensor(folder / "absent.pb"), IoError);
  folder.write("bad.pb", "this is no tensor");
  CHECK_THROWS_AS(onnx::load_tensor(folder / "bad.pb"), ModelError);
  folder.write("empty.pb", "");
  CHECK_THROWS_AS(onnx::load_tensor(folder / "empty.pb"), ModelError);
  CHECK_THROWS_AS(onnx::save_tensor(folder / "no/such/folder.pb", "x", scalar), IoError);
}

}  // namespace test
