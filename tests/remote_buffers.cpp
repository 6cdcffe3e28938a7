#include <halftone/remote_buffers.hpp>

#include <doctest/doctest.h>

#include <string>
#include <tuple>
#include <vector>

#include <halftone/collectives.hpp>
#include <halftone/function.hpp>
#include <halftone/halftone.hpp>
#include <halftone/remote_code.hpp>
#include <halftone/streams.hpp>

#include "error_of.hpp"
#include "floats.hpp"

using namespace halftone;
using test::contains;
using test::error_of;
using test::F;
using test::Floats;
using test::floats_of;

namespace {

Bytes bytes_of(const Floats& values) {
  return halftone::detail::bytes_of(std::span<const float>(values));
}
const TensorInfo four{ElementType::float32, {4}};

}  // namespace

TEST_CASE("remote buffers: entries are kept from run to run, loads and stores are in their order") {
  Graph g;
  const auto buffer = remote_buffer<float, Shape<2>>(g, 3);
  const auto x = input<float, Shape<2>>(g, "x");
  const auto at = input<std::int32_t, Shape<>>(g, "at");
  output(g, remote_load(g, buffer, at), "before");
  remote_store(buffer, at, x);
  output(g, remote_load(g, buffer, at), "after");
  remote_store(buffer, at, op::mul(x, 10.f));
  output(g, remote_load(g, buffer, 1), "first");
  Session session(std::move(g));
  const auto run = [&](std::int32_t entry, float value) {
    const auto result = session.run({{"x", Array<float>({2}, {value, value + 1})},
                                     {"at", Array<std::int32_t>(Dims{}, {entry})}});
    Floats all;
    for (const char* name : {"before", "after", "first"}) {
      const Floats part = floats_of(result[name]);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  CHECK(run(1, 3) == Floats{0, 0, 3, 4, 30, 40});
  CHECK(run(2, 5) == Floats{0, 0, 5, 6, 30, 40});
  CHECK(run(1, 7) == Floats{30, 40, 7, 8, 70, 80});
  CHECK(contains(error_of([&] { run(3, 1); }), "0 to 2"));
  CHECK(contains(error_of([&] { run(-1, 1); }), "0 to 2"));
}

TEST_CASE("remote buffers: bodies load and store, and load into a tensor") {
  Graph g;
  const auto buffer = remote_buffer<float, Shape<2>>(g);
  const auto w = parameter<float, Shape<2>>(g, "w", ones);
  const auto step = function([&](Graph& body, by_ref<F<2>> v) {
    remote_store(buffer, 0, remote_load(body, buffer) + *v);
    remote_load_(buffer, 0, *v);  // v becomes the sum: 1, 2, 4, ...
    return std::tuple<>{};
  });
  repeat(step, 4, w);
  output(g, remote_load(g, buffer), "sum");
  Session session(std::move(g));
  // b' = b + v, v' = b': 1 1, 2 2, 4 4, 8 8.
  CHECK(floats_of(session.run({})["sum"]) == Floats{8, 8});
  CHECK(floats_of(session.get("w")) == Floats{8, 8});
}

// The example remote_variable of PopXL's guide: a variable in a buffer that the program loads, changes
// and stores.
TEST_CASE("remote variables: the host sets and gets them, the program loads and stores") {
  Graph g;
  const auto buffer = remote_buffer<float, Shape<2>>(g, 2);
  const Floats one{1, 2}, two{3, 4};
  remote_variable<float, Shape<2>>(g, "a", one, buffer, 0);
  remote_variable<float, Shape<2>>(g, "b", two, buffer, 1);
  const auto sum = remote_load(g, buffer, 0) + remote_load(g, buffer, 1);
  remote_store(buffer, 1, sum);
  output(g, sum, "sum");
  Session session(std::move(g));
  CHECK(floats_of(session.get("b")) == Floats{3, 4});
  CHECK(floats_of(session.run({})["sum"]) == Floats{4, 6});
  CHECK(floats_of(session.get("b")) == Floats{4, 6});
  CHECK(floats_of(session.get("a")) == Floats{1, 2});
  session.set("a", Array<float>({2}, {10, 20}));
  CHECK(floats_of(session.run({})["sum"]) == Floats{14, 26});
  // Executables and copies of the graph have today's values.
  Session copy(session.executable()), other(session.graph());
  CHECK(floats_of(copy.get("b")) == Floats{14, 26});
  CHECK(floats_of(other.run({})["sum"]) == Floats{24, 46});
}

// The example remote_variable_replica_grouped of PopXL's guide: data + 1.
TEST_CASE("remote variables: a value for each replica") {
  Graph g;
  g.replicas = 4;
  const auto buffer = remote_buffer<float, Shape<>>(g);
  const Floats data{1, 2, 3, 4};
  remote_variable<float, Shape<>>(g, "v", data, buffer, 0, {.grouping = ReplicaGrouping(4, 1, 1)});
  const Floats one{1};
  remote_store(buffer, 0, remote_load(g, buffer) + constant<float, Shape<>>(g, one));
  Session session(std::move(g), {.threads = 2});
  session.run({});
  CHECK(floats_of(session.get("v")) == Floats{2, 3, 4, 5});
}

// The examples rts_var and remote_rts_var of PopXL's guide: gather [1, 2], add [3, 4], keep the shard.
TEST_CASE("sharded variables: every replica has a part, the host the whole") {
  for (const bool is_remote : {false, true}) {
    for (const int shard_over : {2, 4}) {
      CAPTURE(is_remote);
      CAPTURE(shard_over);
      Graph g;
      g.replicas = 4;
      const ReplicaGrouping all(4), parts(4, 1, shard_over);
      const Floats data{1, 2, 3, 4};
      AnyRemoteBuffer buffer;
      AnyTensor shard;
      if (is_remote) {
        buffer = replica_sharded_buffer(g, four, all, shard_over);
        CHECK(buffer.entry.shape == Dims{4 / shard_over});
        CHECK(buffer.meta_shape == Dims{4});
        remote_replica_sharded_variable(g, "v", four, bytes_of(data), buffer, 0, all, shard_over);
        shard = remote_load(g, buffer);
      } else {
        shard = replica_sharded_variable(g, "v", four, bytes_of(data), all, shard_over);
      }
      CHECK(meta_shape(shard) == Dims{4});
      const AnyTensor whole = collectives::replicated_all_gather(shard, 0, parts);
      output(g, whole, "whole");
      const AnyTensor changed = collectives::replica_sharded_slice(op::mul(whole, 3.f), parts);
      if (is_remote) {
        remote_store(buffer, 0, changed);
      } else {
        op::copy_var_update(shard, changed);
      }
      Session session(std::move(g), {.threads = 2});
      CHECK(floats_of(session.get("v")) == data);
      const Floats once = floats_of(session.run({})["whole"]);
      for (std::size_t i = 0; i < 16; ++i) CHECK(once[i] == data[i % 4]);
      CHECK(floats_of(session.get("v")) == Floats{3, 6, 9, 12});
      session.set("v", Array<float>({4}, {5, 6, 7, 8}));
      CHECK(floats_of(session.run({})["whole"])[15] == 8);
      CHECK(floats_of(session.get("v")) == Floats{15, 18, 21, 24});
    }
  }
}

TEST_CASE("sharded variables: elements that the parts do not divide, and an update of shards") {
  Graph g;
  g.replicas = 2;
  const TensorInfo three{ElementType::float32, {3}};
  const AnyTensor shard =
      replica_sharded_variable(g, "v", three, bytes_of({1, 2, 3}), ReplicaGrouping(2));
  CHECK(shard.info().shape == Dims{2});
  const auto x = input<float, Shape<3>>(g, "x");
  // A true reduction: the sum over replicas, of which each updates its shard.
  const AnyTensor sum =
      collectives::replicated_reduce_scatter(x, CollectiveOperator::add, {}, true);
  op::copy_var_update(shard, op::add(shard, sum));
  Session session(std::move(g));
  session.run({{"x", Array<float>({2, 3}, {1, 2, 3, 10, 20, 30})}});
  CHECK(floats_of(session.get("v")) == Floats{12, 24, 36});
}

TEST_CASE("remote buffers: what does not fit is refused when it is recorded") {
  Graph g;
  g.replicas = 4;
  const auto buffer = remote_buffer<float, Shape<2>>(g, 2);
  const AnyRemoteBuffer any = buffer;
  const Floats data{1, 2}, more{1, 2, 3, 4};
  const AnyTensor x = g.input<float>("x", {3});
  CHECK(contains(error_of([&] { remote_buffer<float, Shape<2>>(g, 0); }), "too few"));
  CHECK(contains(error_of([&] { remote_buffer(g, {ElementType::float32, {dynamic}}); }),
                 "have to be known"));
  CHECK(contains(error_of([&] { remote_load(g, buffer, 2); }), "0 to 1"));
  CHECK(contains(error_of([&] { remote_load(g, buffer, -1); }), "0 to 1"));
  CHECK(contains(error_of([&] { remote_store(any, 0, x); }), "[2] float"));
  CHECK(contains(error_of([&] { remote_load_(any, 0, x); }), "[2] float"));
  const auto variable = [&](std::int64_t entry) {
    return [&g, &buffer, &data, entry] {
      remote_variable<float, Shape<2>>(g, "v", data, buffer, entry);
    };
  };
  CHECK(contains(error_of(variable(2)), "0 to 1"));
  CHECK(error_of(variable(1)) == "no error");
  CHECK(contains(error_of(variable(1)), "has a variable already"));
  CHECK(contains(error_of([&] {
                   remote_variable<float, Shape<3>>(g, "v", std::span(more).first(3), buffer, 0);
                 }),
                 "not like the entries"));
  CHECK(contains(error_of([&] { remote_variable<float, Shape<2>>(g, "v", more, buffer, 0); }),
                 "than its groups"));
  CHECK(contains(error_of([&] { replica_sharded_buffer(g, four, {}); }), "how many replicas"));
  CHECK(contains(error_of([&] { replica_sharded_buffer(g, four, ReplicaGrouping(4), 3); }),
                 "divides 4"));
  CHECK(contains(error_of([&] {
                   remote_replica_sharded_variable(g, "s", four, bytes_of(more), any, 0,
                                                   ReplicaGrouping(4));
                 }),
                 "has shards of"));
  CHECK(contains(error_of([&] { set_remote_buffer(g, {.id = 77, .entry = four}); }),
                 "does not have this remote buffer"));
}

TEST_CASE("remote buffers: a redefined one, and one of another graph") {
  Graph g;
  AnyRemoteBuffer buffer = remote_buffer<float, Shape<2>>(g, 1);
  buffer.entries = 3;
  buffer.entry.shape = {4};
  set_remote_buffer(g, buffer);
  output(g, remote_load(g, buffer, 2), "y");
  CHECK(floats_of(Session(Graph(g)).run({})["y"]) == Floats(4));
  // Loads that were recorded before have to fit.
  buffer.entry.shape = {8};
  set_remote_buffer(g, buffer);
  Session stale((Graph(g)));
  CHECK(contains(error_of([&] { stale.run({}); }), "not like the entries"));
  Graph other;
  output(other, remote_load(other, buffer, 0), "y");
  Session foreign(std::move(other));
  CHECK(contains(error_of([&] { foreign.run({}); }), "does not have this remote buffer"));
}

TEST_CASE("remote code: a load of code changes nothing, and is not the graph's own") {
  Graph g;
  const auto x = input<float, Shape<2>>(g, "x");
  const auto twice = function([](F<2> v) { return v + v; });
  remote_code_load(g, twice);
  output(g, call(twice, x), "y");
  CHECK(g.nodes[0].op->id.name == "RemoteCodeLoad");
  for (const Device device : {Device::cpu, Device::ipu_model}) {
    Session session(Graph(g), {.device = device});
    CHECK(floats_of(session.run({{"x", Array<float>({2}, {1, 2})}})["y"]) == Floats{2, 4});
  }
  auto own = function([](F<2> v) { return v + v; });
  CHECK(contains(error_of([&] { remote_code_load(own.body, own); }), "in the graph itself"));
}
