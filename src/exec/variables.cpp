#include "variables.hpp"

#include <algorithm>
#include <cstring>

namespace halftone {
namespace {

TensorInfo with_leading(TensorInfo info, std::int64_t extent) {
  if (extent > 1 && info.rank() < max_rank) info.shape.insert(0, extent);
  return info;
}

}  // namespace

VariableLayout::VariableLayout(const Graph& graph, TensorId id)
    : settings_(graph.settings(id)), replicas_(graph.replicas), own_(graph.info(id)) {
  const bool is_divided = settings_ != nullptr && !settings_->host_shape.empty();
  const TensorInfo one = is_divided ? TensorInfo{own_.type, settings_->host_shape} : own_;
  host_ = with_leading(one, groups());
}

bool VariableLayout::returns_all() const {
  return settings_ != nullptr && settings_->retrieval == Retrieval::all_replicas &&
         groups() * shards() < replicas_;
}

TensorInfo VariableLayout::retrieved() const {
  if (!returns_all()) return host_;
  TensorInfo one = host_;
  if (groups() > 1) one.shape.erase(0);
  return with_leading(one, replicas_ / shards());
}

void VariableLayout::give(const std::byte* host, int replica, std::byte* to) const {
  const int group = settings_ == nullptr ? 0 : settings_->grouping.group_of(replica);
  const std::byte* value = host + group * group_bytes();
  const std::int64_t size = own_.bytes();
  if (shards() == 1) {
    if (size != 0) std::memcpy(to, value, static_cast<std::size_t>(size));
    return;
  }
  const std::int64_t first =
      std::min(settings_->grouping.index_in_group(replica) % shards() * size, group_bytes());
  const std::int64_t count = std::min(size, group_bytes() - first);
  if (count > 0) std::memcpy(to, value + first, static_cast<std::size_t>(count));
  if (count < size) std::memset(to + count, 0, static_cast<std::size_t>(size - count));
}

void VariableLayout::take(const std::byte* from, int replica, std::byte* host, bool all) const {
  const int group = settings_ == nullptr ? 0 : settings_->grouping.group_of(replica);
  const int index = settings_ == nullptr ? replica : settings_->grouping.index_in_group(replica);
  const std::int64_t size = own_.bytes();
  if (size == 0) return;
  if (shards() == 1) {
    if (!all && index != 0) return;
    std::memcpy(host + (all ? replica : group) * size, from, static_cast<std::size_t>(size));
    return;
  }
  // Every shard_over members of a group hold one value together.
  if (!all && index >= shards()) return;
  const int members = settings_->grouping.group_size() / shards();
  const std::int64_t value = all ? std::int64_t{group} * members + index / shards() : group;
  const std::int64_t first = std::min(index % shards() * size, group_bytes());
  const std::int64_t count = std::min(size, group_bytes() - first);
  if (count > 0) {
    std::memcpy(host + value * group_bytes() + first, from, static_cast<std::size_t>(count));
  }
}

}  // namespace halftone
