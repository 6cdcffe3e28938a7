#include <halftone/transform/in_half.hpp>

#include <cstring>
#include <utility>
#include <vector>

#include <halftone/base/half.hpp>
#include <halftone/op/list.hpp>

namespace halftone {

Graph in_half(Graph graph) {
  for (TensorRecord& t : graph.tensors) {
    if (t.info.type != ElementType::float32) continue;
    t.info.type = ElementType::float16;
    if (t.data.size() == 0) continue;
    std::vector<std::byte> narrow(t.data.size() / 2);
    for (std::size_t i = 0; i < narrow.size() / 2; ++i) {
      float value = 0;
      std::memcpy(&value, t.data.span().data() + 4 * i, sizeof value);
      const half rounded(value);
      std::memcpy(narrow.data() + 2 * i, &rounded, sizeof rounded);
    }
    t.data = Bytes(std::move(narrow));
  }
  for (Node& node : graph.nodes) {
    if (!(node.op->id == op::Cast::id)) continue;
    op::Cast cast = unpack<op::Cast>(node.attributes);
    if (cast.to != ElementType::float32) continue;
    cast.to = ElementType::float16;
    node.attributes = pack(cast);
  }
  for (Graph& body : graph.graphs) body = in_half(std::move(body));
  return graph;
}

}  // namespace halftone
