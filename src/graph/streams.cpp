#include <halftone/streams.hpp>

#include <string>

#include <halftone/graph/subgraphs.hpp>

#include "base/describe.hpp"

namespace halftone {

void detail::refuse_store(const AnyDeviceToHost& stream, const TensorInfo& found) {
  fail(ErrorKind::usage, {.what = "a tensor is stored to a stream of another type or shape",
                          .tensor = stream.name.view(),
                          .expected = to_text(stream.slice),
                          .found = to_text(found)});
}

namespace {

template <class Stream>
void add_used(std::vector<Stream>& used, const Graph& graph, const Node& node,
              const StreamName& name, const TensorInfo& slice) {
  for (Stream& stream : used) {
    if (stream.name != name) continue;
    if (!slice.is_static()) return;
    if (!stream.slice.is_static()) stream.slice = slice;
    if (stream.slice == slice) return;
    fail(ErrorKind::model, {.what = "loads or stores of one stream differ in type or shape",
                            .node = detail::node_text(*node.op, graph.name(node)),
                            .tensor = name.view(),
                            .expected = detail::to_text(stream.slice),
                            .found = detail::to_text(slice)});
  }
  used.emplace_back(name, slice);
}

template <class Stream>
void add_used(std::vector<Stream>& used, const Graph& graph) {
  constexpr bool to_host = device_to_host<Stream>;
  for (const Node& node : graph.nodes) {
    if (to_host && node.op->id == op::HostStore::id) {
      add_used(used, graph, node, unpack<op::HostStore>(node.attributes).stream,
               graph.info(node.inputs[0]));
    } else if (!to_host && node.op->id == op::HostLoad::id) {
      add_used(used, graph, node, unpack<op::HostLoad>(node.attributes).stream,
               graph.info(node.outputs[0]));
    }
    for_each_body(graph, node, [&](const Graph& body) { add_used(used, body); });
  }
}

}  // namespace

std::vector<AnyHostToDevice> used_h2d_streams(const Graph& graph) {
  std::vector<AnyHostToDevice> used;
  add_used(used, graph);
  return used;
}
std::vector<AnyDeviceToHost> used_d2h_streams(const Graph& graph) {
  std::vector<AnyDeviceToHost> used;
  add_used(used, graph);
  return used;
}

}  // namespace halftone
