#include <popart/variablesettings.hpp>

#include <ostream>
#include <utility>

#include <popart/error.hpp>

namespace popart {

VariableSettings::VariableSettings(CommGroup sharedVariableDomain,
                                   VariableRetrievalMode retrievalMode)
    : domain_(sharedVariableDomain), mode_(retrievalMode) {
  verify();
}

VariableSettings::VariableSettings(unsigned stride, unsigned groupSize,
                                   VariableRetrievalMode retrievalMode)
    : domain_(CommGroupType::All, groupSize),
      stride_(groupSize == 1 ? 1 : stride),
      mode_(retrievalMode) {
  for (const auto& [number, what] :
       {std::pair{stride, "stride"}, std::pair{groupSize, "group size"}}) {
    if (number != 0) continue;
    throw error("The {} in a `popart::VariableSettings` must be a positive integer.", what);
  }
  verify();
}

void VariableSettings::verify() const {
  const auto isOf = [](auto value, auto end) { return value >= decltype(value){} && value < end; };
  const bool hasSize = domain_.type == CommGroupType::All || domain_.type == CommGroupType::None ||
                       domain_.replicaGroupSize > 0;
  const int wrong = int{!isOf(domain_.type, CommGroupType::N)} + int{!hasSize} +
                    int{!isOf(static_cast<int>(mode_), 3)};
  if (wrong != 0) throw internal_error("VariableSettings had {} errors!", wrong);
}

const CommGroup VariableSettings::getSharedVariableDomain() const {
  if (!isUsingCommGroup()) {
    throw error("The variable settings were not initialised using a `popart::CommGroup` instance.");
  }
  return domain_;
}

ReplicaGrouping VariableSettings::getReplicaGrouping(unsigned numReplicas) const {
  const unsigned size = domain_.replicaGroupSize;
  if (!isUsingCommGroup()) return {numReplicas, stride_, size};
  switch (domain_.type) {
    case CommGroupType::Consecutive:
      return {numReplicas, 1, size};
    case CommGroupType::Orthogonal:
      return {numReplicas, numReplicas / size, size};
    case CommGroupType::None:
      return {numReplicas, 1, 1};
    default:
      return {numReplicas, 1, numReplicas};
  }
}

unsigned VariableSettings::getRealGroupSize(unsigned replicaCount) const {
  return getReplicaGrouping(replicaCount).getGroupSize();
}
unsigned VariableSettings::getStride(unsigned replicaCount) const {
  return getReplicaGrouping(replicaCount).getStride();
}
unsigned VariableSettings::getGroupCount(unsigned replicaCount) const {
  return getReplicaGrouping(replicaCount).getNumGroups();
}

unsigned VariableSettings::getGroupRepresentative(unsigned group) const {
  if (!isUsingCommGroup()) {
    const unsigned replicas = stride_ * domain_.replicaGroupSize * (group + 1);
    return getReplicaGrouping(replicas).getReplicaAt(group);
  }
  switch (domain_.type) {
    case CommGroupType::Consecutive:
      return domain_.replicaGroupSize * group;
    case CommGroupType::Orthogonal:
    case CommGroupType::None:
      return group;
    default:
      return 0;
  }
}

std::vector<std::vector<std::int64_t>> VariableSettings::groups(unsigned replicaCount) const {
  const ReplicaGrouping grouping = getReplicaGrouping(replicaCount);
  std::vector<std::vector<std::int64_t>> all;
  for (unsigned g = 0; g < grouping.getNumGroups(); ++g) {
    const std::vector<unsigned> members = grouping.getReplicasAt(g);
    all.emplace_back(members.begin(), members.end());
  }
  return all;
}

unsigned VariableSettings::numReplicasReturningVariable(unsigned replicaCount) const {
  return mode_ == VariableRetrievalMode::AllReplicas ? replicaCount : getGroupCount(replicaCount);
}

Shape VariableSettings::shapeOnReplica(const Shape full, unsigned replicaCount,
                                       const TensorId name) const {
  const unsigned groups = getGroupCount(replicaCount);
  if (groups == 1) return full;
  if (full.empty() || full[0] != groups) {
    throw internal_error(
        "Return mismatch with possibly appended outer dimension ({}) of Tensor: \"{}\". should "
        "match "
        "numGroups: {}",
        full.empty() ? 0 : full[0], name, groups);
  }
  return Shape(full.begin() + 1, full.end());
}

Shape VariableSettings::shapeOnHost(const Shape replicaShape, unsigned replicaCount) const {
  Shape full = replicaShape;
  const unsigned groups = getGroupCount(replicaCount);
  if (groups > 1) full.insert(full.begin(), groups);
  return full;
}

std::ostream& operator<<(std::ostream& stream, const VariableRetrievalMode& mode) {
  switch (mode) {
    case VariableRetrievalMode::OnePerGroup:
      return stream << "OnePerGroup";
    case VariableRetrievalMode::AllReduceReplicas:
      return stream << "AllReduceReplicas";
    case VariableRetrievalMode::AllReplicas:
      return stream << "AllReplicas";
  }
  return stream << "Undefined VariableRetrievalMode: " << static_cast<int>(mode);
}

std::ostream& operator<<(std::ostream& stream, const VariableSettings& settings) {
  stream << "VariableSettings: [";
  if (settings.isUsingCommGroup()) {
    stream << settings.getSharedVariableDomain();
  } else {
    stream << "stride " << settings.stride_ << ", group size " << settings.domain_.replicaGroupSize;
  }
  return stream << ", " << settings.getRetrievalMode() << "]";
}

}  // namespace popart
