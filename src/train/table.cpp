#include "train/table.hpp"

#include <halftone/kernel/shards.hpp>
#include <halftone/kernel/update.hpp>
#include <halftone/train/operators.hpp>

namespace halftone {

OperatorTable training_operators() {
  using namespace detail::training;
  return Registry<Setting, TrainingStep, StepGradient, LossScalingRatio, RescaleState,
                  AdjustLossScaling, JoinTotal, ScatterTotal, GatherParts, LambPart>::table;
}

}  // namespace halftone
