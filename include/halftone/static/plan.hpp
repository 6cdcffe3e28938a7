#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/kernel/broadcast.hpp>
#include <halftone/program/program.hpp>
#include <halftone/static/operators.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/inline_calls.hpp>
#include <halftone/transform/schedule.hpp>

// A program as tables of constants: what remains of it when a static program runs.
namespace halftone::detail {

/// Whose memory a tensor lies in.
enum class StaticPlace : std::uint8_t {
  absent,
  input,     ///< the caller's
  arena,     ///< the object's, for values between steps
  variable,  ///< the object's, for what stays between runs
  data,      ///< the tables', a constant
  array,     ///< the program's, a constant
};

/// Where an argument of a step lies, and its extents in StaticPlan::Tables::extents.
struct PlacedTensor {
  std::int64_t offset = 0;  ///< in bytes
  StaticPlace place = StaticPlace::absent;
  std::uint8_t rank = 0;
  ElementType type = ElementType::undefined;
  std::uint32_t extents = 0;  ///< the first one's number
  std::int32_t values = -1;   ///< of a constant of int64: the first one's, there, too
  std::int32_t number = 0;    ///< of an input
  const void* array = nullptr;
};

/// An argument that lies in the caller's memory.
struct InputArgument {
  std::size_t argument = 0, input = 0;
};
constexpr std::size_t count_inputs(const auto& arguments) {
  std::size_t n = 0;
  for (const PlacedTensor& a : arguments) n += a.place == StaticPlace::input;
  return n;
}

/// A step: its kernel, and what differs between steps of one kernel.
struct StaticStep {
  std::uint16_t kernel = 0;
  std::uint8_t inputs = 0, outputs = 0;
  std::uint32_t first = 0;      ///< in the arguments: inputs, then outputs
  std::uint32_t uniform = 0;    ///< element-wise: bit i: input i is one element for all
  std::int32_t broadcast = -1;  ///< element-wise: the first of its inputs in the list; -1: no need
  std::int64_t elements = 0;    ///< of the first output
};

/// What one instantiation of a kernel serves.
struct StaticSignature {
  static constexpr std::size_t max_words = 64, max_types = 8;

  int op = -1;  ///< in the list of operators; -1: a copy
  /// Whose extents the instantiation has as constants; -1: it takes any.
  std::int32_t extents_of = -1;
  std::array<ElementType, max_types> types{};
  std::array<Word, max_words> words{};
  std::uint8_t word_count = 0;
};

/// A tensor that the program's user asks for.
struct StaticPort {
  TensorInfo info{};
  StaticPlace place = StaticPlace::absent;
  std::int64_t offset = 0;
  const void* array = nullptr;  ///< a constant, or a variable's first value
  std::int64_t data = -1;       ///< a variable's first value, in the tables' data
  Initial initial{};
  std::array<std::byte, 8> element{};  ///< that one which fills a variable
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
    if (!info.is_static()) return NotStatic::late;
    return has_objects(info.type) ? NotStatic::objects : NotStatic::none;
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
    if (!subgraphs_of(node).empty()) return NotStatic::bodies;
    if (node.op->id == op::HostLoad::id || node.op->id == op::HostStore::id) {
      return NotStatic::streams;
    }
  }
  return NotStatic::none;
}

/// The passes of a static program: calls become what they call, and those of the engine that keep
/// each operator as it is. Arrays of the program that no node changes are read where they are.
constexpr Graph lowered(Graph graph) {
  graph.model.clear();
  graph = inline_calls(std::move(graph));
  const Aliases aliases(graph);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    TensorRecord& t = graph.tensors[i];
    if (t.role == Role::state) t.role = Role::variable;
    if (t.role != Role::variable || t.data.array() == nullptr) continue;
    if (!aliases.is_modified(static_cast<TensorId>(i))) t.role = Role::constant;
  }
  return schedule(without_dead_code(std::move(graph)));
}

/// Writes the tables of a program.
template <class List>
class StaticDraft {
 public:
  std::vector<StaticStep> steps{};
  std::vector<PlacedTensor> arguments{};
  std::vector<StaticSignature> signatures{};
  std::vector<std::int64_t> extents{};
  std::vector<kernel::BroadcastInput> broadcasts{};
  std::vector<StaticPort> inputs{}, outputs{}, variables{};
  std::vector<std::byte> data{};
  std::int64_t arena_bytes = 0, variable_bytes = 0;
  bool has_all_operators = true, fits = true;

  constexpr explicit StaticDraft(Program program)
      : program_(std::move(program)), place_of_(program_.graph, -1) {
    const Graph& graph = program_.graph;
    arena_bytes = aligned_bytes(program_.arena_bytes);
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const TensorRecord& t = graph.tensors[i];
      if (!is_variable(t)) continue;
      const auto id = static_cast<TensorId>(i);
      StaticPort port = this->port(id);
      port.place = StaticPlace::variable;
      port.offset = place_of_[id] = variable_bytes;
      variable_bytes += aligned_bytes(t.info.bytes());
      port.array = t.data.array();
      if (port.array == nullptr && t.data.size() != 0) port.data = add_data(t.data);
      variables.push_back(port);
    }
    for (const Program::Argument& a : program_.arguments) arguments.push_back(argument(a));
    for (const TensorId id : graph.inputs) inputs.push_back(port(id));
    for (const Program::Argument& a : program_.outputs) {
      StaticPort port = this->port(a.tensor);
      const PlacedTensor at = argument(a);
      port.place = at.place;
      port.offset = at.offset;
      port.array = at.array;
      outputs.push_back(port);
    }
    for (const Program::Step& step : program_.steps) add_step(step);
  }

 private:
  constexpr StaticPort port(TensorId id) const {
    const TensorRecord& t = program_.graph.tensor(id);
    StaticPort port{.info = t.info, .initial = t.initial};
    port.name.assign(program_.graph.name(id));
    if (!is_variable(t) || t.data.size() != 0) return port;
    const Bytes bytes = scalar_bytes(t.info.type, t.initial.a);
    for (std::size_t i = 0; i < bytes.size(); ++i) port.element[i] = bytes.span()[i];
    return port;
  }
  constexpr std::int64_t add_data(const Bytes& bytes) {
    const auto at = static_cast<std::int64_t>(data.size());
    for (const std::byte b : bytes.span()) data.push_back(b);
    const auto size = static_cast<std::int64_t>(data.size());
    data.resize(static_cast<std::size_t>(aligned_bytes(size)), std::byte{0});
    return at;
  }
  constexpr PlacedTensor argument(const Program::Argument& a) {
    PlacedTensor result{.number = a.number};
    if (a.place == Program::Place::absent) return result;
    const TensorInfo& info = program_.graph.info(a.tensor);
    result.rank = static_cast<std::uint8_t>(info.rank());
    result.type = info.type;
    result.extents = static_cast<std::uint32_t>(extents.size());
    for (const std::int64_t extent : info.shape) extents.push_back(extent);
    if (a.place == Program::Place::input) {
      result.place = StaticPlace::input;
    } else if (a.place == Program::Place::buffer) {
      result.place = StaticPlace::arena;
      result.offset = program_.buffers[static_cast<std::size_t>(a.number)].offset;
    } else {
      place_weight(result, a.number);
    }
    return result;
  }
  constexpr void place_weight(PlacedTensor& result, TensorId id) {
    const TensorRecord& t = program_.graph.tensor(id);
    if (is_variable(t)) {
      result.place = StaticPlace::variable;
      result.offset = place_of_[id];
    } else if (t.data.array() != nullptr) {
      result.place = StaticPlace::array;
      result.array = t.data.array();
    } else {
      if (place_of_[id] < 0) place_of_[id] = add_data(t.data);
      result.place = StaticPlace::data;
      result.offset = place_of_[id];
      // Axes and the like, which the size of scratch memory may follow from.
      if (t.info.type != ElementType::int64) return;
      result.values = static_cast<std::int32_t>(extents.size());
      const InputInfo value = input_info(program_.graph, id);
      for (const std::int64_t v : Inputs({&value, 1}, 0).integers(0)) extents.push_back(v);
    }
  }

  constexpr const TensorInfo& info(const Program::Argument& a) const {
    return program_.graph.info(a.tensor);
  }

  constexpr void add_step(const Program::Step& step) {
    const std::span<const Program::Argument> all = program_.of(step);
    StaticStep result{.inputs = static_cast<std::uint8_t>(step.inputs),
                      .outputs = static_cast<std::uint8_t>(step.outputs),
                      .first = step.first};
    if (step.outputs != 0 && all[step.inputs].place != Program::Place::absent) {
      result.elements = info(all[step.inputs]).elements();
    }
    StaticSignature signature;
    if (step.kind == Program::Kind::copy) {
      result.elements = info(all[step.inputs]).bytes();
    } else {
      const Node& node = program_.graph.nodes[static_cast<std::size_t>(step.node)];
      signature.op = List::find(node.op->id);
      has_all_operators = has_all_operators && signature.op >= 0;
      fits = fits && node.attributes.size() <= StaticSignature::max_words &&
             node.op->signature.type_variables() <= StaticSignature::max_types;
      if (!fits) return;
      for (const Word word : node.attributes) signature.words[signature.word_count++] = word;
      add_types(signature, *node.op, step);
      if (node.op->elementwise) add_broadcasts(result, step);
      if (is_small(node, result, step)) {
        signature.extents_of = static_cast<std::int32_t>(steps.size());
      }
    }
    result.kernel = find_or_add(signature, step);
    steps.push_back(result);
  }

  constexpr void add_types(StaticSignature& signature, const Descriptor& op,
                           const Program::Step& step) const {
    const std::span<const Program::Argument> all = program_.of(step);
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
    const std::span<const Program::Argument> all = program_.of(step);
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

  constexpr bool is_small(const Node& node, const StaticStep& result,
                          const Program::Step& step) const {
    const std::span<const Program::Argument> all = program_.of(step);
    if (node.op->elementwise) return result.elements <= small_elements && result.broadcast < 0;
    if (node.op->id != op::MatMul::id) return false;
    const TensorInfo &a = info(all[0]), &b = info(all[1]);
    return a.type == ElementType::float32 && a.rank() == 2 && b.rank() == 2 &&
           result.elements * b.shape[0] <= small_product && a.shape[1] != 0;
  }

  /// Whether two steps have arguments of the same extents.
  constexpr bool have_same_extents(std::int32_t other, const Program::Step& step) const {
    const StaticStep& known = steps[static_cast<std::size_t>(other)];
    if (known.inputs != step.inputs || known.outputs != step.outputs) return false;
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
  constexpr std::uint16_t find_or_add(const StaticSignature& wanted, const Program::Step& step) {
    for (std::size_t k = 0; k < signatures.size(); ++k) {
      const StaticSignature& s = signatures[k];
      if (s.op != wanted.op || s.types != wanted.types || s.word_count != wanted.word_count ||
          s.words != wanted.words || (s.extents_of < 0) != (wanted.extents_of < 0)) {
        continue;
      }
      if (s.extents_of >= 0 && !have_same_extents(s.extents_of, step)) continue;
      return static_cast<std::uint16_t>(k);
    }
    signatures.push_back(wanted);
    return static_cast<std::uint16_t>(signatures.size() - 1);
  }

  Program program_;
  TensorMap<std::int64_t> place_of_;  // of variables and constants
};

/// The tables of a model's program. Made twice: once for their sizes.
template <class Model, class List>
struct StaticPlan {
  using Build = StaticBuild<Model, List>;
  static constexpr StaticDraft<List> draft() {
    return StaticDraft<List>(make_program(lowered(Build::graph())));
  }

  struct Sizes {
    NotStatic reason{};  ///< none, else the rest is not there
    std::size_t steps{}, arguments{}, signatures{}, extents{}, broadcasts{}, inputs{}, outputs{},
        variables{}, data{};
    std::int64_t arena_bytes{}, variable_bytes{};
    bool has_all_operators = true, fits = true;
  };
  static constexpr Sizes sizes = [] {
    if (!Build::found.has_all) return Sizes{.has_all_operators = false};
    const Graph graph = lowered(Build::graph());
    if (const NotStatic reason = why_not_static(graph); reason != NotStatic::none) {
      return Sizes{.reason = reason};
    }
    const StaticDraft<List> d(make_program(graph));
    return Sizes{NotStatic::none,     d.steps.size(),
                 d.arguments.size(),  d.signatures.size(),
                 d.extents.size(),    d.broadcasts.size(),
                 d.inputs.size(),     d.outputs.size(),
                 d.variables.size(),  d.data.size(),
                 d.arena_bytes,       d.variable_bytes,
                 d.has_all_operators, d.fits};
  }();

  struct Tables {
    std::array<StaticStep, sizes.steps> steps{};
    std::array<PlacedTensor, sizes.arguments> arguments{};
    std::array<StaticSignature, sizes.signatures> signatures{};
    std::array<std::int64_t, sizes.extents + 1> extents{};
    std::array<kernel::BroadcastInput, sizes.broadcasts> broadcasts{};
    std::array<StaticPort, sizes.inputs> inputs{};
    std::array<StaticPort, sizes.outputs> outputs{};
    std::array<StaticPort, sizes.variables> variables{};
    alignas(64) std::array<std::byte, sizes.data + 1> data{};
  };
  static constexpr Tables tables = [] {
    if (sizes.reason != NotStatic::none || !sizes.has_all_operators) return Tables{};
    const StaticDraft<List> d = draft();
    Tables t;
    const auto copy = [](const auto& from, auto& to) {
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i];
    };
    copy(d.steps, t.steps);
    copy(d.arguments, t.arguments);
    copy(d.signatures, t.signatures);
    copy(d.extents, t.extents);
    copy(d.broadcasts, t.broadcasts);
    copy(d.inputs, t.inputs);
    copy(d.outputs, t.outputs);
    copy(d.variables, t.variables);
    copy(d.data, t.data);
    return t;
  }();

  // What programs have of it at run time, each for itself: nothing that is not used.
  static constexpr auto steps = tables.steps;
  static constexpr auto arguments = tables.arguments;
  static constexpr auto extents = tables.extents;
  static constexpr auto broadcasts = tables.broadcasts;
  static constexpr auto inputs = tables.inputs;
  static constexpr auto outputs = tables.outputs;
  static constexpr auto variables = tables.variables;
  alignas(64) static constexpr auto data = tables.data;
};

}  // namespace halftone::detail
