#pragma once

#include <cstddef>
#include <utility>

namespace popart {

/// A hyperparameter: a number, and whether it stays as it is (is built into the program).
class OptimizerValue {
 public:
  OptimizerValue() = default;
  OptimizerValue(float v) : value_(v) {}
  OptimizerValue(float v, bool c) : value_(v), isConst_(c) {}
  OptimizerValue(std::pair<float, bool> x) : OptimizerValue(x.first, x.second) {}

  float val() const { return value_; }
  bool isConst() const { return isConst_; }
  /// Whether `rhs` may take its place in a session: a constant has to stay what it is.
  bool validReplacement(const OptimizerValue& rhs) const {
    return isConst_ == rhs.isConst_ && (!isConst_ || value_ == rhs.value_);
  }
  bool operator==(const OptimizerValue& rhs) const = default;

 private:
  float value_ = 0;
  bool isConst_ = true;
};

}  // namespace popart
