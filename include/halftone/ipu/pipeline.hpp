#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <halftone/ipu/profile.hpp>
#include <halftone/program/spread.hpp>

namespace halftone::ipu {

/// The cycles at which a pipeline is filled (each fragment has begun with its first micro-batch), at which
/// its main part is over (one fragment is through with its last one), and at which it is flushed (all
/// are). Updates follow. A pipeline of fewer turns than fragments has no main part.
struct PipelinePhases {
  std::int64_t filled = 0, drains = 0, flushed = 0;
};

/// This is what the stages of a pipeline would do on a machine whose IPUs have a clock each.
struct PipelineProfile {
  Target target;
  Spread spread;
  std::int32_t micro_batches = 0;
  Vector<TimetableEntry> timetable;
  std::vector<std::int64_t>
      fragment_cycles;  ///< with the copies over links, of what a fragment gets and gives
  Timeline timeline;    ///< in cycles
  /// The run as a report: each fragment's steps repeat for its micro-batches, and begin with the first
  /// one; values that wait for other stages lie in memory. Its program is init, fill, main, flush and
  /// update, which call the programs of fragments.
  Report report;

  /// The run takes so long until the last IPU has done the last micro-batch.
  std::int64_t cycles() const { return static_cast<std::int64_t>(timeline.end); }
  double seconds() const { return target.seconds(cycles()); }
  /// The share counts the IPUs that have stages.
  double idle_share() const { return timeline.idle_share(spread.ipus); }
  std::int64_t busy_cycles(std::int32_t ipu) const;
  PipelinePhases phases() const;
  /// Bytes of the values that wait on an IPU for other stages, most of them for gradients.
  std::int64_t waiting_bytes(std::int32_t ipu) const;

  /// Numbers, and a lane for each IPU: f forward, b backward, w gradients of weights, u updates.
  std::string summary() const;
  /// Schema halftone.ipu.pipeline, version 1.
  std::string json() const;
  /// One page with a lane for each IPU, which needs nothing else.
  std::string html() const;
  /// Chrome trace events: for Perfetto and chrome://tracing.
  std::string trace() const;
  /// What a fragment does, as lanes call it: f, b, w or u.
  char kind(const Fragment& fragment) const;
};

/// The stages of a graph (place(), OnStage) run so many micro-batches. The host's exchange is not
/// counted.
///
/// errors  UsageError: no node has a stage, a stage is on an IPU that the machine does not have, there
///         are fewer micro-batches than stages; those of profile() and cut()
PipelineProfile profile_pipeline(const Graph& graph, const Target& target, Schedule schedule,
                                 std::int32_t micro_batches, const ProfileOptions& options = {});

}  // namespace halftone::ipu
