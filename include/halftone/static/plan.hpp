#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/kernel/broadcast.hpp>
#include <halftone/program/program.hpp>
#include <halftone/static/lower.hpp>

// A program as tables of constants: what remains of it when a static program runs. The bodies of
// loops and branches are frames: their steps stand behind those of the program around them.
namespace halftone::detail {

/// Whose memory a tensor lies in.
enum class StaticPlace : std::uint8_t {
  absent,
  input,     ///< the caller's; in a body that of the step that runs it
  arena,     ///< the object's, for values between steps
  variable,  ///< the object's, for what stays between runs
  data,      ///< the tables', a constant
  array,     ///< the program's, a constant
};

/// Where an argument of a step lies, and its extents in StaticPlan::Tables::extents.
struct PlacedTensor {
  std::int64_t offset = 0;  ///< in bytes; in the arena the number of the buffer
  StaticPlace place = StaticPlace::absent;
  std::uint8_t rank = 0;
  ElementType type = ElementType::undefined;
  std::uint32_t extents = 0;  ///< the first one's number
  /// Of a small constant of int64 or float32: the first one's number among `extents` or `reals`.
  std::int32_t values = -1;
  std::int32_t number = 0;  ///< of an input
  const void* array = nullptr;
};

/// An argument that lies in memory which is known in the run.
struct InputArgument {
  std::uint32_t argument = 0, input = 0;
};

/// A step: its kernel, and what differs between steps of one kernel.
struct StaticStep {
  std::uint16_t kernel = 0;
  std::uint16_t inputs = 0, outputs = 0;
  std::int16_t control = -1;    ///< of loops, branches and calls: its number
  std::uint32_t first = 0;      ///< in the arguments: inputs, then outputs
  std::uint32_t uniform = 0;    ///< element-wise: bit i: input i is one element for all
  std::int32_t broadcast = -1;  ///< element-wise: the first of its inputs in the list; -1: no need
  std::int32_t scratch = -1;    ///< the buffer that the program has for it alone
  std::int64_t elements = 0;    ///< of the first output; of a copy the bytes
  std::uint64_t constants = 0;  ///< bit i: input i never changes
};

/// What one instantiation of a kernel serves.
struct StaticSignature {
  static constexpr std::size_t max_words = 64, max_types = 8;
  enum class Kind : std::uint8_t { op, group, copy, branch, call, repetition };

  Kind kind = Kind::op;
  int op = -1;     ///< in the list of operators
  int group = -1;  ///< in the list of groups
  /// Whose extents the instantiation has as constants; -1: it takes any.
  std::int32_t extents_of = -1;
  std::array<ElementType, max_types> types{};
  std::array<Word, max_words> words{};
  std::uint8_t word_count = 0;
};

/// An element-wise node of a group. Values are the inputs of the group, then what its members make.
struct StaticMember {
  int op = -1;
  std::array<std::int8_t, 4> inputs{-1, -1, -1, -1};  ///< values; -1: absent
  std::int8_t output = -1;                            ///< of the group; -1: none
  std::uint8_t word_count = 0;
  std::array<Word, most_member_words> words{};
  friend constexpr bool operator==(const StaticMember&, const StaticMember&) = default;
};
struct StaticGroup {
  ElementType type = ElementType::undefined;  ///< of all values that are not bool
  std::uint8_t inputs = 0, outputs = 0, members = 0;
  std::uint32_t first_member = 0;
  std::uint32_t bool_inputs = 0, bool_outputs = 0;  ///< bit i
};

/// The steps of the program or of a body, and where its results lie.
struct StaticFrame {
  std::uint32_t first_step = 0, end_step = 0;
  std::uint32_t first_buffer = 0, end_buffer = 0;
  std::int32_t parent_step = -1, parent = -1;    ///< that it belongs to, and the frame of that
  std::uint32_t first_input = 0, end_input = 0;  ///< in the list of input arguments
  std::uint32_t first_result = 0;                ///< in the list of results
};
/// A piece of the arena for some steps, counted in its frame.
struct StaticBuffer {
  std::int64_t bytes = 0;
  std::int32_t first = 0, last = 0;
};
struct StaticResult {
  PlacedTensor at{};
  std::int64_t bytes = 0;
};

/// What a step with bodies runs.
struct StaticControl {
  std::uint16_t frames[2] = {0, 0};
  bool is_loop = false;                            ///< a Loop, not a Scan
  bool narrow_count = false, narrow_pass = false;  ///< int32, not int64
  std::uint16_t first_state = 0, body_state = 0;   ///< as in Repetition
  std::uint16_t state = 0, states = 0;             ///< the first in the list, and how many
  std::uint16_t stack = 0, scanned = 0, stacked = 0;
};

/// A tensor that the program's user asks for.
struct StaticPort {
  TensorInfo info{};
  PlacedTensor at{};
  const void* array = nullptr;  ///< a variable's first value
  std::int64_t data = -1;       ///< the same in the tables' data
  Initial initial{};
  bool is_constant = false;            ///< a variable that no node changes
  std::array<std::byte, 8> element{};  ///< that one which fills a variable
  // These repeat the table of element types, which programs are to do without.
  std::uint8_t element_bytes = 0;
  std::int64_t bytes = 0;
  BoundedText<64> name{};
};

/// Work that the compiler does not unroll, and values for loops, keep to this.
inline constexpr std::int64_t small_elements = 512, small_product = 4096;

constexpr std::int64_t aligned_bytes(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Why a graph has no static program.
enum class NotStatic : std::uint8_t { none, late, objects, bodies, streams };

constexpr NotStatic why_not_static(const Graph& graph) {
  if (graph.replicas != 1 || !graph.remote_buffers.empty()) return NotStatic::streams;
  const auto of = [&](TensorId id) {
    if (id == no_tensor) return NotStatic::none;
    const TensorInfo& info = graph.info(id);
    if (has_objects(info.type) || (info.is_known() && !is_tensor(info.type))) {
      return NotStatic::objects;
    }
    return info.is_static() ? NotStatic::none : NotStatic::late;
  };
  for (const auto* ids : {&graph.inputs, &graph.outputs}) {
    for (const TensorId id : *ids) {
      if (of(id) != NotStatic::none) return of(id);
    }
  }
  for (const Node& node : graph.nodes) {
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (const TensorId id : *ids) {
        if (of(id) != NotStatic::none) return of(id);
      }
    }
    if (op::needs_host(node)) return NotStatic::streams;
    if (node.op->id == op::Fused::id) continue;
    for (const std::int32_t index : subgraphs_of(node)) {
      const Graph& body = graph.graphs[static_cast<std::size_t>(index)];
      for (const TensorRecord& t : body.tensors) {
        if (is_variable(t) && t.data.size() == 0) return NotStatic::bodies;
      }
      if (const NotStatic inside = why_not_static(body); inside != NotStatic::none) return inside;
    }
  }
  return NotStatic::none;
}

/// How long the tables of a program are.
struct StaticSizes {
  NotStatic reason{};  ///< none, else the rest is not there
  std::size_t steps{}, arguments{}, signatures{}, groups{}, members{}, extents{}, reals{},
      broadcasts{}, frames{}, buffers{}, input_arguments{}, results{}, controls{}, states{},
      stacks{}, inputs{}, outputs{}, variables{}, data{}, first_steps{};
  std::int64_t variable_bytes{};
  bool is_random = false, has_all_operators = true, fits = true;

  /// Whether there are tables.
  constexpr bool ok() const { return reason == NotStatic::none && has_all_operators && fits; }
  /// Calls f for each list, with its length here and there.
  constexpr void for_each(const StaticSizes& there, auto&& f) const {
    f(steps, there.steps), f(arguments, there.arguments), f(signatures, there.signatures);
    f(groups, there.groups), f(members, there.members), f(extents, there.extents);
    f(reals, there.reals), f(broadcasts, there.broadcasts), f(frames, there.frames),
        f(buffers, there.buffers);
    f(input_arguments, there.input_arguments), f(results, there.results);
    f(controls, there.controls), f(states, there.states), f(stacks, there.stacks);
    f(inputs, there.inputs), f(outputs, there.outputs), f(variables, there.variables);
    f(data, there.data);
  }
  constexpr bool fit_into(const StaticSizes& room) const {
    bool fit = true;
    for_each(room, [&](std::size_t own, std::size_t other) { fit = fit && own <= other; });
    return fit;
  }
  /// A guess, for a model of so many nodes.
  static constexpr StaticSizes room_for(std::size_t nodes, std::size_t variables, bool trains) {
    const std::size_t steps = 16 + nodes * (trains ? 6 : 1);
    return {.steps = steps,
            .arguments = 4 * steps,
            .signatures = steps < 64 ? steps : 64,
            .groups = steps < 64 ? steps : 64,
            .members = 2 * steps,
            .extents = 10 * steps,
            .reals = 2 * steps,
            .broadcasts = 2 * steps,
            .frames = 8,
            .buffers = steps,
            .input_arguments = 2 * steps,
            .results = 32,
            .controls = 8,
            .states = 32,
            .stacks = 32,
            .inputs = 8,
            .outputs = 8,
            .variables = 8 + variables * (trains ? 4 : 1),
            .data = 64 * steps};
  }
};

/// Writes the tables of a program.
template <class List>
class StaticDraft {
 public:
  Vector<StaticStep> steps{};
  Vector<PlacedTensor> arguments{};
  Vector<StaticSignature> signatures{};
  Vector<StaticGroup> groups{};
  Vector<StaticMember> members{};
  Vector<std::int64_t> extents{};
  Vector<float> reals{};
  Vector<kernel::BroadcastInput> broadcasts{};
  Vector<StaticFrame> frames{};
  Vector<StaticBuffer> buffers{};
  Vector<InputArgument> input_arguments{};
  Vector<StaticResult> results{};
  Vector<StaticControl> controls{};
  Vector<Repetition::State> states{};
  Vector<Repetition::Stack> stacks{};
  Vector<StaticPort> inputs{}, outputs{}, variables{};
  Vector<std::byte> data{};
  std::int64_t variable_bytes = 0;
  std::size_t first_steps = 0;  ///< before the first run
  bool is_random = false, has_all_operators = true, fits = true;

  constexpr explicit StaticDraft(Lowered from) : is_random(from.is_random) {
    const std::size_t first_nodes = from.first_nodes;
    const Vector<LoweredVariable> known = std::move(from.variables);
    const Program program = make_program(std::move(from.graph), StaticPasses{}, {.place = false});
    const Graph& graph = program.graph;
    program_ = &program;
    place_of_ = TensorMap<std::int64_t>(graph, -1);
    for (const LoweredVariable& v : known) add_variable(v);
    for (std::size_t i = 0; i + is_random < graph.inputs.size(); ++i) {
      inputs.push_back(port(graph.inputs[i]));
    }
    while (first_steps < program.steps.size() && program.steps[first_steps].node != Program::none &&
           static_cast<std::size_t>(program.steps[first_steps].node) < first_nodes) {
      ++first_steps;
    }
    add_frame(program, -1, -1);
    for (std::size_t o = 0; o < program.outputs.size(); ++o) {
      outputs.push_back(port(program.outputs[o].tensor));
      outputs.back().at = results[o].at;
    }
    program_ = nullptr;
  }
  constexpr StaticSizes sizes() const {
    return {.steps = steps.size(),
            .arguments = arguments.size(),
            .signatures = signatures.size(),
            .groups = groups.size(),
            .members = members.size(),
            .extents = extents.size(),
            .reals = reals.size(),
            .broadcasts = broadcasts.size(),
            .frames = frames.size(),
            .buffers = buffers.size(),
            .input_arguments = input_arguments.size(),
            .results = results.size(),
            .controls = controls.size(),
            .states = states.size(),
            .stacks = stacks.size(),
            .inputs = inputs.size(),
            .outputs = outputs.size(),
            .variables = variables.size(),
            .data = data.size(),
            .first_steps = first_steps,
            .variable_bytes = variable_bytes,
            .is_random = is_random,
            .has_all_operators = has_all_operators,
            .fits = fits};
  }

 private:
  constexpr void add_variable(const LoweredVariable& v) {
    StaticPort port = this->port(v.id);
    port.at.place = StaticPlace::variable;
    port.at.offset = add_memory(v.id);
    port.array = v.data.array();
    port.is_constant = program_->graph.tensor(v.id).role == Role::constant;
    if (port.array == nullptr && v.data.size() != 0) port.data = add_data(v.data);
    variables.push_back(port);
  }
  constexpr std::int64_t add_memory(TensorId id) {
    place_of_[id] = variable_bytes;
    is_kept_.resize(program_->graph.tensors.size(), 0);
    is_kept_[static_cast<std::size_t>(id)] = 1;
    variable_bytes += aligned_bytes(program_->graph.info(id).bytes());
    return place_of_[id];
  }
  constexpr StaticPort port(TensorId id) const {
    const TensorRecord& t = program_->graph.tensor(id);
    StaticPort port{.info = t.info,
                    .initial = t.initial,
                    .element_bytes = static_cast<std::uint8_t>(size_in_bytes(t.info.type)),
                    .bytes = t.info.bytes()};
    port.name.assign(program_->graph.name(id));
    if (t.initial.rule == Initial::Rule::data && t.initial.a == 0) return port;
    const Bytes bytes = scalar_bytes(t.info.type, t.initial.a);
    for (std::size_t i = 0; i < bytes.size(); ++i) port.element[i] = bytes.span()[i];
    return port;
  }
  constexpr std::int64_t add_data(const Bytes& bytes) {
    const auto at = static_cast<std::int64_t>(data.size());
    data.append(bytes.span().data(), bytes.size());
    const auto size = static_cast<std::int64_t>(data.size());
    data.resize(static_cast<std::size_t>(aligned_bytes(size)), std::byte{0});
    return at;
  }

  /// The steps of a program, and those of its bodies behind them.
  constexpr std::uint16_t add_frame(const Program& program, std::int32_t parent_step,
                                    std::int32_t parent) {
    const Program* const outer = std::exchange(program_, &program);
    TensorMap<std::int64_t> outer_places;
    Vector<char> outer_kept;
    if (parent >= 0) {
      outer_places = std::exchange(place_of_, TensorMap<std::int64_t>(program.graph, -1));
      outer_kept = std::exchange(is_kept_, Vector<char>());
    }
    const std::size_t number = frames.size();
    StaticFrame frame{.first_step = size_of(steps),
                      .first_buffer = size_of(buffers),
                      .parent_step = parent_step,
                      .parent = parent,
                      .first_input = size_of(input_arguments),
                      .first_result = size_of(results)};
    for (const Program::Buffer& b : program.buffers) buffers.push_back({b.bytes, b.first, b.last});
    first_buffer_ = frame.first_buffer;
    frame.end_buffer = size_of(buffers);
    const std::uint32_t first_argument = size_of(arguments);
    for (const Program::Argument& a : program.arguments) {
      if (a.place == Program::Place::input) {
        input_arguments.push_back({size_of(arguments), static_cast<std::uint32_t>(a.number)});
      }
      arguments.push_back(argument(a));
    }
    frame.end_input = size_of(input_arguments);
    for (const Program::Argument& a : program.outputs) {
      results.push_back({argument(a), program.graph.info(a.tensor).bytes()});
    }
    for (const Program::Step& step : program.steps) add_step(step, first_argument);
    frame.end_step = size_of(steps);
    frames.push_back(frame);
    for (std::size_t s = 0; s < program.steps.size(); ++s) {
      if (program.steps[s].bodies.empty()) continue;
      add_control(program, program.steps[s], frame.first_step + s,
                  static_cast<std::int32_t>(number));
    }
    if (parent >= 0) {
      place_of_ = std::move(outer_places);
      is_kept_ = std::move(outer_kept);
    }
    program_ = outer;
    return static_cast<std::uint16_t>(number);
  }
  static constexpr std::uint32_t size_of(const auto& list) {
    return static_cast<std::uint32_t>(list.size());
  }
  constexpr void add_control(const Program& program, const Program::Step& step, std::size_t at,
                             std::int32_t frame) {
    StaticControl control;
    if (step.kind == Program::Kind::repetition) {
      const Repetition& r = program.repetitions[static_cast<std::size_t>(step.repetition)];
      const Program& body = program.bodies[static_cast<std::size_t>(step.bodies[0])];
      control.is_loop = r.is_loop;
      control.narrow_count = r.count_type == ElementType::int32;
      control.narrow_pass =
          r.is_loop && body.graph.info(body.graph.inputs[0]).type == ElementType::int32;
      control.first_state = static_cast<std::uint16_t>(r.first_state);
      control.body_state = static_cast<std::uint16_t>(r.body_state);
      control.state = static_cast<std::uint16_t>(states.size());
      control.states = static_cast<std::uint16_t>(r.states.size());
      control.stack = static_cast<std::uint16_t>(stacks.size());
      control.scanned = static_cast<std::uint16_t>(r.scanned.size());
      control.stacked = static_cast<std::uint16_t>(r.stacked.size());
      for (const Repetition::State& s : r.states) states.push_back(s);
      for (const Repetition::Stack& s : r.scanned) stacks.push_back(s);
      for (const Repetition::Stack& s : r.stacked) stacks.push_back(s);
    }
    steps[at].control = static_cast<std::int16_t>(controls.size());
    const std::size_t number = controls.size();
    controls.push_back(control);
    for (std::size_t b = 0; b < step.bodies.size(); ++b) {
      const Program& body = program.bodies[static_cast<std::size_t>(step.bodies[b])];
      const std::uint16_t made = add_frame(body, static_cast<std::int32_t>(at), frame);
      controls[number].frames[b] = made;
    }
  }

  constexpr PlacedTensor argument(const Program::Argument& a) {
    PlacedTensor result{.number = a.number};
    if (a.place == Program::Place::absent) return result;
    const TensorInfo& info = program_->graph.info(a.tensor);
    result.rank = static_cast<std::uint8_t>(info.rank());
    result.type = info.type;
    result.extents = size_of(extents);
    for (const std::int64_t extent : info.shape) extents.push_back(extent);
    if (a.place == Program::Place::input) {
      result.place = StaticPlace::input;
    } else if (a.place == Program::Place::buffer) {
      result.place = StaticPlace::arena;
      result.offset = first_buffer_ + a.number;
    } else {
      place_weight(result, a.number);
    }
    return result;
  }
  constexpr bool is_kept(TensorId id) const {
    const auto at = static_cast<std::size_t>(id);
    return at < is_kept_.size() && is_kept_[at] != 0;
  }
  constexpr void place_weight(PlacedTensor& result, TensorId id) {
    const TensorRecord& t = program_->graph.tensor(id);
    const bool is_made = t.data.size() == 0 && t.info.bytes() != 0;  // before the first run
    if (is_made && !is_kept(id)) add_memory(id);
    if (is_kept(id)) {
      result.place = StaticPlace::variable;
      result.offset = place_of_[id];
    } else if (t.data.array() != nullptr) {
      result.place = StaticPlace::array;
      result.array = t.data.array();
    } else {
      if (place_of_[id] < 0) place_of_[id] = add_data(t.data);
      result.place = StaticPlace::data;
      result.offset = place_of_[id];
    }
    // Axes, scales and the like, which the size of scratch memory may follow from.
    constexpr std::int64_t most = 64;
    if (result.place != StaticPlace::data || t.info.elements() > most) return;
    const InputInfo value = input_info(program_->graph, id);
    if (t.info.type == ElementType::int64) {
      result.values = static_cast<std::int32_t>(extents.size());
      for (const std::int64_t v : Inputs({&value, 1}, 0).integers(0)) extents.push_back(v);
    } else if (t.info.type == ElementType::float32) {
      result.values = static_cast<std::int32_t>(reals.size());
      for (std::size_t at = 0; at < t.data.size(); at += sizeof(float)) {
        std::uint32_t bits = 0;
        for (std::size_t b = 0; b < sizeof(float); ++b) {
          bits |= std::to_integer<std::uint32_t>(t.data.span()[at + b]) << (8 * b);
        }
        reals.push_back(std::bit_cast<float>(bits));
      }
    }
  }

  constexpr const TensorInfo& info(const Program::Argument& a) const {
    return program_->graph.info(a.tensor);
  }

  constexpr void add_step(const Program::Step& step, std::uint32_t first_argument) {
    using Kind = StaticSignature::Kind;
    const std::span<const Program::Argument> all = program_->of(step);
    StaticStep result{.inputs = static_cast<std::uint16_t>(step.inputs),
                      .outputs = static_cast<std::uint16_t>(step.outputs),
                      .first = first_argument + step.first,
                      .constants = step.constants};
    if (step.scratch != Program::none) {
      result.scratch = static_cast<std::int32_t>(first_buffer_) + step.scratch;
    }
    if (step.outputs != 0 && all[step.inputs].place != Program::Place::absent) {
      result.elements = info(all[step.inputs]).elements();
    }
    StaticSignature signature;
    switch (step.kind) {
      case Program::Kind::kernel:
        set_op(signature, result, step);
        break;
      case Program::Kind::group:
        set_group(signature, result, step);
        break;
      case Program::Kind::copy:
        signature.kind = Kind::copy;
        result.elements = info(all[step.inputs]).bytes();
        break;
      case Program::Kind::branch:
        signature.kind = Kind::branch;
        break;
      case Program::Kind::call:
        signature.kind = Kind::call;
        break;
      default:
        signature.kind = Kind::repetition;
    }
    if (!fits || !has_all_operators) return;
    result.kernel = find_or_add(signature, result);
    steps.push_back(result);
  }

  constexpr void set_op(StaticSignature& signature, StaticStep& result, const Program::Step& step) {
    const Node& node = program_->graph.nodes[static_cast<std::size_t>(step.node)];
    signature.op = find_op(node);
    fits = fits && node.attributes.size() <= StaticSignature::max_words &&
           node.op->signature.type_variables() <= StaticSignature::max_types;
    if (!fits || !has_all_operators) return;
    if (!node.op->elementwise) {
      for (const Word word : node.attributes) signature.words[signature.word_count++] = word;
      add_types(signature, *node.op, step);
      if (is_small_product(node, result, step)) {
        signature.extents_of = static_cast<std::int32_t>(steps.size());
      }
      return;
    }
    add_broadcasts(result, step);
    const bool is_small = result.elements <= small_elements && result.broadcast < 0 &&
                          List::is_short[static_cast<std::size_t>(signature.op)];
    if (is_small && has_static_group(program_->graph, node)) {
      Graph body;
      Vector<TensorId> ids;
      for (const TensorId id : node.inputs) {
        ids.push_back(id == no_tensor ? id : body.add_input(program_->graph.info(id), {}));
      }
      const TensorInfo infos[]{program_->graph.info(node.outputs[0])};
      body.add_node(*node.op, node.attributes, std::move(ids), infos);
      body.add_output(body.nodes[0].outputs[0]);
      for (const Program::Argument& a : program_->of(step)) {
        if (a.place == Program::Place::absent) body.inputs.clear();
      }
      // A group has no absent inputs.
      if (body.inputs.size() == step.inputs) {
        signature.kind = StaticSignature::Kind::group;
        signature.op = -1;
        signature.group = find_or_add_group(body);
        signature.extents_of = static_cast<std::int32_t>(steps.size());
        return;
      }
    }
    for (const Word word : node.attributes) signature.words[signature.word_count++] = word;
    add_types(signature, *node.op, step);
  }
  constexpr int find_op(const Node& node) {
    int number = -1;
    for (const FoundOp& known : found_ops_) {
      if (known.op == node.op) number = known.number;
    }
    if (number < 0) {
      number = List::find(node.op->id);
      found_ops_.push_back({node.op, number});
    }
    has_all_operators = has_all_operators && number >= 0;
    return number;
  }

  constexpr void set_group(StaticSignature& signature, StaticStep& result,
                           const Program::Step& step) {
    const Node& node = program_->graph.nodes[static_cast<std::size_t>(step.node)];
    const Graph& body = program_->graph.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
    signature.kind = StaticSignature::Kind::group;
    signature.group = find_or_add_group(body);
    if (!has_all_operators) return;
    add_broadcasts(result, step);
    bool is_short = result.elements <= small_elements && result.broadcast < 0;
    const StaticGroup& group = groups[static_cast<std::size_t>(signature.group)];
    for (std::size_t m = 0; m < group.members; ++m) {
      is_short =
          is_short && List::is_short[static_cast<std::size_t>(members[group.first_member + m].op)];
    }
    if (is_short) signature.extents_of = static_cast<std::int32_t>(steps.size());
  }
  /// The group of the body of a Fused node.
  constexpr int find_or_add_group(const Graph& body) {
    StaticGroup group{.inputs = static_cast<std::uint8_t>(body.inputs.size()),
                      .outputs = static_cast<std::uint8_t>(body.outputs.size()),
                      .members = static_cast<std::uint8_t>(body.nodes.size()),
                      .first_member = size_of(members)};
    TensorMap<int> value(body, -1);
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      value[body.inputs[i]] = static_cast<int>(i);
      if (body.info(body.inputs[i]).type == ElementType::boolean) group.bool_inputs |= 1u << i;
    }
    for (std::size_t n = 0; n < body.nodes.size(); ++n) {
      const Node& node = body.nodes[n];
      StaticMember member{.op = find_op(node),
                          .word_count = static_cast<std::uint8_t>(node.attributes.size())};
      for (std::size_t w = 0; w < node.attributes.size(); ++w) member.words[w] = node.attributes[w];
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == no_tensor) continue;
        member.inputs[i] = static_cast<std::int8_t>(value[node.inputs[i]]);
        add_type(group, body.info(node.inputs[i]).type);
      }
      const TensorId y = node.outputs[0];
      value[y] = static_cast<int>(group.inputs + n);
      add_type(group, body.info(y).type);
      for (std::size_t o = 0; o < body.outputs.size(); ++o) {
        if (body.outputs[o] != y) continue;
        member.output = static_cast<std::int8_t>(o);
        if (body.info(y).type == ElementType::boolean) group.bool_outputs |= 1u << o;
      }
      members.push_back(member);
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (!is_same(groups[g], group)) continue;
      members.resize(group.first_member);
      return static_cast<int>(g);
    }
    groups.push_back(group);
    return static_cast<int>(groups.size()) - 1;
  }
  static constexpr void add_type(StaticGroup& group, ElementType type) {
    if (type != ElementType::boolean) group.type = type;
  }
  constexpr bool is_same(const StaticGroup& a, const StaticGroup& b) const {
    if (a.type != b.type || a.inputs != b.inputs || a.outputs != b.outputs ||
        a.members != b.members || a.bool_inputs != b.bool_inputs) {
      return false;
    }
    for (std::size_t m = 0; m < a.members; ++m) {
      if (!(members[a.first_member + m] == members[b.first_member + m])) return false;
    }
    return true;
  }

  constexpr void add_types(StaticSignature& signature, const Descriptor& op,
                           const Program::Step& step) const {
    const std::span<const Program::Argument> all = program_->of(step);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].place == Program::Place::absent) continue;
      const Slot& slot =
          i < step.inputs ? op.signature.input_slot(i) : op.signature.output_slot(i - step.inputs);
      ElementType& type = signature.types[static_cast<std::size_t>(slot.type_variable)];
      if (type == ElementType::undefined) type = info(all[i]).type;
    }
  }

  /// How an element-wise step reads its inputs.
  constexpr void add_broadcasts(StaticStep& result, const Program::Step& step) {
    const std::span<const Program::Argument> all = program_->of(step);
    const Dims& y = info(all[step.inputs]).shape;
    const auto first = static_cast<std::int32_t>(broadcasts.size());
    for (std::size_t i = 0; i < step.inputs; ++i) {
      if (all[i].place == Program::Place::absent) {
        result.uniform |= 1u << i;
        broadcasts.push_back(kernel::BroadcastInput(nullptr, 0, nullptr, 0, 1));
        continue;
      }
      const TensorInfo& x = info(all[i]);
      const kernel::BroadcastInput input(y.items, y.size(), x.shape.items, x.rank(),
                                         static_cast<std::size_t>(size_in_bytes(x.type)));
      if (input.is_uniform() || (x.elements() == 1)) {
        result.uniform |= 1u << i;
      } else if (!input.is_dense()) {
        result.broadcast = first;
      }
      broadcasts.push_back(input);
    }
    if (result.broadcast < 0) broadcasts.resize(static_cast<std::size_t>(first));
  }

  constexpr bool is_small_product(const Node& node, const StaticStep& result,
                                  const Program::Step& step) const {
    const std::span<const Program::Argument> all = program_->of(step);
    if (node.op->id != op::MatMul::id) return false;
    const TensorInfo &a = info(all[0]), &b = info(all[1]);
    return a.type == ElementType::float32 && a.rank() == 2 && b.rank() == 2 &&
           result.elements * b.shape[0] <= small_product && a.shape[1] != 0;
  }

  /// Whether two steps have arguments of the same extents.
  constexpr bool have_same_extents(const StaticStep& known, const StaticStep& step) const {
    if (known.inputs != step.inputs || known.outputs != step.outputs ||
        known.uniform != step.uniform) {
      return false;
    }
    for (std::size_t i = 0; i < std::size_t{step.inputs} + step.outputs; ++i) {
      const PlacedTensor &a = arguments[known.first + i], &b = arguments[step.first + i];
      if (a.rank != b.rank || a.type != b.type || a.place == StaticPlace::absent ||
          b.place == StaticPlace::absent) {
        return false;
      }
      for (std::size_t d = 0; d < a.rank; ++d) {
        if (extents[a.extents + d] != extents[b.extents + d]) return false;
      }
    }
    return true;
  }
  constexpr std::uint16_t find_or_add(const StaticSignature& wanted, const StaticStep& step) {
    for (std::size_t k = 0; k < signatures.size(); ++k) {
      const StaticSignature& s = signatures[k];
      if (s.kind != wanted.kind || s.op != wanted.op || s.group != wanted.group ||
          s.word_count != wanted.word_count || (s.extents_of < 0) != (wanted.extents_of < 0) ||
          s.types != wanted.types) {
        continue;
      }
      bool is_same = true;
      for (std::size_t w = 0; w < s.word_count; ++w)
        is_same = is_same && s.words[w] == wanted.words[w];
      if (!is_same) continue;
      if (s.extents_of >= 0 &&
          !have_same_extents(steps[static_cast<std::size_t>(s.extents_of)], step)) {
        continue;
      }
      return static_cast<std::uint16_t>(k);
    }
    signatures.push_back(wanted);
    return static_cast<std::uint16_t>(signatures.size() - 1);
  }

  struct FoundOp {
    const Descriptor* op = nullptr;
    int number = -1;
  };
  Vector<FoundOp> found_ops_{};
  // Of the frame that is being added.
  const Program* program_ = nullptr;
  std::uint32_t first_buffer_ = 0;
  TensorMap<std::int64_t> place_of_{};  ///< of variables and constants
  Vector<char> is_kept_{};              ///< in the memory of variables
};

/// The lists of a draft, as long as Counts::sizes says.
template <class Counts>
struct StaticTables {
  static constexpr const StaticSizes& room = Counts::sizes;

  std::array<StaticStep, room.steps> steps{};
  std::array<PlacedTensor, room.arguments> arguments{};
  std::array<StaticSignature, room.signatures> signatures{};
  std::array<StaticGroup, room.groups> groups{};
  std::array<StaticMember, room.members> members{};
  std::array<std::int64_t, room.extents + 1> extents{};
  std::array<float, room.reals + 1> reals{};
  std::array<kernel::BroadcastInput, room.broadcasts> broadcasts{};
  std::array<StaticFrame, room.frames> frames{};
  std::array<StaticBuffer, room.buffers> buffers{};
  std::array<InputArgument, room.input_arguments> input_arguments{};
  std::array<StaticResult, room.results> results{};
  std::array<StaticControl, room.controls> controls{};
  std::array<Repetition::State, room.states> states{};
  std::array<Repetition::Stack, room.stacks> stacks{};
  std::array<StaticPort, room.inputs> inputs{};
  std::array<StaticPort, room.outputs> outputs{};
  std::array<StaticPort, room.variables> variables{};
  alignas(64) std::array<std::byte, room.data + 1> data{};

  /// The lists of a draft, or of larger tables.
  constexpr void take(const auto& from, const StaticSizes& sizes) {
    const auto copy = [](const auto& list, auto& to, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) to[i] = list[i];
    };
    copy(from.steps, steps, sizes.steps);
    copy(from.arguments, arguments, sizes.arguments);
    copy(from.signatures, signatures, sizes.signatures);
    copy(from.groups, groups, sizes.groups);
    copy(from.members, members, sizes.members);
    copy(from.extents, extents, sizes.extents);
    copy(from.reals, reals, sizes.reals);
    copy(from.broadcasts, broadcasts, sizes.broadcasts);
    copy(from.frames, frames, sizes.frames);
    copy(from.buffers, buffers, sizes.buffers);
    copy(from.input_arguments, input_arguments, sizes.input_arguments);
    copy(from.results, results, sizes.results);
    copy(from.controls, controls, sizes.controls);
    copy(from.states, states, sizes.states);
    copy(from.stacks, stacks, sizes.stacks);
    copy(from.inputs, inputs, sizes.inputs);
    copy(from.outputs, outputs, sizes.outputs);
    copy(from.variables, variables, sizes.variables);
    copy(from.data, data, sizes.data);
  }
};

/// The tables of a model's program. They are made once if there is room for them, else again when
/// their sizes are known.
template <class Model, class List>
class StaticPlan {
  using Build = StaticBuild<Model, List>;
  struct Room {
    static constexpr StaticSizes sizes =
        StaticSizes::room_for(Build::found.nodes, Build::found.variables, Build::found.trains);
  };
  struct Roomy {
    StaticSizes sizes{};
    StaticTables<Room> tables{};
  };
  static constexpr Roomy roomy = [] {
    Roomy result;
    if (!Build::found.has_all) {
      result.sizes.has_all_operators = false;
      return result;
    }
    Lowered graph = lowered(Build::graph());
    result.sizes.reason = why_not_static(graph.graph);
    if (!result.sizes.ok()) return result;
    const StaticDraft<List> d(std::move(graph));
    result.sizes = d.sizes();
    if (result.sizes.ok() && result.sizes.fit_into(Room::sizes)) {
      result.tables.take(d, result.sizes);
    }
    return result;
  }();
  struct Exact {
    static constexpr StaticSizes sizes = roomy.sizes;
  };

 public:
  static constexpr StaticSizes sizes = roomy.sizes;
  static constexpr StaticTables<Exact> tables = [] {
    StaticTables<Exact> t;
    if (!sizes.ok()) return t;
    if (sizes.fit_into(Room::sizes)) {
      t.take(roomy.tables, sizes);
    } else {
      t.take(StaticDraft<List>(lowered(Build::graph())), sizes);
    }
    return t;
  }();

  // What programs have of it at run time, each for itself: nothing that is not used.
  static constexpr auto steps = tables.steps;
  static constexpr auto arguments = tables.arguments;
  static constexpr auto extents = tables.extents;
  static constexpr auto reals = tables.reals;
  static constexpr auto broadcasts = tables.broadcasts;
  static constexpr auto frames = tables.frames;
  static constexpr auto input_arguments = tables.input_arguments;
  static constexpr auto results = tables.results;
  static constexpr auto controls = tables.controls;
  static constexpr auto states = tables.states;
  static constexpr auto stacks = tables.stacks;
  static constexpr auto inputs = tables.inputs;
  static constexpr auto outputs = tables.outputs;
  static constexpr auto variables = tables.variables;
  alignas(64) static constexpr auto data = tables.data;
};

}  // namespace halftone::detail
