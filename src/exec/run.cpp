#include "run.hpp"

#include <chrono>
#include <cstring>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "run_node.hpp"

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
    if (to != nullptr) copy_bytes(to, result.data, result.info.bytes());
  }
}

}  // namespace

void run_copy(const KernelCall& call) {
  copy_bytes(call.arguments[call.inputs].data, call.arguments[0].data,
             static_cast<const TensorInfo*>(call.op)->bytes());
}

void run_branch(const KernelCall& call) {
  const bool condition = truth(call.arguments[0].data);
  run_body(*static_cast<const Bound::Control*>(call.op)->bodies[condition ? 0 : 1], call, 1);
}

void run_call(const KernelCall& call) {
  run_body(*static_cast<const Bound::Control*>(call.op)->bodies[0], call, 0);
}

void run_parts(const KernelCall& call) {
  const Bound::Control& control = *static_cast<const Bound::Control*>(call.op);
  Bound& body = *control.bodies[0];
  for (std::int64_t part = 0; part < control.parts; ++part) {
    const auto at = [&](std::uint32_t argument) {
      return static_cast<std::byte*>(call.arguments[argument].data) +
             part * control.part_bytes[argument];
    };
    for (std::uint32_t i = 0; i < call.inputs; ++i) body.set_input(i, at(i));
    for (std::uint32_t o = 0; o < call.outputs; ++o) body.set_output(o, at(call.inputs + o));
    run(body);
    for (std::uint32_t o = 0; o < call.outputs; ++o) body.give_output(o, at(call.inputs + o));
  }
}

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
      copy_bytes(to, results[o].data(), static_cast<std::int64_t>(results[o].bytes()));
    }
  }
}

void run(Bound& bound) {
  std::size_t at = 0;
  const std::size_t end = bound.steps.size();
  const auto run_step = [&] { bound.steps[at].run(bound.steps[at].call); };
  try {
    if (bound.options.stop_at_nan) {
      for (; at < end; ++at) {
        run_step();
        check_numbers(bound, at);
      }
    } else if (bound.measured != nullptr) {
      for (; at < end; ++at) {
        const auto start = std::chrono::steady_clock::now();
        run_step();
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        bound.times[at].seconds += seconds;
        bound.times[at].idle += bound.measured->take_idle(seconds);
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
