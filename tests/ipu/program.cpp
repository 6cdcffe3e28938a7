// What runs on the emulated IPU is the program that is printed: the same steps in the same order,
// tensors of the same size, alive at the same time.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/program/program.hpp>

#include "../../bench/lattice.hpp"
#include "../../bench/networks.hpp"
#include "networks.hpp"

using namespace halftone;

namespace {

/// Names of a report's operations are made of nodes' names where nodes have them.
void check_order(const Program& program, const ipu::Report& report) {
  std::vector<std::string> expected, found;
  for (const Node& node : program.graph.nodes) expected.emplace_back(node.op->id.name);
  for (const ipu::Operation& operation : report.operations) {
    if (operation.program == 0) found.push_back(operation.type);
  }
  CHECK(found == expected);
}

/// The operations of the main program, which are its graph's nodes.
std::vector<std::int32_t> operations_of(const ipu::Report& report) {
  std::vector<std::int32_t> list;
  for (std::size_t o = 0; o < report.operations.size(); ++o) {
    if (report.operations[o].program == 0) list.push_back(static_cast<std::int32_t>(o));
  }
  return list;
}

/// The variables of the tensors of a graph; null: the tensor has no memory of its own. The outputs
/// of one node that have no names are told apart by their sizes.
TensorMap<const ipu::Variable*> variables_of(const Graph& graph, const ipu::Report& report) {
  std::map<std::pair<std::int32_t, std::string>, std::vector<const ipu::Variable*>> named;
  for (const ipu::Variable& v : report.variables) named[{v.operation, v.name}].push_back(&v);
  TensorMap<const ipu::Variable*> variables(graph, nullptr);
  const auto find = [&](TensorId id, std::int32_t operation, std::string name, bool is_alone) {
    if (id == no_tensor || graph.info(id).elements() == 0) return;
    if (!graph.name(id).empty()) name = graph.name(id);
    std::vector<const ipu::Variable*>& found = named[{operation, name}];
    const auto at = std::find_if(found.begin(), found.end(), [&](const ipu::Variable* v) {
      return is_alone || v->bytes() == graph.info(id).bytes();
    });
    if (at == found.end()) return;
    variables[id] = *at;
    found.erase(at);
  };
  for (const TensorId id : graph.inputs) find(id, -1, {}, true);
  const std::vector<std::int32_t> operations = operations_of(report);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::string& name = report.operations[static_cast<std::size_t>(operations[n])].name;
    const std::vector<TensorId>& outputs = graph.nodes[n].outputs;
    for (const TensorId id : outputs) find(id, operations[n], name + ":0", outputs.size() == 1);
  }
  return variables;
}

/// The steps of the program that write each tensor and that need it last. The tensors of a buffer
/// follow each other: each is needed until the next one is written, the last one until the buffer
/// ends.
struct Lives {
  TensorMap<std::int32_t> first, last;
  explicit Lives(const Program& p) : first(p.graph, Program::none), last(p.graph, 0) {
    std::map<std::int32_t, TensorId> holders;
    for (std::size_t s = 0; s < p.steps.size(); ++s) {
      const auto step = static_cast<std::int32_t>(s);
      std::size_t i = 0;
      for (const Program::Argument& a : p.of(p.steps[s])) {
        const bool is_output = i++ >= p.steps[s].inputs;
        if (a.place == Program::Place::input) last[p.graph.inputs[index(a.number)]] = step;
        if (a.place != Program::Place::buffer || !is_output) continue;
        if (holders.contains(a.number)) last[holders[a.number]] = step;
        holders[a.number] = a.tensor;
        first[a.tensor] = step;
        last[a.tensor] = p.buffers[index(a.number)].last;
      }
    }
  }
  static std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }
};

/// A tensor without memory of its own lies in an input's: the one that the program says, or it is a
/// view where the program copies. Then that input lives as long.
void extend_lives(const Graph& graph, const TensorMap<const ipu::Variable*>& variables,
                  Lives& lives) {
  const Buffers buffers(graph);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    for (const TensorId y : node.outputs) {
      if (y == no_tensor || buffers.root[y] != y || variables[y] != nullptr) continue;
      std::vector<TensorId> bases;
      for (const TensorId x : node.inputs) {
        if (x != no_tensor && buffers.of(x) == buffers.of(y)) bases.push_back(x);
      }
      if (bases.empty()) bases = node.inputs;
      if (node.op->id != op::Concat::id) bases.resize(std::min<std::size_t>(bases.size(), 1));
      for (const TensorId x : bases) {
        std::int32_t& last = lives.last[buffers.root[x]];
        last = std::max(last, lives.last[y]);
      }
    }
  }
}

/// Every tensor has a variable of its size, whose life begins in the operation that writes it and
/// ends with the operation at which the program ends it.
void check_sizes_and_lifetimes(const Program& program, const ipu::Report& report) {
  const Graph& graph = program.graph;
  const std::vector<std::int32_t> operations = operations_of(report);
  REQUIRE(operations.size() == graph.nodes.size());
  const TensorMap<const ipu::Variable*> variables = variables_of(graph, report);
  Lives lives(program);
  extend_lives(graph, variables, lives);
  const auto operation_at = [&](std::int32_t step) -> const ipu::Operation* {
    if (step >= static_cast<std::int32_t>(program.steps.size())) return nullptr;
    const std::int32_t node = program.steps[Lives::index(step)].node;
    if (node == Program::none) return nullptr;
    return &report.operations[Lives::index(operations[Lives::index(node)])];
  };
  std::size_t checked = 0;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    if (variables[id] == nullptr) continue;
    const ipu::Variable& v = *variables[id];
    CAPTURE(v.name);
    CHECK(v.bytes() == graph.info(id).bytes());
    CHECK(!v.is_always_live);
    ++checked;
    if (lives.first[id] != Program::none) {
      const ipu::Operation* first = operation_at(lives.first[id]);
      REQUIRE(first != nullptr);
      CHECK(v.first_step >= first->first_step);
      CHECK(v.first_step < first->end_step);
    }
    const ipu::Operation* last = operation_at(lives.last[id]);
    // Outputs stay until the host has all of them.
    CHECK(v.last_step ==
          (last != nullptr ? last->end_step : static_cast<std::int32_t>(report.steps.size())) - 1);
  }
  CHECK(checked >= graph.inputs.size() + graph.outputs.size());
}

/// The profile of a graph on one machine against its program.
void check_profile(const Graph& graph) {
  const ipu::ProfileOptions options{.allow_out_of_memory = true};
  const Program program = ipu::program_for(graph, options);
  const ipu::Report report = ipu::profile(graph, ipu::gc200, options);
  check_order(program, report);
  check_sizes_and_lifetimes(program, report);
}

}  // namespace

TEST_CASE("ipu: a profile is of the program that is printed") {
  const Graph graphs[] = {test::lenet(),
                          test::encoder_layer(),
                          networks::resnet50(),
                          networks::alexnet(),
                          networks::mobilenet(),
                          networks::encoder(1, 32, 2),
                          networks::decoder(),
                          networks::lstm(4, 8),
                          networks::mlp(),
                          networks::lenet(4),
                          networks::resnet18(),
                          networks::classifier(1, 32),
                          networks::small_gpt(1, 64, 2),
                          lattice_program()};
  int number = 0;
  for (const Graph& graph : graphs) {
    CAPTURE(number);
    ++number;
    check_profile(graph);
  }
}

TEST_CASE("ipu: a profile of a training step is of the program that is printed") {
  const Graph graphs[] = {networks::mlp(),
                          networks::lenet(4),
                          networks::resnet18(),
                          networks::lstm(4, 8),
                          networks::classifier(1, 32),
                          networks::in_half(networks::small_gpt(1, 64, 2))};
  int number = 0;
  for (const Graph& graph : graphs) {
    CAPTURE(number);
    ++number;
    check_profile(networks::training(graph));
  }
}
