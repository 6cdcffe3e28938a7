#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <halftone/ipu/elementwise.hpp>
#include <halftone/ipu/planner.hpp>
#include <halftone/ipu/slice.hpp>

#include "ipu/lowering/layout.hpp"

namespace halftone::ipu {

/// The node that is being lowered, and what its pieces of work leave to each other and to the
/// places of its outputs.
struct NodeWork {
  Steps& steps;
  Layout& layout;
  Planner& planner;
  Frame& frame;
  const Node& node;
  std::size_t number;                ///< of the node in its graph
  bool is_view = false;              ///< the outputs are parts of the inputs
  std::optional<Placed> home{};      ///< the layout that the work goes on in
  std::int64_t broadcast_bytes = 0;  ///< of sums that the next pass needs on every tile

  const Target& target() const { return steps.t; }
  const TensorInfo& info(TensorId id) const { return frame.graph->info(id); }
  TensorId first_input() const { return node.inputs.empty() ? no_tensor : node.inputs[0]; }

  void fetch_inputs() { layout.fetch_inputs(frame, node); }
  /// The work goes on where the first input lies.
  const Mapping& work_on_first_input();
  /// Where the work on x goes on: at home, at the first input's place, or anywhere.
  Mapping work_on(const TensorInfo& x);
  /// Gives the outputs their places.
  void place_outputs();

 private:
  bool place_as_view(std::size_t output);
};

/// Appends the steps of a piece of the node's work.
void lower_work(NodeWork& at, const Work& work);
/// The steps of an element-wise operator, and of one that does not say what it costs.
void lower_elementwise(NodeWork& at);
void lower_unknown(NodeWork& at, std::span<const TensorInfo> in, std::span<const TensorInfo> out);

// The steps of each kind of work, lower_product to lower_transfer.
#define HALFTONE_LOWER(NAME) void lower_##NAME(NodeWork& at, const Work& work);
HALFTONE_WORK_KINDS(HALFTONE_LOWER)
#undef HALFTONE_LOWER

}  // namespace halftone::ipu
