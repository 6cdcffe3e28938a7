#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/base/property.hpp>
#include <halftone/graph/model.hpp>
#include <halftone/graph/replica_grouping.hpp>
#include <halftone/graph/streams.hpp>
#include <halftone/memmap.hpp>
#include <popxl/error.hpp>

/// The intermediate representation: graphs, the one that is current, and what is created in it.
///
///   popxl::Ir ir;
///   {
///     popxl::Main in(ir);  // with ir.main_graph:
///     auto w = popxl::variable<float, Shape<5, 3>>("w", ones);
///   }
///
/// source  popxl.Ir, popxl.Graph, popxl.context
namespace popxl {

using halftone::AnyArray, halftone::AnyTensor, halftone::AnyView, halftone::Array, halftone::Dims,
    halftone::ElementType, halftone::glorot, halftone::Memmap, halftone::ones,
    halftone::ReplicaGrouping, halftone::Shape, halftone::Tensor, halftone::zeros;
using TensorSpec = halftone::TensorInfo;

class Ir;
namespace detail {
struct GraphState;
struct IrState;
std::int64_t host_transfers(const IrState& ir);
void set_host_transfers(IrState& ir, std::int64_t value);
std::int64_t replication_factor(const IrState& ir);
void set_replication_factor(IrState& ir, std::int64_t value);
template <auto Get, auto Set>
using Property = halftone::Property<IrState, Get, Set>;
}  // namespace detail

/// A graph of an Ir: the main one, which runs, or one that others call. Copies are the same graph;
/// equal graphs are the same. Tensors are good as long as there is a handle of the graph or its Ir.
class Graph {
 public:
  /// "main" or, as unique among the graphs of an Ir, "linear_subgraph(0)".
  std::string_view id() const;
  /// The scope of names: empty for the main graph.
  std::string_view name() const;
  Ir ir() const;
  Graph main_graph() const;
  std::vector<AnyTensor> inputs() const;
  std::vector<AnyTensor> outputs() const;
  std::map<std::string, AnyTensor> inputs_by_name() const;
  std::vector<AnyTensor> tensors() const;
  std::vector<AnyTensor> variables() const;
  std::vector<AnyTensor> constants() const;
  /// Graphs that are called here, each once.
  std::vector<Graph> called_graphs() const;
  /// errors  ValueError: there is no tensor of this name
  AnyTensor get_tensor(std::string_view id) const;
  bool contains(const AnyTensor& tensor) const { return tensor.graph == &native(); }

  using Hook = std::function<void(const halftone::Node&)>;
  /// Calls f for each operator that is recorded in this graph from now on; returns the hook's handle.
  int register_op_created_hook(Hook f) const;
  /// errors  ValueError: no such handle
  void remove_op_created_hook(int handle) const;

  /// The library's graph, whose handles the tensors are.
  halftone::Graph& native() const;
  /// Whether calls let the graph change that input of the caller.
  bool is_by_ref(std::size_t input) const;
  friend bool operator==(const Graph& a, const Graph& b) { return a.state_ == b.state_; }

  /// The state, for functions of this library.
  detail::GraphState& state() const { return *state_; }
  Graph(std::shared_ptr<detail::IrState> ir, detail::GraphState* state)
      : ir_(std::move(ir)), state_(state) {}

 private:
  std::shared_ptr<detail::IrState> ir_;
  detail::GraphState* state_;
};

/// The callables that create_graph() takes, in call.hpp.
template <class Signature>
struct TypedGraph;

/// Graphs that are made and run together. Copies are the same Ir. A session takes it: then nothing in
/// it can be changed any more (RuntimeError).
class Ir {
 public:
  /// errors  ValueError: fewer replicas than 1
  explicit Ir(int replication = 1);
  /// errors  NotImplementedError: "popdist", several processes; ValueError: another word
  explicit Ir(std::string_view replication);

  int id() const;
  Graph main_graph() const;
  /// Records a callable as a graph; see call.hpp.
  template <class F, class... A>
  auto create_graph(F&& f, const A&... arguments) const;
  Graph create_empty_graph(std::string_view name = "graph") const;

  /// How many slices of each stream a run takes and gives: what the program repeats per run.
  /// errors  ValueError: below 1; RuntimeError: a session has taken the Ir
  detail::Property<detail::host_transfers, detail::set_host_transfers> num_host_transfers;
  /// The replicas of all processes. errors  as above
  detail::Property<detail::replication_factor, detail::set_replication_factor> replication_factor;
  /// The replicas of this process.
  std::int64_t instance_replication_factor() const { return replication_factor; }

  /// The streams that the main graph, and what it calls, load from and store to.
  std::vector<halftone::AnyHostToDevice> get_all_h2d_streams() const;
  std::vector<halftone::AnyDeviceToHost> get_all_d2h_streams() const;

  /// Replicas in groups whose members are `stride` apart; by default in groups as large as can be.
  /// errors  ValueError: replicas that are no multiple of stride x group_size
  ReplicaGrouping replica_grouping(int stride = 1, std::optional<int> group_size = {}) const;
  /// By the group of each replica. One that is not constant is for variables alone.
  /// errors  ValueError: another number of replicas, groups of different sizes or numbered otherwise
  ReplicaGrouping replica_grouping_from_assignments(std::vector<int> assignment) const;

  /// Writes the graphs in Graphviz' format: DIR/CHECK.dot, if the check is selected: by
  /// set_dot_checks, or by the environment variable POPART_DOT_CHECKS, names with blanks or commas
  /// between them, or ALL. If neither selects any, all are.
  ///
  /// save_dir  made if it is missing; from now on of every check. Default: the working directory
  void dot_checkpoint(std::string_view check, std::string_view save_dir = {}) const;
  void set_dot_checks(std::vector<std::string> checks) const;

  friend bool operator==(const Ir& a, const Ir& b) { return a.state_ == b.state_; }

  detail::IrState& state() const { return *state_; }
  explicit Ir(std::shared_ptr<detail::IrState> state);

 private:
  std::shared_ptr<detail::IrState> state_;
};

/// with graph: the graph is current while this lives, also when an exception ends it.
///
/// errors  RuntimeError: another Ir's graph is current, or a session has taken the Ir
class In {
 public:
  explicit In(const Graph& graph);
  In(const In&) = delete;
  ~In();
};
/// with ir.main_graph:
class Main : public In {
 public:
  explicit Main(const Ir& ir) : In(ir.main_graph()) {}
};

/// The current graph, its Ir's main graph, its Ir. errors  RuntimeError: no graph is entered
Graph get_current_graph();
Graph get_main_graph();
Ir get_ir();
inline Graph gcg() { return get_current_graph(); }
inline Graph gmg() { return get_main_graph(); }
inline Ir gir() { return get_ir(); }

namespace detail {
/// The main graph, which has to be current. errors  ValueError: another one is
halftone::Graph& main_for(std::string_view what);
AnyTensor add_mapped_variable(const TensorSpec& spec, std::string_view name, const Memmap& file,
                              std::size_t offset);
}  // namespace detail

/// A new variable of the main graph, with what halftone::parameter takes: a rule (zeros, ones, normal,
/// glorot; filled{2}), a span of values.
///
/// errors  ValueError: the main graph is not current
template <class T, class S, class... Data>
Tensor<T, S> variable(std::string_view name, const Data&... data) {
  return halftone::parameter<T, S>(detail::main_for("a variable"), name, data...);
}
template <class T, class S>
Tensor<T, S> variable(std::string_view name, const Array<T>& data) {
  return variable<T, S>(name, data.values());
}
/// Of a type and shape that are known at run time. downcast: int64, uint64 and float64 become 32 bits.
AnyTensor variable(const AnyView& data, std::string_view name = "t", bool downcast = true);

/// A variable whose elements begin `offset` bytes behind the beginning of a file, which gets weights that
/// come to the host unless it is only read.
///
/// errors  ValueError: a file that is too short, elements that are not aligned
template <class T, class S, std::integral I = std::size_t>
Tensor<T, S> variable(std::string_view name, const Memmap& file, I offset = 0) {
  return detail::add_mapped_variable(Tensor<T, S>::static_info, name, file,
                                     static_cast<std::size_t>(offset))
      .template as<Tensor<T, S>>();
}

/// A new constant of the current graph.
template <class T, class S>
Tensor<T, S> constant(std::type_identity_t<std::span<const T>> data, std::string_view name = {}) {
  return halftone::constant<T, S>(gcg().native(), data, name);
}
template <class T, class S>
Tensor<T, S> constant(std::initializer_list<T> data, std::string_view name = {}) {
  return constant<T, S>(std::span<const T>(data.begin(), data.size()), name);
}
template <halftone::element T>
Tensor<T, Shape<>> constant(T value, std::string_view name = {}) {
  return constant<T, Shape<>>({&value, 1}, name);
}
AnyTensor constant(const AnyView& data, std::string_view name = {}, bool downcast = true);

/// A new input of the current graph. by_ref: calls let the graph change the caller's tensor.
///
/// errors  ValueError: the main graph, which has streams
AnyTensor graph_input(const TensorSpec& spec, std::string_view name = {}, bool by_ref = false);
template <class T, class S>
Tensor<T, S> graph_input(std::string_view name = {}, bool by_ref = false) {
  return graph_input(Tensor<T, S>::static_info, name, by_ref).template as<Tensor<T, S>>();
}
/// Makes a tensor the current graph's next output. errors  ValueError: it is of another graph
void graph_output(const AnyTensor& tensor);

}  // namespace popxl
