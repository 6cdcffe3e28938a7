#pragma once

#include <optional>
#include <string_view>

#include <halftone/graph/handle.hpp>

namespace halftone::cli {

/// The input that a loss of the program's own takes labels from.
inline constexpr std::string_view label_name = "label";
/// The quantity that training makes small. `own`: a scalar of the model.
enum class Loss { own, cross_entropy, squared, absolute };

/// The loss that options call so; empty: none of the program's own.
std::optional<Loss> loss_named(std::string_view name);

/// The labels for a loss of an output. Throws ModelError for an output without classes.
TensorInfo label_info_for(Loss loss, const TensorInfo& y, std::string_view output);

/// Records the loss of an output, or of each of its samples, with an input for labels.
AnyTensor record_loss(Graph& graph, AnyTensor y, Loss loss, const TensorInfo& label, bool of_each);

/// Makes constants of scalars that are numbers of formulas, not weights: exponents, limits, what a
/// mask puts in, and the numbers that torch.export calls val_0, val_1, ...
void hold_numbers(Graph& graph);

}  // namespace halftone::cli
