#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onnx/onnx_pb.h>

#include <halftone/onnx.hpp>

#include "onnx/proto.hpp"

namespace halftone::onnx {

using wire::field_header;

/// Bytes in pieces: what the writer makes itself, and data that stay where they are.
class Pieces {
 public:
  void add(std::string own) {
    size_ += own.size();
    pieces_.push_back({std::move(own), {}});
  }
  void add(std::span<const std::byte> borrowed) {
    size_ += borrowed.size();
    pieces_.push_back({{}, borrowed});
  }
  void add(Pieces other) {
    size_ += other.size_;
    for (Piece& piece : other.pieces_) pieces_.push_back(std::move(piece));
  }
  std::size_t size() const { return size_; }
  template <class F>
  void for_each(F&& f) const {
    for (const Piece& p : pieces_) {
      f(p.borrowed.empty() ? std::as_bytes(std::span(p.own)) : p.borrowed);
    }
  }

 private:
  struct Piece {
    std::string own;
    std::span<const std::byte> borrowed;
  };
  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
};

/// Makes the bytes of a model file of a Graph.
class Writer {
 public:
  Writer(const Graph& graph, const SaveOptions& options);

  const Pieces& model() const { return model_; }
  const Pieces& data() const { return data_; }  ///< of the data file

 private:
  /// Names of a graph's tensors by id, and the graph around it.
  struct Names {
    const Graph* graph = nullptr;
    const Names* outer = nullptr;
    std::vector<std::string> of;
    std::unordered_set<TensorId> shared{};  ///< constants that the graph around has
    std::unordered_map<std::string_view, const Note*> devices{};  ///< by the key of their node

    const std::string& operator[](TensorId id) const { return of[static_cast<std::size_t>(id)]; }
  };

  void choose_versions();
  void collect_versions(const Graph& graph);
  bool suits(const Graph& graph, std::int64_t opset) const;
  /// The version of the format that the element types of the graph need.
  std::int64_t version_of_types(const Graph& graph) const;
  static bool has_devices(const Graph& graph);

  /// The name of a constant that a graph around has as well; null if none has it.
  static const std::string* known_around(const Names& names, const Graph& graph,
                                         const TensorRecord& record);
  Names names_of(const Graph& graph, const Names* outer, std::span<const std::string> captured);
  std::string unique(std::string name);
  void write_value(const Graph& graph, TensorId id, const std::string& name,
                   ::onnx::ValueInfoProto& value) const;
  void write_nodes(const Names& names, ::onnx::GraphProto& proto);
  void write_node(const Names& names, const Node& node, ::onnx::NodeProto& proto);
  static void write_planning(const Node& node, ::onnx::NodeProto& proto);
  void write_subgraph(const Graph& body, const Names& outer, std::span<const std::string> captured,
                      ::onnx::GraphProto& proto);
  /// What one version has as an attribute or output and another has not.
  static void write_axes(const TensorRecord& axes, ::onnx::NodeProto& proto);
  void drop_statistics(const Graph& graph, const Node& node, ::onnx::NodeProto& proto) const;
  /// The name of another initializer of the main graph.
  std::string add_scalar(std::string_view node, float value);
  std::vector<bool> used_tensors(const Graph& graph) const;
  Pieces initializer(const TensorRecord& record, const std::string& name);

  const Graph& graph_;
  const SaveOptions& options_;
  std::unordered_set<std::string> used_;
  std::int64_t opset_ = 17, ir_version_ = 8;
  std::vector<std::pair<std::string, std::int64_t>> other_opsets_;
  std::vector<::onnx::TensorProto> more_initializers_;
  Pieces model_, data_;
};

/// A TensorProto without its data.
::onnx::TensorProto tensor_header(const TensorInfo& info, std::string_view name);
/// Gives a tensor its elements if they cannot be written as they are in memory (texts, packed
/// ones), and returns nothing then; else the bytes that are to follow as raw data.
std::span<const std::byte> set_data(::onnx::TensorProto& tensor, const TensorInfo& info,
                                    std::span<const std::byte> bytes);

}  // namespace halftone::onnx
