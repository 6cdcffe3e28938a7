#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/graph/place.hpp>
#include <halftone/ipu/mapping.hpp>
#include <halftone/ipu/target.hpp>
#include <halftone/transform/outline.hpp>

namespace halftone {
class Graph;
struct Program;
class PassObserver;
}  // namespace halftone

namespace halftone::ipu {

/// Which of several IPUs computes a node.
enum class Placement : std::uint8_t {
  nodes,      ///< the one it is meant for (graph/planning.hpp); if none is meant for any: automatic
  automatic,  ///< consecutive parts of about the same cycles
  none,       ///< all on the first
};

/// When a call copies its arguments to the body's inputs, and the body's outputs to its results.
enum class CallCopies : std::uint8_t {
  none,               ///< the body works where they lie
  on_enter_and_exit,  ///< all of them at the begin and at the end
  just_in_time,       ///< before the first node that reads, and behind the one that makes
};

struct ProfileOptions {
  std::int64_t ipus = 0;           ///< 0: as many as the target has
  std::int64_t tiles_per_ipu = 0;  ///< 0: as many as the target has
  double available_memory_proportion = 0.6;
  ElementType partials = ElementType::float32;  ///< of products of half; or float16
  Placement placement = Placement::nodes;
  std::vector<float> split_ratios{};  ///< of automatic: the IPUs' shares; empty: equal ones
  bool allow_out_of_memory = false;   ///< report a model that does not fit instead of throwing
  bool prefetch = true;               ///< the host has inputs ready before they are needed
  bool has_launch = true;             ///< count the launch of compute sets, as hardware has it
  /// So many tiles of each IPU exchange data with the host while the others compute.
  std::int64_t io_tiles = 0;
  /// Says what a training step computes again instead of keeping it.
  Recomputation recompute = Recomputation::none;
  /// Nodes share code only where outline() makes calls of them; none: equal nodes share it.
  std::optional<OutlineOptions> outline{};
  CallCopies call_copies = CallCopies::none;
  /// Groups of weights, by name: updates of one group that follow each other share their compute sets.
  std::vector<std::vector<std::string>> merged_updates{};
  /// Normalizations take a pass more, which subtracts the mean before squares are summed.
  bool stable_norms = false;
  PassObserver* observer = nullptr;  ///< borrowed; told of the passes over the graph
};

/// What a superstep does.
enum class StepKind : std::uint8_t {
  compute,
  exchange,
  sync,
  copy,
  host,
  link,
  control,
  streaming,  ///< to or from the memory behind an IPU
};
inline constexpr int step_kinds = 8;
constexpr std::string_view name(StepKind kind) {
  constexpr std::string_view names[] = {"OnTileExecute", "DoExchange",     "Sync",    "OnTileCopy",
                                        "StreamCopy",    "GlobalExchange", "Control", "RemoteCopy"};
  return names[static_cast<int>(kind)];
}

/// What a tile's memory is used for.
enum class Category : std::uint8_t {
  variables,
  constants,
  stack,
  vertex_state,
  vertex_code,
  control_code,
  internal_exchange_code,
  host_exchange_code,
  global_exchange_code,
  temporaries,  ///< what is not always live, at its largest
};
inline constexpr int categories = 10;
constexpr std::string_view name(Category category) {
  constexpr std::string_view names[] = {"variables",
                                        "constants",
                                        "stack",
                                        "vertex state",
                                        "vertex code",
                                        "control code",
                                        "internal exchange code",
                                        "host exchange code",
                                        "global exchange code",
                                        "temporaries"};
  return names[static_cast<int>(category)];
}

/// A tensor, or memory that a step needs, as it lies on the tiles of one IPU.
struct Variable {
  std::string name;
  std::int64_t element_bytes = 4;
  Mapping mapping;
  std::int32_t ipu = 0;
  std::int32_t first_step = 0, last_step = 0;  ///< live from, to; of those that are not always
  bool is_always_live = false;
  Category category = Category::temporaries;
  std::int32_t operation = -1;  ///< that made it

  std::int64_t bytes() const { return mapping.elements * element_bytes; }
  /// Bytes on a tile of its IPU, in whole 8 bytes.
  std::int64_t on_tile(std::int64_t tile) const {
    return divide_up(mapping.on_tile(tile) * element_bytes, 8) * 8;
  }
};

/// A superstep, or a part of one, on one IPU.
struct Step {
  StepKind kind = StepKind::compute;
  std::int16_t vertex = -1;     ///< number of the vertex type, of compute steps
  std::int32_t operation = -1;  ///< number of the operation, -1: of none
  std::int32_t ipu = 0;
  std::int32_t program = 0;  ///< number of the program that holds it
  std::int64_t repeats = 1;  ///< how often it runs
  std::int64_t cycles = 0;   ///< of the slowest tile, each time
  double mean_cycles = 0;    ///< over all tiles of the IPU, each time
  std::int64_t tiles = 0;    ///< that take part
  std::int64_t bytes = 0;    ///< moved each time, on all tiles
  std::int64_t flops = 0;    ///< of all times
  std::int64_t start = 0;    ///< the cycle of a run in which it begins the first time
  std::int32_t peer = -1;    ///< the step of the other IPU of a copy over links; -1: none

  std::int64_t total() const { return cycles * repeats; }
  std::int64_t end() const { return start + total(); }
};

/// A node of the model.
struct Operation {
  std::string name, type, plan;
  std::int32_t ipu = 0, program = 0;
  std::int32_t first_step = 0, end_step = 0;
  std::int64_t flops = 0, output_bytes = 0;
  Part part = Part::forward;           ///< of a training step
  std::vector<std::int32_t> inputs{};  ///< the operations whose results it reads
};

/// A node of the program tree.
struct Program {
  std::string name;
  std::int32_t parent = -1;
  std::int64_t repeats = 1;  ///< of the parent's each run
  std::int32_t operation = -1;
  std::int32_t callee = -1;  ///< the program, of no parent, that it runs instead of having steps
};

/// What a model would do on a machine: its program with the time of each step, and what each
/// tile's memory is used for. Plain data; the functions ask for what follows from them.
class Report {
 public:
  std::string model;
  Target target;
  ProfileOptions options;
  std::vector<Variable> variables;
  std::vector<Step> steps;
  std::vector<Operation> operations;
  std::vector<Program> programs;
  std::vector<std::string> vertices;  ///< names of vertex types
  /// By tile of all IPUs: bytes in each category, the step at which its temporaries are largest,
  /// and the cycles that it computes in a run.
  std::vector<std::array<std::int64_t, categories>> memory;
  std::vector<std::int32_t> peak_step;
  std::vector<double> tile_cycles;
  std::vector<std::int64_t> live_bytes;  ///< not always live, on all tiles, by step
  std::size_t products_planned = 0, products_reused = 0;
  /// Copies of the machine that run side by side, of which this is one; the micro-batches of each in
  /// a step of the optimizer; and the cycles of one without updates of weights.
  std::int64_t replicas = 1, accumulation = 1, micro_batch_cycles = 0;
  std::int64_t run_cycles = 0;  ///< of a pipeline, whose fragments take turns; 0: the steps say it
  std::int64_t batch = 0;       ///< samples of a micro-batch; 0: nobody said it

  /// Cycles of one run: until the last IPU has done its last step.
  std::int64_t cycles() const;
  std::int64_t cycles(StepKind kind) const;
  /// Tile cycles of compute steps without idle threads, the mean over tiles.
  double busy_cycles() const;
  double seconds() const { return target.seconds(cycles()); }
  /// Cycles of a step of the optimizer: all its micro-batches, and the updates once.
  std::int64_t step_cycles() const { return cycles() + (accumulation - 1) * micro_batch_cycles; }
  /// Samples that all replicas get through in a second; 0: the batch is not known.
  double samples_per_second() const {
    const std::int64_t cycles = step_cycles();
    if (cycles == 0) return 0;
    return static_cast<double>(batch * accumulation * replicas) / target.seconds(cycles);
  }
  std::int64_t flops() const;
  /// Floating-point operations a second, as a share of the matrix units' peak.
  double share_of_peak() const;

  std::int64_t tile_bytes(std::int64_t tile) const;
  std::int64_t always_live_bytes(std::int64_t tile) const;
  std::int64_t fullest_tile() const;
  bool fits() const { return tiles_out_of_memory() == 0; }
  std::int64_t tiles_out_of_memory() const;
  /// Sum over all tiles.
  std::int64_t bytes() const;
  /// Cycles of the steps of one IPU in a run. A copy over links takes the time of both ends.
  std::int64_t ipu_cycles(std::int64_t ipu) const;
  /// Cycles in which an IPU waits for others, and those when its last step is over: with ipu_cycles they
  /// are those of the run.
  std::int64_t waiting_cycles(std::int64_t ipu) const;
  std::int64_t idle_cycles(std::int64_t ipu) const;
  /// Sum over the tiles of one IPU.
  std::int64_t ipu_bytes(std::int64_t ipu) const;
  /// The variables on a tile, largest first: those live at that step and the always live.
  std::vector<std::int32_t> live_variables(std::int64_t tile, std::int32_t step) const;
  std::int64_t operation_cycles(std::size_t operation) const;
  /// The operation that a step belongs to; null: none.
  const Operation* operation_of(const Step& step) const {
    return step.operation < 0 ? nullptr : &operations[static_cast<std::size_t>(step.operation)];
  }

  // Texts and pages, which the library alone writes.

  /// In the shape of PopVision's and Poplar's summaries.
  std::string summary() const;
  /// Schema halftone.ipu.report, version 1.
  std::string json() const;
  std::string graph_json() const;      ///< the compile-time part alone
  std::string execution_json() const;  ///< the part about time alone
  /// Chrome trace events: for Perfetto and chrome://tracing.
  std::string trace() const;
  /// Graphviz: the operations and the tensors between them.
  std::string dot() const;
  /// Collapsed stacks, "a;b;c cycles" in lines: for flame graphs and speedscope.
  std::string stacks() const;
  std::string tiles_csv() const;
  std::string steps_csv() const;
  /// One page that needs nothing else, not even a network; `other`: the JSON of a report that it
  /// compares this one with.
  std::string html(std::string_view other = {}) const;
  void write_html(const std::string& path) const;
};

namespace detail {

/// The sum of f over a list.
constexpr std::int64_t sum_of(const auto& list, auto&& f) {
  std::int64_t sum = 0;
  for (const auto& element : list) sum += f(element);
  return sum;
}

}  // namespace detail

inline std::int64_t Report::cycles() const {
  std::int64_t end = run_cycles;
  if (end > 0) return end;
  for (const Step& s : steps) end = std::max(end, s.end());
  return end;
}
inline std::int64_t Report::cycles(StepKind kind) const {
  return detail::sum_of(steps, [&](const Step& s) { return s.kind == kind ? s.total() : 0; });
}
inline double Report::busy_cycles() const {
  const double sum = std::accumulate(tile_cycles.begin(), tile_cycles.end(), 0.0);
  return tile_cycles.empty() ? 0.0 : sum / static_cast<double>(tile_cycles.size());
}
inline std::int64_t Report::flops() const {
  return detail::sum_of(operations, [](const Operation& o) { return o.flops; });
}
inline double Report::share_of_peak() const {
  const double peak = target.peak_flops(ElementType::float16, ElementType::float16);
  return cycles() == 0 ? 0.0 : static_cast<double>(flops()) / seconds() / peak;
}

inline std::int64_t Report::tile_bytes(std::int64_t tile) const {
  if (tile < 0 || tile >= static_cast<std::int64_t>(memory.size())) {
    fail(ErrorKind::usage, {.what = "bytes are asked of a tile that the machine does not have",
                            .expected = DecimalText(static_cast<std::int64_t>(memory.size())),
                            .found = DecimalText(tile)});
  }
  return detail::sum_of(memory[static_cast<std::size_t>(tile)], std::identity());
}
inline std::int64_t Report::always_live_bytes(std::int64_t tile) const {
  return tile_bytes(tile) -
         memory[static_cast<std::size_t>(tile)][static_cast<std::size_t>(Category::temporaries)];
}
inline std::int64_t Report::fullest_tile() const {
  std::int64_t fullest = 0;
  for (std::int64_t tile = 1; tile < target.tiles(); ++tile) {
    if (tile_bytes(tile) > tile_bytes(fullest)) fullest = tile;
  }
  return fullest;
}
inline std::int64_t Report::tiles_out_of_memory() const {
  return std::count_if(memory.begin(), memory.end(), [&](const auto& tile) {
    return detail::sum_of(tile, std::identity()) > target.bytes_per_tile;
  });
}
inline std::int64_t Report::bytes() const {
  return detail::sum_of(memory,
                        [](const auto& tile) { return detail::sum_of(tile, std::identity()); });
}

inline std::int64_t Report::ipu_cycles(std::int64_t ipu) const {
  return detail::sum_of(steps, [&](const Step& s) { return s.ipu == ipu ? s.total() : 0; });
}
inline std::int64_t Report::idle_cycles(std::int64_t ipu) const {
  if (run_cycles > 0) return 0;  // steps say when they begin, not when they run for the last time
  std::int64_t last = 0;
  for (const Step& s : steps) {
    if (s.ipu == ipu) last = std::max(last, s.end());
  }
  return cycles() - last;
}
inline std::int64_t Report::waiting_cycles(std::int64_t ipu) const {
  return cycles() - ipu_cycles(ipu) - idle_cycles(ipu);
}
inline std::int64_t Report::ipu_bytes(std::int64_t ipu) const {
  std::int64_t sum = 0;
  const std::int64_t first = ipu * target.tiles_per_ipu;
  for (std::int64_t tile = first; tile < first + target.tiles_per_ipu; ++tile) {
    sum += tile_bytes(tile);
  }
  return sum;
}

inline std::vector<std::int32_t> Report::live_variables(std::int64_t tile,
                                                        std::int32_t step) const {
  const auto ipu = static_cast<std::int32_t>(tile / target.tiles_per_ipu);
  const std::int64_t on_ipu = tile % target.tiles_per_ipu;
  std::vector<std::int32_t> list;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = variables[i];
    if (v.ipu != ipu || v.on_tile(on_ipu) == 0) continue;
    if (v.is_always_live || (v.first_step <= step && step <= v.last_step)) {
      list.push_back(static_cast<std::int32_t>(i));
    }
  }
  const auto bytes = [&](std::int32_t v) {
    return variables[static_cast<std::size_t>(v)].on_tile(on_ipu);
  };
  std::sort(list.begin(), list.end(), [&](std::int32_t a, std::int32_t b) {
    return bytes(a) != bytes(b) ? bytes(a) > bytes(b) : a < b;
  });
  return list;
}

inline std::int64_t Report::operation_cycles(std::size_t operation) const {
  const Operation& o = operations.at(operation);
  std::int64_t sum = 0;
  for (std::int32_t s = o.first_step; s < o.end_step; ++s) {
    const Step& step = steps[static_cast<std::size_t>(s)];
    if (step.ipu == o.ipu) sum += step.total();
  }
  return sum;
}

/// Throws UsageError unless the nodes can be where they are meant to be: on IPUs that there are,
/// bodies with the node that holds them, and all that change one variable on one IPU.
void check_placement(const Graph& graph, std::int64_t ipus);

/// The program of a graph with static shapes, which `profile` prices. It throws what `profile` throws
/// for the graph.
halftone::Program program_for(const Graph& graph, const ProfileOptions& options = {});

/// What a graph with static shapes would do on the machine. Throws UsageError for a machine or
/// options that make no sense or contradictory placement, UnsupportedError if a shape is not known,
/// and MemoryError if the model does not fit, unless the options allow it.
Report profile(const Graph& graph, const Target& target, const ProfileOptions& options = {});

}  // namespace halftone::ipu
