#include <popxl/call.hpp>

#include <algorithm>

#include <halftone/views.hpp>

#include "base/describe.hpp"
#include "popxl/state.hpp"

namespace popxl {

namespace {

using halftone::detail::to_text;

/// Throws unless an argument can become that input of a call.
void check(const Argument& argument, const Graph& graph, const TensorSpec& input) {
  if (argument.is_tensor()) {
    detail::must_be_in(graph, argument.tensor(), "an input of a call is not in the current graph");
    const TensorSpec info = argument.tensor().info();
    if (!info.is_known() || !input.is_known()) return;
    bool fits = info.type == input.type && info.rank() == input.rank();
    for (std::size_t i = 0; fits && i < info.rank(); ++i) {
      fits = !halftone::contradict(info.shape[i], input.shape[i]);
    }
    if (fits) return;
    throw halftone::ShapeError({.what = "an input of a call has another type or shape",
                                .tensor = argument.tensor().name(),
                                .expected = to_text(input),
                                .found = to_text(info)},
                               -1, 0, 0);
  }
  const TensorSpec info = argument.value().info();
  const bool is_wide = info.type == ElementType::float64 || info.type == ElementType::int64;
  const bool fits = info.type == input.type || is_wide || info.rank() == 0;
  if (fits && info.shape == input.shape &&
      !(is_floating_point(info.type) && !is_floating_point(input.type))) {
    return;
  }
  throw TypeError({.what = "a value cannot become an input of the call",
                   .expected = to_text(input),
                   .found = to_text(info)});
}

/// An argument as a tensor of the graph.
AnyTensor tensor_in(const Graph& graph, const Argument& argument, const TensorSpec& input) {
  if (argument.is_tensor()) return argument.tensor();
  const AnyArray value = argument.value().info().type == input.type
                             ? argument.value()
                             : detail::converted(argument.value(), input.type);
  halftone::Bytes bytes(value.storage(), value.data(), value.bytes());
  return {&graph.native(), graph.native().add_constant(input, std::move(bytes))};
}

/// A called graph's inputs, one after the other, as they were given: tensors of the current graph.
class Connection {
 public:
  Connection(const Graph& graph, std::span<const Argument> positional, const InputsDict& more)
      : graph_(graph), inputs_(graph.inputs()), given_(inputs_.size()) {
    if (positional.size() > inputs_.size()) {
      throw ValueError({.what = "a call has too many inputs",
                        .node = graph.id(),
                        .expected = std::to_string(inputs_.size()),
                        .found = std::to_string(positional.size())});
    }
    for (std::size_t i = 0; i < positional.size(); ++i) give(i, positional[i]);
    for (const auto& [input, argument] : more) {
      const auto found = std::find_if(inputs_.begin(), inputs_.end(),
                                      [&](const AnyTensor& own) { return own == input; });
      if (found == inputs_.end()) {
        throw ValueError({.what = "a tensor of a call's inputs is no input of the called graph",
                          .node = graph.id(),
                          .tensor = input.name(),
                          .expected = names([](bool) { return true; })});
      }
      give(static_cast<std::size_t>(found - inputs_.begin()), argument);
    }
  }
  void must_be_complete() const {
    const bool is_complete = std::all_of(given_.begin(), given_.end(),
                                         [](const Argument* given) { return given != nullptr; });
    if (is_complete) return;
    throw ValueError({.what = "inputs of a call are missing",
                      .node = graph_.id(),
                      .expected = names([](bool is_given) { return !is_given; }),
                      .found = names([](bool is_given) { return is_given; }),
                      .hint = "give them in their order, or by the called graph's tensors"});
  }
  /// Tensors of the current graph. Nothing is recorded before all of them are known to fit.
  std::vector<halftone::TensorId> ids() const {
    const Graph current = gcg();
    if (current == graph_) {
      throw ValueError({.what = "a graph calls itself", .node = graph_.id()});
    }
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (given_[i] != nullptr) check(*given_[i], current, inputs_[i].info());
    }
    std::vector<halftone::TensorId> all;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      all.push_back(given_[i] == nullptr ? halftone::no_tensor
                                         : tensor_in(current, *given_[i], inputs_[i].info()).id);
    }
    return all;
  }

 private:
  void give(std::size_t i, const Argument& argument) {
    if (given_[i] != nullptr) {
      throw ValueError({.what = "an input of a call is given twice",
                        .node = graph_.id(),
                        .tensor = inputs_[i].name()});
    }
    given_[i] = &argument;
  }
  template <class Wanted>
  std::string names(Wanted wanted) const {
    std::string all;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!wanted(given_[i] != nullptr)) continue;
      const std::string_view name = inputs_[i].name();
      all += (all.empty() ? "" : ", ") + std::to_string(i) + " " + std::string(name) +
             (name.empty() ? "" : " ") + to_text(inputs_[i].info());
    }
    return all.empty() ? "none" : all;
  }

  const Graph& graph_;
  std::vector<AnyTensor> inputs_;
  std::vector<const Argument*> given_;
};

/// Remembers that the current graph calls another one.
void note_call(const Graph& called) {
  auto& all = gcg().state().called;
  if (std::find(all.begin(), all.end(), &called.state()) == all.end()) {
    all.push_back(&called.state());
  }
}

/// Has views follow what a call changes.
void follow_changes(halftone::Graph& graph, const halftone::Node node) {
  halftone::for_each_modified(
      node, [&](std::size_t i) { halftone::follow_change({&graph, node.inputs[i]}); });
}

std::vector<TensorSpec> output_infos(const Graph& graph) {
  return halftone::detail::infos_of(graph.native(), graph.native().outputs);
}

halftone::op::Call call_of(halftone::Graph& in, const Graph& called) {
  halftone::op::Call call{.callee = {halftone::detail::share_body(in, called.native())}};
  for (const std::size_t input : called.state().by_ref) {
    call.modified_inputs.push_back(static_cast<std::int64_t>(input));
  }
  return call;
}

}  // namespace

// --- call sites --------------------------------------------------------------------------------------

namespace {

AnyTensor item(const std::vector<AnyTensor>& all, std::size_t index) {
  if (index < all.size()) return all[index];
  throw IndexError({.what = "a call has no tensor of this number",
                    .expected = "below " + std::to_string(all.size()),
                    .found = std::to_string(index)});
}

}  // namespace

std::vector<AnyTensor> CallSiteInfo::inputs() const {
  return detail::handles(parent_, node().inputs);
}
std::vector<AnyTensor> CallSiteInfo::outputs() const {
  return detail::handles(parent_, node().outputs);
}
AnyTensor CallSiteInfo::parent_input(std::size_t index) const { return item(inputs(), index); }
AnyTensor CallSiteInfo::parent_output(std::size_t index) const { return item(outputs(), index); }

std::size_t CallSiteInfo::graph_to_parent_input_index(std::size_t index) const {
  static_cast<void>(item(called_.inputs(), index));
  return first_ + index;
}
std::size_t CallSiteInfo::parent_to_graph_input_index(std::size_t index) const {
  static_cast<void>(item(called_.inputs(), index - first_));
  return index - first_;
}
std::size_t CallSiteInfo::graph_to_parent_output_index(std::size_t index) const {
  static_cast<void>(item(outputs(), index));
  return index;
}
std::size_t CallSiteInfo::parent_to_graph_output_index(std::size_t index) const {
  return graph_to_parent_output_index(index);
}

AnyTensor CallSiteInfo::graph_to_parent(const AnyTensor& graph_tensor) const {
  const std::vector<AnyTensor> in = called_.inputs(), out = called_.outputs();
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i] == graph_tensor) return parent_input(first_ + i);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == graph_tensor) return parent_output(i);
  }
  throw ValueError({.what = "a tensor is neither input nor output of the called graph",
                    .node = called_.id(),
                    .tensor = graph_tensor.name()});
}
AnyTensor CallSiteInfo::parent_to_graph(const AnyTensor& parent_tensor) const {
  const std::vector<AnyTensor> in = called_.inputs();
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (parent_input(first_ + i) == parent_tensor) return in[i];
  }
  throw ValueError({.what = "a tensor is no input of the call",
                    .node = called_.id(),
                    .tensor = parent_tensor.name()});
}

void CallSiteInfo::set_parent_input_modified(const AnyTensor& parent_tensor,
                                             bool infer_modified_regions) const {
  if (node().op->id != halftone::op::Call::id) {
    throw NotImplementedError({.what = "loops and branches do not change what they are given",
                               .hint = "give the tensor by reference"});
  }
  const AnyTensor inner = parent_to_graph(parent_tensor);
  if (infer_modified_regions && !halftone::Aliases(called_.native()).is_modified(inner.id)) return;
  auto call = halftone::unpack<halftone::op::Call>(node().attributes);
  for (std::size_t i = 0; i < node().inputs.size(); ++i) {
    if (node().inputs[i] != parent_tensor.id || call.modifies(i)) continue;
    call.modified_inputs.push_back(static_cast<std::int64_t>(i));
    break;
  }
  node().attributes = halftone::pack(call);
  halftone::follow_change(parent_tensor);
}

bool ConditionalSiteInfo::is_parent_index_in_then_branch(std::size_t index) const {
  static_cast<void>(then_branch.parent_input(index));
  return index >= 1 && index < 1 + then_branch.called_graph().inputs().size();
}

// --- records -----------------------------------------------------------------------------------------

namespace detail {

Recording::Recording(const Ir& ir, std::string_view name)
    : graph_(ir.create_empty_graph(name)), entered_(graph_) {}
AnyTensor Recording::operator()(const TensorSpec& spec, std::string_view name, bool by_ref) const {
  return graph_input(spec, name, by_ref);
}
Graph Recording::finish(std::span<const AnyTensor> outputs) {
  for (const AnyTensor& output : outputs) graph_output(output);
  is_finished_ = true;
  return graph_;
}
Recording::~Recording() {
  if (is_finished_) return;
  auto& graphs = graph_.ir().state().graphs;
  std::erase_if(graphs, [&](const auto& graph) { return graph.get() == &graph_.state(); });
}

CallSiteInfo record_call(const Graph& graph, std::span<const Argument> positional,
                         const InputsDict& more, bool check_inputs) {
  const Connection connection(graph, positional, more);
  if (check_inputs) connection.must_be_complete();
  const Graph parent = gcg();
  std::vector<halftone::TensorId> ids = connection.ids();
  halftone::Graph& native = parent.native();
  const halftone::op::Call call = call_of(native, graph);
  const std::size_t node =
      native.add_node(halftone::descriptor<halftone::op::Call>, halftone::pack(call),
                      std::move(ids), output_infos(graph));
  note_call(graph);
  follow_changes(native, native.nodes[node]);
  return {parent, node, graph, 0};
}

CallSiteInfo record_repeat(const Graph& graph, std::int64_t count,
                           std::span<const Argument> positional, const InputsDict& more) {
  if (count < 0) {
    throw ValueError(
        {.what = "repeat_count is negative", .node = graph.id(), .found = std::to_string(count)});
  }
  const std::vector<AnyTensor> inner = graph.inputs(), results = graph.outputs();
  if (results.size() > inner.size()) {
    throw ValueError({.what = "a graph that is repeated has more outputs than inputs",
                      .node = graph.id(),
                      .expected = "at most " + std::to_string(inner.size()),
                      .found = std::to_string(results.size())});
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].info() == inner[i].info()) continue;
    throw halftone::ShapeError(
        {.what = "an output of a graph that is repeated is not like the input "
                 "that it becomes",
         .node = graph.id(),
         .expected = to_text(inner[i].info()),
         .found = to_text(results[i].info())},
        -1, 0, 0);
  }
  const Connection connection(graph, positional, more);
  connection.must_be_complete();
  const Graph parent = gcg();
  halftone::Graph& native = parent.native();
  std::vector<halftone::TensorId> ids = connection.ids();

  // The body calls the graph, whose results and other inputs go to the next pass.
  halftone::Graph body;
  body.graph_name = body.store_name(std::string(graph.id()) + "__loop_wrapper");
  body.add_input({ElementType::int64, {}}, {});
  body.add_output(body.add_input({ElementType::boolean, {}}, {}));
  std::vector<TensorSpec> infos;
  std::vector<halftone::TensorId> states;
  for (const AnyTensor& input : inner) {
    infos.push_back(input.info());
    states.push_back(body.add_input(input.info(), {}));
  }
  const halftone::op::Call call = call_of(body, graph);
  const std::size_t called = body.add_node(halftone::descriptor<halftone::op::Call>,
                                           halftone::pack(call), states, output_infos(graph));
  for (std::size_t i = 0; i < states.size(); ++i) {
    body.add_output(i < results.size() ? body.nodes[called].outputs[i] : states[i]);
  }
  const halftone::op::Loop loop{.body = {halftone::detail::share_body(native, body)}};
  std::vector<halftone::TensorId> inputs{
      halftone::constant(native, std::span<const std::int64_t>(&count, 1), Dims{}).id,
      halftone::no_tensor};
  inputs.insert(inputs.end(), ids.begin(), ids.end());
  const std::size_t node = native.add_node(halftone::descriptor<halftone::op::Loop>,
                                           halftone::pack(loop), std::move(inputs), infos);
  note_call(graph);
  const std::vector<halftone::TensorId> all = native.nodes[node].outputs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (graph.is_by_ref(i)) {
      halftone::change({&native, ids[i]}, {&native, all[i]});
    } else if (i >= results.size()) {
      native.nodes[node].outputs[i] = halftone::no_tensor;
    }
  }
  // Those by reference stay outputs of the node behind the results.
  auto& outputs = native.nodes[node].outputs;
  while (!outputs.empty() && outputs.back() == halftone::no_tensor) outputs.pop_back();
  return {parent, node, graph, 2};
}

ConditionalSiteInfo record_conditional(const AnyTensor& condition, const Branch& yes,
                                       const Branch& no) {
  const TensorSpec info = condition.info();
  if (info.type != ElementType::boolean || info.elements() != 1) {
    throw ValueError({.what = "a condition is not one bool",
                      .tensor = condition.name(),
                      .found = to_text(info)});
  }
  for (const Branch* branch : {&yes, &no}) {
    if (branch->graph.state().by_ref.empty()) continue;
    throw NotImplementedError({.what = "branches have no inputs by reference",
                               .node = branch->graph.id(),
                               .hint = "return the new value"});
  }
  const std::vector<TensorSpec> infos = output_infos(yes.graph), others = output_infos(no.graph);
  if (infos.size() != others.size()) {
    throw ValueError({.what = "the branches of a conditional have different numbers of outputs",
                      .node = no.graph.id(),
                      .expected = std::to_string(infos.size()),
                      .found = std::to_string(others.size())});
  }
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i] == others[i]) continue;
    throw ValueError({.what = "an output of the branches of a conditional differs in type or shape",
                      .node = no.graph.id(),
                      .expected = to_text(infos[i]),
                      .found = to_text(others[i])});
  }
  const Connection then_inputs(yes.graph, yes.positional, yes.more);
  const Connection else_inputs(no.graph, no.positional, no.more);
  then_inputs.must_be_complete();
  else_inputs.must_be_complete();
  const Graph parent = gcg();
  must_be_in(parent, condition, "the condition is not in the current graph");
  std::vector<halftone::TensorId> ids{condition.id};
  for (const Connection* connection : {&then_inputs, &else_inputs}) {
    const std::vector<halftone::TensorId> all = connection->ids();
    ids.insert(ids.end(), all.begin(), all.end());
  }
  halftone::Graph& native = parent.native();
  const halftone::Graph &first = yes.graph.native(), &second = no.graph.native();
  using halftone::detail::branch_body, halftone::detail::share_body;
  const halftone::op::If choice{
      .then_branch = {share_body(native, branch_body(first, second, true))},
      .else_branch = {share_body(native, branch_body(second, first, false))}};
  const std::size_t node = native.add_node(halftone::descriptor<halftone::op::If>,
                                           halftone::pack(choice), std::move(ids), infos);
  note_call(yes.graph);
  note_call(no.graph);
  const std::size_t behind = 1 + first.inputs.size();
  return {CallSiteInfo(parent, node, yes.graph, 1), CallSiteInfo(parent, node, no.graph, behind)};
}

}  // namespace detail
}  // namespace popxl
