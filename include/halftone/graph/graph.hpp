#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <halftone/base/error.hpp>
#include <halftone/base/storage.hpp>
#include <halftone/base/tensor_info.hpp>
#include <halftone/base/vector.hpp>
#include <halftone/graph/descriptor.hpp>
#include <halftone/graph/names.hpp>
#include <halftone/graph/place.hpp>
#include <halftone/graph/replica_grouping.hpp>

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

/// What the host gets of a variable whose groups of replicas have more than one member.
enum class Retrieval : std::uint8_t {
  one_per_group,  ///< the value of the first replica of each group
  all_replicas,   ///< that of every replica
};

/// How the replicas of a graph, and the memory beside the machine, hold a variable.
///
/// On the host it has the shape [groups, shape]; one group has no dimension. Replica k gets the value
/// of its group. A variable over shards is a vector on each replica: of the elements of the host's
/// value, part i mod shard_over for member i of a group, the last one filled up with zeros.
struct VariableSettings {
  ReplicaGrouping grouping{};
  Retrieval retrieval = Retrieval::one_per_group;
  std::int32_t shard_over = 1;      ///< parts that the value is divided into
  Dims host_shape{};                ///< of one group, if the value is divided
  std::int32_t remote_buffer = -1;  ///< where the variable lies; -1: on the machine
  std::int64_t remote_entry = 0;    ///< in that buffer
  friend constexpr bool operator==(const VariableSettings&, const VariableSettings&) = default;
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
  /// Of a variable, in Graph::variable_settings; -1: one value for all replicas.
  std::int32_t settings = -1;
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
  bool on_io_tiles = false;  ///< the node is meant for the tiles that exchange data with the host
  std::int32_t exchange =
      0;  ///< loads and stores of one number are one exchange; 0: each by itself
  friend constexpr bool operator==(const Planning&, const Planning&) = default;
};

/// Where a node stands among the nodes of its graph that have to run in an order; see InSequence in
/// scopes.hpp. Those of one block run in the order of their positions; nodes of equal positions and
/// of different blocks run in any order.
struct Order {
  std::int32_t block = 0;  ///< 0: the node has no place
  std::int32_t position = 0;
  friend constexpr bool operator==(const Order&, const Order&) = default;
};

struct Node {
  const Descriptor* op = nullptr;
  Vector<Word> attributes{};
  Vector<TensorId> inputs{};   ///< no_tensor: absent
  Vector<TensorId> outputs{};  ///< no_tensor: not wanted
  Name name{};
  Planning planning{};
  Place place{};
  Order order{};
  bool is_tied = false;  ///< changes of its output and of its inputs follow each other: views.hpp
};
constexpr bool has_input(const Node& node, std::size_t i) {
  return i < node.inputs.size() && node.inputs[i] != no_tensor;
}

/// The name of an unknown extent: an input's extents of one symbol are equal.
struct Symbol {
  TensorId tensor = no_tensor;
  std::uint8_t axis = 0;
  Name name;
};

/// A stream that loads or stores may use, also of bodies; see halftone/streams.hpp.
struct StreamRecord {
  Name name;
  TensorInfo info;  ///< of a slice
  bool to_host = false;
};

/// Memory beside the machine, in entries of one shape; see halftone/remote_buffers.hpp. Every replica
/// has its own.
struct RemoteBufferRecord {
  std::int32_t id = 0;
  TensorInfo info;  ///< of an entry
  std::int64_t entries = 1;
  Dims meta_shape{};  ///< of the tensor that an entry is a shard of
  friend constexpr bool operator==(const RemoteBufferRecord&, const RemoteBufferRecord&) = default;
};

/// The shape of the tensor that another one is a shard of.
struct MetaShape {
  TensorId tensor = no_tensor;
  Dims shape;
  friend constexpr bool operator==(const MetaShape&, const MetaShape&) = default;
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

/// How nodes are ordered that are recorded one after the other; see InSequence in scopes.hpp.
enum class Ordering : std::uint8_t { free, in_order, together };

namespace detail {
/// The places of nodes while they are recorded.
class Sequence {
 public:
  constexpr Ordering set(Ordering ordering) {
    // What was recorded before a pause has no order against what follows.
    if (ordering == Ordering::free) is_open_ = false;
    return std::exchange(ordering_, ordering);
  }
  constexpr Order next() {
    if (ordering_ == Ordering::free) return {};
    if (!is_open_) {
      is_open_ = true;
      ++block_;
      last_ = 0;
      has_side_ = false;
    }
    if (ordering_ == Ordering::together) {
      has_side_ = true;
      return {block_, last_ + 1};
    }
    last_ += has_side_ ? 2 : 1;
    has_side_ = false;
    return {block_, last_};
  }

 private:
  Ordering ordering_ = Ordering::free;
  bool is_open_ = false, has_side_ = false;  ///< whether nodes stand behind `last_`, side by side
  std::int32_t block_ = 0, last_ = 0;
};
}  // namespace detail

/// Who is told of every node that is added to a graph. Copies of the graph have nobody.
class NodeObserver {
 public:
  using Function = void (*)(void* who, const Graph& graph, std::size_t node);

  constexpr NodeObserver() = default;
  constexpr NodeObserver(const NodeObserver&) noexcept {}
  constexpr NodeObserver& operator=(const NodeObserver&) noexcept { return *this; }
  constexpr void set(Function tell, void* who) {
    tell_ = tell;
    who_ = who;
  }
  constexpr void operator()(const Graph& graph, std::size_t node) const {
    if (tell_ != nullptr) tell_(who_, graph, node);
  }

 private:
  Function tell_ = nullptr;
  void* who_ = nullptr;
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
  Vector<Node> nodes;
  Vector<TensorRecord> tensors;
  Vector<TensorId> inputs, outputs;
  /// Variables that a run may be given another value for (ONNX inputs that have an initializer).
  Vector<TensorId> optional_inputs;
  Vector<Graph> graphs;  ///< what Subgraph attributes stand for
  /// The model that the graph trains, as it was when train() recorded updates; none if the graph is
  /// not trained. Its tensors have the same ids here; the values of its variables are here alone.
  Vector<Graph> model;
  Vector<Symbol> symbols;
  Vector<Note> notes;
  Name graph_name;
  NodeObserver observer;
  /// How many copies of the graph run at once, each with memory of its own. Host and replicas meet in
  /// streams, variables and collective operators (halftone/collectives.hpp).
  std::int32_t replicas = 1;
  Vector<StreamRecord> streams;
  Vector<RemoteBufferRecord> remote_buffers;
  Vector<VariableSettings> variable_settings;
  Vector<MetaShape> meta_shapes;
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
  /// Says how replicas and remote buffers hold a variable.
  constexpr void set_variable(TensorId id, VariableSettings settings) {
    tensor(id).settings = static_cast<std::int32_t>(variable_settings.size());
    variable_settings.push_back(std::move(settings));
  }
  /// Null: one value for all replicas.
  constexpr const VariableSettings* settings(TensorId id) const {
    const std::int32_t at = tensor(id).settings;
    return at < 0 ? nullptr : &variable_settings[static_cast<std::size_t>(at)];
  }
  /// Appends a node without inference; its outputs become tensors of those infos.
  constexpr std::size_t add_node(const Descriptor& op, Vector<Word> attributes,
                                 Vector<TensorId> node_inputs, std::span<const TensorInfo> infos,
                                 std::string_view name = {}) {
    Node node{.op = &op, .attributes = std::move(attributes), .inputs = std::move(node_inputs)};
    node.order = sequence_.next();
    node.place = place_;
    if (!name.empty()) node.name = names_.store(scoped(name));
    for (const TensorInfo& info : infos) node.outputs.push_back(add_tensor({.info = info}, {}));
    nodes.push_back(std::move(node));
    observer(*this, nodes.size() - 1);
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
  /// How the nodes are ordered that are recorded from now on; see InSequence. Returns what it was.
  constexpr Ordering set_ordering(Ordering ordering) { return sequence_.set(ordering); }
  /// The place of the nodes that are recorded from now on; see OnIpu and its kin in scopes.hpp.
  constexpr const Place& place() const { return place_; }
  constexpr void set_place(const Place& place) { place_ = place; }

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
        a.model != b.model || a.replicas != b.replicas || a.remote_buffers != b.remote_buffers ||
        a.variable_settings != b.variable_settings || a.meta_shapes != b.meta_shapes) {
      return false;
    }
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
      const TensorRecord &x = a.tensors[i], &y = b.tensors[i];
      if (x.info != y.info || x.role != y.role || x.state != y.state || x.of != y.of ||
          x.initial != y.initial || x.settings != y.settings || !(x.data == y.data) ||
          a.text(x.name) != b.text(y.name)) {
        return false;
      }
    }
    for (std::size_t i = 0; i < a.nodes.size(); ++i) {
      const Node &x = a.nodes[i], &y = b.nodes[i];
      if (x.op->id != y.op->id || x.attributes != y.attributes || x.inputs != y.inputs ||
          x.outputs != y.outputs || x.planning != y.planning || x.place != y.place ||
          x.order != y.order) {
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
  Vector<Name> scopes_;
  detail::Sequence sequence_;
  Place place_{};
  JoinedText buffer_{{}};
};

/// A tensor as inference sees it; nothing of an input that is absent.
constexpr InputInfo input_info(const Graph& graph, TensorId id) {
  if (id == no_tensor) return {};
  const TensorRecord& t = graph.tensor(id);
  const bool known = t.role == Role::constant;
  return {t.info, known ? t.data.span() : std::span<const std::byte>{}, known};
}
constexpr Vector<InputInfo> input_infos(const Graph& graph, std::span<const TensorId> ids) {
  Vector<InputInfo> infos;
  for (const TensorId id : ids) infos.push_back(input_info(graph, id));
  return infos;
}

}  // namespace halftone
