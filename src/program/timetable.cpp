#include <halftone/program/spread.hpp>

#include <algorithm>
#include <utility>

namespace halftone {
namespace {

/// Calls f(fragment) for each fragment whose values another one reads.
void for_each_source(const Spread& spread, const Fragment& fragment, auto&& f) {
  for (const std::int32_t c : fragment.given) {
    const std::int32_t from = spread.channels[static_cast<std::size_t>(c)].from;
    if (from != Channel::none) f(static_cast<std::size_t>(from));
  }
}

Vector<TimetableEntry> turn_by_turn(const Spread& spread, std::int32_t micro_batches) {
  Vector<TimetableEntry> entries;
  std::int32_t last = 0;
  for (const Fragment& f : spread.fragments) {
    if (!f.is_of_step) last = std::max(last, f.stage);
  }
  for (std::int32_t turn = 0; turn < micro_batches + last; ++turn) {
    for (std::size_t f = 0; f < spread.fragments.size(); ++f) {
      const std::int32_t m = turn - spread.fragments[f].stage;
      if (spread.fragments[f].is_of_step || m < 0 || m >= micro_batches) continue;
      entries.push_back({static_cast<std::int32_t>(f), m, turn});
    }
  }
  return entries;
}

/// Has each IPU take the most urgent of what it could run: the forward part of another micro-batch, as
/// long as there are no more of them than stages until the loss, then gradients that other stages wait
/// for. Gradients of weights fill the time that is left, but not later than memory allows: stage s of S
/// keeps those of s micro-batches, so that with what waits for other gradients no stage keeps more than
/// S, as the first one does.
///
/// source  1F1B: Narayanan et al. 2019, PipeDream; the rule for weights: ZB-H1 of Qi et al. 2023
class ListScheduler {
 public:
  ListScheduler(const Spread& spread, std::int32_t micro_batches)
      : spread_(spread),
        micro_batches_(micro_batches),
        ends_(spread.fragments.size()),
        free_at_(static_cast<std::size_t>(spread.ipus), 0) {
    for (const Fragment& f : spread.fragments) {
      has_backward_ = has_backward_ || f.part == Part::backward;
      has_backward_ = has_backward_ || f.part == Part::update;
      last_ = std::max(last_, f.part == Part::forward ? f.stage : 0);
    }
  }

  Vector<TimetableEntry> run() {
    std::size_t open = 0;
    for (const Fragment& f : spread_.fragments) {
      open += f.is_of_step ? 0 : static_cast<std::size_t>(micro_batches_);
    }
    Vector<TimetableEntry> entries;
    for (std::int32_t now = 0; open > 0; ++now) {
      for (std::int32_t ipu = 0; ipu < spread_.ipus; ++ipu) {
        std::int32_t& free_at = free_at_[static_cast<std::size_t>(ipu)];
        if (free_at > now) continue;
        const std::int32_t f = most_urgent(ipu, now);
        if (f == Channel::none) continue;
        Vector<std::int32_t>& ends = ends_[static_cast<std::size_t>(f)];
        entries.push_back({f, static_cast<std::int32_t>(ends.size()), now});
        free_at = now + turns(spread_.fragments[static_cast<std::size_t>(f)]);
        ends.push_back(free_at);
        --open;
      }
    }
    return entries;
  }

 private:
  /// The backward part of a stage takes twice as long as its forward part; half of that is for the
  /// gradients of weights.
  std::int32_t turns(const Fragment& f) const {
    if (!has_backward_ || (f.is_of_weights && !is_all_of_stage(f))) return 1;
    if (f.is_of_weights) return 2;
    const std::int32_t backward = spread_.schedule == Schedule::zero_bubble ? 1 : 2;
    if (f.stage > last_) return backward;
    return f.stage == last_ ? 1 + backward : 1;
  }
  /// Whether nobody waits for any gradient of a stage: that of the input of a model.
  bool is_all_of_stage(const Fragment& f) const {
    return std::none_of(
        spread_.fragments.begin(), spread_.fragments.end(), [&](const Fragment& other) {
          return other.stage == f.stage && !other.is_of_step && !other.is_of_weights;
        });
  }
  /// Micro-batches that a stage has begun and whose gradients for other stages are not computed.
  std::int32_t waiting(std::int32_t stage, std::int32_t now) const {
    std::int32_t begun = 0, done = micro_batches_;
    for (std::size_t f = 0; f < spread_.fragments.size(); ++f) {
      const Fragment& other = spread_.fragments[f];
      if (other.is_of_step || (other.is_of_weights && !is_all_of_stage(other))) continue;
      const auto count = static_cast<std::int32_t>(ends_[f].size());
      if (other.stage == stage) begun = count;
      if (other.stage != stage && other.stage != 2 * last_ - stage) continue;
      const bool runs = count > 0 && ends_[f][static_cast<std::size_t>(count) - 1] > now;
      done = std::min(done, count - (runs ? 1 : 0));
    }
    return begun - done;
  }
  /// Whether gradients of weights wait of so many micro-batches that the stage would keep more than the
  /// first one does.
  bool must_run(std::size_t f) const {
    std::size_t ready = 0;
    for_each_source(spread_, spread_.fragments[f], [&](std::size_t from) {
      if (spread_.fragments[from].stage == spread_.fragments[f].stage) ready = ends_[from].size();
    });
    const std::int32_t pending =
        static_cast<std::int32_t>(ready) - static_cast<std::int32_t>(ends_[f].size());
    return pending > 2 * last_ - spread_.fragments[f].stage;
  }
  bool is_ready(std::size_t f, std::int32_t now) const {
    const std::size_t m = ends_[f].size();
    bool ready = true;
    for_each_source(spread_, spread_.fragments[f], [&](std::size_t from) {
      ready = ready && ends_[from].size() > m && ends_[from][m] <= now;
    });
    return ready;
  }
  std::int32_t most_urgent(std::int32_t ipu, std::int32_t now) const {
    std::int32_t best = Channel::none, best_rank = 4;
    for (std::size_t i = 0; i < spread_.fragments.size(); ++i) {
      const Fragment& f = spread_.fragments[i];
      if (f.is_of_step || f.ipu != ipu || !is_ready(i, now)) continue;
      if (static_cast<std::int32_t>(ends_[i].size()) == micro_batches_) continue;
      const bool is_begin = f.stage < last_ && has_backward_;
      if (is_begin && waiting(f.stage, now) > last_ - f.stage) continue;
      const bool can_wait = f.is_of_weights && !is_all_of_stage(f);
      const std::int32_t rank = can_wait ? (must_run(i) ? 0 : 3) : is_begin ? 1 : 2;
      if (rank > best_rank) continue;
      best_rank = rank;
      best = static_cast<std::int32_t>(i);
    }
    return best;
  }

  const Spread& spread_;
  const std::int32_t micro_batches_;
  Vector<Vector<std::int32_t>> ends_;  ///< of the micro-batches of each fragment
  Vector<std::int32_t> free_at_;       ///< of each IPU
  std::int32_t last_ = 0;              ///< stage of the forward part
  bool has_backward_ = false;
};

}  // namespace

Vector<TimetableEntry> timetable(const Spread& spread, std::int32_t micro_batches) {
  const bool is_listed =
      spread.schedule == Schedule::one_f_one_b || spread.schedule == Schedule::zero_bubble;
  Vector<TimetableEntry> entries =
      is_listed ? ListScheduler(spread, micro_batches).run() : turn_by_turn(spread, micro_batches);
  std::int32_t turn = entries.empty() ? 0 : entries.back().turn + 1;
  Vector<std::int32_t> turns(spread.fragments.size(), 0);  // of those of the step
  for (std::size_t f = 0; f < spread.fragments.size(); ++f) {
    if (!spread.fragments[f].is_of_step) continue;
    // What a fragment of a step waits for are others of the step, which come before it.
    for_each_source(spread, spread.fragments[f], [&](std::size_t from) {
      if (spread.fragments[from].is_of_step) turn = std::max(turn, turns[from] + 1);
    });
    turns[f] = turn;
    entries.push_back({static_cast<std::int32_t>(f), micro_batches - 1, turn});
  }
  return entries;
}

void count_slots(Spread& spread, const Vector<TimetableEntry>& entries) {
  // Micro-batches that each fragment has done, and how many of them before the present turn: who reads on
  // another IPU runs side by side with who writes.
  Vector<std::int32_t> done(spread.fragments.size(), 0), done_before(spread.fragments.size(), 0);
  std::int32_t micro_batches = 0, turn = 0;
  for (const TimetableEntry& entry : entries) {
    micro_batches = std::max(micro_batches, entry.micro_batch + 1);
  }
  for (Channel& channel : spread.channels) channel.slots = channel.from == Channel::none ? 0 : 1;
  for (const TimetableEntry& entry : entries) {
    if (entry.turn != turn) done_before = done;
    turn = entry.turn;
    const Fragment& fragment = spread.fragments[static_cast<std::size_t>(entry.fragment)];
    for (const std::int32_t c : fragment.passed) {
      if (c == Channel::none) continue;
      Channel& channel = spread.channels[static_cast<std::size_t>(c)];
      std::int32_t waiting = 1;
      for (const std::int32_t reader : channel.to) {
        const auto at = static_cast<std::size_t>(reader);
        const Fragment& other = spread.fragments[at];
        if (other.is_of_step) continue;
        const std::int32_t read = other.ipu == fragment.ipu ? done[at] : done_before[at];
        waiting = std::max(waiting, entry.micro_batch + 1 - read);
      }
      if (channel.is_output && !fragment.is_of_step) waiting = micro_batches;
      channel.slots = std::max(channel.slots, waiting);
    }
    done[static_cast<std::size_t>(entry.fragment)] = entry.micro_batch + 1;
  }
}

Timeline timeline(const Spread& spread, const Vector<TimetableEntry>& entries,
                  const Vector<double>& seconds) {
  Timeline line;
  const bool has_turns =
      spread.schedule == Schedule::grouped || spread.schedule == Schedule::continuous;
  Vector<double> free_at(static_cast<std::size_t>(spread.ipus), 0);
  Vector<Vector<double>> ends(spread.fragments.size());
  double turn_begin = 0;
  for (std::size_t s = 0; s < entries.size(); ++s) {
    const TimetableEntry& entry = entries[s];
    const auto number = static_cast<std::size_t>(entry.fragment);
    const Fragment& fragment = spread.fragments[number];
    if (has_turns && s > 0 && entries[s - 1].turn != entry.turn) turn_begin = line.end;
    double start = std::max(turn_begin, free_at[static_cast<std::size_t>(fragment.ipu)]);
    for_each_source(spread, fragment, [&](std::size_t from) {
      if (!ends[from].empty()) {
        const auto m = std::min<std::size_t>(static_cast<std::size_t>(entry.micro_batch),
                                             ends[from].size() - 1);
        start = std::max(start, ends[from][m]);
      }
    });
    if (fragment.is_of_step) {
      for (std::size_t f = 0; f < ends.size(); ++f) {
        if (spread.fragments[f].is_of_step || ends[f].empty()) continue;
        start = std::max(start, ends[f].back());
      }
    }
    const double end = start + seconds[number];
    line.start.push_back(start);
    line.end = std::max(line.end, end);
    line.busy += seconds[number];
    free_at[static_cast<std::size_t>(fragment.ipu)] = end;
    ends[number].push_back(end);
  }
  return line;
}

}  // namespace halftone
