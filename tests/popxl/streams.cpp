// Streams, contexts, groupings, remote buffers and collectives in PopXL's words.
#include <popxl/popxl.hpp>

#include <doctest/doctest.h>

#include <numeric>

#include "error_of.hpp"
#include "popxl/evaluate.hpp"

using namespace popxl;
using test::contains;
using test::error_of;
using test::F;
using test::Number;

namespace {
std::vector<float> list(const Array<float>& array) {
  return {array.values().begin(), array.values().end()};
}
}  // namespace

TEST_CASE("popxl Ir: get_all_h2d_streams and get_all_d2h_streams are those that are used") {
  Ir ir;
  Main in(ir);
  const auto x = h2d_stream<float, Shape<2>>("x");
  const auto y = d2h_stream<float, Shape<2>>("y");
  CHECK(ir.get_all_h2d_streams().empty());
  CHECK(ir.get_all_d2h_streams().empty());
  const auto body = ir.create_graph([&](Number by) { ops::host_store(y, ops::host_load(x) + by); });
  CHECK(ir.get_all_h2d_streams().empty());  // nobody calls it yet
  ops::call(body, constant(1.f));
  REQUIRE(ir.get_all_h2d_streams().size() == 1);
  CHECK(ir.get_all_h2d_streams()[0].name == x.name);
  CHECK(ir.get_all_d2h_streams()[0].name == y.name);
}

TEST_CASE("popxl Ir: the four groupings of the documentation") {
  const Ir ir(8);
  using Assignment = std::vector<int>;
  CHECK(ir.replica_grouping(1, 2).assignment() == Assignment{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(ir.replica_grouping(1, 4).assignment() == Assignment{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(ir.replica_grouping(2, 4).assignment() == Assignment{0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(ir.replica_grouping(4, 2).assignment() == Assignment{0, 1, 2, 3, 0, 1, 2, 3});
}

TEST_CASE("popxl Ir: replica_grouping defaults and errors") {
  const Ir ir(8);
  CHECK(ir.replica_grouping().group_size() == 8);
  CHECK(ir.replica_grouping(2).group_size() == 4);
  CHECK(ir.replica_grouping(2).num_groups() == 2);
  CHECK_THROWS_AS(ir.replica_grouping(0), ValueError);
  CHECK_THROWS_AS(ir.replica_grouping(1, 3), ValueError);
  CHECK_THROWS_AS(ir.replica_grouping(4, 4), ValueError);
  CHECK_THROWS_AS(ir.replica_grouping(2, 1), ValueError);
}

TEST_CASE("popxl Ir: replica_grouping_from_assignments, also with strides that differ") {
  const Ir ir(8), six(6);
  const auto halves = ir.replica_grouping_from_assignments({0, 0, 1, 1, 0, 0, 1, 1});
  CHECK(halves.assignment() == std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1});
  CHECK(halves.num_groups() == 2);
  const auto uneven = six.replica_grouping_from_assignments({0, 1, 0, 0, 1, 1});
  CHECK(!uneven.is_const());
  CHECK_THROWS_AS(uneven.stride(), halftone::UsageError);
  CHECK_THROWS_AS(ir.replica_grouping_from_assignments({0, 0, 1, 1}), ValueError);
  CHECK_THROWS_AS(six.replica_grouping_from_assignments({0, 0, 0, 0, 1, 1}), ValueError);
  CHECK_THROWS_AS(six.replica_grouping_from_assignments({1, 1, 1, 0, 0, 0}), ValueError);
}

TEST_CASE("popxl streams: loads take slice after slice, in loops and bodies") {
  Ir ir;
  ir.num_host_transfers = 4;
  Main in(ir);
  const auto x = h2d_stream<float, Shape<>>("x");
  const auto y = d2h_stream<float, Shape<>>("y");
  const auto body = ir.create_graph([&](Number sum) {
    const auto next = sum + ops::host_load(x);
    ops::host_store(y, next);
    return next;
  });
  ops::repeat(body, 4, constant(0.f) + variable<float, Shape<>>("zero", zeros));
  Session session(ir);
  const auto on = session.attach();
  const auto out = session.run({{x, Array<float>({4}, {1, 2, 3, 4})}});
  CHECK(list(out[y]) == std::vector<float>{1, 3, 6, 10});
}

TEST_CASE("popxl streams: what is stored has the stream's type and shape") {
  Ir ir;
  Main in(ir);
  const AnyDeviceToHost y = d2h_stream(TensorSpec{ElementType::float32, {2}}, "y");
  const AnyTensor wrong = constant<float, Shape<3>>({1, 2, 3});
  CHECK_THROWS_AS(ops::host_store(y, wrong), ValueError);
  CHECK_THROWS_AS(ops::host_store(y, AnyTensor(constant<std::int32_t, Shape<2>>({1, 2}))),
                  ValueError);
  CHECK(ir.get_all_d2h_streams().empty());
}

TEST_CASE("popxl contexts: ipu, io_tiles and name_scope, also in graphs that are created inside") {
  Ir ir;
  Main in(ir);
  const auto x = variable<float, Shape<>>("x", ones);
  const auto& nodes = ir.main_graph().native().nodes;
  {
    const ipu on(1);
    const name_scope layer("layer");
    static_cast<void>(x + 1.f);
    CHECK(variable<float, Shape<>>("w", ones).name() == "layer/w");
    const auto graph = ir.create_graph([](Number v) { return v * 2.f; });
    CHECK(graph.native().nodes[0].place.ipu == 1);
    {
      const ipu other(2);
      static_cast<void>(x + 2.f);
    }
    CHECK(nodes[1].place.ipu == 2);
  }
  CHECK(nodes[0].place.ipu == 1);
  {
    const io_tiles tiles;
    static_cast<void>(x + 3.f);
  }
  CHECK(nodes[2].planning.on_io_tiles);
  static_cast<void>(x + 4.f);
  CHECK(nodes[3].place.ipu == -1);
  CHECK(!nodes[3].planning.on_io_tiles);
  CHECK_THROWS_AS(ipu(64), ValueError);
  CHECK_THROWS_AS(ipu(-1), ValueError);
}

TEST_CASE("popxl contexts: in_sequence true, false and pass, restored also by exceptions") {
  Ir ir;
  Main in(ir);
  const auto x = variable<float, Shape<>>("x", ones);
  const auto& nodes = ir.main_graph().native().nodes;
  try {
    const in_sequence seq;
    static_cast<void>(x + 1.f);
    static_cast<void>(x + 2.f);
    {
      const in_sequence side(false);
      static_cast<void>(x + 3.f);
      static_cast<void>(x + 4.f);
    }
    static_cast<void>(x + 5.f);
    {
      const in_sequence none(pass);
      static_cast<void>(x + 6.f);
    }
    throw 1;
  } catch (int) {
  }
  static_cast<void>(x + 7.f);
  CHECK(nodes[0].order.position < nodes[1].order.position);
  CHECK(nodes[1].order.position < nodes[2].order.position);
  CHECK(nodes[2].order.position == nodes[3].order.position);
  CHECK(nodes[3].order.position < nodes[4].order.position);
  CHECK(nodes[5].order.block == 0);
  CHECK(nodes[6].order.block == 0);
}

TEST_CASE("popxl transforms: merge_exchange, and io_tile_exchange with its check") {
  Ir ir;
  Main in(ir);
  const auto x = h2d_stream<float, Shape<>>("x"), z = h2d_stream<float, Shape<>>("z");
  const auto y = d2h_stream<float, Shape<>>("y");
  Number a, b;
  transforms::io_tile_exchange([&] {
    a = ops::host_load(x);
    b = ops::host_load(z);
  });
  const auto& nodes = ir.main_graph().native().nodes;
  for (const halftone::Node& node : nodes) CHECK(node.planning.on_io_tiles);
  CHECK_THROWS_AS(transforms::io_tile_exchange([&] { static_cast<void>(a + b); }), RuntimeError);
  {
    const transforms::merge_exchange merged;
    ops::host_store(y, a + b);
  }
}

TEST_CASE("popxl remote buffers: load, store, and variables in entries") {
  Ir ir;
  Main in(ir);
  const auto buffer = remote_buffer<float, Shape<2>>(2);
  const float data[] = {1, 2};
  const auto w = remote_variable<float, Shape<2>>("w", data, buffer, 1);
  const auto y = d2h_stream<float, Shape<2>>("y");
  {
    const in_sequence seq;
    const auto v = ops::remote_load(buffer, 1);
    ops::remote_store(buffer, 1, v + 1.f);
    ops::host_store(y, ops::remote_load(buffer, 0));  // zeros
  }
  CHECK_THROWS_AS(ops::remote_load(buffer, 2), halftone::UsageError);
  CHECK_THROWS_AS((remote_buffer<float, Shape<2>>(0)), halftone::UsageError);
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  CHECK(list(session.run()[y]) == std::vector<float>{0, 0});
  CHECK(session.get_tensor_data(w)[1] == 3);
}

TEST_CASE("popxl ops::collectives: all names, for two replicas") {
  Ir ir(2);
  Main in(ir);
  namespace c = ops::collectives;
  const Array<float> rows({2, 2}, {1, 2, 10, 20});
  const auto w = variable<float, Shape<2>>("w", rows.values(),
                                           VariableSettings{.grouping = ir.replica_grouping(1, 1)});
  const auto sum = d2h_stream<float, Shape<2>>("sum"), own = d2h_stream<float, Shape<2>>("own");
  const auto parts = d2h_stream<float, Shape<1>>("parts"),
             shards = d2h_stream<float, Shape<1>>("shards");
  const auto pieces = d2h_stream<float, Shape<>>("pieces");
  const auto all = d2h_stream<float, Shape<4>>("all");
  ops::host_store(sum, c::replicated_all_reduce(w));
  const auto t = w * 1.f;
  c::replicated_all_reduce_(t, c::CollectiveOp::mean);
  ops::host_store(own, t);
  ops::host_store(parts, c::replicated_reduce_scatter(w));
  ops::host_store(shards, c::replica_sharded_slice(w));
  ops::host_store(pieces, c::replicated_slice(w));
  ops::host_store(all, c::replicated_all_gather(w));
  const std::vector<AnyTensor> one = {w};
  const std::vector<std::int64_t> first = {0};
  CHECK(c::all_reduce(one, first).size() == 1);
  CHECK(c::all_reduce_identical_inputs(one, first).size() == 1);
  CHECK(c::all_reduce_identical_grad_inputs(one, first).size() == 1);
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  const auto out = session.run();
  CHECK(list(out[sum]) == std::vector<float>{11, 22, 11, 22});
  CHECK(list(out[own]) == std::vector<float>{5.5, 11, 5.5, 11});
  CHECK(list(out[parts]) == std::vector<float>{11, 22});
  CHECK(list(out[shards]) == std::vector<float>{1, 20});
  CHECK(list(out[pieces]) == std::vector<float>{1, 20});
  CHECK(list(out[all]) == std::vector<float>{1, 2, 10, 20, 1, 2, 10, 20});
}

TEST_CASE("popxl replica_sharded_variable: needs replicas, and data for each group") {
  Ir one;
  {
    Main in(one);
    CHECK_THROWS_AS(replica_sharded_variable("w", Array<float>({2}, {1, 2})), ValueError);
  }
  Ir ir(4);
  Main in(ir);
  CHECK_THROWS_AS(
      replica_sharded_variable("w", Array<float>({2}, {1, 2}), ir.replica_grouping(1, 1)),
      ValueError);
  const auto [handle, shard] = replica_sharded_variable("w", Array<float>({4}, {1, 2, 3, 4}));
  CHECK(shard.info().shape == Dims{1});
  CHECK(meta_shape(shard) == Dims{4});
}

TEST_CASE("popxl seeds: create_seeds, and two words of 64 bits") {
  const auto seeds = create_seeds(42, 0, 2, 1, 3);
  CHECK(seeds.info().shape == Dims{2, 3, 2});
  CHECK(list(Array<float>({1},
                          {static_cast<float>(create_seeds(1)[0] != create_seeds(2)[0])}))[0] == 1);
  CHECK(two_uint32_to_uint64(uint64_to_two_uint32(0x123456789abcdefull)) == 0x123456789abcdefull);
}

TEST_CASE("popxl remote buffers: validate_tensor_matches_buffer and set_remote_buffer_info") {
  Ir ir;
  Main in(ir);
  const auto buffer = remote_buffer(TensorSpec{ElementType::float32, {2}}, 3);
  const auto fits = constant<float, Shape<2>>({1, 2});
  validate_tensor_matches_buffer(buffer, fits);
  CHECK_THROWS_AS(validate_tensor_matches_buffer(buffer, constant<float, Shape<3>>({1, 2, 3})),
                  ValueError);
  CHECK_THROWS_AS(validate_tensor_matches_buffer(buffer, constant<std::int32_t, Shape<2>>({1, 2})),
                  ValueError);
  CHECK_THROWS_AS(validate_tensor_matches_buffer(buffer, fits, 2), ValueError);  // no meta_shape
  const auto other = set_remote_buffer_info(buffer, {ElementType::float32, {3}}, 1);
  CHECK(other.entries == 1);
  CHECK(ops::remote_load(other).info().shape == Dims{3});
}

// 0 + 1 in every run: the buffer is new each time.
TEST_CASE("popxl ops: init remote_load_ remote_code_load") {
  Ir ir;
  Main in(ir);
  const auto buffer = remote_buffer<float, Shape<2>>();
  const auto y = d2h_stream<float, Shape<2>>("y"), z = d2h_stream<float, Shape<2>>("z");
  const auto graph = ir.create_graph([](F<2> v) { return v + 1.f; });
  in_sequence seq;
  const auto made = ops::init<float, Shape<2>>("made");
  CHECK(made.name() == "made");
  ops::add_(made, 1.f);
  ops::host_store(y, made);
  const auto into = ops::init<float, Shape<2>>({}, ops::InitType::undef);
  ops::remote_load_(buffer, 0, into);
  ops::remote_code_load(graph);
  ops::host_store(z, ops::call(graph, into));
  CHECK_THROWS_AS(ops::remote_code_load(graph, "io_buffer"), NotImplementedError);
  CHECK_THROWS_AS(ops::remote_code_load(graph, "somewhere"), ValueError);
  CHECK_THROWS_AS(ops::remote_code_load(gcg()), ValueError);
  Session session(ir);
  const auto on = session.attach();
  for (int i = 0; i < 2; ++i) {
    const auto out = session.run();
    CHECK(list(out[y]) == std::vector<float>{1, 1});
    CHECK(list(out[z]) == std::vector<float>{1, 1});
  }
}

TEST_CASE("popxl Tensor: names, strides, length, places, diag, +=") {
  Ir ir;
  Main in(ir);
  CHECK(as_dtype("half") == ElementType::float16);
  CHECK(as_dtype("float8_152") == ElementType::float8_e5m2fnuz);
  CHECK_THROWS_AS(as_dtype("complex64"), ValueError);
  Tensor<float, Shape<2, 2>> w;
  {
    const name_scope layer("layer");
    w = variable<float, Shape<2, 2>>("w", Array<float>({2, 2}, {1, 2, 3, 4}));
  }
  CHECK(scope_of(w) == "layer");
  CHECK(name_of(w) == "w");
  CHECK(strides(w) == Dims{8, 4});
  CHECK(len(w) == 2);
  CHECK_THROWS_AS(len(constant(1.f)), ValueError);
  CHECK_THROWS_AS(ipu_of(w), UndefinedValue);
  Tensor<float, Shape<2, 2>> t;
  {
    const ipu second(1);
    const io_tiles tiles;
    t = w * 1.f;
  }
  CHECK(ipu_of(t) == 1);
  CHECK(tile_set(t) == TileSet::IO);
  const auto d = diag(t);
  static_assert(std::is_same_v<decltype(d), const Tensor<float, Shape<2>>>);
  CHECK_THROWS_AS(diag(AnyTensor(d)), ValueError);
  t += 1.f;
  const auto all = test::evaluate(*t.graph, {d, diag(t), t});
  CHECK(all[0] == std::vector<double>{1, 4});
  CHECK(all[1] == std::vector<double>{2, 5});
  CHECK(all[2] == std::vector<double>{2, 3, 4, 5});
}
