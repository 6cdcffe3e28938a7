#include <popart/replicagrouping.hpp>

#include <ostream>

#include <popart/error.hpp>
#include <popart/logging.hpp>

#include "popart/convert.hpp"

namespace popart {

namespace {

void checkPositive(unsigned number, const char* what) {
  if (number != 0) return;
  throw error("The {} in a `popart::ReplicaGrouping` must be a positive integer.", what);
}
void checkBelow(unsigned number, unsigned end, const char* what, const ReplicaGrouping& grouping) {
  if (number < end) return;
  throw error("The requested {} is outside the valid range for '{}'.", what, grouping.str());
}

}  // namespace

ReplicaGrouping::ReplicaGrouping(unsigned numReplicas, unsigned stride, unsigned groupSize)
    : numReplicas_(numReplicas), stride_(groupSize == 1 ? 1 : stride), groupSize_(groupSize) {
  checkPositive(numReplicas, "number of replicas");
  checkPositive(stride, "stride");
  checkPositive(groupSize, "group size");
  if (numReplicas % (stride * groupSize) == 0) return;
  throw error(
      "The number of replicas in a `popart::ReplicaGrouping` must be divisible by the product of "
      "the stride and the group size.");
}

halftone::ReplicaGrouping detail::toNative(const ReplicaGrouping& grouping) {
  return {static_cast<int>(grouping.getNumReplicas()), static_cast<int>(grouping.getStride()),
          static_cast<int>(grouping.getGroupSize())};
}

unsigned ReplicaGrouping::getGroupAt(unsigned replica) const {
  checkBelow(replica, numReplicas_, "replica index", *this);
  return static_cast<unsigned>(detail::toNative(*this).group_of(static_cast<int>(replica)));
}

unsigned ReplicaGrouping::getIndexInGroupAt(unsigned replica) const {
  return (replica - getReplicaAt(getGroupAt(replica))) / stride_;
}

unsigned ReplicaGrouping::getReplicaAt(unsigned group, unsigned index) const {
  checkBelow(group, getNumGroups(), "group index", *this);
  checkBelow(index, groupSize_, "index", *this);
  return static_cast<unsigned>(
      detail::toNative(*this).member(static_cast<int>(group), static_cast<int>(index)));
}

std::vector<unsigned> ReplicaGrouping::getReplicasAt(unsigned group) const {
  std::vector<unsigned> replicas(groupSize_);
  for (unsigned i = 0; i < groupSize_; ++i) replicas[i] = getReplicaAt(group, i);
  return replicas;
}

ReplicaGrouping ReplicaGrouping::getTranspose() const {
  if (stride_ == 1) return {numReplicas_, groupSize_, getNumGroups()};
  if (groupSize_ * stride_ == numReplicas_) return {numReplicas_, 1, stride_};
  throw error("The transpose of '{}' cannot be represented as a `popart::ReplicaGrouping`.", str());
}

std::string ReplicaGrouping::str() const {
  return logging::format("ReplicaGrouping(numReplicas={}, stride={}, groupSize={})", numReplicas_,
                         stride_, groupSize_);
}

std::ostream& operator<<(std::ostream& stream, const ReplicaGrouping& grouping) {
  return stream << grouping.str();
}

}  // namespace popart
