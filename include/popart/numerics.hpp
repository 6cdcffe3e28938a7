#pragma once

#include <cmath>
#include <map>
#include <sstream>
#include <string>

#include <popart/names.hpp>

namespace popart::numerics {

/// How far the updates of two models that start alike are apart.
class NumericsReport {
 public:
  /// Files of models: A before and after its training, and B. Throws popart::error unless all have the
  /// same initializers.
  NumericsReport(std::string aStarts, std::string aEnds, std::string bStarts, std::string bEnds);

  /// Throws popart::error for an initializer that there is not.
  std::string report(TensorId id) const;
  std::string fullReport() const;
  std::map<TensorId, float> getRelativeErrors() const { return errors_; }

 private:
  std::map<TensorId, std::string> reports_;
  std::map<TensorId, float> errors_;
};

/// Sums of squares of the changes of two models' numbers, and of the differences between the changes.
template <class T>
class NumericsTracker {
 public:
  void insert(T aStarts, T aEnds, T bStarts, T bEnds) {
    const T a = aEnds - aStarts, b = bEnds - bStarts;
    a_ += a * a;
    b_ += b * b;
    difference_ += (a - b) * (a - b);
  }
  T getRelativeError() const { return difference_ / (std::sqrt(a_ * b_) + static_cast<T>(1e-8)); }
  std::string str() const {
    std::stringstream text;
    text.precision(16);
    text << "|dA - dB|^2 / (|dA||dB| + 1e-8)  = " << getRelativeError()
         << "  and  |dA||dB| = " << std::sqrt(a_ * b_) << "  and  |dA| = " << std::sqrt(a_)
         << "  and  |dB| = " << std::sqrt(b_);
    return text.str();
  }

 private:
  T a_{0}, b_{0}, difference_{0};
};

}  // namespace popart::numerics
