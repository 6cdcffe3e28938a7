#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <halftone/onnx.hpp>
#include <halftone/transform/infer.hpp>

#include "onnx/attributes.hpp"
#include "onnx/operators.hpp"
#include "onnx/proto.hpp"
#include "onnx/report.hpp"
#include "onnx/tensor.hpp"

namespace halftone::onnx {

/// Graphs within graphs and functions within functions.
inline constexpr int deepest_nesting = 64;
/// Names of inlined nodes repeat what the file says once: they are cut there.
inline constexpr std::size_t longest_inlined_name = 200;

/// "Conv 'conv1'" for errors; nodes without a name are known by their output.
std::string describe(const NodeMessage& node);
/// The same without the operator.
std::string describe_name(const NodeMessage& node);
/// The same of a node of a graph.
std::string describe(const Graph& graph, const Node& node);

/// Makes a Graph of the messages of one model file.
class Importer {
 public:
  /// `folder`: where external data are; null if the model came from memory alone. `report` gets
  /// what there is to say of the model.
  Importer(Storage file, const std::string* folder, const LoadOptions& options, Report& report);

  Graph run();

 private:
  using OpsetImports = std::vector<OpsetImport>;
  /// Attributes that a function was called with, by the names that its nodes refer to.
  using Bindings = std::vector<AttributeMessage>;

  /// A Graph while it is made.
  struct Target {
    Graph graph;
    bool is_main = true;
    std::size_t inferred_nodes = 0;  ///< so many nodes have been looked at by infer_pending()
    Vector<Defect> defects;          ///< of these nodes
    std::unordered_set<std::string_view> reserved;  ///< the model's own names
    /// Inputs of operators that take some element types in newer operator sets only.
    struct LateType {
      TensorId input;
      std::int64_t opset;
      std::string_view op, node, output;
    };
    std::vector<LateType> late_types;
    /// What a DequantizeLinear made: x less zero_point, times scale.
    struct Dequantized {
      TensorId x, scale, zero_point;
      std::size_t axis;  ///< of x, that a vector of scales follows
      Dims perm{};       ///< how a Transpose moved x since

      std::size_t axis_of_result() const {
        for (std::size_t i = 0; i < perm.size(); ++i) {
          if (perm[i] == static_cast<std::int64_t>(axis)) return i;
        }
        return axis;
      }
    };
    std::unordered_map<TensorId, Dequantized> dequantized;  ///< of 8-bit integers, by the result
  };

  /// The outer tensors that the subgraphs of one node read, in the order of the node's last inputs.
  using Captures = Vector<TensorId>;

  /// Where names mean something: an ONNX graph, or the body of a function that is being inlined.
  struct Scope {
    Target& target;
    Scope* outer = nullptr;        ///< the graph around a subgraph
    Captures* captures = nullptr;  ///< of the node that has this subgraph
    const OpsetImports* opsets = nullptr;
    const Bindings* bindings = nullptr;  ///< null outside of functions
    std::string prefix{};                ///< of names in a function
    std::unordered_map<std::string_view, TensorId> ids{};
    std::unordered_map<std::string_view, TensorInfo> declared{};
    std::unordered_map<std::string_view, std::string> public_names{};  ///< of a function's outputs
    std::unordered_map<std::string_view, std::size_t> producers{};     ///< by which node
    std::unordered_map<TensorId, TensorId> captured{};                 ///< outer to inner
    std::unordered_set<std::string_view> complained{};                 ///< of undefined names
  };

  /// The graph attributes of one node.
  struct Subgraphs {
    struct Body {
      std::int32_t index;  ///< in the graphs of the node's graph
      Vector<TensorId> formals;
      std::unordered_map<TensorId, TensorId> captured;  ///< outer to inner
    };
    Captures captures;
    std::vector<Body> bodies;
  };

  struct FunctionKey {
    std::string_view domain, name, overload;
    bool operator==(const FunctionKey&) const = default;
  };
  struct FunctionHash {
    std::size_t operator()(const FunctionKey& key) const {
      const std::hash<std::string_view> hash;
      return hash(key.domain) * 31 + hash(key.name) * 7 + hash(key.overload);
    }
  };

  void read_main_graph(const ModelMessage& model, Target& target);
  void check_versions(const ModelMessage& model);
  void read_functions(const ModelMessage& model);
  void check_options();
  void read_notes(const ModelMessage& model, Graph& graph);

  void read_graph_into(Scope& scope, const GraphMessage& message);
  void read_inputs(Scope& scope, const GraphMessage& message,
                   std::unordered_map<std::string_view, const TensorMessage*>& initializers);
  void read_initializers(Scope& scope, const std::vector<TensorMessage>& tensors,
                         const std::vector<NodeMessage>& nodes);
  void read_outputs(Scope& scope, const GraphMessage& message);
  bool replace_value(Scope& scope, const TensorMessage& tensor, bool is_input, TensorData& data);
  TensorInfo info_of(const ValueMessage& value, Vector<Symbol>* symbols, Graph* graph, TensorId id);

  void read_node_into(Scope& scope, NodeMessage node);
  bool resolve_attributes(const Scope& scope, NodeMessage& node);
  void read_constant(Scope& scope, const NodeMessage& node);
  void read_operator(Scope& scope, const NodeMessage& node, const Descriptor& op,
                     Vector<TensorId> inputs);
  /// Reports element types that operators do not take in their version, as far as they are known.
  void check_late_types(const Target& target);
  /// The operator of PopART's products of float8 numbers, which have a power of two as third input;
  /// null for other nodes.
  const Descriptor* scaled_product(Scope& scope, const NodeMessage& node,
                                   std::span<const TensorId> inputs);
  /// The IPU that a node of the model is meant for, for the nodes that it became.
  void read_placement(const NodeMessage& node, std::span<Node> made);
  void call_function(Scope& scope, const NodeMessage& node, const FunctionMessage& function,
                     const Vector<TensorId>& inputs);
  bool check_inputs(const std::string& described, const Descriptor& op,
                    std::span<const TensorId> inputs);
  /// Gives every subgraph of a node an input for every tensor that one of them captures, and the
  /// node, too: the last ones, or states that a Loop or Scan keeps as they are.
  bool add_captures(const std::string& described, const Descriptor& op, Vector<Word>& words,
                    const Subgraphs& subgraphs, Graph& graph, Vector<TensorId>& inputs,
                    std::vector<std::string_view>& outputs);
  /// Takes the attributes that the operator has as inputs (Slot::attribute) out of the list and puts
  /// constants made of them between the node's inputs.
  bool take_attribute_inputs(const std::string& described, const Descriptor& op,
                             std::vector<AttributeMessage>& attributes, Graph& graph,
                             Vector<TensorId>& inputs);
  /// Labels of a classifier that are texts: its kernel gives their positions instead, for which the
  /// labels become the numbers from 0. Returns the texts, which are then picked by them; no_tensor:
  /// the labels are numbers.
  static TensorId take_class_names(const Descriptor& op, Graph& graph, Vector<TensorId>& inputs);
  /// The constant that an attribute becomes. Throws if it is none that the operator takes.
  TensorData attribute_data(const Descriptor& op, const Slot& slot,
                            const AttributeMessage& attribute, const std::string& described);
  /// Replaces a tensor `value` of one element by the integers `value_type` and `value_bits`, which
  /// operators have instead.
  bool split_tensors(const std::string& described, std::vector<AttributeMessage>& attributes,
                     std::deque<std::string>& names);
  void expand(Scope& scope, const NodeMessage& node, const Descriptor& op,
              std::span<const Word> words, Vector<TensorId> inputs, std::string_view node_name);

  // import_quantized.cpp
  /// Reports scales, in front of zero points, that are negative, infinite or NaN.
  bool check_scales(const std::string& described, const Descriptor& op, const Graph& graph,
                    std::span<const TensorId> inputs);
  /// Remembers the 8-bit integers that a result was made of, if it was.
  static void note_dequantized(Target& target, const Descriptor& op, std::span<const Word> words,
                               std::span<const TensorId> inputs, TensorId result);
  /// Remembers the same of what a Transpose made of such a result.
  static void note_transposed(Target& target, const Node& node);
  /// Whether a node is a product that integer_product() computes.
  bool is_integer_product(Target& target, const Descriptor& op, std::span<const Word> words,
                          std::span<const TensorId> inputs);
  /// A Conv, Gemm or MatMul of what DequantizeLinear made: the exact product of the integers, times
  /// the scales.
  static Vector<TensorId> integer_product(Target& target, const Descriptor& op,
                                          std::span<const Word> words,
                                          std::span<const TensorId> inputs);

  /// Whether a node takes the largest of numbers that DequantizeLinear made with one scale, which it
  /// can as well before: moved_bytes() does.
  bool moves_bytes(const Target& target, const Descriptor& op, std::span<const TensorId> inputs,
                   std::size_t outputs) const;
  static Vector<TensorId> moved_bytes(Target& target, const Descriptor& op,
                                      std::span<const Word> words,
                                      std::span<const TensorId> inputs);
  /// Whether a QuantizeLinear makes the bytes again that a DequantizeLinear was given.
  bool gives_bytes_back(const Target& target, const Descriptor& op, std::span<const Word> words,
                        std::span<const TensorId> inputs) const;

  /// Gives the products among what a node became what PopART's attributes ask of the planner. A
  /// list has a value for each of them in turn.
  void plan(const std::string& described, const NodeMessage& node, std::span<Node> made);
  std::int32_t read_subgraph(Scope& scope, const AttributeMessage& attribute, Subgraphs& subgraphs);

  // import_exchange.cpp; false: the node is left out, for a reason that is reported.
  /// Gives a RemoteLoad or RemoteStore the variable that stands for its buffer.
  bool give_buffer(Scope& scope, const NodeMessage& node, const Descriptor& op,
                   std::span<const Word> words, Vector<TensorId>& inputs);
  void check_buffers(const Graph& graph);
  /// Whether what a node changes are variables, which initializers become, or a body's inputs. A
  /// Call says which inputs its callee changes; other bodies must change none.
  bool check_changed(const std::string& described, const Descriptor& op, Vector<Word>& words,
                     const Subgraphs& subgraphs, Target& target, std::span<const TensorId> inputs);

  TensorId find(Scope& scope, std::string_view name, bool& found);
  Vector<TensorId> resolve_inputs(Scope& scope, const NodeMessage& node);
  void bind(Scope& scope, const NodeMessage& node, std::string_view name, TensorId id);
  void leave_undefined(Scope& scope, const NodeMessage& node);
  std::string public_name(const Scope& scope, std::string_view name);
  std::string public_node_name(const Scope& scope, std::string_view name) const;
  void infer_pending(Target& target);
  void infer_all(Target& target);

  std::int64_t opset_of(const Scope& scope, std::string_view domain) const;
  /// Whether the model promises its callers a tensor of that name, and what it states is taken at
  /// its word.
  /// Whether an attribute that a node's operator does not have may be left out.
  bool is_ignored(std::string_view attribute, const std::string& node) const;
  bool is_output(const Target& target, std::string_view tensor) const;
  /// The model states something else of a tensor than what its node gives: a warning, as the node
  /// is right, and a defect of an output of the model.
  void contradiction(bool is_output, const std::string& node, std::string_view tensor,
                     const TensorInfo& stated, const TensorInfo& given);
  /// Reports outputs of a node, or of nodes in its graphs, that contradict what the model states;
  /// other defects are left.
  void report_contradictions(const Target& target, std::span<const Defect> defects);
  void defect(const std::string& node, std::string_view what, std::string_view tensor = {},
              std::string_view expected = {}, std::string_view found = {});

  /// A remote buffer of the model; its number of rows grows with the offsets that are met.
  struct Buffer {
    TensorId variable = no_tensor;
    TensorInfo row{};
    std::string node{};  ///< the first that uses it, for errors
  };

  const LoadOptions& options_;
  Storage file_;
  TensorReader tensors_;
  Operators operators_;
  Report& report_;
  std::unordered_map<FunctionKey, FunctionMessage, FunctionHash> functions_;
  OpsetImports model_opsets_;
  std::vector<const FunctionMessage*> calls_;          // that are being inlined
  std::unordered_set<std::string_view> output_names_;  ///< of the main graph
  std::unordered_set<std::string_view> known_symbols_, known_inputs_, known_optional_inputs_;
  std::unordered_set<std::string> domains_without_opset_;
  std::map<std::int64_t, Buffer> buffers_;  ///< by `bufferid`
  int depth_ = 0;
  std::size_t inlined_nodes_ = 0, most_inlined_nodes_;
  std::uint64_t name_characters_ = 0;
};

}  // namespace halftone::onnx
