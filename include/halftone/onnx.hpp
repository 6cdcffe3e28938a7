#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/base/error.hpp>
#include <halftone/graph/graph.hpp>
#include <halftone/graph/registry.hpp>

/// Reading and writing ONNX files: IR versions 3 to 14, versions 1 to 28 of the default operator
/// set as far as each operator's meaning is known.
namespace halftone::onnx {

/// The extent that a symbol stands for: {"batch", 32}.
struct Size {
  std::string_view symbol;
  std::int64_t extent = dynamic;
};

/// What a graph input is, where the model does not say it (or not all of it).
struct InputShape {
  std::string_view input;
  TensorInfo info;
};

/// The value of a graph input that has an initializer, instead of that: as a constant, so that
/// shapes may follow from it.
struct InputValue {
  std::string_view input;
  AnyView value;
};

/// onnx::load(path, {.sizes = {{"batch", 32}}, .operators = acme::ops::table}). Texts are borrowed
/// until the call returns.
struct LoadOptions {
  std::vector<Size> sizes{};
  std::vector<InputShape> inputs{};
  std::vector<InputValue> values{};
  OperatorTable operators{};  ///< empty: those of the library
  /// Refuse what is read with a warning otherwise: shapes and types that the model states of its
  /// intermediate tensors and its nodes contradict (the nodes count), metadata that have a key twice,
  /// graphs and initializers without a name.
  bool strict = false;
  /// Read graphs without outputs, of which the caller chooses what is returned; else they are broken.
  bool allow_no_outputs = false;
  /// Read nodes that have attributes which their operators do not, and leave those out; else such
  /// nodes are broken. Attributes whose names begin with "__" are always left out.
  bool allow_unknown_attributes = false;
  /// Compute products (Conv, Gemm, MatMul) of what DequantizeLinear made of two tensors of 8-bit
  /// integers as exact products of these integers, times the scales: several times as fast. Values
  /// may differ from those of float products by the rounding of the latter's sums. The first scale
  /// is one number, the second one or one for each filter or column; sums have 33,025 terms at the
  /// most. A MaxPool of such a tensor takes the largest integers, and QuantizeLinear by the scale and
  /// zero point that they came by makes nothing new. Everything else is read as it is written.
  bool integer_products = true;
};

/// Reads a model file. Large weights stay in the file, which is mapped as long as the graph or a
/// copy needs it; it must not be changed in place (save() replaces files, it does not change them).
///
/// One error says everything that is wrong: ModelError if the model is broken (ShapeError if that
/// is one shape), UnsupportedError with all operators that are not offered, and their nodes.
/// IoError if a file cannot be read, UsageError or InputError if the options do not fit the model.
///
/// Floating-point initializers become variables, others constants; those that are graph inputs as
/// well are listed in Graph::optional_inputs. Local functions become their nodes, sparse
/// initializers dense ones.
///
/// Of what no result depends on, the model's metadata and its nodes' places on several devices are
/// kept (Graph::notes); documentation, producers, training_info, quantization annotations and the
/// metadata of graphs, nodes, functions, values and tensors are not. Warnings go to the log, module
/// "onnx".
Graph load(std::string_view path, const LoadOptions& options = {});
/// Reads a model from memory, which is copied as far as it is needed. External data are looked up
/// in `folder`; without one they are an error.
Graph load(std::span<const std::byte> bytes, const LoadOptions& options = {},
           std::string_view folder = {});

/// A graph, or the error for which there is none.
class LoadResult {
 public:
  LoadResult(Graph graph) : graph_(std::move(graph)) {}
  LoadResult(const Error& error) : error_{error} {}

  explicit operator bool() const { return error_.empty(); }
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  /// Only if there is no graph.
  const Error& error() const { return error_.front(); }

 private:
  Graph graph_;
  std::vector<Error> error_;  // one or none
};
LoadResult try_load(std::string_view path, const LoadOptions& options = {});
LoadResult try_load(std::span<const std::byte> bytes, const LoadOptions& options = {},
                    std::string_view folder = {});

struct SaveOptions {
  /// Name of a second file in the model's folder for the data of large tensors; empty: everything
  /// is in the model's file, which most programs read up to 2 GiB only.
  std::string_view data_file{};
  /// Tensors of so many bytes and more go there.
  std::size_t data_file_from = 1024;
};

/// Writes a model file with the values that constants and variables have now; of a graph that is
/// trained, the model and the optimizer's state, from which train() goes on. It is complete before
/// it gets its name: whatever happens, there is the old file or the new one. A data file is
/// complete before the model gets its name.
///
/// Throws IoError; UnsupportedError if something has no spelling in ONNX.
void save(const Graph& graph, std::string_view path, const SaveOptions& options = {});
/// The same as bytes.
std::vector<std::byte> to_bytes(const Graph& graph);

/// A tensor from a file, with its name.
class NamedArray : public AnyArray {
 public:
  NamedArray() = default;
  NamedArray(AnyArray array, std::string_view name)
      : AnyArray(std::move(array)), name_(name.begin(), name.end()) {}
  std::string_view name() const { return {name_.data(), name_.size()}; }

 private:
  std::vector<char> name_;
};

/// Reads a TensorProto (a .pb file); if `type` says that the value is a sequence, an optional value
/// or a map, a SequenceProto, OptionalProto or MapProto: files do not tell which they are. Throws
/// IoError, and ModelError or UnsupportedError about what is in it.
NamedArray load_tensor(std::string_view path, ElementType type = ElementType::undefined);
NamedArray load_tensor(std::span<const std::byte> bytes, ElementType type = ElementType::undefined);
/// Writes one of them, as save() does.
void save_tensor(std::string_view path, std::string_view name, const AnyView& tensor);
std::vector<std::byte> tensor_to_bytes(std::string_view name, const AnyView& tensor);

}  // namespace halftone::onnx
