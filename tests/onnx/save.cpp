#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <halftone/graph/model.hpp>
#include <halftone/op/list.hpp>

#include "../folder.hpp"
#include "model_bytes.hpp"

namespace test {

using namespace halftone;
namespace fs = std::filesystem;

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string saved(const Graph& g) {
  const std::vector<std::byte> b = onnx::to_bytes(g);
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

/// Large weights, a symbol, a replaceable input, attributes, a captured tensor, unnamed tensors.
Graph rich() {
  const std::vector<float> large(2000, 0.5f);
  const std::vector<std::int64_t> shape{-1, 2000};
  auto branch = [](std::string_view op, std::string_view output) {
    return graph({.nodes = {node("Reshape", {"m", "s"}, {"r"}), node(op, {"r"}, {output})},
                  .outputs = {shapeless(output, float32)}});
  };
  return loaded(
      model({.nodes = {node("Mul", {"x", "w"}, {"m"}, {.name = "mul"}),
                       node("If", {"c"}, {"i"},
                            {.attributes = {graph_attribute("then_branch", branch("Neg", "p")),
                                            graph_attribute("else_branch", branch("Abs", "q"))}}),
                       node("Transpose", {"i"}, {"y"}, {.attributes = {integers("perm", {1, 0})}})},
             .initializers = {floats("w", {2000}, large), tensor("s", int64, {2}, shape)},
             .inputs = {value("x", float32, {"batch", 2000}), value("c", 9, {}),
                        value("w", float32, {2000})},
             .outputs = {shapeless("y", float32)}}));
}

}  // namespace

TEST_CASE("save: what is saved and loaded is the same graph") {
  const Graph g = rich();
  const std::string text = saved(g);
  const Graph again = loaded(text);
  CHECK(saved(again) == text);
  REQUIRE(again.nodes.size() == g.nodes.size());
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    CHECK(again.nodes[i].op->id == g.nodes[i].op->id);
    CHECK(again.nodes[i].attributes == g.nodes[i].attributes);
    CHECK(again.name(again.nodes[i]) == g.name(g.nodes[i]));
    REQUIRE(again.nodes[i].inputs.size() == g.nodes[i].inputs.size());
  }
  for (const std::string_view name : {"x", "c", "w", "s", "m", "i", "y"}) {
    CAPTURE(name);
    const TensorId a = g.find(name), b = again.find(name);
    REQUIRE(b != no_tensor);
    CHECK(g.info(a) == again.info(b));
    CHECK(g.tensor(a).role == again.tensor(b).role);
    const auto left = g.tensor(a).data.span(), right = again.tensor(b).data.span();
    CHECK(std::equal(left.begin(), left.end(), right.begin(), right.end()));
  }
  REQUIRE(again.symbols.size() == 1);
  CHECK(again.text(again.symbols[0].name) == "batch");
  CHECK(again.optional_inputs == std::vector<TensorId>{again.find("w")});
  CHECK(again.graphs.size() == 2);
  CHECK(again.text(again.graph_name) == "g");
}

TEST_CASE("save: a graph made in C++, with values for what has only a rule") {
  Graph g;
  const auto x = input<float, Shape<dynamic, 4>>(g, "x");
  const auto w = parameter<float, Shape<4, 3>>(g, "w");
  const auto b = parameter<float, Shape<3>>(g, "w", ones);
  output(g, op::relu(op::matmul(x, w) + b), "y");
  const Graph again = loaded(saved(g));
  CHECK(again.info(again.find("y")) == TensorInfo{ElementType::float32, {dynamic, 3}});
  CHECK(again.tensor(again.find("w")).data.size() == 48);
  REQUIRE(again.find("w_1") != no_tensor);
  float value = 0;
  std::memcpy(&value, again.tensor(again.find("w_1")).data.span().data(), 4);
  CHECK(value == 1);
  CHECK(saved(g) == saved(g));
  CHECK(g.tensor(w.id).data.size() == 0);
}

TEST_CASE("save: attributes of every kind, a tensor of one element") {
  Graph g;
  const auto x = input<float, Shape<2, 3>>(g, "x");
  output(g, op::transpose(x, {.perm = {1, 0}}), "t");
  output(g, op::cast(x, {.to = ElementType::int32}), "c");
  const AnyTensor shape = constant(g, {2, 2});
  output(g, op::constant_of_shape(shape, {.value_type = ElementType::int64, .value_bits = -5}),
         "k");
  const Graph again = loaded(saved(g));
  CHECK(again.info(again.find("t")).shape == Dims{3, 2});
  CHECK(again.info(again.find("c")).type == ElementType::int32);
  CHECK(again.info(again.find("k")) == TensorInfo{ElementType::int64, {2, 2}});
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    CHECK(again.nodes[i].attributes == g.nodes[i].attributes);
  }
}

TEST_CASE("save: large weights in a data file") {
  const test::Folder folder;
  const Graph g = rich();
  onnx::save(g, folder / "m.onnx", {.data_file = "m.weights"});
  CHECK(fs::file_size(folder / "m.weights") == 8000);
  CHECK(fs::file_size(folder / "m.onnx") < 2000);
  CHECK(folder.files().size() == 2);
  const Graph again = onnx::load(folder / "m.onnx");
  CHECK(saved(again) == saved(g));
  // Saving over the files that the graph's weights are mapped from.
  onnx::save(again, folder / "m.onnx", {.data_file = "m.weights"});
  CHECK(saved(onnx::load(folder / "m.onnx")) == saved(g));
  onnx::save(again, folder / "n.onnx", {.data_file = "n.weights", .data_file_from = 10000});
  CHECK(fs::file_size(folder / "n.weights") == 0);
  for (const char* name : {"a/b", "..", "/tmp/x"}) {
    CHECK_THROWS_AS(onnx::save(g, folder / "m.onnx", {.data_file = name}), UsageError);
  }
}

TEST_CASE("save: the old file or the new one, never half") {
  const test::Folder folder;
  const Graph g = rich();
  onnx::save(g, folder / "m.onnx");
  CHECK(read(folder / "m.onnx") == saved(g));
  CHECK(folder.files().size() == 1);

  // A graph that cannot be written leaves the old file and no other.
  Graph broken = g;
  broken.tensor(broken.find("w")).data = Bytes(std::vector<std::byte>(3));
  CHECK_THROWS_AS(onnx::save(broken, folder / "m.onnx"), InternalError);
  CHECK(read(folder / "m.onnx") == saved(g));
  CHECK(folder.files().size() == 1);

  CHECK_THROWS_AS(onnx::save(g, folder / "absent/m.onnx"), IoError);
  CHECK_THROWS_AS(onnx::save(g, folder.path.string()), IoError);
  // No space: the device says so at the first byte.
  CHECK_THROWS_AS(onnx::save(g, "/dev/full"), IoError);

  // Mode and links stay.
  ::chmod((folder / "m.onnx").c_str(), 0640);
  fs::create_symlink("m.onnx", folder / "link.onnx");
  onnx::save(g, folder / "link.onnx");
  CHECK(fs::is_symlink(folder / "link.onnx"));
  CHECK((fs::status(folder / "m.onnx").permissions() & fs::perms::all) ==
        (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
  CHECK(read(folder / "m.onnx") == saved(g));
}

TEST_CASE("save: names that are made up take none away") {
  Graph g;
  const auto x = input<float, Shape<2>>(g, "t1");
  const auto y = op::relu(op::neg(op::abs(x)));
  output(g, y, "t2");
  const Graph again = loaded(saved(g));
  CHECK(again.find("t1") == again.inputs[0]);
  CHECK(again.find("t2") == again.outputs[0]);
  CHECK(again.nodes.size() == 3);
}

}  // namespace test
