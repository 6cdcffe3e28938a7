#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include <halftone/graph/model.hpp>
#include <halftone/graph/replica_grouping.hpp>
#include <halftone/op/list.hpp>
#include <halftone/views.hpp>

/// Collective operators: where the replicas of a graph meet. Each joins the tensors that the members
/// of a group of replicas have, in the order of the replicas, so that results do not depend on
/// threads. A replica that gets to another operator than the others, or to none any more, ends the run
/// of all of them with an error.
///
///   g.replicas = 4;
///   auto dw = collectives::replicated_all_reduce(gradient, CollectiveOperator::mean);
///
/// group   a constant grouping; without one all replicas. In a body, which does not know how many
///         there are, the operators that change shapes need one: ReplicaGrouping(4)
/// errors  UsageError: a grouping that is not constant or is of another number of replicas
/// source  popxl.ops.collectives
namespace halftone {

/// The shape of the tensor that this one is a shard of, empty if it is none: what all_gather makes.
inline Dims meta_shape(AnyTensor x) {
  for (const MetaShape& known : x.graph->meta_shapes) {
    if (known.tensor == x.id) return known.shape;
  }
  return {};
}
/// Says that a tensor is a shard of one of that shape.
inline void set_meta_shape(AnyTensor x, const Dims& shape) {
  for (MetaShape& known : x.graph->meta_shapes) {
    if (known.tensor == x.id) known.shape = shape;
    if (known.tensor == x.id) return;
  }
  if (!shape.empty()) x.graph->meta_shapes.push_back({x.id, shape});
}

namespace collectives {

/// The shape that a gathered tensor gets.
enum class OutputShape : std::uint8_t {
  automatic,   ///< the meta_shape if there is one, else concat
  new_axis,    ///< [members, shape], with the new dimension at `axis`
  concat,      ///< one behind the other along `axis`
  meta_shape,  ///< the tensor that the shards are parts of
};

namespace detail {
AnyTensor all_reduce(AnyTensor x, CollectiveOperator join, const ReplicaGrouping& group);
AnyTensor reduce_scatter(AnyTensor x, CollectiveOperator join, const ReplicaGrouping& group,
                         bool is_shard);
AnyTensor all_gather(AnyTensor x, std::int64_t axis, const ReplicaGrouping& group,
                     OutputShape shape);
AnyTensor slice(AnyTensor x, std::int64_t axis, const ReplicaGrouping& group);
}  // namespace detail

/// The tensors of the group's members joined element by element: the same on each of them.
/// grad    none
template <tensor_handle X>
X replicated_all_reduce(const X& x, CollectiveOperator join = CollectiveOperator::add,
                        const ReplicaGrouping& group = {}) {
  return {x.graph, detail::all_reduce(x, join, group).id};
}
/// The same into x, which is changed.
template <tensor_handle X>
X replicated_all_reduce_(const X& x, CollectiveOperator join = CollectiveOperator::add,
                         const ReplicaGrouping& group = {}) {
  change(x, replicated_all_reduce(x, join, group));
  return x;
}

/// The replica's shard of the tensors joined: part i of their elements for member i, a vector; the
/// last part is filled up with zeros.
///
/// is_shard  the result knows that it is a shard of a tensor of x's shape; see meta_shape
/// grad      none
inline AnyTensor replicated_reduce_scatter(AnyTensor x,
                                           CollectiveOperator join = CollectiveOperator::add,
                                           const ReplicaGrouping& group = {},
                                           bool is_shard = false) {
  return detail::reduce_scatter(x, join, group, is_shard);
}
/// The replica's shard of its own tensor.
/// grad    all_gather
inline AnyTensor replica_sharded_slice(AnyTensor x, const ReplicaGrouping& group = {}) {
  return detail::reduce_scatter(x, CollectiveOperator::local, group, true);
}

/// The tensors of the group's members side by side.
///
/// errors  UsageError: meta_shape where x is no shard, an axis that x does not have
/// grad    the replica's part
inline AnyTensor replicated_all_gather(AnyTensor x, std::int64_t axis = 0,
                                       const ReplicaGrouping& group = {},
                                       OutputShape shape = OutputShape::automatic) {
  return detail::all_gather(x, axis, group, shape);
}

/// The replica's part of the extents along an axis; a part of one has no such axis.
///
/// errors  ShapeError: an axis that the members of a group cannot divide
/// grad    all_gather
inline AnyTensor replicated_slice(AnyTensor x, std::int64_t axis = 0,
                                  const ReplicaGrouping& group = {}) {
  return detail::slice(x, axis, group);
}

/// The tensors of several IPUs of one replica joined element by element: one result for each.
///
/// ipus    of the tensors; empty: those of the nodes that make them
/// errors  UsageError: an IPU that is not known, another number of IPUs than tensors
/// grad    the same of the gradients, for `add` alone
Vector<AnyTensor> all_reduce(std::span<const AnyTensor> xs, std::span<const std::int64_t> ipus = {},
                             CollectiveOperator join = CollectiveOperator::add);
/// The tensors as they are, which are equal; their gradients are added.
Vector<AnyTensor> all_reduce_identical_inputs(std::span<const AnyTensor> xs,
                                              std::span<const std::int64_t> ipus = {},
                                              CollectiveOperator join = CollectiveOperator::add);
/// The tensors joined; their gradients, which are equal, go back as they are.
Vector<AnyTensor> all_reduce_identical_grad_inputs(
    std::span<const AnyTensor> xs, std::span<const std::int64_t> ipus = {},
    CollectiveOperator join = CollectiveOperator::add);

}  // namespace collectives
}  // namespace halftone
