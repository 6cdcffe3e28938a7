#pragma once

#include <algorithm>
#include <cstdint>

#include <halftone/kernel/collective.hpp>
#include <halftone/kernel/update.hpp>
#include <halftone/op/joined_update.hpp>

namespace halftone::kernel {

namespace detail {

/// What a replica updates.
template <class T, class S>
struct Updated {
  View<T> w;
  View<S> s1, s2, s3;
  View<float> step;
  View<const float> h;
};
struct JoiningUpdate {
  Joint joint;
  const op::Update* update;
};

/// A share of the elements, updated in every replica while what is joined of their gradients is in the
/// first cache.
template <class T, class S>
void join_updates(const void* context, const Communicator::Part* parts, int,
                  Communicator::Share share) {
  const auto& [joint, update] = *static_cast<const JoiningUpdate*>(context);
  constexpr std::int64_t block = 4096;
  S gradient[block];
  const Executor alone;
  KernelCall call;
  call.executor = &alone;
  for (int group = 0; group < joint.members.groups; ++group) {
    const std::int64_t last = share.first(joint.elements) + share.size(joint.elements);
    for (std::int64_t at = share.first(joint.elements); at < last; at += block) {
      const std::int64_t count = std::min(block, last - at);
      join_block<S>(joint, parts, group, at, count, gradient);
      for (int i = 0; i < joint.members.size; ++i) {
        const auto& own =
            *static_cast<const Updated<T, S>*>(parts[joint.members.member(group, i)].result);
        const auto part = [&]<class X>(View<X> x) {
          return View<X>{x ? x.data + at : nullptr, &count, 1};
        };
        update_elements<T, S>(*update, call, part(own.w), View<S>{gradient, &count, 1},
                              part(own.s1), part(own.s2), part(own.s3), own.step, own.h);
      }
    }
  }
}

}  // namespace detail

/// op::JoinedUpdate.
template <class T, class S>
void joined_update(const op::Update& update, const op::Collective& collective,
                   const KernelCall& call, View<T> w, View<S> g, View<S> s1, View<S> s2, View<S> s3,
                   View<float> step, View<const float> h) {
  count_step(step);
  const detail::Joint joint{collective.collective_operator, collective.members(call), g.size(), 0};
  const std::int64_t bytes = g.size() * static_cast<std::int64_t>(sizeof(S));
  if (call.communicator != nullptr && !call.communicator->shares_memory) {
    // What other processes hold can only be updated by them.
    meet(call.communicator,
         {call.number, bytes, &joint, &detail::join_all_reduce<S>, sizeof(S),
          joint.members.groups == 1},
         {g.data, g.data});
    return update_elements<T, S>(update, call, w, g, s1, s2, s3, step, h);
  }
  const detail::JoiningUpdate joining{joint, &update};
  detail::Updated<T, S> own{w, s1, s2, s3, step, h};
  meet(call.communicator, {call.number, bytes, &joining, &detail::join_updates<T, S>, sizeof(S)},
       {g.data, &own});
}

}  // namespace halftone::kernel
