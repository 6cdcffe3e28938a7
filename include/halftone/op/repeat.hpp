#pragma once

#include <vector>

#include <halftone/graph/graph.hpp>

namespace halftone::op {

/// One number for each scanned input or stacked output of a Scan.
using ScanList = BoundedList<std::int64_t, 32>;
/// Numbers of a node's inputs.
using InputNumbers = BoundedList<std::int64_t, 255>;

/// What is what among the inputs and outputs of a node Loop or Scan and those of its body.
///
/// The body runs once in each pass. States go from pass to pass: the node gives their first values,
/// the body's results are the next ones, and the last ones are outputs of the node. Scanned inputs
/// are cut into one slice for each pass, stacked outputs are made of one slice from each pass. What
/// a body captures of the graph around it is a state that it returns as it is.
struct Repeat {
  bool is_loop = false;
  std::size_t first_state = 0;  ///< among the node's inputs; the outputs begin with the states
  std::size_t body_state = 0;   ///< the first state among the body's inputs
  std::size_t body_result = 0;  ///< the first state among the body's outputs
  std::size_t states = 0, scanned = 0, stacked = 0;
  ScanList input_axes{}, input_directions{}, output_axes{}, output_directions{};

  constexpr std::int64_t input_axis(std::size_t i) const { return at(input_axes, i); }
  constexpr std::int64_t output_axis(std::size_t i) const { return at(output_axes, i); }
  constexpr bool input_is_reversed(std::size_t i) const { return at(input_directions, i) == 1; }
  constexpr bool output_is_reversed(std::size_t i) const { return at(output_directions, i) == 1; }

  /// Whether the body returns that state as it got it.
  constexpr bool is_kept(const Graph& body, std::size_t state) const {
    return body.outputs[body_result + state] == body.inputs[body_state + state];
  }

 private:
  static constexpr std::int64_t at(const ScanList& list, std::size_t i) {
    return i < list.size() ? list[i] : 0;
  }
};

/// The common part of what is known of two tensors of which one is taken: extents in which they
/// differ are dynamic; unknown if their types or ranks differ.
constexpr TensorInfo either(TensorInfo a, const TensorInfo& b) {
  if (a.type != b.type || a.rank() != b.rank()) return {};
  for (std::size_t d = 0; d < a.rank(); ++d) {
    if (a.shape[d] != b.shape[d]) a.shape[d] = dynamic;
  }
  return a;
}

}  // namespace halftone::op
