#pragma once

#include <span>

#include <popart/sessionoptions.hpp>

namespace popart::detail {

/// What an option of PopART's does here.
enum class OptionStatus {
  effect,   ///< it is in effect
  refused,  ///< any other value than its default is an error
  nothing,  ///< it has no subject here: another value is logged as a warning
};

struct OptionRow {
  const char* name;
  OptionStatus status;
  const char* text;                              ///< what it does, or why not
  bool (*isSet)(const SessionOptions& options);  ///< whether it has another value than its default
};

/// One row for each option, in the order of the declarations.
std::span<const OptionRow> optionTable();

/// Throws popart::error for options that are refused or contradict each other; logs those without
/// effect.
void checkInferenceOptions(const SessionOptions& options);
void checkTrainingOptions(const SessionOptions& options);

}  // namespace popart::detail
