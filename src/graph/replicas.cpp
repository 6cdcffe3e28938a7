#include <halftone/collectives.hpp>

#include <string>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/graph/planning.hpp>

#include "base/describe.hpp"

namespace halftone {

void detail::refuse_grouping(std::string_view what, std::int64_t expected, std::int64_t found) {
  fail(ErrorKind::usage,
       {.what = what,
        .expected = std::to_string(expected),
        .found = std::to_string(found),
        .hint = "ReplicaGrouping(replicas, stride, group_size) wants replicas that "
                "are a multiple of stride x group_size"});
}

namespace collectives {
namespace {

/// A grouping as an attribute. Operators that change shapes say how many replicas there are.
Dims grouping_of(const Graph& graph, const ReplicaGrouping& group, bool must_know) {
  if (group.is_whole()) {
    if (!must_know) return {};
    return {graph.replicas, 1, graph.replicas};
  }
  if (!group.is_const()) {
    fail(ErrorKind::usage,
         {.what = "collective operators need a grouping whose members have a constant stride",
          .hint = "ReplicaGrouping::const_rg() is the largest one within this grouping"});
  }
  if (graph.replicas > 1 && group.replicas() != graph.replicas) {
    fail(ErrorKind::usage,
         {.what = "a grouping is of another number of replicas than the graph",
          .expected = std::to_string(graph.replicas),
          .found = std::to_string(group.replicas()),
          .hint = "set Graph::replicas before collective operators are recorded"});
  }
  return {group.replicas(), group.stride(), group.group_size()};
}

op::Collective attributes_of(const Graph& graph, CollectiveOperator join,
                             const ReplicaGrouping& group, bool must_know) {
  return {.collective_operator = join, .grouping = grouping_of(graph, group, must_know)};
}

template <class Op>
AnyTensor recorded(AnyTensor x, const Op& op) {
  return {x.graph, halftone::detail::record(*x.graph, op, {x.id}, 1)[0]};
}

/// The axis from the front; throws if x does not have it.
std::size_t axis_of(AnyTensor x, std::int64_t axis, std::size_t rank) {
  const std::size_t at = normalized_axis(axis, rank);
  if (at < rank) return at;
  fail(ErrorKind::usage,
       {.what = "the axis of a collective operator is out of range",
        .tensor = x.name(),
        .expected = "-" + std::to_string(rank) + " to " + std::to_string(rank == 0 ? 0 : rank - 1),
        .found = std::to_string(axis)});
}

TensorInfo known_info(AnyTensor x) {
  const TensorInfo info = x.info();
  if (info.is_static()) return info;
  fail(ErrorKind::usage, {.what = "a collective operator has to know the shape of its tensor",
                          .tensor = x.name(),
                          .found = halftone::detail::to_text(info)});
}

AnyTensor reshaped(AnyTensor x, const Dims& shape) {
  if (x.info().shape == shape) return x;
  return op::reshape(x, constant(*x.graph, shape));
}

/// The tensor with the dimension at `from` at `to`.
AnyTensor moved_axis(AnyTensor x, std::size_t from, std::size_t to) {
  if (from == to) return x;
  Dims order;
  for (std::size_t i = 0; i < x.info().rank(); ++i) {
    if (i != from) order.push_back(static_cast<std::int64_t>(i));
  }
  order.insert(to, static_cast<std::int64_t>(from));
  return op::transpose(x, {.perm = order});
}

}  // namespace

AnyTensor detail::all_reduce(AnyTensor x, CollectiveOperator join, const ReplicaGrouping& group) {
  return recorded(
      x, op::ReplicatedAllReduce{.collective = attributes_of(*x.graph, join, group, false)});
}

AnyTensor detail::reduce_scatter(AnyTensor x, CollectiveOperator join, const ReplicaGrouping& group,
                                 bool is_shard) {
  const TensorInfo info = known_info(x);
  const AnyTensor y = recorded(
      x, op::ReplicatedReduceScatter{.collective = attributes_of(*x.graph, join, group, true)});
  if (is_shard) set_meta_shape(y, info.shape);
  return y;
}

AnyTensor detail::all_gather(AnyTensor x, std::int64_t axis, const ReplicaGrouping& group,
                             OutputShape shape) {
  const TensorInfo info = known_info(x);
  const Dims meta = meta_shape(x);
  if (shape == OutputShape::automatic) {
    shape = meta.empty() ? OutputShape::concat : OutputShape::meta_shape;
  }
  if (shape == OutputShape::meta_shape && meta.empty()) {
    fail(ErrorKind::usage, {.what = "a tensor that is no shard is gathered to a meta_shape",
                            .tensor = x.name(),
                            .hint = "OutputShape::concat or new_axis; set_meta_shape(x, shape)"});
  }
  const bool is_new = shape == OutputShape::new_axis;
  std::size_t at = 0;
  if (shape != OutputShape::meta_shape) at = axis_of(x, axis, info.rank() + (is_new ? 1 : 0));
  const op::Collective collective = attributes_of(*x.graph, CollectiveOperator::local, group, true);
  const AnyTensor all = recorded(x, op::ReplicatedAllGather{.collective = collective});
  if (shape == OutputShape::meta_shape) {
    const std::int64_t elements = product(meta);
    const AnyTensor own =
        all.info().elements() == elements
            ? all
            : op::slice(all, constant(*x.graph, Dims{0}), constant(*x.graph, Dims{elements}));
    return reshaped(own, meta);
  }
  // Members first, then where they belong.
  Dims rows = info.shape;
  rows.insert(0, collective.group_size());
  const AnyTensor y = moved_axis(reshaped(all, rows), 0, at);
  if (is_new) return y;
  Dims joined = info.shape;
  joined[at] *= collective.group_size();
  return reshaped(y, joined);
}

AnyTensor detail::slice(AnyTensor x, std::int64_t axis, const ReplicaGrouping& group) {
  const TensorInfo info = known_info(x);
  const std::size_t at = axis_of(x, axis, info.rank());
  const op::Collective collective = attributes_of(*x.graph, CollectiveOperator::local, group, true);
  const std::int64_t size = collective.group_size();
  if (info.shape[at] % size != 0) {
    throw_extent("the members of a group cannot divide an axis into equal parts", x.name(),
                 static_cast<std::int64_t>(at), size, info.shape[at]);
  }
  const std::int64_t extent = info.shape[at] / size;
  const AnyTensor first = moved_axis(x, at, 0);
  Dims part = first.info().shape;
  part[0] = extent;
  const AnyTensor own = recorded(first, op::ReplicatedReduceScatter{.collective = collective});
  const AnyTensor y = moved_axis(reshaped(own, part), 0, at);
  if (extent != 1) return y;
  Dims shape = y.info().shape;
  shape.erase(at);
  return reshaped(y, shape);
}

namespace {

Vector<AnyTensor> over_ipus(std::span<const AnyTensor> xs, std::span<const std::int64_t> ipus,
                            op::AllReduce reduce) {
  if (xs.empty()) fail(ErrorKind::usage, {.what = "all_reduce over IPUs has no tensors"});
  Graph& graph = *xs[0].graph;
  std::vector<std::int64_t> places(ipus.begin(), ipus.end());
  if (places.empty()) {
    const Uses uses(graph);
    for (const AnyTensor& x : xs) {
      const int maker = uses.producer[x.id];
      places.push_back(maker == no_node ? -1
                                        : graph.nodes[static_cast<std::size_t>(maker)].place.ipu);
    }
  }
  if (places.size() != xs.size() || places.size() > reduce.ipus.capacity()) {
    fail(ErrorKind::usage, {.what = "all_reduce over IPUs has another number of IPUs than tensors",
                            .expected = std::to_string(xs.size()),
                            .found = std::to_string(places.size())});
  }
  Vector<TensorId> ids;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (places[i] < 0 || places[i] >= most_ipus) {
      fail(ErrorKind::usage, {.what = "the IPU of a tensor is not known",
                              .tensor = xs[i].name(),
                              .found = std::to_string(places[i]),
                              .hint = "give `ipus`, or make the tensor within OnIpu"});
    }
    reduce.ipus.push_back(places[i]);
    ids.push_back(xs[i].id);
  }
  Vector<AnyTensor> ys;
  const Vector<TensorId> outputs = halftone::detail::record(graph, reduce, ids, ids.size());
  for (const TensorId id : outputs) ys.push_back({&graph, id});
  return ys;
}

}  // namespace

Vector<AnyTensor> all_reduce(std::span<const AnyTensor> xs, std::span<const std::int64_t> ipus,
                             CollectiveOperator join) {
  return over_ipus(xs, ipus, {.collective_operator = join});
}
Vector<AnyTensor> all_reduce_identical_inputs(std::span<const AnyTensor> xs,
                                              std::span<const std::int64_t> ipus,
                                              CollectiveOperator join) {
  return over_ipus(xs, ipus, {.identical_inputs = 1, .collective_operator = join});
}
Vector<AnyTensor> all_reduce_identical_grad_inputs(std::span<const AnyTensor> xs,
                                                   std::span<const std::int64_t> ipus,
                                                   CollectiveOperator join) {
  return over_ipus(xs, ipus, {.identical_gradient_inputs = 1, .collective_operator = join});
}

}  // namespace collectives
}  // namespace halftone
