// Optimizers as types, and those of a program's own.
#include <doctest/doctest.h>

#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include <halftone/function.hpp>
#include <halftone/halftone.hpp>
#include <halftone/train/recorder.hpp>

#include "../error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

template <std::int64_t... D>
using F = Tensor<float, Shape<D...>>;

// --- types

template <class A, class B>
constexpr bool same = std::is_same_v<A, B>;

static_assert(same<decltype(Sgd{}), Sgd<float>>);
static_assert(same<decltype(Sgd{.learning_rate = variable{0.1f}}), Sgd<variable>>);
static_assert(same<decltype(Sgd{.learning_rate = variable{0.1f}}), Sgd<variable, float, float>>);
static_assert(
    same<decltype(Sgd{.learning_rate = 1, .momentum = variable{0.9f}}), Sgd<int, variable>>);
static_assert(same<decltype(Adam{.learning_rate = 0.02f}), Adam<>>);
static_assert(same<decltype(Adam{.beta1 = fixed<0.8f>{}, .lamb = true}), Adam<float, fixed<0.8f>>>);
static_assert(same<decltype(Adaptive{.kind = AdaptiveKind::adadelta, .alpha = variable{1}}),
                   Adaptive<float, variable>>);
// A choice at run time opens all numbers; a type alone has the same default values.
static_assert(same<decltype(Sgd{.learning_rate = Hyperparameter(1.f)}), Sgd<Hyperparameter>>);
static_assert(same<decltype(Adam<Hyperparameter>::beta2), Hyperparameter>);
static_assert(Adam<Hyperparameter>{}.beta2.value == Adam{}.beta2);
static_assert(Sgd<fixed<0.5f>>{}.learning_rate.value == 0.5f);
static_assert(Sgd<variable>{}.learning_rate.value == Sgd{}.learning_rate);
static_assert(hyperparameter_kind<fixed<1.f>> && !hyperparameter_kind<const char*>);

/// w -= learning_rate * sign(m), m = momentum * m + dw.
template <hyperparameter_kind Rate = float>
struct SignSgd {
  Rate learning_rate = detail::default_value<Rate>(0.5f);
  float momentum = 0.5f;

  constexpr void update(auto w, auto dw) const {
    auto m = optimizer_state(w, "Momentum");
    m = op::copy_var_update(m, m * momentum + dw);
    const auto rate = hyperparameter(w, "learning_rate", learning_rate);
    op::copy_var_update(w, w - op::sign(m) * rate);
  }
};

static_assert(optimizer<SignSgd<>> && optimizer<Adam<>> && optimizer<const Sgd<variable>>);
static_assert(!optimizer<variable>);
// A typed weight has typed state and hyperparameters.
static_assert(same<decltype(optimizer_state(F<4, 8>{}, "m")), F<4, 8>>);
static_assert(same<decltype(optimizer_state(Tensor<half, Shape<4>>{}, "m")), F<4>>);
static_assert(
    same<decltype(optimizer_state(Tensor<double, Shape<>>{}, "m")), Tensor<double, Shape<>>>);
static_assert(same<decltype(optimizer_state(AnyTensor{}, "m")), AnyTensor>);
static_assert(same<decltype(hyperparameter(F<4>{}, "x", variable{1})), F<>>);
static_assert(same<decltype(hyperparameter(F<4>{}, "x", fixed<1.f>{})), float>);

// --- models

/// The loss is the sum of w * x, so that the gradient of w is x itself.
struct Linear {
  Graph graph;
  TensorId loss = no_tensor;

  AnyTensor loss_in_graph() { return {&graph, loss}; }
};
template <class T = float>
Linear linear() {
  Linear m;
  const AnyTensor x = m.graph.input<T>("x", {2});
  const T values[] = {T(1), T(2)};
  const auto w = parameter<T, Shape<2>>(m.graph, "w", std::span<const T>(values));
  const AnyTensor loss = op::sum(AnyTensor(w) * x, {.keepdims = 0});
  m.graph.rename(loss.id, "loss");
  m.loss = loss.id;
  return m;
}

std::vector<float> values(const Session& session, std::string_view name) {
  const auto v = session.get(name).values<float>();
  return {v.begin(), v.end()};
}

/// The formula at SignSgd, element by element.
struct Expected {
  std::vector<float> w{1, 2}, m{0, 0};
  void step(const std::vector<float>& dw, float rate = 0.5f) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      m[i] = 0.5f * m[i] + dw[i];
      w[i] -= rate * static_cast<float>((m[i] > 0) - (m[i] < 0));
    }
  }
};

const std::vector<float> inputs[] = {{-5, 2}, {0, -4}, {3, 0.5f}, {8, 1}, {-1, -1}, {-9, 0}};

}  // namespace

TEST_CASE("optimizer: train() takes a program's own") {
  Linear m = linear();
  const SignSgd<variable> sign{.learning_rate = {0.5f}};
  train(m.graph, m.loss_in_graph(), sign);
  Session session(std::move(m.graph), {.outputs = {"UpdatedVar___w"}});
  Expected expected;
  for (std::size_t i = 0; i < std::size(inputs); ++i) {
    if (i == 3) session.set("learning_rate", 0.25f);
    const auto result = session.run({{"x", Array<float>({2}, inputs[i])}});
    expected.step(inputs[i], i < 3 ? 0.5f : 0.25f);
    CHECK(values(session, "w") == expected.w);
    CHECK(values(session, "Momentum___w") == expected.m);
    const auto next = result[0].values<float>();
    CHECK(std::vector<float>(next.begin(), next.end()) == expected.w);
  }
}

TEST_CASE("optimizer: the gradients of a program's own are joined over the runs of a step") {
  for (const auto reduction : {AccumulationReduction::sum, AccumulationReduction::mean,
                               AccumulationReduction::running_mean}) {
    for (const bool by_session : {false, true}) {
      Linear m = linear();
      train(m.graph, m.loss_in_graph(), SignSgd{},
            {.accumulation = by_session ? 1 : 2, .reduction = reduction});
      Session session(std::move(m.graph), {.outputs = {}, .accumulation = 2});
      Expected expected;
      for (std::size_t i = 0; i < std::size(inputs); i += 2) {
        Array<float> x({2, 2});
        std::vector<float> joined(2);
        for (std::size_t k = 0; k < 4; ++k) {
          x[k] = inputs[i + k / 2][k % 2];
          joined[k % 2] += reduction == AccumulationReduction::sum ? x[k] : x[k] / 2;
        }
        session.run({{"x", x}});
        expected.step(joined);
        CHECK(values(session, "w") == expected.w);
        CHECK(values(session, "Momentum___w") == expected.m);
      }
    }
  }
}

TEST_CASE("optimizer: norms are clipped and loss scaling is taken out for a program's own") {
  struct Scaled : SignSgd<> {
    variable loss_scaling{8};
  };
  Linear m = linear();
  train(m.graph, m.loss_in_graph(), Scaled{}, {.clip_norm = {{.max_norm = 2.5f}}});
  Session session(std::move(m.graph), {.outputs = {"Gradient___w"}});
  const auto result = session.run({{"x", Array<float>({2}, {3, -4})}});
  CHECK(result[0].values<float>()[0] == 24);
  // (3, -4) is 5 long.
  CHECK(values(session, "Momentum___w") == std::vector<float>{1.5f, -2});
}

TEST_CASE("optimizer: weights of half precision get gradients and state in float") {
  struct Plain {
    void update(AnyTensor w, AnyTensor dw) const {
      CHECK(dw.info().type == ElementType::float32);
      CHECK(optimizer_state(w, "m").info().type == ElementType::float32);
      const AnyTensor step = dw * hyperparameter(w, "rate", Hyperparameter(variable{2}));
      op::copy_var_update(w, w - op::cast(step, {.to = w.info().type}));
    }
  };
  Linear m = linear<half>();
  train(m.graph, m.loss_in_graph(), Plain{});
  Session session(std::move(m.graph), {.outputs = {}});
  session.run({{"x", Array<half>({2}, {half(0.25f), half(-1.f)})}});
  const auto w = session.get("w").values<half>();
  CHECK(static_cast<float>(w[0]) == 0.5f);  // 1 - 2 * 0.25
  CHECK(static_cast<float>(w[1]) == 4);     // 2 + 2 * 1
}

TEST_CASE("optimizer: a program's own goes on from saved state") {
  Linear m = linear();
  train(m.graph, m.loss_in_graph(), SignSgd{});
  Session first(std::move(m.graph), {.outputs = {}});
  Expected expected;
  first.run({{"x", Array<float>({2}, inputs[0])}});
  expected.step(inputs[0]);
  Graph model = model_of(first.graph());
  CHECK(model.tensor(model.find("Momentum___w")).state == State::moment);
  train(model, model["loss"], SignSgd{});
  Session second(std::move(model), {.outputs = {}});
  second.run({{"x", Array<float>({2}, inputs[1])}});
  expected.step(inputs[1]);
  CHECK(values(second, "w") == expected.w);
}

namespace {

struct Weights {
  F<3, 4> w;
  F<4> b;
  constexpr void tensors(auto&& visit) {
    visit("w", w);
    visit("b", b);
  }
};

/// A layer and its loss, with the updates of two structs, or train()'s.
template <class Optimizer>
Graph layer(const Optimizer& optimizer, bool by_train) {
  Graph g;
  const auto x = input<float, Shape<5, 3>>(g, "x");
  const auto weights = parameters<Weights>(g);
  const auto y = op::tanh(op::matmul(x, weights.w) + weights.b);
  const AnyTensor loss = op::sum(y * y, {.keepdims = 0});
  g.rename(loss.id, "loss");
  if (by_train) {
    train(g, loss, optimizer);
    return g;
  }
  const TensorId wanted[] = {weights.w.id, weights.b.id};
  const std::vector<TensorId> d = differentiate(g, loss.id, wanted);
  const Weights gradients{{&g, d[0]}, {&g, d[1]}};
  for_pairs(weights, gradients, [&](auto w, auto dw) { optimizer.update(w, dw); });
  return g;
}

}  // namespace

// The law: update() and train() are one recorder.
TEST_CASE("optimizer: the library's over two structs do what train() does, bit for bit") {
  const auto check = [](const auto& optimizer) {
    Session mine(layer(optimizer, false), {.outputs = {"loss"}});
    Session trained(layer(optimizer, true), {.outputs = {"loss"}});
    mine.set_weights(trained.weights());
    Array<float> x({5, 3});
    for (int step = 0; step < 4; ++step) {
      if (step == 2 && trained.has("learning_rate")) {
        for (Session* session : {&mine, &trained}) session->set("learning_rate", 0.5f);
      }
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) + step);
      const float a = mine.run({{"x", x}})[0].values<float>()[0];
      const float b = trained.run({{"x", x}})[0].values<float>()[0];
      CHECK(a == b);
      for (const char* name : {"w", "b"}) CHECK(values(mine, name) == values(trained, name));
    }
    CHECK(mine.has("Accl1___w") == trained.has("Accl1___w"));
  };
  check(Adam{});
  check(Adam{.learning_rate = variable{0.1f}, .weight_decay = 0.125f, .lamb = true});
  check(Sgd{.learning_rate = variable{0.1f}, .momentum = fixed<0.5f>{}});
  check(Adaptive{.kind = AdaptiveKind::centered_rmsprop, .momentum = 0.5f});
}

namespace {

/// A graph of the compiler's: forward, gradients and the update of an optimizer.
template <class Optimizer>
constexpr Graph by_compiler(const Optimizer& optimizer) {
  Graph g;
  const auto x = input<float, Shape<2, 3>>(g, "x");
  const auto w = parameter<float, Shape<3, 4>>(g, "w");
  const AnyTensor loss = op::mean(op::relu(op::matmul(x, w)), {.keepdims = 0});
  train<op::MatMul, op::Relu, op::ReduceMean>(g, loss, optimizer);
  return g;
}
template <class Optimizer>
constexpr std::size_t own_nodes(const Optimizer& optimizer) {
  Graph g;
  const auto w = parameter<float, Shape<3, 4>>(g, "w");
  optimizer.update(w, w * 2.f);
  return g.nodes.size();
}
static_assert(by_compiler(SignSgd<variable>{}).find("Momentum___w") != no_tensor);
static_assert(by_compiler(SignSgd<>{}).find("UpdatedVar___w") != no_tensor);
static_assert(own_nodes(Adam{}) == 3);  // w * 2, the numbers, the update

}  // namespace

TEST_CASE("optimizer: what cannot be") {
  struct Nothing {
    void update(AnyTensor, AnyTensor) const {}
  };
  const auto refused = [](auto optimizer, const TrainOptions& options = {}) {
    return error_of([&] {
      Linear m = linear();
      train(m.graph, m.loss_in_graph(), optimizer, options);
    });
  };
  CHECK(refused(SignSgd{}) == "no error");
  CHECK(contains(refused(Nothing{}), "usage: "));
  CHECK(contains(refused(Nothing{}), "does not change the weight"));
  CHECK(contains(refused(SignSgd{}, {.specific = {{"w", {{"momentum", 0.f}}}}}),
                 "no such hyperparameter"));
  CHECK(contains(refused(SignSgd{}, {.specific = {{"w", {{"nesterov", 1.f}}}}}),
                 "no such hyperparameter"));
  CHECK(contains(refused(SignSgd{}, {.automatic_loss_scaling = {.enabled = true}}), "may change"));

  const auto updated = [](const auto& optimizer, bool of_input = false) {
    return error_of([&] {
      Linear m = linear();
      const AnyTensor w = m.graph["w"], x = m.graph["x"];
      optimizer.update(of_input ? x : w, x);
      optimizer.update(w, x);
    });
  };
  CHECK(updated(Sgd{.learning_rate = variable{1}}) == "no error");
  CHECK(contains(updated(Sgd{}, true), "no variable"));
  CHECK(contains(updated(SignSgd{}, true), "no variable"));
  CHECK(contains(updated(Sgd{.learning_rate = -1}), "learning_rate"));
  CHECK(contains(updated(Adam{.loss_scaling = variable{1}, .scaled_optimizer_state = true}),
                 "train()'s alone"));
  Linear m = linear();
  const AnyTensor w = m.graph["w"];
  Sgd{.learning_rate = variable{1}}.update(w, w);
  CHECK(contains(error_of([&] { Sgd{.learning_rate = variable{2}}.update(w, w); }),
                 "start with one value"));
}
