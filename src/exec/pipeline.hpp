#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <halftone/program/spread.hpp>

#include "bind.hpp"

namespace halftone {

/// Runs a graph that was cut into fragments: several micro-batches together, those of different IPUs on
/// different threads. What it computes does not depend on their number.
class Pipeline {
 public:
  /// Makes programs of the fragments. `executor` runs IPUs side by side, or the kernels if there is one
  /// IPU alone; all of them are borrowed.
  Pipeline(Spread spread, const EngineOptions& options, const kernel::Executor& executor,
           const Reach& reach);
  /// A copy for another replica, whose variables `change` puts into each fragment's graph.
  Pipeline(const Pipeline& first, const Reach& reach, const std::function<void(Graph&)>& change);

  /// Where input number `i` of micro-batch m is.
  using Given = std::function<const void*(std::size_t i, std::int64_t m)>;
  /// Runs so many micro-batches; the inputs are borrowed until the next run.
  void run(std::int64_t micro_batches, Given given);
  /// Output number i of micro-batch m in the last run; what is computed once a step is the same for all.
  AnyView output(std::size_t i, std::int64_t m) const;
  /// Whether an output is computed once a step.
  bool is_of_step(std::size_t i) const;

  const Spread& spread() const { return spread_; }
  /// Arenas, one an IPU; and with packed weights and what waits between fragments.
  std::size_t arena_bytes() const;
  std::size_t bytes() const;
  void measure(MeasuredExecutor* with);
  void add_times(std::vector<NodeTime*>& all);

 private:
  void bind(const Reach& reach);
  void prepare(std::int64_t micro_batches);
  std::byte* slot(std::int32_t channel, std::int64_t m) const;
  std::size_t tensor_bytes(std::int32_t channel) const;
  bool is_ready(const TimetableEntry& entry) const;
  void run_entry(const TimetableEntry& entry);
  void run_part(std::size_t part);

  Spread spread_;
  const EngineOptions options_;
  const kernel::Executor executor_, single_{};  ///< one of them runs the kernels
  int threads_ = 1;                             ///< that run IPUs side by side
  std::vector<std::unique_ptr<Bound>> pieces_;
  std::vector<std::size_t> arenas_;  ///< bytes, of each IPU
  /// The timetable of the number of micro-batches that ran last, and each thread's part of it.
  std::int64_t prepared_ = 0;
  std::vector<std::vector<TimetableEntry>> parts_;
  std::vector<std::int64_t> rings_;  ///< where the slots of each channel begin
  Storage ring_memory_;
  std::size_t ring_bytes_ = 0;

  Given given_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::int64_t> done_;  ///< micro-batches of each fragment
  bool has_failed_ = false;
};

}  // namespace halftone
