#pragma once

#include <halftone/exec/ranks.hpp>
#include <span>

#include <popart/sessionoptions.hpp>

namespace popart::detail {

/// What an option of PopART's does here.
enum class OptionStatus {
  effect,    ///< it is in effect
  refused,   ///< any other value than its default is an error
  nothing,   ///< it has no subject here: another value is logged as a warning
  machine,   ///< in effect on emulated IPUs; on the cpu any other value is an error
  modelled,  ///< in effect on emulated IPUs; on the cpu another value is logged as a warning
};

struct OptionRow {
  const char* name;
  OptionStatus status;
  const char* text;                              ///< what it does, or why not
  bool (*isSet)(const SessionOptions& options);  ///< whether it has another value than its default
};

/// One row for each option, in the order of the declarations.
std::span<const OptionRow> optionTable();

/// Throws the library's UsageError unless a step has at least one batch.
void checkBatches(int batchesPerStep);

/// Throws popart::error for options that are refused or contradict each other; logs those without
/// effect. `isIpu`: the device is an emulated IPU.
void checkInferenceOptions(const SessionOptions& options, bool isIpu);
void checkTrainingOptions(const SessionOptions& options, bool isIpu);

/// The replicas that this process runs, and the ranks that run the others; null: there are none.
std::int64_t localReplicas(const SessionOptions& options);
const halftone::Ranks* ranksOf(const SessionOptions& options);

}  // namespace popart::detail
