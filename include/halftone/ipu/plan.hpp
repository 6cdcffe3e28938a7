#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/graph/place.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/ipu/target.hpp>

namespace halftone::ipu {

/// Where the state of an optimizer lies while no update needs it.
enum class StatePlace : std::uint8_t {
  on_chip,
  sharded,   ///< each replica has a part of it (shard)
  off_chip,  ///< in streaming memory (off_chip)
};
constexpr std::string_view name(StatePlace place) {
  constexpr std::string_view names[] = {"on chip", "sharded", "off chip"};
  return names[static_cast<int>(place)];
}

/// A model with a batch of so many items: one micro-batch, not trained, without places.
using ModelOfBatch = std::function<Graph(std::int64_t items)>;

struct PlanOptions {
  std::int64_t ipus = 16;  ///< of the whole system: 1 to 64
  std::int64_t batch = 0;  ///< items of a step, or of a run; 0: what suits each choice
  std::vector<std::int64_t>
      micro_batches{};                 ///< items that are tried; empty: powers of two up to 64
  std::vector<std::int32_t> stages{};  ///< that are tried; empty: the divisors of `ipus`
  std::vector<Schedule> schedules{Schedule::grouped, Schedule::one_f_one_b, Schedule::zero_bubble};
  std::vector<Recomputation> recompute{Recomputation::none, Recomputation::standard};
  std::vector<StatePlace> state{StatePlace::on_chip, StatePlace::sharded, StatePlace::off_chip};
  /// Records training in the model of a micro-batch; empty: inference.
  std::function<void(Graph&)> train{};
  ProfileOptions profile{};  ///< `ipus` and placement are not looked at
  bool half = false;  ///< the model computes in half (in_half()), before training is recorded
  /// Counts the streams of inputs and outputs, as profile() does, `prefetch` and `io_tiles` included;
  /// false: they are left out, as profile_pipeline() leaves them out.
  bool host = true;
};

/// One way to spread a model over a system.
struct PlanPoint {
  std::int32_t stages = 1;         ///< an IPU each
  std::int64_t replicas = 1;       ///< of all stages
  std::int64_t micro_batch = 1;    ///< items
  std::int64_t micro_batches = 1;  ///< of a replica in a step, or in a run
  Schedule schedule = Schedule::none;
  Recomputation recompute = Recomputation::none;
  StatePlace state = StatePlace::on_chip;
  bool half = false;  ///< the model computes in half

  std::vector<std::int64_t> stage_ends{};  ///< nodes of the model before the end of each stage
  std::int64_t cycles = 0;                 ///< of a step, or of a run
  double seconds = 0, items_per_second = 0;
  double idle_share = 0;  ///< of the time of all IPUs
  std::int32_t fullest_stage = 0;
  double memory_share = 0;  ///< of the tiles of the fullest stage; above 1: it does not fit
  /// What lies on that IPU.
  struct Bytes {
    std::int64_t weights = 0, state = 0, waiting = 0, temporaries = 0, code = 0;
    std::int64_t sum() const { return weights + state + waiting + temporaries + code; }
  } bytes{};

  bool fits() const { return memory_share <= 1; }
  std::int64_t ipus() const { return stages * replicas; }
  std::int64_t batch() const { return micro_batch * micro_batches * replicas; }
  /// Gives the nodes of the model stages and IPUs: before training is recorded.
  void place(Graph& model) const;
  /// One line, as options of the command line.
  std::string text() const;
};

/// What a search found.
struct Plan {
  Target target;
  std::int64_t ipus = 0;
  bool is_training = false, counts_host = true;
  std::vector<PlanPoint>
      points;  ///< all that were tried, the fastest first; those that fit before others

  /// The fastest that fits, null if none does.
  const PlanPoint* best() const;
  /// Those that fit and that no other one beats in items a second and memory at once; fastest first.
  std::vector<const PlanPoint*> pareto() const;
  /// A table of them, and why the fastest others fail.
  std::string summary() const;
  /// Schema halftone.ipu.plan, version 1: all points.
  std::string json() const;
};

/// Searches stages, replicas, micro-batches, schedules, recomputation and places of the optimizer's
/// state for the fastest way to run a model on a system. A micro-batch size is priced once, node by
/// node, as profile() does; stages end where little flows; all else is put together from these numbers.
///
/// memory  bytes of weights, state, waiting values, temporaries and code of a stage, times the share
///         by which the fullest tile exceeds the mean in the whole graph
/// host    a stage waits for what its own work of a micro-batch does not hide: inputs with `prefetch`,
///         outputs as well with `io_tiles`
/// errors  UsageError: a system or numbers out of range, another recomputation than none and standard, a
///         schedule that is not one of the three, or a batch that no choice divides; those of
///         profile() and cut()
Plan plan(const ModelOfBatch& model, const Target& target, const PlanOptions& options);

}  // namespace halftone::ipu
