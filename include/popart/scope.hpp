#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <popart/names.hpp>

namespace popart {

/// The names of the graphs around a node: empty for the main graph.
class Scope {
 public:
  void pop() { names_.pop_back(); }
  bool empty() const { return names_.empty(); }
  const std::string& getScope(std::size_t level) const { return names_.at(level); }
  const std::vector<std::string>& getScopeNames() const { return names_; }
  std::string str() const;
  bool operator==(const Scope&) const = default;
  friend Scope operator/(Scope scope, const std::string& name) {
    scope.names_.push_back(name);
    return scope;
  }

 private:
  std::vector<std::string> names_;
};

std::ostream& operator<<(std::ostream& stream, const Scope& scope);

/// The id of a tensor inside the graphs of a scope.
TensorId addScope(const Scope& scope, const TensorId& id);

}  // namespace popart
