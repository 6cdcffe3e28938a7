#include "machine.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <halftone/base/error.hpp>
#include <halftone/op/list.hpp>

#include "base/describe.hpp"

namespace halftone {

void check_reach(const Graph& graph, const Node& node, const Reach& reach) {
  if (reach.host != nullptr || !op::needs_host(node)) return;
  fail(ErrorKind::usage, {.what = "a stream or remote buffer is used where there is no host",
                          .node = detail::node_text(*node.op, graph.name(node)),
                          .hint = "an engine or a session is one"});
}

Streams::Streams(const Graph& graph) {
  for (const auto& s : used_h2d_streams(graph)) loads.push_back({s.name, s.slice});
  for (const auto& s : used_d2h_streams(graph)) stores.push_back({s.name, s.slice});
}

Machine::Machine(const Graph& graph, Streams& streams, int replica, int replicas)
    : streams_(streams),
      replicas_(replicas),
      replica_(replica),
      loaded_(streams.loads.size()),
      stored_(streams.stores.size()) {
  for (const RemoteBufferRecord& record : graph.remote_buffers) {
    const std::int64_t bytes = record.info.bytes() * record.entries;
    buffers_.push_back({record, Storage::allocate(static_cast<std::size_t>(bytes))});
  }
  host_.self = this;
  host_.load = [](void* self, const char* stream, void* to, std::int64_t bytes) {
    Machine& m = *static_cast<Machine*>(self);
    const std::byte* slice = m.next(m.streams_.loads, m.loaded_, stream, bytes);
    if (bytes != 0) std::memcpy(to, slice, static_cast<std::size_t>(bytes));
  };
  host_.store = [](void* self, const char* stream, const void* from, std::int64_t bytes) {
    Machine& m = *static_cast<Machine*>(self);
    std::byte* slice = m.next(m.streams_.stores, m.stored_, stream, bytes);
    if (bytes != 0) std::memcpy(slice, from, static_cast<std::size_t>(bytes));
  };
  host_.entry = [](void* self, std::int64_t buffer, std::int64_t number, std::int64_t bytes) {
    return static_cast<Machine*>(self)->entry(buffer, number, bytes);
  };
}

void Machine::rewind() {
  std::fill(loaded_.begin(), loaded_.end(), 0);
  std::fill(stored_.begin(), stored_.end(), 0);
}

const Storage* Machine::buffer(std::int32_t id) const {
  for (const Buffer& b : buffers_) {
    if (b.record.id == id) return &b.memory;
  }
  return nullptr;
}

std::byte* Machine::next(std::vector<StreamMemory>& streams, std::vector<std::int64_t>& at,
                         const char* name, std::int64_t bytes) {
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const StreamMemory& stream = streams[i];
    if (std::strcmp(stream.name.characters, name) != 0) continue;
    if (stream.slices == 0) {
      fail(ErrorKind::usage, {.what = "a stream has no memory on the host",
                              .tensor = name,
                              .hint = "Session::run gives it; Engine::set_load and set_store"});
    }
    if (bytes != stream.slice.bytes()) {
      fail(ErrorKind::model, {.what = "what is loaded or stored is no slice of its stream",
                              .tensor = name,
                              .expected = std::to_string(stream.slice.bytes()) + " bytes",
                              .found = std::to_string(bytes) + " bytes"});
    }
    std::byte* slice = stream.data + (at[i] * replicas_ + replica_) * bytes;
    if (++at[i] == stream.slices) at[i] = 0;
    return slice;
  }
  fail(ErrorKind::internal, {.what = "a stream is not known", .tensor = name});
}

void* Machine::entry(std::int64_t buffer, std::int64_t number, std::int64_t bytes) {
  for (const Buffer& b : buffers_) {
    if (b.record.id != buffer) continue;
    if (bytes != b.record.info.bytes()) {
      fail(ErrorKind::model, {.what = "a tensor is not like the entries of its remote buffer",
                              .expected = detail::to_text(b.record.info),
                              .found = std::to_string(bytes) + " bytes"});
    }
    if (number < 0 || number >= b.record.entries) {
      fail(ErrorKind::input, {.what = "a remote buffer does not have an entry of this number",
                              .expected = "0 to " + std::to_string(b.record.entries - 1),
                              .found = std::to_string(number)});
    }
    return b.memory.data() + number * bytes;
  }
  fail(ErrorKind::model, {.what = "the graph does not have this remote buffer",
                          .found = "number " + std::to_string(buffer),
                          .hint = "remote_buffer<T, S>(graph, entries) declares one"});
}

}  // namespace halftone
