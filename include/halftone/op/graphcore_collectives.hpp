#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_COLLECTIVES_HPP
#define HALFTONE_OP_GRAPHCORE_COLLECTIVES_HPP

namespace halftone {

/// How collective operators join the replicas' tensors, numbered as PopART's CollectiveOperator.
enum class CollectiveOperator : std::int64_t {
  add,
  mean,
  multiply,
  min,
  max,
  logical_and,
  logical_or,
  square_add,
  local
};

namespace op {

/// What collective operators say about the replicas; with a single one it is the whole group.
struct Collective {
  CollectiveOperator collective_operator = CollectiveOperator::add;
  Dims group{}, grouping{};  ///< PopART's two forms: [type, size] and [replicas, stride, size]
  std::int64_t replicated_tensor_sharding = 0;

  constexpr void attributes(auto&& visit) {
    visit("__collectiveOperator", collective_operator);
    visit("__collectiveCommGroup", group);
    visit("__collectiveReplicaGrouping", grouping);
    visit("__replicatedTensorSharding", replicated_tensor_sharding);
  }
  /// x of the one replica joined with nothing else.
  constexpr AnyTensor joined(auto x) const {
    if (collective_operator < CollectiveOperator::add ||
        collective_operator > CollectiveOperator::local) {
      fail(ErrorKind::model, {.what = "__collectiveOperator is out of range"});
    }
    if (!group.empty() && !grouping.empty()) {
      fail(ErrorKind::model, {.what = "a collective operator has two groups"});
    }
    if (collective_operator == CollectiveOperator::square_add) return x * x;
    return identity(x);
  }
  constexpr AnyTensor flattened(auto x) const {
    return reshape(joined(x), constant(*x.graph, Dims{-1}));
  }
};

/// The replicas' tensors joined element by element; on one replica x, with operator SquareAdd x^2.
/// source  ai.graphcore ReplicatedAllReduce-1
struct ReplicatedAllReduce {
  Collective collective{};

  static constexpr OpId id{"ai.graphcore", "ReplicatedAllReduce", 1};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) { collective.attributes(visit); }
  constexpr AnyTensor expand(auto x) const { return collective.joined(x); }
};

/// The replica's part of the replicas' tensors joined; on one replica all of x, flattened.
///
/// like    links the layouts of several such operators; not looked at
/// source  ai.graphcore ReplicatedReduceScatter-1
struct ReplicatedReduceScatter {
  Collective collective{};

  static constexpr OpId id{"ai.graphcore", "ReplicatedReduceScatter", 1};
  static constexpr Signature signature = "x like? -> y";
  constexpr void attributes(auto&& visit) { collective.attributes(visit); }
  constexpr AnyTensor expand(auto x, auto) const { return collective.flattened(x); }
};

/// The parts of all replicas, one behind the other; on one replica x, flattened.
///
/// like    links the layouts of several such operators; not looked at
/// source  ai.graphcore ReplicatedAllGather-1
struct ReplicatedAllGather {
  Collective collective{};

  static constexpr OpId id{"ai.graphcore", "ReplicatedAllGather", 1};
  static constexpr Signature signature = "x like? -> y";
  constexpr void attributes(auto&& visit) { collective.attributes(visit); }
  constexpr AnyTensor expand(auto x, auto) const {
    return reshape(x, constant(*x.graph, Dims{-1}));
  }
};

/// The sum of all inputs, once for each; they live on different machines of one replica.
///
/// ipus                the machines
/// identicalInputs     1: the inputs are equal already, each output is its input
/// identicalGradInputs is about the gradient
/// limits              adds whatever collectiveOperator says, as PopART does
/// source              ai.graphcore AllReduce-1
struct AllReduce {
  BoundedList<std::int64_t, 255> ipus{};
  std::int64_t identical_inputs = 0, identical_gradient_inputs = 0, collective_operator = 0;

  static constexpr OpId id{"ai.graphcore", "AllReduce", 1};
  static constexpr Signature signature = "inputs... -> outputs...";
  constexpr void attributes(auto&& visit) {
    visit("ipus", ipus);
    visit("identicalInputs", identical_inputs);
    visit("identicalGradInputs", identical_gradient_inputs);
    visit("__collectiveOperator", collective_operator);
  }
  constexpr std::vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    std::vector<AnyTensor> y;
    if (inputs.empty()) fail(ErrorKind::model, {.what = "there is nothing to add"});
    if (identical_inputs != 0) {
      for (const auto& x : inputs) y.push_back(identity(x));
      return y;
    }
    auto total = inputs[0];
    for (std::size_t i = 1; i < inputs.size(); ++i) total = total + inputs[i];
    for (std::size_t i = 0; i < inputs.size(); ++i) y.push_back(identity(total));
    return y;
  }
};

}  // namespace op
}  // namespace halftone

#endif
