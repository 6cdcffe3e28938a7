#pragma once

#include <vector>

#include <popart/commgroup.hpp>
#include <popart/names.hpp>

namespace popart {

/// What the host gets of a variable that replicas share in groups.
enum class VariableRetrievalMode { OnePerGroup = 0, AllReduceReplicas, AllReplicas };

/// Which replicas share a variable, and what the host gets of it.
class VariableSettings {
 public:
  VariableSettings() = default;
  VariableSettings(CommGroup sharedVariableDomain) : domain_(sharedVariableDomain) {}
  VariableSettings(VariableRetrievalMode retrievalMode) : mode_(retrievalMode) {}
  VariableSettings(CommGroup sharedVariableDomain, VariableRetrievalMode retrievalMode)
      : domain_(sharedVariableDomain), mode_(retrievalMode) {}

  CommGroup getSharedVariableDomain() const { return domain_; }
  VariableRetrievalMode getRetrievalMode() const { return mode_; }
  /// Members of a group.
  unsigned getRealGroupSize(unsigned replicaCount) const {
    switch (domain_.type) {
      case CommGroupType::Consecutive:
      case CommGroupType::Orthogonal:
        return domain_.replicaGroupSize;
      case CommGroupType::None:
        return 1;
      default:
        return replicaCount;
    }
  }
  unsigned getGroupCount(unsigned replicaCount) const {
    const unsigned size = getRealGroupSize(replicaCount);
    return size == 0 ? 0 : replicaCount / size;
  }
  unsigned numReplicasReturningVariable(unsigned replicaCount) const {
    return mode_ == VariableRetrievalMode::AllReplicas ? replicaCount : getGroupCount(replicaCount);
  }
  /// The host's shape has the number of groups in front, if there are several.
  Shape shapeOnReplica(const Shape full, unsigned replicaCount) const {
    if (getGroupCount(replicaCount) <= 1 || full.empty()) return full;
    return Shape(full.begin() + 1, full.end());
  }
  Shape shapeOnHost(const Shape replicaShape, unsigned replicaCount) const {
    Shape full = replicaShape;
    const unsigned groups = numReplicasReturningVariable(replicaCount);
    if (groups > 1) full.insert(full.begin(), groups);
    return full;
  }

 private:
  CommGroup domain_{CommGroupType::All, 0};
  VariableRetrievalMode mode_ = VariableRetrievalMode::OnePerGroup;
};

}  // namespace popart
