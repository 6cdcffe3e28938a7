#include <popxl/ir.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "base/file.hpp"
#include "popxl/dot.hpp"
#include "popxl/state.hpp"

namespace popxl {

using detail::GraphState;
using detail::IrState;

namespace {

template <class Wanted>
std::vector<AnyTensor> tensors_that(const Graph& graph, Wanted wanted) {
  std::vector<AnyTensor> all;
  const auto& tensors = graph.native().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (wanted(tensors[i])) all.push_back({&graph.native(), static_cast<halftone::TensorId>(i)});
  }
  return all;
}

}  // namespace

std::vector<AnyTensor> detail::handles(const Graph& graph,
                                       std::span<const halftone::TensorId> ids) {
  std::vector<AnyTensor> all;
  for (const halftone::TensorId id : ids) all.push_back({&graph.native(), id});
  return all;
}

// --- graphs ------------------------------------------------------------------------------------------

std::string_view Graph::id() const { return state_->id; }
std::string_view Graph::name() const { return state_->name; }
Ir Graph::ir() const { return Ir(ir_); }
Graph Graph::main_graph() const { return ir().main_graph(); }
halftone::Graph& Graph::native() const { return state_->graph; }
std::vector<AnyTensor> Graph::inputs() const { return detail::handles(*this, native().inputs); }
std::vector<AnyTensor> Graph::outputs() const { return detail::handles(*this, native().outputs); }
std::map<std::string, AnyTensor> Graph::inputs_by_name() const {
  std::map<std::string, AnyTensor> all;
  for (const AnyTensor& input : inputs()) {
    const std::string_view name = input.name();
    if (!name.empty()) all.emplace(name, input);
  }
  return all;
}
std::vector<AnyTensor> Graph::tensors() const {
  return tensors_that(*this, [](const halftone::TensorRecord&) { return true; });
}
std::vector<AnyTensor> Graph::variables() const {
  return tensors_that(*this, [](const halftone::TensorRecord& t) { return is_variable(t); });
}
std::vector<AnyTensor> Graph::constants() const {
  return tensors_that(
      *this, [](const halftone::TensorRecord& t) { return t.role == halftone::Role::constant; });
}
std::vector<Graph> Graph::called_graphs() const {
  std::vector<Graph> all;
  for (GraphState* const called : state_->called) all.emplace_back(ir_, called);
  return all;
}
AnyTensor Graph::get_tensor(std::string_view id) const {
  const halftone::TensorId found = native().find(id);
  if (found != halftone::no_tensor) return {&native(), found};
  throw ValueError({.what = "the graph has no tensor of this name",
                    .tensor = id,
                    .hint = "Graph::tensors() has all of graph '" + state_->id + "'"});
}
bool Graph::is_by_ref(std::size_t input) const {
  const auto& all = state_->by_ref;
  return std::find(all.begin(), all.end(), input) != all.end();
}

int Graph::register_op_created_hook(Hook f) const {
  static std::atomic<int> next{0};
  const int handle = next++;
  state_->hooks.emplace_back(handle, std::move(f));
  return handle;
}
void Graph::remove_op_created_hook(int handle) const {
  const auto is_it = [&](const auto& hook) { return hook.first == handle; };
  if (std::erase_if(state_->hooks, is_it) != 0) return;
  throw ValueError({.what = "there is no hook of this handle in the graph",
                    .node = state_->id,
                    .found = std::to_string(handle)});
}

// --- the intermediate representation -------------------------------------------------------------------

void IrState::must_be_open(std::string_view what) const {
  if (!is_taken) return;
  throw RuntimeError({.what = what,
                      .expected = "an Ir that no session has taken",
                      .hint = "make the Ir complete, then the session of it"});
}

namespace {

/// Whether an operator joins tensors of several IPUs.
bool may_join_ipus(const halftone::Node& node) {
  using namespace halftone::op;
  const halftone::OpId& id = node.op->id;
  return id == Call::id || id == Loop::id || id == If::id || id == AllReduce::id;
}

/// Throws a ValueError if the inputs of a node are on different IPUs or tiles.
void check_places(const GraphState& state, const halftone::Node& node) {
  if (may_join_ipus(node)) return;
  halftone::TensorId first = halftone::no_tensor;
  detail::Place place;
  for (const halftone::TensorId id : node.inputs) {
    if (id == halftone::no_tensor || static_cast<std::size_t>(id) >= state.places.size()) continue;
    const detail::Place other = state.places[static_cast<std::size_t>(id)];
    if (other.ipu < 0) continue;
    const bool differs = first != halftone::no_tensor && other.ipu != place.ipu;
    if (differs || (first != halftone::no_tensor && other.on_io_tiles != place.on_io_tiles)) {
      const auto text = [&](halftone::TensorId t, const detail::Place& p) {
        const std::string_view name = state.graph.name(t);
        return (name.empty() ? "a tensor" : "'" + std::string(name) + "'") + " on " +
               (p.on_io_tiles ? "the IO tiles of " : "") + "IPU " + std::to_string(p.ipu);
      };
      throw ValueError({.what = differs ? "the inputs of an operator are on different IPUs"
                                        : "the inputs of an operator are on different tile sets",
                        .node = node.op->id.name,
                        .found = text(first, place) + ", " + text(id, other),
                        .hint = differs ? "ops::ipu_copy(tensor, ipu) brings one to the other's"
                                        : "ops::io_tile_copy(tensor) brings one to the other's"});
    }
    place = other;
    first = id;
  }
}

/// Is told of every node that is recorded: where it is, and whose hooks want to know of it.
void observe(void* who, const halftone::Graph& graph, std::size_t n) {
  GraphState& state = *static_cast<GraphState*>(who);
  const halftone::Node& node = graph.nodes[n];
  if (n > 0 && graph.nodes[n - 1].place.ipu >= 0) {
    // A copy to another IPU says so behind the call.
    for (const halftone::TensorId id : graph.nodes[n - 1].outputs) {
      if (static_cast<std::size_t>(id) >= state.places.size()) continue;
      state.places[static_cast<std::size_t>(id)].ipu = graph.nodes[n - 1].place.ipu;
    }
  }
  try {
    check_places(state, node);
  } catch (const ValueError&) {
    // The node goes again, with its outputs, which are the last tensors.
    const std::size_t outputs = node.outputs.size();
    state.graph.nodes.pop_back();
    state.graph.tensors.resize(state.graph.tensors.size() - outputs);
    throw;
  }
  if (const std::string_view name = detail::current_debug_name(); !name.empty()) {
    state.graph.rename(state.graph.nodes[n], name);
  }
  state.places.resize(graph.tensors.size());
  const detail::Place place = detail::current_place();
  for (const halftone::TensorId id : node.outputs) {
    if (id != halftone::no_tensor) state.places[static_cast<std::size_t>(id)] = place;
  }
  for (const halftone::TensorId id : node.inputs) {
    if (id == halftone::no_tensor || place.ipu < 0 || !is_variable(graph.tensor(id))) continue;
    detail::Place& own = state.places[static_cast<std::size_t>(id)];
    if (!own.is_known) own = place;
  }
  // A copy: hooks may be removed by a hook.
  for (const auto& [number, hook] : std::vector(state.hooks)) hook(graph.nodes[n]);
}

}  // namespace

detail::Place detail::place_of(const AnyTensor& t) {
  Place place;
  const auto id = static_cast<std::size_t>(t.id);
  if (const GraphState* const state = state_of(t); state != nullptr && id < state->places.size()) {
    place = state->places[id];
  }
  const int maker = halftone::Uses(*t.graph).producer[t.id];
  if (maker == halftone::no_node) return place;
  const halftone::Node& node = t.graph->nodes[static_cast<std::size_t>(maker)];
  if (node.place.ipu >= 0) place.ipu = node.place.ipu;
  if (!place.is_known) place.on_io_tiles = node.planning.on_io_tiles;
  place.is_known = true;
  return place;
}

Graph detail::add_graph(const std::shared_ptr<IrState>& ir, std::string_view base) {
  auto graph = std::make_unique<GraphState>();
  if (ir->graphs.empty()) {
    graph->id = base;
  } else {
    graph->id = std::string(base) + "_subgraph(" + std::to_string(ir->subgraphs++) + ")";
    graph->name = graph->id;
  }
  graph->graph.graph_name = graph->graph.store_name(graph->id);
  graph->graph.observer.set(observe, graph.get());
  ir->graphs.push_back(std::move(graph));
  return {ir, ir->graphs.back().get()};
}

Graph detail::add_backward(const Ir& ir, const Graph& forward) {
  const std::string base = std::string(forward.id()) + "_bwd";
  std::string id = base;
  const auto& graphs = ir.state().graphs;
  for (int n = 1; std::any_of(graphs.begin(), graphs.end(),
                              [&](const auto& graph) { return graph->id == id; });
       ++n) {
    id = base + "_" + std::to_string(n);
  }
  const Graph backward = ir.create_empty_graph(base);
  backward.state().id = backward.state().name = id;
  return backward;
}

void detail::must_be_in(const Graph& graph, const AnyTensor& tensor, std::string_view what) {
  if (graph.contains(tensor)) return;
  throw ValueError({.what = what,
                    .tensor = tensor.is_absent() ? std::string_view() : tensor.name(),
                    .expected = "a tensor of graph '" + std::string(graph.id()) + "'",
                    .hint = "graphs get tensors of others as inputs of their calls"});
}

std::int64_t detail::host_transfers(const IrState& ir) { return ir.host_transfers; }
void detail::set_host_transfers(IrState& ir, std::int64_t value) {
  ir.must_be_open("num_host_transfers is set too late");
  if (value < 1) {
    throw ValueError({.what = "num_host_transfers is below 1", .found = std::to_string(value)});
  }
  ir.host_transfers = value;
}
std::int64_t detail::replication_factor(const IrState& ir) {
  return ir.graphs.front()->graph.replicas;
}
void detail::set_replication_factor(IrState& ir, std::int64_t value) {
  ir.must_be_open("replication_factor is set too late");
  if (value < 1) {
    throw ValueError({.what = "replication_factor is below 1", .found = std::to_string(value)});
  }
  ir.main().graph.replicas = static_cast<std::int32_t>(value);
}

Ir::Ir(std::shared_ptr<IrState> state)
    : num_host_transfers(state), replication_factor(state), state_(std::move(state)) {}
Ir::Ir(int replication) : Ir(std::make_shared<IrState>()) {
  static std::atomic<int> next{0};
  state_->id = next++;
  detail::add_graph(state_, "main");
  replication_factor = replication;
}
Ir::Ir(std::string_view replication) : Ir(1) {
  if (replication != "popdist") {
    throw ValueError(
        {.what = "replication is neither a number nor \"popdist\"", .found = replication});
  }
  throw NotImplementedError({.what = "several processes, \"popdist\", are not offered",
                             .hint = "Ir(n) has n replicas in this process"});
}
int Ir::id() const { return state_->id; }
Graph Ir::main_graph() const { return {state_, &state_->main()}; }
Graph Ir::create_empty_graph(std::string_view name) const {
  state_->must_be_open("a graph is created too late");
  return detail::add_graph(state_, name);
}

ReplicaGrouping Ir::replica_grouping(int stride, std::optional<int> group_size) const {
  const std::int32_t replicas = main_graph().native().replicas;
  return detail::as_value_error([&] {
    if (!group_size.has_value()) return ReplicaGrouping(replicas, stride);
    return ReplicaGrouping(replicas, stride, *group_size);
  });
}
ReplicaGrouping Ir::replica_grouping_from_assignments(std::vector<int> assignment) const {
  if (static_cast<std::int64_t>(assignment.size()) != std::int64_t{replication_factor}) {
    throw ValueError({.what = "an assignment has another number of replicas than the Ir",
                      .expected = std::to_string(std::int64_t{replication_factor}),
                      .found = std::to_string(assignment.size())});
  }
  return detail::as_value_error([&] { return ReplicaGrouping(std::move(assignment)); });
}

void Ir::set_dot_checks(std::vector<std::string> checks) const {
  state_->dot_checks = std::move(checks);
}
void Ir::dot_checkpoint(std::string_view check, std::string_view save_dir) const {
  if (!save_dir.empty()) {
    std::error_code problem;
    std::filesystem::create_directories(save_dir, problem);
    if (problem) {
      halftone::fail(halftone::ErrorKind::io, {.what = "a folder for dot files cannot be made",
                                               .tensor = save_dir,
                                               .found = problem.message()});
    }
    state_->dot_folder = save_dir;
  }
  std::vector<std::string> selected = state_->dot_checks;
  if (const char* const words = std::getenv("POPART_DOT_CHECKS"); words != nullptr) {
    std::string word;
    for (const char c : std::string(words) + " ") {
      if (c != ' ' && c != ',' && c != ':') {
        word += c;
      } else if (!word.empty()) {
        selected.push_back(std::exchange(word, {}));
      }
    }
  }
  if (selected.empty()) selected = state_->dot_checks = {"ALL"};
  const bool is_selected = std::any_of(selected.begin(), selected.end(), [&](const std::string& s) {
    return s == "ALL" || s == check;
  });
  if (!is_selected) return;
  const std::filesystem::path folder = state_->dot_folder;
  const std::string text = detail::dot_text(*state_);
  halftone::detail::OutputFile file((folder / (std::string(check) + ".dot")).string());
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

// --- tensors -----------------------------------------------------------------------------------------

ElementType detail::downcast_type(ElementType type) {
  if (type == ElementType::int64) return ElementType::int32;
  if (type == ElementType::uint64) return ElementType::uint32;
  return type == ElementType::float64 ? ElementType::float32 : type;
}

namespace {

/// Copied bytes, of 32 bits for 64 if that is asked for.
std::pair<TensorSpec, halftone::Bytes> host_bytes(const AnyView& data, bool downcast) {
  const ElementType type = downcast ? detail::downcast_type(data.info.type) : data.info.type;
  const AnyArray copy =
      type == data.info.type ? AnyArray::copy_of(data) : detail::converted(data, type);
  return {copy.info(), halftone::Bytes(copy.storage(), copy.data(), copy.bytes())};
}

}  // namespace

AnyArray detail::converted(const AnyView& data, ElementType type) {
  AnyArray result(TensorSpec{type, data.info.shape});
  halftone::visit_type<halftone::NumericTypes>(data.info.type, [&]<class From>() {
    const std::span<const From> from = data.values<From>();
    halftone::visit_type<halftone::NumericTypes>(type, [&]<class To>() {
      const std::span<To> to = result.values<To>();
      for (std::size_t i = 0; i < from.size(); ++i) {
        to[i] = halftone::detail::nearest<To>(from[i]);
      }
    });
  });
  return result;
}

halftone::Graph& detail::main_for(std::string_view what) {
  const Graph graph = gcg();
  if (graph == graph.main_graph()) return graph.native();
  throw ValueError({.what = std::string(what) + " belongs to the main graph",
                    .found = "graph '" + std::string(graph.id()) + "' is current",
                    .hint = "create it in the main graph and give it to the call"});
}
AnyTensor graph_input(const TensorSpec& spec, std::string_view name, bool by_ref) {
  const Graph graph = gcg();
  if (graph == graph.main_graph()) {
    throw ValueError({.what = "the main graph has no inputs",
                      .tensor = name,
                      .hint = "host_load of an h2d_stream, or a variable"});
  }
  if (by_ref) graph.state().by_ref.push_back(graph.native().inputs.size());
  return {&graph.native(), graph.native().add_input(spec, name)};
}
AnyTensor variable(const AnyView& data, std::string_view name, bool downcast) {
  halftone::Graph& graph = detail::main_for("a variable");
  auto [info, bytes] = host_bytes(data, downcast);
  return {&graph, graph.add_variable(info, std::move(bytes), name)};
}
AnyTensor detail::add_mapped_variable(const TensorSpec& spec, std::string_view name,
                                      const Memmap& file, std::size_t offset) {
  halftone::Graph& graph = main_for("a variable");
  const std::span<std::byte> bytes =
      as_value_error([&] { return file.elements(spec, offset); }, name);
  const halftone::TensorId id =
      graph.add_variable(spec, halftone::Bytes(file.storage(), bytes.data(), bytes.size()), name);
  gir().state().mapped.push_back({id, file, bytes});
  return {&graph, id};
}
AnyTensor constant(const AnyView& data, std::string_view name, bool downcast) {
  halftone::Graph& graph = gcg().native();
  auto [info, bytes] = host_bytes(data, downcast);
  return {&graph, graph.add_constant(info, std::move(bytes), name)};
}
void graph_output(const AnyTensor& tensor) {
  const Graph graph = gcg();
  detail::must_be_in(graph, tensor, "an output is of another graph");
  graph.native().add_output(tensor.id);
}

}  // namespace popxl
