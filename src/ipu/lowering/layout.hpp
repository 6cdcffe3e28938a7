#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/program/program.hpp>

#include "ipu/lowering/steps.hpp"

namespace halftone::ipu {

/// How a tensor lies on its IPU. Tensors of one layout match element by element.
struct Placed {
  bool is_known = false;
  std::int32_t ipu = 0;
  Mapping mapping;
  std::uint32_t layout = 0;
  bool is_grouped = false;                ///< channels as products want them
  std::vector<std::int32_t> variables{};  ///< whose memory it is
};

/// A graph that is being lowered: the main one, or a body.
struct Frame {
  const halftone::Program* program;
  const Graph* graph;          ///< the program's
  NodeMap<std::int32_t> step;  ///< of the program; halftone::Program::none: the node is a view
  TensorMap<std::int32_t> last_step;  ///< see last_steps
  TensorMap<Placed> placed;
  TensorMap<std::int32_t> made_by;                               ///< operations; -1: none
  TensorMap<TensorId> updates;                                   ///< see updated_variables
  std::map<std::pair<TensorId, std::int32_t>, Placed> copies{};  ///< on other IPUs
  std::int32_t now = 0;                ///< the program's step that is being lowered
  std::vector<std::int32_t> newest{};  ///< after each step of the program: the newest superstep
  std::map<std::int32_t, std::int32_t> ends{};  ///< the program's step that a variable lives until
};

/// For each tensor of a program the last step at which its memory holds it: the end of its buffer,
/// or the step that writes the next tensor there. An input of the graph stays until its last
/// reader. Tensors that no step knows live for none.
TensorMap<std::int32_t> last_steps(const halftone::Program& program);

/// For each tensor the variable that is changed by what is computed from it, through nodes of one
/// input alone; no_tensor: none is.
TensorMap<TensorId> updated_variables(const Graph& graph);

/// Where tensors lie on the tiles.
class Layout {
 public:
  explicit Layout(Steps& steps) : steps_(steps), t_(steps.t) {}

  /// Throws MemoryError for a tensor that no machine holds.
  Frame frame(const halftone::Program& program) const;

  /// The tensor, wherever it lies; a tensor without a place gets the wanted one, or a linear one.
  Placed& place(Frame& frame, TensorId id, const Placed* wanted = nullptr);
  /// The tensor on this IPU, copied if it lies on another.
  Placed& local(Frame& frame, TensorId id, const Placed* wanted = nullptr);
  /// Brings all inputs of a node to this IPU.
  void fetch_inputs(Frame& frame, const Node& node);
  /// A body's input is a tensor of the graph outside, whose memory the body leaves as it is.
  void place_input(Frame& frame, TensorId id, const Placed& outside);
  /// Memory of its own for what the node makes, laid out like `like` if it has as many elements.
  void place_output(Frame& frame, TensorId id, const Placed& like = {});
  /// The output is a part of these tensors' memory, side by side.
  void place_view(Frame& frame, TensorId id, std::span<const TensorId> bases, bool is_whole);
  /// The output takes the memory of an input.
  void place_over(Frame& frame, TensorId id, TensorId input);
  /// The input of a node whose memory its first output takes, because the program says so
  /// and no view of the same memory is read later; no_tensor: it has its own. `home`: the layout of
  /// the work, which an input other than the first has to have.
  TensorId overwritten(const Frame& frame, std::size_t node, const Placed* home) const;
  /// Ends the lifetimes of the graph's variables, all of whose steps are there.
  void end_lives(const Frame& frame);

  /// A layout that no tensor has yet, over consecutive tiles of this IPU behind those of the last.
  Placed linear(const TensorInfo& info);
  /// A layout that no tensor has yet.
  Placed fresh(const Mapping& mapping, bool is_grouped = false);

 private:
  void check_size(const Graph& graph, TensorId id) const;
  /// What the tensor lies in lives as long as the program says of the tensor.
  static void extend_lives(Frame& frame, TensorId id) {
    extend_lives(frame, frame.placed[id], frame.last_step[id]);
  }
  static void extend_lives(Frame& frame, const Placed& placed, std::int32_t until);

  Steps& steps_;
  const Target& t_;
  std::uint32_t layouts_ = 1;
  std::map<std::int32_t, std::int64_t> next_tile_{};  // of each IPU's linear mappings
};

}  // namespace halftone::ipu
