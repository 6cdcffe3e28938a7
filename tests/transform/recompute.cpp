#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include <halftone/exec/engine.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/onnx.hpp>
#include <halftone/program/program.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/fuse.hpp>
#include <halftone/transform/recompute.hpp>

#include "../../bench/networks.hpp"
#include "error_of.hpp"
#include "folder.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

/// y = exp(x w1), z = tanh(y w2), loss = mean(z z): every node of the forward part is read by a
/// gradient.
struct Small {
  Graph g;
  AnyTensor x, y, z, loss;
  Small() {
    x = g.input<float>("x", {4, 8});
    const auto w1 = parameter<float, Shape<8, 8>>(g, "w1");
    const auto w2 = parameter<float, Shape<8, 8>>(g, "w2");
    y = op::exp(op::matmul(x, w1));
    z = op::tanh(op::matmul(y, w2));
    loss = op::mean(z * z, {.keepdims = 0});
  }
};

std::size_t count(const Graph& g, auto&& wanted) {
  return static_cast<std::size_t>(std::count_if(g.nodes.begin(), g.nodes.end(), wanted));
}
std::size_t repeated(const Graph& g) {
  return count(g, [](const Node& node) { return is_recomputed(node.place); });
}

/// Makes a forward part keep all its values for the gradients.
void keep_all(Graph& g) {
  for (Node& node : g.nodes) node.place.recompute = Recompute::checkpoint;
}

Graph encoder_training(int layers = 12, bool keeps = false) {
  Graph g = networks::encoder(1, 128, layers, 256);
  const AnyTensor y{&g, g.outputs[0]};
  const AnyTensor loss = op::mean(y * y, {.keepdims = 0});
  g.outputs.clear();
  if (keeps) keep_all(g);
  train(g, loss, Adam{});
  g.add_output(loss.id);
  return g;
}

std::size_t arena_of(const Graph& g, Recomputation mode) {
  return Engine(g, {.recompute = mode, .only_plan = true}).arena_bytes();
}

}  // namespace

TEST_CASE("places: nodes, their gradients and updates say what part of a step they are") {
  Graph g;
  AnyTensor h = g.input<float>("x", {4, 8});
  for (int stage = 0; stage < 3; ++stage) {
    const OnStage on_stage(g, stage);
    const OnIpu on_ipu(g, 2 - stage);
    const OnPhase on_phase(g, 2 * stage);
    const auto w = parameter<float, Shape<8, 8>>(g, "w");
    h = op::tanh(op::matmul(h, w));
    if (stage == 2) h = op::mean(h * h, {.keepdims = 0});
  }
  CHECK(g.place() == Place{});
  const std::size_t forward = g.nodes.size();
  train(g, h, Sgd{});
  bool has_backward = false, has_update = false;
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const Place& place = g.nodes[n].place;
    CHECK((place.part == Part::forward) == (n < forward));
    if (place.part == Part::update) has_update = true;
    if (place.part != Part::backward || place.stage < 0) continue;
    // Stage s of three is mirrored to 4 - s, phase p of the loss's phase 4 to 8 - p.
    has_backward = true;
    CHECK(place.stage >= 2);
    CHECK(place.ipu == place.stage - 2);
    CHECK(place.phase == 2 * place.stage);
  }
  CHECK(has_backward);
  CHECK(has_update);
}

// The law: the second time there is nothing left to choose.
TEST_CASE("what is computed again already is not divided another time") {
  const Graph once =
      ipu::program_for(encoder_training(2), {.recompute = Recomputation::standard}).graph;
  REQUIRE(repeated(once) > 0);
  CHECK(recompute(once, Recomputation::standard) == once);
  CHECK(recompute(once, Recomputation::all) == once);
}

TEST_CASE("places: scopes check their numbers and are restored, inner ones win") {
  Graph g;
  {
    const OnIpu first(g, 1);
    CHECK(g.place().ipu == 1);
    {
      const OnIpu second(g, 2);
      const Recomputed again(g);
      CHECK(g.place().ipu == 2);
      CHECK(g.place().recompute == Recompute::recompute);
    }
    CHECK(g.place() == Place{.ipu = 1});
  }
  CHECK(g.place() == Place{});
  CHECK(contains(error_of([&] { OnIpu(g, 64); }), "0 to 63"));
  CHECK_THROWS_AS(OnStage(g, -2), UsageError);
  CHECK_THROWS_AS(OnPhase(g, 40000), UsageError);
}

TEST_CASE("places: model files keep them, graphs differ in them, and so do calls") {
  Small s;
  s.g.add_output(s.loss.id);
  Graph placed = s.g;
  placed.nodes[1].place = {.ipu = 1, .stage = 2, .phase = 3, .recompute = Recompute::checkpoint};
  placed.nodes[2].place.recompute = Recompute::recompute;
  CHECK(!(placed == s.g));
  const test::Folder folder;
  onnx::save(placed, folder / "m.onnx");
  const Graph loaded = onnx::load(std::string_view(folder / "m.onnx"));
  for (std::size_t n = 0; n < placed.nodes.size(); ++n) {
    CHECK(loaded.nodes[n].place == placed.nodes[n].place);
  }
}

TEST_CASE("places: element-wise nodes of two IPUs are not fused") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {8});
  const AnyTensor y = op::exp(op::neg(x));
  const OnIpu second(g, 1);
  output(g, op::tanh(op::abs(y)), "z");
  g = fuse_elementwise(std::move(g));
  REQUIRE(g.nodes.size() == 2);
  CHECK(g.nodes[0].place.ipu == -1);
  CHECK(g.nodes[1].place.ipu == 1);
}

TEST_CASE("recompute: a node that says so runs again before its first reader") {
  Small s;
  Graph g = s.g;
  g.nodes[1].place.recompute = Recompute::recompute;  // exp
  train(g, AnyTensor{&g, s.loss.id}, Sgd{});
  const Graph again = recompute(g, Recomputation::none);
  REQUIRE(again.nodes.size() == g.nodes.size() + 1);
  const auto copy = std::find_if(again.nodes.begin(), again.nodes.end(),
                                 [](const Node& node) { return is_recomputed(node.place); });
  REQUIRE(copy != again.nodes.end());
  CHECK(copy->op->id == op::Exp::id);
  CHECK(copy->inputs == g.nodes[1].inputs);
  // What the backward part reads of it is the copy's, and the next node reads it at once.
  const TensorId old = g.nodes[1].outputs[0];
  for (const Node& node : again.nodes) {
    if (node.place.part == Part::forward) continue;
    CHECK(std::count(node.inputs.begin(), node.inputs.end(), old) == 0);
  }
  const auto next = copy + 1;
  CHECK(std::count(next->inputs.begin(), next->inputs.end(), copy->outputs[0]) > 0);
}

TEST_CASE("recompute: checkpoints are kept in every mode") {
  Small s;
  keep_all(s.g);
  train(s.g, s.loss, Sgd{});
  CHECK(repeated(recompute(s.g, Recomputation::all)) == 0);
}

TEST_CASE("recompute: what has an effect, or reads what changes before, is kept") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  const auto w = parameter<float, Shape<4>>(g, "w"), counter = parameter<float, Shape<4>>(g, "n");
  const AnyTensor read = op::exp(counter);
  op::copy_var_update(counter, AnyTensor(counter) + x);
  const AnyTensor y = op::tanh(read * w);
  train(g, op::mean(y * y, {.keepdims = 0}), Sgd{}, {.weights = {"w"}});
  const Graph again = recompute(g, Recomputation::all);
  CHECK(repeated(again) > 0);
  CHECK(count(again, [](const Node& n) { return n.op->id == op::Exp::id; }) == 1);
  CHECK(count(again, [](const Node& n) { return n.op->id == op::CopyVarUpdate::id; }) == 1);
}

TEST_CASE("recompute: norm_only repeats normalizations alone") {
  Graph g = encoder_training();
  const Graph again = recompute(g, Recomputation::norm_only);
  CHECK(repeated(again) == 24);  // two in each of 12 layers
  for (const Node& node : again.nodes) {
    if (is_recomputed(node.place)) CHECK(node.op->id == op::LayerNormalization::id);
  }
}

TEST_CASE("recompute: a pipeline keeps what stages get from others") {
  Graph g;
  AnyTensor h = g.input<float>("x", {4, 8});
  std::vector<TensorId> handed_over;
  for (int stage = 0; stage < 3; ++stage) {
    const OnStage on_stage(g, stage);
    const auto w = parameter<float, Shape<8, 8>>(g, "w");
    h = op::tanh(op::exp(op::matmul(h, w)));
    if (stage < 2) handed_over.push_back(h.id);
    if (stage == 2) h = op::mean(h * h, {.keepdims = 0});
  }
  train(g, h, Sgd{});
  const Graph again = recompute(g, Recomputation::pipeline);
  CHECK(repeated(again) > 0);
  for (const Node& node : again.nodes) {
    if (!is_recomputed(node.place)) continue;
    CHECK(node.place.stage >= 2);  // where its reader is
    const bool is_last = node.op->id == op::Tanh::id && node.place.stage > 2;
    CHECK(!is_last);
  }
  const std::string error = error_of([] {
    Small s;
    train(s.g, s.loss, Sgd{});
    recompute(s.g, Recomputation::pipeline);
  });
  CHECK(contains(error, "no node has a stage"));
}

TEST_CASE("recompute: a graph without gradients stays as it is") {
  Small s;
  s.g.add_output(s.loss.id);
  CHECK(recompute(s.g, Recomputation::all) == s.g);
}

TEST_CASE("recompute: standard leaves less than a quarter of the arena of a 12-layer encoder") {
  const auto kept = static_cast<double>(arena_of(encoder_training(12, true), Recomputation::none));
  CHECK(static_cast<double>(arena_of(encoder_training(), Recomputation::standard)) / kept < 0.25);
}

TEST_CASE("recompute: the emulated machine needs less memory and more cycles") {
  const Graph g = encoder_training(4);
  const ipu::Report kept = ipu::profile(g, ipu::gc200);
  const ipu::Report again = ipu::profile(g, ipu::gc200, {.recompute = Recomputation::standard});
  CHECK(again.cycles() > kept.cycles());
  const auto most = [](const ipu::Report& report) {
    return *std::max_element(report.live_bytes.begin(), report.live_bytes.end());
  };
  CHECK(most(again) < most(kept));
}

namespace {

/// Three layers with GELU, written out, and one without; `keeps`: no value may be computed again.
Graph gelu_training(bool keeps) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {16, 32});
  AnyTensor last = x;
  for (const std::int64_t columns : {32, 256, 256}) {
    const AnyTensor wide = networks::linear(g, last, columns, 256);
    last = wide * 0.5f * (op::erf(wide * 0.70710678f) + 1.f);
  }
  const AnyTensor y = networks::linear(g, last, 256, 8);
  const AnyTensor loss = op::mean(y * y, {.keepdims = 0});
  if (keeps) keep_all(g);
  train(g, loss, Sgd{.momentum = 0.9f});
  g.add_output(loss.id);
  return g;
}

}  // namespace

TEST_CASE("recompute: GELU's gradient follows from the product alone") {
  const Graph g = gelu_training(false), again = recompute_elementwise(g);
  CHECK(repeated(again) > 0);
  CHECK(recompute_elementwise(again) == again);
  // Behind the forward part element-wise nodes read nothing element-wise of it any more.
  const Uses uses(again);
  for (const Node& node : again.nodes) {
    if (node.place.part == Part::forward || !node.op->in_groups) continue;
    for (const TensorId id : node.inputs) {
      const int maker = id == no_tensor ? no_node : uses.producer[id];
      if (maker == no_node) continue;
      const Node& made = again.nodes[static_cast<std::size_t>(maker)];
      const bool is_wide = again.info(id).elements() == 16 * 256;
      CHECK(!(is_wide && made.place.part == Part::forward && made.op->in_groups));
    }
  }

  // The law: what is computed again has the same bits; each layer that waits keeps a value less.
  Engine kept(gelu_training(true), {.threads = 1}), repeating(g, {.threads = 1});
  CHECK(repeated(recompute_elementwise(gelu_training(true))) == 0);
  Array<float> x({16, 32});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 8 - 1;
  const AnyView inputs[]{x};
  for (int step = 0; step < 3; ++step) {
    kept.run(inputs);
    repeating.run(inputs);
    CHECK(kept.output(0).values<float>()[0] == repeating.output(0).values<float>()[0]);
  }
  CHECK(repeating.live_bytes() + 2 * 16 * 256 * sizeof(float) <= kept.live_bytes());
  std::size_t variables = 0;
  for (std::size_t i = 0; i < g.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    if (!is_variable(g.tensor(id)) || g.info(id).type != ElementType::float32) continue;
    ++variables;
    CHECK(std::ranges::equal(kept.variable(id).values<float>(),
                             repeating.variable(id).values<float>()));
  }
  CHECK(variables >= 16);  // Each layer has two, and a momentum of each.
}

TEST_CASE("recompute: element-wise values are kept where nothing else would be left out") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4, 8});
  const AnyTensor y = op::relu(networks::linear(g, x, 8, 8));
  const AnyTensor z = op::relu(networks::linear(g, y, 8, 8));  // whose gradient reads z alone
  train(g, op::mean(z * z, {.keepdims = 0}), Sgd{});
  CHECK(recompute_elementwise(g) == g);
}
