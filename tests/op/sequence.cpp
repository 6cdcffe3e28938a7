// Sequences and optional values, by ONNX's definitions of the operators.
#include <doctest/doctest.h>

#include <optional>

#include <halftone/session/session.hpp>

#include "../onnx/model_bytes.hpp"

namespace test {

using namespace halftone;

namespace {

Message sequence_value(std::string_view name, int element) {
  const Message tensor = Message().message(1, Message().integer(1, element));
  return Message().text(1, name).message(2, Message().message(4, Message().message(1, tensor)));
}

const ElementType floats_sequence = sequence_of(ElementType::float32);

std::vector<float> values(const AnyView& view) {
  const auto list = view.values<float>();
  return {list.begin(), list.end()};
}

/// Three vectors go in as a sequence and y comes out.
struct Run {
  explicit Run(std::vector<Message> nodes, std::vector<Message> initializers = {})
      : session(loaded(model({.nodes = std::move(nodes),
                              .initializers = std::move(initializers),
                              .inputs = {value("a", float32, {2}), value("b", float32, {2})},
                              .outputs = {shapeless("y", float32)}},
                             {.opset = 17}))) {}
  AnyView operator()() {
    const Array<float> a({2}, {1, 2}), b({2}, {3, 4});
    result.emplace(session.run({{"a", a}, {"b", b}}));
    return (*result)[0];
  }
  Session session;
  std::optional<Result> result;
};

const Message pair = node("SequenceConstruct", {"a", "b"}, {"s"});

Message position(std::string_view name, std::int64_t at) {
  return tensor(name, int64, {}, std::vector<std::int64_t>{at});
}

}  // namespace

TEST_CASE("sequence: items by position, from the front and from the end") {
  for (const auto& [at, expected] :
       {std::pair<std::int64_t, float>(0, 1), {1, 3}, {-1, 3}, {-2, 1}}) {
    Run run({pair, node("SequenceAt", {"s", "i"}, {"y"})}, {position("i", at)});
    CHECK(values(run())[0] == expected);
  }
  for (const std::int64_t at : {2, -3}) {
    Run run({pair, node("SequenceAt", {"s", "i"}, {"y"}, {.name = "take"})}, {position("i", at)});
    try {
      run();
      FAIL("a position outside the sequence");
    } catch (const InputError& error) {
      CHECK(contains(error.line(), "take"));
      CHECK(contains(error.line(), "-2 to 1"));
    }
  }
}

TEST_CASE("sequence: insert, erase, length and concatenation") {
  Run inserted({pair, node("SequenceInsert", {"s", "a", "i"}, {"t"}),
                node("ConcatFromSequence", {"t"}, {"y"}, {.attributes = {integer("axis", 0)}})},
               {position("i", 1)});
  CHECK(values(inserted()) == std::vector<float>{1, 2, 1, 2, 3, 4});
  Run appended({pair, node("SequenceInsert", {"s", "a"}, {"t"}),
                node("ConcatFromSequence", {"t"}, {"y"},
                     {.attributes = {integer("axis", -1), integer("new_axis", 1)}})});
  CHECK(appended().info.shape == Dims{2, 3});
  CHECK(values(appended()) == std::vector<float>{1, 3, 1, 2, 4, 2});
  Run erased({pair, node("SequenceErase", {"s"}, {"t"}), node("SequenceLength", {"t"}, {"n"}),
              node("Cast", {"n"}, {"y"}, {.attributes = {integer("to", 1)}})});
  CHECK(values(erased()) == std::vector<float>{1});
  Run empty({node("SequenceEmpty", {}, {"s"}), node("SequenceErase", {"s"}, {"t"}),
             node("ConcatFromSequence", {"t"}, {"y"}, {.attributes = {integer("axis", 0)}})});
  CHECK_THROWS_AS(empty(), InputError);
}

TEST_CASE("sequence: pieces of a tensor") {
  // ONNX SplitToSequence: pieces of a length, the last one what is left; or of given lengths.
  Run odd({node("Concat", {"a", "b"}, {"x"}, {.attributes = {integer("axis", 0)}}),
           node("SplitToSequence", {"x", "n"}, {"s"}), node("SequenceAt", {"s", "i"}, {"y"})},
          {position("n", 3), position("i", 1)});
  CHECK(values(odd()) == std::vector<float>{4});
  Run given({node("Concat", {"a", "b"}, {"x"}, {.attributes = {integer("axis", 0)}}),
             node("SplitToSequence", {"x", "n"}, {"s"}), node("SequenceAt", {"s", "i"}, {"y"})},
            {tensor("n", int64, {3}, std::vector<std::int64_t>{1, 0, 3}), position("i", 2)});
  CHECK(values(given()) == std::vector<float>{2, 3, 4});
  Run scalars({node("SplitToSequence", {"a"}, {"s"}, {.attributes = {integer("keepdims", 0)}}),
               node("SequenceAt", {"s", "i"}, {"y"})},
              {position("i", 1)});
  CHECK(scalars().info.shape == Dims{});
  for (const std::vector<std::int64_t>& wrong :
       {std::vector<std::int64_t>{1, 2}, {5}, {-1, 3}, {INT64_MAX, INT64_MAX}}) {
    Run run(
        {node("SplitToSequence", {"a", "n"}, {"s"}), node("SequenceAt", {"s", "i"}, {"y"})},
        {tensor("n", int64, {static_cast<std::int64_t>(wrong.size())}, wrong), position("i", 0)});
    CHECK_THROWS_AS(run(), InputError);
  }
}

TEST_CASE("sequence: states of loops, outputs of branches, and inputs of the graph") {
  const Message body =
      graph({.nodes = {node("Identity", {"c"}, {"go"}), node("SequenceInsert", {"s", "a"}, {"t"})},
             .inputs = {value("i", int64, {}), value("c", 9, {}), sequence_value("s", float32)},
             .outputs = {value("go", 9, {}), sequence_value("t", float32)}});
  Run looped(
      {node("SequenceEmpty", {}, {"none"}),
       node("Loop", {"n", "", "none"}, {"all"}, {.attributes = {graph_attribute("body", body)}}),
       node("ConcatFromSequence", {"all"}, {"y"}, {.attributes = {integer("axis", 0)}})},
      {position("n", 3)});
  CHECK(values(looped()) == std::vector<float>{1, 2, 1, 2, 1, 2});

  Session session(loaded(model({.nodes = {node("SequenceInsert", {"s", "x"}, {"y"})},
                                .inputs = {sequence_value("s", float32), value("x", float32, {1})},
                                .outputs = {sequence_value("y", float32)}},
                               {.opset = 17})));
  const AnyArray empty(TensorInfo{floats_sequence, {}});
  AnyArray kept;
  {
    const Array<float> x({1}, {7});
    const Result first = session.run({{"s", empty}, {"x", x}});
    kept = AnyArray::copy_of(first[0]);
  }
  const Array<float> x({1}, {8});
  const Result second = session.run({{"s", kept}, {"x", x}});
  REQUIRE(second[0].sequence().size() == 2);
  CHECK(values(second[0].sequence().items()[0])[0] == 7);
  CHECK(values(second[0].sequence().items()[1])[0] == 8);
  const Array<float> wrong({1}, {0});
  CHECK_THROWS_AS(session.run({{"s", wrong}, {"x", x}}), InputError);
}

TEST_CASE("sequence: SequenceMap runs its body for every item") {
  const Message body = graph({.nodes = {node("Add", {"item", "b"}, {"sum"})},
                              .inputs = {value("item", float32, {2})},
                              .outputs = {value("sum", float32, {2})}});
  Run run({pair, node("SequenceMap", {"s"}, {"t"}, {.attributes = {graph_attribute("body", body)}}),
           node("ConcatFromSequence", {"t"}, {"y"}, {.attributes = {integer("axis", 0)}})});
  CHECK(values(run()) == std::vector<float>{4, 6, 6, 8});
}

TEST_CASE("optional: a value or nothing") {
  const Message float_type = Message().message(1, Message().integer(1, float32));
  const Message type = attribute("type", 13).message(14, float_type);
  Run has({node("Optional", {"a"}, {"o"}), node("OptionalGetElement", {"o"}, {"y"})});
  CHECK(values(has()) == std::vector<float>{1, 2});
  Run nothing({node("Optional", {}, {"o"}, {.attributes = {type}}),
               node("OptionalHasElement", {"o"}, {"h"}),
               node("Cast", {"h"}, {"y"}, {.attributes = {integer("to", 1)}})});
  CHECK(values(nothing()) == std::vector<float>{0});
  Run missing({node("Optional", {}, {"o"}, {.attributes = {type}}),
               node("OptionalGetElement", {"o"}, {"y"})});
  CHECK_THROWS_AS(missing(), InputError);
}

TEST_CASE("sequence: items of another type, and tensors where sequences are asked for") {
  auto kind = [](std::vector<Message> nodes) {
    return error_of(model({.nodes = std::move(nodes),
                           .inputs = {value("a", float32, {2}), value("k", int64, {2})},
                           .outputs = {shapeless("y", float32)}},
                          {.opset = 17}))
        .kind();
  };
  CHECK(kind({node("SequenceConstruct", {"a", "k"}, {"s"}),
              node("SequenceLength", {"s"}, {"y"})}) == ErrorKind::model);
  CHECK(kind({node("SequenceAt", {"a", "k"}, {"y"})}) == ErrorKind::model);
  CHECK(kind({node("ConcatFromSequence", {"a"}, {"y"}, {.attributes = {integer("axis", 0)}})}) ==
        ErrorKind::model);
  CHECK(kind({node("SequenceConstruct", {"a"}, {"s"}), node("SequenceInsert", {"s", "k"}, {"t"}),
              node("SequenceAt", {"t", "k"}, {"y"})}) == ErrorKind::model);
  CHECK(kind({node("SequenceConstruct", {"a"}, {"s"}), node("Relu", {"s"}, {"y"})}) ==
        ErrorKind::unsupported);
}

TEST_CASE("sequence: saved and loaded models give the same") {
  const Graph g = loaded(model({.nodes = {node("SequenceInsert", {"s", "x"}, {"y"})},
                                .inputs = {sequence_value("s", float32), value("x", float32, {1})},
                                .outputs = {sequence_value("y", float32)}},
                               {.opset = 17}));
  const Graph again = onnx::load(onnx::to_bytes(g));
  CHECK(again.info(again.inputs[0]).type == floats_sequence);
  CHECK(again.info(again.outputs[0]).type == floats_sequence);

  std::vector<AnyArray> items;
  items.push_back(Array<float>({2}, {1, 2}));
  const AnyArray sequence(floats_sequence, Sequence::make(std::move(items)));
  const onnx::NamedArray file =
      onnx::load_tensor(onnx::tensor_to_bytes("name", sequence), floats_sequence);
  CHECK(file.name() == "name");
  CHECK(values(AnyView(file).sequence().items()[0]) == std::vector<float>{1, 2});
  const std::string_view keys[] = {"k"};
  const ElementType map_type = value_type(ValueKind::string_map, ElementType::float32);
  const AnyArray map(map_type, Map::make(AnyArray(Dims{1}, keys), Array<float>({1}, {5})));
  const onnx::NamedArray map_file = onnx::load_tensor(onnx::tensor_to_bytes("", map), map_type);
  CHECK(AnyView(map_file).map().keys().values<String>()[0].view() == "k");
  CHECK(values(AnyView(map_file).map().values()) == std::vector<float>{5});
}

}  // namespace test
