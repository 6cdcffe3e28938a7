#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "../allocations.hpp"
#include "../error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

/// sum = a + b; product = sum * w, with a variable w = {2, 3}.
Graph small_graph() {
  Graph g;
  const AnyTensor a = g.input<float>("a", {2});
  const AnyTensor b = g.input<float>("b", {2});
  const float weights[] = {2, 3};
  const Tensor<float, Shape<2>> w =
      parameter<float, Shape<2>>(g, "w", std::span<const float>(weights));
  const AnyTensor sum = op::add(a, b);
  g.rename(sum.id, "sum");
  output(g, op::mul(sum, w), "product");
  return g;
}

std::vector<float> floats(const AnyView& view) {
  const std::span<const float> values = view.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("session: inputs by name in any order, results by name, number and handle") {
  Graph g = small_graph();
  const AnyTensor product = g["product"];
  Session net(std::move(g));
  const Array<float> a({2}, {1, 2}), b({2}, {10, 20});
  Result result = net.run({{"a", a}, {"b", b}});
  CHECK(floats(result["product"]) == std::vector<float>{22, 66});
  result = net.run({{"b", a}, {"a", a}});
  CHECK(floats(result[0]) == std::vector<float>{4, 12});
  CHECK(floats(result[product]) == std::vector<float>{4, 12});
  CHECK(result.size() == 1);
  CHECK(result.name(0) == "product");
  const float raw[] = {5, 5};
  const std::int64_t extents[] = {2};
  const View<const float> view{raw, extents, 1};
  CHECK(floats(net.run({{"a", view}, {"b", a}})["product"]) == std::vector<float>{12, 21});
}

TEST_CASE("session: what does not fit is an InputError that says what there is") {
  Session net(small_graph());
  const Array<float> good({2}, {1, 2}), long_one({3}), flat({1, 2});
  const Array<double> wide({2});
  auto run = [&](std::vector<Input> inputs) { return error_of([&] { net.run(inputs); }); };
  std::string text = run({{"a", good}});
  CHECK(contains(text, "input is missing"));
  CHECK(contains(text, "'b'"));
  CHECK(contains(text, "[2] float"));
  text = run({{"a", good}, {"b", good}, {"c", good}});
  CHECK(contains(text, "the model has no input of this name"));
  CHECK(contains(text, "'c'"));
  CHECK(contains(text, "'a', 'b'"));
  CHECK(contains(text, "'w'") == false);  // not among the optional inputs here
  text = run({{"a", good}, {"a", good}});
  CHECK(contains(text, "given twice"));
  text = run({{"a", good}, {"b", long_one}});
  CHECK(contains(text, "another shape"));
  CHECK(contains(text, "[3] float"));
  CHECK(contains(run({{"a", good}, {"b", flat}}), "too many dimensions"));
  text = run({{"a", good}, {"b", wide}});
  CHECK(contains(text, "another element type"));
  CHECK(contains(text, "[2] double"));
  CHECK(contains(run({{"a", good}, {"b", AnyView{good.info(), nullptr}}}), "no elements"));
  CHECK(contains(run({{"a", good}, {"b", AnyView{}}}), "needs a type and a shape"));
  CHECK(contains(run({}), "inputs are missing: 'a', 'b'"));
  CHECK_THROWS_AS(net.run({{"a", good}}), InputError);
  text = error_of([&] { net.run({{"a", good}, {"b", good}})["logits"]; });
  CHECK(contains(text, "'logits'"));
  CHECK(contains(text, "'product'"));
  // An error leaves the session as good as it was.
  CHECK(floats(net.run({{"a", good}, {"b", good}})[0]) == std::vector<float>{4, 12});
}

TEST_CASE("session: any tensor may be returned, named by name or handle") {
  Graph g = small_graph();
  const AnyTensor product = g["product"];
  Session net(std::move(g), {.outputs = {"sum", product}});
  const Array<float> a({2}, {1, 2});
  const Result result = net.run({{"a", a}, {"b", a}});
  CHECK(floats(result["sum"]) == std::vector<float>{2, 4});
  CHECK(floats(result["product"]) == std::vector<float>{4, 12});
  CHECK(net.graph().outputs.size() == 1);  // the model is what it was

  const std::string text = error_of([] { Session(small_graph(), {.outputs = {"nothing"}}); });
  CHECK(contains(text, "'nothing'"));
  CHECK(contains(text, "'product'"));
  CHECK_THROWS_AS(Session(small_graph(), {.outputs = {"sum", "sum"}}), UsageError);
}

TEST_CASE("session: a tensor without elements needs no memory") {
  Graph g;
  output(g, op::relu(g.input<float>("x", {0, 3})), "y");
  Session net(std::move(g));
  const Session::Output to[] = {{"y", {{ElementType::float32, {0, 3}}, nullptr}}};
  const Input from[] = {{"x", Array<float>({0, 3})}};
  net.run(from, to);
  CHECK_THROWS_AS(net.run(from, std::span<const Session::Output>()), InputError);
}

TEST_CASE("session: an output that the graph has twice is returned twice") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2});
  const AnyTensor y = op::neg(x);
  output(g, y, "y");
  output(g, y);
  output(g, op::abs(x), "z");
  Session net(std::move(g));
  const Array<float> a({2}, {1, -2});
  for (int i = 0; i < 2; ++i) {
    const Result result = net.run({{"x", a}});
    REQUIRE(result.size() == 3);
    CHECK(floats(result[0]) == std::vector<float>{-1, 2});
    CHECK(floats(result[1]) == std::vector<float>{-1, 2});
    CHECK(floats(result[2]) == std::vector<float>{1, 2});
  }
}

TEST_CASE("session: numbers that there are not, other graphs and moved sessions are errors") {
  Session net(small_graph());
  const Array<float> a({2}, {1, 2});
  const Result result = net.run({{"a", a}, {"b", a}});
  CHECK_THROWS_AS(static_cast<void>(result.name(1)), InputError);
  CHECK_THROWS_AS(static_cast<void>(net.anchor(1)), InputError);
  CHECK_THROWS_AS(static_cast<void>(net.returned_shape(1)), InputError);
  CHECK_THROWS_AS(static_cast<void>(net.given_shape(2)), InputError);
  CHECK_THROWS_AS(static_cast<void>(net.weights().name(1)), InputError);
  CHECK_THROWS_AS(static_cast<void>(net.weights()[1]), InputError);
  const Session moved = std::move(net);
  CHECK_THROWS_AS(net.run({{"a", a}, {"b", a}}), UsageError);
  CHECK_THROWS_AS(static_cast<void>(net.graph()), UsageError);
  CHECK(moved.graph().outputs.size() == 1);

  Graph one, other;
  const AnyTensor x = one.input<float>("x", {2});
  const std::string text = error_of([&] { output(other, x, "y"); });
  CHECK(contains(text, "'x'"));
  CHECK_THROWS_AS(output(one, AnyTensor{}), UsageError);
  CHECK(other.outputs.empty());
}

TEST_CASE("session: variables are read, written and kept in the graph") {
  Session net(small_graph());
  const Array<float> a({2}, {1, 2});
  CHECK(floats(net.get("w")) == std::vector<float>{2, 3});
  net.set("w", Array<float>({2}, {1, 1}));
  CHECK(floats(net.run({{"a", a}, {"b", a}})[0]) == std::vector<float>{2, 4});
  CHECK(floats(net.get("w")) == std::vector<float>{1, 1});
  // The law: a session of a session's graph is the same session.
  Session copy(net.graph());
  CHECK(floats(copy.run({{"a", a}, {"b", a}})[0]) == std::vector<float>{2, 4});
  net.set("w", Array<float>({2}, {7, 7}));
  CHECK(floats(copy.get("w")) == std::vector<float>{1, 1});

  CHECK(contains(error_of([&] { net.set("w", Array<float>({3})); }), "[3] float"));
  CHECK(contains(error_of([&] { net.set("w", 1.f); }), "single number"));
  CHECK(contains(error_of([&] { net.get("sum"); }), "not a variable"));
  CHECK(contains(error_of([&] { net.get("v"); }), "variables are 'w'"));
}

TEST_CASE("session: numbers become elements of a variable's type") {
  Graph g;
  const AnyTensor x = g.input<half>("x", {});
  const Tensor<half, Shape<>> rate = parameter<half, Shape<>>(g, "rate", zeros);
  output(g, op::mul(x, rate), "y");
  Session net(std::move(g));
  net.set("rate", 0.5);
  const Array<half> three({}, {half(3.f)});
  CHECK(static_cast<float>(net.run({{"x", three}})[0].values<half>()[0]) == 1.5f);
  net.set("rate", 2);
  CHECK(static_cast<float>(net.run({{"x", three}})[0].values<half>()[0]) == 6.f);
}

TEST_CASE("session: optional inputs replace a variable for one run") {
  Graph g = small_graph();
  g.optional_inputs.push_back(g.find("w"));
  Session net(std::move(g));
  const Array<float> a({2}, {1, 2}), other({2}, {10, 10});
  CHECK(floats(net.run({{"a", a}, {"b", a}, {"w", other}})[0]) == std::vector<float>{20, 40});
  CHECK(floats(net.get("w")) == std::vector<float>{2, 3});
  CHECK(floats(net.run({{"a", a}, {"b", a}})[0]) == std::vector<float>{4, 12});
  CHECK(floats(net.run({{"w", other}, {"a", a}, {"b", a}})[0]) == std::vector<float>{20, 40});
  CHECK(floats(net.graph().tensor(net.graph().find("w")).data.size() == 8
                   ? net.get("w")
                   : AnyView{}) == std::vector<float>{2, 3});
  const std::string text =
      error_of([&] { net.run({{"a", a}, {"b", a}, {"w", Array<float>({1})}}); });
  CHECK(contains(text, "does not fit the variable"));
  CHECK(contains(error_of([&] { net.run({{"a", a}, {"b", a}, {"w", other}, {"w", other}}); }),
                 "given twice"));
  CHECK(floats(net.get("w")) == std::vector<float>{2, 3});
}

TEST_CASE("session: a symbol has one value in a run, and may have another in the next") {
  Graph g;
  const AnyTensor a = g.input<float>("a", {dynamic, 2});
  const AnyTensor b = g.input<float>("b", {dynamic, 2});
  g.symbols.push_back({a.id, 0, g.store_name("batch")});
  g.symbols.push_back({b.id, 0, g.store_name("batch")});
  output(g, op::add(a, b), "y");
  Session net(std::move(g));
  const Array<float> one({1, 2}, {1, 2}), two({2, 2}, {1, 2, 3, 4});
  CHECK(net.run({{"a", one}, {"b", one}})["y"].info.shape == Dims{1, 2});
  CHECK(floats(net.run({{"a", two}, {"b", two}})["y"]) == std::vector<float>{2, 4, 6, 8});
  const std::string text = error_of([&] { net.run({{"a", two}, {"b", one}}); });
  CHECK(contains(text, "batch = 2 as in 'a'"));
  CHECK(contains(text, "batch = 1"));
  // Both are as they were in runs of their own, but not together.
  CHECK_THROWS_AS(net.run({{"a", two}, {"b", one}}), InputError);
  CHECK(net.run({{"a", one}, {"b", one}})["y"].info.shape == Dims{1, 2});
  CHECK(contains(error_of([&] { net.run({{"a", one}, {"b", Array<float>({1, 3})}}); }),
                 "[batch, 2] float"));
}

TEST_CASE("session: several micro-batches in a run") {
  // values of a + b for b = 0 are those of a: micro-batches 0..5 have 0,1 | 2,3 | ... | 10,11
  const Array<float> a({3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const Array<float> b({6, 2});  // any leading dimensions that have six in all
  auto run = [&](std::vector<Anchor> outputs) {
    return Session(small_graph(), {.outputs = outputs, .batches_per_step = 3, .accumulation = 2});
  };
  {
    Session net = run({"sum"});
    const AnyView all = net.run({{"a", a}, {"b", b}})["sum"];
    CHECK(all.info.shape == Dims{3, 2, 2});
    CHECK(floats(all) == floats(a));
    CHECK(net.returned_shape(0) == Dims{3, 2, 2});
  }
  {
    Session net = run({{"sum", Return::final}});
    const AnyView last = net.run({{"a", a}, {"b", b}})["sum"];
    CHECK(last.info.shape == Dims{2});
    CHECK(floats(last) == std::vector<float>{10, 11});
  }
  {
    Session net = run({{"sum", Return::sum}});
    const AnyView total = net.run({{"a", a}, {"b", b}})["sum"];
    CHECK(floats(total) == std::vector<float>{0 + 2 + 4 + 6 + 8 + 10, 1 + 3 + 5 + 7 + 9 + 11});
    CHECK(floats(net.run({{"a", a}, {"b", b}})["sum"]) == std::vector<float>{30, 36});
  }
  {
    Session net = run({{"sum", Return::every_n, 3}, "product"});
    const Result result = net.run({{"a", a}, {"b", b}});
    CHECK(result["sum"].info.shape == Dims{2, 2});  // a leading one is left out
    CHECK(floats(result["sum"]) == std::vector<float>{8, 9, 10, 11});
    CHECK(result["product"].info.shape == Dims{3, 2, 2});
  }
  {
    Session net = run({"sum"});
    const Array<float> five({5, 2}), plain({2});
    CHECK(contains(error_of([&] { net.run({{"a", a}, {"b", five}}); }), "micro-batches"));
    CHECK(contains(error_of([&] { net.run({{"a", a}, {"b", plain}}); }), "[3, 2, 2] float"));
  }
}

TEST_CASE("session: a run allocates nothing once shapes were seen") {
  Session net(small_graph());
  Session steps(small_graph(), {.batches_per_step = 2});
  const Array<float> a({2}, {1, 2}), two({2, 2});
  float first = 0;
  for (int i = 0; i < 3; ++i) {
    const std::size_t before = allocations();
    first = net.run({{"a", a}, {"b", a}})["product"].values<float>()[0];
    steps.run({{"a", two}, {"b", two}});
    if (i > 0) CHECK(allocations() == before);
  }
  CHECK(first == 4);
}
