#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <halftone/function.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/halftone.hpp>
#include <halftone/remote_buffers.hpp>
#include <halftone/streams.hpp>
#include <halftone/transform/inline_calls.hpp>
#include <halftone/transform/schedule.hpp>

#include "error_of.hpp"
#include "transform/pipeline.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

template <std::int64_t... D>
using F = Tensor<float, Shape<D...>>;
using Places = std::vector<std::pair<int, int>>;

Places places_of(const Graph& g) {
  Places places;
  for (const Node& node : g.nodes) places.emplace_back(node.order.block, node.order.position);
  return places;
}

/// Records a node, whatever it is.
void add(Graph& g, F<4> x) {
  static_cast<void>(g);
  op::exp(x);
}

/// Whether the nodes of each block run in the order of their positions.
bool keeps_order(const Graph& g) {
  for (std::size_t a = 0; a < g.nodes.size(); ++a) {
    for (std::size_t b = a + 1; b < g.nodes.size(); ++b) {
      const Order &x = g.nodes[a].order, &y = g.nodes[b].order;
      if (x.block != 0 && x.block == y.block && x.position > y.position) return false;
    }
  }
  return std::all_of(g.graphs.begin(), g.graphs.end(), keeps_order);
}

}  // namespace

// PopXL's in_sequence: True orders one behind the other, False puts nodes side by side behind what
// came before and in front of what follows, "pass" ends an order.
TEST_CASE("order: scopes give nodes their places") {
  Graph g;
  const auto x = input<float, Shape<4>>(g, "x");
  add(g, x);
  {
    const InSequence all(g);
    add(g, x);
    add(g, x);
    {
      const InSequence some(g, Ordering::together);
      add(g, x);
      add(g, x);
    }
    add(g, x);
    {
      const InSequence none(g, Ordering::free);
      add(g, x);
    }
    add(g, x);
  }
  add(g, x);
  {
    const InSequence some(g, Ordering::together);
    add(g, x);
    add(g, x);
    const InSequence all(g);
    add(g, x);
  }
  CHECK(places_of(g) == Places{{0, 0},
                               {1, 1},
                               {1, 2},
                               {1, 3},
                               {1, 3},
                               {1, 4},
                               {0, 0},
                               {2, 1},
                               {0, 0},
                               {3, 1},
                               {3, 1},
                               {3, 2}});
  // An exception ends a scope, too.
  try {
    const InSequence all(g);
    throw 1;
  } catch (int) {
  }
  add(g, x);
  CHECK(g.nodes.back().order == Order{});
}

TEST_CASE("order: every pass keeps it") {
  // Large values that the schedule would like to be rid of before it makes others; element-wise nodes
  // that would like to join.
  Graph g;
  const auto x = input<float, Shape<64, 64>>(g, "x");
  {
    const InSequence all(g);
    const auto a = op::exp(x), b = op::neg(x);
    const auto p = op::print_tensor(op::sum(a, {.keepdims = 0}));
    const auto c = op::mul(a, 2.f), d = op::mul(b, 3.f);
    const InSequence some(g, Ordering::together);
    output(g, op::sum(d, {.keepdims = 0}), "y");
    output(g, op::sum(c, {.keepdims = 0}), "z");
    output(g, p, "p");
  }
  CHECK(keeps_order(g));
  CHECK(keeps_order(schedule(Graph(g))));
  Graph planned = run_passes(cpu_shape_passes, Graph(g), {});
  for (const std::span<const Pass> passes :
       {std::span<const Pass>(cpu_choice_passes), std::span<const Pass>(cpu_piece_passes)}) {
    for (const Pass& pass : passes) {
      planned = pass.run(std::move(planned), {});
      CAPTURE(pass.name);
      CHECK(keeps_order(planned));
    }
  }
  CHECK(std::any_of(planned.nodes.begin(), planned.nodes.end(),
                    [](const Node& node) { return node.order.block != 0; }));
  CHECK(keeps_order(run_passes(ipu_passes, Graph(g), {.target = "ipu"})));
}

TEST_CASE("order: bodies that are put into the graph of their calls keep theirs") {
  Graph g;
  const auto x = input<float, Shape<4>>(g, "x");
  const auto ordered = function([](Graph& body, F<4> v) {
    const InSequence all(body);
    return op::exp(op::neg(v));
  });
  const auto free = function([](F<4> v) { return op::exp(op::neg(v)); });
  const InSequence all(g);
  const auto a = call(ordered, x), b = call(ordered, a);
  output(g, call(free, b), "y");
  const Graph inlined = inline_calls(std::move(g));
  CHECK(places_of(inlined) == Places{{2, 1}, {2, 2}, {3, 1}, {3, 2}, {1, 3}, {1, 3}});
}

TEST_CASE("order: names, tiles and exchanges of scopes") {
  Graph g;
  const auto x_stream = h2d_stream<float, Shape<4>>(g, "x");
  const auto y_stream = d2h_stream<float, Shape<4>>(g, "y");
  const auto w = [&] {
    const NameScope outer(g, "layer");
    const NameScope inner(g, "dense");
    return parameter<float, Shape<4>>(g, "w", ones);
  }();
  CHECK(w.name() == "layer/dense/w");
  CHECK(parameter<float, Shape<4>>(g, "v", ones).name() == "v");
  const auto buffer = remote_buffer<float, Shape<4>>(g);
  F<4> x, v;
  const std::size_t first = g.nodes.size();
  io_tile_exchange(g, [&] {
    x = host_load(g, x_stream);
    v = remote_load(g, buffer);
    host_store(y_stream, w);
  });
  for (std::size_t n = first; n < g.nodes.size(); ++n) {
    CHECK(g.nodes[n].planning.on_io_tiles);
    CHECK(g.nodes[n].planning.exchange == 1);
    CHECK(g.nodes[n].order == Order{1, 1});
  }
  // What depends on a load belongs to a later exchange.
  {
    const MergedExchange merged(g);
    remote_store(buffer, 0, host_load(g, x_stream));
  }
  CHECK(g.nodes[g.nodes.size() - 2].planning.exchange == 2);
  CHECK(g.nodes.back().planning.exchange == 3);
  CHECK_FALSE(g.nodes.back().planning.on_io_tiles);

  CHECK(
      contains(error_of([&] { io_tile_exchange(g, [&] { op::add(host_load(g, x_stream), w); }); }),
               "neither a load nor a store"));
  CHECK(contains(
      error_of([&] { io_tile_exchange(g, [&] { host_store(y_stream, host_load(g, x_stream)); }); }),
      "depends on another one"));
  CHECK(error_of([&] {
          io_tile_exchange(g, [&] { host_store(y_stream, host_load(g, x_stream)); }, false);
        }) == "no error");
}

// Two stages on two IPUs, four micro-batches: in each cycle the stages compute, then what is between
// them is copied. The results are those of one stage after the other.
TEST_CASE("order: a pipeline by hand equals an unpipelined run") {
  const auto first = [](auto x) { return op::tanh(op::mul(x, 1.5f)); };
  const auto second = [](auto x) { return op::exp(op::add(x, .25f)); };
  constexpr int batches = 4;
  const auto run = [&](bool is_pipelined) {
    Graph g;
    const auto x = h2d_stream<float, Shape<8>>(g, "x");
    const auto y = d2h_stream<float, Shape<8>>(g, "y");
    if (!is_pipelined) {
      for (int b = 0; b < batches; ++b) host_store(y, second(first(host_load(g, x))));
    } else {
      const InSequence all(g);
      AnyTensor between;
      for (int cycle = 0; cycle <= batches; ++cycle) {
        AnyTensor made, given = between;
        if (cycle < batches) {
          const OnIpu zero(g, 0);
          made = first(AnyTensor(host_load(g, x)));
        }
        if (cycle > 0) {
          const OnIpu one(g, 1);
          host_store(AnyDeviceToHost(y), second(given));
        }
        if (cycle < batches) between = op::ipu_copy(made, 1);
      }
    }
    Session session(std::move(g), {.host_transfers = batches});
    Array<float> xs({batches, 8});
    for (int i = 0; i < 8 * batches; ++i) xs[i] = static_cast<float>(i) / 16 - 1;
    const auto values = session.run({{"x", xs}})["y"].values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  CHECK(run(true) == run(false));
}
