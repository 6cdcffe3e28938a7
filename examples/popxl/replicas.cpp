// Replicas, groups of them, and memory beside the machine.
#include "programs.hpp"

using namespace popxl;

namespace {
template <std::size_t N>
Array<float> counted(const Dims& shape, const float (&values)[N]) {
  return {shape, std::span<const float>(values)};
}
void show_groups(const char* name, const ReplicaGrouping& grouping) {
  show(name, std::span<const int>(grouping.assignment()));
}
}  // namespace

void programs::replication() {
  Ir ir(8);
  Main in(ir);
  const auto pairs = ir.replica_grouping(1, 2), far = ir.replica_grouping(4, 2);
  show_groups("stride 1", pairs);
  show_groups("stride 4", far);  // pairs 0 and 4
  auto w = variable<float, Shape<2>>("w", counted({4, 2}, {0, 0, 1, 1, 2, 2, 3, 3}).values(),
                                     VariableSettings{.grouping = pairs});
  auto y = d2h_stream<float, Shape<2>>("y");
  host_store(y, ops::collectives::replicated_all_reduce(w));  // 2 (0 + 1 + 2 + 3) on each
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  show("summed", session.run()[y]);
  show("one per group", session.get_tensor_data(w));
}

void programs::remote_variable() {
  Ir ir;
  Main in(ir);
  const auto buffer = remote_buffer<float, Shape<2>>(2);
  const float one[] = {1, 1}, two[] = {2, 2};
  auto first = popxl::remote_variable<float, Shape<2>>("first", one, buffer, 0);
  auto second = popxl::remote_variable<float, Shape<2>>("second", two, buffer, 1);
  {
    popxl::in_sequence seq;
    auto x = ops::remote_load(buffer, 0), y = ops::remote_load(buffer, 1);
    auto sum = x + y;
    ops::remote_store(buffer, 0, sum);
    ops::remote_store(buffer, 1, sum);
  }
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  session.run();
  show("first", session.get_tensor_data(first));
  show("second", session.get_tensor_data(second));
}

void programs::remote_variable_replica_grouped() {
  Ir ir(2);
  Main in(ir);
  const auto buffer = remote_buffer<float, Shape<2>>();
  const float data[] = {1, 2, 10, 20};  // a row for each replica
  auto w = popxl::remote_variable<float, Shape<2>>(
      "w", data, buffer, 0, VariableSettings{.grouping = ir.replica_grouping(1, 1)});
  {
    popxl::in_sequence seq;
    ops::remote_store(buffer, 0, ops::remote_load(buffer, 0) + 1.f);
  }
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  session.run();
  show("data + 1", session.get_tensor_data(w));
}

void programs::rts_var() {
  Ir ir(2);
  Main in(ir);
  const auto [w, shard] = replica_sharded_variable("w", Array<float>({2}, {1, 2}));
  {
    popxl::in_sequence seq;
    auto whole = ops::collectives::replicated_all_gather(shard);
    auto update = constant<float, Shape<2>>({3, 4});
    // Each replica adds its part of what is new.
    ops::var_updates::copy_var_update_(shard,
                                       ops::collectives::replica_sharded_slice(whole + update));
  }
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  session.run();
  show("sharded", session.get_tensor_data(w).values<float>());
}

void programs::remote_rts_var() {
  Ir ir(2);
  Main in(ir);
  const auto buffer = replica_sharded_buffer({ElementType::float32, {2}}, ir.replica_grouping());
  const auto w = remote_replica_sharded_variable("w", Array<float>({2}, {1, 2}), buffer, 0,
                                                 ir.replica_grouping());
  {
    popxl::in_sequence seq;
    auto shard = ops::remote_load(buffer, 0);
    auto whole = ops::collectives::replicated_all_gather(shard);
    auto updated = whole + constant<float, Shape<2>>({3, 4});
    ops::remote_store(buffer, 0, ops::collectives::replica_sharded_slice(updated));
  }
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  session.run();
  show("sharded", session.get_tensor_data(w).values<float>());
}
