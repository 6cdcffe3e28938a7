#include <halftone/remote_buffers.hpp>

#include <string>
#include <utility>

#include <halftone/collectives.hpp>

#include "base/describe.hpp"

namespace halftone {
namespace {

constexpr std::int64_t most_buffer_bytes = std::int64_t{1} << 46;

void check_buffer(const TensorInfo& entry, std::int64_t entries) {
  if (!entry.is_static() || size_in_bytes(entry.type) < 1) {
    fail(ErrorKind::usage,
         {.what = "the type and shape of a remote buffer's entries have to be known",
          .found = detail::to_text(entry)});
  }
  const std::int64_t most = most_buffer_bytes / std::max<std::int64_t>(entry.bytes(), 1);
  if (entries < 1 || entries > most) {
    fail(ErrorKind::usage, {.what = "a remote buffer has too few or too many entries",
                            .expected = "1 to " + std::to_string(most),
                            .found = std::to_string(entries)});
  }
}

void check_entry_number(const AnyRemoteBuffer& buffer, std::int64_t entry) {
  if (entry >= 0 && entry < buffer.entries) return;
  fail(ErrorKind::usage, {.what = "a remote buffer does not have an entry of this number",
                          .expected = "0 to " + std::to_string(buffer.entries - 1),
                          .found = std::to_string(entry)});
}

int checked_shards(const ReplicaGrouping& grouping, int shard_over) {
  if (grouping.is_whole() || !grouping.is_const()) {
    fail(ErrorKind::usage,
         {.what = "shards need a grouping that says how many replicas there are and has a constant "
                  "stride",
          .hint = "ReplicaGrouping(replicas, stride, group_size)"});
  }
  if (shard_over == 0) return grouping.group_size();
  if (shard_over < 1 || grouping.group_size() % shard_over != 0) {
    fail(ErrorKind::usage,
         {.what = "the members of a group cannot hold so many shards alike",
          .expected = "a number that divides " + std::to_string(grouping.group_size()),
          .found = std::to_string(shard_over)});
  }
  return shard_over;
}

/// Throws unless the data are those of all groups.
void check_data(std::string_view name, const TensorInfo& info, const VariableSettings& settings,
                const Bytes& data) {
  const std::int64_t expected = info.bytes() * settings.grouping.num_groups();
  if (static_cast<std::int64_t>(data.size()) == expected) return;
  throw_extent("a variable's data have another number of bytes than its groups", name, -1, expected,
               static_cast<std::int64_t>(data.size()));
}

}  // namespace

namespace detail {

std::int32_t declare_buffer(Graph& graph, const TensorInfo& entry, std::int64_t entries,
                            const Dims& meta_shape) {
  check_buffer(entry, entries);
  std::int32_t id = 1;
  for (const RemoteBufferRecord& other : graph.remote_buffers) id = std::max(id, other.id + 1);
  graph.remote_buffers.push_back({id, entry, entries, meta_shape});
  return id;
}

AnyTensor entry_number(Graph& graph, const AnyRemoteBuffer& buffer, std::int64_t entry) {
  check_entry_number(buffer, entry);
  const std::uint32_t number = static_cast<std::uint32_t>(entry);
  return constant(graph, std::span(&number, 1), Dims{});
}

void check_entry(const AnyRemoteBuffer& buffer, AnyTensor x) {
  const TensorInfo found = x.info();
  if (!found.is_static() || found == buffer.entry) return;
  fail(ErrorKind::usage, {.what = "a tensor is not like the entries of a remote buffer",
                          .tensor = x.name(),
                          .expected = to_text(buffer.entry),
                          .found = to_text(found)});
}

AnyTensor record_remote_load(Graph& graph, const AnyRemoteBuffer& buffer, AnyTensor offset,
                             std::string_view name) {
  const op::RemoteLoad load{
      .buffer_id = buffer.id, .shape = buffer.entry.shape, .type = buffer.entry.type};
  const AnyTensor y{&graph, record(graph, load, {no_tensor, offset.id}, 1)[0]};
  if (!name.empty()) graph.rename(y.id, name);
  set_meta_shape(y, buffer.meta_shape);
  return y;
}

void record_remote_store(const AnyRemoteBuffer& buffer, AnyTensor offset, AnyTensor x) {
  check_entry(buffer, x);
  record(*x.graph, op::RemoteStore{.buffer_id = buffer.id}, {x.id, offset.id}, 0);
}

AnyTensor declare_remote_variable(Graph& graph, std::string_view name, const TensorInfo& info,
                                  Bytes data, VariableSettings settings,
                                  const AnyRemoteBuffer& buffer, std::int64_t entry) {
  check_entry_number(buffer, entry);
  if (info != buffer.entry) {
    fail(ErrorKind::usage, {.what = "a variable is not like the entries of its remote buffer",
                            .tensor = name,
                            .expected = to_text(buffer.entry),
                            .found = to_text(info)});
  }
  for (const VariableSettings& other : graph.variable_settings) {
    if (other.remote_buffer != buffer.id || other.remote_entry != entry) continue;
    fail(ErrorKind::usage, {.what = "an entry of a remote buffer has a variable already",
                            .tensor = name,
                            .found = "entry " + std::to_string(entry)});
  }
  if (settings.host_shape.empty()) check_data(name, info, settings, data);
  settings.remote_buffer = buffer.id;
  settings.remote_entry = entry;
  const TensorId id = graph.add_variable(info, std::move(data), name);
  graph.set_variable(id, std::move(settings));
  return {&graph, id};
}

AnyTensor declare_sharded_variable(Graph& graph, std::string_view name, const TensorInfo& info,
                                   Bytes data, VariableSettings settings) {
  check_data(name, info, settings, data);
  const std::int64_t elements = shard_elements(info.elements(), settings.shard_over);
  settings.host_shape = info.shape;
  const TensorId id = graph.add_variable({info.type, {elements}}, std::move(data), name);
  graph.set_variable(id, std::move(settings));
  const AnyTensor shard{&graph, id};
  set_meta_shape(shard, info.shape);
  return shard;
}

}  // namespace detail

AnyRemoteBuffer set_remote_buffer(Graph& graph, const AnyRemoteBuffer& buffer) {
  check_buffer(buffer.entry, buffer.entries);
  for (RemoteBufferRecord& record : graph.remote_buffers) {
    if (record.id != buffer.id) continue;
    record = {buffer.id, buffer.entry, buffer.entries, buffer.meta_shape};
    return buffer;
  }
  fail(ErrorKind::usage, {.what = "the graph does not have this remote buffer",
                          .found = "number " + std::to_string(buffer.id)});
}

AnyRemoteBuffer replica_sharded_buffer(Graph& graph, const TensorInfo& whole,
                                       const ReplicaGrouping& grouping, int shard_over,
                                       std::int64_t entries) {
  const int shards = checked_shards(grouping, shard_over);
  if (!whole.is_static()) check_buffer(whole, entries);
  return remote_buffer(graph, {whole.type, {shard_elements(whole.elements(), shards)}}, entries,
                       whole.shape);
}

AnyTensor replica_sharded_variable(Graph& graph, std::string_view name, const TensorInfo& whole,
                                   Bytes data, const ReplicaGrouping& grouping, int shard_over,
                                   Retrieval retrieval) {
  const int shards = checked_shards(grouping, shard_over);
  return detail::declare_sharded_variable(
      graph, name, whole, std::move(data),
      {.grouping = grouping, .retrieval = retrieval, .shard_over = shards});
}

AnyTensor remote_replica_sharded_variable(Graph& graph, std::string_view name,
                                          const TensorInfo& whole, Bytes data,
                                          const AnyRemoteBuffer& buffer, std::int64_t entry,
                                          const ReplicaGrouping& grouping, int shard_over,
                                          Retrieval retrieval) {
  const int shards = checked_shards(grouping, shard_over);
  if (buffer.meta_shape != whole.shape) {
    fail(ErrorKind::usage, {.what = "a sharded variable is not what its buffer has shards of",
                            .tensor = name,
                            .expected = detail::to_text({buffer.entry.type, buffer.meta_shape}),
                            .found = detail::to_text(whole),
                            .hint = "replica_sharded_buffer makes a buffer of shards"});
  }
  VariableSettings settings{.grouping = grouping,
                            .retrieval = retrieval,
                            .shard_over = shards,
                            .host_shape = whole.shape};
  check_data(name, whole, settings, data);
  return detail::declare_remote_variable(graph, name,
                                         {whole.type, {shard_elements(whole.elements(), shards)}},
                                         std::move(data), std::move(settings), buffer, entry);
}

}  // namespace halftone
