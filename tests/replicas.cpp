#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <halftone/autodiff.hpp>
#include <halftone/collectives.hpp>
#include <halftone/function.hpp>
#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/remote_buffers.hpp>
#include <halftone/streams.hpp>

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

using C = CollectiveOperator;
using collectives::OutputShape;

/// What a function of x gives on each replica: x is [replicas, 4], counted from 0.
template <class Build>
Floats on_replicas(std::int32_t replicas, Build&& build, int threads = 1) {
  Graph g;
  g.replicas = replicas;
  const auto x = input<float, Shape<4>>(g, "x");
  output(g, build(x), "y");
  Session session(std::move(g), {.threads = threads});
  return floats_of(session.run({{"x", counted({replicas, 4})}})["y"]);
}

/// The largest first element of all replicas' tensors: a collective operator of an extension.
struct LargestFirst {
  static constexpr OpId id{"example", "LargestFirst", 1};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<TypeList<float>>;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::replicas;

  static constexpr Inferred infer(TensorInfo x) { return TensorInfo{x.type, {}}; }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    const kernel::Communicator::Meeting meeting{
        .operation = 0x1a49e57,
        .bytes = sizeof(T),
        .join = [](const void*, const kernel::Communicator::Part* parts, int replicas,
                   kernel::Communicator::Share) {
          T most = *static_cast<const T*>(parts[0].given);
          for (int k = 1; k < replicas; ++k) {
            most = std::max(most, *static_cast<const T*>(parts[k].given));
          }
          for (int k = 0; k < replicas; ++k) {
            if (parts[k].result != nullptr) *static_cast<T*>(parts[k].result) = most;
          }
        }};
    kernel::meet(call.communicator, meeting, {x.data, y.data});
  }
};
inline constexpr OpFunction<LargestFirst> largest_first;

}  // namespace

TEST_CASE("replicas: an extension's own operator meets the others, too") {
  for (const int threads : {1, 2, 4}) {
    CHECK(on_replicas(3, [](auto x) { return largest_first(x); }, threads) == Floats{8, 8, 8});
  }
}

TEST_CASE("replicas: each has its own inputs, outputs and variables") {
  for (const int threads : {1, 2, 4}) {
    Graph g;
    g.replicas = 3;
    const auto x = input<float, Shape<2>>(g, "x");
    const auto total = parameter<float, Shape<2>>(g, "total", zeros);
    op::copy_var_update(total, total + x);
    output(g, op::mul(total, 1.f), "y");
    Session session(std::move(g), {.threads = threads});
    CHECK(session.given_shape(0) == Dims{3, 2});
    CHECK(session.returned_shape(0) == Dims{3, 2});
    session.run({{"x", counted({3, 2})}});
    const auto result = session.run({{"x", counted({3, 2})}});
    CHECK(floats_of(result["y"]) == Floats{0, 2, 4, 6, 8, 10});
    // One value of one group: that of the first replica. What the host sets, all of them get.
    CHECK(floats_of(session.get("total")) == Floats{0, 2});
    session.set("total", Array<float>({2}, {100, 200}));
    CHECK(floats_of(session.run({{"x", counted({3, 2})}})["y"]) ==
          Floats{100, 201, 102, 203, 104, 205});
  }
}

TEST_CASE("replicas: several micro-batches, and random numbers that differ") {
  Graph g;
  g.replicas = 2;
  const auto x = input<float, Shape<1>>(g, "x");
  output(g, x + 1.f, "y");
  Session session(Graph(g), {.batches_per_step = 3});
  CHECK(session.returned_shape(0) == Dims{3, 2, 1});
  CHECK(floats_of(session.run({{"x", counted({3, 2, 1})}})["y"]) == Floats{1, 2, 3, 4, 5, 6});
  Session sum(Graph(g), {.outputs = {{"y", Return::sum}}, .batches_per_step = 3});
  CHECK(sum.returned_shape(0) == Dims{2, 1});
  CHECK(floats_of(sum.run({{"x", counted({3, 2, 1})}})["y"]) == Floats{9, 12});

  // Replicas draw as so many runs of one do.
  const auto drawn = [](std::int32_t replicas, int runs) {
    Graph graph;
    graph.replicas = replicas;
    output(graph, op::random_uniform_like(input<float, Shape<2>>(graph, "x")), "y");
    Session random(std::move(graph), {.seed = 7});
    Floats all;
    for (int i = 0; i < runs; ++i) {
      const Floats one =
          floats_of(random.run({{"x", replicas > 1 ? counted({2, 2}) : counted({2})}})["y"]);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  };
  const Floats two = drawn(2, 1);
  CHECK(two == drawn(1, 2));
  CHECK(two[0] != two[2]);
}

TEST_CASE("collectives: all_reduce by every operator, over all replicas and by group") {
  const auto reduce = [](C join, const ReplicaGrouping& group = {}) {
    return on_replicas(
        4, [&](auto x) { return collectives::replicated_all_reduce(x, join, group); }, 2);
  };
  // x is 0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15.
  const auto four = [](Floats one) {
    Floats all;
    for (int k = 0; k < 4; ++k) all.insert(all.end(), one.begin(), one.end());
    return all;
  };
  CHECK(reduce(C::add) == four({24, 28, 32, 36}));
  CHECK(reduce(C::mean) == four({6, 7, 8, 9}));
  CHECK(reduce(C::multiply) == four({0, 585, 1680, 3465}));
  CHECK(reduce(C::min) == four({0, 1, 2, 3}));
  CHECK(reduce(C::max) == four({12, 13, 14, 15}));
  CHECK(reduce(C::square_add) == four({224, 276, 336, 404}));
  CHECK(reduce(C::add, ReplicaGrouping(4, 1, 2)) ==
        Floats{4, 6, 8, 10, 4, 6, 8, 10, 20, 22, 24, 26, 20, 22, 24, 26});
  CHECK(reduce(C::add, ReplicaGrouping(4, 2, 2)) ==
        Floats{8, 10, 12, 14, 16, 18, 20, 22, 8, 10, 12, 14, 16, 18, 20, 22});
  CHECK(reduce(C::mean, ReplicaGrouping(4, 1, 1)) == floats_of(counted({16})));

  const auto logical = [](C join) {
    Graph g;
    g.replicas = 2;
    const auto x = input<bool, Shape<4>>(g, "x");
    output(g, collectives::replicated_all_reduce(x, join), "y");
    Array<bool> given({2, 4});
    for (int i : {0, 1, 5, 0}) given[i] = true;  // 1 1 0 0 | 0 1 0 0
    const AnyArray y = AnyArray::copy_of(Session(std::move(g)).run({{"x", given}})["y"]);
    std::vector<int> bits;
    for (const bool bit : y.values<bool>()) bits.push_back(bit);
    return bits;
  };
  CHECK(logical(C::logical_and) == std::vector<int>{0, 1, 0, 0, 0, 1, 0, 0});
  CHECK(logical(C::logical_or) == std::vector<int>{1, 1, 0, 0, 1, 1, 0, 0});
}

// The law: shares that threads join side by side are those of one thread. 50,000 floats are enough that
// they are shared, and three replicas divide them unevenly.
TEST_CASE("collectives: large tensors are joined by all threads") {
  constexpr std::int32_t replicas = 3;
  constexpr std::int64_t n = 50'000, part = (n + replicas - 1) / replicas;
  const AnyArray given = counted({replicas, n});
  const Floats x = floats_of(given);
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    Graph g;
    g.replicas = replicas;
    const AnyTensor t = g.input<float>("x", {n});
    const AnyTensor sum = collectives::replicated_all_reduce(t);
    const AnyTensor scattered = collectives::replicated_reduce_scatter(t);
    const AnyTensor all = collectives::replicated_all_gather(t);
    output(g, sum, "sum");
    output(g, scattered, "part");
    output(g, all, "all");
    Session session(std::move(g), {.threads = threads});
    auto results = session.run({{"x", given}});
    const Floats sums = floats_of(results["sum"]), parts = floats_of(results["part"]);
    const Floats alls = floats_of(results["all"]);
    REQUIRE(sums.size() == x.size());
    REQUIRE(parts.size() == static_cast<std::size_t>(replicas * part));
    REQUIRE(alls.size() == static_cast<std::size_t>(replicas) * x.size());
    bool is_equal = true;
    for (std::int64_t r = 0; r < replicas; ++r) {
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = [&](std::int64_t k) { return x[static_cast<std::size_t>(k * n + i)]; };
        const float expected = at(0) + at(1) + at(2);
        is_equal = is_equal && sums[static_cast<std::size_t>(r * n + i)] == expected;
        if (i / part == r) is_equal = is_equal && parts[static_cast<std::size_t>(i)] == expected;
      }
      is_equal = is_equal && std::equal(x.begin(), x.end(), alls.begin() + r * replicas * n);
    }
    CHECK(is_equal);
  }
}

TEST_CASE("collectives: a constant is not joined beforehand") {
  Graph g;
  g.replicas = 3;
  const Floats two{2};
  output(g, collectives::replicated_all_reduce(constant<float, Shape<1>>(g, two)), "y");
  CHECK(floats_of(Session(std::move(g)).run({})["y"]) == Floats{6, 6, 6});
}

TEST_CASE("collectives: reduce_scatter gives parts of vectors, filled up with zeros") {
  // 4 elements over 3 replicas: parts of 2.
  CHECK(on_replicas(3, [](auto x) { return collectives::replicated_reduce_scatter(x); }) ==
        Floats{12, 15, 18, 21, 0, 0});
  CHECK(on_replicas(2, [](auto x) { return collectives::replicated_reduce_scatter(x, C::mean); }) ==
        Floats{2, 3, 4, 5});
  CHECK(on_replicas(4, [](auto x) {
          return collectives::replicated_reduce_scatter(x, C::add, ReplicaGrouping(4, 2, 2));
        }) == Floats{8, 10, 16, 18, 12, 14, 20, 22});
  CHECK(on_replicas(2, [](auto x) { return collectives::replica_sharded_slice(x); }) ==
        Floats{0, 1, 6, 7});
}

TEST_CASE("collectives: all_gather in every shape") {
  const auto shape_of = [](OutputShape shape, std::int64_t axis) {
    Graph g;
    g.replicas = 2;
    const AnyTensor x = g.input<float>("x", {2, 3});
    const AnyTensor y = collectives::replicated_all_gather(x, axis, {}, shape);
    output(g, y, "y");
    Session session(std::move(g));
    const auto result = session.run({{"x", counted({2, 2, 3})}});
    const Floats all = floats_of(result["y"]);
    CHECK(std::equal(all.begin(), all.begin() + 12, all.begin() + 12));  // both have the same
    return std::pair(session.outputs()[0].info.shape, Floats(all.begin(), all.begin() + 12));
  };
  const Floats rows = floats_of(counted({12}));
  CHECK(shape_of(OutputShape::automatic, 0) == std::pair(Dims{4, 3}, rows));
  CHECK(shape_of(OutputShape::concat, 0) == std::pair(Dims{4, 3}, rows));
  CHECK(shape_of(OutputShape::new_axis, 0) == std::pair(Dims{2, 2, 3}, rows));
  CHECK(shape_of(OutputShape::concat, -1) ==
        std::pair(Dims{2, 6}, Floats{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  CHECK(shape_of(OutputShape::new_axis, 1) ==
        std::pair(Dims{2, 2, 3}, Floats{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  CHECK(shape_of(OutputShape::new_axis, 2) ==
        std::pair(Dims{2, 3, 2}, Floats{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
  // A shard goes back to the tensor that it is a part of, without what it was filled up with.
  CHECK(on_replicas(3, [](auto x) {
          const AnyTensor shard = collectives::replicated_reduce_scatter(x, C::add, {}, true);
          CHECK(meta_shape(shard) == Dims{4});
          return collectives::replicated_all_gather(shard);
        }) == Floats{12, 15, 18, 21, 12, 15, 18, 21, 12, 15, 18, 21});
}

TEST_CASE("collectives: replicated_slice divides an axis") {
  const auto slice_of = [](std::int64_t axis, std::int32_t replicas) {
    Graph g;
    g.replicas = replicas;
    const AnyTensor x = g.input<float>("x", {2, 4});
    output(g, collectives::replicated_slice(x, axis), "y");
    Array<float> same({replicas, 2, 4});
    for (std::int64_t i = 0; i < same.info().elements(); ++i) same[i] = static_cast<float>(i % 8);
    Session session(std::move(g));
    const Floats y = floats_of(session.run({{"x", same}})["y"]);
    return std::pair(session.outputs()[0].info.shape, y);
  };
  CHECK(slice_of(1, 2) == std::pair(Dims{2, 2}, Floats{0, 1, 4, 5, 2, 3, 6, 7}));
  CHECK(slice_of(-1, 4) == std::pair(Dims{2}, Floats{0, 4, 1, 5, 2, 6, 3, 7}));
  CHECK(slice_of(0, 2) == std::pair(Dims{4}, Floats{0, 1, 2, 3, 4, 5, 6, 7}));
}

// The gradient of the sum over replicas of sum(w_k * f(x)_k): each replica's dx is what its own x does
// to all of them. Slices and gathers are each other's transposes.
TEST_CASE("collectives: gradients of slices, gathers and sums over IPUs") {
  const auto gradient_of = [](auto build, const Dims& weight) {
    Graph g;
    g.replicas = 2;
    const AnyTensor x = g.input<float>("x", {4});
    const AnyTensor w = g.input<float>("w", weight);
    const AnyTensor loss = op::sum(op::mul(build(x), w), {.keepdims = 0});
    const TensorId wanted[]{x.id};
    output(g, AnyTensor{&g, differentiate(g, loss.id, wanted)[0]}, "dx");
    Dims shape = weight;
    shape.insert(0, 2);
    Session session(std::move(g));
    return floats_of(session.run({{"x", counted({2, 4})}, {"w", counted(shape, 1)}})["dx"]);
  };
  // all_gather of the weights of the parts: 1 2 | 3 4.
  CHECK(gradient_of([](AnyTensor x) { return collectives::replicated_slice(x); }, {2}) ==
        Floats{1, 2, 3, 4, 1, 2, 3, 4});
  CHECK(gradient_of([](AnyTensor x) { return collectives::replica_sharded_slice(x); }, {2}) ==
        Floats{1, 2, 3, 4, 1, 2, 3, 4});
  // As in PopXL, the local slice of the replica's own gradient.
  CHECK(gradient_of([](AnyTensor x) { return collectives::replicated_all_gather(x); }, {8}) ==
        Floats{1, 2, 3, 4, 13, 14, 15, 16});
  CHECK(contains(error_of([&] {
                   gradient_of([](AnyTensor x) { return collectives::replicated_all_reduce(x); },
                               {4});
                 }),
                 "ReplicatedAllReduce"));
  CHECK(contains(error_of([&] {
                   gradient_of(
                       [](AnyTensor x) { return collectives::replicated_reduce_scatter(x); }, {2});
                 }),
                 "own tensor"));
}

TEST_CASE("collectives: all_reduce over the IPUs of one replica, and its identical forms") {
  const auto run = [](auto reduce, C join = C::add, bool with_gradient = true) {
    Graph g;
    const AnyTensor xs[]{g.input<float>("a", {2}), g.input<float>("b", {2})};
    const std::int64_t ipus[]{0, 1};
    const std::vector<AnyTensor> ys = reduce(xs, ipus, join);
    REQUIRE(ys.size() == 2);
    output(g, ys[0], "y0");
    output(g, ys[1], "y1");
    Floats all;
    if (with_gradient) {
      // dy0 = 1, dy1 = 10
      const AnyTensor loss =
          op::add(op::sum(ys[0], {.keepdims = 0}), op::sum(op::mul(ys[1], 10.f), {.keepdims = 0}));
      const TensorId wanted[]{xs[0].id, xs[1].id};
      const std::vector<TensorId> dxs = differentiate(g, loss.id, wanted);
      output(g, AnyTensor{&g, dxs[0]}, "dx0");
      output(g, AnyTensor{&g, dxs[1]}, "dx1");
    }
    Session session(std::move(g));
    const auto result =
        session.run({{"a", Array<float>({2}, {1, 2})}, {"b", Array<float>({2}, {3, 5})}});
    for (std::size_t i = 0; i < result.size(); ++i) {
      const Floats part = floats_of(result[i]);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  using Tensors = std::span<const AnyTensor>;
  using Numbers = std::span<const std::int64_t>;
  const auto plain = [](Tensors x, Numbers i, C c) { return collectives::all_reduce(x, i, c); };
  CHECK(run(plain) == Floats{4, 7, 4, 7, 11, 11, 11, 11});
  CHECK(run(plain, C::max, false) == Floats{3, 5, 3, 5});
  CHECK(run(plain, C::mean, false) == Floats{2, 3.5, 2, 3.5});
  CHECK(run([](Tensors x, Numbers i, C c) {
          return collectives::all_reduce_identical_inputs(x, i, c);
        }) == Floats{1, 2, 3, 5, 11, 11, 11, 11});
  CHECK(run([](Tensors x, Numbers i, C c) {
          return collectives::all_reduce_identical_grad_inputs(x, i, c);
        }) == Floats{4, 7, 4, 7, 1, 1, 10, 10});
  CHECK(contains(error_of([&] { run(plain, C::max); }), "only sums over IPUs have a gradient"));
  Graph g;
  const AnyTensor x = g.input<float>("x", {2});
  const AnyTensor xs[]{x, x};
  const std::int64_t one[]{0};
  CHECK(contains(error_of([&] { collectives::all_reduce(xs, one); }), "another number of IPUs"));
  CHECK(contains(error_of([&] { collectives::all_reduce(xs); }), "IPU of a tensor is not known"));
}

TEST_CASE("collectives: groups that do not fit are refused") {
  Graph g;
  g.replicas = 4;
  const auto x = input<float, Shape<3>>(g, "x");
  CHECK(contains(
      error_of([&] { collectives::replicated_all_reduce(x, C::add, ReplicaGrouping(8, 1, 2)); }),
      "another number of replicas than the graph"));
  CHECK(contains(error_of([&] {
                   const std::vector<int> groups{0, 1, 1, 0};
                   collectives::replicated_all_reduce(x, C::add, ReplicaGrouping(groups));
                 }),
                 "constant stride"));
  CHECK(contains(error_of([&] { collectives::replicated_slice(x); }), "into equal parts"));
  CHECK(contains(error_of([&] { collectives::replicated_all_gather(x, 1); }), "out of range"));
  CHECK(contains(
      error_of([&] { collectives::replicated_all_gather(x, 0, {}, OutputShape::meta_shape); }),
      "no shard"));
  CHECK(contains(error_of([&] { collectives::replicated_all_reduce(x, C::logical_and); }),
                 "logical operators join tensors of bool"));
  // A body does not know how many replicas there are.
  const auto gather = function(
      [](F<3> part) { return std::vector<AnyTensor>{collectives::replicated_all_gather(part)}; });
  output(g, call(gather, x)[0], "y");
  CHECK(contains(error_of([&] { Session(Graph(g)); }), "another number of replicas"));
  g.replicas = 0;
  CHECK(contains(error_of([&] { Session(Graph(g)); }), "number of replicas is out of range"));
}

TEST_CASE("collectives: replicas that disagree get an error, and the session goes on") {
  // One more pass in one replica than in the other; a branch that only one of them takes.
  Graph g;
  g.replicas = 2;
  const auto passes = input<std::int64_t, Shape<>>(g, "passes");
  const auto x = input<float, Shape<>>(g, "x");
  const auto body = function([](F<> value) { return collectives::replicated_all_reduce(value); });
  const F<> y = repeat(body, 2, x);
  output(g, y, "y");
  // A loop whose number of passes the replica's input says.
  const Graph& inner = body.body;
  const op::Loop loop{
      .body = {halftone::detail::share_body(g, halftone::detail::loop_body(inner))}};
  const TensorInfo infos[]{{ElementType::float32, {}}};
  const std::size_t node =
      g.add_node(descriptor<op::Loop>, pack(loop), {passes.id, no_tensor, x.id}, infos);
  output(g, AnyTensor{&g, g.nodes[node].outputs[0]}, "z");
  for (const int threads : {1, 2}) {
    Session session(Graph(g), {.threads = threads});
    Array<std::int64_t> counts({2}, {3, 3});
    const Array<float> xs({2}, {1, 2});
    const auto run = [&] { return session.run({{"passes", counts}, {"x", xs}}); };
    CHECK(floats_of(run()["z"]) == Floats{12, 12});  // (1 + 2) 2 2
    counts[1] = 2;
    const std::string error = error_of(run);
    CHECK(contains(error, "another one does not reach"));
    CHECK(contains(error, "ReplicatedAllReduce"));
    counts[1] = 3;
    CHECK(floats_of(run()["z"]) == Floats{12, 12});
  }
}

TEST_CASE("collectives: branches that differ between replicas") {
  Graph g;
  g.replicas = 2;
  const auto flag = input<bool, Shape<>>(g, "flag");
  const auto x = input<float, Shape<>>(g, "x");
  const auto sum = function([](F<> v) { return collectives::replicated_all_reduce(v); });
  const auto most = function([](F<> v) { return collectives::replicated_all_reduce(v, C::max); });
  output(g, conditional(flag, then(sum, x), otherwise(most, x)), "y");
  Session session(std::move(g), {.threads = 2});
  Array<bool> flags({2});
  const Array<float> xs({2}, {1, 2});
  const auto run = [&] { return session.run({{"flag", flags}, {"x", xs}}); };
  CHECK(floats_of(run()["y"]) == Floats{2, 2});
  flags[0] = true;
  CHECK(contains(error_of(run), "different collective operators"));
  flags[1] = true;
  CHECK(floats_of(run()["y"]) == Floats{3, 3});
}

TEST_CASE("collectives: the error of one replica is the run's, not that others wait for it") {
  Graph g;
  g.replicas = 2;
  const auto rows = input<float, Shape<3, 1>>(g, "rows");
  const auto at = input<std::int64_t, Shape<1>>(g, "at");
  const auto row = op::gather(rows, at);
  output(g, collectives::replicated_all_reduce(row), "y");
  Session session(std::move(g), {.threads = 2});
  const auto run = [&](std::int64_t second) {
    return session.run(
        {{"rows", counted({2, 3, 1})}, {"at", Array<std::int64_t>({2, 1}, {1, second})}});
  };
  CHECK(floats_of(run(2)["y"]) == Floats{6, 6});
  CHECK(contains(error_of([&] { run(7); }), "Gather"));
  CHECK(floats_of(run(0)["y"]) == Floats{4, 4});
}

namespace {

struct Layers {
  F<3, 8> w0;
  F<8> b0;
  F<8, 2> w1;
  constexpr void tensors(auto&& visit) {
    visit("w0", w0);
    visit("b0", b0);
    visit("w1", w1);
  }
};

template <int Batch>
auto loss_of(F<Batch, 3> x, F<Batch, 2> t, Layers w) {
  const auto y = op::matmul(op::tanh(op::matmul(x, w.w0) + w.b0), w.w1) - t;
  return op::mean(y * y, {.keepdims = 0}).template as<F<>>();
}

/// The weights after some steps of a loop in the program, with gradients joined over replicas.
template <int Batch>
std::vector<Floats> trained(std::int32_t replicas, int threads, const AnyView& xs,
                            const AnyView& ts) {
  constexpr int steps = 5;
  Graph g;
  g.replicas = replicas;
  const auto x = h2d_stream<float, Shape<Batch, 3>>(g, "x");
  const auto t = h2d_stream<float, Shape<Batch, 2>>(g, "t");
  const auto y = d2h_stream<float, Shape<>>(g, "loss");
  const auto w = parameters<Layers>(g, "w");
  const auto loss = function(&loss_of<Batch>);
  const auto gradient = autodiff(loss);
  const auto step =
      function([&](Graph& body, by_ref<F<3, 8>> w0, by_ref<F<8>> b0, by_ref<F<8, 2>> w1) {
        const auto site =
            call_with_info(loss, host_load(body, x), host_load(body, t), Layers{*w0, *b0, *w1});
        host_store(y, collectives::replicated_all_reduce(site.out, C::mean));
        const Floats one{1};
        const auto [dx, dt, dw] = call(gradient, site, constant<float, Shape<>>(body, one));
        for_pairs(Layers{*w0, *b0, *w1}, dw, [](auto v, auto dv) {
          const auto mean = collectives::replicated_all_reduce(dv, C::mean);
          op::copy_var_update(v, v - op::mul(mean, 0.25f));
        });
        return std::tuple<>{};
      });
  repeat(step, steps, w.w0, w.b0, w.w1);
  Session session(std::move(g), {.host_transfers = steps, .threads = threads, .seed = 3});
  const auto out = session.run({{x, xs}, {t, ts}});
  return {floats_of(out[y]), floats_of(session.get("w.w0")), floats_of(session.get("w.b0")),
          floats_of(session.get("w.w1"))};
}

Array<float> some(const Dims& shape, float step) {
  Array<float> x(shape);
  for (std::int64_t i = 0; i < x.info().elements(); ++i)
    x[i] = std::sin(static_cast<float>(i) * step);
  return x;
}

}  // namespace

// A mean over a batch is the mean of the means over its halves.
TEST_CASE("replicas: two with mean gradients train like one with twice the batch") {
  const Array<float> xs = some({5, 8, 3}, .7f), ts = some({5, 8, 2}, .3f);
  Array<float> xs2({5, 2, 4, 3}), ts2({5, 2, 4, 2});
  std::memcpy(xs2.data(), xs.data(), xs.bytes());
  std::memcpy(ts2.data(), ts.data(), ts.bytes());
  const auto one = trained<8>(1, 1, xs, ts), two = trained<4>(2, 1, xs2, ts2);
  CHECK(one[0][4] < one[0][0]);
  for (std::size_t i = 1; i < one.size(); ++i) {
    for (std::size_t e = 0; e < one[i].size(); ++e) {
      CHECK(two[i][e] == doctest::Approx(one[i][e]).epsilon(1e-5));
    }
  }
  // Every replica was given the same loss.
  for (std::size_t s = 0; s < 5; ++s) {
    CHECK(two[0][2 * s] == two[0][2 * s + 1]);
    CHECK(two[0][2 * s] == doctest::Approx(one[0][s]).epsilon(1e-5));
  }
}

TEST_CASE("replicas: train() joins the replicas' gradients as those of micro-batches") {
  const auto train_on = [](std::int32_t replicas, std::int64_t batch) {
    Graph g;
    g.replicas = replicas;
    const AnyTensor x = g.input<float>("x", {batch, 3}), t = g.input<float>("t", {batch, 2});
    const auto w = parameter<float, Shape<3, 2>>(g, "w");
    const AnyTensor e = op::sub(op::matmul(x, w), t);
    train(g, op::mean(op::mul(e, e), {.keepdims = 0}), Adam{.learning_rate = 0.1f},
          {.reduction = AccumulationReduction::mean});
    Session session(std::move(g), {.threads = 2, .seed = 5});
    const Dims lead = replicas > 1 ? Dims{replicas, batch} : Dims{batch};
    const auto given = [&](std::int64_t columns, float step) {
      Dims shape = lead;
      shape.push_back(columns);
      return some(shape, step);
    };
    const Array<float> xs = given(3, .7f), ts = given(2, .3f);
    for (int i = 0; i < 4; ++i) session.run({{"x", xs}, {"t", ts}});
    return floats_of(session.get("w"));
  };
  const Floats one = train_on(1, 8), four = train_on(4, 2);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(four[i] == doctest::Approx(one[i]).epsilon(1e-4));
  }
}

TEST_CASE("replicas: results have the same bits on 1, 2 and 4 threads") {
  const Array<float> xs = some({5, 8, 4, 3}, .7f), ts = some({5, 8, 4, 2}, .3f);
  const auto one = trained<4>(8, 1, xs, ts);
  for (const int threads : {2, 4, 8}) CHECK(trained<4>(8, threads, xs, ts) == one);
}

TEST_CASE("replicas: variables of groups, and what the host gets of them") {
  for (const bool all : {false, true}) {
    Graph g;
    g.replicas = 4;
    const Floats data{1, 2, 3, 4};  // two groups of two elements
    const auto v = parameter<float, Shape<2>>(
        g, "v", std::span<const float>(data),
        {.grouping = ReplicaGrouping(4, 2, 2),
         .retrieval = all ? Retrieval::all_replicas : Retrieval::one_per_group});
    const auto x = input<float, Shape<2>>(g, "x");
    output(g, v + x, "y");
    op::copy_var_update(v, v + x);
    Session session(Graph(g), {.threads = 2});
    // Replicas 0 and 2 have 1 2, replicas 1 and 3 have 3 4; x is 0 1 2 3 4 5 6 7.
    const Floats sums{1, 3, 5, 7, 5, 7, 9, 11};
    CHECK(floats_of(session.run({{"x", counted({4, 2})}})["y"]) == sums);
    const AnyView value = session.get("v");
    if (all) {
      CHECK(value.info.shape == Dims{4, 2});
      CHECK(floats_of(value) == sums);
      CHECK(contains(error_of([&] { session.set("v", Array<float>({2, 2})); }),
                     "values of all replicas"));
    } else {
      CHECK(value.info.shape == Dims{2, 2});
      CHECK(floats_of(value) == Floats{1, 3, 5, 7});
      session.set("v", Array<float>({2, 2}, {10, 20, 30, 40}));
      CHECK(floats_of(session.run({{"x", counted({4, 2})}})["y"]) ==
            Floats{10, 21, 32, 43, 14, 25, 36, 47});
      CHECK(contains(error_of([&] { session.set("v", Array<float>({2})); }), "[2, 2] float"));
    }
  }
}

TEST_CASE("replicas: variables of groups that nothing changes, and groups without a stride") {
  Graph g;
  g.replicas = 4;
  const Floats data{1, 2};
  const std::vector<int> mirrored{0, 1, 1, 0};
  const auto v = parameter<float, Shape<>>(g, "v", std::span<const float>(data),
                                           {.grouping = ReplicaGrouping(mirrored)});
  output(g, v * input<float, Shape<>>(g, "x"), "y");
  Session session(std::move(g));
  const Array<float> each({4}, {1, 1, 1, 1});
  CHECK(floats_of(session.run({{"x", each}})["y"]) == Floats{1, 2, 2, 1});
  session.set("v", Array<float>({2}, {5, 6}));
  CHECK(floats_of(session.run({{"x", each}})["y"]) == Floats{5, 6, 6, 5});
  CHECK(floats_of(session.get("v")) == Floats{5, 6});
}

TEST_CASE("replicas: variables whose settings do not fit are refused") {
  const auto refusal = [](std::int32_t replicas, const ReplicaGrouping& grouping,
                          std::size_t elements) {
    return error_of([&] {
      Graph g;
      g.replicas = replicas;
      const Floats data(elements);
      const auto v =
          parameter<float, Shape<2>>(g, "v", std::span<const float>(data), {.grouping = grouping});
      output(g, op::neg(v), "y");
      Session(std::move(g));
    });
  };
  CHECK(refusal(4, ReplicaGrouping(4, 1, 2), 4) == "no error");
  CHECK(contains(refusal(4, ReplicaGrouping(4, 1, 2), 2), "than its groups"));
  CHECK(contains(refusal(2, ReplicaGrouping(4, 1, 2), 4), "another number of replicas"));
}

TEST_CASE("replicas: executables keep groups and values") {
  Graph g;
  g.replicas = 2;
  const Floats data{1, 2};
  const auto v = parameter<float, Shape<>>(g, "v", std::span<const float>(data),
                                           {.grouping = ReplicaGrouping(2, 1, 1)});
  const auto x = input<float, Shape<>>(g, "x");
  op::copy_var_update(v, v + x);
  output(g, collectives::replicated_all_reduce(v), "y");
  Session first(std::move(g));
  const Array<float> tens({2}, {10, 20});
  CHECK(floats_of(first.run({{"x", tens}})["y"]) == Floats{33, 33});
  Session second(first.executable());
  CHECK(floats_of(second.get("v")) == Floats{11, 22});
  CHECK(floats_of(second.run({{"x", tens}})["y"]) == Floats{63, 63});
  // A copy of the graph has the values, too, and other sessions take them.
  Session third(first.graph());
  CHECK(floats_of(third.get("v")) == Floats{11, 22});
  third.set_weights(second.weights());
  CHECK(floats_of(third.get("v")) == Floats{21, 42});
}

TEST_CASE("replicas: ONNX files do not keep them, and say so") {
  Graph g;
  g.replicas = 2;
  output(g, op::neg(input<float, Shape<2>>(g, "x")), "y");
  CHECK(contains(error_of([&] { onnx::to_bytes(g); }), "has no replicas"));
  g.replicas = 1;
  CHECK(error_of([&] { onnx::to_bytes(g); }) == "no error");
}

TEST_CASE("replicas: the machine's arithmetic is refused, reports are of one replica") {
  Graph g;
  g.replicas = 2;
  const auto x = input<float, Shape<64>>(g, "x");
  output(g, collectives::replicated_all_reduce(op::mul(x, 2.f)), "y");
  Session session(Graph(g), {.device = Device::ipu_model});
  CHECK(session.report().cycles() > 0);
  CHECK(floats_of(session.run({{"x", counted({2, 64})}})["y"])[0] == 128);
  SessionOptions exact{.device = Device::ipu_model};
  exact.ipu.arithmetic.half = true;
  CHECK(contains(error_of([&] { Session(Graph(g), exact); }), "machine's arithmetic"));
}
