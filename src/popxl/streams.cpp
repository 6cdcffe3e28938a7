#include <popxl/streams.hpp>

#include "base/describe.hpp"
#include "popxl/state.hpp"

namespace popxl {

std::vector<AnyHostToDevice> Ir::get_all_h2d_streams() const {
  std::vector<AnyHostToDevice> all;
  for (const auto& stream : used_h2d_streams(main_graph().native())) {
    all.emplace_back(stream.name, stream.slice);
  }
  return all;
}
std::vector<AnyDeviceToHost> Ir::get_all_d2h_streams() const {
  std::vector<AnyDeviceToHost> all;
  for (const auto& stream : used_d2h_streams(main_graph().native())) {
    all.emplace_back(stream.name, stream.slice);
  }
  return all;
}

void detail::check_slice(const AnyDeviceToHost& stream, const AnyTensor& x) {
  const TensorSpec info = x.info();
  if (!info.is_known() || info == stream.slice) return;
  throw ValueError({.what = "what is stored to a stream has another type or shape",
                    .tensor = stream.name.view(),
                    .expected = halftone::detail::to_text(stream.slice),
                    .found = halftone::detail::to_text(info)});
}

namespace {

/// The type and shape of one group's value, and the bytes of all.
std::pair<TensorSpec, halftone::Bytes> whole_of(const AnyView& data,
                                                const ReplicaGrouping& grouping) {
  const Ir ir = gir();
  if (ir.replication_factor < 2) {
    throw ValueError({.what = "a variable is divided among replicas of which there is one",
                      .hint = "Ir(n) has n replicas"});
  }
  TensorSpec whole = data.info;
  if (grouping.num_groups() > 1) {
    if (whole.rank() == 0 || whole.shape[0] != grouping.num_groups()) {
      throw ValueError({.what = "the first dimension of a variable's data is not its groups",
                        .expected = std::to_string(grouping.num_groups()),
                        .found = halftone::detail::to_text(data.info)});
    }
    whole.shape.erase(0);
  }
  const AnyArray copy = AnyArray::copy_of(data);
  return {whole, halftone::Bytes(copy.storage(), copy.data(), copy.bytes())};
}

}  // namespace

ShardedVariable replica_sharded_variable(std::string_view name, const AnyView& data,
                                         const ReplicaGrouping& grouping, int shard_over) {
  halftone::Graph& graph = detail::main_for("a variable");
  auto [whole, bytes] = whole_of(data, grouping);
  const AnyTensor shard = halftone::replica_sharded_variable(graph, name, whole, std::move(bytes),
                                                             grouping, shard_over);
  return {shard, shard};
}
AnyTensor remote_replica_sharded_variable(std::string_view name, const AnyView& data,
                                          const AnyRemoteBuffer& buffer, std::int64_t offset,
                                          const ReplicaGrouping& grouping, int shard_over) {
  halftone::Graph& graph = detail::main_for("a variable");
  auto [whole, bytes] = whole_of(data, grouping);
  return halftone::remote_replica_sharded_variable(graph, name, whole, std::move(bytes), buffer,
                                                   offset, grouping, shard_over);
}

}  // namespace popxl
