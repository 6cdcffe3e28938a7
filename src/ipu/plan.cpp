#include <halftone/ipu/plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <halftone/ipu/exchange.hpp>
#include <halftone/program/spread.hpp>
#include <halftone/transform/in_half.hpp>

#include "ipu/segments.hpp"

namespace halftone::ipu {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// What one stage of consecutive segments takes, for one micro-batch unless it says otherwise.
struct Stage {
  double forward = 0, backward = 0, of_weights = 0;  ///< cycles, with copies from and to others
  double step = 0;                                   ///< cycles behind all micro-batches
  PlanPoint::Bytes bytes{};
  double micro_batch() const { return forward + backward + of_weights; }
};

/// The stages of a pipeline as fragments that have no graphs: what timetable() looks at.
Spread outline(std::int32_t stages, Schedule schedule, bool is_training) {
  Spread spread;
  spread.schedule = schedule;
  spread.ipus = spread.stages = stages;
  const bool divides = schedule == Schedule::zero_bubble;
  const std::int32_t last = stages - 1;
  const auto add = [&](Fragment fragment, std::initializer_list<std::int32_t> sources) {
    const auto number = static_cast<std::int32_t>(spread.fragments.size());
    for (const std::int32_t from : sources) {
      fragment.given.push_back(static_cast<std::int32_t>(spread.channels.size()));
      spread.channels.push_back({.from = from, .to = {number}});
    }
    spread.fragments.push_back(std::move(fragment));
    return number;
  };
  std::vector<std::int32_t> forward, gradient(static_cast<std::size_t>(stages));
  for (std::int32_t s = 0; s < stages; ++s) {
    const Fragment fragment{.ipu = s, .stage = s};
    forward.push_back(s == 0 ? add(fragment, {}) : add(fragment, {forward.back()}));
  }
  if (!is_training) return spread;
  gradient[static_cast<std::size_t>(last)] = forward.back();
  if (divides) add({.ipu = last, .stage = last, .is_of_weights = true}, {forward.back()});
  for (std::int32_t s = last - 1; s >= 0; --s) {
    const auto at = static_cast<std::size_t>(s);
    Fragment fragment{.ipu = s, .stage = 2 * last - s, .part = Part::backward};
    // Nobody waits for a gradient of the first stage.
    fragment.is_of_weights = divides && s == 0;
    gradient[at] = add(fragment, {forward[at], gradient[at + 1]});
    if (!divides || s == 0) continue;
    fragment.is_of_weights = true;
    add(fragment, {forward[at], gradient[at]});
  }
  for (std::int32_t s = 0; s < stages; ++s) {
    add({.ipu = s, .stage = s, .part = Part::update, .is_of_step = true}, {});
  }
  return spread;
}

/// The time of a step of any number of micro-batches. Long ones repeat themselves in the middle: two
/// numbers of micro-batches say how long all others take.
class Clock {
 public:
  struct Time {
    double end = 0, busy = 0;
  };

  Time time(const std::vector<Stage>& stages, Schedule schedule, bool is_training,
            std::int64_t micro_batches) {
    const auto count = static_cast<std::int32_t>(stages.size());
    const std::int64_t some = 4 * count, more = 6 * count;
    if (micro_batches <= more) {
      return exact(stages, schedule, is_training, static_cast<std::int32_t>(micro_batches));
    }
    const Time a = exact(stages, schedule, is_training, static_cast<std::int32_t>(some));
    const Time b = exact(stages, schedule, is_training, static_cast<std::int32_t>(more));
    const double beyond =
        static_cast<double>(micro_batches - more) / static_cast<double>(more - some);
    return {b.end + beyond * (b.end - a.end), b.busy + beyond * (b.busy - a.busy)};
  }

 private:
  struct Table {
    Spread spread;
    Vector<TimetableEntry> entries;
  };

  Time exact(const std::vector<Stage>& stages, Schedule schedule, bool is_training,
             std::int32_t micro_batches) {
    const auto count = static_cast<std::int32_t>(stages.size());
    const auto [at, is_new] =
        tables_.try_emplace({count, static_cast<int>(schedule), micro_batches});
    Table& table = at->second;
    if (is_new) {
      table.spread = outline(count, schedule, is_training);
      table.entries = timetable(table.spread, micro_batches);
    }
    Vector<double> cycles;
    for (const Fragment& f : table.spread.fragments) {
      const Stage& stage = stages[static_cast<std::size_t>(f.ipu)];
      cycles.push_back(cycles_of(f, stage, count, schedule));
    }
    const Timeline line = timeline(table.spread, table.entries, cycles);
    return {line.end, line.busy};
  }
  static double cycles_of(const Fragment& f, const Stage& stage, std::int32_t stages,
                          Schedule schedule) {
    if (f.is_of_step) return stage.step;
    const bool divides = schedule == Schedule::zero_bubble;
    const double gradients = stage.backward + (divides ? 0 : stage.of_weights);
    if (f.part == Part::backward) {
      if (f.ipu == 0) return stage.backward + stage.of_weights;
      return f.is_of_weights ? stage.of_weights : gradients;
    }
    if (f.is_of_weights) return stage.of_weights;
    return f.stage == stages - 1 ? stage.forward + gradients : stage.forward;
  }

  std::map<std::array<std::int32_t, 3>, Table> tables_;
};

class Search {
 public:
  Search(const ModelOfBatch& model, const Target& target, const PlanOptions& options)
      : model_(model), target_(target), options_(options) {
    target_.ipus = 1;
    if (options.profile.tiles_per_ipu != 0) target_.tiles_per_ipu = options.profile.tiles_per_ipu;
    check();
  }

  Plan run() {
    Plan plan{target_, options_.ipus, is_training(), options_.host, {}};
    for (const std::int64_t items : micro_batches()) {
      if (options_.batch % items != 0) continue;
      Graph model = options_.half ? in_half(model_(items)) : model_(items);
      segments_ = segments_of(std::move(model), options_.train, target_, options_.profile);
      items_ = items;
      most_parts_ = std::max(most_parts_, segments_.count());
      for (const std::int32_t stages : stages_to_try()) try_stages(stages, plan.points);
    }
    if (plan.points.empty()) fail_nothing_found();
    std::stable_sort(plan.points.begin(), plan.points.end(),
                     [](const PlanPoint& a, const PlanPoint& b) {
                       if (a.fits() != b.fits()) return a.fits();
                       return a.items_per_second > b.items_per_second;
                     });
    return plan;
  }

 private:
  bool is_training() const { return options_.train != nullptr; }

  void check() const {
    const auto refuse = [](std::string_view what, std::string_view expected, std::int64_t found) {
      fail(ErrorKind::usage, {.what = what, .expected = expected, .found = std::to_string(found)});
    };
    if (options_.ipus < 1 || options_.ipus > 64) {
      refuse("the number of IPUs of a system is out of range", "1 to 64", options_.ipus);
    }
    if (options_.batch < 0) {
      refuse("the batch of a step is negative", "0, or as many items as a step has",
             options_.batch);
    }
    for (const std::int64_t items : options_.micro_batches) {
      if (items < 1) refuse("a micro-batch has no items", "1 or more", items);
    }
    for (const Recomputation mode : options_.recompute) {
      if (mode == Recomputation::none || mode == Recomputation::standard) continue;
      fail(ErrorKind::usage, {.what = "a plan has no price for this recomputation",
                              .expected = "none or standard",
                              .found = halftone::name(mode)});
    }
    for (const Schedule schedule : options_.schedules) {
      if (schedule != Schedule::none && schedule != Schedule::continuous) continue;
      fail(ErrorKind::usage, {.what = "a plan has no price for this schedule",
                              .expected = "grouped, one_f_one_b or zero_bubble",
                              .found = halftone::name(schedule)});
    }
    for (const std::int32_t stages : options_.stages) {
      if (stages < 1 || options_.ipus % stages != 0) {
        refuse("replicas of so many stages do not fill the system",
               fmt::format("a divisor of {}", options_.ipus), stages);
      }
    }
  }

  std::vector<std::int64_t> micro_batches() const {
    if (!options_.micro_batches.empty()) return options_.micro_batches;
    std::vector<std::int64_t> sizes;
    for (std::int64_t items = 1; items <= 64; items *= 2) sizes.push_back(items);
    return sizes;
  }
  std::vector<std::int32_t> stages_to_try() const {
    if (!options_.stages.empty()) return options_.stages;
    std::vector<std::int32_t> stages;
    for (std::int32_t s = 1; s <= options_.ipus; ++s) {
      if (options_.ipus % s == 0) stages.push_back(s);
    }
    return stages;
  }

  [[noreturn]] void fail_nothing_found() const {
    const std::vector<std::int32_t> stages = stages_to_try();
    const std::int32_t fewest = *std::min_element(stages.begin(), stages.end());
    if (most_parts_ != 0 && static_cast<std::size_t>(fewest) > most_parts_) {
      fail(ErrorKind::usage, {.what = "the model has fewer parts than stages are tried",
                              .expected = fmt::format("at most {} stages", most_parts_),
                              .found = std::to_string(fewest)});
    }
    // One item in each micro-batch, and as many of them as stages in each replica.
    const std::int64_t sizes = micro_batches().front();
    const std::int64_t round = sizes * (options_.ipus / fewest);
    const std::int64_t least = round * fewest;
    const std::int64_t nearest = std::max(divide_up(options_.batch, round) * round, least);
    fail(ErrorKind::usage,
         {.what = "no micro-batches and replicas divide the batch of a step",
          .expected = fmt::format("for example {} items", nearest),
          .found = fmt::format("{} items on {} IPUs", options_.batch, options_.ipus)});
  }

  void try_stages(std::int32_t stages, std::vector<PlanPoint>& points) {
    if (static_cast<std::size_t>(stages) > segments_.count()) return;
    PlanPoint point{.stages = stages,
                    .replicas = options_.ipus / stages,
                    .micro_batch = items_,
                    .micro_batches = 4 * std::int64_t{stages},
                    .half = options_.half};
    if (options_.batch != 0) {
      const std::int64_t round = items_ * point.replicas;
      point.micro_batches = options_.batch / round;
      if (options_.batch % round != 0 || point.micro_batches < stages) return;
    }
    const std::vector<Recomputation> kept{Recomputation::none};
    const std::vector<StatePlace> here{StatePlace::on_chip};
    const std::vector<Schedule> none{Schedule::none}, some{Schedule::one_f_one_b};
    const std::vector<Schedule>& schedules = stages == 1     ? none
                                             : is_training() ? options_.schedules
                                                             : some;
    const bool has_state = is_training() && segments_.state_bytes() > 0;
    for (const Recomputation recompute : is_training() ? options_.recompute : kept) {
      for (const StatePlace state : has_state ? options_.state : here) {
        if (state == StatePlace::sharded && point.replicas == 1) continue;
        for (const Schedule schedule : schedules) {
          point.recompute = recompute;
          point.state = state;
          point.schedule = schedule;
          if (complete(point)) points.push_back(point);
        }
      }
    }
  }

  /// Micro-batches of which a stage keeps values at a time.
  static std::int64_t waiting(const PlanPoint& point, std::int32_t stage) {
    const std::int64_t behind = point.stages - 1 - stage;
    if (point.schedule == Schedule::grouped) return 2 * behind + 1;
    if (point.schedule == Schedule::zero_bubble) return point.stages;
    return behind + 1;
  }

  /// What a stage that works so many cycles waits for the host.
  double host_wait(const Range& range, double work) const {
    const HostShares shares = host_shares(range.inputs.all, range.outputs.all, work,
                                          options_.profile.prefetch, options_.profile.io_tiles > 0);
    return std::max(range.inputs.last, shares.inputs * range.inputs.all) +
           std::max(range.outputs.last, shares.outputs * range.outputs.all);
  }

  Stage stage_of(const PlanPoint& point, std::int32_t number, std::size_t begin,
                 std::size_t end) const {
    const Range& range = segments_.range(begin, end);
    const Target system = target_.with_ipus(options_.ipus);
    Stage stage{.forward = range.forward + range.forward_copies,
                .backward = range.backward + range.backward_copies,
                .of_weights = range.of_weights,
                .step = range.update + range.update_copies};
    std::int64_t kept = range.kept;
    stage.bytes.weights = range.weights;
    stage.bytes.state = range.accumulators;
    stage.bytes.temporaries = range.temporaries;
    stage.bytes.code = range.code;
    if (point.recompute != Recomputation::none) {
      stage.backward += range.repeated.at_end.cycles;
      stage.bytes.temporaries += range.repeated.at_end.largest;
      kept = range.repeated.at_end.kept;
    }
    if (options_.host) stage.forward += host_wait(range, stage.micro_batch());
    stage.bytes.waiting = kept * waiting(point, number);
    // Gradients of weights come later, of as many micro-batches as stages before.
    if (point.schedule == Schedule::zero_bubble) {
      const bool repeats = point.recompute != Recomputation::none;
      stage.bytes.waiting += number * (range.gradients + (repeats ? range.kept : 0));
    }
    if (!is_training()) stage.bytes.waiting = range.boundaries;
    stage.step += static_cast<double>(all_reduce_cycles(system, range.trained, point.replicas));
    switch (point.state) {
      case StatePlace::on_chip:
        stage.bytes.state += range.state;
        break;
      case StatePlace::sharded:
        stage.bytes.state += divide_up(range.state, point.replicas);
        stage.step -= range.update * (1 - 1 / static_cast<double>(point.replicas));
        break;
      case StatePlace::off_chip:
        if (range.state > 0) {
          stage.step += 2 * static_cast<double>(streaming_cycles(target_, range.state));
        }
        break;
    }
    return stage;
  }

  double share(const Stage& stage) const {
    const std::int64_t tiles = target_.tiles_per_ipu - options_.profile.io_tiles;
    return static_cast<double>(stage.bytes.sum()) * segments_.unevenness() /
           static_cast<double>(tiles * target_.bytes_per_tile);
  }

  /// The ends of stages, in segments, so that the slowest stage is as fast as it can be; by dynamic
  /// programming. Empty: the stages cannot have room.
  std::vector<std::size_t> divided(const PlanPoint& point, bool must_fit) const {
    struct Best {
      double slowest = never, sum = 0;
      std::size_t begin = 0;
    };
    const std::size_t count = segments_.count();
    const auto stages = static_cast<std::size_t>(point.stages);
    std::vector<std::vector<Best>> best(stages + 1, std::vector<Best>(count + 1));
    best[0][0].slowest = 0;
    for (std::size_t s = 1; s <= stages; ++s) {
      const std::size_t last = count - (stages - s);
      for (std::size_t e = s == stages ? count : s; e <= last; ++e) {
        for (std::size_t b = s - 1; b < e; ++b) {
          const Best& before = best[s - 1][b];
          if (before.slowest == never) continue;
          const Stage stage = stage_of(point, static_cast<std::int32_t>(s) - 1, b, e);
          const double memory = share(stage);
          if (must_fit && memory > 1) continue;
          // What does not fit is divided so that the fullest stage has the least.
          const double cost = must_fit ? stage.micro_batch() : memory;
          const double slowest = std::max(before.slowest, cost), sum = before.sum + cost;
          Best& now = best[s][e];
          if (slowest > now.slowest || (slowest == now.slowest && sum >= now.sum)) continue;
          now = {slowest, sum, b};
        }
      }
    }
    if (best[stages][count].slowest == never) return {};
    std::vector<std::size_t> ends(stages);
    for (std::size_t s = stages, e = count; s > 0; --s) {
      ends[s - 1] = e;
      e = best[s][e].begin;
    }
    return ends;
  }

  bool complete(PlanPoint& point) {
    std::vector<std::size_t> ends = divided(point, true);
    if (ends.empty()) ends = divided(point, false);
    if (ends.empty()) return false;
    std::vector<Stage> stages;
    point.stage_ends.clear();
    point.memory_share = 0;
    for (std::size_t s = 0; s < ends.size(); ++s) {
      const auto number = static_cast<std::int32_t>(s);
      stages.push_back(stage_of(point, number, s == 0 ? 0 : ends[s - 1], ends[s]));
      point.stage_ends.push_back(segments_.end_node(ends[s] - 1));
      const double memory = share(stages.back());
      if (memory <= point.memory_share) continue;
      point.memory_share = memory;
      point.fullest_stage = number;
      point.bytes = stages.back().bytes;
    }
    Clock::Time time;
    if (point.stages == 1) {
      time.end =
          stages[0].micro_batch() * static_cast<double>(point.micro_batches) + stages[0].step;
      time.busy = time.end;
    } else {
      time = clock_.time(stages, point.schedule, is_training(), point.micro_batches);
    }
    point.cycles = static_cast<std::int64_t>(std::ceil(time.end));
    point.seconds = target_.seconds(point.cycles);
    point.items_per_second = static_cast<double>(point.batch()) / point.seconds;
    point.idle_share = time.end > 0 ? 1 - time.busy / (time.end * point.stages) : 0;
    return true;
  }

  const ModelOfBatch& model_;
  Target target_;
  const PlanOptions& options_;
  Segments segments_;
  std::int64_t items_ = 1;
  std::size_t most_parts_ = 0;
  Clock clock_;
};

}  // namespace

void PlanPoint::place(Graph& model) const {
  std::int64_t n = 0;
  for (std::size_t s = 0; s < stage_ends.size(); ++s) {
    for (; n < stage_ends[s] && n < static_cast<std::int64_t>(model.nodes.size()); ++n) {
      Place& place = model.nodes[static_cast<std::size_t>(n)].place;
      place.ipu = place.stage = static_cast<std::int16_t>(s);
    }
  }
}

Plan plan(const ModelOfBatch& model, const Target& target, const PlanOptions& options) {
  return Search(model, target, options).run();
}

}  // namespace halftone::ipu
