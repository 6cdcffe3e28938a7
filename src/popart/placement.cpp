#include "popart/placement.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <halftone/graph/describe.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/program/spread.hpp>
#include <halftone/transform/place.hpp>
#include <popart/error.hpp>
#include <popart/logging.hpp>

#include "popart/convert.hpp"
#include "popart/ipu_device.hpp"
#include "popart/options.hpp"

namespace popart::detail {
namespace {

std::string textOf(const halftone::Graph& graph, const halftone::Node& node) {
  return halftone::detail::node_text(*node.op, graph.name(node));
}

/// Whether nodes have one of their places; throws if only some have.
bool haveAll(const halftone::Graph& graph, std::int16_t halftone::Place::* member,
             std::string_view what) {
  const auto has = [&](const halftone::Node& node) { return node.place.*member >= 0; };
  const auto count = std::count_if(graph.nodes.begin(), graph.nodes.end(), has);
  if (count == 0) return false;
  if (count == static_cast<std::ptrdiff_t>(graph.nodes.size())) return true;
  const auto missing = std::find_if_not(graph.nodes.begin(), graph.nodes.end(), has);
  throw error("Only some ops have had their {} set: {} of {}. {} has none", what, count,
              graph.nodes.size(), textOf(graph, *missing));
}

void checkStages(const halftone::Graph& graph) {
  std::map<std::int16_t, std::int16_t> virtualGraphs;  // of stages
  for (const halftone::Node& node : graph.nodes) {
    const halftone::Place& place = node.place;
    const auto [known, isNew] = virtualGraphs.emplace(place.stage, place.ipu);
    if (isNew || known->second == place.ipu) continue;
    throw error(
        "Ops in the same pipeline stage must have the same virtual graph id. Pipeline stage {} has "
        "{} and, with {}, {}",
        place.stage, known->second, textOf(graph, node), place.ipu);
  }
  const halftone::Uses uses(graph);
  for (const halftone::Node& node : graph.nodes) {
    for (const halftone::TensorId id : node.inputs) {
      if (id == halftone::no_tensor || uses.producer[id] == halftone::no_node) continue;
      const halftone::Node& maker = graph.nodes[static_cast<std::size_t>(uses.producer[id])];
      if (maker.place.stage <= node.place.stage) continue;
      throw error("{} of pipeline stage {} reads what a later stage computes: {} of stage {}",
                  textOf(graph, node), node.place.stage, graph.name(id), maker.place.stage);
    }
  }
  std::int16_t expected = 0;
  for (const auto& [stage, ipu] : virtualGraphs) {
    if (stage != expected) {
      throw error(
          "The set of pipeline stages for all Ops contains {} stages, but stage {} is missing",
          virtualGraphs.size(), expected);
    }
    ++expected;
  }
}

void checkNumbers(const halftone::Graph& graph, const SessionOptions& options) {
  for (const halftone::Node& node : graph.nodes) {
    if (options.autoRecomputation == RecomputationType::None &&
        node.place.recompute == halftone::Recompute::recompute &&
        options.implicitPipeliningEnabled()) {
      throw error(
          "When pipelining is enabled, user annotation for recomputation is not allowed: {}",
          textOf(graph, node));
    }
  }
}

}  // namespace

std::int64_t ipusOfReplica(const DeviceInfo& device, const SessionOptions& options) {
  const std::int64_t replicas = localReplicas(options), ipus = targetOf(device)->ipus;
  if (ipus % replicas == 0) return ipus / replicas;
  throw error(
      "The number of IPUs of the device ({}) is not a multiple of the number of replicas ({})",
      ipus, replicas);
}

namespace {

/// Phase p is on virtual graph p modulo the stages of the settings: PopART's rule.
void placePhases(halftone::Graph& graph, const ExecutionPhaseSettings& settings) {
  const auto phases = static_cast<std::int16_t>(settings.phases);
  const auto stages = static_cast<std::int16_t>(std::max(1, static_cast<int>(settings.stages)));
  if (!haveAll(graph, &halftone::Place::phase, "execution phase")) {
    for (halftone::Node& node : graph.nodes) node.place.ipu = node.place.stage = -1;
    halftone::place(graph, {.ipus = stages, .phases = phases});
    return;
  }
  for (halftone::Node& node : graph.nodes) {
    halftone::Place& place = node.place;
    if (place.phase >= phases) {
      throw error("{} has execution phase {}, and there are {}", textOf(graph, node), place.phase,
                  phases);
    }
    const auto expected = static_cast<std::int16_t>(place.phase % stages);
    if (place.ipu >= 0 && place.ipu != expected) {
      throw error("{} of execution phase {} has virtual graph id {}, which should be {}",
                  textOf(graph, node), place.phase, place.ipu, expected);
    }
    place.ipu = expected;
    place.stage = -1;
  }
}

}  // namespace

void placeNodes(halftone::Graph& graph, const SessionOptions& options, std::int64_t ipus) {
  const bool hasPhases = options.virtualGraphMode == VirtualGraphMode::ExecutionPhases;
  if (hasPhases && options.executionPhaseSettings.phases > 1 && !options.enablePipelining) {
    return placePhases(graph, options.executionPhaseSettings);
  }
  if (hasPhases && options.enablePipelining) {
    throw error("Pipelining and virtualGraphMode ExecutionPhases exclude each other");
  }
  for (halftone::Node& node : graph.nodes) node.place.phase = -1;
  const bool isOff = options.virtualGraphMode == VirtualGraphMode::Off;
  if (!options.enablePipelining) {
    bool isCleared = false;
    for (halftone::Node& node : graph.nodes) {
      isCleared = isCleared || (isOff && node.place.ipu >= 0);
      if (isOff) node.place.ipu = -1;
      node.place.stage = -1;
    }
    if (isCleared) {
      say(logging::Module::session, logging::Level::Info,
          "Virtual graphs of ops are not looked at: virtualGraphMode is Off");
    }
    if (options.virtualGraphMode == VirtualGraphMode::Manual) {
      haveAll(graph, &halftone::Place::ipu, "virtual graph id");
    }
    return;
  }
  if (isOff) {
    throw error(
        "Pipelining requires the 'virtualGraphMode' session option to not be "
        "VirtualGraphMode::Off");
  }
  const bool isAuto = options.virtualGraphMode == VirtualGraphMode::Auto;
  if (ipus == 1 || (isAuto && ipus == 0)) {
    throw error("Pipelining requires more than 1 IPU");
  }
  checkNumbers(graph, options);
  if (isAuto) {
    for (halftone::Node& node : graph.nodes) node.place.ipu = node.place.stage = -1;
    const auto count = static_cast<std::int32_t>(ipus);
    halftone::place(graph, {.ipus = count, .stages = count});
    return;
  }
  if (!haveAll(graph, &halftone::Place::ipu, "virtual graph id")) {
    throw error("Pipelining with virtualGraphMode Manual: no op has a virtual graph id");
  }
  if (!haveAll(graph, &halftone::Place::stage, "pipeline stage")) {
    for (halftone::Node& node : graph.nodes) node.place.stage = node.place.ipu;
  }
  checkStages(graph);
}

void checkPipeline(const halftone::Graph& graph, const SessionOptions& options,
                   const DataFlow& dataFlow, bool isTraining) {
  if (!options.enablePipelining) return;
  for (const TensorId& id : dataFlow.anchors()) {
    if (dataFlow.art(id).id() != AnchorReturnTypeId::EveryN) continue;
    throw error(options.implicitPipeliningEnabled()
                    ? "AnchorReturnType::EVERYN is not valid for pipelined models"
                    : "[Explicit Pipeline] Cannot execute when an anchor has AnchorReturnType "
                      "'EveryN'");
  }
  // Backward stages mirror the forward ones; that of the loss is both.
  const std::int64_t forward = halftone::stages_of(graph);
  const std::int64_t stages = isTraining ? 2 * forward - 1 : forward;
  const bool accumulates = options.enableGradientAccumulation;
  const std::int64_t depth =
      accumulates ? options.getAccumulationFactor() : dataFlow.batchesPerStep();
  if (depth >= stages) return;
  throw error("For pipelining, depth ({}) must equal at least the number of pipeline stages ({})",
              accumulates ? "gradient accumulation factor" : "batchesPerStep", stages);
}

halftone::Schedule scheduleOf(const SessionOptions& options, bool isTraining) {
  if (!options.enablePipelining) return halftone::Schedule::none;
  const bool isContinuous = isTraining && !options.enableGradientAccumulation;
  return isContinuous ? halftone::Schedule::continuous : halftone::Schedule::grouped;
}

}  // namespace popart::detail
