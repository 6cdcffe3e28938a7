#include "late.hpp"

#include <cstring>
#include <utility>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "passes.hpp"
#include "run.hpp"
#include "transform/defer.hpp"

namespace halftone {

LateBody::LateBody(Program& open, const Graph& graph, const Bound& holder, std::string path)
    : open_(open),
      graph_(graph),
      options_(holder.options),
      executor_(holder.executor),
      // Late bodies are made as shapes come, not alike in all replicas.
      reach_{holder.reach.communicator, holder.reach.host, nullptr},
      nesting_{holder.nesting.depth + 1, std::move(path)},
      has_products_(halftone::has_products(graph)) {}

Bound& LateBody::with(std::span<const AnyView> inputs, bool for_shapes) {
  Bound* body = nullptr;
  if (for_shapes) {
    const auto info = [&](std::size_t i) -> const TensorInfo& { return inputs[i].info; };
    Ready* ready = variants_.find(inputs.size(), info);
    if (ready == nullptr) {
      Vector<TensorInfo> infos;
      for (const AnyView& x : inputs) infos.push_back(x.info);
      ready = variants_.add(
          make_ready(graph_, infos, open_.graph.outputs, options_, executor_, reach_, nesting_));
    }
    body = ready->bound.get();
  } else {
    if (bound_ == nullptr) bound_ = bind(open_, options_, executor_, reach_, nesting_, true);
    body = bound_.get();
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) body->set_input(i, inputs[i]);
  return *body;
}

void Late::refuse(std::string_view what, std::string_view expected, std::string_view found) const {
  fail(ErrorKind::model, {.what = what,
                          .node = detail::node_text(*node().op, bound.program.graph.name(node())),
                          .expected = expected,
                          .found = found});
}

std::vector<AnyArray> results_of(Bound& body) {
  run(body);
  std::vector<AnyArray> results;
  for (const Program::Argument& a : body.program.outputs) {
    const std::size_t o = results.size();
    const bool is_late = a.place == Program::Place::late;
    results.push_back(is_late ? body.late_values[static_cast<std::size_t>(a.number)]
                              : AnyArray::copy_of(body.output(o)));
  }
  return results;
}

void put(Bound& bound, std::size_t argument, AnyArray value) {
  const Program::Argument& a = bound.program.arguments[argument];
  if (a.place == Program::Place::absent) return;
  if (a.place == Program::Place::late) return bound.set_late(a.number, std::move(value));
  const TensorInfo& expected = bound.program.graph.info(a.tensor);
  if (value.info() != expected) {
    fail(ErrorKind::internal, {.what = "a late node has given another shape than was inferred",
                               .tensor = bound.program.graph.name(a.tensor),
                               .expected = detail::to_text(expected),
                               .found = detail::to_text(value.info())});
  }
  void* to = bound.arguments[argument].data;
  if (value.bytes() != 0 && to != value.data()) std::memcpy(to, value.data(), value.bytes());
}

namespace {

std::vector<AnyArray> run_body(const Late& late, LateBody& body, std::span<const AnyView> inputs) {
  Bound& bound = body.with(inputs, !late.bound.is_open && body.has_products());
  bound.measured = late.step.kind == Program::Kind::call ? late.bound.measured : nullptr;
  return results_of(bound);
}

/// Runs the body of a SequenceMap for every item.
std::vector<AnyArray> map_sequence(Late& late, std::span<const AnyView> inputs) {
  const Graph& graph = late.bound.program.graph;
  const Node& node = late.node();
  const std::string where = detail::node_text(*node.op, graph.name(node));
  const std::size_t count = inputs[0].sequence().size();
  std::vector<std::vector<AnyArray>> results(node.outputs.size());
  std::vector<AnyView> given(inputs.begin(), inputs.end());
  for (std::size_t item = 0; item < count; ++item) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!is_sequence(inputs[i].info.type)) continue;
      const std::span<const AnyArray> items = inputs[i].sequence().items();
      if (items.size() != count) {
        fail(ErrorKind::input, {.what = "the sequences have different lengths",
                                .node = where,
                                .expected = std::to_string(count),
                                .found = std::to_string(items.size())});
      }
      given[i] = items[item];
    }
    std::vector<AnyArray> outputs = run_body(late, late.bodies[0], given);
    for (std::size_t o = 0; o < results.size(); ++o) results[o].push_back(std::move(outputs[o]));
  }
  const Graph& body = graph.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
  std::vector<AnyArray> sequences;
  for (std::size_t o = 0; o < results.size(); ++o) {
    const ElementType item =
        results[o].empty() ? body.info(body.outputs[o]).type : results[o][0].info().type;
    if (item == ElementType::undefined) {
      fail(ErrorKind::unsupported,
           {.what = "the type of an empty sequence cannot be found", .node = where});
    }
    sequences.emplace_back(sequence_of(item), Sequence::make(std::move(results[o])));
  }
  return sequences;
}

std::vector<AnyArray> compute(Late& late, std::span<const AnyView> inputs) {
  switch (late.step.kind) {
    case Program::Kind::copy:
      return {AnyArray::copy_of(inputs[0])};
    case Program::Kind::branch: {
      const TensorInfo& info = inputs[0].info;
      if (info.type != ElementType::boolean || info.elements() != 1) {
        late.refuse("the condition is not one boolean", {}, detail::to_text(info));
      }
      const bool condition = *static_cast<const bool*>(inputs[0].data);
      return run_body(late, late.bodies[condition ? 0 : 1], inputs.subspan(1));
    }
    case Program::Kind::call:
      return run_body(late, late.bodies[0], inputs);
    case Program::Kind::repetition:
      return run_late_passes(late, inputs);
    case Program::Kind::map:
      return map_sequence(late, inputs);
    default:
      break;
  }
  const Graph& graph = late.bound.program.graph;
  NodeRunner* const runner = late.bound.options.runner;
  if (runner != nullptr && !reaches_out(late.node())) {
    return runner->run(graph, late.node(), inputs, late.bound.executor);
  }
  const bool keeps = late.node().op->signature.attributes() > 0;
  return run_node(graph, late.node(), inputs, late.bound.executor, keeps ? &late.kept : nullptr,
                  late.bound.reach, late.bound.options.precision);
}

}  // namespace

void run_late(const KernelCall& call) {
  Late& late = *static_cast<Late*>(const_cast<void*>(call.op));
  Bound& bound = late.bound;
  std::vector<AnyView> inputs;
  for (std::uint32_t i = 0; i < call.inputs; ++i) inputs.push_back(bound.view(late.step.first + i));
  std::vector<AnyArray> results = compute(late, inputs);
  for (std::uint32_t o = 0; o < call.outputs && o < results.size(); ++o) {
    put(bound, late.step.first + call.inputs + o, std::move(results[o]));
  }
  for (const std::int32_t number : late.freed) bound.set_late(number, {});
}

}  // namespace halftone
