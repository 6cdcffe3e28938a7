#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ready.hpp"
#include "run_node.hpp"

namespace halftone {

/// A body of a late step. It is bound for any shapes; where that pays, it is made ready for the
/// shapes that have come, and what was made for the last few of them is kept.
class LateBody {
 public:
  /// `open`: the body's program for any shapes; `graph`: the body itself. Both are borrowed.
  LateBody(Program& open, const Graph& graph, const Bound& holder, std::string path);

  /// Whether planning the body for shapes costs less than it saves, also if it runs once.
  bool has_products() const { return has_products_; }
  /// The body with these inputs, which are borrowed until it has run. `for_shapes`: made ready for
  /// their shapes.
  Bound& with(std::span<const AnyView> inputs, bool for_shapes);
  /// Calls f for what has been bound.
  void for_each_bound(auto&& f) const {
    if (bound_ != nullptr) f(*bound_);
    for (const std::unique_ptr<Ready>& ready : variants_.all()) f(*ready->bound);
  }

 private:
  Program& open_;
  const Graph& graph_;
  EngineOptions options_;
  const kernel::Executor& executor_;
  Reach reach_;
  Nesting nesting_;
  bool has_products_;
  std::unique_ptr<Bound> bound_;  ///< `open_`, once it is needed
  Variants variants_;
};

/// What a late step has beside its arguments.
struct Late {
  Bound& bound;
  const Program::Step& step;
  KeptNode kept{};
  std::vector<std::int32_t> freed{};  ///< late values that it is the last to read
  std::vector<LateBody> bodies{};

  const Node& node() const {
    return bound.program.graph.nodes[static_cast<std::size_t>(step.node)];
  }
  /// Throws a ModelError about the node.
  [[noreturn]] void refuse(std::string_view what, std::string_view expected,
                           std::string_view found) const;
};

/// Runs a late step; `call.op` is its Late.
void run_late(const KernelCall& call);

/// Gives a tensor a value that a late step has computed.
void put(Bound& bound, std::size_t argument, AnyArray value);

/// Runs a body and returns its outputs.
std::vector<AnyArray> results_of(Bound& body);

}  // namespace halftone
