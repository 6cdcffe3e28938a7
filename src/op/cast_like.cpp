#include <halftone/op/list.hpp>

#include "exec/run_node.hpp"
#include "op/outputs.hpp"

namespace halftone::op {

std::vector<AnyArray> CastLike::run(std::span<const AnyView> inputs, std::size_t) const {
  const Cast how = as_cast(inputs[1].info.type);
  if (has_objects(inputs[0].info.type) || has_objects(how.to)) return how.run(inputs.first(1), 1);
  Graph graph;
  const TensorId x = graph.add_input(inputs[0].info, {});
  const TensorInfo y{how.to, inputs[0].info.shape};
  add_node(graph, how, {x}, {&y, 1});
  return run_node(graph, graph.nodes[0], inputs.first(1), {});
}

}  // namespace halftone::op
