// Gradients of functions: equal to those of the same nodes without functions, bit for bit.
#include <halftone/autodiff.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "error_of.hpp"

using namespace halftone;

namespace {

template <std::int64_t... D>
using F = Tensor<float, Shape<D...>>;

struct Layer {
  struct Weights {
    F<3, 3> W;
    F<3> b;
    constexpr void tensors(auto&& visit) {
      visit("W", W);
      visit("b", b);
    }
  };
  constexpr auto operator()(F<2, 3> x, Weights w) const {
    return op::tanh(op::matmul(x, w.W) + w.b);
  }
};

const Array<float> x_values({2, 3}, {1, -2, 3, .5f, 0, 1});
const Array<float> dy_values({2, 3}, {1, 2, -3, 4, .25f, 6});

std::string bytes_of(const AnyView& view) {
  return {static_cast<const char*>(view.data), view.bytes()};
}
/// The values of tensors when x and dy are given, as bytes.
std::vector<std::string> values(const Graph& graph, std::vector<Anchor> outputs, int runs = 1) {
  Session session(graph, {.outputs = std::move(outputs), .seed = 5});
  std::vector<std::string> all;
  for (int run = 0; run < runs; ++run) {
    const Result result = session.run({{"x", x_values}, {"dy", dy_values}});
    for (std::size_t i = 0; i < result.size(); ++i) all.push_back(bytes_of(result[i]));
  }
  return all;
}

}  // namespace

TEST_CASE("autodiff: gradients of one call are those of the flat graph") {
  for (const bool before : {false, true}) {
    CAPTURE(before);
    Graph g;
    const auto x = input<float, Shape<2, 3>>(g, "x"), dy = input<float, Shape<2, 3>>(g, "dy");
    const auto w = parameters<Layer::Weights>(g, "w");
    const auto layer = function(Layer{});
    auto gradient = before ? autodiff(layer) : decltype(autodiff(layer)){};
    const auto site = call_with_info(layer, x, w);
    const auto other = call_with_info(layer, site.out, w);
    if (!before) gradient = autodiff(layer);
    const auto [dx, dw] = call(gradient, site, dy);
    static_assert(std::is_same_v<decltype(dx), const F<2, 3>>);
    static_assert(std::is_same_v<decltype(dw), const Layer::Weights>);
    // The backward body takes x w + b from the call; the other call stays as it was.
    CHECK(g.nodes[site.node].outputs.size() == 2);
    CHECK(g.nodes[other.node].outputs.size() == 1);

    const auto flat = Layer{}(x, w);
    const TensorId outputs[]{flat.id}, d_outputs[]{dy.id}, wanted[]{x.id, w.W.id, w.b.id};
    const std::vector<TensorId> d = differentiate(g, outputs, d_outputs, wanted);
    const std::vector<std::string> all =
        values(g, {dx, AnyTensor{&g, d[0]}, dw.W, AnyTensor{&g, d[1]}, dw.b, AnyTensor{&g, d[2]}});
    for (std::size_t i = 0; i < all.size(); i += 2) CHECK(all[i] == all[i + 1]);
  }
}

TEST_CASE("autodiff: a call gives what the backward body needs beside its results") {
  Graph g;
  const auto x = input<float, Shape<2, 3>>(g, "x"), dy = input<float, Shape<2, 3>>(g, "dy");
  const auto f = function([](F<2, 3> a) { return op::exp(op::sin(a)) * 2.f; });
  const auto site = call_with_info(f, x), other = call_with_info(f, x);
  const auto dx = call(autodiff(f), site, dy);
  CHECK(g.nodes[site.node].outputs.size() == 2);  // exp(sin x), too
  CHECK(g.nodes[other.node].outputs.size() == 1);
  // A second gradient of the same call asks for nothing more.
  const auto again = call(autodiff(f), site, dy);
  CHECK(g.nodes[site.node].outputs.size() == 2);
  const auto formula = dy * (op::exp(op::sin(x)) * 2.f) * op::cos(x);
  Session session(std::move(g), {.outputs = {dx, again, formula}});
  const Result result = session.run({{"x", x_values}, {"dy", dy_values}});
  for (std::size_t i = 0; i < 6; ++i) {
    const float expected = result[2].values<float>()[i];
    CHECK(result[0].values<float>()[i] == doctest::Approx(expected));
    CHECK(result[1].values<float>()[i] == result[0].values<float>()[i]);
  }
}

TEST_CASE("autodiff: only what is asked for") {
  Graph g;
  const auto x = input<float, Shape<2, 3>>(g, "x"), dy = input<float, Shape<2, 3>>(g, "dy");
  const auto w = parameters<Layer::Weights>(g, "w");
  const auto layer = function(Layer{});
  const auto gradient = autodiff(layer, {.required = {2}});
  CHECK(gradient.of.backward.outputs.size() == 1);
  const auto [dx, dw] = call(gradient, call_with_info(layer, x, w), dy);
  CHECK(dx.id == no_tensor);
  CHECK(dw.W.id == no_tensor);
  CHECK(dw.b.id != no_tensor);
  CHECK_THROWS_AS(autodiff(layer, {.required = {3}}), ShapeError);
  CHECK_THROWS_AS(autodiff(layer, {.provided = {1}}), ShapeError);
}

TEST_CASE("autodiff: supplied gradients of functions inside give the same without running twice") {
  const auto inner = function(Layer{});
  const auto outer = function(
      [&](F<2, 3> x, Layer::Weights w) { return call(inner, op::relu(call(inner, x, w)), w); });
  Graph g;
  const auto x = input<float, Shape<2, 3>>(g, "x"), dy = input<float, Shape<2, 3>>(g, "dy");
  const auto w = parameters<Layer::Weights>(g, "w");
  const auto site = call_with_info(outer, x, w), site2 = call_with_info(outer, x, w);
  const auto plain = autodiff(outer);
  const auto with = autodiff(outer, {.called = {autodiff(inner).of}});
  const auto [dx, dw] = call(plain, site, dy);
  const auto [dx2, dw2] = call(with, site2, dy);
  const std::vector<std::string> all = values(g, {dx, dx2, dw.W, dw2.W, dw.b, dw2.b});
  for (std::size_t i = 0; i < all.size(); i += 2) CHECK(all[i] == all[i + 1]);
  // The products of the forward bodies are computed another time only without.
  const auto products = [](const Graph& body) {
    std::size_t count = 0;
    for (const Node& node : body.nodes) {
      count += node.op->id == op::MatMul::id;
      for (const std::int32_t index : subgraphs_of(node)) {
        for (const Node& inside : body.graphs[static_cast<std::size_t>(index)].nodes) {
          count += inside.op->id == op::MatMul::id;
        }
      }
    }
    return count;
  };
  CHECK(products(with.of.backward) == 0);
  CHECK(products(plain.of.backward) == 2);
}

// The law: n gradients that are added up are n times one.
TEST_CASE("autodiff: gradients are added to variables") {
  Graph g;
  const auto x = input<float, Shape<2, 3>>(g, "x"), dy = input<float, Shape<2, 3>>(g, "dy");
  const auto w = parameters<Layer::Weights>(g, "w");
  const auto start = [](std::string_view, const TensorInfo&) { return detail::initial(zeros); };
  const auto sums = parameters<Layer::Weights>(g, "sum", start);
  const auto sum_x = parameter<float, Shape<2, 3>>(g, "sum_x", zeros);
  const auto layer = function(Layer{});
  const auto site = call_with_info(layer, x, w);
  const auto gradient = autodiff_with_accumulation(layer);
  accumulate(gradient, site, dy, {sum_x, sums});
  accumulate(gradient, site, dy, {sum_x, sums});
  const auto [dx, dw] = call(autodiff(layer), site, dy);
  const std::vector<Anchor> outputs{sums.W + 0.f, dw.W + dw.W, sum_x + 0.f, dx + dx};
  Session session(g, {.outputs = outputs});
  const Result result = session.run({{"x", x_values}, {"dy", dy_values}});
  CHECK(bytes_of(result[0]) == bytes_of(result[1]));
  CHECK(bytes_of(result[2]) == bytes_of(result[3]));
  CHECK_THROWS_AS(call(gradient, site, dy), UsageError);
  CHECK_THROWS_AS(accumulate(autodiff(layer), site, dy, {sum_x, sums}), UsageError);
}

TEST_CASE("autodiff: refusals") {
  const auto changes = function([](F<2> x) {
    op::copy_var_update(x, x + 1.f);
    return x * 2.f;
  });
  CHECK_THROWS_AS(autodiff(changes), UsageError);
  Graph g;
  const auto x = input<float, Shape<2, 3>>(g, "x"), dy = input<float, Shape<2, 3>>(g, "dy");
  const auto f = function([](F<2, 3> a) { return op::sin(a); });
  const auto h = function([](F<2, 3> a) { return op::cos(a); });
  const auto site = call_with_info(f, x);
  CHECK_THROWS_AS(call(autodiff(h), site, dy), UsageError);  // a call of another function
}

TEST_CASE("autodiff: a repeated function is trained through its passes") {
  Graph g;
  const auto x = input<float, Shape<2, 3>>(g, "x"), dy = input<float, Shape<2, 3>>(g, "dy");
  const auto w = parameters<Layer::Weights>(g, "w");
  const auto layer = function(Layer{});
  const auto y = repeat(layer, 3, x, w);
  const auto flat = Layer{}(Layer{}(Layer{}(x, w), w), w);
  const TensorId d_outputs[]{dy.id}, wanted[]{w.W.id, x.id};
  const TensorId looped[]{y.id}, straight[]{flat.id};
  const std::vector<TensorId> a = differentiate(g, looped, d_outputs, wanted);
  const std::vector<TensorId> b = differentiate(g, straight, d_outputs, wanted);
  Session session(g, {.outputs = {AnyTensor{&g, a[0]}, AnyTensor{&g, b[0]}, AnyTensor{&g, a[1]},
                                  AnyTensor{&g, b[1]}}});
  const Result result = session.run({{"x", x_values}, {"dy", dy_values}});
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(result[0].values<float>()[i] == doctest::Approx(result[1].values<float>()[i]));
  }
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(result[2].values<float>()[i] == doctest::Approx(result[3].values<float>()[i]));
  }
}
