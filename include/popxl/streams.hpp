#pragma once

#include <functional>
#include <string_view>

#include <halftone/collectives.hpp>
#include <halftone/float8_host.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/remote_buffers.hpp>
#include <halftone/seeds.hpp>
#include <halftone/streams.hpp>
#include <popxl/ir.hpp>
#include <popxl/ops.hpp>

/// Contexts, streams, remote buffers and replicas in PopXL's words, for the current graph.
///
/// source  popxl.context, popxl.streams, popxl.remote_buffer, popxl.ops.collectives
namespace popxl {

// --- contexts ----------------------------------------------------------------------------------------

/// What operators are like that are recorded while it lives, in whatever graph is current.
class Context {
 public:
  Context(const Context&) = delete;
  ~Context();

 protected:
  enum class Kind : std::uint8_t { ipu, io_tiles, name_scope, in_sequence, debug };
  Context(Kind kind, std::int64_t number, std::string_view text);
};
/// On that IPU. errors  ValueError: a number that no IPU has
struct ipu : Context {
  explicit ipu(int index = 0) : Context(Kind::ipu, index, {}) {}
};
/// On the tiles for exchanges with the host.
struct io_tiles : Context {
  io_tiles() : Context(Kind::io_tiles, 0, {}) {}
};
/// With `name/` before their names.
struct name_scope : Context {
  explicit name_scope(std::string_view name) : Context(Kind::name_scope, 0, name) {}
};
/// Called that in errors and reports.
struct op_debug_context : Context {
  explicit op_debug_context(std::string_view name) : Context(Kind::debug, 0, name) {}
};
/// In their order (true); side by side, behind what was before and before what follows (false); or, with
/// pass, in any order.
inline constexpr struct Pass {
} pass{};
struct in_sequence : Context {
  explicit in_sequence(bool is_ordered = true)
      : Context(Kind::in_sequence, is_ordered ? 1 : 2, {}) {}
  explicit in_sequence(Pass) : Context(Kind::in_sequence, 0, {}) {}
};
namespace transforms {
/// Loads and stores that do not depend on each other become one exchange.
struct merge_exchange : halftone::MergedExchange {
  merge_exchange() : MergedExchange(gcg().native()) {}
};
/// Records loads and stores, one exchange on the tiles for them.
/// errors  RuntimeError: another operator, or loads and stores that depend on each other
void io_tile_exchange(const std::function<void()>& record, bool verify_overlap = true);
}  // namespace transforms

// --- streams -----------------------------------------------------------------------------------------

template <class T, class S>
using HostToDeviceStream = halftone::HostToDevice<T, S>;
template <class T, class S>
using DeviceToHostStream = halftone::DeviceToHost<T, S>;
using halftone::AnyDeviceToHost, halftone::AnyHostToDevice;

// name<T, S>(arguments...) and name(spec, arguments...): the library's function of this name, for the main
// graph.
#define POPXL_IN_MAIN(name)                                    \
  template <class T, class S, class... A>                      \
  auto name(const A&... arguments) {                           \
    return halftone::name<T, S>(gmg().native(), arguments...); \
  }                                                            \
  template <class... A>                                        \
  auto name(const TensorSpec& spec, const A&... arguments) {   \
    return halftone::name(gmg().native(), spec, arguments...); \
  }
POPXL_IN_MAIN(h2d_stream)
POPXL_IN_MAIN(d2h_stream)

// --- replicas and remote memory ----------------------------------------------------------------------

using halftone::AnyRemoteBuffer, halftone::RemoteBuffer, halftone::VariableSettings,
    halftone::create_seeds, halftone::host_fp8_mse_scale, halftone::host_pow2scale_cast_from_fp8,
    halftone::host_pow2scale_cast_to_fp8, halftone::meta_shape, halftone::two_uint32_to_uint64,
    halftone::uint64_to_two_uint32;
using RetrievalMode = halftone::Retrieval;

POPXL_IN_MAIN(remote_buffer)
/// A variable whose value lies in an entry of a buffer; for the session alone.
template <class T, class S, class... A>
Tensor<T, S> remote_variable(const A&... arguments) {
  return halftone::remote_variable<T, S>(detail::main_for("a variable"), arguments...);
}
#undef POPXL_IN_MAIN
/// errors  ValueError: a tensor that is not like an entry, or whose shards are not
void validate_tensor_matches_buffer(const AnyRemoteBuffer& buffer, const AnyTensor& tensor,
                                    int num_shards = 1);
/// Redefines a buffer, before anything loads from it or stores to it.
AnyRemoteBuffer set_remote_buffer_info(const AnyRemoteBuffer& buffer, const TensorSpec& spec,
                                       std::int64_t entries);
/// A variable of which every replica holds a shard: {handle for the session, shard for operators}.
///
/// data    [groups, shape], without the first dimension if there is one group
/// errors  ValueError: one replica; UsageError: shards that a group's members cannot be divided into
struct ShardedVariable {
  AnyTensor handle, shard;
};
ShardedVariable replica_sharded_variable(std::string_view name, const AnyView& data,
                                         const ReplicaGrouping& grouping = {}, int shard_over = 0);
/// The same in an entry of a replica_sharded_buffer: the handle.
AnyTensor remote_replica_sharded_variable(std::string_view name, const AnyView& data,
                                          const AnyRemoteBuffer& buffer, std::int64_t offset = 0,
                                          const ReplicaGrouping& grouping = {}, int shard_over = 0);
AnyRemoteBuffer replica_sharded_buffer(const TensorSpec& whole,
                                       const ReplicaGrouping& grouping = {}, int shard_over = 0,
                                       std::int64_t entries = 1);

namespace detail {
/// Throws a ValueError unless a tensor is a slice of the stream.
void check_slice(const AnyDeviceToHost& stream, const AnyTensor& x);
}  // namespace detail

namespace ops {

template <halftone::host_to_device S>
auto host_load(const S& stream, std::string_view name = {}) {
  return halftone::host_load(gcg().native(), stream, name);
}
/// errors  ValueError: another type or shape than the stream's (typed: the compiler says so)
template <halftone::device_to_host S, tensor_handle X>
  requires(sizeof(S) > 0)  // so that it goes before the library's function of this name
void host_store(const S& stream, const X& x) {
  popxl::detail::check_slice(stream, x);
  halftone::host_store(stream, x);
}

template <halftone::remote_buffer_handle B, class I = std::int64_t>
auto remote_load(const B& buffer, const I& offset = 0, std::string_view name = {}) {
  return halftone::remote_load(gcg().native(), buffer, offset, name);
}
using halftone::remote_load_, halftone::remote_store;
/// Says that the code of a graph comes to the tiles here, which has no effect on what is computed.
///
/// errors  ValueError: the current graph, an unknown destination; NotImplementedError: the buffers
void remote_code_load(const Graph& graph, std::string_view destination = "executable");

/// A new tensor of zeros, which operators may change: zero, or undef for one whose values nobody reads.
enum class InitType : std::uint8_t { zero, undef };
AnyTensor init(const TensorSpec& spec, std::string_view name = {}, InitType type = InitType::zero);
template <class T, class S>
Tensor<T, S> init(std::string_view name = {}, InitType type = InitType::zero) {
  return init(Tensor<T, S>::static_info, name, type).template as<Tensor<T, S>>();
}

namespace collectives {
using namespace halftone::collectives;
using CollectiveOp = halftone::CollectiveOperator;
}  // namespace collectives

}  // namespace ops

using ops::host_load, ops::host_store;

}  // namespace popxl
