#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/halftone.hpp>
#include <halftone/train.hpp>

#include "../error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

// Expected numbers follow from the formulas at the optimizers: the loss is sum(w * x), so that the
// gradient of w is x itself.
namespace {

struct Linear {
  Graph graph;
  AnyTensor loss;
};
Linear linear(std::vector<float> w = {1, 2}) {
  Linear model;
  Graph& g = model.graph;
  const AnyTensor x = g.input<float>("x", {2});
  const std::byte* bytes = reinterpret_cast<const std::byte*>(w.data());
  const TensorId id = g.add_variable({ElementType::float32, {2}},
                                     Bytes(std::vector<std::byte>(bytes, bytes + 8)), "w");
  model.loss = op::sum(AnyTensor{&g, id} * x, {.keepdims = 0});
  g.rename(model.loss.id, "loss");
  return model;
}

std::vector<float> values(const AnyView& view) {
  const auto v = view.values<float>();
  return {v.begin(), v.end()};
}
std::vector<float> weight(const Session& session, std::string_view name = "w") {
  return values(session.get(name));
}

}  // namespace

TEST_CASE("training session: gradients and new weights of every micro-batch") {
  Linear m = linear();
  m.loss.graph = &m.graph;
  train(m.graph, m.loss, Sgd{.learning_rate = 0.5f});
  Session session(std::move(m.graph), {.outputs = {"loss", "Gradient___w", "w", "UpdatedVar___w"},
                                       .batches_per_step = 2});
  const Array<float> x({2, 2}, {1, 2, 4, 8});
  auto result = session.run({{"x", x}});
  // w: (1, 2) - 0.5 (1, 2) = (0.5, 1), then - 0.5 (4, 8) = (-1.5, -3).
  CHECK(values(result["loss"]) == std::vector<float>{5, 10});
  CHECK(values(result["Gradient___w"]) == std::vector<float>{1, 2, 4, 8});
  CHECK(values(result["w"]) == std::vector<float>{0.5f, 1, -1.5f, -3});
  CHECK(values(result["UpdatedVar___w"]) == std::vector<float>{0.5f, 1, -1.5f, -3});
  CHECK(weight(session) == std::vector<float>{-1.5f, -3});
}

TEST_CASE("training session: a weight of many elements goes as each of them would alone") {
  const auto trained = [](auto optimizer, std::int64_t first, std::int64_t count) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {count});
    const TensorId w =
        g.add_variable({ElementType::float32, {count}}, Initial{Initial::Rule::fill, 0.5f, 0}, "w");
    train(g, op::sum(AnyTensor{&g, w} * x, {.keepdims = 0}), optimizer);
    Session session(std::move(g), {.outputs = {}});
    Array<float> data({count});
    for (int step = 0; step < 3; ++step) {
      for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] =
            static_cast<float>((static_cast<int>(i) + static_cast<int>(first) + step) % 7 - 3);
      }
      session.run({{"x", data}});
    }
    return weight(session);
  };
  const auto check = [&](auto optimizer) {
    const std::vector<float> all = trained(optimizer, 0, 37);
    REQUIRE(all.size() == 37);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(all[i] == doctest::Approx(trained(optimizer, static_cast<std::int64_t>(i), 1)[0]));
    }
  };
  check(Sgd{.learning_rate = 0.5f, .momentum = 0.9f, .weight_decay = 0.1f, .nesterov = true});
  check(Adam{.learning_rate = 0.1f, .weight_decay = 0.1f});
  check(Adam{.learning_rate = 0.1f, .max = true});
  check(Adaptive{.learning_rate = 0.1f, .momentum = 0.5f});
  check(Adaptive{.kind = AdaptiveKind::centered_rmsprop, .tf_variant = true});
  check(Adaptive{.kind = AdaptiveKind::adadelta});
}

TEST_CASE("training session: the session says how many micro-batches make a step") {
  for (const auto reduction : {AccumulationReduction::sum, AccumulationReduction::mean,
                               AccumulationReduction::running_mean}) {
    Linear m = linear();
    m.loss.graph = &m.graph;
    train(m.graph, m.loss, Sgd{.learning_rate = 0.5f}, {.reduction = reduction});
    Session session(std::move(m.graph), {.outputs = {"w", {"loss", Return::sum}, "Gradient___w"},
                                         .batches_per_step = 2,
                                         .accumulation = 2});
    const Array<float> x({2, 2, 2}, {1, 2, 3, 4, 1, 0, 1, 0});
    auto result = session.run({{"x", x}});
    CHECK(result["w"].info.shape == Dims{2, 2, 2});
    CHECK(result["loss"].info.shape == Dims{});
    const bool sums = reduction == AccumulationReduction::sum;
    // Sums of gradients: (4, 6), (2, 0); means half of that.
    const std::vector<float> expected =
        sums ? std::vector<float>{1, 2, -1, -1, -1, -1, -2, -1}
             : std::vector<float>{1, 2, 0, 0.5f, 0, 0.5f, -0.5f, 0.5f};
    CHECK(values(result["w"]) == expected);
    CHECK(values(result["Gradient___w"]) == std::vector<float>{1, 2, 3, 4, 1, 0, 1, 0});
  }
  Linear m = linear();
  m.loss.graph = &m.graph;
  train(m.graph, m.loss, Sgd{}, {.accumulation = 3});
  CHECK(accumulation_of(m.graph) == 3);
  CHECK(contains(error_of([&] { Session session(m.graph, {.accumulation = 2}); }), "usage"));
}

TEST_CASE("training session: hyperparameters that may change") {
  Linear m = linear();
  m.loss.graph = &m.graph;
  train(m.graph, m.loss, Sgd{.learning_rate = variable{0.5f}, .loss_scaling = variable{4}});
  Session session(std::move(m.graph), {.outputs = {"Gradient___w"}});
  const Array<float> x({2}, {1, 2});
  // The gradient is scaled, the step is not.
  CHECK(values(session.run({{"x", x}})["Gradient___w"]) == std::vector<float>{4, 8});
  CHECK(weight(session) == std::vector<float>{0.5f, 1});
  session.set("learning_rate", 0.25);
  session.set("loss_scaling", 2);
  CHECK(values(session.run({{"x", x}})["Gradient___w"]) == std::vector<float>{2, 4});
  CHECK(weight(session) == std::vector<float>{0.25f, 0.5f});
}

TEST_CASE("training session: hyperparameters of one weight") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {});
  const std::vector<std::byte> one = {std::byte{0}, std::byte{0}, std::byte{0x80}, std::byte{0x3f}};
  const TensorId a = g.add_variable({ElementType::float32, {}}, Bytes(one), "a");
  const TensorId b = g.add_variable({ElementType::float32, {}}, Bytes(one), "b");
  const AnyTensor loss = AnyTensor{&g, a} * x + AnyTensor{&g, b} * x;
  train(g, loss, Sgd{.learning_rate = 0.5f},
        {.specific = {{"b", {{"learning_rate", variable{0.125f}}, {"momentum", 0.5f}}}}});
  CHECK(g.find("Accl1___a") == no_tensor);
  Session session(std::move(g), {.outputs = {loss}});
  const Array<float> one_x({}, {1});
  session.run({{"x", one_x}});
  CHECK(weight(session, "a") == std::vector<float>{0.5f});
  CHECK(weight(session, "b") == std::vector<float>{0.875f});
  session.set("learning_rate___b", 0.25);
  session.run({{"x", one_x}});
  // v = 0.5 * 1 + 1 = 1.5
  CHECK(weight(session, "a") == std::vector<float>{0});
  CHECK(weight(session, "b") == std::vector<float>{0.5f});
}

TEST_CASE("training session: Nesterov momentum for some weights") {
  for (const bool is_general : {false, true}) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {});
    const auto variable = [&](const char* name) {
      return AnyTensor{
          &g, g.add_variable({ElementType::float32, {}}, Initial{Initial::Rule::fill, 1, 0}, name)};
    };
    const AnyTensor loss = variable("a") * x + variable("b") * x;
    const Specific other{is_general ? "a" : "b", {{"nesterov", is_general ? 0.f : 1.f}}};
    train(g, loss, Sgd{.learning_rate = 0.5f, .momentum = 0.5f, .nesterov = is_general},
          {.specific = {other}});
    Session session(std::move(g), {.outputs = {loss}});
    session.run({{"x", Array<float>({}, {1})}});
    session.run({{"x", Array<float>({}, {1})}});
    // v = 1, then 1.5; the step is v, with Nesterov 1 + 0.5 v.
    CHECK(weight(session, "a") == std::vector<float>{1 - 0.5f * (1 + 1.5f)});
    CHECK(weight(session, "b") == std::vector<float>{1 - 0.5f * (1.5f + 1.75f)});
  }
}

TEST_CASE("training session: norms of gradients are clipped") {
  Linear m = linear();
  m.loss.graph = &m.graph;
  train(m.graph, m.loss, Sgd{.learning_rate = 1.f, .loss_scaling = 8.f},
        {.clip_norm = {{.max_norm = 5}}});
  Session session(std::move(m.graph), {.outputs = {"GlobalNorm___0"}, .accumulation = 2});
  const Array<float> x({2, 2}, {3, 4, 3, 4});
  // The joined gradient is (6, 8), its norm 10: it is halved.
  CHECK(values(session.run({{"x", x}})["GlobalNorm___0"])[1] == doctest::Approx(10));
  CHECK(weight(session)[0] == doctest::Approx(1 - 3));
  CHECK(weight(session)[1] == doctest::Approx(2 - 4));
}

TEST_CASE("training session: what was saved goes on bit for bit") {
  const auto batch = [](int i) {
    return Array<float>({2},
                        {std::sin(1.f + static_cast<float>(i)), std::cos(static_cast<float>(i))});
  };
  const auto train_it = [](Graph& g) {
    const AnyTensor loss{&g, g.find("loss")};
    train(g, loss * loss, Adam{.learning_rate = variable{0.05f}, .weight_decay = 0.01f});
  };
  Linear m = linear();
  m.graph.outputs = {m.loss.id};
  train_it(m.graph);
  Session whole(std::move(m.graph));
  for (int i = 0; i < 3; ++i) whole.run({{"x", batch(i)}});
  const std::string path = "halftone_checkpoint_test.onnx";
  onnx::save(whole.graph(), path);
  for (int i = 3; i < 6; ++i) whole.run({{"x", batch(i)}});

  Graph saved = onnx::load(path);
  std::remove(path.c_str());
  CHECK(saved.nodes.size() == 2);  // the model alone: x * w and its sum
  CHECK(saved.find("Accl1___w") != no_tensor);
  CHECK(saved.find("Step___w") != no_tensor);
  CHECK(saved.find("learning_rate") == no_tensor);
  {
    Session inference{Graph(saved)};
    inference.run({{"x", batch(0)}});
    CHECK(weight(inference) != weight(whole));
  }
  train_it(saved);
  Session again(std::move(saved));
  for (int i = 3; i < 6; ++i) again.run({{"x", batch(i)}});
  for (const char* name : {"w", "Accl1___w", "Accl2___w", "Step___w"}) {
    CHECK(weight(again, name) == weight(whole, name));
  }
}

TEST_CASE("training session: dropout drops the same elements forward and backward") {
  // loss = sum(dropout(w)): the gradient of w is the mask / (1 - ratio), and w is all ones.
  for (const bool shaped : {false, true}) {
    Graph g;
    std::vector<float> ones(512, 1.f);
    const auto* bytes = reinterpret_cast<const std::byte*>(ones.data());
    const AnyTensor w{&g, g.add_variable({ElementType::float32, {8, 64}},
                                         Bytes(std::vector<std::byte>(bytes, bytes + 2048)), "w")};
    const AnyTensor y = shaped ? op::shaped_dropout(w, {.shape = {8, 1}, .ratio = 0.5f})
                               : op::dropout(w, {.ratio = 0.25f});
    g.rename(y.id, "y");
    const AnyTensor loss = op::sum(y, {.keepdims = 0});
    differentiate_weights(g, loss);
    Session session(std::move(g), {.outputs = {"y", "Gradient___w"}, .seed = 7});
    auto result = session.run({});
    const std::vector<float> kept = values(result["y"]);
    CHECK(kept == values(result["Gradient___w"]));
    int dropped = 0;
    for (const float x : kept) dropped += x == 0;
    CHECK(dropped > 0);
    CHECK(dropped < 512);
    if (shaped) CHECK(dropped % 64 == 0);
    const std::vector<float> before = kept;
    CHECK(values(session.run({})["y"]) != before);
  }
}

TEST_CASE("training session: automatic loss scaling") {
  Graph g;
  const AnyTensor x = g.input<half>("x", {4});
  const AnyTensor w{
      &g, g.add_variable({ElementType::float16, {4}}, Initial{Initial::Rule::fill, 1, 0}, "w")};
  const AnyTensor loss = op::sum(w * x, {.keepdims = 0});
  train(g, loss, Sgd{.learning_rate = 1e-6f, .loss_scaling = variable{16}},
        {.automatic_loss_scaling = {.enabled = true, .track = {"w"}}});
  Session session(std::move(g), {.outputs = {loss}});
  const auto factor = [&](float value) {
    const Array<half> data({4}, {half(value), half(1.f), half(1.f), half(1.f)});
    session.run({{"x", data}});
    return weight(session, "lossScaleUpdateFactor")[0];
  };
  // The edge is 65504 / 8 = 8188: 16 x 1 is below it, 32 x 1000 beyond.
  CHECK(factor(1) == 2);
  CHECK(factor(1000) == 1);
  CHECK(factor(1) == 2);
}

// All numbers of the gradients are beyond the edge, which is more than 0.9 of them.
TEST_CASE("training session: automatic loss scaling does not count the loss scale") {
  Graph g;
  const AnyTensor x = g.input<half>("x", {2});
  const AnyTensor w{
      &g, g.add_variable({ElementType::float16, {2}}, Initial{Initial::Rule::fill, 1, 0}, "w")};
  const AnyTensor loss = op::sum(w * x, {.keepdims = 0});
  train(g, loss, Sgd{.learning_rate = 1e-6f, .loss_scaling = variable{65536}},
        {.automatic_loss_scaling = {.enabled = true, .threshold = 0.9f}});
  Session session(std::move(g), {.outputs = {loss}});
  session.run({{"x", Array<half>({2}, {half(1.f), half(1.f)})}});
  CHECK(weight(session, "lossScaleUpdateFactor")[0] == 0.5f);
}

TEST_CASE("training session: automatic loss scaling of float gradients") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  const AnyTensor w{
      &g, g.add_variable({ElementType::float32, {4}}, Initial{Initial::Rule::fill, 1, 0}, "w")};
  const AnyTensor loss = op::sum(w * x, {.keepdims = 0});
  train(g, loss, Sgd{.learning_rate = 1e-38f, .loss_scaling = variable{16}},
        {.automatic_loss_scaling = {.enabled = true}});
  Session session(std::move(g), {.outputs = {loss}});
  const auto factor = [&](float value) {
    session.run({{"x", Array<float>({4}, {value, 1, 1, 1})}});
    return weight(session, "lossScaleUpdateFactor")[0];
  };
  // The edge is the largest float, about 2^128, / 8: 32 x 2^119 is below it, 64 x 2^120 beyond.
  CHECK(factor(1) == 2);
  CHECK(factor(0x1p119f) == 4);
  CHECK(factor(0x1p120f) == 2);
}

// Powers of two lose no bits: whatever the loss scaling is, and becomes, the weights are the same,
// m is multiplied by it, and v by its square (by itself in AdaMax, whose v is a size, no square).
TEST_CASE("training session: scaled state follows a loss scaling that changes") {
  for (const bool max : {false, true}) {
    CAPTURE(max);
    struct Trained {
      std::vector<float> w, m, v;
      bool operator==(const Trained&) const = default;
    };
    const auto trained = [&](std::vector<float> scalings, bool is_saved) {
      const Adam adam{.learning_rate = 0.25f,
                      .weight_decay = 0.125f,
                      .loss_scaling = variable{scalings[0]},
                      .max = max,
                      .weight_decay_mode = WeightDecay::l2,
                      .scaled_optimizer_state = true};
      Linear model = linear();
      model.loss.graph = &model.graph;
      model.graph.outputs = {model.loss.id};
      train(model.graph, model.loss, adam);
      Session session(std::move(model.graph));
      float step = 1;
      for (const float scaling : scalings) {
        if (is_saved) {
          Graph saved = model_of(session.graph());
          CHECK(saved.find("PreviousLossScaling_") != no_tensor);
          const AnyTensor loss{&saved, saved.find("loss")};
          train(saved, loss, adam);
          session = Session(std::move(saved));
        }
        session.set("loss_scaling", scaling);
        const Array<float> x({2}, {step, 3 - step});
        session.run({{"x", x}});
        step += 0.75f;
      }
      return Trained{weight(session), weight(session, "Accl1___w"), weight(session, "Accl2___w")};
    };
    const Trained plain = trained({1, 1, 1}, false), scaled = trained({4, 16, 2}, false);
    CHECK(scaled.w == plain.w);
    const float square = max ? 2 : 4;
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(scaled.m[i] == 2 * plain.m[i]);
      CHECK(scaled.v[i] == square * plain.v[i]);
    }
    CHECK(trained({4, 16, 2}, true) == scaled);
  }
}

// Without its factor Lamb is Adam; with it, and |w| below the limit, the step is |w| long times the
// learning rate.
TEST_CASE("training session: a limit of 0 switches the factor of Lamb off") {
  const auto trained = [](bool lamb, Hyperparameter limit, float next) {
    Linear m = linear({3, 4});
    m.loss.graph = &m.graph;
    train(m.graph, m.loss, Adam{.learning_rate = 0.25f, .lamb = lamb, .max_weight_norm = limit});
    Session session(std::move(m.graph), {.outputs = {"loss"}});
    if (limit.may_change) session.set("max_weight_norm", next);
    const Array<float> x({2}, {1, -2});
    session.run({{"x", x}});
    return weight(session);
  };
  const std::vector<float> adam = trained(false, 10.f, 0);
  for (const auto& lamb :
       {trained(true, 0.f, 0), trained(true, variable{0}, 0), trained(true, variable{10}, 0)}) {
    for (std::size_t i = 0; i < 2; ++i) CHECK(lamb[i] == doctest::Approx(adam[i]));
  }
  const std::vector<float> limited = trained(true, variable{0}, 10);
  const float dx = limited[0] - 3, dy = limited[1] - 4;
  CHECK(std::sqrt(dx * dx + dy * dy) == doctest::Approx(0.25 * 5));
}

TEST_CASE("training session: what is not a number stops it") {
  Linear m = linear();
  m.loss.graph = &m.graph;
  train(m.graph, m.loss, Sgd{.learning_rate = 0.5f});
  Session session(std::move(m.graph), {.outputs = {"loss"}, .stop_at_nan = true});
  const Array<float> good({2}, {1, 2}), bad({2}, {1, std::numeric_limits<float>::quiet_NaN()});
  session.run({{"x", good}});
  const std::vector<float> before = weight(session);
  CHECK_THROWS_AS(session.run({{"x", bad}}), NotANumberError);
  CHECK(contains(error_of([&] { session.run({{"x", bad}}); }), "x"));
  CHECK(weight(session) == before);
}

TEST_CASE("session: stop_at_nan is refused where shapes depend on values") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {3});
  output(g, op::gather(x, op::nonzero(x)), "y");
  const auto run = [&] {
    const Array<float> values({3}, {1, 0, 2});
    Session(g, {.stop_at_nan = true}).run({{"x", values}});
  };
  CHECK_THROWS_AS(run(), UnsupportedError);
}

TEST_CASE("training: what cannot be") {
  const auto refused = [](const Sgd<Hyperparameter>& sgd, const TrainOptions& options) {
    return error_of([&] {
      Linear m = linear();
      m.loss.graph = &m.graph;
      train(m.graph, m.loss, sgd, options);
    });
  };
  CHECK(contains(refused({.learning_rate = -1.f}, {}), "usage: "));
  CHECK(contains(refused({.momentum = std::numeric_limits<float>::quiet_NaN()}, {}), "momentum"));
  CHECK(contains(refused({.loss_scaling = 0.f}, {}), "loss_scaling"));
  CHECK(contains(refused({}, {.weights = {"v"}}), "model: "));
  CHECK(contains(refused({}, {.specific = {{"v", {}}}}), "no trained weight"));
  CHECK(contains(refused({}, {.specific = {{"w", {{"beta1", 0.5f}}}}}), "beta1"));
  CHECK(contains(refused({}, {.specific = {{"w", {{"nesterov", 0.5f}}}}}), "neither 0 nor 1"));
  CHECK(contains(refused({}, {.specific = {{"w", {{"nesterov", variable{1}}}}}}), "may change"));
  CHECK(contains(error_of([&] {
                   Linear m = linear();
                   m.loss.graph = &m.graph;
                   train(m.graph, m.loss, Adam{}, {.specific = {{"w", {{"nesterov", 1.f}}}}});
                 }),
                 "no such hyperparameter"));
  CHECK(contains(refused({}, {.clip_norm = {{1, {}}, {1, {"w"}}}}), "no other group"));
  CHECK(contains(refused({}, {.clip_norm = {{1, {"w"}}, {2, {"w"}}}}), "two groups"));
  CHECK(contains(refused({}, {.automatic_loss_scaling = {.enabled = true}}), "may change"));
  CHECK(contains(refused({.loss_scaling = variable{1}},
                         {.automatic_loss_scaling = {.enabled = true, .only_products = true}}),
                 "finds no gradients"));
  CHECK(contains(error_of([&] {
                   Linear m = linear();
                   m.loss.graph = &m.graph;
                   train(m.graph, m.loss,
                         Adam{.loss_scaling = variable{1}, .scaled_optimizer_state = true},
                         {.automatic_loss_scaling = {.enabled = true}});
                 }),
                 "exclude each other"));

  Linear m = linear();
  m.loss.graph = &m.graph;
  const AnyTensor vector = m.loss * AnyTensor{&m.graph, m.graph.find("w")};
  CHECK(
      contains(error_of([&] { train(m.graph, vector, Sgd{}); }), "not one floating-point number"));
  train(m.graph, m.loss, Sgd{});
  CHECK(contains(error_of([&] { train(m.graph, m.loss, Sgd{}); }), "trained already"));
}

TEST_CASE("training: operators without a gradient are named together, integers are no weights") {
  Graph g;
  const AnyTensor w{&g, g.add_variable({ElementType::float32, {2, 2}},
                                       Initial{Initial::Rule::normal, 0, 1}, "w")};
  g.add_variable({ElementType::int64, {2}}, Initial{Initial::Rule::fill, 1, 0}, "steps");
  const AnyTensor one = op::det(w), other = op::sum(op::hardmax(w), {.keepdims = 0});
  const AnyTensor loss = one + other;
  Graph copy = g;
  const std::string text = error_of([&] { train(copy, {&copy, loss.id}, Sgd{}); });
  CHECK(contains(text, "unsupported"));
  CHECK(contains(text, "Det"));
  CHECK(contains(text, "Hardmax"));
  copy = g;
  CHECK(contains(error_of([&] { train(copy, {&copy, loss.id}, Sgd{}, {.weights = {"steps"}}); }),
                 "not floating point"));
}
