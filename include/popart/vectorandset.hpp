#pragma once

#include <set>
#include <string>
#include <vector>

namespace popart {

/// Texts in the order in which they came, and a fast answer to whether one did.
class VectorAndSet {
 public:
  VectorAndSet() = default;
  VectorAndSet(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) insert(text);
  }
  bool contains(const std::string& text) const { return set_.count(text) != 0; }
  const std::vector<std::string>& v() const { return vector_; }
  void insert(const std::string& text) {
    if (set_.insert(text).second) vector_.push_back(text);
  }

 private:
  std::vector<std::string> vector_;
  std::set<std::string> set_;
};

}  // namespace popart
