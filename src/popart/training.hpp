#pragma once

#include <halftone/session/session.hpp>
#include <halftone/train.hpp>
#include <popart/optimizer.hpp>

namespace popart::detail {

/// Records gradients and updates as the optimizer says. Throws the library's errors.
halftone::Training recordTraining(halftone::Graph& graph, halftone::AnyTensor loss,
                                  const Optimizer& optimizer, halftone::TrainOptions options);
/// Gives the session the numbers of hyperparameters that are not constant.
void setHyperparameters(halftone::Session& session, const Optimizer& optimizer);

}  // namespace popart::detail
