#include <halftone/function.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <halftone/halftone.hpp>

#include "error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

template <std::int64_t... D>
using F = Tensor<float, Shape<D...>>;
using Number = F<>;

template <int B, int In, int Out>
struct Linear {
  struct Weights {
    F<In, Out> W;
    F<Out> b;
    constexpr void tensors(auto&& visit) {
      visit("W", W);
      visit("b", b);
    }
  };
  constexpr auto operator()(F<B, In> x, Weights w) const { return op::matmul(x, w.W) + w.b; }
};
struct TwoLayers {
  Linear<2, 3, 4>::Weights first;
  std::array<F<4>, 2> scales;
  constexpr void tensors(auto&& visit) {
    visit("first", first);
    visit("scales", scales);
  }
};

constexpr auto sum_of = [](Number a, Number b) { return a + b; };
constexpr auto one_less = [](Number a) { return a - 1.f; };

Array<float> number(float value) { return Array<float>(Dims{}, {value}); }

template <class F, class... A>
constexpr bool can_call = requires(const F& f, const A&... a) { call(f, a...); };

/// What a program would do with a body: recorded in constant evaluation.
constexpr bool records_once() {
  Graph g;
  const auto layer = function(Linear<2, 3, 4>{});
  const auto x = input<float, Shape<2, 3>>(g, "x");
  const auto y = call(layer, x, parameters<Linear<2, 3, 4>::Weights>(g, "a"));
  const auto z = call(layer, x, parameters<Linear<2, 3, 4>::Weights>(g, "b"));
  static_assert(std::is_same_v<decltype(y), const F<2, 4>>);
  return g.graphs.size() == 1 && g.nodes.size() == 2 && y.id != z.id && g.find("b.W") != no_tensor;
}
static_assert(records_once());

// What does not fit does not compile.
using Layer = Function<F<2, 4>(F<2, 3>, Linear<2, 3, 4>::Weights)>;
static_assert(can_call<Layer, F<2, 3>, Linear<2, 3, 4>::Weights>);
static_assert(!can_call<Layer, F<2, 5>, Linear<2, 3, 4>::Weights>);
static_assert(!can_call<Layer, F<2, 3>, Linear<2, 4, 4>::Weights>);
static_assert(!can_call<Layer, F<2, 3>>);
static_assert(!can_call<Layer, AnyTensor, Linear<2, 3, 4>::Weights>);

// The type of such a call is the compiler's message.
template <class F, class... A>
using refusal = decltype(call(std::declval<const F&>(), std::declval<const A&>()...));
template <class Y>
constexpr std::string_view said = "nothing";
template <auto What, auto Expected, auto Found>
constexpr std::string_view said<shape_mismatch<What, Expected, Found>> =
    What == "call: an argument has another extent" && Expected == 3 && Found == 5 ? "extent 3, 5"
    : What == "call: an argument has another rank" && Expected == 2 && Found == 1 ? "rank 2, 1"
    : What == "call: another number of arguments" && Expected == 2 && Found == 1  ? "number 2, 1"
    : What == "call: no such argument, at number" && Expected == 1 && Found == 1  ? "argument 1"
                                                                                  : "else";
template <auto What, auto Expected, auto Found>
  requires(Expected == "float")
constexpr std::string_view said<shape_mismatch<What, Expected, Found>> =
    What == "call: an argument has another type" && Found == "double" ? "float, double" : "else";
using Weights = Linear<2, 3, 4>::Weights;
static_assert(said<refusal<Layer, F<2, 5>, Weights>> == "extent 3, 5");
static_assert(said<refusal<Layer, F<2>, Weights>> == "rank 2, 1");
static_assert(said<refusal<Layer, F<2, 3>>> == "number 2, 1");
static_assert(said<refusal<Layer, F<2, 3>, Linear<2, 4, 4>::Weights>> == "argument 1");
static_assert(said<refusal<Layer, Tensor<double, Shape<2, 3>>, Weights>> == "float, double");
static_assert(detail::goes_round<Number, Number, Number>());
static_assert(!detail::goes_round<F<1>, Number>());
static_assert(!detail::goes_round<std::tuple<Number, Number>, Number>());

}  // namespace

TEST_CASE("function: parts of structs and arrays are called like their members, joined by dots") {
  Graph g;
  const TwoLayers w = parameters<TwoLayers>(g, "net");
  CHECK(w.first.W.name() == "net.first.W");
  CHECK(w.scales[1].name() == "net.scales.1");
  CHECK(g.tensor(w.first.W.id).initial.rule == Initial::Rule::glorot);
  CHECK(g.tensor(w.first.b.id).initial.rule == Initial::Rule::fill);
  const TwoLayers own = parameters<TwoLayers>(
      g, "", [](std::string_view, const TensorInfo&) { return detail::initial(ones); });
  CHECK(own.first.W.name() == "first.W");
  CHECK(g.tensor(own.first.W.id).initial.a == 1);
  const auto f = function([](F<2, 3> x, TwoLayers v) {
    return (op::matmul(x, v.first.W) + v.first.b) * v.scales[0] - v.scales[1];
  });
  CHECK(f.body.name(f.body.inputs[3]) == "scales.0");
  CHECK(f.body.inputs.size() == 5);
}

// (x w + b) for two sets of weights, added up: numbers from the formula.
TEST_CASE("function: a body runs with what each call gives it") {
  Graph g;
  const auto layer = function(Linear<2, 3, 4>{});
  const auto x = input<float, Shape<2, 3>>(g, "x");
  const auto weights = [&](float w, float b, std::string_view name) {
    return parameters<Linear<2, 3, 4>::Weights>(
        g, name, [=](std::string_view, const TensorInfo& info) {
          return detail::initial(filled{info.rank() == 2 ? w : b});
        });
  };
  const auto y = call(layer, x, weights(2, 1, "a")) + call(layer, x, weights(-1, 5, "b"));
  output(g, y, "y");
  CHECK(g.graphs.size() == 1);
  Session session(std::move(g));
  const Result result = session.run({{"x", Array<float>({2, 3}, {1, 2, 3, 4, 5, 6})}});
  for (int i = 0; i < 8; ++i) {
    const float sum = i < 4 ? 6 : 15;
    CHECK(result["y"].values<float>()[static_cast<std::size_t>(i)] == 2 * sum + 1 - sum + 5);
  }
}

TEST_CASE("function: functions call functions, and give several results") {
  Graph g;
  const auto half = function([](Number a) { return a * 0.5f; });
  const auto both = function(
      [&](Number a, Number b) { return std::tuple(call(half, a + b), call(half, a - b)); });
  const auto a = input<float, Shape<>>(g, "a"), b = input<float, Shape<>>(g, "b");
  const auto [mean, difference] = call(both, a, b);
  output(g, mean, "mean");
  output(g, difference, "difference");
  Session session(std::move(g));
  const Result result = session.run({{"a", number(7)}, {"b", number(3)}});
  CHECK(result["mean"].values<float>()[0] == 5);
  CHECK(result["difference"].values<float>()[0] == 2);
}

TEST_CASE("function: call_with_info finds the caller's tensors and the body's") {
  Graph g;
  const auto f = function(sum_of);
  const auto a = input<float, Shape<>>(g, "a"), b = input<float, Shape<>>(g, "b");
  const auto site = call_with_info(f, a, b);
  CHECK(site.outer(f.body.inputs[1]).id == b.id);
  CHECK(site.outer(f.body.outputs[0]).id == site.out.id);
  CHECK(site.inner(a) == f.body.inputs[0]);
  CHECK(site.modified.empty());
  CHECK_THROWS_AS(site.inner(input<float, Shape<>>(g, "c")), UsageError);
}

TEST_CASE("repeat: what is given by reference is changed in every pass") {
  Graph g;
  const auto total = parameter<float, Shape<>>(g, "total", zeros);
  const auto x = input<float, Shape<>>(g, "x");
  // The state doubles from pass to pass, the variable sums it up: 1 + 2 + 4 + 8.
  const auto step = function([](Number state, by_ref<Number> sum) {
    op::copy_var_update(*sum, *sum + state);
    return state + state;
  });
  output(g, repeat(step, 4, x, total), "y");
  Session session(std::move(g));
  CHECK(session.run({{"x", number(1)}})["y"].values<float>()[0] == 16);
  CHECK(session.get("total").values<float>()[0] == 15);
  session.run({{"x", number(2)}});
  CHECK(session.get("total").values<float>()[0] == 45);

  Graph wrong;
  const auto state = parameter<float, Shape<>>(wrong, "state", zeros);
  const auto in_place = function([](by_ref<Number> a) {
    op::copy_var_update(*a, *a + 1.f);
    return *a;
  });
  CHECK(contains(error_of([&] { repeat(in_place, 2, state); }), "goes from pass to pass"));
}

TEST_CASE("function: what is given by reference is changed by the call") {
  const auto count = function([](by_ref<Number> counter, Number by) {
    op::copy_var_update(*counter, *counter + by);
    return *counter * 1.f;
  });
  Graph g;
  const auto counter = parameter<float, Shape<>>(g, "counter", zeros);
  const auto by = input<float, Shape<>>(g, "by");
  const auto before = op::identity(counter) * 1.f;
  const auto site = call_with_info(count, counter, by);
  CHECK(site.modified == std::vector<TensorId>{counter.id});
  call(count, counter, by);
  output(g, before, "before");
  output(g, counter * 1.f, "after");
  Session session(std::move(g));
  for (int run = 0; run < 3; ++run) {
    const Result result = session.run({{"by", number(2)}});
    CHECK(result["before"].values<float>()[0] == static_cast<float>(4 * run));
    CHECK(result["after"].values<float>()[0] == static_cast<float>(4 * run + 4));
  }
}

TEST_CASE("function: a graph's input or a constant cannot be changed") {
  const auto clear = function([](by_ref<F<2>> x) {
    op::copy_var_update(*x, *x * 0.f);
    return *x + 1.f;
  });
  Graph g;
  output(g, call(clear, input<float, Shape<2>>(g, "x")), "y");
  const std::string error = error_of([&] { Session session(std::move(g)); });
  CHECK_MESSAGE(contains(error, "changes a tensor that is no variable"), error);
  CHECK_MESSAGE(contains(error, "'x'"), error);
}

// 8 + 8 * 1 + 2: each pass adds b to a.
TEST_CASE("function: repeat hands results to the next pass, and without passes gives the inputs") {
  Graph g;
  const auto inc = function(sum_of);
  const auto a = input<float, Shape<>>(g, "a"), b = input<float, Shape<>>(g, "b");
  output(g, repeat(inc, 8, a, b), "eight");
  CHECK(repeat(inc, 0, a, b).id == a.id);
  const auto swap = function([](Number x, Number y) { return std::tuple(y, x); });
  const auto [c, d] = repeat(swap, 3, a, b);
  output(g, c, "c");
  output(g, d, "d");
  CHECK_THROWS_AS(repeat(inc, -1, a, b), UsageError);
  Session session(std::move(g));
  const Result result = session.run({{"a", number(10)}, {"b", number(1)}});
  CHECK(result["eight"].values<float>()[0] == 18);
  CHECK(result["c"].values<float>()[0] == 1);
  CHECK(result["d"].values<float>()[0] == 10);
}

TEST_CASE("function: conditional runs one of two functions") {
  Graph g;
  const auto inc = function(sum_of);
  const auto dec = function(one_less);
  const auto a = input<float, Shape<>>(g, "a"), b = input<float, Shape<>>(g, "b");
  const auto c = input<bool, Shape<>>(g, "c");
  output(g, conditional(c, then(inc, a, b), otherwise(dec, a)), "y");
  Session session(std::move(g));
  for (const bool yes : {true, false}) {
    const Result result =
        session.run({{"a", number(3)}, {"b", number(4)}, {"c", Array<bool>(Dims{}, {yes})}});
    CHECK(result["y"].values<float>()[0] == (yes ? 7 : 2));
  }
  Graph other;
  const auto x = input<float, Shape<>>(other, "x");
  const auto two = input<bool, Shape<2>>(other, "two");
  CHECK(contains(error_of([&] { conditional(two, then(dec, x), otherwise(dec, x)); }),
                 "not one boolean"));
}

TEST_CASE("function: untyped functions, and graphs with a typed face") {
  const TensorInfo pair{ElementType::float32, {2}};
  const AnyFunction scaled = function(
      [](const std::vector<AnyTensor>& in) {
        return std::vector<AnyTensor>{op::mul(in[0], in[1]), op::neg(in[0])};
      },
      {pair, pair});
  Graph g;
  const AnyTensor x = g.input<float>("x", {2}), y = g.input<float>("y", {2});
  const std::vector<AnyTensor> results = call(scaled, {x, y});
  REQUIRE(results.size() == 2);
  output(g, results[0], "product");
  CHECK_THROWS_AS(call(scaled, {x}), ShapeError);

  Graph model;
  output(model, op::exp(op::neg(model.input<float>("t", {2}))), "e");
  const auto decay = function<F<2>(F<2>)>(model);
  output(g, call(decay, x.as<F<2>>()), "decay");
  CHECK_THROWS_AS((function<F<2>(F<3>)>(model)), ShapeError);
  CHECK_THROWS_AS((function<F<2>(F<2>, F<2>)>(model)), ShapeError);
  CHECK_THROWS_AS((function<std::tuple<>(F<2>)>(model)), ShapeError);
  Graph unset;
  output(unset, op::add(unset.input<float>("t", {2}), parameter<float, Shape<2>>(unset, "w")), "s");
  CHECK(contains(error_of([&] { function(std::move(unset)); }), "'w'"));

  Session session(std::move(g));
  const Result result =
      session.run({{"x", Array<float>({2}, {0, 3})}, {"y", Array<float>({2}, {5, 2})}});
  CHECK(result["product"].values<float>()[1] == 6);
  CHECK(result["decay"].values<float>()[0] == 1);  // e^0
}

TEST_CASE("function: tensors of two graphs do not go together") {
  Graph g, other;
  const auto f = function(sum_of);
  const auto a = input<float, Shape<>>(g, "a"), b = input<float, Shape<>>(other, "b");
  CHECK_THROWS_AS(call(f, a, b), UsageError);
  CHECK_THROWS_AS(function([&](Number x) { return x + b; }), UsageError);
}
