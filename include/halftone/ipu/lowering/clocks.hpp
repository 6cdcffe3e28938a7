#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/profile.hpp>

// When the steps of a report begin.
namespace halftone::ipu::detail {

/// Each IPU has a clock and does its steps in their order. A step begins when its IPU is free and the
/// operations whose results it reads are done, wherever they run. An IPU that needs a copy waits for
/// the one that has it, which sends between two steps of its own. A copy that could have begun with
/// the one before is part of the same exchange: it adds its bytes, but no sync and no latency.
class Clocks {
 public:
  /// `has_updates`: updates of weights take their time.
  Clocks(Report& report, bool has_updates);

  /// Sets the starts of steps, and the cycles of copies; returns the end.
  std::int64_t run();

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  /// Steps of a copy: syncs of receiver and sender, then their links.
  static constexpr std::int32_t to_link = 2;

  struct Exchange {
    std::int64_t start = -1, end = -1, bytes = 0;
  };
  struct Ipu {
    std::vector<std::int32_t> steps{};  ///< but for those that a receiver begins
    std::size_t next = 0;
    std::int64_t free = 0;
    Exchange exchange{};  ///< the newest over links

    /// Whether nothing has come after its newest exchange.
    bool exchanges() const { return exchange.start >= 0 && exchange.end == free; }
  };

  Step& step(std::int32_t number) { return report_.steps[static_cast<std::size_t>(number)]; }
  Ipu& ipu(std::int32_t number) { return ipus_[static_cast<std::size_t>(number)]; }
  static bool is_copy(const Step& step) { return step.peer >= 0; }
  bool begins_elsewhere(std::int32_t number) {
    const Step& s = step(number);
    return is_copy(s) && (s.peer < number || s.kind == StepKind::link);
  }
  void find_sources();
  /// When the operation's inputs are there; never: not known yet.
  std::int64_t ready(const Step& step) const;
  /// When the IPU's next step can begin.
  std::int64_t next_start(Ipu& at);
  void begin(Ipu& at, std::int64_t start);
  void begin_copy(std::int32_t number, std::int64_t start);
  /// The exchange of a that a copy between a and b can be part of; null: it cannot.
  static const Exchange* joined(const Ipu& a, const Ipu& b, std::int64_t ready);

  Report& report_;
  bool has_updates_;
  std::vector<Ipu> ipus_;
  std::vector<std::int64_t> ends_;  ///< of steps; never: not known yet
  /// By operation, the last of its own steps that say when it is done; -1: it is a view.
  std::vector<std::int32_t> last_step_;
  std::vector<std::vector<std::int32_t>> sources_;  ///< the operations, no views, that it waits for
};

inline Clocks::Clocks(Report& report, bool has_updates)
    : report_(report),
      has_updates_(has_updates),
      ipus_(static_cast<std::size_t>(report.target.ipus)),
      ends_(report.steps.size(), never) {
  for (std::int32_t s = 0; s < static_cast<std::int32_t>(report.steps.size()); ++s) {
    if (!begins_elsewhere(s)) ipu(step(s).ipu).steps.push_back(s);
  }
  if (ipus_.size() > 1) find_sources();
}

inline void Clocks::find_sources() {
  for (const Operation& o : report_.operations) {
    std::int32_t last = o.end_step - 1;
    while (last >= o.first_step && step(last).ipu != o.ipu) --last;
    last_step_.push_back(last < o.first_step ? -1 : last);
    std::vector<std::int32_t>& sources = sources_.emplace_back();
    for (const std::int32_t input : o.inputs) {
      const auto i = static_cast<std::size_t>(input);
      if (last_step_[i] >= 0) {
        sources.push_back(input);
      } else {
        sources.insert(sources.end(), sources_[i].begin(), sources_[i].end());
      }
    }
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  }
}

inline std::int64_t Clocks::ready(const Step& step) const {
  std::int64_t ready = 0;
  // On one machine the order says enough.
  if (ipus_.size() == 1 || step.operation < 0) return ready;
  for (const std::int32_t source : sources_[static_cast<std::size_t>(step.operation)]) {
    const std::int32_t last = last_step_[static_cast<std::size_t>(source)];
    ready = std::max(ready, ends_[static_cast<std::size_t>(last)]);
  }
  return ready;
}

inline std::int64_t Clocks::next_start(Ipu& at) {
  if (at.next == at.steps.size()) return never;
  const Step& next = step(at.steps[at.next]);
  const std::int64_t start = std::max(at.free, ready(next));
  return is_copy(next) ? std::max(start, ipu(step(next.peer).ipu).free) : start;
}

inline std::int64_t Clocks::run() {
  for (;;) {
    Ipu* first = nullptr;
    std::int64_t earliest = never;
    for (Ipu& at : ipus_) {
      const std::int64_t start = next_start(at);
      // A copy goes before a step of its sender that could begin as well.
      const bool is_earlier = start < earliest || (start == earliest && start != never &&
                                                   is_copy(step(at.steps[at.next])) &&
                                                   !is_copy(step(first->steps[first->next])));
      if (!is_earlier) continue;
      first = &at;
      earliest = start;
    }
    if (first == nullptr) break;
    begin(*first, earliest);
  }
  std::int64_t end = 0;
  for (const Ipu& at : ipus_) end = std::max(end, at.free);
  return end;
}

inline void Clocks::begin(Ipu& at, std::int64_t start) {
  const std::int32_t number = at.steps[at.next++];
  Step& begun = step(number);
  if (is_copy(begun)) return begin_copy(number, start);
  begun.start = start;
  const Operation* const o = report_.operation_of(begun);
  const bool is_counted = has_updates_ || o == nullptr || o->part != Part::update;
  at.free = ends_[static_cast<std::size_t>(number)] = is_counted ? begun.end() : start;
}

inline const Clocks::Exchange* Clocks::joined(const Ipu& a, const Ipu& b, std::int64_t ready) {
  if (!a.exchanges() || ready > a.exchange.start) return nullptr;
  const bool is_there =
      b.free <= a.exchange.start || (b.exchanges() && b.exchange.start == a.exchange.start);
  return is_there ? &a.exchange : nullptr;
}

inline void Clocks::begin_copy(std::int32_t number, std::int64_t start) {
  const Target& t = report_.target;
  const std::int64_t bytes = step(number + to_link).bytes;
  Ipu& to = ipu(step(number).ipu);
  Ipu& from = ipu(step(step(number).peer).ipu);
  Exchange whole{.start = start};
  std::int64_t sync = global_sync_cycles(t), latency = 0;
  const std::int64_t inputs = ready(step(number));
  for (const Exchange* before : {joined(from, to, inputs), joined(to, from, inputs)}) {
    if (before == nullptr || before->bytes < whole.bytes) continue;
    whole = *before;
    sync = 0;
    latency = link_cycles(t, before->bytes);
  }
  whole.bytes += bytes;
  whole.end = start + sync + link_cycles(t, whole.bytes) - latency;
  for (std::int32_t s = number; s < number + 2 * to_link; ++s) {
    const bool is_link = s >= number + to_link;
    step(s).start = start + (is_link ? sync : 0);
    step(s).cycles = is_link ? whole.end - start - sync : sync;
    ends_[static_cast<std::size_t>(s)] = step(s).end();
  }
  to.exchange = from.exchange = whole;
  to.free = from.free = whole.end;
}

}  // namespace halftone::ipu::detail
