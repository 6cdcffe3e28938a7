// Concat, Slice and Split without work: the same results, bit for bit, as with a copy of each piece.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/halftone.hpp>
#include <halftone/program/program.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/fuse.hpp>
#include <halftone/transform/schedule.hpp>

#include "random_graph.hpp"
#include "results.hpp"

using namespace halftone;

namespace {

Program program_of(const Graph& g, bool pieces) {
  return make_program(Graph(g), NoPasses{}, {.pieces = pieces});
}
std::size_t steps_of(const Graph& g, bool pieces, const OpId& id) {
  const Program p = program_of(g, pieces);
  std::size_t count = 0;
  for (const Program::Step& step : p.steps) {
    if (step.node == Program::none) continue;
    count += p.graph.nodes[static_cast<std::size_t>(step.node)].op->id == id ? 1 : 0;
  }
  return count;
}

/// Tensors of 1 to 12 rows that are lines of the cache, cut and joined at random.
class RandomRows {
 public:
  explicit RandomRows(test::Random& random) : random_(random) {
    for (int i = 0; i < 3; ++i) add(g_.input<float>("x" + std::to_string(i), {1 + below(6), 16}));
    const std::vector<float> w(256, 0.0625f);
    w_ = constant<float>(g_, w, {16, 16});
  }
  Graph run() {
    for (int i = 0; i < 25; ++i) grow();
    for (int i = 0; i < 3; ++i) output(g_, any(), "y" + std::to_string(i));
    return g_;
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(test::below(random_, static_cast<std::size_t>(n)));
  }
  void add(const AnyTensor& x) { rows_.push_back(x); }
  AnyTensor any() {
    return rows_[static_cast<std::size_t>(below(static_cast<std::int64_t>(rows_.size())))];
  }
  static std::int64_t count(const AnyTensor& x) { return x.info().shape[0]; }

  void grow() {
    const AnyTensor x = any();
    switch (below(8)) {
      case 0: {
        const std::int64_t first = below(count(x));
        const std::int64_t last = first + 1 + below(count(x) - first);
        return add(op::slice(x, constant(g_, {first}), constant(g_, {last}), constant(g_, {0})));
      }
      case 1: {
        if (count(x) >= 2) {
          for (const AnyTensor& part : op::split(x, {.axis = 0, .num_outputs = 2})) add(part);
        }
        return;
      }
      case 2:
      case 3: {
        std::vector<AnyTensor> list{x};
        std::int64_t rows = count(x);
        for (std::int64_t i = below(3); i >= 0; --i) {
          const AnyTensor y = any();
          if (rows + count(y) > 12) continue;
          list.push_back(y);
          rows += count(y);
        }
        return add(op::concat(list, {.axis = 0}));
      }
      case 4:
        return add(op::relu(x));
      case 5: {
        const AnyTensor y = any();
        return add(count(x) == count(y) || count(y) == 1 ? x - y : op::tanh(y));
      }
      case 6:
        return add(op::reshape(op::reshape(x, constant(g_, {1, count(x) * 16})),
                               constant(g_, {count(x), 16})));
      default:
        return add(op::matmul(x, w_));
    }
  }

  test::Random& random_;
  Graph g_;
  AnyTensor w_;
  std::vector<AnyTensor> rows_;
};

}  // namespace

TEST_CASE("pieces: values lie where they were written until they are read, on random graphs") {
  test::Random random(11);
  std::size_t apart = 0, joined = 0;
  for (int round = 0; round < 1500; ++round) {
    CAPTURE(round);
    const Graph g = RandomRows(random).run();
    const Graph fused = schedule(fuse_elementwise(without_dead_code(g)));
    for (const Graph* graph : {&g, &fused}) {
      const Program program = program_of(*graph, true);
      // An eighth more by nodes; lives that end at one without work end at the next step.
      REQUIRE(program.live_bytes <= 5 * program_of(*graph, false).live_bytes / 4);
      REQUIRE(test::results(program, true) == test::results(program_of(*graph, false), true));
    }
    for (const OpId& id : {op::Concat::id, op::Slice::id, op::Split::id}) {
      apart += steps_of(fused, false, id);
      joined += steps_of(fused, true, id);
    }
  }
  CHECK(joined < apart * 9 / 10);  // many have no work
}

TEST_CASE("pieces: a chain of Concat is one tensor") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, 4, 16});
  AnyTensor y = op::relu(x);
  for (int i = 0; i < 5; ++i)
    y = op::concat(std::vector<AnyTensor>{y, op::exp(op::neg(y))}, {.axis = 1});
  output(g, op::sqrt(y), "y");
  CHECK(steps_of(g, false, op::Concat::id) == 5);
  CHECK(steps_of(g, true, op::Concat::id) == 0);
  // The chain's last tensor of 128 rows, which is its own square root at last, and Neg's output.
  CHECK(program_of(g, true).live_bytes == (128 + 64) * 64);
  CHECK(program_of(g, false).live_bytes > (128 + 64) * 64);
  CHECK(test::results(program_of(g, true)) == test::results(program_of(g, false)));
}

// A part that is broadcast lies in memory that must not be written over before it is read for the last
// time: row by row, by groups, by one number, by tasks on other threads.
TEST_CASE("pieces: the whole and a part of it are read at once") {
  const auto check = [](const Dims& x, std::int64_t axis, auto&& make) {
    Graph g;
    const AnyTensor h = op::exp(g.input<float>("x", x));
    output(g,
           AnyTensor(make(g, h,
                          [&](std::int64_t last) {
                            return op::slice(h, constant(g, {0}), constant(g, {last}),
                                             constant(g, {axis}));
                          })),
           "y");
    const Graph fused = schedule(fuse_elementwise(without_dead_code(Graph(g))));
    const test::Results expected = test::results(program_of(g, false));
    CHECK(test::results(program_of(g, true)) == expected);
    CHECK(test::results(program_of(fused, true)) == expected);
    Engine engine(Graph(g), {.threads = 2});
    const TensorInfo info{ElementType::float32, x};
    AnyArray given(info);
    int k = 0;
    for (float& value : given.values<float>()) value = static_cast<float>(++k % 13) / 13;
    const AnyView views[]{given};
    for (int run = 0; run < 3; ++run) {
      engine.run(views);
      const AnyView y = engine.output(0);
      CHECK(std::memcmp(y.data, expected[0].data(), expected[0].size()) == 0);
    }
  };
  for (const std::int64_t rows : {3, 256, 5000}) {
    CAPTURE(rows);
    check({rows, 16}, 0, [](Graph&, const AnyTensor& h, auto&& part) { return h - part(1); });
    check({rows, 16}, 0,
          [](Graph&, const AnyTensor& h, auto&& part) { return op::relu(part(1) - h) * h; });
    check({rows * 16}, 0, [](Graph&, const AnyTensor& h, auto&& part) { return h / part(1); });
    check({1, rows, 16}, 1, [](Graph& g, const AnyTensor& h, auto&& part) {
      const AnyTensor all = op::concat(std::vector<AnyTensor>{part(1), h}, {.axis = 1});
      return all * op::slice(all, constant(g, {0}), constant(g, {1}), constant(g, {1}));
    });
    check({rows, 16}, 0, [](Graph&, const AnyTensor&, auto&& part) {
      const AnyTensor a = op::relu(part(2));
      return op::concat(std::vector<AnyTensor>{a + part(2), a}, {.axis = 0});
    });
  }
}

TEST_CASE("pieces: what does not begin a line, or lies apart, is copied") {
  const auto steps = [](const Dims& x, std::int64_t axis, const OpId& id) {
    Graph g;
    const AnyTensor a = op::relu(g.input<float>("a", x));
    const AnyTensor joined = op::concat(std::vector<AnyTensor>{a, op::exp(a)}, {.axis = axis});
    const AnyTensor part =
        op::slice(op::neg(joined), constant(g, {x[static_cast<std::size_t>(axis)]}),
                  constant(g, {2 * x[static_cast<std::size_t>(axis)]}), constant(g, {axis}));
    output(g, op::abs(part), "y");
    CHECK(test::results(program_of(g, true)) == test::results(program_of(g, false)));
    return steps_of(g, true, id);
  };
  for (const OpId& id : {op::Concat::id, op::Slice::id}) {
    CHECK(steps({1, 2, 16}, 1, id) == 0);
    CHECK(steps({1, 1, 32}, 2, id) == 0);
    CHECK(steps({2, 2, 16}, 1, id) == 1);
    CHECK(steps({1, 3, 5}, 1, id) == 1);
  }
}

TEST_CASE("pieces: of outputs that lie where the caller wants them") {
  // Eight images in parts: Concat gives the body's output. The law: a batch is its samples.
  const auto network = [](std::int64_t batch) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {batch, 32, 64, 64});
    std::vector<float> w(32 * 32);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) / 64;
    const AnyTensor y = op::conv(x, constant<float>(g, w, {32, 32, 1, 1}));
    output(g, op::concat(std::vector<AnyTensor>{y, op::relu(op::neg(y)), y}, {.axis = 1}), "y");
    return g;
  };
  Array<float> x({8, 32, 64, 64});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 251) / 251 - 0.5f;
  Engine engine(network(8)), alone(network(1));
  const AnyView whole[]{x};
  engine.run(whole);
  const AnyView y = engine.output(0);
  for (std::size_t n = 0; n < 8; ++n) {
    const AnyView sample[]{{{ElementType::float32, {1, 32, 64, 64}}, &x[n * 32 * 64 * 64]}};
    alone.run(sample);
    const AnyView z = alone.output(0);
    const auto bytes = static_cast<std::size_t>(z.info.bytes());
    CHECK(std::memcmp(static_cast<const std::byte*>(y.data) + n * bytes, z.data, bytes) == 0);
  }
}
