#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include <popart/commgroup.hpp>
#include <popart/names.hpp>
#include <popart/replicagrouping.hpp>

namespace popart {

/// What the host gets of a variable that replicas share in groups.
enum class VariableRetrievalMode { OnePerGroup = 0, AllReduceReplicas, AllReplicas };

/// Which replicas share a variable, and what the host gets of it. Values that make no settings are a
/// popart::internal_error, groups that the replicas do not make a popart::error.
class VariableSettings {
 public:
  VariableSettings() = default;
  VariableSettings(CommGroup sharedVariableDomain)
      : VariableSettings(sharedVariableDomain, VariableRetrievalMode::OnePerGroup) {}
  VariableSettings(VariableRetrievalMode retrievalMode)
      : VariableSettings(CommGroup(), retrievalMode) {}
  VariableSettings(CommGroup sharedVariableDomain, VariableRetrievalMode retrievalMode);
  /// Groups whose members are a stride apart.
  VariableSettings(unsigned stride, unsigned groupSize,
                   VariableRetrievalMode retrievalMode = VariableRetrievalMode::OnePerGroup);

  /// Throws if the settings were made by stride and size.
  const CommGroup getSharedVariableDomain() const;
  bool isUsingCommGroup() const { return stride_ == 0; }
  ReplicaGrouping getReplicaGrouping(unsigned numReplicas) const;
  VariableRetrievalMode getRetrievalMode() const { return mode_; }
  void verify() const;

  /// Members of a group, how far they are apart, and how many groups there are.
  unsigned getRealGroupSize(unsigned replicaCount) const;
  unsigned getStride(unsigned replicaCount) const;
  unsigned getGroupCount(unsigned replicaCount) const;
  /// The first member of a group.
  unsigned getGroupRepresentative(unsigned group) const;
  /// The members of each group.
  std::vector<std::vector<std::int64_t>> groups(unsigned replicaCount) const;
  unsigned numReplicasReturningVariable(unsigned replicaCount) const;
  /// The host's shape has the number of groups in front, if there are several.
  Shape shapeOnReplica(const Shape full, unsigned replicaCount, const TensorId name = {}) const;
  Shape shapeOnHost(const Shape replicaShape, unsigned replicaCount) const;

  bool operator==(const VariableSettings&) const = default;
  friend std::ostream& operator<<(std::ostream& stream, const VariableSettings& settings);

 private:
  CommGroup domain_{CommGroupType::All, 0};  ///< with a stride: its size alone
  unsigned stride_ = 0;                      ///< 0: the domain says it
  VariableRetrievalMode mode_ = VariableRetrievalMode::OnePerGroup;
};

std::ostream& operator<<(std::ostream& stream, const VariableRetrievalMode& mode);

}  // namespace popart
