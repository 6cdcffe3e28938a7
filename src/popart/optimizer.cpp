#include <popart/adam.hpp>
#include <popart/adaptive.hpp>
#include <popart/sgd.hpp>

#include <algorithm>
#include <set>

#include "popart/convert.hpp"
#include "popart/training.hpp"

namespace popart {

runtime_error optimizer_replacement_error(const std::string& what) {
  return runtime_error("New optimizer is not a valid replacement. {}", what);
}

// --- values
// ----------------------------------------------------------------------------------------

OptimizerValue OptimizerValueMap::get(const TensorId& id) const {
  const auto found = specifics_.find(id);
  return found == specifics_.end() ? default_ : found->second;
}

void OptimizerValueMap::insertSpecific(const TensorId& id, OptimizerValue value) {
  if (!specifics_.emplace(id, value).second) {
    throw error("There is already a specific value for {}", id);
  }
}

void OptimizerValueMap::validReplacement(const OptimizerValueMap& rhs) const {
  if (!default_.validReplacement(rhs.default_)) {
    throw optimizer_replacement_error("The default value is constant, or was not before");
  }
  if (specifics_.size() != rhs.specifics_.size()) {
    throw optimizer_replacement_error("Other weights have specific values");
  }
  for (const auto& [id, value] : specifics_) {
    const auto other = rhs.specifics_.find(id);
    if (other == rhs.specifics_.end()) {
      throw optimizer_replacement_error("There is no specific value for " + id);
    }
    if (!value.validReplacement(other->second)) {
      throw optimizer_replacement_error("The value for " + id + " is constant, or was not before");
    }
  }
}

namespace {

DataType stateType(const char* name, DataType type) {
  if (type == DataType::FLOAT || type == DataType::FLOAT16 || type == DataType::UNDEFINED) {
    return type;
  }
  throw error("{} of an optimizer must be FLOAT, FLOAT16 or UNDEFINED, not {}", name,
              getDataTypeInfoMap().at(type).name());
}

}  // namespace

// --- optimizers
// ------------------------------------------------------------------------------------

Optimizer::Optimizer(OptimizerValue lossScaling, const std::vector<ClipNormSettings>& clip,
                     std::map<std::string, OptimizerValueMap> values)
    : lossScaling_(lossScaling), clipNorm_(clip), values_(std::move(values)) {
  const auto all = std::count_if(clip.begin(), clip.end(), [](const ClipNormSettings& c) {
    return c.getMode() == ClipNormSettings::Mode::ClipAllWeights;
  });
  if (all > 0 && clip.size() > 1) {
    throw error("Clipping all weights cannot be combined with another group of weights");
  }
  if (lossScaling.val() <= 0) throw error("Non-positive loss scaling ({})", lossScaling.val());
}
Optimizer::~Optimizer() = default;

bool Optimizer::hasSpecific(const TensorId& id) const {
  return values_.begin()->second.hasSpecific(id);
}
bool Optimizer::hasSpecific() const { return values_.begin()->second.hasSpecific(); }

void Optimizer::validReplacement(const Optimizer& other) const {
  same(clipNorm_ == other.clipNorm_, "The clip norm settings differ");
  same(type() == other.type(), "The types differ");
  if (!lossScaling_.validReplacement(other.lossScaling_)) {
    throw optimizer_replacement_error("Problem with loss scaling. It is constant, or was not");
  }
  for (const auto& [name, map] : values_) {
    try {
      map.validReplacement(other.values_.at(name));
    } catch (const error& e) {
      throw optimizer_replacement_error("Problem with " + name + ". " + e.what());
    }
  }
}

void Optimizer::same(bool isSame, const char* what) {
  if (!isSame) throw optimizer_replacement_error(what);
}

OptimizerValue Optimizer::from(const Params& params, const std::string& key,
                               OptimizerValue otherwise) {
  const auto found = params.find(key);
  return found == params.end() ? otherwise : OptimizerValue(found->second);
}

void Optimizer::checkKeys(const Params& params, std::initializer_list<const char*> keys) {
  for (const auto& [key, value] : params) {
    const auto isKey = [&](const char* known) { return key == known; };
    if (std::none_of(keys.begin(), keys.end(), isKey)) throw error("Invalid key {}", key);
  }
}

void Optimizer::insert(const TensorId& weight, const Params& params) {
  for (const auto& [key, value] : params) {
    if (values_.count(key) == 0) throw error("Invalid key {} for weight {}", key, weight);
  }
  if (hasSpecific(weight)) throw error("There are already specific values for {}", weight);
  for (auto& [name, map] : values_) {
    map.insertSpecific(weight, from(params, name, map.getDefault()));
  }
  checkValues();
}

void Optimizer::atLeast(const std::string& name, float least, bool orMore) const {
  const auto check = [&](OptimizerValue v) {
    if (v.val() < least || (!orMore && v.val() == least) || v.val() != v.val()) {
      throw error("{} {} ({}) in optimizer", orMore ? "Negative" : "Non-positive", name, v.val());
    }
  };
  check(value(name).getDefault());
  for (const auto& [id, v] : value(name).getSpecifics()) check(v);
}

void Optimizer::notConstantZero(const std::string& name) const {
  const auto check = [&](OptimizerValue v) {
    if (v.isConst() && v.val() == 0) throw error("Constant, zero {} in optimizer", name);
  };
  check(value(name).getDefault());
  for (const auto& [id, v] : value(name).getSpecifics()) check(v);
}

// --- SGD
// -------------------------------------------------------------------------------------------

SGD::SGD(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
         OptimizerValue defaultMomentum, OptimizerValue defaultDampening,
         OptimizerValue defaultVelocityScaling, OptimizerValue lossScaling,
         OptimizerValue nesterovValue, const std::vector<ClipNormSettings>& clipNormSettings,
         SGDAccumulatorAndMomentum sgdAccMm, DataType accumType, DataType accl1Type,
         const DebugContext&)
    : Optimizer(lossScaling, clipNormSettings,
                {{"learningRate", defaultLearningRate},
                 {"weightDecay", defaultWeightDecay},
                 {"momentum", defaultMomentum},
                 {"dampening", defaultDampening},
                 {"velocityScaling", defaultVelocityScaling},
                 {"nesterov", nesterovValue}}),
      sgdAccMm_(sgdAccMm),
      accumType_(stateType("accumType", accumType)),
      accl1Type_(stateType("accl1Type", accl1Type)) {
  SGD::checkValues();
}
SGD::SGD(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
         OptimizerValue defaultMomentum, OptimizerValue defaultDampening,
         OptimizerValue defaultVelocityScaling, OptimizerValue lossScaling,
         const std::vector<ClipNormSettings>& clipNormSettings, SGDAccumulatorAndMomentum sgdAccMm,
         DataType accumType, DataType accl1Type, const DebugContext& debugContext)
    : SGD(defaultLearningRate, defaultWeightDecay, defaultMomentum, defaultDampening,
          defaultVelocityScaling, lossScaling, getUnsetNesterov(), clipNormSettings, sgdAccMm,
          accumType, accl1Type, debugContext) {}
SGD::SGD(const std::map<std::string, std::pair<float, bool>>& params,
         const std::vector<ClipNormSettings>& clipNormSettings, SGDAccumulatorAndMomentum sgdAccMm,
         DataType accumType, DataType accl1Type, const DebugContext& debugContext)
    : SGD(from(params, "defaultLearningRate", getUnsetLearningRate()),
          from(params, "defaultWeightDecay", getUnsetWeightDecay()),
          from(params, "defaultMomentum", getUnsetMomentum()),
          from(params, "defaultDampening", getUnsetDampening()),
          from(params, "defaultVelocityScaling", getUnsetVelocityScaling()),
          from(params, "lossScaling", getUnsetLossScaling()),
          from(params, "nesterov", getUnsetNesterov()), clipNormSettings, sgdAccMm, accumType,
          accl1Type, debugContext) {
  checkKeys(params, {"defaultLearningRate", "defaultWeightDecay", "defaultMomentum",
                     "defaultDampening", "defaultVelocityScaling", "lossScaling", "nesterov"});
}

void SGD::insertSpecific(const TensorId& weight, OptimizerValue learningRate,
                         OptimizerValue weightDecay, OptimizerValue momentum,
                         OptimizerValue dampening, OptimizerValue velocityScaling,
                         OptimizerValue nesterovValue) {
  const auto pair = [](OptimizerValue v) { return std::pair(v.val(), v.isConst()); };
  insert(weight, {{"learningRate", pair(learningRate)},
                  {"weightDecay", pair(weightDecay)},
                  {"momentum", pair(momentum)},
                  {"dampening", pair(dampening)},
                  {"velocityScaling", pair(velocityScaling)},
                  {"nesterov", pair(nesterovValue)}});
}
void SGD::insertSpecific(const TensorId& weight,
                         const std::map<std::string, std::pair<float, bool>>& params) {
  insert(weight, params);
}

void SGD::checkValues() const {
  atLeast("learningRate", 0);
  notConstantZero("learningRate");
  atLeast("weightDecay", 0);
  atLeast("momentum", 0);
  atLeast("dampening", 0);
  atLeast("velocityScaling", 0, false);
  if (nesterov().getDefault().val() != 0 && dampenings().getDefault().val() > 0) {
    throw error("Nesterov momentum requires zero dampening");
  }
  for (const auto& [id, v] : nesterov().getSpecifics()) {
    if (v.val() != 0 && dampenings().get(id).val() > 0) {
      throw error("Nesterov momentum requires zero dampening");
    }
  }
}

void SGD::validReplacement(const Optimizer& other) const {
  Optimizer::validReplacement(other);
  const auto& sgd = static_cast<const SGD&>(other);
  same(sgd.sgdAccMm_ == sgdAccMm_, "The forms of accumulator and momentum differ");
  same(sgd.accumType_ == accumType_ && sgd.accl1Type_ == accl1Type_, "The types of state differ");
  // That both have specific values for the same weights was checked above.
  bool isSame = nesterov().getDefault().val() == sgd.nesterov().getDefault().val();
  for (const auto& [id, v] : nesterov().getSpecifics()) {
    isSame = isSame && v.val() == sgd.nesterov().get(id).val();
  }
  same(isSame, "Problem with nesterov. It differs");
}

// --- Adam
// ------------------------------------------------------------------------------------------

Adam::Adam(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
           OptimizerValue defaultBeta1, OptimizerValue defaultBeta2, OptimizerValue defaultEps,
           OptimizerValue lossScaling, OptimizerValue maxWeightNorm, AdamMode adamMode,
           WeightDecayMode weightDecayMode, DataType accumType, DataType accl1Type,
           DataType accl2Type, const std::vector<ClipNormSettings>& clipNormSettings,
           bool scaledOptimizerState, const DebugContext&)
    : Optimizer(lossScaling, clipNormSettings,
                {{"learningRate", defaultLearningRate},
                 {"weightDecay", defaultWeightDecay},
                 {"beta1", defaultBeta1},
                 {"beta2", defaultBeta2},
                 {"eps", defaultEps},
                 {"maxWeightNorm", maxWeightNorm}}),
      mode_(adamMode),
      decayMode_(weightDecayMode),
      accumType_(stateType("accumType", accumType)),
      accl1Type_(stateType("accl1Type", accl1Type)),
      accl2Type_(stateType("accl2Type", accl2Type)),
      scaledOptimizerState_(scaledOptimizerState) {
  Adam::checkValues();
}
Adam::Adam(OptimizerValue lr, OptimizerValue wd, OptimizerValue b1, OptimizerValue b2,
           OptimizerValue eps, OptimizerValue lossScaling, AdamMode adamMode,
           WeightDecayMode weightDecayMode, DataType accumType, DataType accl1Type,
           DataType accl2Type, const std::vector<ClipNormSettings>& clip, bool scaledState,
           const DebugContext& debugContext)
    : Adam(lr, wd, b1, b2, eps, lossScaling, getUnsetMaxWeightNorm(), adamMode, weightDecayMode,
           accumType, accl1Type, accl2Type, clip, scaledState, debugContext) {}
Adam::Adam(OptimizerValue lr, OptimizerValue wd, OptimizerValue b1, OptimizerValue b2,
           OptimizerValue eps, OptimizerValue lossScaling, OptimizerValue maxWeightNorm,
           AdamMode adamMode, DataType accumType, DataType accl1Type, DataType accl2Type,
           const std::vector<ClipNormSettings>& clip, bool scaledState,
           const DebugContext& debugContext)
    : Adam(lr, wd, b1, b2, eps, lossScaling, maxWeightNorm, adamMode, WeightDecayMode::Decay,
           accumType, accl1Type, accl2Type, clip, scaledState, debugContext) {}
Adam::Adam(OptimizerValue lr, OptimizerValue wd, OptimizerValue b1, OptimizerValue b2,
           OptimizerValue eps, OptimizerValue lossScaling, AdamMode adamMode, DataType accumType,
           DataType accl1Type, DataType accl2Type, const std::vector<ClipNormSettings>& clip,
           bool scaledState, const DebugContext& debugContext)
    : Adam(lr, wd, b1, b2, eps, lossScaling, getUnsetMaxWeightNorm(), adamMode,
           WeightDecayMode::Decay, accumType, accl1Type, accl2Type, clip, scaledState,
           debugContext) {}
Adam::Adam(const std::map<std::string, std::pair<float, bool>>& params, AdamMode adamMode,
           WeightDecayMode weightDecayMode, DataType accumType, DataType accl1Type,
           DataType accl2Type, const std::vector<ClipNormSettings>& clip, bool scaledState,
           const DebugContext& debugContext)
    : Adam(from(params, "defaultLearningRate", getUnsetLearningRate()),
           from(params, "defaultWeightDecay", getUnsetWeightDecay()),
           from(params, "defaultBeta1", getUnsetBeta1()),
           from(params, "defaultBeta2", getUnsetBeta2()), from(params, "defaultEps", getUnsetEps()),
           from(params, "lossScaling", getUnsetLossScaling()),
           from(params, "defaultMaxWeightNorm",
                from(params, "maxWeightNorm", getUnsetMaxWeightNorm())),
           adamMode, weightDecayMode, accumType, accl1Type, accl2Type, clip, scaledState,
           debugContext) {
  checkKeys(params, {"defaultLearningRate", "defaultWeightDecay", "defaultBeta1", "defaultBeta2",
                     "defaultEps", "lossScaling", "defaultMaxWeightNorm", "maxWeightNorm"});
}
Adam::Adam(const std::map<std::string, std::pair<float, bool>>& params, AdamMode adamMode,
           DataType accumType, DataType accl1Type, DataType accl2Type,
           const std::vector<ClipNormSettings>& clip, bool scaledState,
           const DebugContext& debugContext)
    : Adam(params, adamMode, WeightDecayMode::Decay, accumType, accl1Type, accl2Type, clip,
           scaledState, debugContext) {}

void Adam::insertSpecific(const TensorId& weight, OptimizerValue learningRate,
                          OptimizerValue weightDecay, OptimizerValue beta1, OptimizerValue beta2,
                          OptimizerValue eps, OptimizerValue maxWeightNorm) {
  const auto pair = [](OptimizerValue v) { return std::pair(v.val(), v.isConst()); };
  insert(weight, {{"learningRate", pair(learningRate)},
                  {"weightDecay", pair(weightDecay)},
                  {"beta1", pair(beta1)},
                  {"beta2", pair(beta2)},
                  {"eps", pair(eps)},
                  {"maxWeightNorm", pair(maxWeightNorm)}});
}
void Adam::insertSpecific(const TensorId& weight,
                          const std::map<std::string, std::pair<float, bool>>& params) {
  insert(weight, params);
}

void Adam::checkValues() const {
  atLeast("learningRate", 0);
  notConstantZero("learningRate");
  atLeast("weightDecay", 0);
  atLeast("beta1", 0);
  atLeast("beta2", 0);
  atLeast("eps", 0, false);
  atLeast("maxWeightNorm", 0);
}

void Adam::validReplacement(const Optimizer& other) const {
  Optimizer::validReplacement(other);
  const auto& adam = static_cast<const Adam&>(other);
  same(adam.mode_ == mode_, "The modes differ");
  same(adam.decayMode_ == decayMode_, "The weight decay modes differ");
  same(adam.scaledOptimizerState_ == scaledOptimizerState_, "The scaling of state differs");
}

// --- Adaptive
// --------------------------------------------------------------------------------------

Adaptive::Adaptive(OptimizerValue defaultLearningRate, OptimizerValue defaultWeightDecay,
                   OptimizerValue defaultAlpha, OptimizerValue defaultMomentum,
                   OptimizerValue defaultEps, OptimizerValue lossScaling, AdaptiveMode mode,
                   WeightDecayMode weightDecayMode, DataType accumType, DataType accl1Type,
                   DataType accl2Type, DataType accl3Type, bool rmspropTFVariant,
                   const DebugContext&)
    : Optimizer(lossScaling, {},
                {{"learningRate", defaultLearningRate},
                 {"weightDecay", defaultWeightDecay},
                 {"alpha", defaultAlpha},
                 {"momentum", defaultMomentum},
                 {"eps", defaultEps}}),
      mode_(mode),
      decayMode_(weightDecayMode),
      accumType_(stateType("accumType", accumType)),
      accl1Type_(stateType("accl1Type", accl1Type)),
      accl2Type_(stateType("accl2Type", accl2Type)),
      accl3Type_(stateType("accl3Type", accl3Type)),
      tfVariant_(rmspropTFVariant) {
  if (tfVariant_ && mode != AdaptiveMode::RMSProp && mode != AdaptiveMode::CenteredRMSProp) {
    throw error("rmspropTFVariant is for RMSProp and CenteredRMSProp only");
  }
  Adaptive::checkValues();
}
Adaptive::Adaptive(const std::map<std::string, std::pair<float, bool>>& params, AdaptiveMode mode,
                   WeightDecayMode weightDecayMode, DataType accumType, DataType accl1Type,
                   DataType accl2Type, DataType accl3Type, bool rmspropTFVariant,
                   const DebugContext& debugContext)
    : Adaptive(from(params, "defaultLearningRate", getUnsetLearningRate()),
               from(params, "defaultWeightDecay", getUnsetWeightDecay()),
               from(params, "defaultAlpha", getUnsetAlpha()),
               from(params, "defaultMomentum", getUnsetMomentum()),
               from(params, "defaultEps", getUnsetEps()),
               from(params, "lossScaling", getUnsetLossScaling()), mode, weightDecayMode, accumType,
               accl1Type, accl2Type, accl3Type, rmspropTFVariant, debugContext) {
  checkKeys(params, {"defaultLearningRate", "defaultWeightDecay", "defaultAlpha", "defaultMomentum",
                     "defaultEps", "lossScaling"});
}

void Adaptive::insertSpecific(const TensorId& weight, OptimizerValue learningRate,
                              OptimizerValue weightDecay, OptimizerValue alpha,
                              OptimizerValue momentum, OptimizerValue eps) {
  const auto pair = [](OptimizerValue v) { return std::pair(v.val(), v.isConst()); };
  insert(weight, {{"learningRate", pair(learningRate)},
                  {"weightDecay", pair(weightDecay)},
                  {"alpha", pair(alpha)},
                  {"momentum", pair(momentum)},
                  {"eps", pair(eps)}});
}
void Adaptive::insertSpecific(const TensorId& weight,
                              const std::map<std::string, std::pair<float, bool>>& params) {
  insert(weight, params);
}

void Adaptive::checkValues() const {
  atLeast("learningRate", 0);
  notConstantZero("learningRate");
  atLeast("weightDecay", 0);
  atLeast("alpha", 0);
  atLeast("momentum", 0);
  atLeast("eps", 0, false);
}

void Adaptive::validReplacement(const Optimizer& other) const {
  Optimizer::validReplacement(other);
  const auto& adaptive = static_cast<const Adaptive&>(other);
  same(adaptive.mode_ == mode_, "The modes differ");
  same(adaptive.decayMode_ == decayMode_, "The weight decay modes differ");
  same(adaptive.tfVariant_ == tfVariant_, "The variants of RMSProp differ");
}

// --- as the library has them
// -----------------------------------------------------------------------

namespace {

struct NativeName {
  const char *here, *there;
};
constexpr NativeName nativeNames[] = {{"learningRate", "learning_rate"},
                                      {"weightDecay", "weight_decay"},
                                      {"momentum", "momentum"},
                                      {"dampening", "dampening"},
                                      {"velocityScaling", "velocity_scaling"},
                                      {"beta1", "beta1"},
                                      {"beta2", "beta2"},
                                      {"eps", "epsilon"},
                                      {"maxWeightNorm", "max_weight_norm"},
                                      {"alpha", "alpha"}};

halftone::Hyperparameter hyperparameter(OptimizerValue v) {
  return v.isConst() ? halftone::Hyperparameter(v.val())
                     : halftone::Hyperparameter(halftone::variable{v.val()});
}
halftone::WeightDecay weightDecay(WeightDecayMode mode) {
  return mode == WeightDecayMode::Decay ? halftone::WeightDecay::decay : halftone::WeightDecay::l2;
}

halftone::Training record(halftone::Graph& graph, halftone::AnyTensor loss, const SGD& sgd,
                          halftone::TrainOptions options) {
  // The combined form has one tensor for both, of the weight's type.
  if (sgd.getSGDAccumulatorAndMomentum() == SGDAccumulatorAndMomentum::Separate) {
    options.state_types.sum = detail::toNative(sgd.accumType());
    options.state_types.first = detail::toNative(sgd.accl1Type());
  }
  for (halftone::Specific& specific : options.specific) {
    const bool isNesterov = sgd.nesterov().get(specific.weight).val() != 0;
    specific.values.emplace_back("nesterov", isNesterov ? 1.f : 0.f);
  }
  return train(
      graph, loss,
      halftone::Sgd{
          .learning_rate = hyperparameter(sgd.learningRates().getDefault()),
          .momentum = hyperparameter(sgd.momentums().getDefault()),
          .dampening = hyperparameter(sgd.dampenings().getDefault()),
          .weight_decay = hyperparameter(sgd.weightDecays().getDefault()),
          .velocity_scaling = hyperparameter(sgd.velocityScalings().getDefault()),
          .loss_scaling = hyperparameter(sgd.lossScaling()),
          .nesterov = sgd.nesterov().getDefault().val() != 0,
          .combined = sgd.getSGDAccumulatorAndMomentum() == SGDAccumulatorAndMomentum::Combined},
      options);
}

halftone::Training record(halftone::Graph& graph, halftone::AnyTensor loss, const Adam& adam,
                          halftone::TrainOptions options) {
  options.state_types.sum = detail::toNative(adam.accumType());
  options.state_types.first = detail::toNative(adam.accl1Type());
  options.state_types.second = detail::toNative(adam.accl2Type());
  const AdamMode mode = adam.getAdamMode();
  return train(graph, loss,
               halftone::Adam{
                   .learning_rate = hyperparameter(adam.learningRates().getDefault()),
                   .beta1 = hyperparameter(adam.beta1s().getDefault()),
                   .beta2 = hyperparameter(adam.beta2s().getDefault()),
                   .epsilon = hyperparameter(adam.epss().getDefault()),
                   .weight_decay = hyperparameter(adam.weightDecays().getDefault()),
                   .loss_scaling = hyperparameter(adam.lossScaling()),
                   .bias_correction = mode != AdamMode::AdamNoBias && mode != AdamMode::LambNoBias,
                   .max = mode == AdamMode::AdaMax,
                   .lamb = mode == AdamMode::Lamb || mode == AdamMode::LambNoBias,
                   .weight_decay_mode = weightDecay(adam.getWeightDecayMode()),
                   .max_weight_norm = hyperparameter(adam.maxWeightNorms().getDefault()),
                   .scaled_optimizer_state = adam.useScaledOptimizerState()},
               options);
}

halftone::Training record(halftone::Graph& graph, halftone::AnyTensor loss, const Adaptive& a,
                          halftone::TrainOptions options) {
  options.state_types.sum = detail::toNative(a.accumType());
  options.state_types.first = detail::toNative(a.accl1Type());
  options.state_types.second = detail::toNative(a.accl2Type());
  options.state_types.third = detail::toNative(a.accl3Type());
  return train(graph, loss,
               halftone::Adaptive{.kind = static_cast<halftone::AdaptiveKind>(a.getAdaptiveMode()),
                                  .learning_rate = hyperparameter(a.learningRates().getDefault()),
                                  .alpha = hyperparameter(a.alphas().getDefault()),
                                  .momentum = hyperparameter(a.momentums().getDefault()),
                                  .epsilon = hyperparameter(a.epss().getDefault()),
                                  .weight_decay = hyperparameter(a.weightDecays().getDefault()),
                                  .loss_scaling = hyperparameter(a.lossScaling()),
                                  .tf_variant = a.usesTFVariant(),
                                  .weight_decay_mode = weightDecay(a.getWeightDecayMode()),
                                  .first = a.usesTFVariant() ? 1.f : 0.f},
               options);
}

}  // namespace

halftone::Training detail::recordTraining(halftone::Graph& graph, halftone::AnyTensor loss,
                                          const Optimizer& optimizer,
                                          halftone::TrainOptions options) {
  for (const ClipNormSettings& clip : optimizer.getClipNormSettings()) {
    const bool isAll = clip.getMode() == ClipNormSettings::Mode::ClipAllWeights;
    if (!isAll && clip.getWeightIds().empty()) continue;
    options.clip_norm.push_back(
        {clip.getMaxNorm(), isAll ? std::vector<std::string>{} : clip.getWeightIds()});
  }
  for (const auto& [id, unused] : optimizer.values().begin()->second.getSpecifics()) {
    halftone::Specific specific{id, {}};
    for (const NativeName& name : nativeNames) {
      const auto found = optimizer.values().find(name.here);
      if (found == optimizer.values().end()) continue;
      specific.values.emplace_back(name.there, hyperparameter(found->second.get(id)));
    }
    options.specific.push_back(std::move(specific));
  }
  // Replicas join sums, and share state, in the type that it is computed in.
  options.state_types.as_weight = graph.replicas == 1;
  switch (optimizer.type()) {
    case OptimizerType::SGD:
      return record(graph, loss, static_cast<const SGD&>(optimizer), options);
    case OptimizerType::Adam:
      return record(graph, loss, static_cast<const Adam&>(optimizer), options);
    case OptimizerType::Adaptive:
      return record(graph, loss, static_cast<const Adaptive&>(optimizer), options);
    case OptimizerType::NTYPES:
      break;
  }
  throw error("An optimizer of type {} is not supported", optimizer.type_s());
}

void detail::setHyperparameters(halftone::Session& session, const Optimizer& optimizer) {
  const auto set = [&](const std::string& name, OptimizerValue v) {
    // What is nothing to the optimizer's mode has no variable.
    if (!v.isConst() && session.has(name)) session.set(name, v.val());
  };
  set("loss_scaling", optimizer.lossScaling());
  for (const NativeName& name : nativeNames) {
    const auto found = optimizer.values().find(name.here);
    if (found == optimizer.values().end()) continue;
    set(name.there, found->second.getDefault());
    for (const auto& [id, v] : found->second.getSpecifics()) {
      set(std::string(name.there) + "___" + id, v);
    }
  }
}

}  // namespace popart
