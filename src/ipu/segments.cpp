#include "ipu/segments.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/lowering/make_report.hpp>
#include <halftone/ipu/lowering/placement.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/transform/complete_places.hpp>
#include <halftone/transform/infer.hpp>
#include <halftone/transform/narrow_cuts.hpp>
#include <halftone/transform/recompute.hpp>

#include "exec/fold.hpp"
#include "program/step_nodes.hpp"

namespace halftone::ipu {
namespace {

enum class Kind : std::uint8_t { forward, backward, of_weights, update };

/// Where a model, as it is, may end a segment.
struct End {
  std::int64_t node = 0;   ///< nodes before it
  std::int64_t bytes = 0;  ///< that are live there
};

std::vector<End> find_ends(const Graph& model) {
  constexpr std::size_t most = 512;
  // Inference takes nodes away.
  Graph inferred = model;
  kernel::Executor executor;
  infer(inferred, &evaluate_constant, &executor);
  const Uses uses(model);
  const auto position = [&](std::size_t n) {
    for (const TensorId id : inferred.nodes[n].outputs) {
      if (id != no_tensor && uses.producer.has(id)) return uses.producer[id] + 1;
    }
    return 0;
  };
  const Aliases aliases(inferred);
  // A variable that the forward part changes stays in one segment.
  TensorMap<int> first(inferred, no_node), last(inferred, no_node);
  for (std::size_t n = 0; n < inferred.nodes.size(); ++n) {
    for (const TensorId id : inferred.nodes[n].inputs) {
      if (id == no_tensor || !aliases.is_modified(id)) continue;
      const TensorId root = aliases.root(id);
      if (first[root] == no_node) first[root] = static_cast<int>(n);
      last[root] = static_cast<int>(n);
    }
  }
  std::vector<End> ends;
  for (const NarrowCut& cut : narrow_cuts(inferred, aliases, most)) {
    const auto end = static_cast<int>(cut.end);
    bool parts = end == 0 || cut.end == inferred.nodes.size();
    for (std::size_t i = 0; i < inferred.tensors.size() && !parts; ++i) {
      const auto id = static_cast<TensorId>(i);
      parts = first[id] != no_node && first[id] < end && last[id] >= end;
    }
    const int at = parts ? 0 : position(cut.end - 1);
    if (at > (ends.empty() ? 0 : ends.back().node)) ends.push_back({at, cut.bytes});
  }
  const auto count = static_cast<std::int64_t>(model.nodes.size());
  if (ends.empty() || ends.back().node < count) ends.push_back({count, 0});
  return ends;
}

/// Says segments as the stages of nodes.
void tag(Graph& model, const std::vector<End>& ends) {
  std::size_t segment = 0;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    while (ends[segment].node <= static_cast<std::int64_t>(n)) ++segment;
    // What an earlier plan said does not count.
    model.nodes[n].place = {.stage = static_cast<std::int16_t>(segment),
                            .recompute = model.nodes[n].place.recompute};
  }
}

/// The segment of a node of a graph whose gradients mirror the `count` segments of the model.
std::int32_t segment_of(const Place& place, std::size_t count) {
  const auto last = static_cast<std::int32_t>(count) - 1;
  return std::clamp<std::int32_t>(place.stage > last ? 2 * last - place.stage : place.stage, 0,
                                  last);
}

/// Joins segments into fewer ones of about the same cycles, which end where least is live. Returns their
/// ends, and says them in the graph.
std::vector<std::int64_t> join_segments(Graph& graph, const Report& report,
                                        const std::vector<End>& ends) {
  constexpr double most = 64;
  const NodeMap<double> cycles = detail::node_cycles(graph, report);
  std::vector<double> sums(ends.size(), 0);
  double all = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    sums[static_cast<std::size_t>(segment_of(graph.nodes[n].place, ends.size()))] += cycles[n];
    all += cycles[n];
  }
  std::vector<std::size_t> chosen;  // the last segment of each joined one
  double sum = 0;
  int window = -1;
  for (std::size_t s = 0; s + 1 < ends.size(); ++s) {
    sum += sums[s];
    const int at = all > 0 ? static_cast<int>(most * sum / all) : window + 1;
    if (at != window) {
      chosen.push_back(s);
    } else if (ends[s].bytes <= ends[chosen.back()].bytes) {
      chosen.back() = s;
    }
    window = at;
  }
  chosen.push_back(ends.size() - 1);
  std::vector<std::int32_t> joined(ends.size());
  std::vector<std::int64_t> nodes;
  for (std::size_t s = 0; s < ends.size(); ++s) {
    joined[s] = static_cast<std::int32_t>(nodes.size());
    if (s == chosen[nodes.size()]) nodes.push_back(ends[s].node);
  }
  const auto last = static_cast<std::int32_t>(ends.size()) - 1;
  const auto new_last = static_cast<std::int32_t>(nodes.size()) - 1;
  for (Node& node : graph.nodes) {
    std::int16_t& stage = node.place.stage;
    const std::int32_t now = joined[static_cast<std::size_t>(segment_of(node.place, ends.size()))];
    stage = static_cast<std::int16_t>(stage > last ? 2 * new_last - now : now);
  }
  return nodes;
}

}  // namespace

/// Adds up what nodes cost by segment, then by range.
class SegmentPricer {
 public:
  SegmentPricer(const Graph& graph, const Report& report, std::size_t segments)
      : graph_(graph),
        report_(report),
        count_(segments),
        uses_(graph),
        aliases_(graph),
        segment_(graph, 0),
        kind_(graph, Kind::forward),
        operations_(detail::node_operations(graph, report)),
        own_(segments) {
    const auto last = static_cast<std::int32_t>(segments) - 1;
    const NodeMap<bool> is_of_step = nodes_of_step(graph);
    const NodeMap<bool> is_of_weights = nodes_of_weights(graph, last, is_of_step);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Place& place = graph.nodes[n].place;
      segment_[n] = segment_of(place, segments);
      kind_[n] = is_of_step[n]                 ? Kind::update
                 : is_of_weights[n]            ? Kind::of_weights
                 : place.part == Part::forward ? Kind::forward
                                               : Kind::backward;
    }
  }

  Segments price(std::vector<std::int64_t> ends) {
    Segments segments;
    segments.ends_ = std::move(ends);
    find_copied();
    add_cycles();
    add_streams();
    add_variables();
    add_values();
    add_temporaries();
    add_code();
    const auto mean =
        static_cast<double>(report_.bytes()) / static_cast<double>(report_.target.tiles());
    const std::int64_t fullest = report_.tile_bytes(report_.fullest_tile());
    segments.unevenness_ = mean > 0 ? static_cast<double>(fullest) / mean : 1;
    fill_ranges(segments);
    return segments;
  }

 private:
  /// A value that segments pass on: who makes it, and the segments whose parts read it.
  struct Flow {
    std::int32_t from = 0;
    Kind kind = Kind::forward;
    std::int64_t bytes = 0;
    std::vector<std::int32_t> forward{}, backward{}, update{};
  };

  Range& own(std::size_t node) { return own_[static_cast<std::size_t>(segment_[node])]; }

  /// What Recomputation::standard runs again of each segment, what is kept then, and how much of it is
  /// there at a time. A value that goes to another stage is kept: it matters where a stage ends.
  void find_copied() {
    add_copied(false, &Range::Repeated::within);
    add_copied(true, &Range::Repeated::at_end);
  }
  void add_copied(bool is_divided, Range::Repeated::Part Range::Repeated::* where) {
    Graph graph = graph_;
    for (Node& node : graph.nodes) {
      if (!is_divided) node.place.stage = -1;
    }
    const halftone::detail::RecomputedNodes again(graph, Recomputation::standard);
    NodeMap<bool> is_copied(graph_, false);
    TensorMap<bool> is_needed(graph_, false);
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      for (const TensorId id : node.outputs) {
        is_copied[n] =
            is_copied[n] || (id != no_tensor && is_needed[id] && again.repeated_by(id) != no_node);
      }
      const bool reads = node.place.part != Part::forward || is_copied[n];
      for (const TensorId id : node.inputs) {
        if (id != no_tensor && reads) is_needed[id] = true;
      }
    }
    TensorMap<bool> seen(graph_, false);
    std::int64_t largest = 0;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      Range::Repeated::Part& part = own(n).repeated.*where;
      if (is_copied[n]) part.cycles += cycles_of(n);
      if (kind_[n] != Kind::forward) continue;
      for (const TensorId id : graph_.nodes[n].outputs) {
        if (id == no_tensor || !is_needed[id] || !is_value(id)) continue;
        if (std::exchange(seen[aliases_.root(id)], true)) continue;
        const std::int64_t bytes = graph_.info(id).bytes();
        if (is_copied[n]) {
          largest += bytes;
        } else {
          part.kept += bytes;
          largest = 0;
        }
        part.largest = std::max(part.largest, largest);
      }
    }
  }

  double cycles_of(std::size_t n) const {
    if (operations_[n] < 0) return 0;
    return static_cast<double>(report_.operation_cycles(static_cast<std::size_t>(operations_[n])));
  }
  void add_cycles() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const double cycles = cycles_of(n);
      switch (kind_[n]) {
        case Kind::forward:
          own(n).forward += cycles;
          break;
        case Kind::backward:
          own(n).backward += cycles;
          break;
        case Kind::of_weights:
          own(n).of_weights += cycles;
          break;
        case Kind::update:
          own(n).update += cycles;
          break;
      }
    }
  }

  /// Inputs are of the segment that first reads them, outputs of the one that makes them. The report
  /// has their steps in the order of the graph, already shortened by what hides them.
  void add_streams() {
    const Target& t = report_.target;
    const std::int64_t io_tiles = report_.options.io_tiles;
    std::size_t at = 0;
    const auto next = [&](std::size_t segment, Range::Streams Range::* way, bool is_first) {
      while (at < report_.steps.size() && report_.steps[at].kind != StepKind::host) ++at;
      if (at == report_.steps.size()) return;
      const Step& step = report_.steps[at++];
      const std::int64_t latency = is_first ? t.host_latency_cycles : 0;
      Range::Streams& streams = own_[segment].*way;
      streams.all += static_cast<double>(
          latency + host_cycles(t, step.bytes, divide_up(step.bytes, step.tiles)));
      const std::int64_t tiles = io_tiles > 0 ? io_tiles : step.tiles;
      streams.last += static_cast<double>(exchange_cycles(t, divide_up(step.bytes, tiles)));
    };
    bool is_first = true;
    for (const TensorId id : graph_.inputs) {
      if (graph_.info(id).elements() == 0) continue;
      std::size_t n = 0;
      const auto reads = [&](const Node& node) {
        return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
      };
      while (n < graph_.nodes.size() && !reads(graph_.nodes[n])) ++n;
      const std::int32_t segment = n < graph_.nodes.size() ? segment_[n] : 0;
      next(static_cast<std::size_t>(segment), &Range::inputs, std::exchange(is_first, false));
    }
    is_first = true;
    for (const TensorId id : graph_.outputs) {
      const int made = uses_.producer[id];
      const std::int32_t segment = made != no_node ? segment_[static_cast<std::size_t>(made)] : 0;
      next(static_cast<std::size_t>(segment), &Range::outputs, std::exchange(is_first, false));
    }
  }

  void add_variables() {
    TensorMap<bool> seen(graph_, false);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const TensorId id : graph_.nodes[n].inputs) {
        if (id == no_tensor) continue;
        const TensorRecord& t = graph_.tensor(id);
        if ((!is_variable(t) && t.role != Role::constant) || seen[id] || !t.info.is_static())
          continue;
        seen[id] = true;
        const std::int64_t bytes = t.info.bytes();
        if (t.state == State::partial) {
          own(n).accumulators += bytes;
        } else if (t.state == State::none) {
          own(n).weights += bytes;
          if (aliases_.is_modified(id)) own(n).trained += bytes;
        } else {
          own(n).state += bytes;
        }
      }
    }
  }

  bool is_value(TensorId id) const {
    const TensorRecord& t = graph_.tensor(aliases_.root(id));
    return !is_variable(t) && t.role != Role::constant && graph_.info(id).is_static();
  }

  void add_values() {
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      const int made = uses_.producer[id];
      if (made == no_node || !is_value(id)) continue;
      const auto at = static_cast<std::size_t>(made);
      Flow flow{.from = segment_[at], .kind = kind_[at]};
      flow.bytes = graph_.info(id).bytes();
      flows_.push_back(std::move(flow));
      number_[id] = flows_.size();
    }
    TensorMap<bool> is_kept(graph_, false);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const TensorId id : graph_.nodes[n].inputs) {
        if (id == no_tensor || number_[id] == 0) continue;
        Flow& flow = flows_[number_[id] - 1];
        std::vector<std::int32_t>& to = kind_[n] == Kind::forward  ? flow.forward
                                        : kind_[n] == Kind::update ? flow.update
                                                                   : flow.backward;
        if (std::find(to.begin(), to.end(), segment_[n]) == to.end()) to.push_back(segment_[n]);
        if (kind_[n] == Kind::update) continue;
        const TensorId root = aliases_.root(id);
        Range& maker = own_[static_cast<std::size_t>(flow.from)];
        const bool is_kept_for_gradients = flow.kind == Kind::forward && kind_[n] != Kind::forward;
        const bool is_gradient = flow.kind == Kind::backward && kind_[n] == Kind::of_weights;
        if (!is_kept_for_gradients && !is_gradient) continue;
        if (std::exchange(is_kept[root], true)) continue;
        (is_gradient ? maker.gradients : maker.kept) += graph_.info(root).bytes();
      }
    }
    // What is live at the end of each segment.
    TensorMap<bool> seen(graph_, false);
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      if (number_[id] == 0) continue;
      const Flow& flow = flows_[number_[id] - 1];
      if (flow.kind != Kind::forward) continue;
      const bool leaves = std::any_of(flow.forward.begin(), flow.forward.end(),
                                      [&](std::int32_t to) { return to > flow.from; });
      if (!leaves || std::exchange(seen[aliases_.root(id)], true)) continue;
      own_[static_cast<std::size_t>(flow.from)].boundaries += graph_.info(id).bytes();
    }
  }

  /// Values that no other part of a micro-batch reads, where most of them live at a time.
  void add_temporaries() {
    std::vector<int> node_of(report_.operations.size(), no_node);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (operations_[n] >= 0)
        node_of[static_cast<std::size_t>(operations_[n])] = static_cast<int>(n);
    }
    const auto piece = [&](std::int32_t operation) {
      if (operation < 0) return -1;
      const int n = node_of[static_cast<std::size_t>(operation)];
      if (n == no_node) return -1;
      const auto at = static_cast<std::size_t>(n);
      return 4 * segment_[at] + static_cast<std::int32_t>(kind_[at]);
    };
    std::vector<std::vector<std::pair<std::int32_t, std::int64_t>>> changes(4 * count_);
    for (const Variable& v : report_.variables) {
      if (v.is_always_live || v.last_step < v.first_step) continue;
      const std::int32_t made = piece(v.operation);
      const Step& last = report_.steps[static_cast<std::size_t>(v.last_step)];
      if (made < 0 || made != piece(last.operation)) continue;
      auto& list = changes[static_cast<std::size_t>(made)];
      list.emplace_back(v.first_step, v.bytes());
      list.emplace_back(v.last_step + 1, -v.bytes());
    }
    for (std::size_t p = 0; p < changes.size(); ++p) {
      std::sort(changes[p].begin(), changes[p].end());
      std::int64_t now = 0;
      for (const auto& [step, bytes] : changes[p]) {
        now += bytes;
        std::int64_t& most = own_[p / 4].temporaries;
        most = std::max(most, now);
      }
    }
  }

  /// Code by the steps of each segment.
  void add_code() {
    std::int64_t code = 0;
    for (const auto& tile : report_.memory) {
      for (int c = 0; c < categories; ++c) {
        const auto category = static_cast<Category>(c);
        const bool is_data = category == Category::variables || category == Category::constants ||
                             category == Category::temporaries;
        if (!is_data) code += tile[static_cast<std::size_t>(c)];
      }
    }
    std::vector<std::int64_t> steps(count_, 0);
    std::int64_t all = 0;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (operations_[n] < 0) continue;
      const Operation& o = report_.operations[static_cast<std::size_t>(operations_[n])];
      steps[static_cast<std::size_t>(segment_[n])] += o.end_step - o.first_step;
      all += o.end_step - o.first_step;
    }
    for (std::size_t s = 0; s < count_ && all > 0; ++s) own_[s].code = code * steps[s] / all;
  }

  /// Whether one of the readers is within a range.
  static bool is_within(const std::vector<std::int32_t>& readers, std::int32_t begin,
                        std::int32_t end) {
    return std::any_of(readers.begin(), readers.end(),
                       [&](std::int32_t s) { return begin <= s && s < end; });
  }

  static bool is_beyond(const std::vector<std::int32_t>& readers, std::int32_t begin,
                        std::int32_t end) {
    return std::any_of(readers.begin(), readers.end(),
                       [&](std::int32_t s) { return s < begin || s >= end; });
  }

  /// What goes one way at one moment goes together.
  double copy_cycles(std::int64_t bytes) const {
    const Target& target = report_.target;
    return bytes == 0
               ? 0.0
               : static_cast<double>(global_sync_cycles(target) + link_cycles(target, bytes));
  }

  void fill_ranges(Segments& segments) const {
    // Most values stay within a segment.
    std::vector<const Flow*> leaving;
    for (const Flow& flow : flows_) {
      const auto is_other = [&](std::int32_t s) { return s != flow.from; };
      bool leaves = false;
      for (const auto readers : {&Flow::forward, &Flow::backward, &Flow::update}) {
        leaves = leaves || std::any_of((flow.*readers).begin(), (flow.*readers).end(), is_other);
      }
      if (leaves) leaving.push_back(&flow);
    }
    segments.ranges_.resize((count_ + 1) * (count_ + 1));
    for (std::size_t b = 0; b < count_; ++b) {
      Range sum;
      for (std::size_t e = b + 1; e <= count_; ++e) {
        const Range& next = own_[e - 1];
        for (const auto member :
             {&Range::forward, &Range::backward, &Range::of_weights, &Range::update}) {
          sum.*member += next.*member;
        }
        const Range::Repeated::Part before = sum.repeated.within;
        for (const auto where : {&Range::Repeated::within, &Range::Repeated::at_end}) {
          Range::Repeated::Part& part = sum.repeated.*where;
          const Range::Repeated::Part& added = next.repeated.*where;
          part = {before.cycles + added.cycles, before.kept + added.kept,
                  std::max(before.largest, added.largest)};
        }
        for (const auto member :
             {&Range::weights, &Range::accumulators, &Range::state, &Range::trained, &Range::kept,
              &Range::gradients, &Range::boundaries, &Range::code}) {
          sum.*member += next.*member;
        }
        for (const auto way : {&Range::inputs, &Range::outputs}) {
          (sum.*way).all += (next.*way).all;
          (sum.*way).last += (next.*way).last;
        }
        sum.temporaries = std::max(sum.temporaries, next.temporaries);
        const auto begin = static_cast<std::int32_t>(b), end = static_cast<std::int32_t>(e);
        std::int64_t forward_received = 0, backward_received = 0, update_received = 0,
                     forward_sent = 0, backward_sent = 0, update_sent = 0;
        for (const Flow* flow : leaving) {
          if (begin <= flow->from && flow->from < end) {
            // What only updates read goes once a step.
            if (is_beyond(flow->forward, begin, end) || is_beyond(flow->backward, begin, end)) {
              (flow->kind == Kind::forward ? forward_sent : backward_sent) += flow->bytes;
            } else if (is_beyond(flow->update, begin, end)) {
              update_sent += flow->bytes;
            }
            continue;
          }
          // A value comes once, for the first part that reads it.
          if (is_within(flow->forward, begin, end)) {
            forward_received += flow->bytes;
          } else if (is_within(flow->backward, begin, end)) {
            backward_received += flow->bytes;
          } else if (is_within(flow->update, begin, end)) {
            update_received += flow->bytes;
          }
        }
        sum.forward_copies = copy_cycles(forward_received) + copy_cycles(forward_sent);
        sum.backward_copies = copy_cycles(backward_received) + copy_cycles(backward_sent);
        sum.update_copies = copy_cycles(update_received) + copy_cycles(update_sent);
        segments.ranges_[b * (count_ + 1) + e] = sum;
      }
    }
  }

  const Graph& graph_;
  const Report& report_;
  std::size_t count_;
  Uses uses_;
  Aliases aliases_;
  NodeMap<std::int32_t> segment_;
  NodeMap<Kind> kind_;
  NodeMap<std::int32_t> operations_;
  std::vector<Range> own_;  ///< by segment
  std::vector<Flow> flows_;
  TensorMap<std::size_t> number_{graph_, 0};  ///< of a tensor's flow, from 1
};

Segments segments_of(Graph model, const std::function<void(Graph&)>& train, const Target& target,
                     const ProfileOptions& options) {
  const std::vector<End> places = find_ends(model);
  tag(model, places);
  if (train) train(model);
  ProfileOptions alone = options;
  alone.ipus = 1;
  alone.placement = Placement::none;
  alone.split_ratios.clear();
  alone.allow_out_of_memory = true;
  alone.recompute = Recomputation::none;
  halftone::Program program = program_for(model, alone);
  complete_places(program.graph);
  Graph graph = program.graph;
  const Report report = detail::make_report(model.text(model.graph_name), target, alone,
                                            [&] { return std::move(program); });
  std::vector<std::int64_t> ends = join_segments(graph, report, places);
  return SegmentPricer(graph, report, ends.size()).price(std::move(ends));
}

}  // namespace halftone::ipu
