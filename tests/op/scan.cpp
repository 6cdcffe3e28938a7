#include <halftone/op/scan.hpp>

#include <doctest/doctest.h>
#include <halftone/session/session.hpp>

#include <set>
#include <vector>

#include "../onnx/model_bytes.hpp"

namespace test {

using namespace halftone;

namespace {

std::vector<float> floats_of(const Result& result, std::string_view name) {
  const auto values = result[name].values<float>();
  return {values.begin(), values.end()};
}
/// s' = s + slice * w with a captured w, and the slice s' * 10.
Message body(std::initializer_list<Extent> shape) {
  return graph({.nodes = {node("Mul", {"slice", "w"}, {"sw"}), node("Add", {"s", "sw"}, {"next"}),
                          node("Mul", {"next", "ten"}, {"out"})},
                .inputs = {value("s", float32, shape), value("slice", float32, shape)},
                .outputs = {value("next", float32, shape), value("out", float32, shape)}});
}
std::string scan_model(std::initializer_list<Extent> state, std::initializer_list<Extent> x,
                       std::vector<Message> attributes, const Message& inner,
                       std::int64_t version = 11, Names inputs = {"s0", "x"}) {
  attributes.push_back(graph_attribute("body", inner));
  attributes.push_back(integer("num_scan_inputs", 1));
  return model({.nodes = {node("Scan", inputs, {"last", "all"}, {.attributes = attributes})},
                .initializers = {floats("w", {}, {2}), floats("ten", {}, {10})},
                .inputs = {value("s0", float32, state), value("x", float32, x)},
                .outputs = {shapeless("last", float32), shapeless("all", float32)}},
               {.opset = version});
}
Array<float> counted(const Dims& shape) {
  Array<float> x(shape);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 17);
  return x;
}

}  // namespace

TEST_CASE("scan: axes and directions, with shapes known before the run and without") {
  const Array<float> s0({2}, {1, -1});
  struct Form {
    std::int64_t in, out;
    bool back_in, back_out;
  };
  for (const Form& form :
       {Form{0, 0, false, false}, Form{1, 0, false, false}, Form{0, 1, true, false},
        Form{-1, -1, true, true}, Form{-2, -2, false, true}}) {
    const bool rows_in = form.in == 0 || form.in == -2, rows_out = form.out == 0 || form.out == -2;
    CAPTURE(form.in);
    CAPTURE(form.out);
    const std::int64_t length = 5;
    const Array<float> x = counted(rows_in ? Dims{length, 2} : Dims{2, length});
    float s[] = {1, -1};
    std::vector<float> all(10);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t from = form.back_in ? length - 1 - i : i;
      const std::int64_t to = form.back_out ? length - 1 - i : i;
      for (std::int64_t k = 0; k < 2; ++k) {
        s[k] += 2 * x[static_cast<std::size_t>(rows_in ? from * 2 + k : k * length + from)];
        all[static_cast<std::size_t>(rows_out ? to * 2 + k : k * length + to)] = 10 * s[k];
      }
    }
    for (const bool is_open : {false, true}) {
      CAPTURE(is_open);
      const Extent n = is_open ? Extent("n") : Extent(static_cast<int>(length));
      const Extent rows = rows_in ? n : Extent(2), columns = rows_in ? Extent(2) : n;
      Session net(loaded(scan_model({2}, {rows, columns},
                                    {integers("scan_input_axes", {form.in}),
                                     integers("scan_input_directions", {form.back_in}),
                                     integers("scan_output_axes", {form.out}),
                                     integers("scan_output_directions", {form.back_out})},
                                    body({2}))));
      const auto result = net.run({{"s0", s0}, {"x", x}});
      CHECK(floats_of(result, "last") == std::vector<float>{s[0], s[1]});
      CHECK(floats_of(result, "all") == all);
      CHECK(result["all"].info.shape == (rows_out ? Dims{length, 2} : Dims{2, length}));
    }
  }
}

TEST_CASE("scan: nothing to scan, and states whose shape follows from the values") {
  Session net(loaded(scan_model({2}, {0, 2}, {}, body({2}))));
  const auto result = net.run({{"s0", Array<float>({2}, {1, -1})}, {"x", Array<float>({0, 2})}});
  CHECK(floats_of(result, "last") == std::vector<float>{1, -1});
  CHECK(result["all"].info.shape == Dims{0, 2});

  const Message growing = graph(
      {.nodes = {node("Concat", {"s", "slice"}, {"next"}, {.attributes = {integer("axis", 0)}}),
                 node("ReduceSum", {"next"}, {"out"})},
       .inputs = {value("s", float32, {"n"}), value("slice", float32, {2})},
       .outputs = {value("next", float32, {"m"}), shapeless("out", float32)}});
  Session open(loaded(scan_model({1}, {3, 2}, {}, growing, 13)));
  const auto grown = open.run({{"s0", Array<float>({1}, {1})}, {"x", counted({3, 2})}});
  CHECK(floats_of(grown, "last") == std::vector<float>{1, 0, 1, 4, 9, 16, 8});
  CHECK(floats_of(grown, "all") == std::vector<float>{2, 15, 39});
}

TEST_CASE("scan: version 8 has a batch") {
  const Array<float> s0 = counted({2, 3}), x = counted({2, 4, 3});
  for (const bool is_reversed : {false, true}) {
    std::vector<float> last, all;
    for (std::size_t b = 0; b < 2; ++b) {
      std::vector<float> s(s0.begin() + b * 3, s0.begin() + b * 3 + 3);
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t k = 0; k < 3; ++k) {
          s[k] += 2 * x[(b * 4 + (is_reversed ? 3 - i : i)) * 3 + k];
          all.push_back(10 * s[k]);
        }
      }
      last.insert(last.end(), s.begin(), s.end());
    }
    for (const Extent& n : {Extent(4), Extent("n")}) {
      Session net(loaded(scan_model({2, 3}, {2, n, 3}, {integers("directions", {is_reversed})},
                                    body({3}), 8, {"", "s0", "x"})));
      const auto result = net.run({{"s0", s0}, {"x", x}});
      CHECK(floats_of(result, "last") == last);
      CHECK(floats_of(result, "all") == all);
      CHECK(result["all"].info.shape == Dims{2, 4, 3});
    }
  }
  CHECK(error_of(scan_model({2, 3}, {2, 4, 3}, {}, body({3}), 8, {"x", "s0", "x"})).kind() ==
        ErrorKind::unsupported);
}

TEST_CASE("scan: random numbers, other ones in each pass") {
  const Message random =
      graph({.nodes = {node("Add", {"s", "slice"}, {"next"}),
                       node("RandomNormalLike", {"slice"}, {"out"})},
             .inputs = {value("s", float32, {2}), value("slice", float32, {2})},
             .outputs = {value("next", float32, {2}), value("out", float32, {2})}});
  for (const Extent& n : {Extent(5), Extent("n")}) {
    Session net(loaded(scan_model({2}, {n, 2}, {}, random)), {.seed = 4});
    Array<float> ones({5, 2});
    for (float& v : ones) v = 1;
    const auto run = [&] {
      const Result result = net.run({{"s0", Array<float>({2}, {1, -1})}, {"x", ones}});
      CHECK(floats_of(result, "last") == std::vector<float>{6, 4});
      return floats_of(result, "all");
    };
    const std::vector<float> all = run(), next = run();
    std::set<float> different(all.begin(), all.end());
    different.insert(next.begin(), next.end());
    CHECK(different.size() == 20);
    net.set_random_seed(4);
    CHECK(run() == all);
  }
}

TEST_CASE("scan: defects") {
  const auto text = [&](std::vector<Message> attributes, std::initializer_list<Extent> x = {5, 2}) {
    return std::string(error_of(scan_model({2}, x, std::move(attributes), body({2}))).what());
  };
  CHECK(contains(text({}), "loaded"));
  CHECK(contains(text({integers("scan_input_axes", {2})}), "axis is out of range"));
  CHECK(contains(text({integers("scan_output_axes", {-3})}), "axis is out of range"));
  CHECK(contains(text({integers("scan_input_axes", {0, 0})}), "a list is not as long"));
  CHECK(contains(text({integers("scan_output_directions", {0, 0})}), "a list is not as long"));
  CHECK(contains(text({integers("scan_input_directions", {2})}), "neither 0 nor 1"));
  const Message one_input = graph({.nodes = {node("Neg", {"s"}, {"next"})},
                                   .inputs = {value("s", float32, {2})},
                                   .outputs = {value("next", float32, {2})}});
  CHECK(contains(error_of(scan_model({2}, {5, 2}, {}, one_input)).what(),
                 "another number of inputs"));
  CHECK(
      contains(error_of(scan_model({2}, {5, 2}, {integer("num_scan_inputs", 9)}, body({2}))).what(),
               "twice"));
}

}  // namespace test
