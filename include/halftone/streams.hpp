#pragma once

#include <string_view>
#include <type_traits>
#include <vector>

#include <halftone/graph/model.hpp>
#include <halftone/graph/streams.hpp>
#include <halftone/op/list.hpp>

/// Streams between the host and the machine. A stream is declared once in the graph of a session; the
/// graph and any body that it runs load from it and store to it any number of times:
///
///   auto x_stream = h2d_stream<float, Shape<8, 64>>(g, "x");
///   auto y_stream = d2h_stream<float, Shape<8, 10>>(g, "y");
///   auto x = host_load(g, x_stream);
///   host_store(y_stream, op::matmul(x, w));
///   auto out = Session(std::move(g)).run({{x_stream, images}});
///   out[y_stream];
///
/// A run has SessionOptions::host_transfers slices of every stream that some node uses: what the host
/// gives and gets has the shape [host_transfers, replicas, shape of a slice], without dimensions of
/// one. Each load takes the next slice of its replica and each store puts the next one; behind the
/// last slice they start over. A graph input is a stream with one load.
///
/// source  popxl.h2d_stream, d2h_stream, ops.host_load, ops.host_store
namespace halftone {

namespace detail {

/// Declares a stream; its name gets a number if a tensor or stream has it.
constexpr StreamName declare_stream(Graph& graph, std::string_view name, const TensorInfo& slice,
                                    bool to_host) {
  constexpr std::size_t longest = StreamName::capacity() - 12;  // there may be a number behind
  if (name.empty() || name.size() > longest) {
    fail(ErrorKind::usage, {.what = "the name of a stream is empty or too long",
                            .tensor = name,
                            .hint = "1 to 243 characters"});
  }
  if (!slice.is_static() || size_in_bytes(slice.type) < 1) {
    fail(ErrorKind::usage,
         {.what = "the type and shape of a stream's slices have to be known when it is declared",
          .tensor = name});
  }
  const auto is_taken = [&](std::string_view text) {
    if (graph.find(text) != no_tensor) return true;
    for (const StreamRecord& stream : graph.streams) {
      if (graph.text(stream.name) == text) return true;
    }
    return false;
  };
  JoinedText unique({name});
  for (int number = 1; is_taken(unique); ++number) {
    unique = JoinedText({name, "_", DecimalText(number)});
  }
  graph.streams.push_back({graph.store_name(unique), slice, to_host});
  return StreamName(std::string_view(unique));
}

constexpr AnyTensor record_load(Graph& graph, const AnyHostToDevice& stream,
                                std::string_view name) {
  const op::HostLoad load{
      .stream = stream.name, .shape = stream.slice.shape, .type = stream.slice.type};
  const AnyTensor y{&graph, record(graph, load, {}, 1)[0]};
  if (!name.empty()) graph.rename(y.id, name);
  return y;
}

/// Throws a UsageError about a tensor that is no slice of a stream. Defined in the core.
[[noreturn]] void refuse_store(const AnyDeviceToHost& stream, const TensorInfo& found);

constexpr void record_store(const AnyDeviceToHost& stream, AnyTensor x) {
  const TensorInfo found = x.info();
  if (found.is_static() && found != stream.slice) refuse_store(stream, found);
  record(*x.graph, op::HostStore{.stream = stream.name}, {x.id}, 0);
}

}  // namespace detail

/// A new stream from the host. Its name is that of the input for Session::run.
///
/// errors  UsageError: an empty name, one of more than 255 characters, an extent that is not known
template <class T, class S>
constexpr HostToDevice<T, S> h2d_stream(Graph& graph, std::string_view name) {
  return {detail::declare_stream(graph, name, HostToDevice<T, S>::static_info, false)};
}
constexpr AnyHostToDevice h2d_stream(Graph& graph, const TensorInfo& slice, std::string_view name) {
  return {detail::declare_stream(graph, name, slice, false), slice};
}
/// A new stream to the host.
template <class T, class S>
constexpr DeviceToHost<T, S> d2h_stream(Graph& graph, std::string_view name) {
  return {detail::declare_stream(graph, name, DeviceToHost<T, S>::static_info, true)};
}
constexpr AnyDeviceToHost d2h_stream(Graph& graph, const TensorInfo& slice, std::string_view name) {
  return {detail::declare_stream(graph, name, slice, true), slice};
}

/// The next slice of a stream, in that graph: a function's body has its own, which its parameters
/// know, or which it takes as its first parameter.
template <class T, class S>
constexpr Tensor<T, S> host_load(Graph& graph, const HostToDevice<T, S>& stream,
                                 std::string_view name = {}) {
  return {&graph, detail::record_load(graph, stream, name).id};
}
constexpr AnyTensor host_load(Graph& graph, const AnyHostToDevice& stream,
                              std::string_view name = {}) {
  return detail::record_load(graph, stream, name);
}

/// Gives the host a tensor as the next slice of a stream.
///
/// errors  UsageError: a tensor that is no slice of the stream (typed: the compiler says so)
template <device_to_host S, tensor_handle X>
constexpr void host_store(const S& stream, const X& x) {
  if constexpr (typed_handle<X> && !std::is_same_v<S, AnyDeviceToHost>) {
    static_assert(X::static_info == S::static_info,
                  "halftone: a stream and what is stored to it have different types or shapes");
  }
  detail::record_store(stream, x);
}

/// The streams that some node of a graph, or of a body, loads from, and those that some node stores to, in the order
/// of their first use. Streams that are only declared are not among them.
///
/// errors  ModelError: loads or stores of one stream that differ in type or shape
std::vector<AnyHostToDevice> used_h2d_streams(const Graph& graph);
std::vector<AnyDeviceToHost> used_d2h_streams(const Graph& graph);

}  // namespace halftone
