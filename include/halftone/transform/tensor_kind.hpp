#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Whether something is done with one kind of tensors.
struct TensorKind {
  bool is_on = false;
  std::int64_t least_elements = 1;  ///< smaller ones are left alone
};

/// The tensors that something is done with: variables by kind and by name, and values.
struct TensorKinds {
  TensorKind state{};         ///< what an optimizer keeps for a weight, but for accumulators
  TensorKind accumulators{};  ///< sums of the micro-batches of a step
  TensorKind weights{};       ///< and other variables of the model
  TensorKind activations{};   ///< values of the forward part that gradients read
  /// Tensors by name: what is said here counts more than their kind and size.
  struct Named {
    std::string name;
    bool is_on = false;
  };
  std::vector<Named> named{};

  /// Throws ModelError if the graph has no variable of a name, or no value either.
  void check_names(const Graph& graph, bool may_be_values = false) const;
  bool any() const {
    bool found = state.is_on || accumulators.is_on || weights.is_on || activations.is_on;
    for (const Named& one : named) found = found || one.is_on;
    return found;
  }
  /// Whether they have a variable of that name and kind.
  bool has(std::string_view name, const TensorKind& kind, std::int64_t elements) const {
    for (const Named& one : named) {
      if (one.name == name) return one.is_on;
    }
    return kind.is_on && elements >= kind.least_elements;
  }
};

}  // namespace halftone
