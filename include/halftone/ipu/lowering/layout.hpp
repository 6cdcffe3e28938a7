#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <halftone/graph/describe.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/ipu/lowering/steps.hpp>
#include <halftone/program/program.hpp>

namespace halftone::ipu::detail {

/// How a tensor lies on its IPU. Tensors of one layout match element by element.
struct Placed {
  bool is_known = false;
  std::int32_t ipu = 0;
  Mapping mapping;
  std::uint32_t layout = 0;
  bool is_grouped = false;                ///< channels as products want them
  std::vector<std::int32_t> variables{};  ///< whose memory it is
};

/// How a part of a program finds the tensors that it has in common with the parts before it, and leaves
/// them to those behind it, on one IPU.
struct Boundary {
  std::vector<Placed>
      inputs{};  ///< of the part's graph; one that is not known is placed by the part
  std::vector<Placed> outputs{};                           ///< as the part leaves them
  std::map<std::string, Placed, std::less<>> variables{};  ///< by name, of all parts
  std::uint32_t layouts = 1;  ///< the next number of a layout: those of all parts differ
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
  /// Of a body whose call copies just in time: inputs that no node has read yet, and the results
  /// outside that outputs go to.
  std::map<TensorId, Placed> waiting{};
  std::multimap<TensorId, TensorId> results{};
  Frame* outside = nullptr;
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
  explicit Layout(Steps& steps, std::uint32_t first_layout = 1)
      : steps_(steps), t_(steps.t), layouts_(first_layout) {}

  /// Throws MemoryError for a tensor that no machine holds.
  Frame frame(const halftone::Program& program) const;

  /// The tensor, wherever it lies; a tensor without a place gets the wanted one, or a linear one.
  Placed& place(Frame& frame, TensorId id, const Placed* wanted = nullptr);
  /// The tensor on this IPU, copied if it lies on another.
  Placed& local(Frame& frame, TensorId id, const Placed* wanted = nullptr);
  /// The tensor lies as it did in another part of the program.
  void place_as(Frame& frame, TensorId id, const Placed& before);
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
  std::uint32_t next_layout() const { return layouts_; }

 private:
  void check_size(const Graph& graph, TensorId id) const;
  /// Memory on this IPU for a tensor whose layout is known.
  void reserve(Frame& frame, TensorId id);
  /// What the tensor lies in lives as long as the program says of the tensor.
  static void extend_lives(Frame& frame, TensorId id) {
    extend_lives(frame, frame.placed[id], frame.last_step[id]);
  }
  static void extend_lives(Frame& frame, const Placed& placed, std::int32_t until);

  Steps& steps_;
  const Target& t_;
  std::uint32_t layouts_;
  std::map<std::int32_t, std::int64_t> next_tile_{};  // of each IPU's linear mappings
};

inline constexpr std::int64_t most_bytes = std::int64_t{1} << 46;

inline std::string name_of(const Graph& graph, TensorId id, const std::string& otherwise) {
  const std::string_view name = graph.name(id);
  return name.empty() ? otherwise : std::string(name);
}

inline TensorMap<TensorId> updated_variables(const Graph& graph) {
  TensorMap<TensorId> updates(graph, no_tensor);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    TensorId changed = no_tensor;
    for_each_modified(node, [&](std::size_t i) {
      if (changed == no_tensor) changed = node.inputs[i];
    });
    const TensorId output = node.outputs.empty() ? no_tensor : node.outputs[0];
    if (changed == no_tensor && node.inputs.size() == 1 && output != no_tensor) {
      changed = updates[output];
    }
    if (changed == no_tensor) continue;
    for (const TensorId id : node.inputs) {
      if (id != no_tensor && graph.tensor(id).role == Role::value) updates[id] = changed;
    }
  }
  return updates;
}

inline TensorMap<std::int32_t> last_steps(const halftone::Program& program) {
  using Place = halftone::Program::Place;
  TensorMap<std::int32_t> last(program.graph, 0);
  std::vector<std::int32_t> until;  // of buffers: when what lies there now is no longer needed
  for (const halftone::Program::Buffer& buffer : program.buffers) until.push_back(buffer.last);
  std::vector<std::int32_t> read(program.graph.inputs.size(), halftone::Program::none);
  for (std::size_t s = program.steps.size(); s-- > 0;) {
    const auto step = static_cast<std::int32_t>(s);
    const std::size_t inputs = program.steps[s].inputs;
    const std::span<const halftone::Program::Argument> arguments = program.of(program.steps[s]);
    // Outputs first: an input's memory that they take is the input's until this step.
    for (std::size_t i = arguments.size(); i-- > 0;) {
      const auto& [tensor, place, number, offset] = arguments[i];
      if (place != Place::buffer && place != Place::input) continue;
      const auto at = static_cast<std::size_t>(number);
      std::int32_t& end = place == Place::buffer ? until[at] : read[at];
      if (place == Place::input) end = std::max(end, step);
      last[tensor] = end;
      if (i >= inputs) end = step;
    }
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    last[program.graph.inputs[i]] = std::max(read[i], 0);
  }
  return last;
}

inline void Layout::check_size(const Graph& graph, TensorId id) const {
  const TensorInfo& info = graph.info(id);
  const std::int64_t bytes = info.bytes();
  if (bytes >= 0 && bytes <= most_bytes) return;
  fail(ErrorKind::memory, {.what = "a tensor is larger than all memory",
                           .tensor = graph.name(id),
                           .expected = halftone::detail::bytes_text(
                               static_cast<std::uint64_t>(t_.ipus * t_.bytes_per_ipu())),
                           .found = halftone::detail::to_text(info)});
}

inline Frame Layout::frame(const halftone::Program& program) const {
  const Graph& graph = program.graph;
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) check_size(graph, id);
    }
  }
  NodeMap<std::int32_t> step(graph, halftone::Program::none);
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const std::int32_t node = program.steps[s].node;
    if (node != halftone::Program::none)
      step[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(s);
  }
  return {.program = &program,
          .graph = &graph,
          .step = std::move(step),
          .last_step = last_steps(program),
          .placed = TensorMap<Placed>(graph),
          .made_by = TensorMap<std::int32_t>(graph, -1),
          .updates = updated_variables(graph)};
}

// --- layouts -------------------------------------------------------------------------------------

inline Placed Layout::fresh(const Mapping& mapping, bool is_grouped) {
  return {.is_known = true,
          .ipu = steps_.here.ipu,
          .mapping = mapping,
          .layout = layouts_++,
          .is_grouped = is_grouped};
}

inline Placed Layout::linear(const TensorInfo& info) {
  std::int64_t& next = next_tile_[steps_.here.ipu];
  const Placed p = fresh(linear_mapping(t_, info.elements(), info.type, next));
  next = p.mapping.end_tile();
  return p;
}

inline Placed& Layout::place(Frame& frame, TensorId id, const Placed* wanted) {
  Placed& p = frame.placed[id];
  if (p.is_known) return p;
  check_size(*frame.graph, id);
  const TensorRecord& record = frame.graph->tensor(id);
  if (wanted != nullptr && wanted->mapping.pieces > 0) {
    p = *wanted;
    p.mapping.elements = record.info.elements();
    p.mapping.grain = 1;
    p.mapping.pieces = std::min(wanted->mapping.pieces, p.mapping.elements);
  } else {
    p = linear(record.info);
  }
  reserve(frame, id);
  return p;
}

inline void Layout::place_as(Frame& frame, TensorId id, const Placed& before) {
  check_size(*frame.graph, id);
  frame.placed[id] = before;
  reserve(frame, id);
}

inline void Layout::reserve(Frame& frame, TensorId id) {
  const TensorRecord& record = frame.graph->tensor(id);
  Placed& p = frame.placed[id];
  p.ipu = steps_.here.ipu;
  const Category category = record.role == Role::variable   ? Category::variables
                            : record.role == Role::constant ? Category::constants
                                                            : Category::temporaries;
  p.variables = {steps_.add_variable(name_of(*frame.graph, id, "#" + std::to_string(id)), p.mapping,
                                     element_bytes(record.info), category)};
  extend_lives(frame, id);
}

inline Placed& Layout::local(Frame& frame, TensorId id, const Placed* wanted) {
  Placed& p = place(frame, id, wanted);
  const std::int32_t ipu = steps_.here.ipu;
  if (p.ipu == ipu) return p;
  Placed& copy = frame.copies[{id, ipu}];
  if (copy.is_known) {
    extend_lives(frame, copy, frame.now);
    return copy;
  }
  const TensorInfo& info = frame.graph->info(id);
  steps_.link(p.ipu, info.bytes());
  copy = p;
  copy.ipu = ipu;
  copy.variables = {steps_.add_variable(std::string(frame.graph->name(id)) + "/copy", copy.mapping,
                                        element_bytes(info))};
  extend_lives(frame, copy, frame.now);
  return copy;
}

inline void Layout::fetch_inputs(Frame& frame, const Node& node) {
  for (const TensorId id : node.inputs) {
    if (id != no_tensor && frame.graph->info(id).elements() > 0) local(frame, id);
  }
}

// --- outputs -------------------------------------------------------------------------------------

inline void Layout::place_output(Frame& frame, TensorId id, const Placed& like) {
  const TensorInfo& info = frame.graph->info(id);
  if (info.elements() == 0) return;
  Placed& p = frame.placed[id];
  p = like.mapping.elements == info.elements() ? like : linear(info);
  p.is_known = true;
  p.ipu = steps_.here.ipu;
  Operation& operation = steps_.operation();
  p.variables = {steps_.add_variable(name_of(*frame.graph, id, operation.name + ":0"), p.mapping,
                                     element_bytes(info))};
  operation.output_bytes += info.bytes();
  extend_lives(frame, id);
}

inline void Layout::place_view(Frame& frame, TensorId id, std::span<const TensorId> bases,
                               bool is_whole) {
  Placed p;
  std::vector<std::int32_t> variables;
  for (const TensorId base : bases) {
    const Placed& from = local(frame, base);
    if (!p.is_known) p = is_whole ? from : fresh(from.mapping);
    variables.insert(variables.end(), from.variables.begin(), from.variables.end());
  }
  p.variables = std::move(variables);
  p.mapping.elements = frame.graph->info(id).elements();
  p.mapping.grain = 1;
  p.mapping.pieces = std::min(std::max<std::int64_t>(p.mapping.pieces, 1),
                              std::max<std::int64_t>(p.mapping.elements, 1));
  frame.placed[id] = std::move(p);
  extend_lives(frame, id);
}

inline void Layout::place_over(Frame& frame, TensorId id, TensorId input) {
  frame.placed[id] = frame.placed[input];
  extend_lives(frame, id);
}

inline TensorId Layout::overwritten(const Frame& frame, std::size_t number,
                                    const Placed* home) const {
  const Node& node = frame.graph->nodes[number];
  const std::int32_t step = frame.step[number];
  if (node.outputs.empty() || node.outputs[0] == no_tensor || step == halftone::Program::none) {
    return no_tensor;
  }
  const std::span<const halftone::Program::Argument> arguments =
      frame.program->of(frame.program->steps[static_cast<std::size_t>(step)]);
  const halftone::Program::Argument& output = arguments[node.inputs.size()];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId id = node.inputs[i];
    const halftone::Program::Argument& input = arguments[i];
    if (input.place != halftone::Program::Place::buffer ||
        output.place != halftone::Program::Place::buffer || input.number != output.number) {
      continue;
    }
    const Placed& x = frame.placed[id];
    if (!x.is_known || x.ipu != steps_.here.ipu || x.variables.size() != 1) continue;
    if (i > 0 && (home == nullptr || x.layout != home->layout || x.mapping != home->mapping)) {
      continue;
    }
    // A tensor with memory of its own in the plan may be a view here: of memory that others read,
    // or of less memory than it has elements.
    const Variable& v = steps_.report.variables[static_cast<std::size_t>(x.variables[0])];
    const bool is_free = !v.is_always_live && v.bytes() >= frame.graph->info(id).bytes() &&
                         frame.ends.at(x.variables[0]) <= step;
    if (is_free) return id;
  }
  return no_tensor;
}

inline void Layout::place_input(Frame& frame, TensorId id, const Placed& outside) {
  frame.placed[id] = outside;
  extend_lives(frame, outside, static_cast<std::int32_t>(frame.program->steps.size()));
}

// --- lifetimes -----------------------------------------------------------------------------------

inline void Layout::extend_lives(Frame& frame, const Placed& placed, std::int32_t until) {
  for (const std::int32_t v : placed.variables) {
    std::int32_t& end = frame.ends[v];
    end = std::max(end, until);
  }
}

inline void Layout::end_lives(const Frame& frame) {
  for (const auto& [variable, step] : frame.ends) {
    const auto s = static_cast<std::size_t>(step);
    steps_.keep_until(variable, s < frame.newest.size() ? frame.newest[s] : steps_.newest());
  }
}

}  // namespace halftone::ipu::detail
