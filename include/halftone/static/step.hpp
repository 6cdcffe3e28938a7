#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/graph/runner.hpp>
#include <halftone/static/plan.hpp>

namespace halftone::detail {

/// What the steps of a static program run on.
struct StaticMachine {
  TensorArgument* arguments = nullptr;  ///< of all steps
  std::byte *arena = nullptr, *variables = nullptr;
  const std::byte* packed = nullptr;
  /// Runs steps [first, end).
  void (*run)(const StaticMachine& machine, std::size_t first, std::size_t end) = nullptr;
};

/// What a step's kernel gets.
struct StepCall {
  const StaticStep& step;
  const TensorArgument* arguments;
  const kernel::BroadcastInput* broadcasts;  ///< of all steps
  void* scratch;
  const void* packed;  ///< weights as the kernel wants them; null: as they are
  const StaticMachine& machine;
};

}  // namespace halftone::detail
