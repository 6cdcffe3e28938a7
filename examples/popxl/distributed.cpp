// The guide's programs for several processes, with their replicas in one.
#include "programs.hpp"

using namespace popxl;

namespace {
/// Two rows, one for each group of replicas.
const Array<float> rows({2, 2}, {1, 2, 10, 20});
}  // namespace

void programs::distributed_simple_example() {
  Ir ir(2);
  Main in(ir);
  const auto buffer = remote_buffer<float, Shape<2>>();
  auto w = popxl::remote_variable<float, Shape<2>>(
      "w", rows.values(), buffer, 0, VariableSettings{.grouping = ir.replica_grouping(1, 1)});
  {
    const popxl::in_sequence seq;
    ops::remote_store(buffer, 0, ops::remote_load(buffer, 0) + 1.f);
  }
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  session.run();
  show("data + 1", session.get_tensor_data(w));
}

void programs::distributed_rts_simple_example() {
  Ir ir(2);
  Main in(ir);
  const auto [w, shard] = replica_sharded_variable("w", Array<float>({2}, {1, 1}));
  {
    const popxl::in_sequence seq;
    ops::var_updates::accumulate_(shard, constant<float, Shape<1>>({1}));
  }
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  session.run();
  show("1 + 1", session.get_tensor_data(w).values<float>());
}

void programs::distributed_rts_simple_example_manual_remote_buffer() {
  Ir ir(2);
  Main in(ir);
  const auto buffer = replica_sharded_buffer({ElementType::float32, {2}});
  const auto w = remote_replica_sharded_variable("w", Array<float>({2}, {1, 1}), buffer);
  {
    const popxl::in_sequence seq;
    ops::remote_store(buffer, 0, ops::remote_load(buffer, 0) + 1.f);
  }
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  session.run();
  show("1 + 1", session.get_tensor_data(w).values<float>());
}

void programs::distributed_rts_complex_example() {
  Ir ir(4);
  Main in(ir);
  // Replicas 0, 1 and 2, 3 have a variable each, and every replica half of it.
  const auto groups = ir.replica_grouping(1, 2);
  const auto [w, shard] = replica_sharded_variable("w", rows, groups);
  auto gradient = h2d_stream<float, Shape<2>>("gradient");
  auto y = d2h_stream<float, Shape<2>>("y");
  {
    const popxl::in_sequence seq;
    // The gradients of a group are joined, each replica keeps its half and updates with it.
    auto own = ops::collectives::replicated_reduce_scatter(
        host_load(gradient), ops::collectives::CollectiveOp::mean, groups, true);
    ops::var_updates::accumulate_(shard, own, -1.f);
    host_store(y, ops::collectives::replicated_all_gather(shard, 0, groups));
  }
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  const Array<float> gradients({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  show("w - mean", session.run({{gradient, gradients}})[y]);  // the same on both of a group
  show("sharded", session.get_tensor_data(w).values<float>());
}
