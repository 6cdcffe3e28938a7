#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/session/weights.hpp>

#include "../error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

Graph add_graph() {
  Graph g;
  const AnyTensor a = g.input<float>("a", {2});
  output(g, op::add(a, g.input<float>("b", {2})), "y");
  return g;
}

AnyBuffer buffer(AnyArray& array) { return {array.info(), array.data()}; }

/// Writes down how it is used; one element of memory for each tensor.
class Recorder final : public StepIo {
 public:
  std::string log;
  float next = 0, value[2] = {}, result[2] = {};
  bool early = true;
  std::vector<float> results;

  AnyView in(std::string_view name, std::int64_t elements, bool prefetch) override {
    log += std::string(name) + (prefetch ? "? " : "( ");
    if (prefetch && !early) return {};
    value[0] = value[1] = next++;
    return {{ElementType::float32, {elements}}, value};
  }
  void in_complete(std::string_view name, std::int64_t) override {
    log += std::string(name) + ") ";
    value[0] = value[1] = -1;  // the memory is the program's again
  }
  AnyBuffer out(std::string_view name, std::int64_t elements) override {
    log += std::string(name) + "[ ";
    return {{ElementType::float32, {elements}}, result};
  }
  void out_complete(std::string_view name) override {
    log += std::string(name) + "] ";
    results.push_back(result[0]);
  }
  void check(const Session&) const override {}
};

}  // namespace

TEST_CASE("step buffers: offsets wrap at the end, so that one buffer serves several runs") {
  Session net(add_graph(), {.batches_per_step = 2});
  Array<float> a({4, 2}, {1, 1, 2, 2, 3, 3, 4, 4}), b({2, 2}, {10, 10, 20, 20}), y({2, 2, 2});
  StepBuffers io;
  io.add_input("a", a);
  io.add_input("b", b);
  io.add_output("y", buffer(y));
  // Twice as many elements as a run needs: sizes are checked before the first run only.
  CHECK(
      contains(error_of([&] { net.run(io); }), "Unexpected number of input elements for Tensor a"));
  Session lenient(add_graph(), {.batches_per_step = 2, .check_sizes = false});
  lenient.run(io);
  CHECK(y[0] == 11);
  CHECK(y[2] == 22);
  CHECK(y[4] == 0);
  lenient.run(io);
  CHECK(y[4] == 13);
  CHECK(y[6] == 24);
  lenient.run(io);  // from the start again
  CHECK(y[0] == 11);
}

TEST_CASE("step buffers: what is wrong with them is said in PopART's words") {
  Session net(add_graph(), {.batches_per_step = 3, .accumulation = 2});
  Array<float> good({12}), bad({4}), scalar({1});
  auto run = [&](std::vector<std::pair<std::string, AnyArray*>> inputs,
                 std::vector<std::pair<std::string, AnyArray*>> outputs) {
    StepBuffers io;
    for (auto& [name, array] : inputs) io.add_input(name, *array);
    for (auto& [name, array] : outputs) io.add_output(name, buffer(*array));
    return error_of([&] { net.run(io); });
  };
  std::string text = run({{"a", &bad}}, {});
  CHECK(contains(text,
                 "Unexpected number of input elements for Tensor a. Expected 12, but received 4."));
  CHECK(contains(text, "Batches per step"));
  CHECK(contains(text, "Accumulation factor"));
  text = run({{"a", &good}, {"b", &good}}, {{"y", &bad}});
  CHECK(contains(
      text, "Unexpected number of output elements for Tensor y. Expected 12, but received 4."));
  CHECK(contains(text, "Anchor return type"));
  CHECK(
      contains(run({{"y", &good}}, {}),
               "The tensor 'y' has been provided as one of the inputs to the stepIO, but it is not "
               "registered as one of the inputs to the model"));
  CHECK(contains(run({{"z", &good}}, {}), "But there is no Tensor named z in the Ir's main Graph"));
  CHECK(contains(run({}, {{"z", &good}}), "But there is no Tensor named z in the Ir's tensors"));
  CHECK(contains(run({}, {{"a", &good}}), "Non-anchored Tensor in CorrectnessAsserter::checkOut"));
  CHECK(contains(run({{"a", &good}}, {}), "No tensor b provided in PyStepIO's inputs"));
  CHECK(contains(run({{"a", &good}, {"b", &good}}, {}),
                 "No tensor y provided in PyStepIO's outputs"));
  CHECK(run({{"a", &good}, {"b", &good}}, {{"y", &good}}) == "no error");
  // Checked until a run has succeeded, and not later; but nothing is touched beyond a buffer.
  CHECK(run({{"a", &bad}, {"b", &good}}, {{"y", &good}}) == "no error");
  Array<float> odd({3});
  CHECK(contains(run({{"a", &odd}, {"b", &good}}, {{"y", &good}}), "left in the buffer"));
  CHECK_THROWS_AS(StepBuffers().add_input("a", AnyView{}), InputError);
}

TEST_CASE("step IO: the order of requests") {
  {
    Session net(add_graph(), {.batches_per_step = 2});
    Recorder io;
    net.run(io);
    CHECK(io.log == "a( a) b( b) y[ y] a( a) b( b) y[ y] ");
    CHECK(io.results == std::vector<float>{0 + 1, 2 + 3});
  }
  {
    Session net(add_graph(), {.batches_per_step = 2, .prefetch = true});
    Recorder io;
    net.run(io);
    CHECK(io.log == "a( a) b( b) a? a) b? b) y[ y] y[ y] ");
    CHECK(io.results == std::vector<float>{0 + 1, 2 + 3});
  }
  {
    Session net(add_graph(), {.batches_per_step = 2, .prefetch = true});
    Recorder io;
    io.early = false;  // nothing there yet: asked for again when it is needed
    net.run(io);
    CHECK(io.log == "a( a) b( b) a? b? y[ y] a( a) b( b) y[ y] ");
    CHECK(io.results == std::vector<float>{0 + 1, 2 + 3});
  }
  {
    Session net(add_graph(), {.outputs = {{"y", Return::sum}}, .batches_per_step = 3});
    Recorder io;
    net.run(io);
    CHECK(io.log == "a( a) b( b) a( a) b( b) a( a) b( b) y[ y] ");
    CHECK(io.results == std::vector<float>{0 + 1 + 2 + 3 + 4 + 5});
  }
  {
    Session net(add_graph(), {.outputs = {{"y", Return::every_n, 2}}, .batches_per_step = 4});
    Recorder io;
    net.run(io);
    CHECK(io.results == std::vector<float>{2 + 3, 6 + 7});
  }
}

TEST_CASE("step IO: integers are converted between 32 and 64 bits, other types are refused") {
  Graph g;
  const AnyTensor a = g.input<std::int64_t>("a", {2});
  output(g, op::add(a, a), "y");
  Session net(std::move(g));
  Array<std::int32_t> a32({2}, {3, -4}), y32({2});
  StepBuffers io;
  io.add_input("a", a32);
  io.add_output("y", buffer(y32));
  net.run(io);
  CHECK(y32[0] == 6);
  CHECK(y32[1] == -8);
  Array<float> wrong({2});
  StepBuffers other;
  other.add_input("a", wrong);
  other.add_output("y", buffer(y32));
  CHECK(contains(error_of([&] { net.run(other); }), "Type discrepancy"));
}

namespace {

class Weights final : public WeightsIo {
 public:
  std::vector<std::pair<std::string, AnyArray>> arrays;
  bool contains(std::string_view name) const override {
    for (const auto& [known, array] : arrays) {
      if (known == name) return true;
    }
    return false;
  }
  AnyBuffer weight(std::string_view name) const override {
    for (const auto& [known, array] : arrays) {
      if (known == name) return {array.info(), const_cast<std::byte*>(array.data())};
    }
    return {};
  }
};

Graph weighted(float first, float second) {
  Graph g;
  const float data[] = {first, second};
  const auto w = parameter<float, Shape<2>>(g, "w", std::span<const float>(data));
  output(g, op::mul(g.input<float>("x", {2}), AnyTensor(w)), "y");
  return g;
}

}  // namespace

TEST_CASE("weights go from the program to the host to the session, and back") {
  Session net(weighted(2, 3));
  HostWeights host(weighted(2, 3));
  Weights mine;
  Array<float> w({2}, {7, 8});
  mine.arrays.emplace_back("w", w);
  host.write(mine);
  CHECK(net.get("w").values<float>()[0] == 2);  // the session has the old ones
  host.from_host(net);
  CHECK(net.get("w").values<float>()[0] == 7);
  net.set("w", Array<float>({2}, {9, 9}));
  host.read(mine);
  CHECK(w[0] == 7);  // the host has the old ones
  host.to_host(net);
  host.read(mine);
  CHECK(w[0] == 9);
  host.reset(weighted(5, 6));
  host.from_host(net);
  CHECK(net.get("w").values<float>()[1] == 6);
}

TEST_CASE("weights that do not fit are refused") {
  HostWeights host(weighted(2, 3));
  Weights three;
  three.arrays.emplace_back("w", Array<float>({3}));
  CHECK(contains(error_of([&] { host.write(three); }), "non matching tensor info"));
  CHECK(contains(error_of([&] { host.read(three); }), "sizes (in bytes) of src"));
  Graph other;
  const auto v = parameter<float, Shape<2>>(other, "v", zeros);
  output(other, AnyTensor(v));
  CHECK(contains(error_of([&] { host.reset(other); }), "no tensor 'v' in tensors"));
  host.reset(other, true);
  Graph longer;
  output(longer, AnyTensor(parameter<float, Shape<3>>(longer, "w", zeros)));
  CHECK(contains(error_of([&] { host.reset(longer); }), "non matching tensor info"));
}
