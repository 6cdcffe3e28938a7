#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/graph/graph.hpp>

namespace halftone {

/// How the values of one variable lie on the host and on the replicas; see VariableSettings.
class VariableLayout {
 public:
  VariableLayout(const Graph& graph, TensorId id);

  /// Whether all replicas have one value, and the host has it in the same form.
  bool is_plain() const { return settings_ == nullptr || (groups() == 1 && shards() == 1); }
  bool returns_all() const;
  int groups() const { return settings_ == nullptr ? 1 : settings_->grouping.num_groups(); }
  int shards() const { return settings_ == nullptr ? 1 : settings_->shard_over; }
  const VariableSettings* settings() const { return settings_; }
  /// What the host sets: [groups, shape].
  const TensorInfo& host() const { return host_; }
  /// What the host gets: the same, or [replicas, shape].
  TensorInfo retrieved() const;

  /// A replica's value from that of the host, and back: `to` gets the part of it that this replica
  /// returns, if it does.
  void give(const std::byte* host, int replica, std::byte* to) const;
  void take(const std::byte* from, int replica, std::byte* host, bool all) const;

 private:
  std::int64_t group_bytes() const { return host_.bytes() / groups(); }

  const VariableSettings* settings_;
  std::int32_t replicas_;
  TensorInfo own_, host_;
};

}  // namespace halftone
