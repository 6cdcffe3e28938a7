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
///
/// errors  UsageError: a type or shape that is not known, a name that is empty or too long
StreamName declare_stream(Graph& graph, std::string_view name, const TensorInfo& slice,
                          bool to_host);
/// Throws a ShapeError unless a tensor that is stored is a slice of the stream.
void check_slice(std::string_view stream, const TensorInfo& slice, AnyTensor x);
}  // namespace detail

/// A new stream from the host. Its name is that of the input for Session::run.
///
/// errors  UsageError: an empty name, one of more than 255 characters, an extent that is not known
template <class T, class S>
HostToDevice<T, S> h2d_stream(Graph& graph, std::string_view name) {
  return {detail::declare_stream(graph, name, HostToDevice<T, S>::static_info, false)};
}
inline AnyHostToDevice h2d_stream(Graph& graph, const TensorInfo& slice, std::string_view name) {
  return {detail::declare_stream(graph, name, slice, false), slice};
}
/// A new stream to the host.
template <class T, class S>
DeviceToHost<T, S> d2h_stream(Graph& graph, std::string_view name) {
  return {detail::declare_stream(graph, name, DeviceToHost<T, S>::static_info, true)};
}
inline AnyDeviceToHost d2h_stream(Graph& graph, const TensorInfo& slice, std::string_view name) {
  return {detail::declare_stream(graph, name, slice, true), slice};
}

namespace detail {
AnyTensor record_load(Graph& graph, const AnyHostToDevice& stream, std::string_view name);
void record_store(const AnyDeviceToHost& stream, AnyTensor x);
}  // namespace detail

/// The next slice of a stream, in that graph: a function's body has its own, which its parameters
/// know, or which it takes as its first parameter.
template <class T, class S>
Tensor<T, S> host_load(Graph& graph, const HostToDevice<T, S>& stream, std::string_view name = {}) {
  return {&graph, detail::record_load(graph, stream, name).id};
}
inline AnyTensor host_load(Graph& graph, const AnyHostToDevice& stream,
                           std::string_view name = {}) {
  return detail::record_load(graph, stream, name);
}

/// Gives the host a tensor as the next slice of a stream.
///
/// errors  ShapeError: a tensor that is no slice of the stream (typed: the compiler says so)
template <device_to_host S, tensor_handle X>
void host_store(const S& stream, const X& x) {
  if constexpr (typed_handle<X> && !std::is_same_v<S, AnyDeviceToHost>) {
    static_assert(X::static_info == S::static_info,
                  "halftone: a stream and what is stored to it have different types or shapes");
  }
  detail::record_store(stream, x);
}

/// A stream that a graph uses, itself or in a body.
struct UsedStream {
  std::string_view name;  ///< a view into the graph
  TensorInfo slice;
};
/// The streams that some node of a graph loads from, and those that some node stores to, in the order
/// of their first use. Streams that are only declared are not among them.
///
/// errors  ModelError: loads or stores of one stream that differ in type or shape
std::vector<UsedStream> used_h2d_streams(const Graph& graph);
std::vector<UsedStream> used_d2h_streams(const Graph& graph);

}  // namespace halftone
