#pragma once

namespace popart {

/// Whether an operator's outputs are kept for the backward pass, or computed again.
enum class RecomputeType { Undefined = 0, Checkpoint, Recompute, Recomputed };

/// The part of the program that an operator belongs to.
enum class ExecutionContext {
  Normal = 0,
  AccumulateOuterFragment,
  WeightsFromHostFragment,
  WeightsToHostFragment,
  OptimizerFromHostFragment,
  Subgraph,
};

}  // namespace popart
