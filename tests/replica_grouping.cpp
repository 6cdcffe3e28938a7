#include <halftone/graph/replica_grouping.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

using Groups = std::vector<int>;

// The four examples of PopXL's documentation of Ir.replica_grouping, and those of its tests.
static_assert(ReplicaGrouping(8, 1, 2).assignment() == Groups{0, 0, 1, 1, 2, 2, 3, 3});
static_assert(ReplicaGrouping(8, 1, 4).assignment() == Groups{0, 0, 0, 0, 1, 1, 1, 1});
static_assert(ReplicaGrouping(8, 2, 4).assignment() == Groups{0, 1, 0, 1, 0, 1, 0, 1});
static_assert(ReplicaGrouping(8, 4, 2).assignment() == Groups{0, 1, 2, 3, 0, 1, 2, 3});
static_assert(ReplicaGrouping(8, 2, 2).assignment() == Groups{0, 1, 0, 1, 2, 3, 2, 3});
static_assert(ReplicaGrouping(12, 2, 3).assignment() == Groups{0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3});
// A group has as many members as there can be at its stride.
static_assert(ReplicaGrouping(8).assignment() == Groups(8, 0));
static_assert(ReplicaGrouping(8, 2) == ReplicaGrouping(8, 2, 4));
static_assert(ReplicaGrouping(8, 1, 1).assignment() == Groups{0, 1, 2, 3, 4, 5, 6, 7});
static_assert(ReplicaGrouping().is_whole() && ReplicaGrouping().num_groups() == 1);
// A constant grouping has no memory of its own, so that it can be a constant.
constexpr ReplicaGrouping pairs(8, 1, 2);
static_assert(pairs.num_groups() == 4 && pairs.group_size() == 2 && pairs.stride() == 1);

/// The formulas of the definition: member i of group j, and that it is there.
constexpr bool has_members_by_formula(const ReplicaGrouping& g) {
  const int s = g.stride(), size = g.group_size();
  for (int j = 0; j < g.num_groups(); ++j) {
    for (int i = 0; i < size; ++i) {
      const int k = j / s * s * size + j % s + i * s;
      if (g.member(j, i) != k || g.group_of(k) != j || g.index_in_group(k) != i) return false;
    }
  }
  return true;
}
static_assert(has_members_by_formula(ReplicaGrouping(12, 2, 3)));
static_assert(has_members_by_formula(ReplicaGrouping(8, 4, 2)));
static_assert(has_members_by_formula(ReplicaGrouping(8, 1, 8)));

// Assignments with a constant distance are constant groupings, others are not.
static_assert(ReplicaGrouping(Groups{0, 1, 0, 1, 2, 3, 2, 3}) == ReplicaGrouping(8, 2, 2));
static_assert(ReplicaGrouping(Groups{0, 1, 0, 1, 2, 3, 2, 3}).stride() == 2);
static_assert(ReplicaGrouping(Groups{0, 1, 2}).is_const());  // groups of one
static_assert(!ReplicaGrouping(Groups{0, 1, 0, 0, 1, 1}).is_const());

constexpr bool splits() {
  const ReplicaGrouping far(Groups{0, 0, 1, 1, 0, 0, 1, 1});
  const ReplicaGrouping mirrored(Groups{0, 1, 1, 0, 0, 1, 1, 0});
  return !far.is_const() && far.num_groups() == 2 && far.group_size() == 4 &&
         far.const_rg().assignment() == Groups{0, 0, 1, 1, 2, 2, 3, 3} &&
         far.to_device_map() == Groups{0, 1, 0, 1} && far.to_host_map() == Groups{0, 1} &&
         mirrored.const_rg() == ReplicaGrouping(8, 1, 1) &&
         mirrored.to_device_map() == mirrored.assignment();
}
static_assert(splits());

constexpr bool transposes() {
  const ReplicaGrouping strided(8, 2, 2), far(Groups{0, 0, 1, 1, 0, 0, 1, 1});
  return ReplicaGrouping(8, 1, 2).transpose() == ReplicaGrouping(8, 2, 4) &&
         ReplicaGrouping(8, 2, 4).transpose() == ReplicaGrouping(8, 1, 2) &&
         strided.transpose() == far && far.transpose() == strided;
}
static_assert(transposes());

TEST_CASE("replica groupings: groups that are no partition are refused") {
  CHECK(contains(error_of([] { ReplicaGrouping(8, 1, 3); }), "no multiple of stride x group size"));
  CHECK(contains(error_of([] { ReplicaGrouping(8, 4, 4); }), "expected  16"));
  CHECK(contains(error_of([] { ReplicaGrouping(8, 2, 1); }), "groups of one have stride 1"));
  CHECK(contains(error_of([] { ReplicaGrouping(0, 1, 1); }), "no replicas"));
  CHECK(contains(error_of([] { ReplicaGrouping(8, 0, 1); }), "stride"));
  CHECK(contains(error_of([] { ReplicaGrouping(8, 1, 0); }), "no members"));
  CHECK(contains(error_of([] { ReplicaGrouping(Groups{}); }), "no replicas"));
  CHECK(contains(error_of([] { ReplicaGrouping(Groups{1, 0}); }), "numbered by their first"));
  CHECK(contains(error_of([] { ReplicaGrouping(Groups{0, 0, 1}); }), "different sizes"));
  CHECK(contains(error_of([] { ReplicaGrouping(Groups{0, -1}); }), "numbered by their first"));
  CHECK(contains(
      error_of([] { static_cast<void>(ReplicaGrouping(Groups{0, 1, 0, 0, 1, 1}).stride()); }),
      "const_rg() has one"));
}

// Every device group of const_rg() lies in one group, for all assignments of 6 replicas to 2 groups.
TEST_CASE("replica groupings: const_rg divides groups") {
  int count = 0;
  for (int bits = 0; bits < 64; bits += 2) {
    Groups assignment;
    int ones = 0;
    for (int k = 0; k < 6; ++k) {
      assignment.push_back(bits >> k & 1);
      ones += bits >> k & 1;
    }
    if (ones != 3) continue;
    ++count;
    const ReplicaGrouping grouping(assignment), parts = grouping.const_rg();
    const Groups map = grouping.to_device_map();
    for (int k = 0; k < 6; ++k) {
      CHECK(map[static_cast<std::size_t>(parts.group_of(k))] == grouping.group_of(k));
    }
    CHECK(grouping.transpose().group_size() == grouping.num_groups());
  }
  CHECK(count == 10);
}

}  // namespace
