#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <halftone/graph/graph.hpp>

namespace halftone::cli {

/// The input that a loss of the program's own takes labels from.
inline constexpr std::string_view label_name = "label";
/// The quantity that training makes small. `own`: a scalar of the model.
enum class Loss { own, cross_entropy, squared, absolute };

/// cross_entropy, mse or l1; nothing for another name.
std::optional<Loss> loss_named(std::string_view name);

/// What labels of a loss of y are; y has a known shape.
TensorInfo label_info_of(Loss loss, const TensorInfo& y);

/// The loss of the output y: of each sample's numbers, or of all together. Adds the input `label`,
/// unless the loss is the model's own.
AnyTensor record_loss(Graph& graph, AnyTensor y, Loss loss, const TensorInfo& label, bool of_each);

}  // namespace halftone::cli
