#pragma once

#include <string>
#include <vector>

#include <popart/names.hpp>

namespace popart {

// The beginnings of names that the machinery gives. Models must not use them for inputs and outputs.
constexpr const char* reservedGradientPrefix() { return "Gradient___"; }
constexpr const char* reservedUpdatedVarPrefix() { return "UpdatedVar___"; }
constexpr const char* reservedFinalReducedGradPrefix() { return "FinalReducedGradient___"; }

constexpr const char* reservedAccumPrefix() { return "Accum___"; }
constexpr const char* reservedAcclPrefix() { return "Accl___"; }
constexpr const char* reservedAccl1Prefix() { return "Accl1___"; }
constexpr const char* reservedAccl2Prefix() { return "Accl2___"; }
constexpr const char* reservedAccl3Prefix() { return "Accl3___"; }
constexpr const char* reservedStepPrefix() { return "Step___"; }
constexpr const char* reservedAcclToAccumulatorPrefix() { return "AcclIntoAccumulator___"; }
constexpr const char* reservedAcclToReducePrefix() { return "AcclIntoReduce___"; }
constexpr const char* reservedAcclToUpdatePrefix() { return "AcclIntoUpdate___"; }
constexpr const char* reservedAcclFinalOutPrefix() { return "AcclOutOfAcclUpdate___"; }
constexpr const char* reservedCounterPrefix() { return "Counter___"; }
constexpr const char* reservedPreviousLossScalingPrefix() { return "PreviousLossScaling_"; }
constexpr const char* reservedLossScaleUpdateFactorId() { return "lossScaleUpdateFactor"; }
constexpr const char* reservedAutomaticLossScalePrefix() { return "autoLossScale_"; }

constexpr const char* reservedAdamUpdaterPrefix() { return "AdamUpdater___"; }
constexpr const char* reservedAdaptiveUpdaterPrefix() { return "AdaptiveUpdater___"; }
constexpr const char* reservedLambR1SqPrefix() { return "LambR1Sq___"; }
constexpr const char* reservedLambR2SqPrefix() { return "LambR2Sq___"; }
constexpr const char* reservedLossScalingRatioPrefix() { return "LossScalingRatio_"; }
constexpr const char* reservedGlobalNormPrefix() { return "GlobalNorm___"; }

constexpr const char* reservedStashedPrefix() { return "Stashed___"; }
constexpr const char* reservedRestoredPrefix() { return "Restored___"; }
constexpr const char* reservedRemoteArgPrefix() { return "RemoteArg___"; }
constexpr const char* reservedInitPrefix() { return "Init___"; }
constexpr const char* reservedIndexPrefix() { return "Index___"; }
constexpr const char* reservedLoopIteratorPrefix() { return "Iterator___"; }
constexpr const char* reservedLoopCondPrefix() { return "LoopCond___"; }
constexpr const char* reservedConstValuePrefix() { return "ConstValue___"; }
constexpr const char* reservedConcatInitPrefix() { return "ConcatInit___"; }
constexpr const char* reservedRandomSeedPrefix() { return "randomSeed___"; }
constexpr const char* reservedSeedModifierPrefix() { return "seedModifier___"; }
constexpr const char* anchorSumPrefix() { return "anchorSum___"; }
constexpr const char* anchorFinalPrefix() { return "anchorFinal___"; }
constexpr const char* cycleCountPrefix() { return "cycleCount___"; }

// Hyperparameters: of all weights, and of one.
#define POPART_HYPERPARAMETER(function, name)                                                \
  constexpr const char* reservedDefault##function##Prefix() { return name "___default___"; } \
  constexpr const char* reservedSpecific##function##Prefix() { return name "___specific___"; }
POPART_HYPERPARAMETER(WeightDecayScaleFactor0, "weightDecayScaleFactor0")
POPART_HYPERPARAMETER(ScaledLearningRate0, "scaledLearningRate0")
POPART_HYPERPARAMETER(ScaledWeightDecay1, "scaledWeightDecay1")
POPART_HYPERPARAMETER(ScaledLearningRate1, "scaledLearningRate1")
POPART_HYPERPARAMETER(ScaledLearningRate2, "scaledLearningRate2")
POPART_HYPERPARAMETER(DampeningScaleFactor1, "dampeningScaleFactor1")
POPART_HYPERPARAMETER(DampeningScaleFactor2, "dampeningScaleFactor2")
POPART_HYPERPARAMETER(ScaledMomentum1, "scaledMomentum1")
POPART_HYPERPARAMETER(ScaledMomentum2, "scaledMomentum2")
POPART_HYPERPARAMETER(SGDMomentum, "sgdMomentum")
POPART_HYPERPARAMETER(SGDWeightDecay, "sgdWeightDecay")
POPART_HYPERPARAMETER(NesterovGradScaleFactor1, "nesterovGradScaleFactor1")
POPART_HYPERPARAMETER(NesterovGradScaleFactor2, "nesterovGradScaleFactor2")
POPART_HYPERPARAMETER(NesterovDampeningScaleFactor1, "nesterovDampeningScaleFactor1")
POPART_HYPERPARAMETER(NesterovDampeningScaleFactor2, "nesterovDampeningScaleFactor2")
POPART_HYPERPARAMETER(LearningRate, "learningRate")
POPART_HYPERPARAMETER(WeightDecay, "weightDecay")
POPART_HYPERPARAMETER(LossScaling, "lossScaling")
POPART_HYPERPARAMETER(MaxWeightNorm, "maxWeightNorm")
POPART_HYPERPARAMETER(AdamBeta1, "adamBeta1")
POPART_HYPERPARAMETER(AdamBeta2, "adamBeta2")
POPART_HYPERPARAMETER(AdamEps, "adamEps")
POPART_HYPERPARAMETER(AdamGradientScaling, "adamGradientScaling")
POPART_HYPERPARAMETER(AdaptiveAlpha, "adaptiveAlpha")
POPART_HYPERPARAMETER(AdaptiveMomentum, "adaptiveMomentum")
POPART_HYPERPARAMETER(AdaptiveEps, "adaptiveEps")
POPART_HYPERPARAMETER(AdaptiveGradientScaling, "adaptiveGradientScaling")
#undef POPART_HYPERPARAMETER
constexpr const char* reservedLossScalingPrefix() { return "lossScaling_"; }

/// The gradient of a tensor, and the tensor of a gradient.
TensorId getGradId(const TensorId& id);
TensorId getNonGradId(const TensorId& gradient);
/// The gradient that one operator gives for its input of that index.
TensorId getEdgeGradId(OpId op, int index);
bool isGradId(const TensorId& id);
/// The value of a variable after its update.
TensorId getUpdatedVarId(const TensorId& id);
TensorId getRemoteArgTensorId(const TensorId& id);
TensorId getNonRemoteArgTensorId(const TensorId& id);

/// Beginnings of hyperparameters, of an optimizer's state, of sums of gradients, and of all.
std::vector<std::string> reservedOptimizerPrefixes();
std::vector<std::string> reservedOptimizerStatePrefixes();
std::vector<std::string> reservedAccumulatorPrefixes();
std::vector<std::string> reservedPrefixes();

/// An id without the reserved prefixes that it begins with.
TensorId stripAllReservedPrefixes(TensorId id);

}  // namespace popart
