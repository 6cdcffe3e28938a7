#include <halftone/ipu/pipeline.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/lowering/make_report.hpp>
#include <halftone/transform/complete_places.hpp>

namespace halftone::ipu {
namespace {

std::int64_t bytes_of(const Spread& spread, const Channel& channel) {
  const Fragment& from = spread.fragments[static_cast<std::size_t>(channel.from)];
  return from.program.graph.info(channel.tensor).bytes();
}

const Fragment& fragment_at(const Spread& spread, std::int32_t number) {
  return spread.fragments[static_cast<std::size_t>(number)];
}

/// The fragment that gives a value to other IPUs. What only updates read goes once a step, with the first
/// fragment of its IPU that runs once a step.
std::int32_t sender_of(const Spread& spread, const Channel& channel) {
  const auto is_of_step = [&](std::int32_t f) { return fragment_at(spread, f).is_of_step; };
  const bool is_late =
      !is_of_step(channel.from) && std::all_of(channel.to.begin(), channel.to.end(), is_of_step);
  if (!is_late) return channel.from;
  const std::int32_t ipu = fragment_at(spread, channel.from).ipu;
  const auto sends = [&](const Fragment& f) { return f.ipu == ipu && f.is_of_step; };
  const auto first = std::find_if(spread.fragments.begin(), spread.fragments.end(), sends);
  return first == spread.fragments.end()
             ? channel.from
             : static_cast<std::int32_t>(first - spread.fragments.begin());
}

/// Bytes that a fragment gets from other IPUs, and bytes that it gives to them. A value comes to an IPU
/// once: with the first of its fragments that reads it.
struct Crossing {
  std::int64_t received = 0, sent = 0;
};

Crossing crossing_of(const Spread& spread, std::size_t number) {
  const Fragment& fragment = spread.fragments[number];
  const auto is_first = [&](const Channel& channel) {
    return std::none_of(channel.to.begin(), channel.to.end(), [&](std::int32_t to) {
      return static_cast<std::size_t>(to) < number && fragment_at(spread, to).ipu == fragment.ipu;
    });
  };
  Crossing crossing;
  for (const std::int32_t c : fragment.given) {
    const Channel& channel = spread.channels[static_cast<std::size_t>(c)];
    if (channel.from == Channel::none) continue;
    if (fragment_at(spread, channel.from).ipu != fragment.ipu && is_first(channel)) {
      crossing.received += bytes_of(spread, channel);
    }
  }
  for (const Channel& channel : spread.channels) {
    if (channel.from == Channel::none || channel.to.empty()) continue;
    if (static_cast<std::size_t>(sender_of(spread, channel)) != number) continue;
    std::set<std::int32_t> ipus;
    for (const std::int32_t to : channel.to) ipus.insert(fragment_at(spread, to).ipu);
    ipus.erase(fragment.ipu);
    crossing.sent += static_cast<std::int64_t>(ipus.size()) * bytes_of(spread, channel);
  }
  return crossing;
}

/// What comes from other IPUs at one moment comes together, and links add up what they carry.
std::int64_t copy_cycles_of(const Target& target, std::int64_t bytes) {
  return bytes == 0 ? 0 : global_sync_cycles(target) + link_cycles(target, bytes);
}

/// A fragment by itself on one IPU. What it gets and gives goes over links, or stays: not to the host.
Report fragment_report(const Fragment& fragment, const Target& target, ProfileOptions options,
                       detail::Boundary& boundary) {
  options.ipus = 1;
  options.placement = Placement::none;
  options.split_ratios.clear();
  options.recompute = Recomputation::none;  // the whole graph was recomputed
  options.allow_out_of_memory = true;
  Report report = detail::make_report(
      {}, target, options, [&] { return program_for(fragment.program.graph, options); }, &boundary);
  for (Step& step : report.steps) {
    if (step.kind == StepKind::host) step.repeats = 0;
  }
  detail::Clocks(report, true).run();
  return report;
}

/// How tensors lie that fragments have in common: variables of an IPU as the first fragment has placed
/// them, values as they were made, on another IPU as well.
class Boundaries {
 public:
  Report report(const Spread& spread, const Fragment& fragment, const Target& target,
                const ProfileOptions& options) {
    detail::Boundary& boundary = of_ipu_[fragment.ipu];
    boundary.layouts = layouts_;
    boundary.inputs.clear();
    for (const std::int32_t channel : fragment.given) boundary.inputs.push_back(made_[channel]);
    Report report = fragment_report(fragment, target, options, boundary);
    layouts_ = boundary.layouts;
    for (std::size_t i = 0; i < fragment.passed.size() && i < boundary.outputs.size(); ++i) {
      const std::int32_t channel = fragment.passed[i];
      if (channel == Channel::none) continue;
      if (spread.channels[static_cast<std::size_t>(channel)].from == Channel::none) continue;
      made_[channel] = boundary.outputs[i];
    }
    return report;
  }

 private:
  std::map<std::int32_t, detail::Boundary> of_ipu_;
  std::map<std::int32_t, detail::Placed> made_;  ///< by channel
  std::uint32_t layouts_ = 1;
};

std::string_view part_name(char letter) {
  return letter == 'f'   ? "forward"
         : letter == 'b' ? "backward"
         : letter == 'w' ? "gradients of weights"
                         : "updates";
}

/// What is done before the first micro-batch (init: nothing that takes cycles, since weights are there),
/// and with micro-batches, and once they are all through.
enum class Phase : std::uint8_t { init, fill, main, flush, update };
constexpr std::string_view phase_names[] = {"init", "fill", "main", "flush", "update"};

/// The phase in which an entry of the timetable begins.
Phase phase_of(const PipelineProfile& profile, const PipelinePhases& phases, std::size_t entry) {
  const TimetableEntry& e = profile.timetable[entry];
  if (fragment_at(profile.spread, e.fragment).is_of_step) return Phase::update;
  const auto start = static_cast<std::int64_t>(profile.timeline.start[entry]);
  return start < phases.filled ? Phase::fill : start < phases.drains ? Phase::main : Phase::flush;
}

/// Puts the reports of fragments together to that of a run.
class Composition {
 public:
  Composition(const PipelineProfile& profile, std::string_view model, const ProfileOptions& options)
      : profile_(profile), per_ipu_(static_cast<std::size_t>(profile.target.tiles_per_ipu)) {
    report_.model = model;
    report_.target = profile.target;
    report_.options = options;
    report_.programs.push_back({.name = "pipeline"});
    for (const std::string_view phase : phase_names) {
      report_.programs.push_back({.name = std::string(phase), .parent = 0});
    }
    report_.memory.assign(static_cast<std::size_t>(profile.target.tiles()), {});
    report_.tile_cycles.assign(static_cast<std::size_t>(profile.target.tiles()), 0.0);
  }

  void add(std::size_t number, const Report& part) {
    const Fragment& fragment = profile_.spread.fragments[number];
    const auto runs = std::count_if(
        profile_.timetable.begin(), profile_.timetable.end(),
        [&](const TimetableEntry& e) { return static_cast<std::size_t>(e.fragment) == number; });
    const auto first_step = static_cast<std::int32_t>(report_.steps.size());
    const auto first_operation = static_cast<std::int32_t>(report_.operations.size());
    const auto first_program = static_cast<std::int32_t>(report_.programs.size());
    const Crossing crossing = crossing_of(profile_.spread, number);
    now_ = start_of(number);
    program_ = first_program;
    functions_.push_back(first_program);
    add_programs(part, fragment, runs);
    add_copy(fragment, crossing.received, runs);
    const auto behind_copy = static_cast<std::int32_t>(report_.steps.size());
    for (Step step : part.steps) {
      step.ipu = fragment.ipu;
      if (step.vertex >= 0)
        step.vertex = vertex(part.vertices[static_cast<std::size_t>(step.vertex)]);
      if (step.operation >= 0) step.operation += first_operation;
      step.program += first_program;
      step.repeats *= runs;
      step.flops *= runs;
      step.start += now_;
      report_.steps.push_back(step);
    }
    now_ += part.cycles();
    add_copy(fragment, crossing.sent, runs);
    for (Operation o : part.operations) {
      o.ipu = fragment.ipu;
      o.program += first_program;
      o.first_step += behind_copy;
      o.end_step += behind_copy;
      o.flops *= runs;
      for (std::int32_t& input : o.inputs) input += first_operation;
      report_.operations.push_back(std::move(o));
    }
    add_variables(part, fragment, behind_copy, first_operation, first_step);
    add_code(part, fragment, runs);
    report_.products_planned += part.products_planned;
    report_.products_reused += part.products_reused;
    report_.replicas = part.replicas;
  }

  /// Values that wait for other stages lie on the IPU that made them.
  void add_stashes() {
    for (const Channel& channel : profile_.spread.channels) {
      if (channel.from == Channel::none || channel.to.empty() || channel.slots == 0) continue;
      const Fragment& from = fragment_at(profile_.spread, channel.from);
      const Graph& graph = from.program.graph;
      const TensorInfo& info = graph.info(channel.tensor);
      std::int64_t& next = next_tile_[from.ipu];
      const Mapping mapping =
          linear_mapping(report_.target, info.elements() * channel.slots, info.type, next);
      next = mapping.end_tile();
      report_.variables.push_back({.name = std::string(graph.name(channel.tensor)) + "/stash",
                                   .element_bytes = size_in_bytes(info.type),
                                   .mapping = mapping,
                                   .ipu = from.ipu,
                                   .is_always_live = true,
                                   .category = Category::variables});
    }
  }

  Report finish() {
    add_calls();
    report_.run_cycles = profile_.cycles();
    report_.accumulation = profile_.micro_batches;
    detail::lay_out_memory(report_);
    return std::move(report_);
  }

 private:
  std::int64_t start_of(std::size_t number) const {
    for (std::size_t i = 0; i < profile_.timetable.size(); ++i) {
      if (static_cast<std::size_t>(profile_.timetable[i].fragment) != number) continue;
      return static_cast<std::int64_t>(profile_.timeline.start[i]);
    }
    return 0;
  }

  void add_programs(const Report& part, const Fragment& fragment, std::int64_t runs) {
    const auto first = static_cast<std::int32_t>(report_.programs.size());
    for (Program program : part.programs) {
      if (program.parent < 0) {
        program.name =
            fmt::format("stage {} {}", fragment.stage, part_name(profile_.kind(fragment)));
        program.repeats = runs;
      } else {
        program.parent += first;
      }
      if (program.operation >= 0) {
        program.operation += static_cast<std::int32_t>(report_.operations.size());
      }
      report_.programs.push_back(std::move(program));
    }
  }

  /// Says in which phase the programs of fragments run, and how often.
  void add_calls() {
    const PipelinePhases phases = profile_.phases();
    std::map<std::pair<Phase, std::int32_t>, std::int64_t> runs;
    for (std::size_t i = 0; i < profile_.timetable.size(); ++i) {
      ++runs[{phase_of(profile_, phases, i), profile_.timetable[i].fragment}];
    }
    for (const auto& [call, times] : runs) {
      const std::int32_t callee = functions_[static_cast<std::size_t>(call.second)];
      report_.programs.push_back({.name = report_.programs[static_cast<std::size_t>(callee)].name,
                                  .parent = 1 + static_cast<std::int32_t>(call.first),
                                  .repeats = times,
                                  .callee = callee});
    }
  }

  void add_copy(const Fragment& fragment, std::int64_t bytes, std::int64_t runs) {
    if (bytes == 0) return;
    const Target& t = report_.target;
    for (const StepKind kind : {StepKind::sync, StepKind::link}) {
      const bool is_link = kind == StepKind::link;
      report_.steps.push_back({.kind = kind,
                               .ipu = fragment.ipu,
                               .program = program_,
                               .repeats = runs,
                               .cycles = is_link ? link_cycles(t, bytes) : global_sync_cycles(t),
                               .tiles = t.tiles_per_ipu,
                               .bytes = is_link ? bytes : 0,
                               .start = now_});
      now_ += report_.steps.back().cycles;
    }
  }

  void add_variables(const Report& part, const Fragment& fragment, std::int32_t first_step,
                     std::int32_t first_operation, std::int32_t first) {
    for (Variable v : part.variables) {
      // Weights are there once, whichever fragments of the IPU use them.
      if (v.is_always_live && !known_.emplace(fragment.ipu, v.name).second) continue;
      v.ipu = fragment.ipu;
      // What the fragment is given comes with the copy before its first step.
      v.first_step = v.first_step == 0 ? first : v.first_step + first_step;
      v.last_step += first_step;
      if (v.operation >= 0) v.operation += first_operation;
      report_.variables.push_back(std::move(v));
    }
  }

  /// Fragments of an IPU have code of their own, but vertices and the stack in common.
  void add_code(const Report& part, const Fragment& fragment, std::int64_t runs) {
    const std::size_t first = static_cast<std::size_t>(fragment.ipu) * per_ipu_;
    // A fragment has the tiles that compute: those for the host are none of them.
    const auto tiles = static_cast<std::size_t>(part.target.tiles_per_ipu);
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      report_.tile_cycles[first + tile] += static_cast<double>(runs) * part.tile_cycles[tile];
      for (std::size_t c = 0; c < categories; ++c) {
        std::int64_t& bytes = report_.memory[first + tile][c];
        switch (static_cast<Category>(c)) {
          case Category::variables:
          case Category::constants:
          case Category::temporaries:
            break;
          case Category::stack:
          case Category::vertex_code:
          case Category::host_exchange_code:
            bytes = std::max(bytes, part.memory[tile][c]);
            break;
          default:
            bytes += part.memory[tile][c];
        }
      }
    }
  }

  std::int16_t vertex(const std::string& name) {
    const auto at = std::find(report_.vertices.begin(), report_.vertices.end(), name);
    const auto number = static_cast<std::int16_t>(at - report_.vertices.begin());
    if (at == report_.vertices.end()) report_.vertices.push_back(name);
    return number;
  }

  const PipelineProfile& profile_;
  const std::size_t per_ipu_;
  Report report_;
  std::set<std::pair<std::int32_t, std::string>> known_;
  std::map<std::int32_t, std::int64_t> next_tile_;
  std::vector<std::int32_t> functions_;  ///< the programs of fragments
  std::int64_t now_ = 0;
  std::int32_t program_ = 0;
};

}  // namespace

char PipelineProfile::kind(const Fragment& fragment) const {
  if (fragment.is_of_step || fragment.part == Part::update) return 'u';
  if (fragment.is_of_weights) return 'w';
  return fragment.stage < spread.stages ? 'f' : 'b';
}

std::int64_t PipelineProfile::busy_cycles(std::int32_t ipu) const {
  std::int64_t sum = 0;
  for (const TimetableEntry& entry : timetable) {
    const auto f = static_cast<std::size_t>(entry.fragment);
    if (spread.fragments[f].ipu == ipu) sum += fragment_cycles[f];
  }
  return sum;
}

PipelinePhases PipelineProfile::phases() const {
  struct Span {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  };
  std::map<std::int32_t, Span> spans;
  for (std::size_t i = 0; i < timetable.size(); ++i) {
    const std::int32_t number = timetable[i].fragment;
    if (fragment_at(spread, number).is_of_step) continue;
    const auto start = static_cast<std::int64_t>(timeline.start[i]);
    Span& span = spans[number];
    span.begin = std::min(span.begin, start);
    span.end = std::max(span.end, start + fragment_cycles[static_cast<std::size_t>(number)]);
  }
  PipelinePhases phases;
  for (const auto& [number, span] : spans) {
    phases.filled = std::max(phases.filled, span.begin);
    phases.drains = phases.drains == 0 ? span.end : std::min(phases.drains, span.end);
    phases.flushed = std::max(phases.flushed, span.end);
  }
  return phases;
}

std::int64_t PipelineProfile::waiting_bytes(std::int32_t ipu) const {
  std::int64_t sum = 0;
  for (const Channel& channel : spread.channels) {
    if (channel.from == Channel::none || channel.to.empty()) continue;
    if (spread.fragments[static_cast<std::size_t>(channel.from)].ipu != ipu) continue;
    sum += channel.slots * bytes_of(spread, channel);
  }
  return sum;
}

std::string PipelineProfile::summary() const {
  const auto line = [](std::string_view label, const std::string& value) {
    return fmt::format("  {:<36}{}\n", label, value);
  };
  std::string text = "Pipeline:\n";
  text += line("Target", std::string(target.name.view()));
  text += line("Stages", fmt::format("{} on {} IPUs", spread.stages, spread.ipus));
  text += line("Schedule", std::string(halftone::name(spread.schedule)));
  text += line("Micro-batches", std::to_string(micro_batches));
  text += line("Total cycles", fmt::format("{}  ({:.1f} us, {:.1f} us a micro-batch)", cycles(),
                                           seconds() * 1e6, seconds() * 1e6 / micro_batches));
  const PipelinePhases ends = phases();
  const std::int64_t drains = std::max(ends.filled, ends.drains);
  text += line("Phases",
               fmt::format("fill {}, main {}, flush {}, update {} cycles", ends.filled,
                           drains - ends.filled, ends.flushed - drains, cycles() - ends.flushed));
  text += line("Idle", fmt::format("{:.1f} %", 100 * idle_share()));
  if (report.batch > 0) {
    text += line("Samples a second", fmt::format("{:.1f}  ({} replicas x {} micro-batches of {})",
                                                 report.samples_per_second(), report.replicas,
                                                 micro_batches, report.batch));
  }
  const std::int64_t fullest = report.fullest_tile();
  text += line("Fullest tile",
               fmt::format("{} B of {}  (tile {} of IPU {})", report.tile_bytes(fullest),
                           target.bytes_per_tile, fullest % target.tiles_per_ipu,
                           fullest / target.tiles_per_ipu));
  for (std::int32_t ipu = 0; ipu < spread.ipus; ++ipu) {
    const double share =
        cycles() > 0 ? static_cast<double>(busy_cycles(ipu)) / static_cast<double>(cycles()) : 0;
    text += line(fmt::format("IPU {}", ipu),
                 fmt::format("{:>12} cycles  ({:.1f} %), {} B wait", busy_cycles(ipu), 100 * share,
                             waiting_bytes(ipu)));
  }
  constexpr int width = 96;
  text += "\n";
  for (std::int32_t ipu = 0; ipu < spread.ipus; ++ipu) {
    std::string lane(width, '.');
    for (std::size_t i = 0; i < timetable.size(); ++i) {
      const auto f = static_cast<std::size_t>(timetable[i].fragment);
      if (spread.fragments[f].ipu != ipu || timeline.end <= 0) continue;
      const double unit = width / timeline.end;
      const auto begin = static_cast<int>(timeline.start[i] * unit);
      const auto end =
          static_cast<int>((timeline.start[i] + static_cast<double>(fragment_cycles[f])) * unit);
      for (int at = begin; at < std::max(end, begin + 1) && at < width; ++at) {
        lane[static_cast<std::size_t>(at)] = kind(spread.fragments[f]);
      }
    }
    text += fmt::format("  IPU {:<3} {}\n", ipu, lane);
  }
  return text +
         "  f forward (and backward in the last stage), b backward, w gradients of weights, "
         "u updates\n";
}

std::string PipelineProfile::json() const {
  nlohmann::json json{{"schema", "halftone.ipu.pipeline"},
                      {"version", 1},
                      {"target", target.name.view()},
                      {"stages", spread.stages},
                      {"ipus", spread.ipus},
                      {"schedule", halftone::name(spread.schedule)},
                      {"micro_batches", micro_batches},
                      {"cycles", cycles()},
                      {"microseconds", seconds() * 1e6},
                      {"idle_share", idle_share()},
                      {"replicas", report.replicas},
                      {"samples_per_second", report.samples_per_second()},
                      {"fullest_tile_bytes", report.tile_bytes(report.fullest_tile())},
                      {"fits", report.fits()}};
  for (std::int32_t ipu = 0; ipu < spread.ipus; ++ipu) {
    json["by_ipu"].push_back({{"busy", busy_cycles(ipu)},
                              {"waiting_bytes", waiting_bytes(ipu)},
                              {"bytes", report.ipu_bytes(ipu)}});
  }
  for (std::size_t f = 0; f < spread.fragments.size(); ++f) {
    const Fragment& fragment = spread.fragments[f];
    json["fragments"].push_back({{"ipu", fragment.ipu},
                                 {"stage", fragment.stage},
                                 {"kind", std::string(1, kind(fragment))},
                                 {"cycles", fragment_cycles[f]}});
  }
  for (std::size_t i = 0; i < timetable.size(); ++i) {
    json["timetable"].push_back({{"fragment", timetable[i].fragment},
                                 {"micro_batch", timetable[i].micro_batch},
                                 {"start", static_cast<std::int64_t>(timeline.start[i])}});
  }
  return json.dump(1) + "\n";
}

PipelineProfile profile_pipeline(const Graph& graph, const Target& target, Schedule schedule,
                                 std::int32_t micro_batches, const ProfileOptions& options) {
  if (!has_stages(graph) || schedule == Schedule::none) {
    fail(ErrorKind::usage, {.what = "a pipeline that has no stages or no schedule is profiled",
                            .hint = "place(graph, {.stages = 2}), Schedule::grouped"});
  }
  check_depth(graph, micro_batches, !graph.model.empty());
  PipelineProfile result;
  result.target = target;
  if (options.tiles_per_ipu != 0) result.target.tiles_per_ipu = options.tiles_per_ipu;
  if (options.ipus != 0) result.target.ipus = options.ipus;
  result.micro_batches = micro_batches;
  Graph planned = program_for(graph, options).graph;
  complete_places(planned);
  result.spread = cut(planned, schedule);
  const std::int64_t ipus = result.target.ipus;
  if (result.spread.ipus > ipus) {
    fail(ErrorKind::usage, {.what = "a stage is on an IPU that the machine does not have",
                            .expected = "at most " + std::to_string(ipus) + " IPUs",
                            .found = std::to_string(result.spread.ipus)});
  }
  result.timetable = timetable(result.spread, micro_batches);
  count_slots(result.spread, result.timetable);
  std::vector<Report> parts;
  Vector<double> times;
  Boundaries boundaries;
  for (std::size_t f = 0; f < result.spread.fragments.size(); ++f) {
    const Fragment& fragment = result.spread.fragments[f];
    parts.push_back(boundaries.report(result.spread, fragment, result.target, options));
    const Crossing crossing = crossing_of(result.spread, f);
    result.fragment_cycles.push_back(parts.back().cycles() +
                                     copy_cycles_of(result.target, crossing.received) +
                                     copy_cycles_of(result.target, crossing.sent));
    times.push_back(static_cast<double>(result.fragment_cycles.back()));
  }
  result.timeline = timeline(result.spread, result.timetable, times);
  Composition composition(result, graph.text(graph.graph_name), options);
  for (std::size_t f = 0; f < parts.size(); ++f) composition.add(f, parts[f]);
  composition.add_stashes();
  result.report = composition.finish();
  if (!options.allow_out_of_memory && !result.report.fits()) {
    detail::throw_out_of_memory(result.report);
  }
  return result;
}

}  // namespace halftone::ipu
