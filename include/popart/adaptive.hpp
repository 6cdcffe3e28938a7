#pragma once

#include <popart/optimizer.hpp>

namespace popart {

enum class AdaptiveMode { AdaGrad = 0, RMSProp, CenteredRMSProp, AdaDelta };

/// AdaGrad, RMSProp and AdaDelta; see halftone::Adaptive. The mean of squares of rmspropTFVariant
/// starts with ones. State is FLOAT (DOUBLE for weights that are), whatever the types say.
class Adaptive : public Optimizer {
 public:
  static OptimizerValue getUnsetLearningRate() { return {0.01f, true}; }
  static OptimizerValue getUnsetWeightDecay() { return {0.0f, true}; }
  static OptimizerValue getUnsetAlpha() { return {0.99f, true}; }
  static OptimizerValue getUnsetMomentum() { return {0.0f, true}; }
  static OptimizerValue getUnsetEps() { return {1e-6f, true}; }
  static OptimizerValue getUnsetLossScaling() { return {1.0f, true}; }

  Adaptive(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
           OptimizerValue defaultAlpha, OptimizerValue defaultMomentum, OptimizerValue defaultEps,
           OptimizerValue lossScaling, AdaptiveMode mode, WeightDecayMode weightDecayMode,
           DataType accumType, DataType accl1Type, DataType accl2Type, DataType accl3Type,
           bool rmspropTFVariant = false, const DebugContext& debugContext = {});
  /// Keys: defaultLearningRate, defaultWeightDecay, defaultAlpha, defaultMomentum, defaultEps,
  /// lossScaling.
  Adaptive(const std::map<std::string, std::pair<float, bool>>& params, AdaptiveMode mode,
           WeightDecayMode weightDecayMode, DataType accumType, DataType accl1Type,
           DataType accl2Type, DataType accl3Type, bool rmspropTFVariant = false,
           const DebugContext& debugContext = {});

  void insertSpecific(const TensorId& weight, OptimizerValue learningRate,
                      OptimizerValue weightDecay, OptimizerValue alpha, OptimizerValue momentum,
                      OptimizerValue eps);
  void insertSpecific(const TensorId& weight,
                      const std::map<std::string, std::pair<float, bool>>& params);

  void validReplacement(const Optimizer& other) const override;
  OptimizerType type() const override { return OptimizerType::Adaptive; }
  std::string type_s() const override { return "Adaptive"; }
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<Adaptive>(*this); }

  const OptimizerValueMap& learningRates() const { return value("learningRate"); }
  const OptimizerValueMap& weightDecays() const { return value("weightDecay"); }
  const OptimizerValueMap& alphas() const { return value("alpha"); }
  const OptimizerValueMap& momentums() const { return value("momentum"); }
  const OptimizerValueMap& epss() const { return value("eps"); }
  AdaptiveMode getAdaptiveMode() const { return mode_; }
  WeightDecayMode getWeightDecayMode() const { return decayMode_; }
  bool usesTFVariant() const { return tfVariant_; }
  DataType accumType() const { return accumType_; }
  DataType accl1Type() const { return accl1Type_; }
  DataType accl2Type() const { return accl2Type_; }
  DataType accl3Type() const { return accl3Type_; }

 private:
  void checkValues() const override;
  AdaptiveMode mode_;
  WeightDecayMode decayMode_;
  DataType accumType_, accl1Type_, accl2Type_, accl3Type_;
  bool tfVariant_;
};

}  // namespace popart
