#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include <halftone/ipu/plan.hpp>
#include <halftone/program/spread.hpp>

#include "base/describe.hpp"

namespace halftone::ipu {
namespace {

constexpr std::size_t most_rows = 12, most_failures = 3;

std::string row(const PlanPoint& p) {
  return fmt::format(
      "  {:>6} x {:<3} {:>11} {:>8}  {:<12} {:<9} {:<9} {:>10.1f} {:>6.1f} % {:>6.1f} %\n",
      p.stages, p.replicas, p.micro_batch, p.micro_batches,
      p.stages == 1 ? "-" : halftone::name(p.schedule), halftone::name(p.recompute), name(p.state),
      p.items_per_second, 100 * p.idle_share, 100 * p.memory_share);
}

nlohmann::json json_of(const PlanPoint& p) {
  return {{"stages", p.stages},
          {"replicas", p.replicas},
          {"micro_batch", p.micro_batch},
          {"micro_batches", p.micro_batches},
          {"schedule", halftone::name(p.schedule)},
          {"recompute", halftone::name(p.recompute)},
          {"state", name(p.state)},
          {"stage_ends", p.stage_ends},
          {"cycles", p.cycles},
          {"microseconds", p.seconds * 1e6},
          {"items_per_second", p.items_per_second},
          {"idle_share", p.idle_share},
          {"fits", p.fits()},
          {"fullest_stage", p.fullest_stage},
          {"memory_share", p.memory_share},
          {"bytes",
           {{"weights", p.bytes.weights},
            {"state", p.bytes.state},
            {"waiting", p.bytes.waiting},
            {"temporaries", p.bytes.temporaries},
            {"code", p.bytes.code}}}};
}

}  // namespace

std::string PlanPoint::text() const {
  std::string text = fmt::format("--batch {}", micro_batch);
  if (stages > 1)
    text += fmt::format(" --stages {} --schedule {}", stages, halftone::name(schedule));
  if (replicas > 1) text += fmt::format(" --replicas {}", replicas);
  if (micro_batches > 1) text += fmt::format(" --accumulation {}", micro_batches);
  if (recompute != Recomputation::none) {
    text += fmt::format(" --recompute {}", halftone::name(recompute));
  }
  if (half) text += " --half";
  if (state == StatePlace::sharded) text += " --shard state";
  if (state == StatePlace::off_chip) text += " --off-chip state";
  return text;
}

const PlanPoint* Plan::best() const {
  return !points.empty() && points.front().fits() ? &points.front() : nullptr;
}

std::vector<const PlanPoint*> Plan::pareto() const {
  std::vector<const PlanPoint*> front;
  double least = 2;
  for (const PlanPoint& p : points) {
    if (!p.fits() || p.memory_share >= least) continue;
    least = p.memory_share;
    front.push_back(&p);
  }
  return front;
}

std::string Plan::summary() const {
  std::string text = fmt::format("{} ways to spread the model over {} IPUs ({}):\n\n",
                                 points.size(), ipus, target.name.view());
  text += fmt::format("  {:<12} {:>11} {:>8}  {:<12} {:<9} {:<9} {:>10} {:>8} {:>8}\n",
                      "stages x rep", "micro-batch", "a step", "schedule", "recompute", "state",
                      "items/s", "idle", "fullest");
  const std::vector<const PlanPoint*> front = pareto();
  for (std::size_t i = 0; i < front.size() && i < most_rows; ++i) text += row(*front[i]);
  if (front.empty()) text += "  none fits\n";
  const auto bytes_text = [](std::int64_t bytes) {
    return halftone::detail::bytes_text(static_cast<std::uint64_t>(bytes));
  };
  // Faster ones, or all of them, that do not fit: one for each number of stages.
  std::string failures;
  std::vector<std::int32_t> seen;
  for (const PlanPoint& p : points) {
    const bool is_faster = front.empty() || p.items_per_second > front.front()->items_per_second;
    if (p.fits() || !is_faster || seen.size() >= most_failures ||
        std::find(seen.begin(), seen.end(), p.stages) != seen.end()) {
      continue;
    }
    seen.push_back(p.stages);
    failures += row(p);
    failures += fmt::format(
        "    stage {}: {} of weights, {} of state, {} wait, {} temporaries, {} code\n",
        p.fullest_stage, bytes_text(p.bytes.weights), bytes_text(p.bytes.state),
        bytes_text(p.bytes.waiting), bytes_text(p.bytes.temporaries), bytes_text(p.bytes.code));
  }
  if (!failures.empty()) text += "\nFaster, but too large for a tile's memory:\n" + failures;
  if (!front.empty()) text += "\nBest: " + front.front()->text() + "\n";
  text += counts_host ? "Streams of the host are counted.\n"
                      : "Streams of the host are left out: inputs and outputs take no time.\n";
  return text;
}

std::string Plan::json() const {
  nlohmann::json json{{"schema", "halftone.ipu.plan"},    {"version", 1},
                      {"target", target.name.view()},     {"ipus", ipus},
                      {"training", is_training},          {"counts_host", counts_host},
                      {"points", nlohmann::json::array()}};
  for (const PlanPoint& p : points) json["points"].push_back(json_of(p));
  return json.dump(1) + "\n";
}

}  // namespace halftone::ipu
