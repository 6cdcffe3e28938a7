#include <halftone/streams.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <halftone/function.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/halftone.hpp>

#include "error_of.hpp"
#include "floats.hpp"

using namespace halftone;
using test::contains;
using test::counted;
using test::error_of;
using test::F;
using test::Floats;
using test::floats_of;

namespace {

/// y = 2 x, from stream to stream.
struct Twice {
  Graph g;
  HostToDevice<float, Shape<2, 4>> x = h2d_stream<float, Shape<2, 4>>(g, "x");
  DeviceToHost<float, Shape<2, 4>> y = d2h_stream<float, Shape<2, 4>>(g, "y");

  Twice() { host_store(y, op::mul(host_load(g, x), 2.f)); }
};

}  // namespace

// The four rows of PopXL's documentation of Session.create_host_outputs: (d, r) + s.shape, without
// those that are one.
TEST_CASE("streams: shapes on the host") {
  const auto shapes = [](std::int64_t transfers, std::int32_t replicas) {
    Twice program;
    program.g.replicas = replicas;
    const Session session(std::move(program.g), {.host_transfers = transfers});
    CHECK(session.given_shape(0) == session.returned_shape(0));
    return session.returned_shape(0);
  };
  CHECK(shapes(4, 16) == Dims{4, 16, 2, 4});
  CHECK(shapes(1, 16) == Dims{16, 2, 4});
  CHECK(shapes(4, 1) == Dims{4, 2, 4});
  CHECK(shapes(1, 1) == Dims{2, 4});
}

TEST_CASE("streams: a run is keyed by handle or by name, on cpu and ipu_model") {
  for (const Device device : {Device::cpu, Device::ipu_model}) {
    Twice program;
    Session session(Graph(program.g), {.device = device});
    const Array<float> x = counted({2, 4});
    const Floats expected{0, 2, 4, 6, 8, 10, 12, 14};
    CHECK(floats_of(session.run({{program.x, x}})[program.y]) == expected);
    CHECK(floats_of(session.run({{"x", x}})["y"]) == expected);
    REQUIRE(session.inputs().size() == 1);
    CHECK(session.inputs()[0].name == "x");
    CHECK(session.inputs()[0].info == TensorInfo{ElementType::float32, {2, 4}});
    CHECK(session.outputs()[0].name == "y");
  }
}

TEST_CASE("streams: each load takes the next slice, and behind the last one the first") {
  Graph g;
  const auto x = h2d_stream<float, Shape<>>(g, "x");
  const auto y = d2h_stream<float, Shape<>>(g, "y");
  // Five loads of three slices: 1 2 4 1 2. Stores of their partial sums: the fourth and fifth are put
  // over the first and second.
  F<> sum = host_load(g, x);
  host_store(y, sum);
  for (int i = 0; i < 4; ++i) {
    sum = sum + host_load(g, x);
    host_store(y, sum);
  }
  Session session(std::move(g), {.host_transfers = 3});
  for (int run = 0; run < 2; ++run) {  // every run begins with the first slice
    const auto out = session.run({{x, Array<float>({3}, {1, 2, 4})}});
    CHECK(floats_of(out[y]) == Floats{8, 10, 7});
  }
}

TEST_CASE("streams: a loop loads and stores in its body, and changes a variable") {
  Graph g;
  const auto x = h2d_stream<float, Shape<2>>(g, "x");
  const auto y = d2h_stream<float, Shape<2>>(g, "y");
  const auto total = parameter<float, Shape<2>>(g, "total", zeros);
  const auto step = function([&](Graph& body, by_ref<F<2>> sum) {
    op::copy_var_update(*sum, *sum + host_load(body, x));
    host_store(y, *sum);
    return std::tuple<>{};
  });
  repeat(step, 4, total);
  for (const int threads : {1, 2}) {
    Session session(Graph(g), {.host_transfers = 4, .threads = threads});
    auto out = session.run({{x, counted({4, 2})}});
    CHECK(floats_of(out[y]) == Floats{0, 1, 2, 4, 6, 9, 12, 16});
    CHECK(floats_of(session.get("total")) == Floats{12, 16});
    out = session.run({{x, counted({4, 2})}});
    CHECK(floats_of(session.get("total")) == Floats{24, 32});
  }
}

TEST_CASE("streams: bodies of calls and branches, also without any tensor as input") {
  Graph g;
  const auto x = h2d_stream<float, Shape<>>(g, "x"), z = h2d_stream<float, Shape<>>(g, "z");
  const auto y = d2h_stream<float, Shape<>>(g, "y");
  const auto copy = function([&](Graph& body) {
    host_store(y, op::neg(host_load(body, x)));
    return std::tuple<>{};
  });
  call(g, copy);
  call(g, copy);
  const auto load = [&](const HostToDevice<float, Shape<>>& stream) {
    return function([&](Graph& body, F<>) { return host_load(body, stream); });
  };
  const auto flag = h2d_stream<bool, Shape<>>(g, "flag");
  const F<> one = constant<float, Shape<>>(g, std::vector<float>{1});
  host_store(y, conditional(host_load(g, flag), then(load(x), one), otherwise(load(z), one)));
  Session session(std::move(g), {.host_transfers = 3});
  Array<bool> flags({3});
  const Array<float> xs({3}, {1, 2, 3}), zs({3}, {10, 20, 30});
  flags[0] = true;
  CHECK(floats_of(session.run({{x, xs}, {z, zs}, {flag, flags}})[y]) == Floats{-1, -2, 3});
  flags[0] = false;
  CHECK(floats_of(session.run({{x, xs}, {z, zs}, {flag, flags}})[y]) == Floats{-1, -2, 10});
}

TEST_CASE("streams: what is only declared is not asked for") {
  Twice program;
  h2d_stream<float, Shape<3>>(program.g, "unused");
  d2h_stream<float, Shape<3>>(program.g, "nowhere");
  CHECK(used_h2d_streams(program.g).size() == 1);
  CHECK(used_d2h_streams(program.g)[0].name.view() == "y");
  // A second stream of a name, and one with the name of a tensor, get numbers.
  CHECK(h2d_stream<float, Shape<3>>(program.g, "x").name.view() == "x_1");
  const AnyDeviceToHost any = d2h_stream(program.g, {ElementType::float32, {2}}, "y");
  CHECK(any.name.view() == "y_1");
  Session session(std::move(program.g));
  CHECK(session.inputs().size() == 1);
}

TEST_CASE("streams: loads and stores beside inputs and outputs, several micro-batches") {
  Graph g;
  const auto a = input<float, Shape<2>>(g, "a");
  const auto x = h2d_stream<float, Shape<2>>(g, "x");
  const auto y = d2h_stream<float, Shape<2>>(g, "y");
  const auto sum = a + host_load(g, x);
  host_store(y, op::neg(sum));
  output(g, sum, "sum");
  Session session(std::move(g), {.batches_per_step = 3});
  const auto out = session.run({{"a", counted({3, 2})}, {x, counted({3, 2})}});
  CHECK(floats_of(out["sum"]) == Floats{0, 2, 4, 6, 8, 10});
  CHECK(floats_of(out[y]) == Floats{0, -2, -4, -6, -8, -10});
  // The same by step IO.
  Floats in_a(6), in_x(6), out_sum(6), out_y(6);
  std::iota(in_a.begin(), in_a.end(), 0.f);
  in_x = in_a;
  StepBuffers io;
  const TensorInfo info{ElementType::float32, {3, 2}};
  io.add_input("a", {info, in_a.data()});
  io.add_input("x", {info, in_x.data()});
  io.add_output("sum", {info, out_sum.data()});
  io.add_output("y", {info, out_y.data()});
  session.run(io);
  CHECK(out_sum == Floats{0, 2, 4, 6, 8, 10});
  CHECK(out_y == Floats{0, -2, -4, -6, -8, -10});
}

TEST_CASE("streams: results go to memory of the program") {
  Twice program;
  Session session(std::move(program.g), {.host_transfers = 2});
  const Array<float> x = counted({2, 2, 4});
  Array<float> y({2, 2, 4}), small({2, 4});
  const Input in(program.x, x);
  const auto run = [&](std::vector<Session::Output> outputs) {
    return error_of([&] { session.run({&in, 1}, outputs); });
  };
  CHECK(run({{"y", {y.info(), y.data()}}}) == "no error");
  CHECK(floats_of(y)[7] == 14);
  CHECK(contains(run({}), "no memory for a tensor that a run returns"));
  CHECK(contains(run({{"y", {small.info(), small.data()}}}), "another type or shape"));
  CHECK(contains(run({{"z", {y.info(), y.data()}}}), "does not return"));
  CHECK(contains(run({{"y", {y.info(), y.data()}}, {"y", {y.info(), y.data()}}}), "given twice"));
}

TEST_CASE("streams: unexpected and missing streams, and wrong types and shapes") {
  Twice program;
  Session session(Graph(program.g), {.host_transfers = 4});
  const Array<float> x = counted({4, 2, 4});
  const auto refusal = [&](std::vector<Input> inputs) {
    return error_of([&] { session.run(inputs); });
  };
  CHECK(contains(refusal({}), "input is missing"));
  CHECK(contains(refusal({{"x", x}, {"z", x}}), "no input of this name"));
  CHECK(contains(refusal({{"x", x}, {"x", x}}), "given twice"));
  CHECK(contains(refusal({{"x", counted({3, 2, 4})}}), "expected  [4, 2, 4] float"));
  CHECK(contains(refusal({{"x", counted({2, 4})}}), "for all transfers and replicas"));
  CHECK(contains(refusal({{"x", counted({4, 4, 2})}}), "for all transfers and replicas"));
  CHECK(contains(refusal({{"x", Array<double>({4, 2, 4})}}), "another element type"));
  // Dimensions of one may differ.
  CHECK(refusal({{"x", counted({4, 1, 2, 4})}}) == "no error");
  CHECK(contains(error_of([&] { session.run({{"x", x}})["z"]; }), "no tensor of this name"));

  CHECK(contains(error_of([&] { Session(Graph(program.g), {.host_transfers = 0}); }),
                 "at least one slice"));
  CHECK(contains(
      error_of([&] { Session(Graph(program.g), {.batches_per_step = 2, .host_transfers = 2}); }),
      "exclude each other"));
  Graph with_input = program.g;
  output(with_input, op::neg(input<float, Shape<2>>(with_input, "a")), "b");
  CHECK(contains(error_of([&] { Session(Graph(with_input), {.host_transfers = 2}); }),
                 "for graphs without inputs"));
  CHECK(contains(error_of([&] {
                   Graph g;
                   h2d_stream(g, {ElementType::float32, {dynamic}}, "x");
                 }),
                 "have to be known"));
  CHECK(contains(error_of([&] {
                   Graph g;
                   h2d_stream<float, Shape<2>>(g, "");
                 }),
                 "empty or too long"));
  CHECK(contains(error_of([&] {
                   Graph g;
                   const AnyTensor a = g.input<float>("a", {3});
                   host_store(d2h_stream<float, Shape<2>>(g, "y"), a);
                 }),
                 "another type or shape"));
  CHECK(contains(error_of([&] {
                   Graph g;
                   const AnyHostToDevice one = h2d_stream<float, Shape<2>>(g, "x");
                   const AnyHostToDevice two(one.name, {ElementType::float32, {3}});
                   output(g, op::neg(host_load(g, one)), "a");
                   output(g, op::neg(host_load(g, two)), "b");
                   Session(std::move(g));
                 }),
                 "loads or stores of one stream differ"));
}

TEST_CASE("streams: executables and ONNX files keep them") {
  Twice program;
  const Array<float> x = counted({2, 4});
  const auto check = [&](Session session) {
    CHECK(floats_of(session.run({{"x", x}})["y"])[7] == 14);
  };
  check(Session(compile(Graph(program.g))));
  check(Session(onnx::load(onnx::to_bytes(program.g))));
}

TEST_CASE(
    "streams: neither dead code nor the schedule takes away or turns round what has effects") {
  Graph g;
  const auto x = h2d_stream<float, Shape<2>>(g, "x");
  const auto y = d2h_stream<float, Shape<2>>(g, "y");
  host_load(g, x);  // nobody wants the first slice, but it counts
  const auto second = host_load(g, x), third = host_load(g, x);
  host_store(y, third);
  host_store(y, second);
  Session session(std::move(g), {.host_transfers = 3});
  const auto out = session.run({{x, counted({3, 2})}});
  CHECK(floats_of(out[y]) == Floats{4, 5, 2, 3, 0, 0});
}
