#include "transform/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include <halftone/transform/block_channels.hpp>
#include <halftone/transform/choose_convolutions.hpp>
#include <halftone/transform/copy_given.hpp>
#include <halftone/transform/fuse.hpp>
#include <halftone/transform/fuse_attention.hpp>
#include <halftone/transform/fuse_convolutions.hpp>
#include <halftone/transform/fuse_gelu.hpp>
#include <halftone/transform/fuse_products.hpp>
#include <halftone/transform/fuse_quantized.hpp>
#include <halftone/transform/join_updates.hpp>
#include <halftone/transform/keep_gates.hpp>
#include <halftone/transform/nodes.hpp>
#include <halftone/transform/seed_random.hpp>
#include <halftone/transform/tabulate_bytes.hpp>

#include "base/describe.hpp"
#include "base/file.hpp"
#include "transform/batch_parts.hpp"
#include "transform/crop_kernels.hpp"
#include "transform/defer.hpp"
#include "transform/fold_batch_norm.hpp"
#include "transform/fold_transposes.hpp"
#include "transform/fuse_normalizations.hpp"
#include "transform/graph_text.hpp"
#include "transform/pair_channels.hpp"
#include "transform/round_rows.hpp"

namespace halftone {
namespace pass {

Graph copy_given(Graph graph, const PassOptions&) { return halftone::copy_given(std::move(graph)); }

/// Weights that no node modifies count as constants while they stay as they are.
Graph constants(Graph graph, const PassOptions&) {
  make_constants(graph, [](const TensorRecord&) { return true; });
  return graph;
}

/// A graph that draws random numbers gets an input more: their state.
Graph random_seeds(Graph graph, const PassOptions&) {
  seed_random(graph);
  return graph;
}

Graph infer(Graph graph, const PassOptions& options) {
  // What nothing reads need not be evaluated: weights in float whose products are of integers.
  graph = without_dead_code(std::move(graph));
  const Vector<Defect> defects =
      infer_from_inputs(graph, options.evaluate, options.evaluate_context);
  if (!defects.empty()) throw_defects(graph, defects);
  return graph;
}

Graph tabulate_bytes(Graph graph, const PassOptions& options) {
  if (options.evaluate == nullptr) return graph;
  return halftone::tabulate_bytes(std::move(graph), options.evaluate, options.evaluate_context);
}
Graph keep_gates(Graph graph, const PassOptions&) { return halftone::keep_gates(std::move(graph)); }
Graph fuse_gelu(Graph graph, const PassOptions&) { return halftone::fuse_gelu(std::move(graph)); }
Graph crop_kernels(Graph graph, const PassOptions&) {
  return halftone::crop_kernels(std::move(graph));
}
Graph fold_normalizations(Graph graph, const PassOptions&) {
  return fold_batch_norm(std::move(graph));
}
Graph fuse_trained_attention(Graph graph, const PassOptions&) {
  return detail::is_trained(graph) ? halftone::fuse_attention(std::move(graph)) : graph;
}
Graph recompute_elementwise(Graph graph, const PassOptions&) {
  return halftone::recompute_elementwise(std::move(graph));
}
Graph fuse_attention(Graph graph, const PassOptions&) {
  return detail::is_trained(graph) ? graph : halftone::fuse_attention(std::move(graph));
}
Graph fold_transposes(Graph graph, const PassOptions&) {
  return halftone::fold_transposes(std::move(graph));
}
Graph fuse_convolutions(Graph graph, const PassOptions&) {
  return halftone::fuse_convolutions(std::move(graph));
}
Graph fuse_quantized(Graph graph, const PassOptions&) {
  return halftone::fuse_quantized(std::move(graph));
}
Graph block_channels(Graph graph, const PassOptions& options) {
  return halftone::block_channels(std::move(graph), options.float_lanes, options.multiplies_bytes);
}
Graph fuse_normalizations(Graph graph, const PassOptions& options) {
  // Convolutions of float32 read their input where it lies.
  if (options.precision != Precision::bfloat16) return graph;
  return halftone::fuse_normalizations(std::move(graph));
}
Graph choose_convolutions(Graph graph, const PassOptions& options) {
  return halftone::choose_convolutions(std::move(graph), options.convolution);
}
Graph pair_channels(Graph graph, const PassOptions& options) {
  if (!options.takes_pairs || detail::is_trained(graph)) return graph;
  return halftone::pair_channels(std::move(graph));
}
Graph join_updates(Graph graph, const PassOptions&) {
  return halftone::join_updates(std::move(graph));
}
Graph fuse_products(Graph graph, const PassOptions& options) {
  // Where products take pairs, the Relu between two of them rounds.
  return halftone::fuse_products(std::move(graph), !options.takes_pairs);
}
Graph round_rows(Graph graph, const PassOptions& options) {
  if (!options.takes_pairs || detail::is_trained(graph)) return graph;
  return halftone::round_rows(std::move(graph));
}
Graph batch_parts(Graph graph, const PassOptions&) {
  if (detail::is_trained(graph)) return graph;
  // Second caches of a few cores, or a share of the third one.
  constexpr std::int64_t cache_bytes = std::int64_t{4} << 20;
  return halftone::batch_parts(std::move(graph), cache_bytes);
}
Graph fuse_elementwise(Graph graph, const PassOptions&) {
  return halftone::fuse_elementwise(std::move(graph));
}
Graph defer(Graph graph, const PassOptions&) {
  return halftone::defer(without_dead_code(std::move(graph)));
}

}  // namespace pass

namespace {

constexpr auto cpu_names = [] {
  constexpr std::size_t count = std::size(cpu_shape_passes) + std::size(cpu_late_passes) +
                                std::size(cpu_choice_passes) + std::size(cpu_piece_passes);
  std::array<std::string_view, count> names;
  std::size_t at = 0;
  for (const Pass& pass : cpu_shape_passes) names[at++] = pass.name;
  for (const Pass& pass : cpu_late_passes) names[at++] = pass.name;
  for (const Pass& pass : cpu_choice_passes) names[at++] = pass.name;
  for (const Pass& pass : cpu_piece_passes) names[at++] = pass.name;
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
  return run_passes(passes, std::move(graph), options,
                    [&](const PassEvent& event) { dump.write(event); });
}

}  // namespace halftone
