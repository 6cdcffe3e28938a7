#include "exec/group.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/transform/fuse.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

/// Element-wise nodes over all ways of broadcasting: dense, one element, rows, columns, types that
/// change on the way, an absent input, and a value that goes out in the middle.
Graph mixed(const Dims& shape) {
  Graph g;
  const AnyTensor x = g.input<float>("x", shape);
  Dims row = shape, column = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) (d + 1 < shape.size() ? row : column)[d] = 1;
  const AnyTensor r = g.input<float>("row", row), c = g.input<float>("column", column);
  const AnyTensor s = g.input<float>("scalar", {});
  const AnyTensor a = op::tanh(op::mul(op::add(x, r), c));
  const AnyTensor b = op::clip(op::sub(a, s), none, s);
  output(g, op::where(op::less(a, b), op::exp(x), op::neg(a)), "y");
  output(g, a, "middle");
  output(g, op::cast(op::cast(b, {.to = ElementType::float16}), {.to = ElementType::float64}), "z");
  return g;
}

}  // namespace

// The law: nodes of a group give what each gives alone, bit for bit, for sizes around blocks (128 to
// 1024 elements) and tasks (32 Ki).
TEST_CASE("group: fused nodes give what they give alone, for every size") {
  for (const Dims& shape : {Dims{1}, Dims{7}, Dims{127}, Dims{1025}, Dims{3, 5}, Dims{0, 4},
                            Dims{2, 3, 43}, Dims{33, 1023}, Dims{1, 1, 70'001}}) {
    CAPTURE(product(shape));
    const Graph g = mixed(shape);
    const Graph fused = fuse_elementwise(g);
    REQUIRE(fused.nodes.size() < g.nodes.size());
    CHECK(test::results(fused) == test::results(g));
  }
}

// The law, for parameters of channels, plain and in blocks of as many as a vector of some processor
// has: they are read in place where pixels fill tiles (128 elements) or are many, copied else.
TEST_CASE("group: chains read parameters of channels in place") {
  for (const std::int64_t lanes : {4, 8, 16}) {
    for (const std::int64_t edge : {1, 7, 8, 14, 31, 56}) {
      CAPTURE(lanes);
      CAPTURE(edge);
      Graph g;
      const AnyTensor plain = g.input<float>("plain", {2, 3, edge, edge});
      const AnyTensor a = g.input<float>("a", {3, 1, 1}), b = g.input<float>("b", {3, 1, 1});
      const AnyTensor blocks = g.input<float>("blocks", {2, 3, edge, edge, lanes});
      const AnyTensor c = g.input<float>("c", {3, 1, 1, lanes});
      const AnyTensor d = g.input<float>("d", {2, 3, 1, 1, lanes});
      output(g, op::relu(op::add(op::mul(plain, a), b)), "of_plain");
      output(g, op::relu(op::add(op::mul(c, blocks), d)), "of_blocks");
      output(g, op::mul(blocks, d), "alone");
      output(g, op::sub(op::relu(op::add(plain, g.input<float>("e", {1, edge}))), a), "both");
      const Graph fused = fuse_elementwise(g);
      CHECK(test::count(fused, op::Fused::id) == 3);
      CHECK(test::results(fused) == test::results(g));
    }
  }
}

// The law, where casts and others stand between chains: blocks end where channels do, if those have 256
// pixels or more.
TEST_CASE("group: casts between chains, and numbers of channels") {
  for (const std::int64_t edge : {1, 7, 15, 16, 17, 40}) {
    CAPTURE(edge);
    Graph g;
    const AnyTensor x = g.input<float>("x", {2, 5, edge, edge});
    // No group is on both sides of the Transpose.
    const AnyTensor sums =
        op::transpose(op::cast(x * 100, {.to = ElementType::int32}), {.perm = {0, 1, 3, 2}});
    const AnyTensor scale = g.input<float>("scale", {5, 1, 1}),
                    bias = g.input<float>("bias", {5, 1, 1});
    const AnyTensor step = g.input<float>("step", {}), zero = g.input<float>("zero", {});
    const AnyTensor real =
        op::add(op::mul(op::cast(sums, {.to = ElementType::float32}), scale), bias);
    const AnyTensor codes = op::cast(op::add(op::round(op::div(op::relu(real), step)), zero),
                                     {.to = ElementType::uint8});
    output(g, codes, "codes");
    output(g, op::mul(op::sub(op::cast(codes, {.to = ElementType::float32}), zero), step), "y");
    output(g, op::pow(real, scale), "power");
    output(g, op::cast(op::cast(real, {.to = ElementType::int8}), {.to = ElementType::float16}),
           "low");
    const Graph fused = fuse_elementwise(g);
    CHECK(test::count(fused, op::Fused::id) == 2);
    CHECK(test::results(fused) == test::results(g));
  }
}

// The partition is that of the size alone, whoever runs the tasks and in whatever order.
TEST_CASE("group: results do not depend on the order of tasks") {
  const kernel::Executor backwards{
      .threads = 4,
      .run = [](void*, std::int64_t count, kernel::Executor::Task task, void* context) {
        for (std::int64_t i = count; i-- > 0;) task(context, i);
      }};
  const auto run_by = [](const kernel::Executor& executor) {
    Program program = make_program(fuse_elementwise(mixed({5, 40'000})), NoPasses{});
    const std::unique_ptr<Bound> bound = bind(program, {}, executor);
    std::vector<AnyArray> inputs;
    for (std::size_t i = 0; i < program.graph.inputs.size(); ++i) {
      AnyArray& x = inputs.emplace_back(program.graph.info(program.graph.inputs[i]));
      int k = 0;
      for (float& v : x.values<float>()) v = static_cast<float>(++k % 101) / 50 - 1;
      bound->set_input(i, x.data());
    }
    run(*bound);
    std::vector<std::string> list;
    for (std::size_t o = 0; o < program.outputs.size(); ++o) {
      const AnyView y = bound->output(o);
      list.emplace_back(static_cast<const char*>(y.data), y.bytes());
    }
    return list;
  };
  CHECK(run_by(backwards) == run_by({}));
}
