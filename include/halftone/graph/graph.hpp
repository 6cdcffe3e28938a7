#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/base/error.hpp>
#include <halftone/base/storage.hpp>
#include <halftone/base/tensor_info.hpp>
#include <halftone/graph/descriptor.hpp>
#include <halftone/graph/names.hpp>

namespace halftone {

inline constexpr TensorId no_tensor = -1;

/// What a tensor is to its graph.
enum class Role : std::uint8_t {
  value,     ///< computed by a node
  input,     ///< given for each run
  constant,  ///< never changes
  variable,  ///< kept between runs, may be changed by nodes and by the host (weights)
  state,     ///< a variable that an optimizer keeps beside the weights; see State
};

/// The part that a tensor of Role::state plays for its optimizer.
enum class State : std::uint8_t {
  none,            ///< the tensor has another role
  hyperparameter,  ///< a number that the program may set between runs
  partial,         ///< what the runs of a step that is not over have brought so far
  moment,          ///< a velocity, or a running average of gradients or of their squares
  steps,           ///< how many steps were taken
  loss_scaling,    ///< what the optimizer remembers of the loss scaling
};

/// Whether stored models have such state. The program says hyperparameters again, and a stored
/// training goes on with a whole step.
constexpr bool is_stored(State state) {
  return state != State::none && state != State::hyperparameter && state != State::partial;
}

/// How a variable starts when there are no data.
struct Initial {
  enum class Rule : std::uint8_t { data, fill, normal, uniform, glorot } rule = Rule::data;
  float a = 0;  ///< fill: the value; normal: mean; uniform: low
  float b = 0;  ///< normal: standard deviation; uniform: high
  friend constexpr bool operator==(const Initial&, const Initial&) = default;
};

struct TensorRecord {
  TensorInfo info{};
  Role role = Role::value;
  Initial initial{};
  Name name{};
  Bytes data{};  ///< of a constant or variable, row-major little-endian; empty: see `initial`
  ElementType stated_type = ElementType::undefined;  ///< of an input whose rank is not known
  State state = State::none;
  TensorId of = no_tensor;  ///< the weight that state belongs to; no_tensor: to all of them
};

/// Whether a tensor keeps its value between runs: a weight, or state of an optimizer.
constexpr bool is_variable(const TensorRecord& t) {
  return t.role == Role::variable || t.role == Role::state;
}

/// What a model asks of an IPU for one node; no result of the cpu changes. See planning.hpp.
struct Planning {
  /// Of products (MatMul, Gemm, convolutions, recurrent layers) and the nodes of their gradients:
  /// of a tile's memory, for what is temporary: above 0, up to 1; 0: what the options say.
  float available_memory_proportion = 0;
  /// Of their sums of half products: float32 or float16; undefined: what the options say.
  ElementType partials = ElementType::undefined;
  std::int32_t ipu = -1;  ///< that the node is meant for, 0 being the first; -1: any
  friend constexpr bool operator==(const Planning&, const Planning&) = default;
};

struct Node {
  const Descriptor* op = nullptr;
  std::vector<Word> attributes{};
  std::vector<TensorId> inputs{};   ///< no_tensor: absent
  std::vector<TensorId> outputs{};  ///< no_tensor: not wanted
  Name name{};
  Planning planning{};
};

/// The name of an unknown extent: an input's extents of one symbol are equal.
struct Symbol {
  TensorId tensor = no_tensor;
  std::uint8_t axis = 0;
  Name name;
};

/// What a model file says that no result depends on; onnx::save() writes it again.
struct Note {
  enum class Kind : std::uint8_t {
    metadata,      ///< a key of the model and its text
    devices,       ///< a set of devices, the bytes of a DeviceConfigurationProto
    node_devices,  ///< a node's place on them, fields of a NodeProto; key: the node's name, or that
                   ///< of its first output if it has none
  };
  Kind kind{};
  Name key{};
  Bytes text{};
};

struct AnyTensor;
struct Training;
struct TrainOptions;
namespace detail {
struct Rule;
class OwnUpdate;
}  // namespace detail

/// What `train` does to a graph, by an optimizer's rule or an update of the program's own.
using RecordTraining = Training (*)(Graph& graph, TensorId loss, const detail::Rule& rule,
                                    detail::OwnUpdate* own, const TrainOptions& options);

/// Tensors and the nodes that compute them: a value. Passes are functions from graphs to graphs,
/// usable in constant evaluation and at run time alike.
///
/// Nodes are in an order in which they can run. Names are unique within a graph: a second `w`
/// becomes `w_1`. Ids are positions in `tensors` and stay good while the graph is moved or copied.
class Graph {
 public:
  std::vector<Node> nodes;
  std::vector<TensorRecord> tensors;
  std::vector<TensorId> inputs, outputs;
  /// Variables that a run may be given another value for (ONNX inputs that have an initializer).
  std::vector<TensorId> optional_inputs;
  std::vector<Graph> graphs;  ///< what Subgraph attributes stand for
  /// The model that the graph trains, as it was when train() recorded updates; none if the graph is
  /// not trained. Its tensors have the same ids here; the values of its variables are here alone.
  std::vector<Graph> model;
  std::vector<Symbol> symbols;
  std::vector<Note> notes;
  Name graph_name;
  /// In the build of a static program, which knows gradients of its own operators; else null.
  RecordTraining record_training = nullptr;

  /// Adds a tensor of that role; see the functions below for the common cases.
  constexpr TensorId add_tensor(TensorRecord record, std::string_view name) {
    const auto id = static_cast<TensorId>(tensors.size());
    record.name = name.empty() ? Name{} : names_.add_unique(scoped(name), id);
    tensors.push_back(std::move(record));
    return id;
  }
  constexpr TensorId add_input(const TensorInfo& info, std::string_view name) {
    const TensorId id = add_tensor({.info = info, .role = Role::input}, name);
    inputs.push_back(id);
    return id;
  }
  constexpr TensorId add_constant(const TensorInfo& info, Bytes data, std::string_view name = {}) {
    return add_tensor({.info = info, .role = Role::constant, .data = std::move(data)}, name);
  }
  constexpr TensorId add_variable(const TensorInfo& info, Bytes data, std::string_view name) {
    return add_tensor({.info = info, .role = Role::variable, .data = std::move(data)}, name);
  }
  constexpr TensorId add_variable(const TensorInfo& info, Initial initial, std::string_view name) {
    return add_tensor({.info = info, .role = Role::variable, .initial = initial}, name);
  }
  /// Appends a node without inference; its outputs become tensors of those infos.
  constexpr std::size_t add_node(const Descriptor& op, std::vector<Word> attributes,
                                 std::vector<TensorId> node_inputs,
                                 std::span<const TensorInfo> infos, std::string_view name = {}) {
    Node node{.op = &op, .attributes = std::move(attributes), .inputs = std::move(node_inputs)};
    if (!name.empty()) node.name = names_.store(scoped(name));
    for (const TensorInfo& info : infos) node.outputs.push_back(add_tensor({.info = info}, {}));
    nodes.push_back(std::move(node));
    return nodes.size() - 1;
  }
  constexpr void add_output(TensorId id) { outputs.push_back(id); }

  /// The tensor of that name, no_tensor if there is none. Tensors without a name of their own are
  /// found by the one that name() makes up.
  constexpr TensorId find(std::string_view name) const { return names_.find(name); }
  constexpr std::string_view name(TensorId id) const {
    return names_.view(tensors[static_cast<std::size_t>(id)].name);
  }
  constexpr std::string_view name(const Node& node) const { return names_.view(node.name); }
  constexpr std::string_view text(Name stored) const { return names_.view(stored); }
  /// Gives a tensor a name (a number is appended if it is taken).
  constexpr void rename(TensorId id, std::string_view new_name) {
    tensors[static_cast<std::size_t>(id)].name = names_.add_unique(new_name, id);
  }
  constexpr void rename(Node& node, std::string_view new_name) {
    node.name = names_.store(new_name);
  }
  constexpr Name store_name(std::string_view text) { return names_.store(text); }
  /// Makes names point at the tensors that have them now; for passes that renumber tensors.
  constexpr void index_names() {
    names_.clear_index();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].name.empty()) names_.bind(tensors[i].name, static_cast<TensorId>(i));
    }
  }

  /// Names recorded until pop_scope() get `scope/` in front.
  constexpr void push_scope(std::string_view scope) {
    scopes_.push_back(names_.store(scoped(scope)));
  }
  constexpr void pop_scope() { scopes_.pop_back(); }

  constexpr const TensorInfo& info(TensorId id) const {
    return tensors[static_cast<std::size_t>(id)].info;
  }
  constexpr TensorRecord& tensor(TensorId id) { return tensors[static_cast<std::size_t>(id)]; }
  constexpr const TensorRecord& tensor(TensorId id) const {
    return tensors[static_cast<std::size_t>(id)];
  }
  /// The handle of a tensor by name; throws InputError, listing what there is, if there is none.
  constexpr AnyTensor operator[](std::string_view name);

  /// New graph input; `extents` may hold `dynamic`.
  template <class T>
  constexpr AnyTensor input(std::string_view name, const Dims& extents);

  friend constexpr bool operator==(const Graph& a, const Graph& b) {
    if (a.nodes.size() != b.nodes.size() || a.tensors.size() != b.tensors.size() ||
        a.inputs != b.inputs || a.outputs != b.outputs || a.graphs != b.graphs ||
        a.model != b.model) {
      return false;
    }
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
      const TensorRecord &x = a.tensors[i], &y = b.tensors[i];
      if (x.info != y.info || x.role != y.role || x.state != y.state || x.of != y.of ||
          x.initial != y.initial || !(x.data == y.data) || a.text(x.name) != b.text(y.name)) {
        return false;
      }
    }
    for (std::size_t i = 0; i < a.nodes.size(); ++i) {
      const Node &x = a.nodes[i], &y = b.nodes[i];
      if (x.op->id != y.op->id || x.attributes != y.attributes || x.inputs != y.inputs ||
          x.outputs != y.outputs) {
        return false;
      }
    }
    return true;
  }

 private:
  /// A view that is good until the next call.
  constexpr std::string_view scoped(std::string_view name) {
    if (scopes_.empty()) return name;
    buffer_ = JoinedText({names_.view(scopes_.back()), "/", name});
    return buffer_;
  }

  Names names_;
  std::vector<Name> scopes_;
  JoinedText buffer_{{}};
};

/// A tensor as inference sees it; nothing of an input that is absent.
constexpr InputInfo input_info(const Graph& graph, TensorId id) {
  if (id == no_tensor) return {};
  const TensorRecord& t = graph.tensor(id);
  const bool known = t.role == Role::constant;
  return {t.info, known ? t.data.span() : std::span<const std::byte>{}, known};
}
constexpr std::vector<InputInfo> input_infos(const Graph& graph, std::span<const TensorId> ids) {
  std::vector<InputInfo> infos;
  for (const TensorId id : ids) infos.push_back(input_info(graph, id));
  return infos;
}

}  // namespace halftone
