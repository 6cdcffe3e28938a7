#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/train.hpp>

#include "../folder.hpp"

using namespace halftone;

// Batch normalization in a subgraph: running statistics are as if its nodes stood in the main
// graph, one pass after the other.
namespace {

constexpr std::int64_t batch = 4, channels = 3;
constexpr float momentum = 0.75f;
const TensorInfo data{ElementType::float32, {batch, channels}}, one_each{data.type, {channels}};
const TensorInfo truth{ElementType::boolean, {}};

TensorId normalize(Graph& graph, const std::vector<TensorId>& inputs) {
  return halftone::detail::record(graph, op::BatchNormalization{.momentum = momentum}, inputs,
                                  1)[0];
}

enum class Location { main, call, branch, other_branch, loop, loop_in_call, scan };

/// A body that gets x and the four parameters, after `more`, and gives f of them.
struct Body {
  Graph graph;
  std::vector<TensorId> inputs;

  explicit Body(const std::vector<TensorInfo>& more = {}) {
    for (const TensorInfo& info : more) graph.add_input(info, {});
    inputs = {graph.add_input(data, {})};
    for (int i = 0; i < 4; ++i) inputs.push_back(graph.add_input(one_each, {}));
  }
  Subgraph add_to(Graph& outer) {
    outer.graphs.push_back(std::move(graph));
    return {static_cast<std::int32_t>(outer.graphs.size()) - 1};
  }
};

/// inputs: x and the parameters; gives what is normalized, the last of `passes` times. As the
/// importer has it, what the body leaves as it is is no output of the node.
TensorId in_loop(Graph& graph, std::vector<TensorId> inputs, std::int64_t passes) {
  Body body({{ElementType::int64, {}}, truth});
  const TensorId y = normalize(body.graph, body.inputs);
  body.graph.outputs = body.inputs;
  body.graph.outputs.insert(body.graph.outputs.begin(), body.graph.inputs[1]);
  body.graph.add_output(y);
  body.graph.add_input(data, {});  // y of the pass before
  const Subgraph inner = body.add_to(graph);
  const std::int64_t most[] = {passes};
  inputs.insert(inputs.begin(), {constant<std::int64_t>(graph, most, {}).id, no_tensor});
  inputs.push_back(inputs[2]);
  const std::vector<TensorInfo> infos{data, one_each, one_each, one_each, one_each, data};
  Node& node = graph.nodes[graph.add_node(descriptor<op::Loop>, pack(op::Loop{.body = inner}),
                                          inputs, infos)];
  for (std::size_t i = 0; i < 5; ++i) node.outputs[i] = no_tensor;
  return node.outputs[5];
}

TensorId in_place(Graph& graph, Location place, std::vector<TensorId> inputs, std::int64_t passes) {
  const TensorInfo infos[] = {data};
  const auto add = [&](const auto& op) {
    const std::size_t n =
        graph.add_node(descriptor<std::remove_cvref_t<decltype(op)>>, pack(op), inputs, infos);
    return graph.nodes[n].outputs[0];
  };
  Body body;
  switch (place) {
    case Location::main:
      return normalize(graph, inputs);
    case Location::call:
      body.graph.outputs = {normalize(body.graph, body.inputs)};
      return add(op::Call{.callee = body.add_to(graph)});
    case Location::branch:
    case Location::other_branch: {
      Body other;
      body.graph.outputs = {normalize(body.graph, body.inputs)};
      other.graph.outputs = {op::mul(AnyTensor{&other.graph, other.inputs[0]},
                                     AnyTensor{&other.graph, other.inputs[1]})
                                 .id};
      const bool taken[] = {place == Location::branch};
      inputs.insert(inputs.begin(), constant<bool>(graph, taken, {}).id);
      const Subgraph yes = body.add_to(graph), no = other.add_to(graph);
      return add(op::If{.then_branch = yes, .else_branch = no});
    }
    case Location::loop:
      return in_loop(graph, inputs, passes);
    case Location::loop_in_call:
      body.graph.outputs = {in_loop(body.graph, body.inputs, passes)};
      return add(op::Call{.callee = body.add_to(graph)});
    case Location::scan: {
      // Parameters are states, slices come last.
      Graph scanned;
      std::vector<TensorId> own(5);
      for (std::size_t i = 1; i < 5; ++i) own[i] = scanned.add_input(one_each, {});
      own[0] = scanned.add_input(data, {});
      const TensorId y = normalize(scanned, own);
      scanned.outputs = {own[1], own[2], own[3], own[4], y};
      graph.graphs.push_back(std::move(scanned));
      const AnyTensor x{&graph, inputs[0]};
      Dims shape = data.shape;
      shape.insert(0, 1);
      const AnyTensor slice = op::reshape(x, constant(graph, shape));
      std::vector<AnyTensor> slices(static_cast<std::size_t>(passes), slice);
      inputs.erase(inputs.begin());
      inputs.push_back(op::concat(slices, {.axis = 0}).id);
      shape[0] = passes;
      const TensorInfo all[] = {one_each, one_each, one_each, one_each, {data.type, shape}};
      const std::size_t n =
          graph.add_node(descriptor<op::Scan>,
                         pack(op::Scan{.body = {static_cast<std::int32_t>(graph.graphs.size()) - 1},
                                       .num_scan_inputs = 1}),
                         inputs, all);
      return op::mean(AnyTensor{&graph, graph.nodes[n].outputs[4]}, constant(graph, Dims{0}),
                      {.keepdims = 0})
          .id;
    }
  }
  return no_tensor;
}

/// loss = sum of the square of what is normalized, times w.
Graph model(Location place, std::int64_t passes = 1) {
  Graph g;
  const AnyTensor x = g.input<float>("x", data.shape);
  const auto variable = [&](const char* name, float value) {
    return g.add_variable(one_each, Initial{Initial::Rule::fill, value, 0}, name);
  };
  const TensorId scale = variable("scale", 1.5f), bias = variable("bias", 0.25f);
  const TensorId mean = variable("mean", 0.5f), var = variable("var", 2);
  const AnyTensor w{&g, variable("w", 1)};
  const TensorId given = op::mul(x, w).id;
  const AnyTensor y{&g, in_place(g, place, {given, scale, bias, mean, var}, passes)};
  const AnyTensor target = g.input<float>("target", data.shape);
  output(g, op::mean((y - target) * (y - target), {.keepdims = 0}), "loss");
  return g;
}

Session trained(Graph g) {
  train(g, g["loss"], Sgd{.learning_rate = 0.05f, .momentum = 0.5f});
  return Session(std::move(g), {.outputs = {"loss"}});
}
Array<float> numbers(int step, float scale) {
  Array<float> x(data.shape);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = scale * std::sin(static_cast<float>(i * 5 + static_cast<std::size_t>(step) * 13));
  }
  return x;
}
void run(Session& session, int first, int last) {
  for (int step = first; step < last; ++step) {
    session.run({{"x", numbers(step, 3)}, {"target", numbers(step + 40, 1)}});
  }
}
std::vector<float> values(const Session& session, std::string_view name) {
  const auto v = session.get(name).values<float>();
  return {v.begin(), v.end()};
}
void check_same(const Session& a, const Session& b, double tolerance = 0) {
  for (const char* name : {"scale", "bias", "mean", "var", "w"}) {
    CAPTURE(name);
    const std::vector<float> x = values(a, name), y = values(b, name);
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(std::fabs(x[i] - y[i]) <= tolerance * std::fabs(y[i]));
    }
  }
}

}  // namespace

TEST_CASE("training batch normalization in a subgraph: as in the main graph") {
  Session plain = trained(model(Location::main));
  run(plain, 0, 5);
  CHECK(values(plain, "mean")[0] != 0.5f);
  for (const Location place :
       {Location::call, Location::branch, Location::loop, Location::loop_in_call, Location::scan}) {
    CAPTURE(static_cast<int>(place));
    Session session = trained(model(place));
    run(session, 0, 5);
    // A mean over one pass and sums in another order.
    check_same(session, plain, 1e-5);
  }
}

TEST_CASE("training batch normalization in a branch that is not taken changes no statistics") {
  Session session = trained(model(Location::other_branch));
  run(session, 0, 3);
  CHECK(values(session, "mean") == std::vector<float>(channels, 0.5f));
  CHECK(values(session, "var") == std::vector<float>(channels, 2));
  CHECK(values(session, "scale")[0] != 1.5f);
}

// running' = m * running + (1 - m) * that of the batch, in each of the n passes over the same
// batch: what the first running one has left of itself is m^n.
TEST_CASE("training batch normalization in a loop: every pass counts") {
  const int passes = 3;
  Graph start = model(Location::main);
  Session once = trained(std::move(start));
  run(once, 0, 1);
  const double kept = std::pow(double(momentum), passes);
  for (const Location place : {Location::loop, Location::loop_in_call, Location::scan}) {
    Session session = trained(model(place, passes));
    run(session, 0, 1);
    for (const auto& [name, first] : {std::pair{"mean", 0.5}, std::pair{"var", 2.}}) {
      const std::vector<float> all = values(session, name), one = values(once, name);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double of_batch = (one[i] - momentum * first) / (1 - momentum);
        CHECK(all[i] == doctest::Approx(kept * first + (1 - kept) * of_batch).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("training batch normalization in a subgraph: a model that is stored goes on") {
  for (const Location place : {Location::main, Location::call, Location::branch, Location::loop,
                               Location::loop_in_call, Location::scan}) {
    CAPTURE(static_cast<int>(place));
    Session whole = trained(model(place, 2));
    run(whole, 0, 4);
    Session first = trained(model(place, 2));
    run(first, 0, 2);
    // As a graph, and as a file.
    const Graph stored = model_of(first.graph());
    CHECK(stored.nodes.size() == model(place, 2).nodes.size());
    Session again = trained(stored);
    run(again, 2, 4);
    check_same(again, whole);
    const test::Folder folder;
    onnx::save(first.graph(), folder / "net.onnx");
    Session loaded = trained(onnx::load(folder / "net.onnx"));
    run(loaded, 2, 4);
    check_same(loaded, whole);
    // Without training nothing changes: the same numbers in every run.
    Session inference(stored, {.outputs = {"loss"}});
    const auto loss = [&] {
      return inference.run({{"x", numbers(1, 3)}, {"target", numbers(2, 1)}})[0].values<float>()[0];
    };
    CHECK(loss() == loss());
    CHECK(values(inference, "mean") == values(first, "mean"));
  }
}

TEST_CASE("training batch normalization in a subgraph: statistics are not trained") {
  Graph g = model(Location::call);
  const Training training = train(g, g["loss"], Sgd{});
  std::vector<std::string> names;
  for (const TensorId w : training.weights) names.emplace_back(g.name(w));
  CHECK(names == std::vector<std::string>{"scale", "bias", "w"});
}

TEST_CASE("training batch normalization in a subgraph: statistics that cannot leave it") {
  const auto error_of = [](Graph& g) -> std::string {
    try {
      train(g, g["loss"], Sgd{});
    } catch (const UnsupportedError& error) {
      return error.what();
    }
    return "no error";
  };
  Graph g = model(Location::call);
  Graph& body = g.graphs[0];
  body.rename(body.nodes[0], "norm");
  const TensorId mean = body.nodes[0].inputs[3];
  body.nodes[0].inputs[3] = op::mul(AnyTensor{&body, mean}, AnyTensor{&body, mean}).id;
  std::swap(body.nodes[0], body.nodes[1]);
  const std::string text = error_of(g);
  CHECK(text.find("running statistics cannot leave a subgraph") != text.npos);
  CHECK(text.find("'norm'") != text.npos);
  CHECK(text.find("Call") != text.npos);

  // Slices of statistics, one for each pass.
  Graph sliced;
  const AnyTensor x = sliced.input<float>("x", data.shape);
  const TensorInfo stacked{data.type, {2, channels}};
  Graph pass;
  std::vector<TensorId> own;
  own.push_back(pass.add_input(data, {}));
  for (int i = 0; i < 4; ++i) own.push_back(pass.add_input(one_each, {}));
  pass.outputs = {normalize(pass, own)};
  sliced.graphs.push_back(std::move(pass));
  std::vector<TensorId> inputs{x.id};
  for (const char* name : {"scale", "bias", "mean", "var"}) {
    inputs.push_back(sliced.add_variable(stacked, Initial{Initial::Rule::fill, 1, 0}, name));
  }
  const TensorInfo infos[] = {data};
  const std::size_t n = sliced.add_node(
      descriptor<op::Scan>, pack(op::Scan{.body = {0}, .num_scan_inputs = 4}), inputs, infos);
  output(sliced, op::mean(AnyTensor{&sliced, sliced.nodes[n].outputs[0]}, {.keepdims = 0}), "loss");
  CHECK(error_of(sliced).find("running statistics cannot leave a subgraph") != text.npos);
}
