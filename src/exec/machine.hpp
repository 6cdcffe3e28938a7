#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/kernel/communicator.hpp>
#include <halftone/streams.hpp>

namespace halftone {

/// What kernels of a program reach outside of it.
struct Reach {
  const kernel::Communicator* communicator = nullptr;
  const kernel::Host* host = nullptr;
  std::uint32_t* steps = nullptr;  ///< counts the steps that are bound, alike in all replicas
};

/// Whether a node uses what Reach has: streams, remote buffers, other replicas.
inline bool reaches_out(const Node& node) { return node.op->reaches != Reaches::nothing; }
/// Throws a UsageError if a node needs a host and there is none.
void check_reach(const Graph& graph, const Node& node, const Reach& reach);

/// A stream and the host's memory for it: [slices, replicas, slice].
struct StreamMemory {
  StreamName name;
  TensorInfo slice;
  std::byte* data = nullptr;
  std::int64_t slices = 0;
};

/// The host's side of a graph's streams.
struct Streams {
  std::vector<StreamMemory> loads, stores;

  explicit Streams(const Graph& graph);
};

/// The remote buffers of one replica, and how far it has come in the streams.
class Machine {
 public:
  /// `streams` is borrowed.
  /// `replica` of so many that share the streams.
  Machine(const Graph& graph, Streams& streams, int replica, int replicas);
  Machine(const Machine&) = delete;

  /// Begins a run: streams start with their first slices.
  void rewind();
  const kernel::Host& host() const { return host_; }
  /// Null: there is no such buffer.
  const Storage* buffer(std::int32_t id) const;

 private:
  struct Buffer {
    RemoteBufferRecord record;
    Storage memory;
  };

  std::byte* next(std::vector<StreamMemory>& streams, std::vector<std::int64_t>& at,
                  const char* name, std::int64_t bytes);
  void* entry(std::int64_t buffer, std::int64_t number, std::int64_t bytes);

  Streams& streams_;
  std::int64_t replicas_, replica_;
  std::vector<std::int64_t> loaded_, stored_;  ///< slices, of each stream
  std::vector<Buffer> buffers_;
  kernel::Host host_;
};

}  // namespace halftone
