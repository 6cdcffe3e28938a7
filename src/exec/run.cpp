#include "run.hpp"

#include <chrono>
#include <cstring>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"

namespace halftone {
namespace {

bool has_nan(const TensorInfo& info, const void* data) {
  bool found = false;
  visit_type<FloatTypes>(info.type, [&]<class T>() {
    const T* values = static_cast<const T*>(data);
    for (std::int64_t i = 0, n = info.elements(); i < n && !found; ++i) {
      const auto x = static_cast<double>(values[i]);
      found = x != x;
    }
  });
  return found;
}

/// Throws if a step has put something that is not a number into one of its outputs.
void check_numbers(const Bound& bound, std::size_t number) {
  const Program::Step& step = bound.program.steps[number];
  if (step.kind == Program::Kind::copy) return;
  const Graph& graph = bound.program.graph;
  const std::span<const Program::Argument> arguments = bound.program.of(step);
  const auto holds_nan = [&](std::size_t i) {
    return arguments[i].tensor != no_tensor &&
           has_nan(graph.info(arguments[i].tensor), bound.arguments[step.first + i].data);
  };
  for (std::size_t o = step.inputs; o < arguments.size(); ++o) {
    if (!holds_nan(o)) continue;
    // What came with it into the run is to blame.
    TensorId first = arguments[o].tensor;
    for (std::size_t i = 0; i < step.inputs; ++i) {
      const TensorId x = arguments[i].tensor;
      if (x == no_tensor || graph.tensor(x).role == Role::value || !holds_nan(i)) continue;
      first = x;
      break;
    }
    const Node& node = graph.nodes[static_cast<std::size_t>(step.node)];
    const std::string where = detail::node_text(*node.op, graph.name(node));
    throw NotANumberError({.what = "a tensor holds something that is not a number",
                           .node = where,
                           .tensor = graph.name(first),
                           .hint = "it is the first one of the run"});
  }
}

void copy(void* to, const void* from, std::int64_t bytes) {
  if (bytes != 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

bool truth(const void* data) { return *static_cast<const bool*>(data); }

/// Runs a body with a node's inputs from number `first` on.
void run_body(Bound& body, const KernelCall& call, std::uint32_t first) {
  for (std::uint32_t i = first; i < call.inputs; ++i) {
    body.set_input(i - first, call.arguments[i].data);
  }
  run(body);
  for (std::uint32_t o = 0; o < call.outputs; ++o) {
    const AnyView result = body.output(o);
    void* to = call.arguments[call.inputs + o].data;
    if (to != nullptr) copy(to, result.data, result.info.bytes());
  }
}

using Stack = Repetition::Stack;

/// The passes of a Loop or Scan.
class Passes {
 public:
  explicit Passes(const KernelCall& call)
      : call_(call),
        repetition_(*static_cast<const Bound::Control*>(call.op)->repetition),
        body_(*static_cast<const Bound::Control*>(call.op)->bodies[0]) {}

  void run() {
    std::int64_t most = repetition_.scanned.empty() ? INT64_MAX : repetition_.scanned[0].length;
    bool goes_on = true, has_condition = false;
    std::int64_t pass = 0;
    std::int32_t narrow_pass = 0;
    if (repetition_.is_loop) {
      most = most_passes(repetition_.count_type, input(0));
      has_condition = input(1) != nullptr;
      if (has_condition) goes_on = truth(input(1));
      const Graph& graph = body_.program.graph;
      const bool is_narrow = graph.info(graph.inputs[0]).type == ElementType::int32;
      body_.set_input(0, is_narrow ? static_cast<const void*>(&narrow_pass) : &pass);
    }
    for (std::size_t i = 0; i < repetition_.states.size(); ++i) {
      body_.set_input(body_state(i), first_value(i));
    }
    for (; pass < most && goes_on; ++pass) {
      narrow_pass = static_cast<std::int32_t>(pass);
      cut_slices(pass);
      halftone::run(body_);
      if (has_condition) goes_on = truth(body_.output(0).data);
      keep_states();
      stack_slices(pass);
    }
    for (std::size_t i = 0; i < repetition_.states.size(); ++i) {
      const Repetition::State& state = repetition_.states[i];
      const bool is_first = pass == 0 || state.result == Repetition::none;
      if (is_first && output(i) != nullptr) copy(output(i), first_value(i), state.bytes);
    }
  }

 private:
  const std::byte* input(std::size_t i) const {
    return i < call_.inputs ? static_cast<const std::byte*>(call_.arguments[i].data) : nullptr;
  }
  std::byte* output(std::size_t i) const {
    return i < call_.outputs ? static_cast<std::byte*>(call_.arguments[call_.inputs + i].data)
                             : nullptr;
  }
  const std::byte* first_value(std::size_t state) const {
    return input(static_cast<std::size_t>(repetition_.first_state) + state);
  }
  std::size_t body_state(std::size_t state) const {
    return static_cast<std::size_t>(repetition_.body_state) + state;
  }
  const std::byte* result(std::int32_t number) const {
    return static_cast<const std::byte*>(body_.output(static_cast<std::size_t>(number)).data);
  }
  std::byte* memory(std::int64_t offset) const {
    return static_cast<std::byte*>(call_.workspace) + offset;
  }

  void cut_slices(std::int64_t pass) {
    for (std::size_t i = 0; i < repetition_.scanned.size(); ++i) {
      const Stack& x = repetition_.scanned[i];
      const std::size_t number = repetition_.states.size() + i;
      const std::byte* slice = first_value(number);
      if (x.memory == Repetition::none) {
        slice += x.at(pass) * x.inner_bytes;
      } else {
        take_slice(x, slice, pass, memory(x.memory));
        slice = memory(x.memory);
      }
      body_.set_input(body_state(number), slice);
    }
  }
  void keep_states() {
    for (std::size_t i = 0; i < repetition_.states.size(); ++i) {
      const Repetition::State& state = repetition_.states[i];
      if (state.result == Repetition::none) continue;
      std::byte* to = state.memory == Repetition::none ? output(i) : memory(state.memory);
      copy(to, result(state.result), state.bytes);
      body_.set_input(body_state(i), to);
    }
  }
  void stack_slices(std::int64_t pass) {
    for (std::size_t i = 0; i < repetition_.stacked.size(); ++i) {
      const Stack& y = repetition_.stacked[i];
      if (y.result == Repetition::none || pass >= y.length) continue;
      put_slice(y, output(repetition_.states.size() + i), pass, result(y.result));
    }
  }

  const KernelCall& call_;
  const Repetition& repetition_;
  Bound& body_;
};

}  // namespace

std::int64_t most_passes(ElementType type, const void* data) {
  if (data == nullptr) return INT64_MAX;
  if (type == ElementType::int32) return *static_cast<const std::int32_t*>(data);
  return *static_cast<const std::int64_t*>(data);
}

namespace {

/// Calls f(offset in the whole, offset in the slice) for each run of bytes of a pass's slice.
void for_each_run(const Repetition::Stack& stack, std::int64_t pass, auto&& f) {
  for (std::int64_t o = 0; o < stack.outer; ++o) {
    f((o * stack.length + stack.at(pass)) * stack.inner_bytes, o * stack.inner_bytes);
  }
}

}  // namespace

void take_slice(const Repetition::Stack& stack, const void* whole, std::int64_t pass, void* slice) {
  for_each_run(stack, pass, [&](std::int64_t from, std::int64_t to) {
    copy(static_cast<std::byte*>(slice) + to, static_cast<const std::byte*>(whole) + from,
         stack.inner_bytes);
  });
}

void put_slice(const Repetition::Stack& stack, void* whole, std::int64_t pass, const void* slice) {
  for_each_run(stack, pass, [&](std::int64_t to, std::int64_t from) {
    copy(static_cast<std::byte*>(whole) + to, static_cast<const std::byte*>(slice) + from,
         stack.inner_bytes);
  });
}

void run_copy(const KernelCall& call) {
  copy(call.arguments[call.inputs].data, call.arguments[0].data,
       static_cast<const TensorInfo*>(call.op)->bytes());
}

void run_branch(const KernelCall& call) {
  const bool condition = truth(call.arguments[0].data);
  run_body(*static_cast<const Bound::Control*>(call.op)->bodies[condition ? 0 : 1], call, 1);
}

void run_call(const KernelCall& call) {
  run_body(*static_cast<const Bound::Control*>(call.op)->bodies[0], call, 0);
}

void run_repetition(const KernelCall& call) { Passes(call).run(); }

void run_foreign(const KernelCall& call) {
  const Bound::Foreign& foreign = *static_cast<const Bound::Foreign*>(call.op);
  const Graph& graph = foreign.program->graph;
  const std::span<const Program::Argument> arguments = foreign.program->of(*foreign.step);
  std::vector<AnyView> inputs;
  for (std::uint32_t i = 0; i < call.inputs; ++i) {
    const TensorId id = arguments[i].tensor;
    inputs.push_back(id == no_tensor ? AnyView{} : AnyView{graph.info(id), call.arguments[i].data});
  }
  const Node& node = graph.nodes[static_cast<std::size_t>(foreign.step->node)];
  const std::vector<AnyArray> results = foreign.runner->run(graph, node, inputs, *call.executor);
  for (std::uint32_t o = 0; o < call.outputs && o < results.size(); ++o) {
    void* to = call.arguments[call.inputs + o].data;
    if (to != nullptr) {
      copy(to, results[o].data(), static_cast<std::int64_t>(results[o].bytes()));
    }
  }
}

void run(Bound& bound, bool measure) {
  std::size_t at = 0;
  const std::size_t end = bound.steps.size();
  const auto run_step = [&] { bound.steps[at].run(bound.steps[at].call); };
  try {
    if (bound.stops_at_nan) {
      for (; at < end; ++at) {
        run_step();
        check_numbers(bound, at);
      }
    } else if (measure) {
      for (; at < end; ++at) {
        const auto start = std::chrono::steady_clock::now();
        run_step();
        bound.times[at].seconds +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      }
    } else {
      for (; at < end; ++at) run_step();
    }
  } catch (const Error& error) {
    const std::int32_t number = bound.program.steps[at].node;
    if (!error.node().empty() || number == Program::none) throw;
    const Graph& graph = bound.program.graph;
    throw_at(graph, graph.nodes[static_cast<std::size_t>(number)], error);
  }
}

}  // namespace halftone
