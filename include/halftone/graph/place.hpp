#pragma once

#include <cstdint>

namespace halftone {

/// What becomes of a node's outputs between the forward and the backward part of a training step.
enum class Recompute : std::uint8_t {
  undefined,   ///< what the options say
  checkpoint,  ///< they are kept
  recompute,   ///< they are computed again where the backward part reads them
};

/// What of the forward part of a training step is computed again for the backward part, which costs
/// time and saves memory. What nodes say themselves (Place::recompute) goes before. No result
/// changes.
///
/// source  popart::RecomputationType
enum class Recomputation : std::uint8_t {
  none,
  standard,   ///< parts of the graph that little data flows between, but for the last one
  norm_only,  ///< the outputs of normalizations
  all,        ///< all that no node has to keep
  pipeline,   ///< all but what a stage of a pipeline gets from others
};

/// The order in which the stages of a pipeline run their micro-batches. All but `continuous` have the
/// results of a graph that no pipeline runs.
enum class Schedule : std::uint8_t {
  none,     ///< no pipeline: stages are not looked at
  grouped,  ///< turn by turn: a stage runs a micro-batch in the turn behind that of the stage before
  continuous,  ///< the same without a pause at updates: stage s of S computes micro-batch i forward
               ///< with the updates before i - 2 (S - 1 - s), backward with those before i
  one_f_one_b,  ///< a gradient as soon as there is one to compute: fewer micro-batches wait
  zero_bubble,  ///< the same; the gradients of weights fill the time that is left
};

/// The part of a training step that a node belongs to. Graphs that are not trained have one part.
enum class Part : std::uint8_t {
  forward,
  backward,  ///< gradients, and what is computed again for them
  update,    ///< of weights and of the optimizer's state
};

/// Where and when a node runs. It changes no result.
struct Place {
  std::int16_t ipu = -1;    ///< that the node is meant for, 0 being the first; -1: any
  std::int16_t stage = -1;  ///< of a pipeline
  std::int16_t phase = -1;  ///< of execution
  Recompute recompute = Recompute::undefined;
  Part part = Part::forward;
  friend constexpr bool operator==(const Place&, const Place&) = default;
};

/// Whether a node computes again what another one has computed.
constexpr bool is_recomputed(const Place& p) {
  return p.part == Part::backward && p.recompute == Recompute::recompute;
}
/// Whether one kernel may compute two nodes, wherever they are: what chooses kernels must not depend on
/// how a graph is spread. What is computed again must not come back to the forward part.
constexpr bool may_share_kernel(const Place& a, const Place& b) {
  return !(a.part == Part::forward && is_recomputed(b)) &&
         !(b.part == Part::forward && is_recomputed(a));
}
/// Whether two nodes may become one where they are.
constexpr bool may_merge(const Place& a, const Place& b) {
  return a.ipu == b.ipu && a.stage == b.stage && a.phase == b.phase && may_share_kernel(a, b);
}

/// The place of a node that stands for a body's node, `inner`, in the graph that calls the body.
constexpr Place inlined(Place inner, const Place& call) {
  if (inner.ipu < 0) inner.ipu = call.ipu;
  if (inner.stage < 0) inner.stage = call.stage;
  if (inner.phase < 0) inner.phase = call.phase;
  if (inner.recompute == Recompute::undefined) inner.recompute = call.recompute;
  if (inner.part == Part::forward) inner.part = call.part;
  return inner;
}

}  // namespace halftone
