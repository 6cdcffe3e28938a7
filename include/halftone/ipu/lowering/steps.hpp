#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <halftone/graph/describe.hpp>
#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/profile.hpp>

namespace halftone::ipu::detail {

using halftone::detail::joined, halftone::detail::quoted;

inline constexpr std::int64_t most_repeats = std::int64_t{1} << 32;  ///< that a profile counts
inline constexpr double most_flops = 1e16;                           ///< of one operator
inline constexpr std::int64_t repeat_cycles = 10;  ///< of the control of a loop, each pass

inline std::int64_t element_bytes(const TensorInfo& info) {
  return std::max(size_in_bytes(info.type), 1);
}

/// Appends supersteps to a report, with the time, the code and the memory that they need.
class Steps {
 public:
  /// What the next step belongs to.
  struct Here {
    const Graph* graph = nullptr;
    const Node* node = nullptr;  ///< null: host steps
    std::int32_t operation = -1, ipu = 0, program = 0;
    std::int64_t repeats = 1;  ///< how often the program runs
    std::int64_t passes = 1;   ///< how often the program that holds the operation runs
    std::int64_t times = 1;    ///< how often the piece of work is done
    bool has_code = true;      ///< the node is the first of its kind: the others share its code
    /// The work is part of the compute sets and exchanges of the node before.
    bool is_merged = false;
  };

  explicit Steps(Report& report);

  Here here{};
  Report& report;
  const Target& t;

  Step& add(StepKind kind, std::int64_t cycles) { return add(kind, cycles, 0, t.tiles_per_ipu); }
  Step& add(StepKind kind, std::int64_t cycles, std::int64_t bytes, std::int64_t tiles);
  /// A compute set over the tiles of a mapping, so many cycles on its fullest tile. `balance`: the
  /// share of these cycles that a tile with as many elements has on average.
  void compute(std::string_view vertex, const Mapping& over, std::int64_t cycles,
               double balance = 1, std::int64_t flops = 0);
  /// Each of `tiles` tiles receives so many bytes: sync, exchange, and the memory to receive them.
  void exchange(std::int64_t bytes_on_tile, std::int64_t tiles, std::int64_t cycles);
  void exchange(std::int64_t bytes_on_tile, std::int64_t tiles) {
    exchange(bytes_on_tile, tiles, exchange_cycles(t, bytes_on_tile));
  }
  void copy(std::int64_t cycles, std::int64_t tiles);
  /// A tensor comes to this IPU from another one over links. What comes from there at one moment
  /// comes together.
  void link(std::int32_t from, std::int64_t bytes);
  /// The replicas pass parts of so many bytes to each other, so many times round.
  void join(std::int64_t bytes, std::int64_t members, std::int64_t rounds);

  /// A program within this one, for the steps to come; returns where the steps behind it belong.
  /// Throws UnsupportedError for more than `most_repeats` passes.
  Here open_program(std::string name, std::int64_t repeats);

  /// Memory on this IPU from now on; returns its number.
  std::int32_t add_variable(std::string name, const Mapping& mapping, std::int64_t element_bytes,
                            Category category = Category::temporaries);
  /// Memory is needed up to this step, at least.
  void keep_until(std::int32_t variable, std::int32_t step);
  /// Received data is not needed beyond the node.
  void drop_received() { received_.clear(); }
  /// The number of the newest step; 0 if there is none.
  std::int32_t newest() const {
    return std::max(0, static_cast<std::int32_t>(report.steps.size()) - 1);
  }
  Operation& operation() { return report.operations[static_cast<std::size_t>(here.operation)]; }

  /// Operations on so many elements, as often as the piece of work is done.
  std::int64_t flops_of(std::int64_t elements, std::int64_t each = 1) const;
  /// Throws UnsupportedError for more than `most` of what is counted.
  void check_countable(std::string_view what, double number, double most) const;

  /// Adds the memory that every tile of an IPU has alike.
  void finish(bool has_host_exchange);

 private:
  std::int16_t vertex_number(std::string_view name);
  std::int64_t& bytes(std::int64_t tile, Category category) {
    return report.memory[static_cast<std::size_t>(here.ipu * t.tiles_per_ipu + tile)]
                        [static_cast<std::size_t>(category)];
  }
  std::int64_t& bytes_on_all(std::int32_t ipu, Category category) {
    return on_all_tiles_[static_cast<std::size_t>(ipu)][static_cast<std::size_t>(category)];
  }

  double cycles_ = 0;                   // so far
  std::int32_t link_step_ = -1;         // the receiver's, of the newest copy over links
  std::vector<std::int32_t> received_;  // live until the next compute set
  std::vector<std::array<std::int64_t, categories>> on_all_tiles_;  // of each IPU
  std::map<std::string, std::int16_t, std::less<>> vertex_numbers_{};
  std::map<std::pair<std::int16_t, std::int32_t>, std::vector<bool>> has_vertex_{};
};

inline constexpr std::int64_t stack_bytes = 3168;
inline constexpr std::int64_t control_bytes = 700, control_bytes_per_step = 8;
inline constexpr std::int64_t host_exchange_bytes = 289, link_bytes = 24;
inline constexpr double most_cycles = 4e18;

/// Code of a vertex type: families that assemble many loops are larger.
inline std::int64_t code_bytes(std::string_view vertex) {
  return vertex.starts_with("poplin::") || vertex.find("Reduc") != vertex.npos ? 1024 : 256;
}

/// A number as printf's %g has it.
inline std::string general_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

inline std::string node_text(const Steps::Here& here) {
  if (here.node == nullptr) return {};
  return halftone::detail::node_text(*here.node->op, here.graph->name(*here.node));
}

inline Steps::Steps(Report& r)
    : report(r), t(r.target), on_all_tiles_(static_cast<std::size_t>(r.target.ipus)) {
  report.memory.assign(static_cast<std::size_t>(t.tiles()), {});
  report.tile_cycles.assign(static_cast<std::size_t>(t.tiles()), 0.0);
  report.programs.push_back({.name = "main"});
}

inline void Steps::finish(bool has_host_exchange) {
  const auto per_ipu = static_cast<std::size_t>(t.tiles_per_ipu);
  for (std::int32_t ipu = 0; ipu < t.ipus; ++ipu) {
    bytes_on_all(ipu, Category::stack) += stack_bytes;
    bytes_on_all(ipu, Category::control_code) += control_bytes;
    if (has_host_exchange) bytes_on_all(ipu, Category::host_exchange_code) += host_exchange_bytes;
  }
  for (std::size_t tile = 0; tile < report.memory.size(); ++tile) {
    for (std::size_t c = 0; c < categories; ++c) {
      report.memory[tile][c] += on_all_tiles_[tile / per_ipu][c];
    }
  }
}

// --- steps ---------------------------------------------------------------------------------------

inline Step& Steps::add(StepKind kind, std::int64_t cycles, std::int64_t bytes,
                        std::int64_t tiles) {
  const std::int64_t repeats = here.repeats * here.times;
  cycles_ += static_cast<double>(cycles) * static_cast<double>(repeats);
  check_countable("a run takes more cycles than a profile counts", cycles_, most_cycles);
  report.steps.push_back({.kind = kind,
                          .operation = here.operation,
                          .ipu = here.ipu,
                          .program = here.program,
                          .repeats = repeats,
                          .cycles = cycles,
                          .tiles = tiles,
                          .bytes = bytes});
  if (here.has_code) bytes_on_all(here.ipu, Category::control_code) += control_bytes_per_step;
  return report.steps.back();
}

inline void Steps::compute(std::string_view vertex, const Mapping& over, std::int64_t cycles,
                           double balance, std::int64_t flops) {
  if (over.pieces == 0 || cycles <= 0) return;
  const std::int16_t number = vertex_number(vertex);
  std::vector<bool>& present = has_vertex_[{number, here.ipu}];
  present.resize(static_cast<std::size_t>(t.tiles_per_ipu));
  const auto first = static_cast<std::size_t>(here.ipu * t.tiles_per_ipu);
  const auto largest = static_cast<double>(std::max<std::int64_t>(over.largest(), 1));
  const double times = static_cast<double>(here.repeats * here.times);
  const std::int64_t code = code_bytes(vertex), state = here.has_code ? 4 + 3 * 8 : 0;
  double sum = 0;
  over.for_each_piece([&](std::int64_t on, std::int64_t elements) {
    const auto tile = static_cast<std::size_t>(on);
    const double own = static_cast<double>(cycles) * static_cast<double>(elements) / largest;
    sum += own * balance;
    report.tile_cycles[first + tile] += own * balance * times;
    bytes(on, Category::vertex_state) += state;
    if (present[tile]) return;
    present[tile] = true;
    bytes(on, Category::vertex_code) += code;
  });
  const bool has_launch = report.options.has_launch && !here.is_merged;
  const std::int64_t launch = has_launch ? t.launch_cycles : 0;
  Step& step = add(StepKind::compute, cycles + launch, 0, over.pieces);
  step.vertex = number;
  step.mean_cycles = sum / static_cast<double>(t.tiles_per_ipu);
  if (here.operation >= 0) {
    // A product's own passes share its operations; loops around a node repeat them.
    check_countable("an operator computes more than a profile counts",
                    static_cast<double>(flops) * static_cast<double>(here.passes), most_flops);
    step.flops = flops * here.passes;
    operation().flops += step.flops;
  }
  for (const std::int32_t v : received_) keep_until(v, newest());
  received_.clear();
}

inline void Steps::exchange(std::int64_t bytes_on_tile, std::int64_t tiles, std::int64_t cycles) {
  if (bytes_on_tile <= 0 || tiles <= 0) return;
  tiles = std::min(tiles, t.tiles_per_ipu);
  if (!here.is_merged) add(StepKind::sync, t.sync_cycles);
  const std::int64_t setup = here.is_merged ? 0 : t.exchange_setup_cycles;
  Step& step = add(StepKind::exchange, cycles + setup, bytes_on_tile * tiles, tiles);
  step.mean_cycles = static_cast<double>(cycles * tiles) / static_cast<double>(t.tiles_per_ipu);
  if (here.has_code) {
    // A message for each run: 256 bytes, twice what linear mappings keep together at least.
    const std::int64_t messages = std::clamp<std::int64_t>(bytes_on_tile / 256, 1, tiles);
    for (std::int64_t i = 0; i < tiles; ++i) {
      bytes(i, Category::internal_exchange_code) += 16 + 2 * 4 * messages;
    }
  }
  std::string_view name = "main";
  if (here.operation >= 0) name = operation().name;
  received_.push_back(add_variable(joined({name, "/received"}),
                                   spread_mapping(t, bytes_on_tile * tiles, tiles), 1));
}

inline void Steps::copy(std::int64_t cycles, std::int64_t tiles) {
  Step& step = add(StepKind::copy, cycles, 0, tiles);
  step.mean_cycles = static_cast<double>(cycles * tiles) / static_cast<double>(t.tiles_per_ipu);
}

inline void Steps::link(std::int32_t from, std::int64_t bytes) {
  const auto received = static_cast<std::size_t>(link_step_);
  if (link_step_ >= 0 && link_step_ + 2 == static_cast<std::int32_t>(report.steps.size()) &&
      report.steps[received].operation == here.operation &&
      report.steps[received].ipu == here.ipu && report.steps[received + 1].ipu == from) {
    for (const std::size_t s : {received, received + 1}) {
      report.steps[s].bytes += bytes;
      report.steps[s].cycles = link_cycles(t, report.steps[s].bytes);
    }
    return;
  }
  const std::int32_t to = here.ipu;
  for (const StepKind kind : {StepKind::sync, StepKind::link}) {
    const std::int64_t cycles =
        kind == StepKind::sync ? global_sync_cycles(t) : link_cycles(t, bytes);
    const auto number = static_cast<std::int32_t>(report.steps.size());
    for (const std::int32_t ipu : {to, from}) {
      here.ipu = ipu;
      Step& step = add(kind, cycles, kind == StepKind::link ? bytes : 0, t.tiles_per_ipu);
      step.peer = ipu == to ? number + 1 : number;
    }
    link_step_ = number;
  }
  here.ipu = to;
  for (const std::int32_t ipu : {from, to}) {
    bytes_on_all(ipu, Category::global_exchange_code) += link_bytes;
  }
}

inline void Steps::join(std::int64_t bytes, std::int64_t members, std::int64_t rounds) {
  const std::int64_t steps = ring_steps(members, rounds);
  if (steps == 0 || bytes == 0) return;
  const Target all = t.with_ipus(t.ipus * report.replicas);
  const std::int64_t part = divide_up(bytes, members);
  add(StepKind::sync, steps * global_sync_cycles(all));
  add(StepKind::link, steps * link_cycles(all, part), steps * part, t.tiles_per_ipu);
  bytes_on_all(here.ipu, Category::global_exchange_code) += link_bytes;
}

inline Steps::Here Steps::open_program(std::string name, std::int64_t repeats) {
  if (here.repeats > most_repeats / std::max<std::int64_t>(repeats, 1)) {
    fail(ErrorKind::unsupported,
         {.what = "loops within loops go round more often than a profile counts",
          .node = node_text(here),
          .expected = joined({"at most ", std::to_string(most_repeats), " passes"})});
  }
  const Here before = here;
  report.programs.push_back({.name = std::move(name),
                             .parent = here.program,
                             .repeats = repeats,
                             .operation = here.operation});
  here.program = static_cast<std::int32_t>(report.programs.size()) - 1;
  here.repeats *= repeats;
  return before;
}

// --- what is counted -----------------------------------------------------------------------------

inline void Steps::check_countable(std::string_view what, double number, double most) const {
  if (number <= most) return;
  fail(ErrorKind::unsupported, {.what = what,
                                .node = node_text(here),
                                .expected = "at most " + general_text(most),
                                .found = general_text(number)});
}

inline std::int64_t Steps::flops_of(std::int64_t elements, std::int64_t each) const {
  check_countable(
      "an operator computes more than a profile counts",
      static_cast<double>(elements) * static_cast<double>(each) * static_cast<double>(here.times),
      most_flops);
  return elements * each * here.times;
}

inline std::int16_t Steps::vertex_number(std::string_view name) {
  const auto known = vertex_numbers_.find(name);
  if (known != vertex_numbers_.end()) return known->second;
  const auto number = static_cast<std::int16_t>(report.vertices.size());
  report.vertices.emplace_back(name);
  vertex_numbers_.emplace(name, number);
  return number;
}

inline std::int32_t Steps::add_variable(std::string name, const Mapping& mapping,
                                        std::int64_t element_bytes, Category category) {
  report.variables.push_back({.name = std::move(name),
                              .element_bytes = element_bytes,
                              .mapping = mapping,
                              .ipu = here.ipu,
                              .first_step = newest(),
                              .last_step = newest(),
                              .is_always_live = category != Category::temporaries,
                              .category = category,
                              .operation = here.operation});
  return static_cast<std::int32_t>(report.variables.size()) - 1;
}

inline void Steps::keep_until(std::int32_t variable, std::int32_t step) {
  std::int32_t& last = report.variables[static_cast<std::size_t>(variable)].last_step;
  last = std::max(last, step);
}

}  // namespace halftone::ipu::detail
