#pragma once

#include <iosfwd>
#include <string>

namespace popart {

/// The name of a graph; the main graph's is empty.
class GraphId {
 public:
  GraphId() = delete;
  GraphId(const std::string& name) : id_(name) {}

  static const GraphId& root();
  const std::string& str() const { return id_; }
  bool operator==(const GraphId& other) const { return id_ == other.id_; }
  bool operator!=(const GraphId& other) const { return id_ != other.id_; }
  bool operator<(const GraphId& other) const { return id_ < other.id_; }

 private:
  std::string id_;
};

std::ostream& operator<<(std::ostream& stream, const GraphId& id);

}  // namespace popart
