#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/graph/model.hpp>
#include <halftone/op/list.hpp>
#include <halftone/views.hpp>

/// Memory beside the machine. A buffer has entries of one type and shape, and every replica has its
/// own; it is declared in the graph of a session, and that graph and any body that it runs load from it
/// and store to it:
///
///   auto buffer = remote_buffer<float, Shape<64, 10>>(g, 2);  // zeros
///   auto w = remote_variable<float, Shape<64, 10>>(g, "w", data, buffer, 1);  // entry 1
///   auto x = remote_load(g, buffer, 1);
///   remote_store(buffer, 1, op::add(x, x));
///
/// Loads and stores run in the order in which they are recorded.
///
/// source  popxl.RemoteBuffer, remote_variable, ops.remote_load, remote_load_, remote_store
namespace halftone {

/// A remote buffer whose type and shape are known at run time only. Good wherever its graph goes.
struct AnyRemoteBuffer {
  std::int32_t id = -1;
  TensorInfo entry{};
  std::int64_t entries = 1;
  Dims meta_shape{};  ///< of the tensor that an entry is a shard of; empty: it is none

  constexpr const TensorInfo& info() const { return entry; }
};
template <class T, class S>
struct RemoteBuffer {
  using tensor = Tensor<T, S>;
  static constexpr TensorInfo static_info = tensor::static_info;

  std::int32_t id = -1;
  std::int64_t entries = 1;
  Dims meta_shape{};

  static constexpr TensorInfo info() { return static_info; }
  constexpr operator AnyRemoteBuffer() const { return {id, static_info, entries, meta_shape}; }
};

namespace detail {
template <class X>
inline constexpr bool is_remote_buffer = std::is_same_v<X, AnyRemoteBuffer>;
template <class T, class S>
inline constexpr bool is_remote_buffer<RemoteBuffer<T, S>> = true;

std::int32_t declare_buffer(Graph& graph, const TensorInfo& entry, std::int64_t entries,
                            const Dims& meta_shape);
AnyTensor record_remote_load(Graph& graph, const AnyRemoteBuffer& buffer, AnyTensor offset,
                             std::string_view name);
void record_remote_store(const AnyRemoteBuffer& buffer, AnyTensor offset, AnyTensor x);
/// The number of an entry as a constant; throws a UsageError if the buffer does not have it.
AnyTensor entry_number(Graph& graph, const AnyRemoteBuffer& buffer, std::int64_t entry);
/// Throws a ShapeError unless the tensor is like an entry.
void check_entry(const AnyRemoteBuffer& buffer, AnyTensor x);
AnyTensor declare_remote_variable(Graph& graph, std::string_view name, const TensorInfo& info,
                                  Bytes data, VariableSettings settings,
                                  const AnyRemoteBuffer& buffer, std::int64_t entry);
/// A variable that is divided into shards; `info` is that of one group's value on the host.
AnyTensor declare_sharded_variable(Graph& graph, std::string_view name, const TensorInfo& info,
                                   Bytes data, VariableSettings settings);
}  // namespace detail

/// RemoteBuffer<T, S> or AnyRemoteBuffer.
template <class X>
concept remote_buffer_handle = detail::is_remote_buffer<std::remove_cvref_t<X>>;

/// A new buffer of zeros.
///
/// errors  UsageError: fewer entries than 1, an extent that is not known
template <class T, class S>
RemoteBuffer<T, S> remote_buffer(Graph& graph, std::int64_t entries = 1) {
  return {detail::declare_buffer(graph, RemoteBuffer<T, S>::static_info, entries, {}), entries, {}};
}
inline AnyRemoteBuffer remote_buffer(Graph& graph, const TensorInfo& entry,
                                     std::int64_t entries = 1, const Dims& meta_shape = {}) {
  return {detail::declare_buffer(graph, entry, entries, meta_shape), entry, entries, meta_shape};
}
/// Changes what was declared: entries of another type or shape, or another number of them. Loads and
/// stores that were recorded before have to fit when a session is made of the graph.
AnyRemoteBuffer set_remote_buffer(Graph& graph, const AnyRemoteBuffer& buffer);

/// A copy of an entry, in that graph. `entry` is a number, or a tensor of one integer whose value
/// has to be the number of an entry when the load runs (InputError).
///
/// errors  UsageError: an entry that the buffer does not have
template <class T, class S>
Tensor<T, S> remote_load(Graph& graph, const RemoteBuffer<T, S>& buffer, std::int64_t entry = 0,
                         std::string_view name = {}) {
  const AnyTensor number = detail::entry_number(graph, buffer, entry);
  return {&graph, detail::record_remote_load(graph, buffer, number, name).id};
}
inline AnyTensor remote_load(Graph& graph, const AnyRemoteBuffer& buffer, std::int64_t entry = 0,
                             std::string_view name = {}) {
  const AnyTensor number = detail::entry_number(graph, buffer, entry);
  return detail::record_remote_load(graph, buffer, number, name);
}
template <class T, class S, tensor_handle I>
Tensor<T, S> remote_load(Graph& graph, const RemoteBuffer<T, S>& buffer, const I& entry,
                         std::string_view name = {}) {
  return {&graph, detail::record_remote_load(graph, buffer, entry, name).id};
}
template <tensor_handle I>
AnyTensor remote_load(Graph& graph, const AnyRemoteBuffer& buffer, const I& entry,
                      std::string_view name = {}) {
  return detail::record_remote_load(graph, buffer, entry, name);
}

/// Loads an entry into a tensor, which is changed; the same handle. `entry`: as for remote_load.
///
/// errors  ShapeError: a tensor that is not like an entry; UsageError: an entry that is not there
template <remote_buffer_handle B, tensor_handle X>
X remote_load_(const B& buffer, std::int64_t entry, const X& x) {
  detail::check_entry(buffer, x);
  change(x, detail::record_remote_load(*x.graph, buffer,
                                       detail::entry_number(*x.graph, buffer, entry), {}));
  return x;
}
template <remote_buffer_handle B, tensor_handle I, tensor_handle X>
X remote_load_(const B& buffer, const I& entry, const X& x) {
  detail::check_entry(buffer, x);
  change(x, detail::record_remote_load(*x.graph, buffer, entry, {}));
  return x;
}

/// Puts a tensor into an entry.
template <remote_buffer_handle B, tensor_handle X>
void remote_store(const B& buffer, std::int64_t entry, const X& x) {
  detail::record_remote_store(buffer, detail::entry_number(*x.graph, buffer, entry), x);
}
template <remote_buffer_handle B, tensor_handle I, tensor_handle X>
void remote_store(const B& buffer, const I& entry, const X& x) {
  detail::record_remote_store(buffer, entry, x);
}

/// A variable in an entry of a buffer: the host sets and gets it like any other; the program loads and
/// stores the entry. The handle is for the session alone.
///
/// data    [groups, shape of S]
/// errors  ShapeError: data of another size, a buffer whose entries are not like the variable;
///         UsageError: an entry that is not there, or that another variable has
template <class T, class S, remote_buffer_handle B>
Tensor<T, S> remote_variable(Graph& graph, std::string_view name,
                             std::type_identity_t<std::span<const T>> data, const B& buffer,
                             std::int64_t entry = 0, const VariableSettings& settings = {}) {
  return {&graph, detail::declare_remote_variable(graph, name, Tensor<T, S>::static_info,
                                                  detail::bytes_of(data), settings, buffer, entry)
                      .id};
}
inline AnyTensor remote_variable(Graph& graph, std::string_view name, const TensorInfo& info,
                                 Bytes data, const AnyRemoteBuffer& buffer, std::int64_t entry = 0,
                                 const VariableSettings& settings = {}) {
  return detail::declare_remote_variable(graph, name, info, std::move(data), settings, buffer,
                                         entry);
}

/// How many elements a shard has.
constexpr std::int64_t shard_elements(std::int64_t elements, int shard_over) {
  return (elements + shard_over - 1) / shard_over;
}

/// A buffer whose entries are shards of tensors of that shape on one replica: vectors. Its meta_shape
/// is that shape.
///
/// shard_over  how many shards there are of a tensor; 0: as many as a group has members
/// errors      UsageError: a grouping that is not constant, shards that the members of a group cannot
///             be divided into
AnyRemoteBuffer replica_sharded_buffer(Graph& graph, const TensorInfo& whole,
                                       const ReplicaGrouping& grouping, int shard_over = 0,
                                       std::int64_t entries = 1);

/// A variable of which every replica holds a shard, a vector: part i mod shard_over of the elements
/// for member i of a group. The host sets and gets the whole; meta_shape(shard) is its shape.
///
/// whole   type and shape of one group's value
/// data    [groups, shape]
/// errors  as for replica_sharded_buffer; ShapeError: data of another size
AnyTensor replica_sharded_variable(Graph& graph, std::string_view name, const TensorInfo& whole,
                                   Bytes data, const ReplicaGrouping& grouping, int shard_over = 0,
                                   Retrieval retrieval = Retrieval::one_per_group);
/// The same in an entry of a buffer of shards. `grouping` and `shard_over`: as for the buffer.
AnyTensor remote_replica_sharded_variable(Graph& graph, std::string_view name,
                                          const TensorInfo& whole, Bytes data,
                                          const AnyRemoteBuffer& buffer, std::int64_t entry,
                                          const ReplicaGrouping& grouping, int shard_over = 0,
                                          Retrieval retrieval = Retrieval::one_per_group);

}  // namespace halftone
