#pragma once

#include <popart/optimizer.hpp>

namespace popart {

/// How gradients are accumulated and velocities kept: in one tensor for each weight, or in two.
enum class SGDAccumulatorAndMomentum { Combined = 0, Separate };

/// Stochastic gradient descent: v = momentum * v + (1 - dampening) * (g + weightDecay * w),
/// w -= learningRate * v; see halftone::Sgd.
///
/// The combined form keeps gradients and velocity in Accl___w, which decays after the weight was
/// updated: it starts with (1 - dampening) * weightDecay * velocityScaling * w, and what momentum and
/// weightDecay become counts one step later. The separate form has Accum___w and Accl1___w, of the
/// types accumType and accl1Type. State of an UNDEFINED type, and that of the combined form, has the
/// weight's type; with several replicas it is FLOAT for weights of FLOAT16, too.
class SGD : public Optimizer {
 public:
  static OptimizerValue getUnsetLearningRate() { return {0.1f, true}; }
  static OptimizerValue getUnsetWeightDecay() { return {0.0f, true}; }
  static OptimizerValue getUnsetMomentum() { return {0.0f, true}; }
  static OptimizerValue getUnsetDampening() { return {0.0f, true}; }
  static OptimizerValue getUnsetVelocityScaling() { return {1.0f, true}; }
  static OptimizerValue getUnsetLossScaling() { return {1.0f, true}; }
  static OptimizerValue getUnsetNesterov() { return {0.0f, true}; }

  SGD(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
      OptimizerValue defaultMomentum, OptimizerValue defaultDampening,
      OptimizerValue defaultVelocityScaling, OptimizerValue lossScaling, OptimizerValue nesterov,
      const std::vector<ClipNormSettings>& clipNormSettings = {},
      SGDAccumulatorAndMomentum sgdAccMm = SGDAccumulatorAndMomentum::Combined,
      DataType accumType = DataType::UNDEFINED, DataType accl1Type = DataType::UNDEFINED,
      const DebugContext& debugContext = {});
  SGD(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
      OptimizerValue defaultMomentum, OptimizerValue defaultDampening,
      OptimizerValue defaultVelocityScaling, OptimizerValue lossScaling,
      const std::vector<ClipNormSettings>& clipNormSettings = {},
      SGDAccumulatorAndMomentum sgdAccMm = SGDAccumulatorAndMomentum::Combined,
      DataType accumType = DataType::UNDEFINED, DataType accl1Type = DataType::UNDEFINED,
      const DebugContext& debugContext = {});
  /// Keys: defaultLearningRate, defaultWeightDecay, defaultMomentum, defaultDampening,
  /// defaultVelocityScaling, lossScaling, nesterov. Throws "Invalid key" for others.
  SGD(const std::map<std::string, std::pair<float, bool>>& params,
      const std::vector<ClipNormSettings>& clipNormSettings = {},
      SGDAccumulatorAndMomentum sgdAccMm = SGDAccumulatorAndMomentum::Combined,
      DataType accumType = DataType::UNDEFINED, DataType accl1Type = DataType::UNDEFINED,
      const DebugContext& debugContext = {});
  SGD() : SGD(std::map<std::string, std::pair<float, bool>>{}) {}

  /// Values for one weight; those that are not given are the defaults of now.
  void insertSpecific(const TensorId& weight, OptimizerValue learningRate,
                      OptimizerValue weightDecay, OptimizerValue momentum, OptimizerValue dampening,
                      OptimizerValue velocityScaling, OptimizerValue nesterov = 0.0f);
  void insertSpecific(const TensorId& weight,
                      const std::map<std::string, std::pair<float, bool>>& params);

  void validReplacement(const Optimizer& other) const override;
  OptimizerType type() const override { return OptimizerType::SGD; }
  std::string type_s() const override { return "SGD"; }
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<SGD>(*this); }

  const OptimizerValueMap& learningRates() const { return value("learningRate"); }
  const OptimizerValueMap& weightDecays() const { return value("weightDecay"); }
  const OptimizerValueMap& momentums() const { return value("momentum"); }
  const OptimizerValueMap& dampenings() const { return value("dampening"); }
  const OptimizerValueMap& velocityScalings() const { return value("velocityScaling"); }
  const OptimizerValueMap& nesterov() const { return value("nesterov"); }
  SGDAccumulatorAndMomentum getSGDAccumulatorAndMomentum() const { return sgdAccMm_; }
  DataType accumType() const { return accumType_; }
  DataType accl1Type() const { return accl1Type_; }

 private:
  void checkValues() const override;
  SGDAccumulatorAndMomentum sgdAccMm_;
  DataType accumType_, accl1Type_;
};

/// SGD without momentum whose numbers are fixed.
class ConstSGD : public SGD {
 public:
  ConstSGD(float learningRate, float weightDecay = 0, float lossScaling = 1,
           const std::vector<ClipNormSettings>& clipNormSettings = {})
      : SGD({learningRate, true}, {weightDecay, true}, getUnsetMomentum(), getUnsetDampening(),
            getUnsetVelocityScaling(), {lossScaling, true}, clipNormSettings) {}
};

}  // namespace popart
