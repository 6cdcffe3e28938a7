#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_EXCHANGE_HPP
#define HALFTONE_OP_GRAPHCORE_EXCHANGE_HPP

#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/graphcore_dynamic.hpp>

namespace halftone::op {

/// The name of a stream between the host and the machine.
using StreamName = BoundedText<256>;

/// What the host gives in each run under the name of a stream: an input of the graph.
///
/// init      a tensor of y's type and shape, which are known; its elements do not count
/// streamid  the input's name
/// limits    loads of one stream give the same elements: a run has one value of an input, where
///           PopART's streams go on from load to load. Not in bodies of other operators
/// source    ai.graphcore HostLoad-1
struct HostLoad {
  StreamName stream{};

  static constexpr OpId id{"ai.graphcore", "HostLoad", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "init -> y";
  using types = TypeList<AllTypes>;

  constexpr void attributes(auto&& visit) { visit("streamid", stream); }
  constexpr AnyTensor expand(auto init) const {
    if (stream.empty()) fail(ErrorKind::model, {.what = "attribute 'streamid' is missing"});
    if (!init.info().is_known()) {
      fail(ErrorKind::unsupported, {.what = "the type and shape of what is loaded are not known"});
    }
    auto& graph = *init.graph;
    const TensorId known = graph.find(stream.view());
    if (known == no_tensor) return {&graph, graph.add_input(init.info(), stream.view())};
    if (graph.tensor(known).role != Role::input) {
      fail(ErrorKind::model,
           {.what = "a stream has the name of another tensor", .tensor = stream.view()});
    }
    if (graph.info(known) != init.info()) {
      fail(ErrorKind::model,
           {.what = "two loads of one stream have different shapes", .tensor = stream.view()});
    }
    return {&graph, known};
  }
};

/// Gives the host a tensor in each run under the name of a stream: an output of the graph.
///
/// x         any tensor
/// streamid  the output's name
/// limits    one store for each stream; not in bodies of other operators
/// source    ai.graphcore HostStore-1
struct HostStore {
  StreamName stream{};

  static constexpr OpId id{"ai.graphcore", "HostStore", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x ->";
  using types = TypeList<AllTypes>;

  constexpr void attributes(auto&& visit) { visit("streamid", stream); }
  constexpr std::vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    if (stream.empty()) fail(ErrorKind::model, {.what = "attribute 'streamid' is missing"});
    auto x = inputs[0];
    if (graph.find(stream.view()) != x.id) {
      if (graph.find(stream.view()) != no_tensor) {
        fail(ErrorKind::model,
             {.what = "a stream has the name of another tensor", .tensor = stream.view()});
      }
      x = identity(x);
      graph.rename(x.id, stream.view());
    }
    graph.add_output(x.id);
    return {};
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
constexpr Inferred infer_remote_row(const Inputs& in, const Inferred& given) {
  if (in.has(1) && in[1].elements() != dynamic && in[1].elements() != 1) {
    return Inferred::mismatch("the offset is not one number", 1, in[1].elements());
  }
  const TensorInfo &row = in[0], &buffer = in[2];
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

/// A row of a remote buffer.
///
/// x         a tensor of y's type and shape; its elements do not count
/// offset    the number of the row, an InputError of the run if there is none; absent: 0
/// buffer    [rows, shape of x], a variable that is kept between runs. A model in which it is
///           absent gets one of zeros for each bufferid, with as many rows as the largest constant
///           offset needs; loads and stores happen in the model's order
/// bufferid  which buffer, where there is no tensor that says so
/// limits    a model that leaves buffers out has them in its main graph only, and the number of
///           rows must follow from a constant offset, or from none
/// grad      none: no gradient passes
/// source    ai.graphcore RemoteLoad-1; the input `buffer` is an addition
struct RemoteLoad {
  std::int64_t buffer_id = required;

  static constexpr OpId id{"ai.graphcore", "RemoteLoad", 1};
  static constexpr Signature signature = "x offset:I? buffer -> y";
  using types = TypeList<BitTypes, OffsetTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("bufferid", buffer_id); }
  static constexpr Inferred infer(const Inputs& in) { return infer_remote_row(in, in[0]); }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T>, View<const I> offset, View<const T> buffer,
              View<T> y) const {
    kernel::Box row;
    row.add(y.size(), 1, 1);
    kernel::copy<T>(*call.executor, row,
                    buffer.data + remote_row(offset, buffer.extent(0)) * y.size(), y.data);
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
  static constexpr Signature signature = "x offset:I? buffer& ->";
  using types = TypeList<BitTypes, OffsetTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("bufferid", buffer_id); }
  static constexpr Inferred infer(const Inputs& in) {
    return infer_remote_row(in, Inferred(std::vector<TensorInfo>{}));
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> offset, View<T> buffer) const {
    kernel::Box row;
    row.add(x.size(), 1, 1);
    kernel::copy<T>(*call.executor, row, x.data,
                    buffer.data + remote_row(offset, buffer.extent(0)) * x.size());
  }
  void cost(auto& machine, std::span<const TensorInfo> in, std::span<const TensorInfo>) const {
    machine.transfer(in[0]);
  }
};

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
    return Inferred(std::vector<TensorInfo>{});
  }
  template <class...>
  void kernel() const {}
};

}  // namespace halftone::op

#endif
