#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <halftone/graph/graph.hpp>
#include <popart/names.hpp>
#include <popart/patterns/patterns.hpp>
#include <popart/sessionoptions.hpp>
#include <popart/tensorlocation.hpp>

#include "popart/external.hpp"

namespace popart::detail {

/// How a product is computed in parts: see Builder::setSerializeMatMul.
struct SerializedMatMul {
  std::string mode = sSerializeMatMulMode_None;
  std::int64_t factor = 0;
  bool keepsPrecision = false;  ///< parts of half products are added as float
};

/// Attributes of a model's nodes that a graph has no place for, by the names of the nodes' outputs.
struct NodeSettings {
  std::map<TensorId, std::set<std::string>> excludedPatterns;
  std::map<TensorId, float> schedulePriorities;
  std::map<TensorId, SerializedMatMul> serializedMatMuls;
  std::map<TensorId, TensorLocation> locations;
  std::set<TensorId> kept;  ///< tensors that patterns do not remove, beside the graph's outputs
};

/// Reads them from the nodes of the main graph. Throws the library's errors, and popart::error for a
/// location that is none.
NodeSettings nodeSettings(const GivenModel& model);

/// How often each pattern was applied.
using PatternCounts = std::map<std::string, int>;

/// Applies the patterns that are on and can be switched, until none finds anything. No result changes;
/// the graph's outputs, and what `settings` excludes, stay as they are.
PatternCounts applyPatterns(halftone::Graph& graph, const Patterns& patterns,
                            const NodeSettings& settings);

/// Makes every GroupNormalization group the channels c of equal c % num_groups instead of neighbours, by
/// a Gather of the channels before it and another one behind it.
void strideGroups(halftone::Graph& graph);

/// Computes every Softmax as e^x over the sum of e^x, without taking off the largest x first: powers of
/// large x overflow.
void expandSoftmaxes(halftone::Graph& graph);

/// Has a loss of half computed in float, as far as it follows from losses, softmaxes and reductions: gradients
/// start with a loss scaling in float, and become half at the first operator before these. Returns the
/// loss in float; the given one is a cast of it. Throws popart::error if another operator makes the loss.
halftone::TensorId scaleAsFloat(halftone::Graph& graph, halftone::TensorId loss);

/// Has the gradients of losses and of the softmaxes before them computed one after the other. A loss
/// with weights for its classes keeps the gradient that is one operator.
void separateSoftmaxGradients(halftone::Graph& graph);

/// Joins the gradients of all weights by one ReplicatedAllReduce where there is one for each: of those alike,
/// what goes in is put together, and taken apart again behind it.
void mergeAllReduces(halftone::Graph& graph);

/// Computes products in the parts that `settings` asks for: a Slice and a MatMul for each part, and one Concat or
/// several Add. Throws popart::error for a mode that is unknown and a factor that does not divide the extent.
void serializeMatMuls(halftone::Graph& graph, const NodeSettings& settings);

/// Gives the nodes the order that the options' scheduler and priorities ask for: of nodes that could
/// run, the one of the largest priority is next, then what kahnTieBreaker says. Nodes move past
/// others of equal priority as long as that makes the sum of bytes times steps that tensors live
/// smaller, at most swapLimitScheduler times and timeLimitScheduler seconds. Without priorities
/// the default options leave the order to the session.
void orderNodes(halftone::Graph& graph, const SessionOptions& options,
                const NodeSettings& settings);

}  // namespace popart::detail
