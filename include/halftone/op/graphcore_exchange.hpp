#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_EXCHANGE_HPP
#define HALFTONE_OP_GRAPHCORE_EXCHANGE_HPP

#include <halftone/graph/streams.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/graphcore_dynamic.hpp>

namespace halftone::op {

/// The next slice of a stream, which the host gives in each run under the stream's name; see
/// halftone/streams.hpp.
///
/// init      a tensor of y's type and shape, which are known; its elements do not count. Absent:
///           shape and data_type say them
/// streamid  the stream's name
/// source    ai.graphcore HostLoad-1; the attributes shape and data_type (ONNX's number) are additions
struct HostLoad {
  StreamName stream{};
  Dims shape{};
  ElementType type = ElementType::undefined;

  static constexpr OpId id{"ai.graphcore", "HostLoad", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "init? -> y";
  using types = TypeList<BitTypes>;
  static constexpr bool compiled_once = true;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::host;

  constexpr void attributes(auto&& visit) {
    visit("streamid", stream);
    visit("shape", shape);
    visit("data_type", type);
  }
  constexpr Inferred infer(const Inputs& in) const {
    if (stream.empty()) return Inferred::mismatch("attribute 'streamid' is missing");
    const TensorInfo y = in.has(0) ? in[0] : TensorInfo{type, shape};
    if (!y.is_static()) {
      return Inferred::mismatch("the type and shape of what is loaded are not known");
    }
    return y;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T>, View<T> y) const {
    call.host->load(call.host->self, stream.characters, y.data,
                    y.size() * static_cast<std::int64_t>(sizeof(T)));
  }
  void cost(auto& machine, std::span<const TensorInfo>, std::span<const TensorInfo> out) const {
    machine.transfer(out[0]);
  }
};

/// Gives the host a tensor as the next slice of a stream, under the stream's name.
///
/// streamid  the stream's name
/// source    ai.graphcore HostStore-1
struct HostStore {
  StreamName stream{};

  static constexpr OpId id{"ai.graphcore", "HostStore", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x ->";
  using types = TypeList<BitTypes>;
  static constexpr bool compiled_once = true;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::host;

  constexpr void attributes(auto&& visit) { visit("streamid", stream); }
  constexpr Inferred infer(const Inputs&) const {
    if (stream.empty()) return Inferred::mismatch("attribute 'streamid' is missing");
    return Inferred(Vector<TensorInfo>{});
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x) const {
    call.host->store(call.host->self, stream.characters, x.data,
                     x.size() * static_cast<std::int64_t>(sizeof(T)));
  }
  void cost(auto& machine, std::span<const TensorInfo> in, std::span<const TensorInfo>) const {
    machine.transfer(in[0]);
  }
};

/// The number of a row: the offset, which PopART takes as unsigned, or the first one.
template <class I>
std::int64_t remote_row(View<const I> offset, std::int64_t rows) {
  const std::int64_t row = offset ? static_cast<std::uint32_t>(offset[0]) : 0;
  if (row >= rows) halftone_index_error(row, rows);
  return row;
}

/// Why a tensor is no row of a remote buffer; `given` if it is.
constexpr Inferred infer_remote_row(const Inputs& in, const TensorInfo& row,
                                    const Inferred& given) {
  if (in.has(1) && in[1].elements() != dynamic && in[1].elements() != 1) {
    return Inferred::mismatch("the offset is not one number", 1, in[1].elements());
  }
  if (!in.has(2)) return given;  // the graph has the buffer
  const TensorInfo& buffer = in[2];
  if (!row.is_known()) return Inferred::mismatch("the type and shape of a row are not known");
  if (buffer.rank() != row.rank() + 1) {
    return Inferred::mismatch("the buffer has not one dimension more than its rows",
                              static_cast<std::int64_t>(row.rank()) + 1,
                              static_cast<std::int64_t>(buffer.rank()));
  }
  for (std::size_t i = 0; i < row.rank(); ++i) {
    if (contradict(row.shape[i], buffer.shape[i + 1])) {
      return Inferred::mismatch("the buffer's rows have another shape", buffer.shape[i + 1],
                                row.shape[i]);
    }
  }
  return given;
}

/// The memory of a row: in the buffer that is given, else in the graph's buffer of that number.
template <class T, class I>
T* remote_memory(const KernelCall& call, std::int64_t id, View<const I> offset, View<T> buffer,
                 std::int64_t elements) {
  if (buffer) return buffer.data + remote_row(offset, buffer.extent(0)) * elements;
  const std::int64_t row = offset ? static_cast<std::uint32_t>(offset[0]) : 0;
  return static_cast<T*>(
      call.host->entry(call.host->self, id, row, elements * static_cast<std::int64_t>(sizeof(T))));
}

/// A row of a remote buffer; see halftone/remote_buffers.hpp.
///
/// x         a tensor of y's type and shape; its elements do not count. Absent: shape and data_type
///           say them
/// offset    the number of the row, an InputError of the run if there is none; absent: 0
/// buffer    [rows, shape of x], a variable that is kept between runs; absent: the graph's remote
///           buffer of that number. A model that is loaded gets a variable of zeros for each
///           bufferid, with as many rows as the largest constant offset needs
/// bufferid  which buffer, where there is no tensor that says so
/// limits    a model that leaves buffers out has them in its main graph only, and the number of
///           rows must follow from a constant offset, or from none
/// grad      none: no gradient passes
/// source    ai.graphcore RemoteLoad-1; the input `buffer` and the attributes shape and data_type
///           (ONNX's number) are additions
struct RemoteLoad {
  std::int64_t buffer_id = required;
  Dims shape{};
  ElementType type = ElementType::undefined;

  static constexpr OpId id{"ai.graphcore", "RemoteLoad", 1};
  static constexpr Signature signature = "x? offset:I? buffer? -> y";
  using types = TypeList<BitTypes, OffsetTypes>;
  static constexpr bool compiled_once = true;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::host;

  constexpr void attributes(auto&& visit) {
    visit("bufferid", buffer_id);
    visit("shape", shape);
    visit("data_type", type);
  }
  constexpr Inferred infer(const Inputs& in) const {
    if (in.has(0)) return infer_remote_row(in, in[0], in[0]);
    const TensorInfo y{type, shape};
    if (!y.is_static()) return Inferred::mismatch("the type and shape of a row are not known");
    return infer_remote_row(in, y, y);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T>, View<const I> offset, View<const T> buffer,
              View<T> y) const {
    kernel::Box row;
    row.add(y.size(), 1, 1);
    kernel::copy<T>(*call.executor, row, remote_memory(call, buffer_id, offset, buffer, y.size()),
                    y.data);
  }
  void cost(auto& machine, std::span<const TensorInfo>, std::span<const TensorInfo> out) const {
    machine.transfer(out[0]);
  }
  constexpr void gradient(auto&) const {}
};

/// Puts a tensor into a row of a remote buffer; see RemoteLoad for the inputs.
/// source  ai.graphcore RemoteStore-1; the input `buffer` is an addition
struct RemoteStore {
  std::int64_t buffer_id = required;

  static constexpr OpId id{"ai.graphcore", "RemoteStore", 1};
  static constexpr Signature signature = "x offset:I? buffer&? ->";
  using types = TypeList<BitTypes, OffsetTypes>;
  static constexpr bool compiled_once = true;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::host;

  constexpr void attributes(auto&& visit) { visit("bufferid", buffer_id); }
  static constexpr Inferred infer(const Inputs& in) {
    return infer_remote_row(in, in[0], Inferred(Vector<TensorInfo>{}));
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> offset, View<T> buffer) const {
    kernel::Box row;
    row.add(x.size(), 1, 1);
    kernel::copy<T>(*call.executor, row, x.data,
                    remote_memory(call, buffer_id, offset, buffer, x.size()));
  }
  void cost(auto& machine, std::span<const TensorInfo> in, std::span<const TensorInfo>) const {
    machine.transfer(in[0]);
  }
};

/// Whether a node reaches the host: rows of a buffer that it is given are there without it.
constexpr bool needs_host(const Node& node) {
  if (node.op->reaches != Reaches::host) return false;
  const bool takes_buffer = node.op->id == RemoteLoad::id || node.op->id == RemoteStore::id;
  return !takes_buffer || node.inputs.size() < 3 || node.inputs[2] == no_tensor;
}

/// Loads the code of a graph into the machine, which has an effect on nothing that is computed.
///
/// graphId                    the graph's name; not looked up
/// destinationCodeMemoryType  1: memory that runs, the only one that PopART takes, too
/// source                     ai.graphcore RemoteCodeLoad-1
struct RemoteCodeLoad {
  StreamName graph{};
  std::int64_t destination = required;

  static constexpr OpId id{"ai.graphcore", "RemoteCodeLoad", 1};
  static constexpr Signature signature = "->";
  static constexpr bool compiled_once = true;
  static constexpr bool has_effect = true;

  constexpr void attributes(auto&& visit) {
    visit("graphId", graph);
    visit("destinationCodeMemoryType", destination);
  }
  constexpr Inferred infer(const Inputs&) const {
    if (graph.empty()) return Inferred::mismatch("attribute 'graphId' is missing");
    if (destination != 1) {
      return Inferred::mismatch("destinationCodeMemoryType is not 1", 1, destination);
    }
    return Inferred(Vector<TensorInfo>{});
  }
  template <class...>
  void kernel() const {}
};

}  // namespace halftone::op

#endif
