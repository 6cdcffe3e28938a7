// Tensors, what is created, changes through views, and places. Expected numbers come from the formulas in
// the programs.
#include <popxl/popxl.hpp>

#include <doctest/doctest.h>

#include <cmath>

#include "error_of.hpp"
#include "popxl/evaluate.hpp"

using namespace popxl;
using test::check_near;
using test::contains;
using test::error_of;
using test::F;
using test::Number;
using test::value;

namespace {

/// 0, 1, 2, ... in a variable of two rows.
F<2, 3> counted(std::string_view name = "x") {
  return variable<float, Shape<2, 3>>(name, Array<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
}

}  // namespace

// --- 1.3 properties ------------------------------------------------------------------------------------

TEST_CASE("popxl Tensor: id name dtype shape rank nelms spec meta_shape") {
  Ir ir(2);
  Main in(ir);
  const auto x = counted();
  CHECK(x.name() == "x");
  CHECK(gcg().get_tensor("x") == AnyTensor(x));
  const TensorSpec spec = x.info();
  CHECK(spec.type == ElementType::float32);
  CHECK(spec.shape == Dims{2, 3});
  CHECK(spec.rank() == 2);
  CHECK(spec.elements() == 6);
  CHECK(meta_shape(x).empty());
  const auto shard = ops::collectives::replica_sharded_slice(x);
  CHECK(meta_shape(shard) == Dims{2, 3});
  CHECK(shard.info().shape == Dims{3});
  CHECK(shard.graph == &ir.main_graph().native());
}

TEST_CASE("popxl Tensor: T transpose reshape flatten detach") {
  Ir ir;
  Main in(ir);
  const auto x = counted();
  static_assert(std::is_same_v<decltype(x.transposed()), F<3, 2>>);
  check_near(value(x.transposed()), {0, 3, 1, 4, 2, 5});
  check_near(value(ops::transpose<1, 0>(x)), {0, 3, 1, 4, 2, 5});
  check_near(value(ops::flatten(ops::reshape<3, 2>(ops::detach(x)))), {0, 1, 2, 3, 4, 5});
}

TEST_CASE("popxl Tensor: + - * / % & | ~ and -x, with numbers on both sides") {
  Ir ir;
  Main in(ir);
  const auto x = counted();
  const auto more = ops::greater(x, 2.f), few = ops::greater(4.f, x);
  const auto all = test::evaluate(*x.graph, {x + 1.f, 1.f - x, x * x, 6.f / (x + 1.f), x % 2.f, -x,
                                             more & few, more | few, ~more});
  const std::function<double(double)> formulas[] = {
      [](double v) { return v + 1; },           [](double v) { return 1 - v; },
      [](double v) { return v * v; },           [](double v) { return 6 / (v + 1); },
      [](double v) { return std::fmod(v, 2); }, [](double v) { return -v; },
      [](double v) { return v > 2 && v < 4; },  [](double) { return 1; },
      [](double v) { return v <= 2; }};
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    for (std::size_t k = 0; k < 6; ++k) {
      CHECK(all[i][k] == doctest::Approx(formulas[i](static_cast<double>(k))));
    }
  }
  // @ and ** are functions: C++ has no such operators.
  check_near(value(ops::matmul(x, x.transposed())), {5, 14, 14, 50});
  check_near(value(ops::pow(x, 2.f)), {0, 1, 4, 9, 16, 25});
}

TEST_CASE("popxl Tensor: a number that the type cannot hold is refused") {
  Ir ir;
  Main in(ir);
  const AnyTensor n = constant<std::int32_t>(2);
  CHECK_THROWS_AS(n + 1.5f, halftone::UsageError);  // PopXL adds 1
}

TEST_CASE("popxl Tensor: [] with integers, sections, tensors and masks") {
  Ir ir;
  Main in(ir);
  const auto x = counted();
  check_near(value(x[0]), {0, 1, 2});
  check_near(value(x[-1]), {3, 4, 5});  // PopXL gives nothing
  check_near(value(x[halftone::slice<1, 2>]), {3, 4, 5});
  check_near(value(x[0][halftone::Section{0, 3, 2}]), {0, 2});
  check_near(value(x[constant<std::int32_t, Shape<3>>({1, 0, 1})]), {3, 4, 5, 0, 1, 2, 3, 4, 5});
  check_near(value(x[ops::greater(x, 2.f)]), {0, 0, 0, 3, 4, 5});  // zeros, the shape stays
  CHECK_THROWS_AS(x[2], halftone::ShapeError);
}

TEST_CASE("popxl Variable: shape shape_on_host shape_on_replica replica_grouping retrieval_mode") {
  Ir ir(4);
  Main in(ir);
  const auto plain = counted();
  CHECK(shape_on_host(plain) == Dims{2, 3});
  const auto pairs = ir.replica_grouping(1, 2);
  const float rows[] = {1, 2, 3, 4};
  const auto w = variable<float, Shape<2>>(
      "w", std::span<const float>(rows),
      VariableSettings{.grouping = pairs, .retrieval = RetrievalMode::all_replicas});
  CHECK(w.info().shape == Dims{2});  // on a replica
  CHECK(shape_on_host(w) == Dims{2, 2});
  const VariableSettings* const settings = w.graph->settings(w.id);
  REQUIRE(settings != nullptr);
  CHECK(settings->grouping == pairs);
  CHECK(settings->retrieval == RetrievalMode::all_replicas);
}

TEST_CASE("popxl Tensor: location_info and in_sync_with_ipu") {
  Ir ir(2);
  Main in(ir);
  const auto w = variable<float, Shape<2>>("w", ones);
  const auto buffer = remote_buffer<float, Shape<2>>();
  const float two[] = {2, 2};
  const auto remote = remote_variable<float, Shape<2>>("r", two, buffer);
  const auto [handle, shard] = replica_sharded_variable("s", Array<float>({2}, {1, 2}));
  CHECK(location_info(w) == TensorLocation{});
  CHECK(location_info(remote).storage == TensorStorage::OffChip);
  CHECK(location_info(remote).isRemote());
  CHECK(location_info(handle).replicatedTensorSharding == ReplicatedTensorSharding::On);
  ops::add_(w, 1.f);
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  CHECK(session.in_sync_with_ipu());
  session.run();
  CHECK(!session.in_sync_with_ipu());
  CHECK(session.get_tensor_data(w)[0] == 2);
  CHECK(session.in_sync_with_ipu());
}

TEST_CASE("popxl enums: TensorStorage ReplicatedTensorSharding TileSet ExecutionContext") {
  const TensorLocation here(TensorStorage::OnChip, ReplicatedTensorSharding::Off);
  CHECK(here == TensorLocation{});
  CHECK(TensorLocation(TensorStorage::OffChip).isRemote());
  CHECK(TileSet::Compute != TileSet::IO);
  CHECK(TileSet::Undefined != TileSet::IO);
  CHECK(ExecutionContext::Normal != ExecutionContext::Subgraph);
  CHECK(ExecutionContext::WeightsFromHostFragment != ExecutionContext::WeightsToHostFragment);
}

// --- 1.3 changes through views -------------------------------------------------------------------------

TEST_CASE("popxl ops: reshape_ flatten_ transpose_ slice_ concat_: a change of the view is seen") {
  Ir ir;
  Main in(ir);
  SUBCASE("reshape_") {
    const auto x = counted();
    ops::add_(ops::reshape_<3, 2>(x), 1.f);
    check_near(value(x + 0.f), {1, 2, 3, 4, 5, 6});
  }
  SUBCASE("flatten_") {
    const auto x = counted();
    ops::add_(ops::flatten_(x), 1.f);
    check_near(value(x + 0.f), {1, 2, 3, 4, 5, 6});
  }
  SUBCASE("transpose_") {
    const auto x = counted();
    const auto t = ops::transpose_<1, 0>(x);
    const auto rows = constant<float, Shape<3, 1>>({10, 20, 30});
    ops::add_(t, rows);
    check_near(value(x + 0.f), {10, 21, 32, 13, 24, 35});
    check_near(value(t + 0.f), {10, 13, 21, 24, 32, 35});
  }
  SUBCASE("slice_, forwards and backwards along two axes") {
    const auto x = counted();
    ops::add_(ops::slice_<1, 3, 1, 1>(x), 10.f);
    check_near(value(x + 0.f), {0, 11, 12, 3, 14, 15});
    const auto v = ops::slice_(AnyTensor(x), Dims{1, 1}, Dims{-3, -4}, Dims{-1, -1});
    CHECK(v.info().shape == Dims{2, 2});  // 14 3; 11 0
    ops::var_updates::copy_var_update_(v, AnyTensor(constant<float, Shape<2, 2>>({1, 2, 3, 4})));
    check_near(value(x + 0.f), {4, 3, 12, 2, 1, 15});
  }
  SUBCASE("concat_") {
    const auto a = variable<float, Shape<1>>("a", ones);
    const auto b = variable<float, Shape<2>>("b", zeros);
    const auto both = ops::concat_<0>(a, b);
    ops::var_updates::copy_var_update_(both, constant<float, Shape<3>>({7, 8, 9}));
    check_near(value(a + 0.f), {7});
    check_near(value(b + 0.f), {8, 9});
  }
}

TEST_CASE("popxl ops: a tensor and its view are read after a change of either") {
  for (const bool changes_view : {true, false}) {
    CAPTURE(changes_view);
    Ir ir;
    Main in(ir);
    const AnyTensor x = counted();
    double added = 0;
    for (const AnyTensor& v :
         {AnyTensor(ops::reshape_(x, Dims{3, 2})), AnyTensor(ops::flatten_(x)), ops::detach_(x)}) {
      ops::add_(changes_view ? v : x, 1.f);
      const auto both = test::evaluate(*x.graph, {x + 0.f, v + 0.f});
      added += 1;
      for (std::size_t i = 0; i < 6; ++i) {
        CHECK(both[0][i] == static_cast<double>(i) + added);
        CHECK(both[1][i] == static_cast<double>(i) + added);
      }
    }
  }
}

TEST_CASE("popxl ops: a view sees changes of its tensor, of other views, and of calls") {
  Ir ir;
  Main in(ir);
  const auto x = counted();
  const auto t = ops::transpose_<1, 0>(x);
  const auto row = ops::slice_<0, 1>(x);
  const auto copy = ops::slice<0, 1>(x);
  ops::add_(x, 1.f);
  check_near(value(t + 0.f), {1, 4, 2, 5, 3, 6});
  check_near(value(row + 0.f), {1, 2, 3});
  check_near(value(copy + 0.f), {0, 1, 2});  // no view
  ops::add_(ops::flatten_(t), 1.f);          // a view of a view
  check_near(value(x + 0.f), {2, 3, 4, 5, 6, 7});
  check_near(value(row + 0.f), {2, 3, 4});
  const auto negate = ir.create_graph(
      [](TensorByRef<F<1, 3>> v) { ops::var_updates::accumulator_scale_(*v, -1.f); });
  static_cast<void>(ops::call(negate, row));
  check_near(value(x + 0.f), {-2, -3, -4, 5, 6, 7});
  check_near(value(t + 0.f), {-2, 5, -3, 6, -4, 7});
}

TEST_CASE("popxl ops: what is no view, and a change of a constant, are refused") {
  Ir ir;
  Main in(ir);
  const auto x = counted();
  CHECK_THROWS_AS(halftone::tied(x + 1.f), halftone::UsageError);
  const auto c = constant<float, Shape<2>>({1, 2});
  CHECK_THROWS_AS(ops::add_(c, 1.f), halftone::UsageError);
  CHECK(contains(error_of([&] { ops::add_(c, 1.f); }), "a constant is changed"));
}

// --- var_updates of what is no variable ------------------------------------------------------------------

TEST_CASE("popxl var_updates: of parameters by reference and of buffers of init") {
  Ir ir;
  Main in(ir);
  const auto w = variable<float, Shape<2>>("w", ones);
  const auto update = ir.create_graph([](TensorByRef<F<2>> v, F<2> x) {
    ops::var_updates::accumulate_(*v, x, 2.f);
    ops::var_updates::accumulate_moving_average_(*v, x, 0.5f);
  });
  static_cast<void>(ops::call(update, w, constant<float, Shape<2>>({1, 3})));
  check_near(value(w + 0.f), {0.5 * (1 + 2) + 0.5, 0.5 * (1 + 6) + 1.5});
  const auto sum = ops::init<float, Shape<2>>("sum");
  ops::var_updates::accumulate_(sum, w);
  ops::var_updates::accumulate_square_(sum, w);
  check_near(value(sum + 0.f), {2 + 4, 5 + 25});
  CHECK_THROWS_AS(ops::var_updates::accumulator_zero_(constant(1.f)), halftone::UsageError);
}

// --- 3 places --------------------------------------------------------------------------------------------

TEST_CASE("popxl places: inputs on different IPUs are an error, a copy is the remedy") {
  Ir ir;
  Main in(ir);
  Number x, y;
  const auto w = variable<float, Shape<>>("w", ones);
  {
    const ipu first(0);
    x = w * 2.f;
  }
  const ipu second(1);
  y = variable<float, Shape<>>("v", ones) * 3.f;
  const std::size_t nodes = gcg().native().nodes.size();
  CHECK_THROWS_AS(x + y, ValueError);
  CHECK(gcg().native().nodes.size() == nodes);
  CHECK(contains(error_of([&] { x + y; }), "ipu_copy"));
  CHECK_THROWS_AS(w * y, ValueError);  // w is where x was made
  CHECK(ipu_of(w) == 0);
  check_near(value(ops::ipu_copy(x, 1) + y), {5});
  const AnyTensor moved = copy_to_ipu(x, 1);
  CHECK(ipu_of(moved) == 1);
  check_near(value(moved + y), {5});
}

TEST_CASE("popxl places: copy_to_ipu has to know the source") {
  Ir ir;
  Main in(ir);
  const auto w = variable<float, Shape<>>("w", ones);
  CHECK_THROWS_AS(copy_to_ipu(w, 1), ValueError);
  check_near(value(copy_to_ipu(w, 1, 0)), {1});
}

TEST_CASE("popxl places: inputs on different tile sets are an error, io_tile_copy is the remedy") {
  Ir ir;
  Main in(ir);
  const auto stream = h2d_stream<float, Shape<>>("x");
  const ipu only(0);
  Number loaded;
  {
    const io_tiles io;
    loaded = host_load(stream);
  }
  const auto y = variable<float, Shape<>>("w", ones) * 2.f;
  CHECK(tile_set(loaded) == TileSet::IO);
  CHECK_THROWS_AS(loaded + y, ValueError);
  CHECK(contains(error_of([&] { loaded + y; }), "io_tile_copy"));
  const auto copied = ops::io_tile_copy(loaded);
  CHECK(tile_set(copied) == TileSet::Compute);
  static_cast<void>(copied + y);
}

TEST_CASE("popxl contexts: op_debug_context names operators") {
  Ir ir;
  Main in(ir);
  const auto x = counted();
  {
    const op_debug_context outer("outer");
    static_cast<void>(x + 1.f);
    const op_debug_context inner("inner");
    static_cast<void>(x + 2.f);
  }
  static_cast<void>(x + 3.f);
  const halftone::Graph& graph = ir.main_graph().native();
  const std::size_t n = graph.nodes.size();
  CHECK(graph.name(graph.nodes[n - 3]) == "outer");
  CHECK(graph.name(graph.nodes[n - 2]) == "inner");
  CHECK(graph.name(graph.nodes[n - 1]).empty());
}

// --- 1.4 float8 on the host --------------------------------------------------------------------------------

TEST_CASE("popxl float8: host_pow2scale_cast_to_fp8, from_fp8 and host_fp8_mse_scale") {
  const auto code = [](float x, ElementType type, int scale = 0, bool nan = true) {
    const AnyArray cast = host_pow2scale_cast_to_fp8(Array<float>({1}, {x}), type, scale, nan);
    return std::to_integer<int>(*cast.data());
  };
  const ElementType e4 = as_dtype("float8_143"), e5 = as_dtype("float8_152");
  CHECK(code(0.75f, e4) == 0x3C);
  CHECK(code(1e9f, e4) == 0x80);  // the one NaN
  CHECK(code(1e9f, e4, 0, false) == 0x7F);
  CHECK(code(INFINITY, e4, 0, false) == 0x80);
  CHECK(code(0.f, e5) == 0);
  const auto back = [](float x, ElementType type, int scale) {
    const AnyArray cast = host_pow2scale_cast_to_fp8(Array<float>({1}, {x}), type, scale);
    return host_pow2scale_cast_from_fp8(cast, ElementType::float32, -scale).values<float>()[0];
  };
  CHECK(back(240, e4, 0) == 240);                                    // the largest of float8_143
  CHECK(back(57344, e5, 0) == 57344);                                // and of float8_152
  CHECK(back(std::ldexp(1.f, -10), e4, 0) == std::ldexp(1.f, -10));  // the smallest ones
  CHECK(back(std::ldexp(1.f, -17), e5, 0) == std::ldexp(1.f, -17));
  CHECK(back(480, e4, -1) == 480);
  CHECK_THROWS_AS(host_pow2scale_cast_to_fp8(Array<float>({1}, {1}), e4, 32), halftone::UsageError);
  // 480 needs 2^-1 or less; every power down to the smallest exponent is exact.
  const int scale = host_fp8_mse_scale(Array<float>({1}, {480}), e4);
  CHECK(scale < 0);
  CHECK(back(480, e4, scale) == 480);
}

// --- 6.4, 6.5, 6.7 groups and shards -----------------------------------------------------------------------

TEST_CASE("popxl ReplicaGrouping: const_rg to_device_map to_host_map transpose stride") {
  using List = std::vector<int>;
  const Ir ir(8);
  const auto user = ir.replica_grouping_from_assignments({0, 0, 1, 1, 0, 0, 1, 1});
  CHECK(!user.is_const());
  CHECK_THROWS_AS(static_cast<void>(user.stride()), halftone::UsageError);
  CHECK(user.const_rg().assignment() == List{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(user.to_device_map() == List{0, 1, 0, 1});
  CHECK(user.to_host_map() == List{0, 1});
  CHECK(ir.replica_grouping_from_assignments({0, 1, 1, 0, 0, 1, 1, 0}).const_rg().group_size() ==
        1);
  CHECK(ir.replica_grouping(2, 2).transpose().assignment() == List{0, 0, 1, 1, 0, 0, 1, 1});
  CHECK(ir.replica_grouping(1, 4).transpose() == ir.replica_grouping(4, 2));
}

TEST_CASE("popxl variable: of a grouping that is not constant") {
  Ir ir(8);
  Main in(ir);
  const auto user = ir.replica_grouping_from_assignments({0, 0, 1, 1, 0, 0, 1, 1});
  const float rows[] = {1, 2};
  const auto w = variable<float, Shape<>>("w", std::span<const float>(rows),
                                          VariableSettings{.grouping = user});
  const auto y = d2h_stream<float, Shape<>>("y");
  host_store(y, w);
  CHECK_THROWS_AS(
      ops::collectives::replicated_all_reduce(w, ops::collectives::CollectiveOp::add, user),
      halftone::UsageError);
  ops::add_(w, 1.f);
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  const auto out = session.run();
  const float expected[] = {1, 1, 2, 2, 1, 1, 2, 2};
  for (std::size_t k = 0; k < 8; ++k) CHECK(out[y][k] == expected[k]);
  CHECK(session.get_tensor_data(w)[0] == 2);
  CHECK(session.get_tensor_data(w)[1] == 3);
}

TEST_CASE("popxl replica_sharded_variable: member i holds shard i mod shard_over") {
  Ir ir(4);
  Main in(ir);
  const auto [w, shard] =
      replica_sharded_variable("w", Array<float>({2}, {1, 2}), ir.replica_grouping(), 2);
  const auto y = d2h_stream<float, Shape<1>>("y");
  host_store(y, shard.as<F<1>>());
  // It is gathered from groups of shard_over members.
  const auto z = d2h_stream<float, Shape<2>>("z");
  host_store(z, ops::collectives::replicated_all_gather(shard, 0, ir.replica_grouping(1, 2)));
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  const auto out = session.run();
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(out[y][k] == static_cast<float>(k % 2 + 1));
    CHECK(out[z][2 * k] == 1);
    CHECK(out[z][2 * k + 1] == 2);
  }
}

TEST_CASE("popxl replica_sharded_buffer: shapes of entries, and errors") {
  Ir ir(4);
  Main in(ir);
  const auto buffer =
      replica_sharded_buffer({ElementType::float32, {3, 3}}, ir.replica_grouping(), 2);
  CHECK(buffer.entry.shape == Dims{5});  // 9 elements in 2 shards
  CHECK(buffer.meta_shape == Dims{3, 3});
  CHECK_THROWS_AS(replica_sharded_buffer({ElementType::float32, {3}}, ir.replica_grouping(), 3),
                  halftone::UsageError);
  CHECK_THROWS_AS(replica_sharded_buffer({ElementType::float32, {3}}, ir.replica_grouping(), 8),
                  halftone::UsageError);
  CHECK_THROWS_AS((remote_buffer<float, Shape<2>>(0)), halftone::UsageError);
}

// --- 6.6 collectives -----------------------------------------------------------------------------------

TEST_CASE("popxl ops::collectives: add mean mul min max and or square_add, by group") {
  Ir ir(4);
  Main in(ir);
  namespace c = ops::collectives;
  const auto each = ir.replica_grouping(1, 1), pairs = ir.replica_grouping(1, 2);
  const float values[] = {2, 3, 4, 0};
  const auto w = variable<float, Shape<>>("w", std::span<const float>(values),
                                          VariableSettings{.grouping = each});
  struct Row {
    const char* name;
    c::CollectiveOp join;
    float first, second;  // of {2, 3} and {4, 0}
  };
  const Row rows[] = {{"add", c::CollectiveOp::add, 5, 4},
                      {"mean", c::CollectiveOp::mean, 2.5f, 2},
                      {"mul", c::CollectiveOp::multiply, 6, 0},  // PopXL takes the mean
                      {"min", c::CollectiveOp::min, 2, 0},
                      {"max", c::CollectiveOp::max, 3, 4},
                      {"square_add", c::CollectiveOp::square_add, 13, 16}};
  std::vector<DeviceToHostStream<float, Shape<>>> streams;
  for (const Row& row : rows) {
    streams.push_back(d2h_stream<float, Shape<>>(row.name));
    host_store(streams.back(), c::replicated_all_reduce(w, row.join, pairs));
  }
  const auto is_set = ops::greater(w, 0.f);
  const auto both = d2h_stream<bool, Shape<>>("and"), any = d2h_stream<bool, Shape<>>("or");
  host_store(both, c::replicated_all_reduce(is_set, c::CollectiveOp::logical_and, pairs));
  host_store(any, c::replicated_all_reduce(is_set, c::CollectiveOp::logical_or, pairs));
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  const auto out = session.run();
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    CAPTURE(rows[i].name);
    for (std::size_t k = 0; k < 4; ++k) {
      CHECK(out[streams[i]][k] == (k < 2 ? rows[i].first : rows[i].second));
    }
  }
  CHECK(out[both][1]);
  CHECK(!out[both][2]);
  CHECK(out[any][2]);
}

// --- 3 pipelines -----------------------------------------------------------------------------------------

TEST_CASE("popxl pipelining: by ipu, ipu_copy and order, gives what a plain program gives") {
  constexpr std::int64_t batches = 5;
  Array<float> xs({batches, 2});
  for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<float>(i);
  const auto run = [&](bool is_pipelined) {
    Ir ir;
    ir.num_host_transfers = batches;
    const auto first = ir.create_graph([](F<2> v) { return v * 2.f; });
    const auto second = ir.create_graph([](F<2> v) { return v + 1.f; });
    Main in(ir);
    const auto x = h2d_stream<float, Shape<2>>("x");
    const auto y = d2h_stream<float, Shape<2>>("y");
    const auto load = [&] {
      const ipu stage(0);
      return ops::ipu_copy(ops::call(first, host_load(x)), 1);
    };
    const auto store = [&](F<2> v) {
      const ipu stage(1);
      host_store(y, ops::call(second, v));
    };
    const in_sequence seq;
    if (is_pipelined) {
      F<2> loaded = load();  // fill
      for (std::int64_t i = 1; i < batches; ++i) {
        const F<2> next = load();
        store(loaded);
        loaded = next;
      }
      store(loaded);  // flush
    } else {
      for (std::int64_t i = 0; i < batches; ++i) store(load());
    }
    CHECK_THROWS_AS(Session(ir, "cpu"), ValueError);  // which is one IPU
    Session session(ir, "ipu_model");
    const auto on = session.attach();
    const auto out = session.run({{x, xs}});
    return std::vector<float>(out[y].values().begin(), out[y].values().end());
  };
  const std::vector<float> found = run(true);
  CHECK(found == run(false));
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == 2 * static_cast<float>(i) + 1);
}
