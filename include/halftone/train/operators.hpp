#pragma once

#include <halftone/op/list.hpp>

namespace halftone::kernel {

// kernel/shards.hpp
template <class T>
void join_total(const op::Collective& collective, const KernelCall& call, View<T> total);
template <class T>
void scatter_total(bool is_mean, const KernelCall& call, View<T> total, View<T> part);
template <class T>
void gather_parts(const KernelCall& call, View<const T> part, View<T> whole);
template <class T>
void add_squares(const KernelCall& call, T (&squares)[2]);

}  // namespace halftone::kernel

namespace halftone::detail::training {

/// A number that the program may set between runs. It counts as modified: plans do not fold it.
///
/// source  none
struct Setting {
  static constexpr OpId id{"halftone", "Setting", 1};
  static constexpr Signature signature = "x& -> y";
  using types = TypeList<TypeList<float>>;

  static constexpr Inferred infer(TensorInfo x) { return x; }
  template <class T>
  void kernel(View<T> x, View<T> y) const {
    y.data[0] = x.data[0];
  }
};

/// Counts the runs of a step of the optimizer.
///
/// replicas      whose gradients are added to each other
/// count         runs since the last step
/// loss_scaling  what the gradient of the loss starts with, [1]
/// apply         whether this run ends a step
/// position      which run of its step this is, from 0, [1]
/// scale         what the joined gradients are multiplied by, [1]
/// source        none
struct TrainingStep {
  std::int64_t runs = 1, reduction = 0;  ///< an AccumulationReduction
  std::int64_t replicas = 1;
  std::int64_t sum_type = 0;   ///< StateTypes::sum
  bool sum_as_weight = false;  ///< StateTypes::as_weight

  static constexpr OpId id{"halftone", "TrainingStep", 1};
  static constexpr Signature signature = "count& loss_scaling:H -> apply:B position:H scale:H";
  using types = TypeList<TypeList<std::int64_t>, TypeList<float>, TypeList<bool>>;

  constexpr void attributes(auto&& visit) {
    visit("runs", runs);
    visit("reduction", reduction);
    visit("replicas", replicas);
    visit("sum_type", sum_type);
    visit("sum_as_weight", sum_as_weight);
  }
  static constexpr Inferred infer(TensorInfo, TensorInfo loss_scaling) {
    return {TensorInfo{ElementType::boolean, {}}, loss_scaling, loss_scaling};
  }
  template <class T, class H, class B>
  void kernel(View<T> count, View<const H> loss_scaling, View<B> apply, View<H> position,
              View<H> scale) const {
    position.data[0] = static_cast<H>(count.data[0]);
    count.data[0] = (count.data[0] + 1) % runs;
    apply.data[0] = count.data[0] == 0;
    scale.data[0] = 1 / loss_scaling.data[0];
    if (reduction == 1) scale.data[0] /= static_cast<H>(runs * replicas);
  }
};

/// The gradient of a weight, as an update of the program's own takes it: says which weight that is.
///
/// g       the gradient of this run, or what the runs of a step have brought so far
/// w       the weight
/// source  none
struct StepGradient {
  static constexpr OpId id{"halftone", "StepGradient", 1};
  static constexpr Signature signature = "g w:W -> dw@g";
  using types = TypeList<TypeList<float, double>, FloatTypes>;

  static constexpr Inferred infer(TensorInfo g, TensorInfo) { return g; }
};

/// By what the loss scaling has changed since the run before.
///
/// previous      the loss scaling that state is multiplied by; becomes loss_scaling, [1]
/// loss_scaling  [1]
/// source        PopART's LossScalingRatio_
struct LossScalingRatio {
  static constexpr OpId id{"halftone", "LossScalingRatio", 1};
  static constexpr Signature signature = "previous& loss_scaling -> ratio";
  using types = TypeList<TypeList<float>>;

  static constexpr Inferred infer(TensorInfo previous, TensorInfo) { return previous; }
  template <class T>
  void kernel(View<T> previous, View<const T> loss_scaling, View<T> ratio) const {
    ratio.data[0] = loss_scaling.data[0] / previous.data[0];
    previous.data[0] = loss_scaling.data[0];
  }
};

/// Multiplies a state of an optimizer, once or twice; a ratio of 1 costs nothing.
///
/// state   any shape
/// ratio   [1]
/// source  PopART's RescaleAccumulate
struct RescaleState {
  bool twice = false;

  static constexpr OpId id{"halftone", "RescaleState", 1};
  static constexpr Signature signature = "state& ratio:H -> y@state";
  using types = TypeList<TypeList<float, double>, TypeList<float>>;

  constexpr void attributes(auto&& visit) { visit("twice", twice); }
  static constexpr Inferred infer(TensorInfo state, TensorInfo) { return state; }
  template <class T, class H>
  void kernel(View<T> state, View<const H> ratio, View<T>) const {
    const T factor = static_cast<T>(ratio.data[0]);
    if (factor == 1) return;
    const T all = twice ? factor * factor : factor;
    for (std::int64_t i = 0; i < state.size(); ++i) state.data[i] *= all;
  }
};

/// Halves or doubles a factor, after what was counted in the last steps.
///
/// factor  [1]
/// counts  numbers beyond the edge, numbers within, steps; since the last change, [3]
/// beyond  numbers beyond the edge in this run
/// apply   whether this run ends a step; absent: it does
/// source  PopART's automatic loss scaling
struct AdjustLossScaling {
  float threshold = 1e-7f;
  std::int64_t all = 0;  ///< numbers that are looked at in a run
  std::int64_t period = 1;

  static constexpr OpId id{"halftone", "AdjustLossScaling", 1};
  static constexpr Signature signature = "factor& counts& beyond apply:B? -> y@factor";
  using types = TypeList<TypeList<float>, TypeList<bool>>;

  constexpr void attributes(auto&& visit) {
    visit("threshold", threshold);
    visit("all", all);
    visit("period", period);
  }
  static constexpr Inferred infer(const Inputs& in) { return in[0]; }
  template <class T, class B>
  void kernel(View<T> factor, View<T> counts, View<const T> beyond, View<const B> apply,
              View<T>) const {
    counts.data[0] += beyond.data[0];
    counts.data[1] += static_cast<T>(all) - beyond.data[0];
    if (apply && !apply.data[0]) return;
    counts.data[2] += 1;
    if (counts.data[2] < static_cast<T>(period)) return;
    factor.data[0] = next_loss_scale(factor.data[0], counts.data[1], counts.data[0], threshold);
    for (int i = 0; i < 3; ++i) counts.data[i] = 0;
  }
};

/// Joins the totals that the replicas have accumulated, each for itself, in the run that ends a step:
/// every replica gets the sum, or the mean, in the order of the replicas.
///
/// total   any shape; changed where apply is true
/// apply   absent: true; equal in all replicas
/// source  PopART's reduction of accumulators, ReplicatedAllReduceInplace
struct JoinTotal {
  bool is_mean = false;
  Dims grouping{};  ///< of replicas whose totals are joined: [replicas, stride, size]; none: all

  static constexpr OpId id{"halftone", "JoinTotal", 1};
  static constexpr Signature signature = "total& apply:B? -> y@total";
  using types = TypeList<TypeList<float, double>, TypeList<bool>>;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::replicas;

  constexpr void attributes(auto&& visit) {
    visit("is_mean", is_mean);
    visit("grouping", grouping);
  }
  static constexpr Inferred infer(const Inputs& in) { return in[0]; }
  template <class T, class B>
  void kernel(const KernelCall& call, View<T> total, View<const B> apply, View<T>) const {
    if (apply && !apply.data[0]) return;
    kernel::join_total<T>(
        {.collective_operator = is_mean ? CollectiveOperator::mean : CollectiveOperator::add,
         .grouping = grouping},
        call, total);
  }
  static constexpr void cost(auto& machine, auto in, auto) {
    machine.move(in[0]);
    machine.pass("Add", in[0]);
  }
};

/// The same for replicas that update a part of a weight: every replica gets its part of what is
/// joined, filled up with zeros, and its total starts again with zeros.
///
/// total   any shape; changed where apply is true
/// apply   absent: true; equal in all replicas
/// part    [elements / replicas, rounded up]; zeros where apply is false
/// source  ai.graphcore ReplicatedReduceScatter, as PopART shards an optimizer's step
struct ScatterTotal {
  bool is_mean = false;
  std::int64_t replicas = 1;

  static constexpr OpId id{"halftone", "ScatterTotal", 1};
  static constexpr Signature signature = "total& apply:B? -> part";
  using types = TypeList<TypeList<float, double>, TypeList<bool>>;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::replicas;

  constexpr void attributes(auto&& visit) {
    visit("is_mean", is_mean);
    visit("replicas", replicas);
  }
  constexpr Inferred infer(const Inputs& in) const {
    return TensorInfo{in[0].type, {(in[0].elements() + replicas - 1) / replicas}};
  }
  template <class T, class B>
  void kernel(const KernelCall& call, View<T> total, View<const B> apply, View<T> part) const {
    if (!apply || apply.data[0]) return kernel::scatter_total<T>(is_mean, call, total, part);
    for (std::int64_t i = 0; i < part.size(); ++i) part.data[i] = T{};
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.move(in[0]);
    machine.pass("Add", out[0]);
  }
};

/// Puts the parts of a weight that the replicas have updated together in every replica.
///
/// w       the weight, changed where apply is true
/// part    [elements / replicas, rounded up], of this replica
/// apply   absent: true; equal in all replicas
/// source  ai.graphcore ReplicatedAllGather, as PopART shards an optimizer's step
struct GatherParts {
  static constexpr OpId id{"halftone", "GatherParts", 1};
  static constexpr Signature signature = "w& part apply:B? -> w_next@w";
  using types = TypeList<FloatTypes, TypeList<bool>>;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::replicas;

  static constexpr Inferred infer(const Inputs& in) { return in[0]; }
  template <class T, class B>
  void kernel(const KernelCall& call, View<T> w, View<const T> part, View<const B> apply,
              View<T>) const {
    if (!apply || apply.data[0]) kernel::gather_parts<T>(call, part, w);
  }
  static constexpr void cost(auto& machine, auto in, auto) { machine.move(in[0]); }
};

/// Lamb's step for a part of a weight: op::Update, with the norms of the whole weight and of its whole
/// change, to which every replica adds the squares of its part.
///
/// elements  of the whole weight; what its last part is filled up with does not count
/// source    You et al. 2019, arXiv:1904.00962
struct LambPart {
  op::Update update{};
  std::int64_t elements = 0;

  static constexpr OpId id{"halftone", "LambPart", 1};
  static constexpr Signature signature = op::Update::signature;
  using types = op::Update::types;
  static constexpr bool has_effect = true;
  static constexpr Reaches reaches = Reaches::replicas;

  constexpr void attributes(auto&& visit) {
    update.attributes(visit);
    visit("elements", elements);
  }
  static constexpr Inferred infer(const Inputs& in) { return op::Update::infer(in); }
  constexpr void cost(auto& machine, auto in, auto out) const { update.cost(machine, in, out); }

  /// The update as its kernel takes it.
  struct Whole : op::Update {
    template <class T>
    void add_squares(const KernelCall& call, T (&squares)[2]) const {
      kernel::add_squares<T>(call, squares);
    }
  };
  template <class T, class S, class H, class B>
  void kernel(const KernelCall& call, View<T> w, View<S> g, View<S> s1, View<S> s2, View<S> s3,
              View<H> step, View<const H> h, View<const B> apply, View<T>) const {
    if (apply && !apply.data[0]) return;
    const std::int64_t replica = call.communicator == nullptr ? 0 : call.communicator->replica;
    const std::int64_t first = math::min(replica * w.size(), elements);
    const std::int64_t own = math::min(w.size(), elements - first);
    kernel::update<T, S>(Whole{update}, call, View<T>{w.data, &own, 1}, g, s1, s2, s3, step, h);
  }
  template <class T, class S, class H, class B>
  constexpr std::size_t workspace(const KernelCall&, View<T> w, View<S>, View<S>, View<S>, View<S>,
                                  View<H>, View<const H>, View<const B>, View<T>) const {
    return static_cast<std::size_t>(w.size()) * sizeof(S);
  }
};

}  // namespace halftone::detail::training
