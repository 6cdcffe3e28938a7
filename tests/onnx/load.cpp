#include <doctest/doctest.h>

#include <halftone/op/list.hpp>

#include "model_bytes.hpp"

// In here its own names hide the library's.
namespace test {

using namespace halftone;

namespace {

/// x [2, 3] -> Relu -> y
GraphParts relu() {
  return {.nodes = {node("Relu", {"x"}, {"y"}, {.name = "n"})},
          .inputs = {value("x", float32, {2, 3})},
          .outputs = {value("y", float32, {2, 3})}};
}

template <class T>
std::vector<T> values(const Graph& g, std::string_view name) {
  const std::span<const std::byte> data = g.tensor(g.find(name)).data.span();
  std::vector<T> result(data.size() / sizeof(T));
  std::memcpy(result.data(), data.data(), data.size());
  return result;
}

const TensorInfo& info(const Graph& g, std::string_view name) { return g.info(g.find(name)); }

}  // namespace

TEST_CASE("load: a model becomes nodes, tensors and names") {
  const Graph g = loaded(model(relu()));
  REQUIRE(g.nodes.size() == 1);
  CHECK(g.nodes[0].op->id.name == "Relu");
  CHECK(g.name(g.nodes[0]) == "n");
  CHECK(g.text(g.graph_name) == "g");
  REQUIRE(g.inputs.size() == 1);
  REQUIRE(g.outputs.size() == 1);
  CHECK(g.name(g.inputs[0]) == "x");
  CHECK(g.name(g.outputs[0]) == "y");
  CHECK(g.nodes[0].inputs == g.inputs);
  CHECK(g.nodes[0].outputs == g.outputs);
  CHECK(info(g, "x") == TensorInfo{ElementType::float32, {2, 3}});
  CHECK(info(g, "y") == TensorInfo{ElementType::float32, {2, 3}});
  CHECK(g.tensor(g.inputs[0]).role == Role::input);
  CHECK(g.tensor(g.outputs[0]).role == Role::value);
}

TEST_CASE("load: initializers are variables and constants, replaceable ones are listed") {
  const std::vector<std::int64_t> shape{6};
  const Graph g = loaded(model(
      {.nodes = {node("Mul", {"x", "w"}, {"a"}), node("Add", {"a", "b"}, {"c"}),
                 node("Reshape", {"c", "s"}, {"y"})},
       .initializers = {floats("w", {3}, {1, 2, 3}), floats("b", {}, {4}),
                        tensor("s", int64, {1}, shape)},
       .inputs = {value("x", float32, {2, 3}), value("w", float32, {3}), value("s", int64, {1})},
       .outputs = {value("y", float32, {6})}}));
  CHECK(g.tensor(g.find("w")).role == Role::variable);
  CHECK(g.tensor(g.find("b")).role == Role::variable);
  CHECK(g.tensor(g.find("s")).role == Role::constant);
  CHECK(values<float>(g, "w") == std::vector<float>{1, 2, 3});
  CHECK(values<std::int64_t>(g, "s") == shape);
  CHECK(g.inputs == std::vector<TensorId>{g.find("x")});
  CHECK(g.optional_inputs == std::vector<TensorId>{g.find("w"), g.find("s")});
  CHECK(info(g, "y") == TensorInfo{ElementType::float32, {6}});
}

TEST_CASE("load: an initializer that is an input may be replaced, shapes follow") {
  const std::vector<std::int64_t> shape{6};
  const std::string text =
      model({.nodes = {node("Reshape", {"x", "s"}, {"y"})},
             .initializers = {tensor("s", int64, {1}, shape), floats("w", {1}, {1})},
             .inputs = {value("x", float32, {2, 3}), value("s", int64, {1})},
             .outputs = {shapeless("y", float32)}});
  const Array<std::int64_t> other({1}, {-1});
  const Array<std::int64_t> longer({2}, {3, 2});
  const Graph g = loaded(text, {.values = {{"s", other}}});
  CHECK(values<std::int64_t>(g, "s") == std::vector<std::int64_t>{-1});
  CHECK(g.tensor(g.find("s")).role == Role::constant);
  CHECK(g.optional_inputs.empty());
  CHECK(info(g, "y").shape == Dims{6});
  CHECK(error_of(text, {.values = {{"s", longer}}}).kind() == ErrorKind::input);
  const std::string open = model({.nodes = {node("Reshape", {"x", "s"}, {"y"})},
                                  .initializers = {tensor("s", int64, {1}, shape)},
                                  .inputs = {value("x", float32, {2, 3}), value("s", int64, {"n"})},
                                  .outputs = {shapeless("y", float32)}});
  CHECK(info(loaded(open, {.values = {{"s", longer}}}), "y").shape == Dims{3, 2});
  CHECK(error_of(text, {.values = {{"w", other}}}).kind() == ErrorKind::usage);
  CHECK(error_of(text, {.values = {{"x", other}}}).kind() == ErrorKind::usage);
}

TEST_CASE("load: symbols stay, or take a size; shapes may come from the caller") {
  const std::string text =
      model({.nodes = {node("Add", {"x", "z"}, {"y"})},
             .inputs = {value("x", float32, {"batch", 3}), value("z", float32, {"batch", ""})},
             .outputs = {value("y", float32, {"batch", "n"})}});
  const Graph open = loaded(text);
  CHECK(info(open, "x") == TensorInfo{ElementType::float32, {dynamic, 3}});
  CHECK(info(open, "z") == TensorInfo{ElementType::float32, {dynamic, dynamic}});
  REQUIRE(open.symbols.size() == 2);
  CHECK(open.text(open.symbols[0].name) == "batch");
  CHECK(open.symbols[0].tensor == open.find("x"));
  CHECK(open.symbols[1].tensor == open.find("z"));
  CHECK(open.symbols[1].axis == 0);

  const Graph sized = loaded(text, {.sizes = {{"batch", 32}, {"n", 3}}});
  CHECK(info(sized, "x") == TensorInfo{ElementType::float32, {32, 3}});
  CHECK(info(sized, "z") == TensorInfo{ElementType::float32, {32, dynamic}});
  CHECK(info(sized, "y") == TensorInfo{ElementType::float32, {32, 3}});
  CHECK(sized.symbols.empty());

  const TensorInfo given{ElementType::float32, {5, 3}};
  const Graph shaped = loaded(text, {.inputs = {{"z", given}}});
  CHECK(info(shaped, "z") == given);
  CHECK(info(shaped, "y") == given);

  CHECK(error_of(text, {.sizes = {{"bach", 32}}}).kind() == ErrorKind::usage);
  CHECK(error_of(text, {.sizes = {{"batch", -2}}}).kind() == ErrorKind::usage);
  CHECK(error_of(text, {.inputs = {{"nobody", given}}}).kind() == ErrorKind::usage);
  CHECK(error_of(text, {.inputs = {{"x", {ElementType::float32, {5, 4}}}}}).kind() ==
        ErrorKind::input);
}

TEST_CASE("load: an input without a shape is unknown unless the caller gives it") {
  const std::string text = model({.nodes = {node("Relu", {"x"}, {"y"})},
                                  .inputs = {shapeless("x", float32)},
                                  .outputs = {shapeless("y", float32)}});
  const Graph open = loaded(text);
  CHECK_FALSE(info(open, "x").is_known());
  CHECK(open.tensor(open.find("x")).stated_type == ElementType::float32);
  const Graph again = onnx::load(onnx::to_bytes(open));
  CHECK(again.tensor(again.find("x")).stated_type == ElementType::float32);
  CHECK(error_of(text, {.inputs = {{"x", {ElementType::int64, {4}}}}}).kind() == ErrorKind::input);
  const TensorInfo given{ElementType::float32, {4}};
  CHECK(info(loaded(text, {.inputs = {{"x", given}}}), "y") == given);
}

TEST_CASE("load: int64 stays int64") {
  const Graph g = loaded(model({.nodes = {node("Add", {"x", "x"}, {"y"})},
                                .inputs = {value("x", int64, {2})},
                                .outputs = {value("y", int64, {2})}}));
  CHECK(info(g, "y").type == ElementType::int64);
}

TEST_CASE("load: constants of every kind") {
  const Message t = floats("", {2}, {5, 6});
  Message list = attribute("value_floats", 6);
  list.real(7, 1.5f).real(7, 2.5f);
  const Graph g = loaded(model(
      {.nodes = {node("Constant", {}, {"a"}, {.attributes = {tensor_attribute("value", t)}}),
                 node("Constant", {}, {"b"}, {.attributes = {real("value_float", 7)}}),
                 node("Constant", {}, {"c"}, {.attributes = {list}}),
                 node("Constant", {}, {"d"}, {.attributes = {integer("value_int", -3)}}),
                 node("Constant", {}, {"e"}, {.attributes = {integers("value_ints", {4, -5})}}),
                 node("Add", {"a", "c"}, {"y"})},
       .outputs = {value("y", float32, {2})}}));
  CHECK(g.nodes.size() == 1);
  CHECK(values<float>(g, "a") == std::vector<float>{5, 6});
  CHECK(info(g, "b") == TensorInfo{ElementType::float32, {}});
  CHECK(values<float>(g, "b") == std::vector<float>{7});
  CHECK(values<float>(g, "c") == std::vector<float>{1.5f, 2.5f});
  CHECK(info(g, "d") == TensorInfo{ElementType::int64, {}});
  CHECK(values<std::int64_t>(g, "d") == std::vector<std::int64_t>{-3});
  CHECK(info(g, "e") == TensorInfo{ElementType::int64, {2}});
  CHECK(values<std::int64_t>(g, "e") == std::vector<std::int64_t>{4, -5});
  CHECK(g.tensor(g.find("a")).role == Role::constant);

  auto broken = [](const Message& a) {
    return error_of(model({.nodes = {node("Constant", {}, {"y"}, {.attributes = {a}})},
                           .outputs = {value("y", float32, {})}}))
        .kind();
  };
  CHECK(broken(text("value_string", "x")) == ErrorKind::model);  // y is stated as float
  CHECK(broken(attribute("sparse_value", 11)) == ErrorKind::model);
  CHECK(broken(integer("value", 1)) == ErrorKind::model);
  CHECK(broken(integer("valve", 1)) == ErrorKind::model);
}

TEST_CASE("load: a tensor as attribute of one element") {
  const std::vector<std::int64_t> shape{2, 3}, seven{7};
  const Graph g = loaded(model(
      {.nodes = {node("ConstantOfShape", {"s"}, {"y"},
                      {.attributes = {tensor_attribute("value", tensor("", int64, {1}, seven))}})},
       .initializers = {tensor("s", int64, {2}, shape)},
       .outputs = {value("y", int64, {2, 3})}}));
  CHECK(info(g, "y") == TensorInfo{ElementType::int64, {2, 3}});
  CHECK(error_of(model({.nodes = {node("ConstantOfShape", {"s"}, {"y"},
                                       {.attributes = {tensor_attribute(
                                            "value", tensor("", int64, {2}, shape))}})},
                        .initializers = {tensor("s", int64, {2}, shape)},
                        .outputs = {value("y", int64, {2, 3})}}))
            .kind() == ErrorKind::model);
}

TEST_CASE("load: versions of the format and of operator sets") {
  for (std::int64_t ir = -1; ir <= 16; ++ir) {
    CAPTURE(ir);
    const ErrorKind kind = error_of(model(relu(), {.ir = ir})).kind();
    if (ir >= 3 && ir <= 14) {
      CHECK(kind == ErrorKind::internal);  // loaded
    } else {
      CHECK(kind == (ir == 0 ? ErrorKind::model : ErrorKind::unsupported));
    }
  }
  for (std::int64_t version = 6; version <= 28; ++version) {
    CAPTURE(version);
    CHECK(error_of(model(relu(), {.opset = version})).reason() == "loaded");
  }
  CHECK(error_of(model(relu(), {.opset = 29})).kind() == ErrorKind::unsupported);
  CHECK(contains(error_of(model(relu(), {.opset = 29})).line(), "29"));
  CHECK(error_of(model(relu(), {.opset = 0})).kind() == ErrorKind::model);
  CHECK(error_of(model(relu(), {.opset = -7})).kind() == ErrorKind::model);
  CHECK(error_of(model(relu(), {.opset = INT64_MAX})).kind() == ErrorKind::unsupported);
  // The default domain has two spellings, one version.
  CHECK(error_of(model(relu(), {.opset = 13, .opsets = {opset(13, "ai.onnx")}})).reason() ==
        "loaded");
  CHECK(error_of(model(relu(), {.opset = 13, .opsets = {opset(12, "ai.onnx")}})).kind() ==
        ErrorKind::model);
}

TEST_CASE("load: graphs in several parts are one, as protocol buffers say") {
  const GraphParts whole = relu();
  const std::string text = Message()
                               .integer(1, 8)
                               .message(7, graph({.inputs = whole.inputs}))
                               .message(8, opset(13))
                               .message(7, graph({.nodes = whole.nodes, .outputs = whole.outputs}))
                               .bytes();
  CHECK(loaded(text).nodes.size() == 1);
}

TEST_CASE("load: unknown fields are skipped, whatever their kind") {
  Message m;
  m.raw(model(relu()));
  m.integer(900, 1).text(901, "x").real(902, 1);
  m.varint(903 << 3 | 1).raw(std::string(8, 'x'));            // 64 bits
  m.varint(904 << 3 | 3).integer(1, 2).varint(905 << 3 | 3);  // groups
  m.text(1, "in").varint(905 << 3 | 4).varint(904 << 3 | 4);
  CHECK(loaded(m.bytes()).nodes.size() == 1);
}

TEST_CASE("load: attributes take their values, wrong ones are named") {
  auto with = [](std::vector<Message> attributes) {
    return model({.nodes = {node("Transpose", {"x"}, {"y"}, {.attributes = std::move(attributes)})},
                  .inputs = {value("x", float32, {2, 3})},
                  .outputs = {shapeless("y", float32)}});
  };
  CHECK(info(loaded(with({integers("perm", {1, 0})})), "y").shape == Dims{3, 2});
  Message packed = attribute("perm", 7);
  packed.text(8, Message().varint(0).varint(1).bytes());
  CHECK(info(loaded(with({packed})), "y").shape == Dims{2, 3});
  // Old files do not state the type.
  CHECK(info(loaded(with({Message().text(1, "perm").integer(8, 1).integer(8, 0)})), "y").shape ==
        Dims{3, 2});
  // Names of tools begin with two underscores.
  CHECK(loaded(with({integers("perm", {1, 0}), text("__tool", "x")})).nodes.size() == 1);

  const Error type = error_of(with({integer("perm", 1)}));
  CHECK(type.kind() == ErrorKind::model);
  CHECK(contains(type.line(), "'perm'"));
  CHECK(type.expected() == "INTS");
  CHECK(type.found() == "INT");
  CHECK(error_of(with({integers("axes", {1, 0})})).kind() == ErrorKind::model);
  CHECK(contains(error_of(with({integers("axes", {1, 0})})).line(), "'axes'"));
  CHECK(error_of(with({integers("perm", {0, 1}), integers("perm", {1, 0})})).kind() ==
        ErrorKind::model);
  CHECK(error_of(with({integers("perm", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})})).kind() ==
        ErrorKind::model);
  CHECK(error_of(with({reference("perm", 7, "p")})).kind() == ErrorKind::model);
  // Concat must have an axis.
  const Error missing = error_of(model({.nodes = {node("Concat", {"x", "x"}, {"y"})},
                                        .inputs = {value("x", float32, {2, 3})},
                                        .outputs = {shapeless("y", float32)}}));
  CHECK(missing.kind() == ErrorKind::model);
  CHECK(contains(missing.line(), "'axis' is missing"));
}

TEST_CASE("load: all operators that are not offered are named, with their nodes") {
  const Error error =
      error_of(model({.nodes = {node("Frobnicate", {"x"}, {"a"}, {.name = "first"}),
                                node("Relu", {"a"}, {"b"}), node("Frobnicate", {"b"}, {"c"}),
                                node("Twist", {"c"}, {"y"}, {.name = "third", .domain = "acme"})},
                      .inputs = {value("x", float32, {2})},
                      .outputs = {value("y", float32, {2})}},
                     {.opsets = {opset(3, "acme")}}));
  CHECK(error.kind() == ErrorKind::unsupported);
  CHECK(contains(error.what(), "2 operators are not offered"));
  CHECK(contains(error.what(), "ai.onnx Frobnicate 13"));
  CHECK(contains(error.what(), "'first', of 'c'"));
  CHECK(contains(error.what(), "acme Twist 3"));
  CHECK(contains(error.line(), "'third'"));
  CHECK_THROWS_AS(loaded(model({.nodes = {node("Frobnicate", {"x"}, {"y"})},
                                .inputs = {value("x", float32, {2})},
                                .outputs = {value("y", float32, {2})}})),
                  UnsupportedError);
}

TEST_CASE("load: why images are not decoded is said") {
  const Error error = error_of(model({.nodes = {node("ImageDecoder", {"x"}, {"y"})},
                                      .inputs = {value("x", int32, {9})},
                                      .outputs = {shapeless("y", int32)}},
                                     {.ir = 9, .opset = 20}));
  CHECK(error.kind() == ErrorKind::unsupported);
  CHECK(contains(error.what(), "ai.onnx ImageDecoder 20 (files of images are not decoded here"));
}

namespace {
/// Celu as it was before operator set 28.
struct OldCelu {
  static constexpr OpId id{"ai.onnx", "Celu", 12};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return x; }
};
}  // namespace

TEST_CASE("load: a meaning that changed is not taken for the old one") {
  auto kind = [](std::int64_t version) {
    return error_of(model({.nodes = {node("Celu", {"x"}, {"y"})},
                           .inputs = {value("x", float32, {2})},
                           .outputs = {shapeless("y", float32)}},
                          {.ir = 10, .opset = version}),
                    {.operators = Registry<OldCelu>::table})
        .kind();
  };
  CHECK(kind(27) == ErrorKind::internal);  // loaded
  CHECK(kind(28) == ErrorKind::unsupported);
}

namespace {
/// y = factor * x, of an extension.
struct Scale {
  float factor = 1;
  std::int32_t small = 3;
  Text label = "none";
  enum class Mode : std::uint8_t { plain, loud } mode = Mode::plain;
  static constexpr std::string_view mode_names[] = {"plain", "loud"};
  friend constexpr std::span<const std::string_view> names_of(Mode) { return mode_names; }
  static constexpr OpId id{"acme", "Scale", 2};
  static constexpr Signature signature = "x bias? -> y";
  constexpr void attributes(auto&& visit) {
    visit("factor", factor);
    visit("small", small);
    visit("label", label);
    visit("mode", mode);
  }
  static constexpr Inferred infer(const Inputs& in) { return in[0]; }
  template <class T>
  void kernel(View<const T>, View<const T>, View<T>) const {}
};
/// Its first version, which took the factor from its input.
struct Scale_1 {
  static constexpr OpId id{"acme", "Scale", 1};
  static constexpr Signature signature = "x -> y";
  static AnyTensor expand(AnyTensor x) { return apply<Scale{.factor = 2}>(x); }
};
using Extended = builtin::with<Scale, Scale_1>;

std::string scale_model(std::vector<Message> attributes, std::int64_t version) {
  return model(
      {.nodes = {node("Scale", {"x"}, {"y"},
                      {.name = "s", .domain = "acme", .attributes = std::move(attributes)})},
       .inputs = {value("x", float32, {2})},
       .outputs = {value("y", float32, {2})}},
      {.opsets = {opset(version, "acme")}});
}
}  // namespace

TEST_CASE("load: operators of an extension, and older meanings through newer ones") {
  const onnx::LoadOptions options{.operators = Extended::table};
  CHECK(error_of(scale_model({}, 2)).kind() == ErrorKind::unsupported);
  const Graph g = loaded(
      scale_model(
          {real("factor", 3), integer("small", -7), text("label", "l"), text("mode", "loud")}, 2),
      options);
  const auto scale = unpack<Scale>(g.nodes[0].attributes);
  CHECK(scale.factor == 3);
  CHECK(scale.small == -7);
  CHECK(scale.label.view() == "l");
  CHECK(scale.mode == Scale::Mode::loud);

  const Graph old = loaded(scale_model({}, 1), options);
  REQUIRE(old.nodes.size() == 1);
  CHECK(old.nodes[0].op->id == Scale::id);
  CHECK(unpack<Scale>(old.nodes[0].attributes).factor == 2);
  CHECK(old.name(old.nodes[0]) == "s");
  CHECK(old.outputs == std::vector<TensorId>{old.find("y")});

  auto defect = [&](const Message& a) { return error_of(scale_model({a}, 2), options); };
  CHECK(contains(defect(integer("small", 1'000'000'000'000)).line(), "'small' is out of range"));
  CHECK(contains(defect(text("label", std::string(64, 'x'))).line(), "'label' is too long"));
  CHECK(contains(defect(text("label", std::string_view("a\0b", 3))).line(), "zero byte"));
  CHECK(contains(defect(text("mode", "shy")).line(), "plain, loud"));
  CHECK(error_of(scale_model({real("factor", 3)}, 1), options).kind() == ErrorKind::model);
  // The model must say which version it means.
  CHECK(error_of(model({.nodes = {node("Scale", {"x"}, {"y"}, {.domain = "acme"})},
                        .inputs = {value("x", float32, {2})},
                        .outputs = {value("y", float32, {2})}}),
                 options)
            .kind() == ErrorKind::model);
}

TEST_CASE("load: operators that are recorded for any number of inputs") {
  auto of = [](Names inputs) {
    return model({.nodes = {node("Max", inputs, {"y"}, {.name = "m"})},
                  .inputs = {value("x", float32, {2}), value("z", float32, {2})},
                  .outputs = {value("y", float32, {2})}});
  };
  CHECK(loaded(of({"x", "z", "x"})).nodes.size() == 2);
  const Graph one = loaded(of({"x"}));
  CHECK(one.name(one.outputs[0]) == "y");
  CHECK(error_of(of({})).kind() == ErrorKind::model);
  CHECK(error_of(of({"x", "", "z"})).kind() == ErrorKind::model);
}

TEST_CASE("load: what passes make for the executor is no operator of models") {
  CHECK(error_of(model({.nodes = {node("Fused", {"x"}, {"y"},
                                       {.domain = "halftone",
                                        .attributes = {graph_attribute("body", graph(relu()))}})},
                        .inputs = {value("x", float32, {2})},
                        .outputs = {value("y", float32, {2})}},
                       {.opsets = {opset(1, "halftone")}}))
            .kind() == ErrorKind::unsupported);
}

}  // namespace test
