#include "transform/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/transform/block_channels.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/fuse.hpp>
#include <halftone/transform/fuse_convolutions.hpp>
#include <halftone/transform/schedule.hpp>
#include <halftone/transform/seed_random.hpp>

#include "base/describe.hpp"
#include "base/file.hpp"
#include "transform/defer.hpp"
#include "transform/fold_batch_norm.hpp"
#include "transform/graph_text.hpp"

namespace halftone {
namespace pass {
namespace {

/// Variables that no node modifies and `wanted` says of become constants, in bodies, too.
template <class Wanted>
void make_constants(Graph& graph, Wanted wanted) {
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

}  // namespace

/// Weights that no node modifies count as constants while they stay as they are.
Graph constants(Graph graph, const PassOptions&) {
  make_constants(graph, [](const TensorRecord&) { return true; });
  return graph;
}

/// Only those that shapes may follow from. The others are weights, which have their place on tiles
/// and lead automatic placement; as constants they would also be folded: the Transpose of a weight
/// is work that the machine does in each run.
Graph small_constants(Graph graph, const PassOptions&) {
  constexpr std::size_t small = 4096;
  make_constants(graph, [](const TensorRecord& t) {
    return t.data.size() != 0 && t.data.size() <= small && !is_floating_point(t.info.type);
  });
  return graph;
}

/// A graph that draws random numbers gets an input more: their state.
Graph random_seeds(Graph graph, const PassOptions&) {
  seed_random(graph);
  return graph;
}

Graph infer(Graph graph, const PassOptions& options) {
  const std::vector<Defect> defects =
      infer_from_inputs(graph, options.evaluate, options.evaluate_context);
  if (!defects.empty()) throw_defects(graph, defects);
  return graph;
}

/// What the model states of shapes that depend on values counts: nothing will run that could tell.
Graph infer_stated(Graph graph, const PassOptions& options) {
  const std::vector<Defect> defects =
      halftone::infer(graph, options.evaluate, options.evaluate_context);
  if (!defects.empty()) throw_defects(graph, defects);
  return graph;
}

Graph dead_code(Graph graph, const PassOptions&) { return without_dead_code(std::move(graph)); }
Graph fold_normalizations(Graph graph, const PassOptions&) {
  return fold_batch_norm(std::move(graph));
}
Graph fuse_convolutions(Graph graph, const PassOptions&) {
  return halftone::fuse_convolutions(std::move(graph));
}
Graph block_channels(Graph graph, const PassOptions& options) {
  return halftone::block_channels(std::move(graph), options.float_lanes);
}
Graph fuse_elementwise(Graph graph, const PassOptions&) {
  return halftone::fuse_elementwise(std::move(graph));
}
Graph schedule(Graph graph, const PassOptions&) { return halftone::schedule(std::move(graph)); }
Graph defer(Graph graph, const PassOptions&) {
  return halftone::defer(without_dead_code(std::move(graph)));
}

}  // namespace pass

namespace {

constexpr auto cpu_names = [] {
  constexpr std::size_t count =
      std::size(cpu_shape_passes) + std::size(cpu_late_passes) + std::size(cpu_plan_passes);
  std::array<std::string_view, count> names;
  std::size_t at = 0;
  for (const Pass& pass : cpu_shape_passes) names[at++] = pass.name;
  for (const Pass& pass : cpu_late_passes) names[at++] = pass.name;
  for (const Pass& pass : cpu_plan_passes) names[at++] = pass.name;
  return names;
}();
constexpr auto ipu_names = [] {
  std::array<std::string_view, std::size(ipu_passes)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = ipu_passes[i].name;
  return names;
}();

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What HALFTONE_DUMP asks for.
class Dump {
 public:
  Dump() {
    const char* variable = std::getenv("HALFTONE_DUMP");
    if (variable == nullptr) return;
    const std::string_view text = text_ = variable;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string_view name = text.substr(begin, end - begin);
      begin = end + 1;
      if (name == "all") all_ = true;
      if (name.empty() || name == "all") continue;
      if (!contains(cpu_names, name) && !contains(ipu_names, name) && name != "program") {
        const std::string expected =
            fmt::format("all, {}, {}, program", fmt::join(cpu_names, ", "), ipu_names[0]);
        fail(ErrorKind::usage, {.what = "HALFTONE_DUMP names no pass",
                                .expected = expected,
                                .found = detail::quoted(name)});
      }
      wanted_.push_back(name);
    }
  }
  void write(const PassEvent& event) const {
    if (!wants(event.pass)) return;
    const std::string name = next_name(event.target, event.pass, event.path);
    write_file(name + ".txt", graph_text(event.graph));
    write_file(name + ".dot", graph_dot(event.graph));
  }
  bool wants(std::string_view name) const { return all_ || contains(wanted_, name); }
  static std::string next_name(std::string_view target, std::string_view pass,
                               std::string_view path) {
    static std::atomic<int> next_number = 0;
    const int number = next_number++;
    std::string name = fmt::format("{}/{:03}-{}-{}", folder, number, target, pass);
    if (!path.empty()) name += '-';
    for (const char c : path) name += c == '/' || c == '\\' || c < ' ' ? '-' : c;
    return name;
  }
  static void write_file(const std::string& name, std::string_view text) {
    std::filesystem::create_directories(folder);
    detail::OutputFile file(name);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  }

 private:
  static constexpr const char* folder = "halftone-dump";

  std::string text_;
  std::vector<std::string_view> wanted_;
  bool all_ = false;
};

}  // namespace

std::span<const std::string_view> pass_names(std::string_view target) {
  if (target == "cpu") return cpu_names;
  if (target == "ipu") return ipu_names;
  return {};
}

void dump_program(std::string_view target, const std::function<std::string()>& text) {
  const Dump dump;
  if (dump.wants("program")) {
    Dump::write_file(Dump::next_name(target, "program", {}) + ".txt", text());
  }
}

Graph run_passes(std::span<const Pass> passes, Graph graph, const PassOptions& options) {
  const Dump dump;
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
    dump.write(event);
  }
  return graph;
}

}  // namespace halftone
