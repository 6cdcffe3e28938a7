#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_JOINED_UPDATE_HPP
#define HALFTONE_OP_JOINED_UPDATE_HPP

#include <halftone/op/graphcore_collectives.hpp>
#include <halftone/op/update.hpp>

namespace halftone::kernel {

// kernel/joined_update.hpp
template <class T, class S>
void joined_update(const op::Update& update, const op::Collective& collective,
                   const KernelCall& call, View<T> w, View<S> g, View<S> s1, View<S> s2, View<S> s3,
                   View<float> step, View<const float> h);

}  // namespace halftone::kernel

namespace halftone::op {

/// ReplicatedAllReduce of a gradient, and Update with what it gives: each replica joins a share of the
/// elements and updates them in all replicas, so that nobody writes joined gradients. Made by the pass
/// `join_updates`, never of Lamb, whose norms are of whole weights.
///
/// w g s1 s2 s3 step h  as those of Update; g is this replica's own gradient, whose memory may be used
/// source               none
struct JoinedUpdate {
  Update update{};
  Collective collective{};

  static constexpr OpId id{"halftone", "JoinedUpdate", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "w& g:S& s1:S&? s2:S&? s3:S&? step:H&? h:H -> w_next@w";
  using types = TypeList<FloatTypes, TypeList<float, double>, TypeList<float>>;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::replicas;

  constexpr void attributes(auto&& visit) {
    update.attributes(visit);
    collective.attributes(visit);
  }
  static constexpr Inferred infer(const Inputs& in) { return Update::infer(in); }

  template <class T, class S, class H>
  void kernel(const KernelCall& call, View<T> w, View<S> g, View<S> s1, View<S> s2, View<S> s3,
              View<H> step, View<const H> h, View<T>) const {
    kernel::joined_update<T, S>(update, collective, call, w, g, s1, s2, s3, step, h);
  }
};

}  // namespace halftone::op

#endif
