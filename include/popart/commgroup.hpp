#pragma once

#include <iosfwd>

namespace popart {

/// Which replicas belong together.
enum class CommGroupType { All = 0, Consecutive, Orthogonal, None, N };

/// Groups of replicas: `replicaGroupSize` members each, where the type needs a size.
class CommGroup {
 public:
  CommGroup() = default;
  CommGroup(CommGroupType groupType, unsigned groupSize)
      : type(groupType), replicaGroupSize(groupSize) {}
  bool operator==(const CommGroup&) const = default;

  CommGroupType type = CommGroupType::All;
  unsigned replicaGroupSize = 0;
};

std::ostream& operator<<(std::ostream& stream, CommGroupType type);
std::ostream& operator<<(std::ostream& stream, const CommGroup& group);

}  // namespace popart
