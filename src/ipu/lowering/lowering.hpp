#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include <halftone/ipu/planner.hpp>
#include <halftone/op/repeat.hpp>

#include "ipu/lowering/layout.hpp"

namespace halftone::ipu {

/// Turns a program into supersteps with a mapping of every tensor. Appends to a report.
class Lowering {
 public:
  /// `placement`: the IPU of each node of the main graph; empty: all on the first.
  Lowering(Report& report, std::vector<std::int32_t> placement)
      : report_(report),
        steps_(report),
        layout_(steps_),
        planner_(report.target),
        placement_(std::move(placement)) {}
  void run(const halftone::Program& program);

 private:
  /// The IPU of the first node that reads a tensor of the main graph.
  std::int32_t first_reader(const Graph& graph, TensorId id) const;
  /// x comes from the host, or goes there.
  void add_host_step(const Placed& x, const TensorInfo& info, bool is_first);
  /// Inputs are ready on the host since the run before, unless they take longer than the rest: the
  /// first `inputs` steps wait for the difference.
  void prefetch(std::size_t inputs);

  void lower_graph(Frame& frame);
  void lower_node(Frame& frame, std::size_t number);
  std::string operation_name(const Frame& frame, const Node& node, std::size_t number);
  void begin_operation(Frame& frame, std::size_t number);
  /// Whether no node before has the same operator, attributes and inputs on this IPU.
  bool is_first_of_kind(const Node& node, std::span<const TensorInfo> in);

  // Nodes with bodies: see control.cpp.
  void lower_repetition(Frame& frame, std::size_t number, const op::Repeat& repeat);
  void lower_call(Frame& frame, std::size_t number, std::size_t first_input);
  /// A body's frame: its inputs lie where the tensors outside lie that they stand for; no_tensor, or
  /// another info: nowhere yet.
  Frame body_frame(Frame& outside, const halftone::Program& body, std::span<const TensorId> inputs);
  /// The program of a node's body.
  static const halftone::Program& body_of(const Frame& frame, std::size_t node, std::size_t body);
  void lower_body(Frame& body);

  Report& report_;
  Steps steps_;
  Layout layout_;
  Planner planner_;
  std::vector<std::int32_t> placement_;
  std::set<std::pair<std::string_view, std::vector<std::int64_t>>>
      outlined_{};       // kinds of nodes that have their code already
  std::string layer_{};  // of the node before, with its slash
};

}  // namespace halftone::ipu
