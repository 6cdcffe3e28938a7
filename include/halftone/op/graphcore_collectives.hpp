#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_COLLECTIVES_HPP
#define HALFTONE_OP_GRAPHCORE_COLLECTIVES_HPP

#include <halftone/kernel/communicator.hpp>

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

/// The members of the groups of a constant grouping; see ReplicaGrouping.
struct MemberFormula {
  int stride = 1, size = 1, groups = 1;

  constexpr int member(int group, int i) const {
    return group / stride * (stride * size) + group % stride + i * stride;
  }
  constexpr int index(int replica) const { return replica / stride % size; }
};

namespace op {

/// Numbers, and bool, which `and` and `or` join.
using CollectiveTypes = Joined<NumericTypes, TypeList<bool>>;

/// What collective operators say about the replicas.
struct Collective {
  CollectiveOperator collective_operator = CollectiveOperator::add;
  Dims group{};     ///< PopART's first form: [type, size]; 1: consecutive, 2: orthogonal, else all
  Dims grouping{};  ///< its second form: [replicas, stride, size]; neither: all replicas
  std::int64_t replicated_tensor_sharding = 0;

  constexpr void attributes(auto&& visit) {
    visit("__collectiveOperator", collective_operator);
    visit("__collectiveCommGroup", group);
    visit("__collectiveReplicaGrouping", grouping);
    visit("__replicatedTensorSharding", replicated_tensor_sharding);
  }
  /// Why attributes are not those of a collective operator on elements of that type; null if they
  /// are.
  constexpr const char* defect(ElementType type) const {
    if (collective_operator < CollectiveOperator::add ||
        collective_operator > CollectiveOperator::local) {
      return "__collectiveOperator is out of range";
    }
    if (!group.empty() && !grouping.empty()) return "a collective operator has two groups";
    if (!group.empty() && group.size() != 2) return "__collectiveCommGroup is not [type, size]";
    constexpr std::int64_t most = 1 << 15;
    if (!group.empty() && (group[1] < 0 || group[1] > most)) {
      return "the groups of a collective operator have too many members";
    }
    if (!grouping.empty() && (grouping.size() != 3 || grouping[1] < 1 || grouping[2] < 1 ||
                              grouping[0] > most || grouping[1] > most || grouping[2] > most ||
                              grouping[0] % (grouping[1] * grouping[2]) != 0)) {
      return "__collectiveReplicaGrouping is not [replicas, stride, size]";
    }
    const bool is_logical = collective_operator == CollectiveOperator::logical_and ||
                            collective_operator == CollectiveOperator::logical_or;
    if (collective_operator == CollectiveOperator::local) return nullptr;
    if (is_logical && type != ElementType::boolean) return "logical operators join tensors of bool";
    if (!is_logical && type == ElementType::boolean) return "tensors of bool are joined by and, or";
    return nullptr;
  }
  constexpr bool has_group() const {
    return group.size() == 2 && (group[0] == 1 || group[0] == 2) && group[1] > 0;
  }
  /// Whether the attributes say how many members a group has.
  constexpr bool knows_size() const { return !grouping.empty() || has_group(); }
  /// The members of a group; 1 for a group of all replicas where nobody says how many there are.
  constexpr std::int64_t group_size() const {
    if (!grouping.empty()) return grouping[2];
    return has_group() ? group[1] : 1;
  }
  /// Whether they are groups of so many replicas.
  constexpr bool divides(std::int64_t replicas) const {
    if (!grouping.empty()) return grouping[0] == replicas;
    return !has_group() || replicas % group[1] == 0;
  }
  constexpr MemberFormula members(int replicas) const {
    const auto formula = [&](std::int64_t stride, std::int64_t size) {
      return MemberFormula{static_cast<int>(stride), static_cast<int>(size),
                           static_cast<int>(replicas / size)};
    };
    if (!grouping.empty()) return formula(grouping[1], grouping[2]);
    if (has_group()) {
      const std::int64_t rest = replicas > group[1] ? replicas / group[1] : 1;
      return formula(group[0] == 1 ? 1 : rest, group[1]);
    }
    return formula(1, replicas);
  }
  constexpr MemberFormula members(const KernelCall& call) const {
    return members(call.communicator == nullptr ? 1 : call.communicator->replicas);
  }
};

}  // namespace op

namespace kernel {
// kernel/collective.hpp
template <class T>
void replicated_all_reduce(const op::Collective& collective, const KernelCall& call,
                           View<const T> x, View<T> y);
template <class T>
void replicated_reduce_scatter(const op::Collective& collective, const KernelCall& call,
                               View<const T> x, View<T> y);
template <class T>
void replicated_all_gather(const op::Collective& collective, const KernelCall& call,
                           View<const T> x, View<T> y);
template <class T>
void all_reduce(CollectiveOperator join, bool is_joined, const ViewList<const T>& x,
                const ViewList<T>& y);
}  // namespace kernel

namespace op {

/// The replicas' tensors joined element by element, in the order of the replicas; see
/// halftone/collectives.hpp. float16 and bfloat16 are joined in float and rounded once.
///
/// grad    none
/// source  ai.graphcore ReplicatedAllReduce-1
struct ReplicatedAllReduce {
  Collective collective{};

  static constexpr OpId id{"ai.graphcore", "ReplicatedAllReduce", 1};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<CollectiveTypes>;
  static constexpr bool in_place = true;  // blocks are joined before they are written
  static constexpr bool compiled_once = true;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::replicas;

  constexpr void attributes(auto&& visit) { collective.attributes(visit); }
  constexpr Inferred infer(const TensorInfo& x) const {
    const char* const defect = collective.defect(x.type);
    if (defect != nullptr) return Inferred::mismatch(defect);
    return x;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::replicated_all_reduce<T>(collective, call, x, y);
  }
  void cost(auto& machine, std::span<const TensorInfo> in, std::span<const TensorInfo>) const {
    machine.move(in[0]);
    machine.pass("Add", in[0]);
  }
};

/// The replica's part of the replicas' tensors joined: part i of the elements for member i of a
/// group, the last one filled up with zeros. With operator `local`, the part of its own tensor.
///
/// like    links the layouts of several such operators; not looked at
/// grad    of `local`: ReplicatedAllGather; else none
/// source  ai.graphcore ReplicatedReduceScatter-1
struct ReplicatedReduceScatter {
  Collective collective{};

  static constexpr OpId id{"ai.graphcore", "ReplicatedReduceScatter", 1};
  static constexpr Signature signature = "x like? -> y";
  using types = TypeList<CollectiveTypes>;
  static constexpr bool compiled_once = true;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::replicas;

  constexpr void attributes(auto&& visit) { collective.attributes(visit); }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    const char* const defect = collective.defect(x.type);
    if (defect != nullptr) return Inferred::mismatch(defect);
    const std::int64_t n = x.elements(), size = collective.group_size();
    return TensorInfo{x.type, {n == dynamic ? dynamic : n / size + (n % size != 0 ? 1 : 0)}};
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T>, View<T> y) const {
    kernel::replicated_reduce_scatter<T>(collective, call, x, y);
  }
  void cost(auto& machine, std::span<const TensorInfo> in, std::span<const TensorInfo> out) const {
    machine.move(in[0]);
    machine.pass("Add", out[0]);
  }
  constexpr void gradient(auto& g) const {
    if (collective.collective_operator != CollectiveOperator::local) {
      halftone::detail::refuse_gradient(
          g.graph(), g.node(), {.what = "only a replica's part of its own tensor has a gradient"});
    }
    // The parts of all members side by side, without what the last one was filled up with.
    const TensorInfo x = g.x().info();
    const AnyTensor all = replicated_all_gather(g.dy(), none, {.collective = collective});
    const AnyTensor own =
        slice(all, constant(g.graph(), Dims{0}), constant(g.graph(), Dims{x.elements()}));
    g.dx() += GradientScope::reshape_to(own, x.shape);
  }
};

/// The parts of all members of a group, one behind the other.
///
/// like    links the layouts of several such operators; not looked at
/// grad    the replica's part
/// source  ai.graphcore ReplicatedAllGather-1
struct ReplicatedAllGather {
  Collective collective{};

  static constexpr OpId id{"ai.graphcore", "ReplicatedAllGather", 1};
  static constexpr Signature signature = "x like? -> y";
  using types = TypeList<CollectiveTypes>;
  static constexpr bool compiled_once = true;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::replicas;

  constexpr void attributes(auto&& visit) { collective.attributes(visit); }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    Collective parts = collective;
    parts.collective_operator = CollectiveOperator::local;
    const char* const defect = parts.defect(x.type);
    if (defect != nullptr) return Inferred::mismatch(defect);
    const std::int64_t n = x.elements();
    return TensorInfo{x.type, {n == dynamic ? dynamic : n * collective.group_size()}};
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T>, View<T> y) const {
    kernel::replicated_all_gather<T>(collective, call, x, y);
  }
  void cost(auto& machine, std::span<const TensorInfo>, std::span<const TensorInfo> out) const {
    machine.move(out[0]);
  }
  constexpr void gradient(auto& g) const {
    Collective own = collective;
    own.collective_operator = CollectiveOperator::local;
    const AnyTensor part = replicated_reduce_scatter(g.dy(), none, {.collective = own});
    g.dx() += GradientScope::reshape_to(part, g.x().info().shape);
  }
};

/// The tensors of several IPUs of one replica joined element by element, once for each.
///
/// ipus                 of the tensors
/// identicalInputs      1: the inputs are equal already, each output is its input; the gradients are
///                      joined
/// identicalGradInputs  1: the gradients are equal, each goes back as it is
/// grad                 for add alone: the gradients joined, unless one of the two says otherwise
/// source               ai.graphcore AllReduce-1
struct AllReduce {
  BoundedList<std::int64_t, 255> ipus{};
  std::int64_t identical_inputs = 0, identical_gradient_inputs = 0;
  CollectiveOperator collective_operator = CollectiveOperator::add;

  static constexpr OpId id{"ai.graphcore", "AllReduce", 1};
  static constexpr Signature signature = "inputs... -> outputs...";
  using types = TypeList<CollectiveTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("ipus", ipus);
    visit("identicalInputs", identical_inputs);
    visit("identicalGradInputs", identical_gradient_inputs);
    visit("__collectiveOperator", collective_operator);
  }
  constexpr Inferred infer(const Inputs& in) const {
    if (in.size() == 0) return Inferred::mismatch("there is nothing to add");
    if (in.size() > 255 || in.size() < in.output_count()) {
      return Inferred::mismatch("there are not as many outputs as inputs",
                                static_cast<std::int64_t>(in.size()),
                                static_cast<std::int64_t>(in.output_count()));
    }
    const Collective all{.collective_operator = collective_operator};
    if (const char* const defect = all.defect(in[0].type); defect != nullptr) {
      return Inferred::mismatch(defect);
    }
    Vector<TensorInfo> outputs;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i].is_static() && in[0].is_static() && in[i] != in[0]) {
        return Inferred::mismatch("the tensors of the IPUs have different shapes", in[0].elements(),
                                  in[i].elements());
      }
      outputs.push_back(in[i]);
    }
    return outputs;
  }
  template <class T>
  void kernel(const ViewList<const T>& x, const ViewList<T>& y) const {
    kernel::all_reduce<T>(collective_operator, identical_inputs == 0, x, y);
  }
  void cost(auto& machine, std::span<const TensorInfo> in, std::span<const TensorInfo>) const {
    for (const TensorInfo& x : in) machine.move(x);
    if (identical_inputs == 0) machine.pass("Add", in[0]);
  }
  constexpr void gradient(auto& g) const {
    if (collective_operator != CollectiveOperator::add) {
      halftone::detail::refuse_gradient(g.graph(), g.node(),
                                        {.what = "only sums over IPUs have a gradient"});
    }
    if (identical_gradient_inputs != 0) {
      for (std::size_t i = 0; i < g.outputs(); ++i) g.dx(i) += g.dy(i);
      return;
    }
    Vector<TensorId> arriving;
    for (std::size_t i = 0; i < g.outputs(); ++i) arriving.push_back(g.dy(i).id);
    const Vector<TensorId> sums =
        halftone::detail::record(g.graph(), AllReduce{.ipus = ipus}, arriving, arriving.size());
    // Inputs beyond the outputs are parts of each of these, too.
    const std::size_t count = identical_inputs == 0 ? g.inputs() : sums.size();
    for (std::size_t i = 0; i < count; ++i) {
      g.dx(i) += AnyTensor{&g.graph(), sums[i < sums.size() ? i : 0]};
    }
  }
};

}  // namespace op
}  // namespace halftone

#endif
