#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <halftone/base/error.hpp>
#include <halftone/base/vector.hpp>

namespace halftone {

namespace detail {
/// Throws a UsageError. Defined in the core.
[[noreturn]] void refuse_grouping(std::string_view what, std::int64_t expected, std::int64_t found);
}  // namespace detail

/// A partition of replicas into groups of one size: for values of variables that differ from group
/// to group, and for collective operators, which join the members of each group.
///
///   ReplicaGrouping(8, 2, 4).assignment()  // {0, 1, 0, 1, 0, 1, 0, 1}
///
/// A grouping is constant if all members of its groups are the same stride apart: then member i of
/// group j is replica j / stride * (stride * size) + j % stride + i * stride. Others serve for
/// variables alone. Without arguments it is one group of all replicas, however many a graph has.
///
/// source  popxl.ReplicaGrouping
class ReplicaGrouping {
 public:
  constexpr ReplicaGrouping() = default;
  /// errors  UsageError: numbers below 1, replicas that are no multiple of stride x group size, a
  ///         stride other than 1 in groups of one
  constexpr explicit ReplicaGrouping(int replicas, int stride = 1)
      : ReplicaGrouping(replicas, stride, stride > 0 ? replicas / stride : 0) {}
  constexpr ReplicaGrouping(int replicas, int stride, int group_size)
      : replicas_(replicas), stride_(stride), size_(group_size) {
    if (replicas < 1) detail::refuse_grouping("there are no replicas to group", 1, replicas);
    if (stride < 1) detail::refuse_grouping("the stride of a grouping is below 1", 1, stride);
    if (group_size < 1) detail::refuse_grouping("a group has no members", 1, group_size);
    if (const std::int64_t step = std::int64_t{stride} * group_size; replicas % step != 0) {
      detail::refuse_grouping("the replicas are no multiple of stride x group size", step,
                              replicas);
    }
    if (group_size == 1 && stride != 1) {
      detail::refuse_grouping("groups of one have stride 1", 1, stride);
    }
  }
  /// The group of each replica. Groups are numbered by their first members: 0, then 1, ...
  ///
  /// errors  UsageError: another numbering, groups of different sizes, no replicas
  constexpr explicit ReplicaGrouping(Vector<int> assignment)
      : replicas_(static_cast<int>(assignment.size())), assignment_(std::move(assignment)) {
    if (replicas_ < 1) detail::refuse_grouping("there are no replicas to group", 1, replicas_);
    Vector<int> members;
    for (const int group : assignment_) {
      const int count = static_cast<int>(members.size());
      if (group < 0 || group > count) {
        detail::refuse_grouping("groups are not numbered by their first members: 0, 1, ...", count,
                                group);
      }
      if (group == count) members.push_back(0);
      ++members[static_cast<std::size_t>(group)];
    }
    for (const int count : members) {
      if (count != members[0])
        detail::refuse_grouping("groups have different sizes", members[0], count);
    }
    size_ = members[0];
    stride_ = common_distance();
    if (stride_ == 0) return;
    assignment_.clear();  // a constant grouping has a formula
  }

  /// 0: as many as a graph has.
  constexpr int replicas() const { return replicas_; }
  /// Whether it is one group of all replicas, however many there are.
  constexpr bool is_whole() const { return replicas_ == 0; }
  constexpr bool is_const() const { return assignment_.empty(); }
  /// Of a grouping that says how many replicas there are.
  constexpr int group_size() const { return size_; }
  constexpr int num_groups() const { return is_whole() ? 1 : replicas_ / size_; }
  /// errors  UsageError: a grouping that is not constant
  constexpr int stride() const {
    if (!is_const()) {
      fail(ErrorKind::usage, {.what = "a replica grouping that is not constant has no stride",
                              .hint = "const_rg() has one"});
    }
    return stride_;
  }
  constexpr int group_of(int replica) const {
    if (is_whole()) return 0;
    if (!is_const()) return assignment_[static_cast<std::size_t>(replica)];
    return replica % stride_ + stride_ * (replica / (stride_ * size_));
  }
  /// The place of a replica among the members of its group, from 0.
  constexpr int index_in_group(int replica) const {
    if (is_whole()) return replica;
    int index = 0;
    for (int k = 0; k < replica; ++k) index += group_of(k) == group_of(replica);
    return index;
  }
  /// The replica that is member i of group j.
  constexpr int member(int group, int i) const {
    if (is_whole()) return i;
    if (is_const()) {
      return group / stride_ * (stride_ * size_) + group % stride_ + i * stride_;
    }
    int k = 0;
    while (group_of(k) != group || index_in_group(k) != i) ++k;
    return k;
  }
  /// The group of each replica.
  constexpr Vector<int> assignment() const {
    Vector<int> groups;
    for (int k = 0; k < replicas_; ++k) groups.push_back(group_of(k));
    return groups;
  }

  /// The constant grouping whose groups are parts of this one's, as large as that can be: groups are
  /// divided where members are further apart than the least distance.
  constexpr ReplicaGrouping const_rg() const {
    if (is_const()) return *this;
    int least = replicas_;
    for (const int distance : distances()) least = distance < least ? distance : least;
    int common = 0;
    for (int group = 0; group < num_groups(); ++group) {
      int length = 1;
      for (int i = 1; i < size_; ++i, ++length) {
        if (member(group, i) - member(group, i - 1) == least) continue;
        common = gcd(common, length);
        length = 0;
      }
      common = gcd(common, length);
    }
    if (common > 1 && replicas_ % (least * common) == 0) {
      const ReplicaGrouping finer(replicas_, least, common);
      bool fits = true;
      for (int k = 0; k < replicas_; ++k) {
        fits = fits && group_of(k) == group_of(finer.member(finer.group_of(k), 0));
      }
      if (fits) return finer;
    }
    return {replicas_, 1, 1};
  }
  /// For each group of const_rg() the group that it is a part of.
  constexpr Vector<int> to_device_map() const {
    const ReplicaGrouping finer = const_rg();
    Vector<int> map;
    for (int j = 0; j < finer.num_groups(); ++j) map.push_back(group_of(finer.member(j, 0)));
    return map;
  }
  /// For each group the group of const_rg() that its first replica is in.
  constexpr Vector<int> to_host_map() const {
    const ReplicaGrouping finer = const_rg();
    Vector<int> map;
    for (int j = 0; j < num_groups(); ++j) map.push_back(finer.group_of(member(j, 0)));
    return map;
  }
  /// The grouping whose group i has member i of every group.
  constexpr ReplicaGrouping transpose() const {
    Vector<int> groups;
    for (int k = 0; k < replicas_; ++k) groups.push_back(index_in_group(k));
    return ReplicaGrouping(std::move(groups));
  }

  friend constexpr bool operator==(const ReplicaGrouping& a, const ReplicaGrouping& b) {
    if (a.replicas_ != b.replicas_) return false;
    for (int k = 0; k < a.replicas_; ++k) {
      if (a.group_of(k) != b.group_of(k)) return false;
    }
    return true;
  }

 private:
  static constexpr int gcd(int a, int b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a;
  }
  /// From each member of a group to the next one.
  constexpr Vector<int> distances() const {
    Vector<int> list;
    for (int group = 0; group < num_groups(); ++group) {
      int before = -1;
      for (int k = 0; k < replicas_; ++k) {
        if (group_of(k) != group) continue;
        if (before >= 0) list.push_back(k - before);
        before = k;
      }
    }
    return list;
  }
  /// The stride of a constant grouping that has this assignment; 0: there is none.
  constexpr int common_distance() const {
    if (size_ == 1) return 1;
    const Vector<int> all = distances();
    const int common = all[0];
    for (const int distance : all) {
      if (distance != common) return 0;
    }
    if (replicas_ % (common * size_) != 0) return 0;
    const ReplicaGrouping formula(replicas_, common, size_);
    for (int k = 0; k < replicas_; ++k) {
      if (formula.group_of(k) != assignment_[static_cast<std::size_t>(k)]) return 0;
    }
    return common;
  }

  int replicas_ = 0, stride_ = 1, size_ = 0;
  Vector<int> assignment_{};  ///< of a grouping that is not constant
};

}  // namespace halftone
