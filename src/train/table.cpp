#include "train/table.hpp"

#include <halftone/train/operators.hpp>

namespace halftone {

OperatorTable training_operators() {
  using namespace detail::training;
  return Registry<Setting, TrainingStep, StepGradient, LossScalingRatio, RescaleState,
                  AdjustLossScaling>::table;
}

}  // namespace halftone
