#include <halftone/ipu/pipeline.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <halftone/ipu/exchange.hpp>
#include <halftone/transform/complete_places.hpp>

namespace halftone::ipu {
namespace {

std::int64_t bytes_of(const Spread& spread, const Channel& channel) {
  const Fragment& from = spread.fragments[static_cast<std::size_t>(channel.from)];
  return from.program.graph.info(channel.tensor).bytes();
}

/// A fragment by itself on one IPU, and what comes over links for it.
std::int64_t cycles_of(const Spread& spread, const Fragment& fragment, const Target& target,
                       ProfileOptions options) {
  options.ipus = 1;
  options.placement = Placement::none;
  options.split_ratios.clear();
  options.allow_out_of_memory = true;
  const Report report = profile(fragment.program.graph, target, options);
  std::int64_t cycles = report.cycles() - report.cycles(StepKind::host);
  for (const std::int32_t c : fragment.given) {
    const Channel& channel = spread.channels[static_cast<std::size_t>(c)];
    if (channel.from == Channel::none) continue;
    if (spread.fragments[static_cast<std::size_t>(channel.from)].ipu == fragment.ipu) continue;
    cycles += global_sync_cycles(target) + link_cycles(target, bytes_of(spread, channel));
  }
  return cycles;
}

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
  text += line("Idle", fmt::format("{:.1f} %", 100 * idle_share()));
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
                      {"idle_share", idle_share()}};
  for (std::int32_t ipu = 0; ipu < spread.ipus; ++ipu) {
    json["by_ipu"].push_back({{"busy", busy_cycles(ipu)}, {"waiting_bytes", waiting_bytes(ipu)}});
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
  Vector<double> times;
  for (const Fragment& fragment : result.spread.fragments) {
    result.fragment_cycles.push_back(cycles_of(result.spread, fragment, result.target, options));
    times.push_back(static_cast<double>(result.fragment_cycles.back()));
  }
  result.timeline = timeline(result.spread, result.timetable, times);
  return result;
}

}  // namespace halftone::ipu
