#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <halftone/exec/engine.hpp>

#include "group.hpp"
#include "node.hpp"
#include "repetition.hpp"

namespace halftone {

/// A graph whose shapes are all known, made ready to run: steps in the order of the schedule over
/// one arena. Running it allocates nothing.
class Plan {
 public:
  /// `graph` has been inferred; every node's outputs are static. Transforms it and plans. `path` is
  /// that of a body, see PassEvent.
  Plan(Graph graph, const EngineOptions& options, const kernel::Executor& executor,
       const std::string& path = {});
  Plan(const Plan&) = delete;

  /// Input number i for the next run; null only for empty tensors.
  void set_input(std::size_t i, const void* data) {
    for (const std::uint32_t a : input_arguments_[i]) arguments_[a].data = const_cast<void*>(data);
  }
  void run(bool measure);
  AnyView output(std::size_t i) const;

  std::size_t bytes() const { return arena_bytes_ + packed_bytes_; }
  /// Of the arena, and the largest sum that is live at one step.
  std::size_t arena_bytes() const { return arena_bytes_; }
  std::size_t live_bytes() const { return live_bytes_; }
  std::span<const NodeTime> times() const { return times_; }
  void reset_times();

 private:
  struct Step {
    void (*run)(const KernelCall& call);
    KernelCall call;
    std::uint32_t node = 0;
  };
  class Builder;
  /// A node with subgraphs and the plans of these.
  struct Branches {
    std::vector<std::unique_ptr<Plan>> plans;
    static void run_if(const KernelCall& call);
    static void run_call(const KernelCall& call);
    void run(std::size_t plan, const KernelCall& call, std::uint32_t first_input) const;
  };
  static void run_copy(const KernelCall& call);
  void check_numbers(const Step& step) const;

  Graph graph_;
  const kernel::Executor& executor_;
  std::vector<TensorArgument> arguments_;
  std::vector<std::vector<std::uint32_t>> input_arguments_;
  std::vector<Step> steps_;
  std::vector<NodeTime> times_;
  std::vector<void*> outputs_;
  std::deque<NodeKernel> kernels_;
  std::deque<Group> groups_;
  std::deque<Branches> branches_;
  std::deque<Repetition> repetitions_;
  std::vector<Storage> packed_;
  Storage arena_;
  std::size_t arena_bytes_ = 0, live_bytes_ = 0, packed_bytes_ = 0;
  bool stops_at_nan_ = false;
};

}  // namespace halftone
