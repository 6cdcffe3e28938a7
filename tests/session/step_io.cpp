#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/halftone.hpp>

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
  CHECK(contains(error_of([&] { net.run(io); }), "another number of elements than a run needs"));
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

TEST_CASE("step buffers: an error says what a run needs and what there is") {
  Session net(add_graph(), {.batches_per_step = 3, .accumulation = 2});
  Array<float> good({12}), bad({4}), scalar({1});
  auto run = [&](std::vector<std::pair<std::string, AnyArray*>> inputs,
                 std::vector<std::pair<std::string, AnyArray*>> outputs) {
    StepBuffers io;
    for (auto& [name, array] : inputs) io.add_input(name, *array);
    for (auto& [name, array] : outputs) io.add_output(name, buffer(*array));
    return error_of([&] { net.run(io); });
  };
  // 3 batches of 2 micro-batches of 2 elements.
  std::string text = run({{"a", &bad}}, {});
  CHECK(contains(text, "another number of elements than a run needs"));
  CHECK(contains(text, "12: 6 x [2] float"));
  CHECK(contains(text, "4"));
  text = run({{"a", &good}, {"b", &good}}, {{"y", &bad}});
  CHECK(contains(text, "'y'"));
  CHECK(contains(text, "12: 6 x [2] float"));
  for (const char* name : {"y", "z"}) {
    text = run({{name, &good}}, {});
    CHECK(contains(text, "a buffer is given for a tensor that is not an input"));
    CHECK(contains(text, "inputs are 'a', 'b'"));
  }
  for (const char* name : {"a", "z"}) {
    text = run({}, {{name, &good}});
    CHECK(contains(text, "a buffer is given for a tensor that a run does not return"));
    CHECK(contains(text, "a run returns 'y'"));
  }
  text = run({{"a", &good}}, {});
  CHECK(contains(text, "there is no buffer for an input"));
  CHECK(contains(text, "there are buffers for 'a'"));
  CHECK(
      contains(run({{"a", &good}, {"b", &good}}, {}), "there is no buffer for a returned tensor"));
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
    // a two ahead, b when it is needed: the numbers come in the order of requests.
    Session net(add_graph(), {.batches_per_step = 4, .prefetch = 2, .prefetch_of = {{"b", 0}}});
    Recorder io;
    net.run(io);
    CHECK(io.log == "a( a) b( b) a? a) a? a) y[ y] b( b) a? a) y[ y] b( b) y[ y] b( b) y[ y] ");
    CHECK(io.results == std::vector<float>{0 + 1, 2 + 4, 3 + 6, 5 + 7});
  }
  const auto refused = [](const SessionOptions& options) {
    try {
      Session(add_graph(), options);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(contains(refused({.prefetch_of = {{"z", 1}}}), "inputs are 'a', 'b'"));
  CHECK(contains(refused({.prefetch = -1}), "0 or more"));
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

TEST_CASE("step IO: less memory than a tensor has is an error") {
  class Short final : public StepIo {
   public:
    std::int64_t given = 2, taken = 2;
    float memory[2] = {};

    AnyView in(std::string_view, std::int64_t, bool) override {
      return {{ElementType::float32, {given}}, memory};
    }
    void in_complete(std::string_view, std::int64_t) override {}
    AnyBuffer out(std::string_view, std::int64_t) override {
      return {{ElementType::float32, {taken}}, memory};
    }
    void out_complete(std::string_view) override {}
    void check(const Session&) const override {}
  };
  Session net(add_graph());
  Short io;
  net.run(io);
  io.given = 1;
  CHECK(contains(error_of([&] { net.run(io); }), "less elements"));
  io.given = 2;
  io.taken = 1;
  const std::string text = error_of([&] { net.run(io); });
  CHECK(contains(text, "less memory"));
  CHECK(contains(text, "'y'"));
}
