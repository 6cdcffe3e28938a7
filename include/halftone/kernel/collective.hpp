#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <halftone/kernel/communicator.hpp>
#include <halftone/op/graphcore_collectives.hpp>

namespace halftone::kernel {

namespace detail {

/// What the replicas agree on when they meet.
struct Joint {
  CollectiveOperator join;
  MemberFormula members;
  std::int64_t elements;  ///< of a replica's tensor
  std::int64_t shard;     ///< of a part of it
};

template <class C>
constexpr C first_term(CollectiveOperator join, C x) {
  return join == CollectiveOperator::square_add ? static_cast<C>(x * x) : x;
}
template <class C>
constexpr C joined(CollectiveOperator join, C a, C b) {
  switch (join) {
    case CollectiveOperator::multiply:
      return static_cast<C>(a * b);
    case CollectiveOperator::min:
      return b < a || b != b ? b : a;
    case CollectiveOperator::max:
      return a < b || b != b ? b : a;
    case CollectiveOperator::logical_and:
      return static_cast<C>(a != C{} && b != C{});
    case CollectiveOperator::logical_or:
      return static_cast<C>(a != C{} || b != C{});
    case CollectiveOperator::square_add:
      return static_cast<C>(a + b * b);
    default:
      return static_cast<C>(a + b);
  }
}

/// Elements `first` to `first + n` of a group's tensors, joined in the order of its members.
template <class T>
void join_block(const Joint& joint, const Communicator::Part* parts, int group, std::int64_t first,
                std::int64_t n, T* y) {
  using C = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, halftone::detail::Compute<T>>;
  constexpr std::int64_t block = 256;
  for (std::int64_t at = 0; at < n; at += block) {
    const std::int64_t count = std::min(block, n - at);
    C numbers[block];
    C* sum = numbers;
    if constexpr (std::is_same_v<C, T>) sum = y + at;
    for (int i = 0; i < joint.members.size; ++i) {
      const T* x = static_cast<const T*>(parts[joint.members.member(group, i)].given) + first + at;
      if (i == 0) {
        for (std::int64_t e = 0; e < count; ++e) {
          sum[e] = first_term(joint.join, static_cast<C>(x[e]));
        }
      } else if (joint.join == CollectiveOperator::add || joint.join == CollectiveOperator::mean) {
        for (std::int64_t e = 0; e < count; ++e) {
          sum[e] = static_cast<C>(sum[e] + static_cast<C>(x[e]));
        }
      } else {
        for (std::int64_t e = 0; e < count; ++e) {
          sum[e] = joined(joint.join, sum[e], static_cast<C>(x[e]));
        }
      }
    }
    if (joint.join == CollectiveOperator::mean) {
      for (std::int64_t e = 0; e < count; ++e) {
        sum[e] = static_cast<C>(sum[e] / static_cast<C>(joint.members.size));
      }
    }
    if constexpr (!std::is_same_v<C, T>) {
      for (std::int64_t e = 0; e < count; ++e) y[at + e] = static_cast<T>(sum[e]);
    }
  }
}

/// The same for many elements; `put` takes the results, some at a time: put(first, values, count). A
/// block is joined before it is put.
template <class T, class Put>
void join_group(const Joint& joint, const Communicator::Part* parts, int group, std::int64_t first,
                std::int64_t n, Put&& put) {
  constexpr std::int64_t block = 1024;
  T values[block];
  for (std::int64_t at = first; at < first + n; at += block) {
    const std::int64_t count = std::min(block, first + n - at);
    join_block(joint, parts, group, at, count, values);
    put(at, values, count);
  }
}

template <class T>
void copy_elements(T* to, const T* from, std::int64_t n) {
  if (n > 0) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
}

template <class T>
void join_all_reduce(const void* context, const Communicator::Part* parts, int,
                     Communicator::Share share) {
  const Joint& joint = *static_cast<const Joint*>(context);
  for (int group = 0; group < joint.members.groups; ++group) {
    join_group<T>(joint, parts, group, share.first(joint.elements), share.size(joint.elements),
                  [&](std::int64_t at, const T* values, std::int64_t count) {
                    for (int i = 0; i < joint.members.size; ++i) {
                      void* y = parts[joint.members.member(group, i)].result;
                      if (y == nullptr) continue;
                      copy_elements(static_cast<T*>(y) + at, values, count);
                    }
                  });
  }
}

/// The elements of part `index` of n, filled up with zeros.
template <class T>
void cut_shard(const T* x, std::int64_t n, std::int64_t index, T* y, std::int64_t shard) {
  const std::int64_t first = std::min(index * shard, n), count = std::min(shard, n - first);
  copy_elements(y, x + first, count);
  for (std::int64_t e = count; e < shard; ++e) y[e] = T{};
}

template <class T>
void join_reduce_scatter(const void* context, const Communicator::Part* parts, int,
                         Communicator::Share share) {
  const Joint& joint = *static_cast<const Joint*>(context);
  for (int group = 0; group < joint.members.groups; ++group) {
    for (int i = 0; i < joint.members.size; ++i) {
      T* y = static_cast<T*>(parts[joint.members.member(group, i)].result);
      if (y == nullptr) continue;
      const std::int64_t first = std::min(i * joint.shard, joint.elements);
      const std::int64_t n = std::min(joint.shard, joint.elements - first);
      join_group<T>(joint, parts, group, first + share.first(n), share.size(n),
                    [&](std::int64_t at, const T* values, std::int64_t count) {
                      copy_elements(y + (at - first), values, count);
                    });
      if (share.index > 0) continue;
      for (std::int64_t e = n; e < joint.shard; ++e) y[e] = T{};
    }
  }
}

template <class T>
void join_all_gather(const void* context, const Communicator::Part* parts, int,
                     Communicator::Share share) {
  const Joint& joint = *static_cast<const Joint*>(context);
  for (int group = 0; group < joint.members.groups; ++group) {
    for (int i = 0; i < joint.members.size; ++i) {
      T* y = static_cast<T*>(parts[joint.members.member(group, i)].result);
      if (y == nullptr) continue;
      for (int other = 0; other < joint.members.size; ++other) {
        const T* x = static_cast<const T*>(parts[joint.members.member(group, other)].given);
        const std::int64_t first = share.first(joint.elements);
        copy_elements(y + other * joint.elements + first, x + first, share.size(joint.elements));
      }
    }
  }
}

}  // namespace detail

template <class T>
void replicated_all_reduce(const op::Collective& collective, const KernelCall& call,
                           View<const T> x, View<T> y) {
  const detail::Joint joint{collective.collective_operator, collective.members(call), x.size(), 0};
  meet(call.communicator,
       {call.number, x.size() * static_cast<std::int64_t>(sizeof(T)), &joint,
        &detail::join_all_reduce<T>, sizeof(T), joint.members.groups == 1},
       {x.data, y.data});
}

template <class T>
void replicated_reduce_scatter(const op::Collective& collective, const KernelCall& call,
                               View<const T> x, View<T> y) {
  const MemberFormula members = collective.members(call);
  if (collective.collective_operator == CollectiveOperator::local) {
    const int replica = call.communicator == nullptr ? 0 : call.communicator->replica;
    return detail::cut_shard(x.data, x.size(), members.index(replica), y.data, y.size());
  }
  const detail::Joint joint{collective.collective_operator, members, x.size(), y.size()};
  meet(call.communicator,
       {call.number, x.size() * static_cast<std::int64_t>(sizeof(T)), &joint,
        &detail::join_reduce_scatter<T>, sizeof(T)},
       {x.data, y.data});
}

template <class T>
void replicated_all_gather(const op::Collective& collective, const KernelCall& call,
                           View<const T> x, View<T> y) {
  const detail::Joint joint{CollectiveOperator::local, collective.members(call), x.size(), 0};
  meet(call.communicator,
       {call.number, x.size() * static_cast<std::int64_t>(sizeof(T)), &joint,
        &detail::join_all_gather<T>, sizeof(T)},
       {x.data, y.data});
}

/// Joins the tensors of several IPUs: every result is that of all inputs, or its own input.
template <class T>
void all_reduce(CollectiveOperator join, bool is_joined, const ViewList<const T>& x,
                const ViewList<T>& y) {
  for (std::size_t o = 0; o < y.size(); ++o) {
    const std::int64_t n = y[o].size();
    if (!is_joined) {
      detail::copy_elements(y[o].data, x[o].data, n);
      continue;
    }
    if (o > 0) {
      detail::copy_elements(y[o].data, y[0].data, n);
      continue;
    }
    Communicator::Part parts[255];
    const auto count = static_cast<int>(x.size());
    for (int i = 0; i < count; ++i) parts[i].given = x[static_cast<std::size_t>(i)].data;
    const detail::Joint joint{join, {1, count, 1}, n, 0};
    detail::join_group<T>(joint, parts, 0, 0, n,
                          [&](std::int64_t at, const T* values, std::int64_t elements) {
                            detail::copy_elements(y[0].data + at, values, elements);
                          });
  }
}

}  // namespace halftone::kernel
