#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <halftone/base/vector.hpp>
#include <halftone/graph/graph.hpp>
#include <halftone/program/program.hpp>

namespace halftone {

/// What programs and options call a schedule.
constexpr std::string_view name(Schedule schedule) {
  constexpr std::string_view names[] = {"none", "grouped", "continuous", "one_f_one_b",
                                        "zero_bubble"};
  return names[static_cast<std::size_t>(schedule)];
}

/// The same for recomputation.
constexpr std::string_view name(Recomputation mode) {
  constexpr std::string_view names[] = {"none", "standard", "norm_only", "all", "pipeline"};
  return names[static_cast<std::size_t>(mode)];
}

/// A piece of a graph, that of one stage or less.
struct Fragment {
  Program program{};
  std::int32_t ipu = 0, stage = 0;
  Part part = Part::forward;   ///< forward: also the gradients of the stage that has the loss
  bool is_of_weights = false;  ///< it computes what no other stage waits for: gradients of weights
  bool is_of_step = false;     ///< it runs once, behind all micro-batches
  Vector<std::int32_t> given{};  ///< the channel of each input of the program
  Vector<std::int32_t>
      passed{};  ///< the channel of each output; Channel::none: a variable's memory
};

/// A value that fragments pass on.
struct Channel {
  static constexpr std::int32_t none = -1;

  TensorId tensor = no_tensor;
  std::int32_t from = none;   ///< a fragment; none: the graph is given it
  std::int32_t input = none;  ///< which input of the graph it is then
  Vector<std::int32_t> to{};  ///< fragments
  bool is_output = false;     ///< the graph gives it to the outside, too
  std::int32_t slots = 0;     ///< micro-batches whose values wait at a time; 0: not known yet
};

/// A micro-batch in a fragment, in a turn. In a turn an IPU may have several, which it runs in their
/// order.
struct TimetableEntry {
  std::int32_t fragment = 0, micro_batch = 0, turn = 0;
  friend constexpr bool operator==(const TimetableEntry&, const TimetableEntry&) = default;
};

/// A graph in pieces: what runs where and when. Ids of tensors are those of the graph in all pieces.
struct Spread {
  Schedule schedule = Schedule::none;
  std::int32_t ipus = 1, stages = 1;  ///< stages: of the forward part
  Vector<Fragment> fragments;         ///< a fragment reads what those before it pass on
  Vector<Channel> channels;

  /// An output of the graph is an output of a fragment, or an input of the graph.
  struct Output {
    TensorId tensor = no_tensor;
    std::int32_t fragment = Channel::none, number = 0;
  };
  Vector<Output> outputs;
};

/// The number of stages of the forward part; 0: no node has one.
std::int32_t stages_of(const Graph& graph);
inline bool has_stages(const Graph& graph) { return stages_of(graph) != 0; }

/// Throws UsageError if there are fewer micro-batches at a time than stages: some would never run side
/// by side. `is_step`: they are those of a step of the optimizer, or else of a run.
void check_depth(const Graph& graph, std::int64_t micro_batches, bool is_step);

/// Cuts a graph whose nodes all have a stage into a fragment a stage; of a graph that is trained each
/// stage has fragments for the forward and backward part and for updates. Fragments have graphs and no
/// steps yet. `schedule`: that of the spread, which divides backward parts for zero_bubble.
///
/// errors  UsageError: a stage on two IPUs; a node that reads what a later stage computes; a variable
///         that one stage changes and another one uses. UnsupportedError: `continuous` with updates
///         that need several stages; nodes that use streams, or change remote
///         buffers before a step ends
Spread cut(const Graph& graph, Schedule schedule);

/// The micro-batches of a run in an order in which they can run one after the other; on each IPU they
/// run in this order. Sorted by turns.
Vector<TimetableEntry> timetable(const Spread& spread, std::int32_t micro_batches);

/// Gives each channel as many slots as micro-batches wait in it at a time.
void count_slots(Spread& spread, const Vector<TimetableEntry>& slots);

/// When each slot of a timetable runs if its fragment takes so long: as soon as its IPU is free and
/// what it reads is there; in `grouped` all IPUs wait for the end of a turn.
struct Timeline {
  Vector<double> start;
  double end = 0;
  double busy = 0;  ///< of all IPUs
  double idle_share(std::int32_t ipus) const { return end > 0 ? 1 - busy / (end * ipus) : 0; }
};
Timeline timeline(const Spread& spread, const Vector<TimetableEntry>& slots,
                  const Vector<double>& seconds);

}  // namespace halftone
