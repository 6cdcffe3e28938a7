#pragma once

#include <popart/optimizer.hpp>

namespace popart {

enum class AdamMode { Adam = 0, AdamNoBias, Lamb, LambNoBias, AdaMax };

/// Adam and its relatives; see halftone::Adam. State is FLOAT (DOUBLE for weights that are),
/// whatever the types say.
class Adam : public Optimizer {
 public:
  static OptimizerValue getUnsetLearningRate() { return {0.1f, true}; }
  static OptimizerValue getUnsetWeightDecay() { return {0.0f, true}; }
  static OptimizerValue getUnsetBeta1() { return {0.9f, true}; }
  static OptimizerValue getUnsetBeta2() { return {0.999f, true}; }
  static OptimizerValue getUnsetEps() { return {1e-6f, true}; }
  static OptimizerValue getUnsetLossScaling() { return {1.0f, true}; }
  static OptimizerValue getUnsetMaxWeightNorm() { return {10.0f, true}; }

  Adam(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
       OptimizerValue defaultBeta1, OptimizerValue defaultBeta2, OptimizerValue defaultEps,
       OptimizerValue lossScaling, OptimizerValue maxWeightNorm, AdamMode adamMode,
       WeightDecayMode weightDecayMode, DataType accumType, DataType accl1Type, DataType accl2Type,
       const std::vector<ClipNormSettings>& clipNormSettings = {},
       bool scaledOptimizerState = false, const DebugContext& debugContext = {});
  Adam(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
       OptimizerValue defaultBeta1, OptimizerValue defaultBeta2, OptimizerValue defaultEps,
       OptimizerValue lossScaling, AdamMode adamMode, WeightDecayMode weightDecayMode,
       DataType accumType, DataType accl1Type, DataType accl2Type,
       const std::vector<ClipNormSettings>& clipNormSettings = {},
       bool scaledOptimizerState = false, const DebugContext& debugContext = {});
  Adam(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
       OptimizerValue defaultBeta1, OptimizerValue defaultBeta2, OptimizerValue defaultEps,
       OptimizerValue lossScaling, OptimizerValue maxWeightNorm, AdamMode adamMode,
       DataType accumType, DataType accl1Type, DataType accl2Type,
       const std::vector<ClipNormSettings>& clipNormSettings = {},
       bool scaledOptimizerState = false, const DebugContext& debugContext = {});
  Adam(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
       OptimizerValue defaultBeta1, OptimizerValue defaultBeta2, OptimizerValue defaultEps,
       OptimizerValue lossScaling, AdamMode adamMode, DataType accumType, DataType accl1Type,
       DataType accl2Type, const std::vector<ClipNormSettings>& clipNormSettings = {},
       bool scaledOptimizerState = false, const DebugContext& debugContext = {});
  /// Keys: defaultLearningRate, defaultWeightDecay, defaultBeta1, defaultBeta2, defaultEps,
  /// lossScaling, defaultMaxWeightNorm (formerly maxWeightNorm).
  Adam(const std::map<std::string, std::pair<float, bool>>& params, AdamMode adamMode,
       WeightDecayMode weightDecayMode, DataType accumType, DataType accl1Type, DataType accl2Type,
       const std::vector<ClipNormSettings>& clipNormSettings = {},
       bool scaledOptimizerState = false, const DebugContext& debugContext = {});
  Adam(const std::map<std::string, std::pair<float, bool>>& params, AdamMode adamMode,
       DataType accumType, DataType accl1Type, DataType accl2Type,
       const std::vector<ClipNormSettings>& clipNormSettings = {},
       bool scaledOptimizerState = false, const DebugContext& debugContext = {});

  void insertSpecific(const TensorId& weight, OptimizerValue learningRate,
                      OptimizerValue weightDecay, OptimizerValue beta1, OptimizerValue beta2,
                      OptimizerValue eps, OptimizerValue maxWeightNorm);
  void insertSpecific(const TensorId& weight,
                      const std::map<std::string, std::pair<float, bool>>& params);

  void validReplacement(const Optimizer& other) const override;
  OptimizerType type() const override { return OptimizerType::Adam; }
  std::string type_s() const override { return "Adam"; }
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<Adam>(*this); }

  const OptimizerValueMap& learningRates() const { return value("learningRate"); }
  const OptimizerValueMap& weightDecays() const { return value("weightDecay"); }
  const OptimizerValueMap& beta1s() const { return value("beta1"); }
  const OptimizerValueMap& beta2s() const { return value("beta2"); }
  const OptimizerValueMap& epss() const { return value("eps"); }
  const OptimizerValueMap& maxWeightNorms() const { return value("maxWeightNorm"); }
  AdamMode getAdamMode() const { return mode_; }
  WeightDecayMode getWeightDecayMode() const { return decayMode_; }
  bool useScaledOptimizerState() const { return scaledOptimizerState_; }
  DataType accumType() const { return accumType_; }
  DataType accl1Type() const { return accl1Type_; }
  DataType accl2Type() const { return accl2Type_; }

 private:
  void checkValues() const override;
  AdamMode mode_;
  WeightDecayMode decayMode_;
  DataType accumType_, accl1Type_, accl2Type_;
  bool scaledOptimizerState_;
};

}  // namespace popart
