#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <halftone/kernel/collective.hpp>
#include <halftone/train/operators.hpp>

// How replicas share the work of an optimizer's step.
namespace halftone::kernel {

namespace detail {

constexpr CollectiveOperator sum_or_mean(bool is_mean) {
  return is_mean ? CollectiveOperator::mean : CollectiveOperator::add;
}
inline MemberFormula all_replicas(const KernelCall& call) { return op::Collective{}.members(call); }

/// All parts one behind the other, without what the last ones are filled up with.
template <class T>
void join_parts(const void* context, const Communicator::Part* parts, int replicas,
                Communicator::Share share) {
  const Joint& joint = *static_cast<const Joint*>(context);
  for (int to = 0; to < replicas; ++to) {
    T* y = static_cast<T*>(parts[to].result);
    if (y == nullptr) continue;
    for (int from = 0; from < replicas; ++from) {
      const std::int64_t begin = std::min(from * joint.shard, joint.elements);
      const std::int64_t elements = std::min(joint.shard, joint.elements - begin);
      const std::int64_t first = share.first(elements);
      const T* x = static_cast<const T*>(parts[from].given) + first;
      copy_elements(y + begin + first, x, share.size(elements));
    }
  }
}

template <class T>
void join_squares(const void*, const Communicator::Part* parts, int replicas, Communicator::Share) {
  T sums[2] = {};
  for (int k = 0; k < replicas; ++k) {
    const auto* own = static_cast<const T*>(parts[k].given);
    for (int i = 0; i < 2; ++i) sums[i] += own[i];
  }
  for (int k = 0; k < replicas; ++k) {
    if (parts[k].result != nullptr) std::memcpy(parts[k].result, sums, sizeof sums);
  }
}

}  // namespace detail

/// Every replica's total becomes that of its group: a block is joined before it is written.
template <class T>
void join_total(const op::Collective& collective, const KernelCall& call, View<T> total) {
  const detail::Joint joint{collective.collective_operator, collective.members(call), total.size(),
                            0};
  meet(call.communicator,
       {call.number, total.size() * static_cast<std::int64_t>(sizeof(T)), &joint,
        &detail::join_all_reduce<T>, sizeof(T), joint.members.groups == 1},
       {total.data, total.data});
}

template <class T>
void scatter_total(bool is_mean, const KernelCall& call, View<T> total, View<T> part) {
  const detail::Joint joint{detail::sum_or_mean(is_mean), detail::all_replicas(call), total.size(),
                            part.size()};
  meet(call.communicator,
       {call.number, total.size() * static_cast<std::int64_t>(sizeof(T)), &joint,
        &detail::join_reduce_scatter<T>, sizeof(T)},
       {total.data, part.data});
  std::fill_n(total.data, total.size(), T{});
}

template <class T>
void gather_parts(const KernelCall& call, View<const T> part, View<T> whole) {
  const detail::Joint joint{CollectiveOperator::local, detail::all_replicas(call), whole.size(),
                            part.size()};
  meet(call.communicator,
       {call.number, part.size() * static_cast<std::int64_t>(sizeof(T)), &joint,
        &detail::join_parts<T>, sizeof(T)},
       {part.data, whole.data});
}

template <class T>
void add_squares(const KernelCall& call, T (&squares)[2]) {
  meet(call.communicator,
       {call.number, static_cast<std::int64_t>(sizeof squares), nullptr, &detail::join_squares<T>},
       {squares, squares});
}

}  // namespace halftone::kernel
