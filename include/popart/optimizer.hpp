#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <popart/clipnormsettings.hpp>
#include <popart/datatype.hpp>
#include <popart/debugcontext.hpp>
#include <popart/error.hpp>
#include <popart/names.hpp>
#include <popart/optimizervalue.hpp>
#include <popart/optimizervaluemap.hpp>
#include <popart/tensorinfo.hpp>
#include <popart/tensornames.hpp>

namespace popart {

enum class OptimizerType { SGD = 0, Adam, Adaptive, NTYPES };
enum class WeightDecayMode {
  Decay,            ///< a part of the update
  L2Regularization  ///< a part of the gradient
};

/// The error of a new optimizer that may not take the place of the session's.
runtime_error optimizer_replacement_error(const std::string& what);

/// How weights follow from their gradients.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = default;

  /// Throws a runtime_error unless `other` may take its place in a session: the same type, modes,
  /// clipping, constants and weights with values of their own; other numbers where they are not
  /// constant. All hyperparameters are compared, also dampening, which PopART forgets.
  virtual void validReplacement(const Optimizer& other) const;
  virtual OptimizerType type() const = 0;
  virtual std::string type_s() const = 0;
  virtual std::unique_ptr<Optimizer> clone() const = 0;

  const OptimizerValue& lossScaling() const { return lossScaling_; }
  float getLossScalingVal() const { return lossScaling_.val(); }
  float getFinalLossScalingVal() const { return lossScaling_.val(); }
  const std::vector<ClipNormSettings>& getClipNormSettings() const { return clipNorm_; }
  /// Whether a weight has values of its own.
  bool hasSpecific(const TensorId& id) const;
  bool hasSpecific() const;

  /// Every hyperparameter but the loss scaling, by its name in insertSpecific.
  const std::map<std::string, OptimizerValueMap>& values() const { return values_; }

 protected:
  Optimizer(OptimizerValue lossScaling, const std::vector<ClipNormSettings>& clipNormSettings,
            std::map<std::string, OptimizerValueMap> values);

  using Params = std::map<std::string, std::pair<float, bool>>;
  /// The value of a key, or the other one.
  static OptimizerValue from(const Params& params, const std::string& key,
                             OptimizerValue otherwise);
  static void checkKeys(const Params& params, std::initializer_list<const char*> keys);
  const OptimizerValueMap& value(const std::string& name) const { return values_.at(name); }
  void insert(const TensorId& weight, const Params& params);
  /// Throws popart::error for values outside their range.
  virtual void checkValues() const = 0;
  /// For checkValues: every value of a name is at least `least`, or more than it.
  void atLeast(const std::string& name, float least, bool orMore = true) const;
  void notConstantZero(const std::string& name) const;
  static void same(bool isSame, const char* what);

 private:
  OptimizerValue lossScaling_;
  std::vector<ClipNormSettings> clipNorm_;
  std::map<std::string, OptimizerValueMap> values_;
};

}  // namespace popart

// Programs for older versions of PopART have SGD from here.
#include <popart/sgd.hpp>
