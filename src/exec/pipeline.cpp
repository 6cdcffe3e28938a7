#include "pipeline.hpp"

#include <algorithm>
#include <utility>

#include <halftone/base/vector.hpp>

#include "run.hpp"

namespace halftone {
namespace {

constexpr std::size_t line = 64;  ///< bytes that values are aligned to

}  // namespace

Pipeline::Pipeline(Spread spread, const EngineOptions& options, const kernel::Executor& executor,
                   const Reach& reach)
    : spread_(std::move(spread)), options_(options), executor_(executor) {
  for (Fragment& f : spread_.fragments) {
    f.program = piece_program(std::move(f.program.graph), options_);
    give_outputs_away(f.program);
  }
  bind(reach);
}

Pipeline::Pipeline(const Pipeline& first, const Reach& reach,
                   const std::function<void(Graph&)>& change)
    : spread_(first.spread_), options_(first.options_), executor_(first.executor_) {
  for (Fragment& f : spread_.fragments) change(f.program.graph);
  bind(reach);
}

void Pipeline::bind(const Reach& reach) {
  arenas_.resize(static_cast<std::size_t>(spread_.ipus));
  // Nodes of a NodeRunner run one after the other, and replicas meet in one order.
  const bool may_be_apart = options_.runner == nullptr &&
                            (reach.communicator == nullptr || reach.communicator->replicas == 1);
  threads_ = may_be_apart ? std::clamp(executor_.threads, 1, spread_.ipus) : 1;
  for (Fragment& f : spread_.fragments) {
    pieces_.push_back(bind_piece(f.program, options_, threads_ > 1 ? single_ : executor_, reach));
    std::size_t& bytes = arenas_[static_cast<std::size_t>(f.ipu)];
    bytes = std::max(bytes, static_cast<std::size_t>(f.program.arena_bytes));
  }
  // The fragments of an IPU run one after the other.
  std::vector<Storage> memory;
  for (const std::size_t bytes : arenas_) memory.push_back(Storage::allocate(bytes));
  for (std::size_t f = 0; f < pieces_.size(); ++f) {
    pieces_[f]->place(memory[static_cast<std::size_t>(spread_.fragments[f].ipu)]);
  }
}

std::size_t Pipeline::tensor_bytes(std::int32_t channel) const {
  const Channel& c = spread_.channels[static_cast<std::size_t>(channel)];
  const Graph& graph = spread_.fragments[static_cast<std::size_t>(c.from)].program.graph;
  return (static_cast<std::size_t>(graph.info(c.tensor).bytes()) + line - 1) / line * line;
}

void Pipeline::prepare(std::int64_t micro_batches) {
  if (prepared_ == micro_batches) return;
  const Vector<TimetableEntry> slots = timetable(spread_, static_cast<std::int32_t>(micro_batches));
  count_slots(spread_, slots);
  const auto parts = static_cast<std::size_t>(threads_);
  parts_.assign(parts, {});
  for (const TimetableEntry& entry : slots) {
    const Fragment& f = spread_.fragments[static_cast<std::size_t>(entry.fragment)];
    parts_[static_cast<std::size_t>(f.ipu) % parts].push_back(entry);
  }
  rings_.clear();
  ring_bytes_ = 0;
  for (std::size_t c = 0; c < spread_.channels.size(); ++c) {
    const Channel& channel = spread_.channels[c];
    rings_.push_back(static_cast<std::int64_t>(ring_bytes_));
    if (channel.from == Channel::none) continue;
    ring_bytes_ +=
        tensor_bytes(static_cast<std::int32_t>(c)) * static_cast<std::size_t>(channel.slots);
  }
  ring_memory_ = Storage::allocate(ring_bytes_);
  prepared_ = micro_batches;
}

std::byte* Pipeline::slot(std::int32_t channel, std::int64_t m) const {
  const auto at = static_cast<std::size_t>(channel);
  const auto number =
      static_cast<std::size_t>(m) % static_cast<std::size_t>(spread_.channels[at].slots);
  return const_cast<std::byte*>(ring_memory_.data()) + rings_[at] +
         static_cast<std::int64_t>(number * tensor_bytes(channel));
}

/// Whether what a fragment reads is there, and there is room for what it passes on.
bool Pipeline::is_ready(const TimetableEntry& entry) const {
  const Fragment& fragment = spread_.fragments[static_cast<std::size_t>(entry.fragment)];
  if (fragment.is_of_step) {
    for (std::size_t f = 0; f < done_.size(); ++f) {
      if (!spread_.fragments[f].is_of_step && done_[f] <= entry.micro_batch) return false;
    }
  }
  for (const std::int32_t c : fragment.given) {
    const std::int32_t from = spread_.channels[static_cast<std::size_t>(c)].from;
    if (from != Channel::none && done_[static_cast<std::size_t>(from)] <= entry.micro_batch) {
      return false;
    }
  }
  for (const std::int32_t c : fragment.passed) {
    if (c == Channel::none) continue;
    const Channel& channel = spread_.channels[static_cast<std::size_t>(c)];
    for (const std::int32_t reader : channel.to) {
      const auto at = static_cast<std::size_t>(reader);
      if (spread_.fragments[at].is_of_step) continue;
      if (entry.micro_batch - done_[at] >= channel.slots) return false;
    }
  }
  return true;
}

void Pipeline::run_entry(const TimetableEntry& entry) {
  const auto number = static_cast<std::size_t>(entry.fragment);
  const Fragment& fragment = spread_.fragments[number];
  Bound& piece = *pieces_[number];
  for (std::size_t i = 0; i < fragment.given.size(); ++i) {
    const std::int32_t c = fragment.given[i];
    const Channel& channel = spread_.channels[static_cast<std::size_t>(c)];
    piece.set_input(i, channel.from != Channel::none
                           ? slot(c, entry.micro_batch)
                           : given_(static_cast<std::size_t>(channel.input), entry.micro_batch));
  }
  for (std::size_t o = 0; o < fragment.passed.size(); ++o) {
    if (fragment.passed[o] == Channel::none) continue;
    piece.set_output(o, slot(fragment.passed[o], entry.micro_batch));
  }
  halftone::run(piece);
  for (std::size_t o = 0; o < fragment.passed.size(); ++o) {
    if (fragment.passed[o] == Channel::none) continue;
    piece.give_output(o, slot(fragment.passed[o], entry.micro_batch));
  }
}

/// The slots of some of the IPUs. Another thread that has failed ends it.
void Pipeline::run_part(std::size_t part) {
  for (const TimetableEntry& entry : parts_[part]) {
    if (parts_.size() > 1) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return has_failed_ || is_ready(entry); });
      if (has_failed_) return;
    }
    try {
      run_entry(entry);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      has_failed_ = true;
      changed_.notify_all();
      throw;
    }
    if (parts_.size() == 1) continue;
    const std::lock_guard lock(mutex_);
    done_[static_cast<std::size_t>(entry.fragment)] = entry.micro_batch + 1;
    changed_.notify_all();
  }
}

void Pipeline::run(std::int64_t micro_batches, Given given) {
  prepare(micro_batches);
  given_ = std::move(given);
  done_.assign(spread_.fragments.size(), 0);
  has_failed_ = false;
  kernel::parallel_for(executor_, static_cast<std::int64_t>(parts_.size()),
                       [&](std::int64_t part) { run_part(static_cast<std::size_t>(part)); });
}

AnyView Pipeline::output(std::size_t i, std::int64_t m) const {
  const Spread::Output& output = spread_.outputs[i];
  const auto number = static_cast<std::size_t>(output.number);
  if (output.fragment == Channel::none) {
    const Graph& graph = spread_.fragments.front().program.graph;
    return {graph.info(output.tensor), given_(number, m)};
  }
  const auto f = static_cast<std::size_t>(output.fragment);
  AnyView value = pieces_[f]->output(number);
  const std::int32_t c = spread_.fragments[f].passed[number];
  const std::int64_t last = is_of_step(i) ? prepared_ - 1 : m;
  if (c != Channel::none) value.data = slot(c, last);
  return value;
}

bool Pipeline::is_of_step(std::size_t i) const {
  const std::int32_t f = spread_.outputs[i].fragment;
  return f != Channel::none && spread_.fragments[static_cast<std::size_t>(f)].is_of_step;
}

std::size_t Pipeline::arena_bytes() const {
  std::size_t sum = 0;
  for (const std::size_t bytes : arenas_) sum += bytes;
  return sum;
}

std::size_t Pipeline::bytes() const {
  std::size_t sum = arena_bytes() + ring_bytes_;
  for (const auto& piece : pieces_) {
    sum += piece->bytes() - static_cast<std::size_t>(piece->program.arena_bytes);
  }
  return sum;
}

void Pipeline::measure(MeasuredExecutor* with) {
  for (const auto& piece : pieces_) piece->measure(with);
}
void Pipeline::add_times(std::vector<NodeTime*>& all) {
  for (const auto& piece : pieces_) piece->add_times(all);
}

}  // namespace halftone
