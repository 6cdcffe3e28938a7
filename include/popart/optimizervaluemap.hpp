#pragma once

#include <map>

#include <popart/names.hpp>
#include <popart/optimizervalue.hpp>

namespace popart {

/// A hyperparameter with a default and values for single weights.
class OptimizerValueMap {
 public:
  OptimizerValueMap(OptimizerValue defaultValue) : default_(defaultValue) {}

  OptimizerValue get(const TensorId& id) const;
  const OptimizerValue& getDefault() const { return default_; }
  bool hasSpecific(const TensorId& id) const { return specifics_.count(id) != 0; }
  bool hasSpecific() const { return !specifics_.empty(); }
  /// Throws popart::error if the weight has a value already.
  void insertSpecific(const TensorId& id, OptimizerValue value);
  const std::map<TensorId, OptimizerValue>& getSpecifics() const { return specifics_; }
  /// Throws popart::optimizer_replacement_error's runtime_error unless `rhs` may take its place.
  void validReplacement(const OptimizerValueMap& rhs) const;

 private:
  OptimizerValue default_;
  std::map<TensorId, OptimizerValue> specifics_;
};

}  // namespace popart
