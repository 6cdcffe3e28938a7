#pragma once

#include <memory>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/op/repeat.hpp>

#include "node.hpp"

namespace halftone {

class Plan;
struct Interpretation;

/// Runs a Loop or Scan node by node: shapes may change from pass to pass. Returns the outputs.
std::vector<AnyArray> repeat_node(const Graph& graph, const Node& node,
                                  std::span<const AnyView> inputs, const Interpretation& how);

/// A node Loop or Scan in a plan: its body's plan and what lies between passes. All shapes are
/// known; running it allocates nothing.
class Repetition {
 public:
  Repetition(const Graph& graph, const Node& node, const EngineOptions& options,
             const kernel::Executor& executor, const std::string& path);
  ~Repetition();
  /// Bytes of the body's plan and of its own.
  std::size_t bytes() const;

  static void run(const KernelCall& call);

 private:
  /// A tensor that has a slice for each pass: elements before and behind the axis.
  struct Stack {
    std::int64_t axis = 0, outer = 1, length = 0;
    std::size_t inner_bytes = 0;
    bool is_reversed = false;
    int result = -1;             ///< among the plan's outputs
    std::byte* slice = nullptr;  ///< memory for slices that lie apart
  };
  struct State {
    bool is_kept = false;
    int result = -1;
    std::size_t bytes = 0;
    std::byte* memory = nullptr;  ///< where the node has no output for it
  };
  static Stack stack_of(const TensorInfo& info, std::int64_t axis, bool is_reversed);
  void run_passes(const KernelCall& call);
  void set_slice(std::size_t i, std::int64_t pass, const KernelCall& call);

  op::Repeat repeat_;
  std::unique_ptr<Plan> plan_;
  std::vector<State> states_;
  std::vector<Stack> scanned_, stacked_;
  std::vector<Storage> memory_;
  std::size_t bytes_ = 0;
  std::int64_t length_ = 0;  ///< of a Scan
  std::int64_t pass_ = 0;    ///< what a Loop's body gets
  std::int32_t narrow_pass_ = 0;
  bool has_narrow_pass_ = false;
  ElementType count_type_ = ElementType::undefined;
};

}  // namespace halftone
