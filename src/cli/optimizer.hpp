#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <halftone/train.hpp>

#include "cli/json.hpp"

namespace halftone::cli {

/// Throws an error with this text and where the optimizer is described.
using Refuse = std::function<void(const std::string&)>;

/// Records training with an optimizer as case files describe it: {"type": "adam", "lr": 1e-3}.
/// `loss_scaling` becomes the factor of the gradients. Throws UnsupportedError for a type or a
/// member that there is not: none is ignored.
Training record_training(const Json& optimizer, Graph& graph, AnyTensor loss,
                         const TrainOptions& options, float& loss_scaling, const Refuse& refuse);

/// The same description from "adam:lr=1e-3,weight_decay_mode=l2,...". Throws UsageError.
Json parse_optimizer(std::string_view text);

}  // namespace halftone::cli
