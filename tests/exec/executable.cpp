// Models made ready to run, in files.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>

#include <halftone/exec/executable.hpp>
#include <halftone/halftone.hpp>
#include <halftone/program/program.hpp>

#include "error_of.hpp"
#include "folder.hpp"
#include "networks.hpp"

using namespace halftone;

namespace {

Graph with_weights(Graph graph) {
  std::mt19937 random(1);
  for (TensorRecord& t : graph.tensors) {
    if (t.role != Role::variable) continue;
    t.initial = {Initial::Rule::normal, 0, 0.1f};
  }
  return graph;
}

std::vector<std::string> results(Engine& engine, int runs = 2) {
  std::vector<std::string> list;
  std::vector<AnyArray> inputs;
  for (const TensorId id : engine.graph().inputs) {
    AnyArray& x = inputs.emplace_back(engine.graph().info(id));
    for (std::size_t i = 0; i < x.values<float>().size(); ++i) {
      x.values<float>()[i] = static_cast<float>(i % 17) / 17;
    }
  }
  const std::vector<AnyView> views(inputs.begin(), inputs.end());
  for (int run = 0; run < runs; ++run) {
    engine.run(views);
    for (std::size_t o = 0; o < engine.graph().outputs.size(); ++o) {
      const AnyView y = engine.output(o);
      list.emplace_back(static_cast<const char*>(y.data), y.bytes());
    }
  }
  return list;
}

}  // namespace

TEST_CASE("executable: a file runs as the model that it was made of, bit for bit") {
  const test::Folder folder;
  const std::string path = folder / "model.htx";
  for (const Graph& model : {with_weights(test::lenet()), with_weights(test::encoder_layer())}) {
    Engine direct(model);
    save_executable(compile(model), path);
    Engine loaded(load_executable(path));
    CHECK(loaded.program() != nullptr);
    CHECK(hash(*loaded.program()) == hash(*direct.program()));
    CHECK(results(loaded) == results(direct));
  }
}

TEST_CASE("executable: shapes that follow from values are found by a file as well") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {6, 4});
  const AnyTensor sums = op::sum(x, constant(g, Dims{1}), {.keepdims = 0});
  const AnyTensor rows = op::squeeze(op::nonzero(op::relu(sums)), constant(g, Dims{0}));
  const AnyTensor w = parameter<float, Shape<4, 5>>(g, "w");
  output(g, op::matmul(op::gather(op::exp(x), rows, {.axis = 0}), w), "y");
  const test::Folder folder;
  const std::string path = folder / "rows.htx";
  save_executable(compile(g), path);
  Engine direct(g), loaded(load_executable(path));
  for (int zeros = 0; zeros <= 6; ++zeros) {
    Array<float> values({6, 4});
    for (std::size_t i = static_cast<std::size_t>(4 * zeros); i < 24; ++i) values[i] = 1;
    const std::vector<AnyView> in{values};
    direct.run(in);
    loaded.run(in);
    const AnyView expected = direct.output(0), found = loaded.output(0);
    CHECK(expected.info.shape == Dims{6 - zeros, 5});
    REQUIRE(found.info == expected.info);
    CHECK(std::memcmp(found.data, expected.data, expected.bytes()) == 0);
  }
}

TEST_CASE("executable: a training step goes on from a file") {
  Graph g;
  const auto x = input<float, Shape<4, 3>>(g, "x");
  const auto error = op::matmul(x, parameter<float, Shape<3, 2>>(g, "w")) - 1.f;
  const auto loss = op::mean(error * error);
  train(g, loss, Adam{.learning_rate = variable{0.1f}});
  g.outputs = {loss.id};
  const test::Folder folder;
  const std::string path = folder / "step.htx";
  save_executable(compile(g), path);
  Engine direct(g), loaded(load_executable(path));
  CHECK(results(loaded, 5) == results(direct, 5));
}

TEST_CASE("executable: variables that runs change go on in the engine's own memory") {
  Graph g;
  auto count = parameter<float, Shape<3>>(g, "count", std::vector<float>{1, 2, 3});
  auto x = input<float, Shape<3>>(g, "x");
  output(g, AnyTensor(op::copy_var_update(AnyTensor(count), op::add(AnyTensor(count), x))), "y");
  const test::Folder folder;
  const std::string path = folder / "count.htx";
  save_executable(compile(g), path);
  Engine direct(g), loaded(load_executable(path));
  CHECK(results(loaded, 3) == results(direct, 3));
  Engine again(load_executable(path));  // the file has not changed
  CHECK(results(again, 1) == results(loaded = Engine(load_executable(path)), 1));
}

TEST_CASE("executable: variables that start with the same bytes stay two") {
  constexpr std::size_t bytes = 12;
  const Storage storage = Storage::allocate(bytes);
  Graph g;
  const TensorInfo info{ElementType::float32, {3}};
  const AnyTensor a{&g, g.add_variable(info, Bytes(storage, storage.data(), bytes), "a")};
  const AnyTensor b{&g, g.add_variable(info, Bytes(storage, storage.data(), bytes), "b")};
  const AnyTensor x = g.input<float>("x", {3});
  g.add_output(op::copy_var_update(a, op::add(a, x)).id);
  g.add_output(op::copy_var_update(b, op::sub(b, x)).id);
  const test::Folder folder;
  save_executable(compile(g), folder / "two.htx");
  Engine direct(g), loaded(load_executable(folder / "two.htx"));
  CHECK(results(loaded, 3) == results(direct, 3));
  // What is ready in one engine becomes another's, whose variables go on by themselves.
  Engine other(direct.executable());
  CHECK(results(other, 2) == results(direct, 2));
  CHECK(results(other, 2) == results(direct, 2));
}

TEST_CASE("executable: loops, branches and shapes that follow from values") {
  const test::Folder folder;
  const std::string path = folder / "model.htx";
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 3});
  const AnyTensor places = op::nonzero(op::relu(x));
  g.add_output(op::cast(places, {.to = ElementType::float32}).id);
  g.add_output(op::tanh(x).id);
  save_executable(compile(g), path);
  Engine direct(g), loaded(load_executable(path));
  CHECK(results(loaded) == results(direct));
}

TEST_CASE("executable: sequences and optional values") {
  const test::Folder folder;
  const std::string path = folder / "model.htx";
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 3});
  const TensorInfo unknown[]{{}};
  const auto record = [&](const auto& op, std::vector<TensorId> inputs) {
    return g.nodes[add_node(g, op, std::move(inputs), unknown)].outputs[0];
  };
  // The number of items follows from values: the sequence stays one.
  const AnyTensor count = op::cast(op::sum(x, {.keepdims = 0}), {.to = ElementType::int64});
  const TensorId items = record(op::SequenceConstruct{}, {x.id, op::tanh(x).id});
  const TensorId place = op::sub(count, count).id;
  const TensorId fewer = record(op::SequenceErase{}, {items, place});
  g.add_output(record(op::ConcatFromSequence{.axis = 0}, {fewer}));
  g.add_output(record(op::OptionalGetElement{}, {record(op::MakeOptional{}, {x.id})}));
  save_executable(compile(g), path);
  Engine direct(g), loaded(load_executable(path));
  CHECK(results(loaded) == results(direct));
}

TEST_CASE("executable: a session takes it in a graph's place") {
  const test::Folder folder;
  const std::string path = folder / "model.htx";
  const Graph model = with_weights(test::lenet());
  save_executable(compile(model), path);
  const Array<float> image({1, 1, 28, 28});
  Session direct{Graph(model)}, loaded(load_executable(path));
  const auto logits = [&](Session& session) {
    const auto values = session.run({{"x", image}})[0].values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  CHECK(logits(loaded) == logits(direct));
  // Other outputs than it was compiled for: the model is planned again.
  const std::string_view hidden = "c1";
  Session other(load_executable(path), {.outputs = {hidden}});
  CHECK(other.run({{"x", image}})[0].info.shape == Dims{6, 1, 5, 5});
}

TEST_CASE("executable: what a machine's arithmetic made ready runs without it, too") {
  const Graph model = with_weights(test::lenet());
  Session rounded(Graph(model), {.device = Device::ipu_model,
                                 .ipu = {.arithmetic = {.floating_point_checks = true}}});
  const test::Folder folder;
  save_executable(rounded.executable(), folder / "model.htx");
  Engine direct(model), loaded(load_executable(folder / "model.htx"), {.fuse = true});
  const std::vector<std::string> found = results(loaded, 1), expected = results(direct, 1);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < 10; ++i) {  // fused products round elsewhere
    float x = 0, y = 0;
    std::memcpy(&x, found[0].data() + i * sizeof x, sizeof x);
    std::memcpy(&y, expected[0].data() + i * sizeof y, sizeof y);
    CHECK(x == doctest::Approx(y).epsilon(1e-4));
  }
}

TEST_CASE("executable: damaged weights are not stored under a new checksum") {
  const test::Folder folder;
  const std::string path = folder / "model.htx";
  save_executable(compile(with_weights(test::lenet())), path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-100, std::ios::end);
  file.put('x').put('y').put('z');
  file.close();
  const Executable damaged = load_executable(path);
  CHECK_THROWS_AS(save_executable(damaged, folder / "copy.htx"), ModelError);
}

TEST_CASE("executable: only a model whose shapes are known is compiled") {
  Graph g;
  g.add_output(op::relu(g.input<float>("x", {dynamic, 3})).id);
  CHECK_THROWS_AS(compile(g), UsageError);
}

TEST_CASE("executable: other files and other versions are refused with what to do") {
  const test::Folder folder;
  const std::string path = folder / "model.htx";
  const auto refusal = [&](std::string_view contents) {
    folder.write("model.htx", contents);
    return test::error_of([&] { static_cast<void>(load_executable(path)); });
  };
  const std::string foreign = refusal("#!/bin/sh");
  CHECK(foreign.find("no executable of this library") != std::string::npos);
  CHECK(foreign.find("halftone compile") != std::string::npos);
  CHECK(refusal("").find("no executable") != std::string::npos);

  save_executable(compile(test::lenet()), path);
  std::ifstream file(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  for (const std::size_t size : {8u, 60u, 200u, 4000u, 5000u}) {
    CHECK(refusal(whole.substr(0, size)).find("truncated") != std::string::npos);
  }
  std::string newer = whole;
  ++newer[8];
  CHECK(refusal(newer).find("another version") != std::string::npos);
  CHECK_THROWS_AS(load_executable(path), UnsupportedError);
}

TEST_CASE("executable: 10,000 random damages end in a typed error by the first run") {
  const test::Folder folder;
  const std::string path = folder / "model.htx";
  save_executable(compile(with_weights(test::encoder_layer())), path);
  std::string whole;
  {
    std::ifstream file(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  Engine first(load_executable(path));
  const auto expected = results(first, 1);
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 10000; ++round) {
    CAPTURE(round);
    std::string damaged = whole;
    const int kind = static_cast<int>(random() % 3);
    const std::size_t at = random() % whole.size();
    if (kind == 0) {
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    } else if (kind == 1) {
      damaged.resize(at);
    } else {
      const std::size_t end = std::min(whole.size(), at + 1 + random() % 64);
      for (std::size_t i = at; i < end; ++i) damaged[i] = static_cast<char>(random());
    }
    folder.write("model.htx", damaged);
    try {
      Engine engine(load_executable(path));
      const auto found = results(engine, 1);
      REQUIRE(damaged == whole);  // what was written may be what was there
      REQUIRE(found == expected);
    } catch (const Error& error) {
      REQUIRE((error.kind() == ErrorKind::model || error.kind() == ErrorKind::unsupported));
      ++refused;
    }
  }
  CHECK(refused > 9900);
}
