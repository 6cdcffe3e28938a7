#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <popart/graph.hpp>
#include <popart/ir.hpp>

namespace popart::detail {

/// A node of a model's file.
struct ModelNode {
  std::string domain, type, name;
  std::vector<TensorId> inputs, outputs;
  std::vector<std::pair<std::string, std::string>> attributes;  ///< values as JSON
};

/// What a model's file says that its graph does not.
struct ModelFile {
  std::map<std::string, int> opsets;  ///< versions of domains
  std::vector<ModelNode> nodes;       ///< of the main graph
};

/// What an Ir is a view of. The graphs share their weights' bytes with the session's.
struct IrSource {
  halftone::Graph model;      ///< as it was read and placed
  halftone::Graph rewritten;  ///< the same after patterns
  halftone::Graph graph;      ///< with gradients, updates and places; the model in inference
  std::string bytes;          ///< of the model, or its file's name
  DataFlow dataFlow;
  SessionOptions options;
  Patterns patterns;
  InputShapeInfo inputShapeInfo;
  std::shared_ptr<DeviceInfo> device;
  std::shared_ptr<const Optimizer> optimizer{};  ///< null: inference
  TensorId loss{};
  std::string name{};
  std::vector<TensorId> inputs{};  ///< of the model

  bool isTraining() const { return optimizer != nullptr; }
  /// Reads the file when it is asked for.
  const ModelFile& file() const;
  mutable std::unique_ptr<const ModelFile> read_file{};  ///< what file() returned before
};

/// The points at which PopART writes DOT files; all but the last one before in-place forms are found.
enum class IrPoint { Fwd0, Fwd1, Bwd0, PreAlias, MainLoops, Final };

using Graphs = std::map<GraphId, std::unique_ptr<popart::Graph>>;

/// The graphs of an Ir at a point; the main one has the id GraphId::root().
Graphs viewOf(Ir& ir, const IrSource& source, IrPoint point);

/// An Ir of a session; finds the inputs and operator sets of the model, and writes the DOT files that are
/// asked for.
std::shared_ptr<Ir> makeIr(IrSource source);

/// Writes DOT files for each of these points that the options or POPART_DOT_CHECKS ask for. Throws
/// popart::error if a file cannot be written, or for a range of operators that is empty.
void writeDots(const IrSource& source, std::initializer_list<IrPoint> points);
void writeDot(const std::vector<Op*>& schedule, const SessionOptions& options,
              const std::string& check);

}  // namespace popart::detail
