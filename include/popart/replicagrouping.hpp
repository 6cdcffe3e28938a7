#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace popart {

/// A partition of replicas into groups of one size, whose members are a stride apart: member i of
/// group g is replica g / stride * stride * size + g % stride + i * stride. Numbers that make no
/// groups, and replicas, groups and members that are not there, are a popart::error.
class ReplicaGrouping {
 public:
  /// Groups of one have stride 1.
  ReplicaGrouping(unsigned numReplicas, unsigned stride, unsigned groupSize);

  unsigned getNumReplicas() const { return numReplicas_; }
  unsigned getStride() const { return stride_; }
  unsigned getGroupSize() const { return groupSize_; }
  unsigned getNumGroups() const { return numReplicas_ / groupSize_; }
  unsigned getGroupAt(unsigned replica) const;
  unsigned getIndexInGroupAt(unsigned replica) const;
  unsigned getReplicaAt(unsigned group, unsigned index = 0) const;
  std::vector<unsigned> getReplicasAt(unsigned group) const;
  /// Group i of it has member i of every group of this one. Throws if no stride has that.
  ReplicaGrouping getTranspose() const;
  std::string str() const;
  bool operator==(const ReplicaGrouping&) const = default;

 private:
  unsigned numReplicas_, stride_, groupSize_;
};

std::ostream& operator<<(std::ostream& stream, const ReplicaGrouping& grouping);

}  // namespace popart
