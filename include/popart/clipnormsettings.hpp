#pragma once

#include <vector>

#include <popart/names.hpp>

namespace popart {

/// Gradients of a group of weights whose norm is bounded.
///
/// PopART's implementation takes the norm of what each optimizer hands to its update: gradients
/// that are still scaled (SGD), velocities (momentum). Here it is that of the gradients as the
/// optimizer gets them: of all micro-batches, without loss scaling.
struct ClipNormSettings {
  enum class Mode { ClipSpecifiedWeights, ClipAllWeights };

  /// Deprecated: clipWeights says what it means.
  ClipNormSettings(const std::vector<TensorId>& weightIds_, float maxNorm_)
      : weightIds(weightIds_), maxNorm(maxNorm_) {}
  static ClipNormSettings clipWeights(const std::vector<TensorId>& weightIds_, float maxNorm_) {
    return {weightIds_, maxNorm_};
  }
  static ClipNormSettings clipAllWeights(float maxNorm_) {
    ClipNormSettings settings({}, maxNorm_);
    settings.mode = Mode::ClipAllWeights;
    return settings;
  }

  const std::vector<TensorId>& getWeightIds() const { return weightIds; }
  float getMaxNorm() const { return maxNorm; }
  Mode getMode() const { return mode; }
  bool operator==(const ClipNormSettings&) const = default;

  std::vector<TensorId> weightIds;
  float maxNorm;
  Mode mode = Mode::ClipSpecifiedWeights;
};

}  // namespace popart
