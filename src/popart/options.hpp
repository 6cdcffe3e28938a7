#pragma once

#include <halftone/exec/ranks.hpp>
#include <halftone/graph/place.hpp>
#include <span>
#include <string>

#include <popart/sessionoptions.hpp>

namespace popart::detail {

/// What a setting of PopART's does here.
enum class OptionStatus {
  effect,    ///< it is in effect
  refused,   ///< any other value than its default is an error
  nothing,   ///< it has no subject here: another value is logged as a warning
  machine,   ///< in effect on emulated IPUs; on the cpu any other value is an error
  modelled,  ///< in effect on emulated IPUs; on the cpu another value is logged as a warning
  built_in,  ///< it is how the library works, always
  training,  ///< in effect in training; in inference another value is logged as a warning
};

/// What one setting does here. The tables of these are what sessions warn from and what the
/// documentation shows.
struct SettingRow {
  const char* name;
  OptionStatus status;
  const char* text;  ///< what it does, or why not
};

struct OptionRow : SettingRow {
  bool (*isSet)(const SessionOptions& options);  ///< whether it has another value than its default
};

/// One row for each option, in the order of the declarations.
std::span<const OptionRow> optionTable();
/// Poplar's engine options, by their whole names.
std::span<const SettingRow> engineOptionTable();

/// Throws the library's UsageError unless a step has at least one batch.
void checkBatches(int batchesPerStep);

/// Throws popart::error for options that are refused or contradict each other; logs those without
/// effect. `isIpu`: the device is an emulated IPU.
void checkInferenceOptions(const SessionOptions& options, bool isIpu);
void checkTrainingOptions(const SessionOptions& options, bool isIpu);

/// A text in lower case, as names of tie breakers are compared.
std::string lowered(std::string text);

/// What the options ask to be computed again.
halftone::Recomputation recomputationOf(const SessionOptions& options);

/// The replicas that this process runs, and the ranks that run the others; null: there are none.
std::int64_t localReplicas(const SessionOptions& options);
const halftone::Ranks* ranksOf(const SessionOptions& options);

}  // namespace popart::detail
