#include <popart/tensornames.hpp>

#include <popart/error.hpp>

namespace popart {

namespace {

TensorId withoutPrefix(const TensorId& id, const std::string& prefix) {
  if (id.compare(0, prefix.size(), prefix) == 0) return id.substr(prefix.size());
  throw error("Tensor {} does not begin with {}", id, prefix);
}

}  // namespace

TensorId getGradId(const TensorId& id) { return reservedGradientPrefix() + id; }
TensorId getNonGradId(const TensorId& gradient) {
  return withoutPrefix(gradient, reservedGradientPrefix());
}
TensorId getEdgeGradId(OpId op, int index) {
  return reservedGradientPrefix() + std::to_string(op) + '_' + std::to_string(index);
}
bool isGradId(const TensorId& id) { return id.find(reservedGradientPrefix()) == 0; }
TensorId getUpdatedVarId(const TensorId& id) { return reservedUpdatedVarPrefix() + id; }
TensorId getRemoteArgTensorId(const TensorId& id) { return reservedRemoteArgPrefix() + id; }
TensorId getNonRemoteArgTensorId(const TensorId& id) {
  return withoutPrefix(id, reservedRemoteArgPrefix());
}

std::vector<std::string> reservedOptimizerPrefixes() {
  std::vector<std::string> prefixes{reservedLossScalingPrefix()};
#define POPART_BOTH(function)                                 \
  prefixes.emplace_back(reservedDefault##function##Prefix()); \
  prefixes.emplace_back(reservedSpecific##function##Prefix());
  POPART_BOTH(WeightDecayScaleFactor0)
  POPART_BOTH(ScaledLearningRate0)
  POPART_BOTH(ScaledWeightDecay1)
  POPART_BOTH(ScaledLearningRate1)
  POPART_BOTH(ScaledLearningRate2)
  POPART_BOTH(DampeningScaleFactor1)
  POPART_BOTH(DampeningScaleFactor2)
  POPART_BOTH(ScaledMomentum1)
  POPART_BOTH(ScaledMomentum2)
  POPART_BOTH(SGDMomentum)
  POPART_BOTH(SGDWeightDecay)
  POPART_BOTH(NesterovGradScaleFactor1)
  POPART_BOTH(NesterovGradScaleFactor2)
  POPART_BOTH(NesterovDampeningScaleFactor1)
  POPART_BOTH(NesterovDampeningScaleFactor2)
  POPART_BOTH(LearningRate)
  POPART_BOTH(WeightDecay)
  POPART_BOTH(LossScaling)
  POPART_BOTH(MaxWeightNorm)
  POPART_BOTH(AdamBeta1)
  POPART_BOTH(AdamBeta2)
  POPART_BOTH(AdamEps)
  POPART_BOTH(AdamGradientScaling)
  POPART_BOTH(AdaptiveAlpha)
  POPART_BOTH(AdaptiveMomentum)
  POPART_BOTH(AdaptiveEps)
  POPART_BOTH(AdaptiveGradientScaling)
#undef POPART_BOTH
  return prefixes;
}
std::vector<std::string> reservedOptimizerStatePrefixes() {
  return {reservedAccl1Prefix(), reservedAccl2Prefix(), reservedAccl3Prefix(),
          reservedStepPrefix(),  reservedAcclPrefix(),  reservedPreviousLossScalingPrefix()};
}
std::vector<std::string> reservedAccumulatorPrefixes() {
  return {reservedAccumPrefix(), reservedAcclPrefix(), reservedCounterPrefix()};
}
std::vector<std::string> reservedPrefixes() {
  std::vector<std::string> prefixes{reservedGradientPrefix(),
                                    reservedUpdatedVarPrefix(),
                                    reservedFinalReducedGradPrefix(),
                                    reservedAdamUpdaterPrefix(),
                                    reservedAdaptiveUpdaterPrefix(),
                                    reservedLambR1SqPrefix(),
                                    reservedLambR2SqPrefix(),
                                    reservedRestoredPrefix(),
                                    reservedStashedPrefix(),
                                    reservedRemoteArgPrefix(),
                                    reservedInitPrefix(),
                                    reservedIndexPrefix(),
                                    reservedLoopIteratorPrefix(),
                                    reservedLoopCondPrefix(),
                                    reservedConstValuePrefix(),
                                    reservedConcatInitPrefix(),
                                    reservedRandomSeedPrefix(),
                                    reservedLossScalingRatioPrefix()};
  for (const auto& more : {reservedOptimizerPrefixes(), reservedOptimizerStatePrefixes(),
                           reservedAccumulatorPrefixes()}) {
    prefixes.insert(prefixes.end(), more.begin(), more.end());
  }
  return prefixes;
}

TensorId stripAllReservedPrefixes(TensorId id) {
  const std::vector<std::string> prefixes = reservedPrefixes();
  for (bool isStripped = true; isStripped;) {
    isStripped = false;
    for (const std::string& prefix : prefixes) {
      if (id.compare(0, prefix.size(), prefix) != 0) continue;
      id.erase(0, prefix.size());
      isStripped = true;
    }
  }
  return id;
}

}  // namespace popart
