#include <halftone/transform/keep_state.hpp>

#include <string>

#include <halftone/base/error.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>

#include "base/describe.hpp"

namespace halftone {
namespace {

using detail::to_text;

void erase(Vector<TensorId>& list, TensorId id) {
  erase_if(list, [&](TensorId other) { return other == id; });
}

/// Throws unless the output of a run can be the input of the next one.
void check(const Graph& graph, AnyTensor input, AnyTensor output) {
  const TensorRecord &x = graph.tensor(input.id), &y = graph.tensor(output.id);
  if (x.role != Role::input) {
    fail(ErrorKind::model, {.what = "what keeps its value between runs is no input of the graph",
                            .tensor = input.name()});
  }
  if (Uses(graph).producer[output.id] == no_node) {
    fail(ErrorKind::model,
         {.what = "the next value of an input is not computed by a node", .tensor = output.name()});
  }
  if (x.info.type != y.info.type || !op::CopyVarUpdate::infer(x.info, y.info).ok()) {
    fail(ErrorKind::model,
         {.what = "the next value of an input has another type or shape",
          .tensor = output.name(),
          .expected = to_text(x.info),
          .found = to_text(y.info),
          .hint = "what grows with each run stays in an input of the largest size, "
                  "where TensorScatter writes"});
  }
  if (!x.info.is_static()) {
    fail(ErrorKind::unsupported,
         {.what = "the shape of an input that keeps its value between runs is not known",
          .tensor = input.name(),
          .found = to_text(x.info),
          .hint = "give the input a shape without unknown extents"});
  }
  if (graph.replicas != 1) {
    fail(ErrorKind::unsupported, {.what = "an input of replicas keeps no value between runs",
                                  .tensor = input.name(),
                                  .found = std::to_string(graph.replicas) + " replicas"});
  }
}

}  // namespace

void keep_state(AnyTensor input, AnyTensor output) {
  if (input.graph == nullptr || input.graph != output.graph || input.is_absent() ||
      output.is_absent()) {
    fail(ErrorKind::usage, {.what = "an input and its next value are not of one graph"});
  }
  Graph& graph = *input.graph;
  check(graph, input, output);
  TensorRecord& x = graph.tensors[static_cast<std::size_t>(input.id)];
  x.role = Role::variable;
  x.initial = {.rule = Initial::Rule::fill, .a = 0};
  erase(graph.inputs, input.id);
  erase(graph.outputs, output.id);
  detail::record(graph, op::CopyVarUpdate{}, {input.id, output.id}, 1);
}

}  // namespace halftone
