#pragma once

#include <memory>
#include <string>
#include <vector>

#include <popart/names.hpp>

namespace popart {

/// Changes models before a session is made of them.
class GraphTransformer {
 public:
  /// A file's name or the model itself. Throws popart::error.
  explicit GraphTransformer(const std::string& model);
  ~GraphTransformer();
  std::string getModelProto() const;

  // These convert inputs, outputs, initializers, constants and what nodes Cast convert to.
  void convertFloatsToHalfs();
  void convertDoublesToFloats();
  void convertDoublesToHalfs();
  void convertBFloats16ToFloat32();
  void convertUINT8ToINT32();
  void convertUINT16ToINT32();
  void convertINT8ToINT32();
  void convertINT16ToINT32();
  /// Numbers that 32 bits do not hold are an error, or become the nearest one.
  void convertINT64ToINT32(bool clip = false);

  /// Initializers become nodes Constant, which no training changes. Throws popart::error for others.
  void convertInitializersToConstants(const std::vector<TensorId>& ids);
  /// The same with all initializers that are not floating point.
  void convertAllFixedPointInitializersToConstants();
  /// Removes inputs, and initializers of them, that no node reads.
  void removeUnusedInputs();
  /// Gives nodes BatchNormalization the outputs that they have in training.
  void prepareNodesForTraining();
  /// Moves the data of initializers to a file; see Builder::saveInitializersExternally.
  void saveInitializersExternally(const std::vector<TensorId>& ids, const std::string& file);

 private:
  struct Model;
  std::unique_ptr<Model> model_;
};

}  // namespace popart
