#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/kernel/precision.hpp>
#include <halftone/transform/convolution.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/defects.hpp>
#include <halftone/transform/observer.hpp>
#include <halftone/transform/recompute.hpp>
#include <halftone/transform/schedule.hpp>

namespace halftone {

/// What passes have to know beside the graph.
struct PassOptions {
  std::string_view target = "cpu";
  Evaluate evaluate = nullptr;  ///< see `infer`
  void* evaluate_context = nullptr;
  bool fuse = true;
  bool change_weights = true;  ///< fold normalizations into them, crop kernels
  bool reorder = true;
  Recomputation recompute = Recomputation::none;
  Convolution convolution = Convolution::fast;
  Precision precision = Precision::float32;  ///< of products
  std::int64_t float_lanes = 1;              ///< of a vector register
  bool multiplies_bytes = false;             ///< the machine has the product of bytes
  bool takes_pairs = false;                  ///< products of pairs in bfloat16 are AMX's
  PassObserver* observer = nullptr;
  std::string path{};  ///< see PassEvent
};

/// A function from graph to graph, by a name that people ask for it with.
struct Pass {
  std::string_view name;
  Graph (*run)(Graph graph, const PassOptions& options);
  bool PassOptions::* wanted = nullptr;  ///< only if this is true
};

namespace pass {

/// Variables that no node modifies and `wanted` says of become constants, in bodies, too.
template <class Wanted>
constexpr void make_constants(Graph& graph, Wanted wanted) {
  const Aliases aliases(graph);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    TensorRecord& t = graph.tensors[i];
    const auto id = static_cast<TensorId>(i);
    if (t.role != Role::variable || aliases.is_modified(id)) continue;
    const VariableSettings* settings = graph.settings(id);
    const bool differs =
        settings != nullptr && (settings->grouping.num_groups() > 1 || settings->shard_over > 1);
    if (!differs && wanted(t)) t.role = Role::constant;
  }
  for (Graph& body : graph.graphs) make_constants(body, wanted);
}

/// Only those that shapes may follow from. The others are weights, which have their place on tiles
/// and lead automatic placement; as constants they would also be folded: the Transpose of a weight
/// is work that the machine does in each run.
inline Graph small_constants(Graph graph, const PassOptions&) {
  constexpr std::size_t small = 4096;
  make_constants(graph, [](const TensorRecord& t) {
    return t.data.size() != 0 && t.data.size() <= small && !is_floating_point(t.info.type);
  });
  return graph;
}

/// What the model states of shapes that depend on values counts: nothing will run that could tell.
inline Graph infer_stated(Graph graph, const PassOptions& options) {
  const Vector<Defect> defects = halftone::infer(graph, options.evaluate, options.evaluate_context);
  if (!defects.empty()) throw_defects(graph, defects);
  return graph;
}

inline Graph dead_code(Graph graph, const PassOptions&) {
  return without_dead_code(std::move(graph));
}
inline Graph recompute(Graph graph, const PassOptions& options) {
  return halftone::recompute(std::move(graph), options.recompute);
}
inline Graph schedule(Graph graph, const PassOptions&) {
  return halftone::schedule(std::move(graph));
}

}  // namespace pass

/// For ipu: as the model's nodes are, since their cycles are told apart.
inline constexpr Pass ipu_passes[] = {
    {"small_constants", &pass::small_constants},
    {"infer", &pass::infer_stated},
    {"dead_code", &pass::dead_code},
    {"recompute", &pass::recompute},
    {"schedule", &pass::schedule},
};

/// Runs passes in their order, tells the observer of each and calls after(event), too.
inline Graph run_passes(std::span<const Pass> passes, Graph graph, const PassOptions& options,
                        auto&& after) {
  graph.model.clear();
  for (TensorRecord& t : graph.tensors) {
    // To whoever runs a graph, the state of an optimizer is a variable like any other.
    if (t.role == Role::state) t.role = Role::variable;
  }
  for (const Pass& pass : passes) {
    if (pass.wanted != nullptr && !(options.*pass.wanted)) continue;
    const auto start = std::chrono::steady_clock::now();
    graph = pass.run(std::move(graph), options);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    const PassEvent event{.target = options.target,
                          .pass = pass.name,
                          .path = options.path,
                          .graph = graph,
                          .seconds = passed.count()};
    if (options.observer != nullptr) options.observer->passed(event);
    after(event);
  }
  return graph;
}

}  // namespace halftone
