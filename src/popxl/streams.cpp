#include <popxl/streams.hpp>

#include <halftone/remote_code.hpp>

#include "base/describe.hpp"
#include "popxl/state.hpp"

namespace popxl {

std::vector<AnyHostToDevice> Ir::get_all_h2d_streams() const {
  return used_h2d_streams(main_graph().native());
}
std::vector<AnyDeviceToHost> Ir::get_all_d2h_streams() const {
  return used_d2h_streams(main_graph().native());
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

/// All replicas of the current Ir, if no grouping is said.
ReplicaGrouping said_or_all(const ReplicaGrouping& grouping) {
  return grouping.is_whole() ? gir().replica_grouping() : grouping;
}

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
                                                             said_or_all(grouping), shard_over);
  return {shard, shard};
}
AnyTensor remote_replica_sharded_variable(std::string_view name, const AnyView& data,
                                          const AnyRemoteBuffer& buffer, std::int64_t offset,
                                          const ReplicaGrouping& grouping, int shard_over) {
  halftone::Graph& graph = detail::main_for("a variable");
  auto [whole, bytes] = whole_of(data, grouping);
  return halftone::remote_replica_sharded_variable(graph, name, whole, std::move(bytes), buffer,
                                                   offset, said_or_all(grouping), shard_over);
}
AnyRemoteBuffer replica_sharded_buffer(const TensorSpec& whole, const ReplicaGrouping& grouping,
                                       int shard_over, std::int64_t entries) {
  return halftone::replica_sharded_buffer(gmg().native(), whole, said_or_all(grouping), shard_over,
                                          entries);
}

AnyRemoteBuffer set_remote_buffer_info(const AnyRemoteBuffer& buffer, const TensorSpec& spec,
                                       std::int64_t entries) {
  return halftone::set_remote_buffer(gmg().native(), {buffer.id, spec, entries, buffer.meta_shape});
}
void validate_tensor_matches_buffer(const AnyRemoteBuffer& buffer, const AnyTensor& tensor,
                                    int num_shards) {
  const TensorSpec info = tensor.info();
  const Dims& shape = num_shards > 1 ? buffer.meta_shape : buffer.entry.shape;
  if (info.type == buffer.entry.type && info.shape == shape) return;
  throw ValueError({.what = "a tensor is not like the entries of a remote buffer",
                    .tensor = tensor.name(),
                    .expected = halftone::detail::to_text(TensorSpec{buffer.entry.type, shape}),
                    .found = halftone::detail::to_text(info)});
}

void transforms::io_tile_exchange(const std::function<void()>& record, bool verify_overlap) {
  try {
    halftone::io_tile_exchange(gcg().native(), record, verify_overlap);
  } catch (const halftone::UsageError& e) {
    throw RuntimeError({.what = e.reason(), .node = e.node(), .hint = e.hint()});
  }
}

namespace ops {

void remote_code_load(const Graph& graph, std::string_view destination) {
  if (destination == "compute_buffer" || destination == "io_buffer") {
    throw NotImplementedError({.what = "code is loaded to be executed only",
                               .node = graph.id(),
                               .found = destination,
                               .hint = "\"executable\""});
  }
  if (destination != "executable") {
    throw ValueError({.what = "a place for code is not known",
                      .node = graph.id(),
                      .expected = "executable",
                      .found = destination});
  }
  const Graph current = gcg();
  if (current == graph) {
    throw ValueError({.what = "a graph loads its own code", .node = graph.id()});
  }
  halftone::detail::record_code_load(current.native(), graph.native());
}

AnyTensor init(const TensorSpec& spec, std::string_view name, InitType) {
  halftone::Graph& graph = gcg().native();
  const AnyTensor made =
      op::constant_of_shape(halftone::constant(graph, spec.shape), {.value_type = spec.type});
  if (!name.empty()) graph.rename(made.id, name);
  return made;
}

}  // namespace ops
}  // namespace popxl
