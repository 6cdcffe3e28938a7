// What runs on the emulated IPU is the program that is printed: the same steps in the same order,
// tensors of the same size, alive at the same time.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/program/program.hpp>

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

/// Every tensor that has a buffer of the program to itself has a variable of its size, which lives
/// while its operations run.
void check_sizes_and_lifetimes(const Program& program, const ipu::Report& report) {
  std::map<std::string, const ipu::Variable*> variables;
  for (const ipu::Variable& v : report.variables) variables.emplace(v.name, &v);
  const Uses uses(program.graph);
  int checked = 0;
  for (std::size_t i = 0; i < program.graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const std::string name(program.graph.name(id));
    if (name.empty() || !variables.contains(name)) continue;
    const ipu::Variable& v = *variables[name];
    CAPTURE(name);
    CHECK(v.bytes() == program.graph.info(id).bytes());
    ++checked;
    if (v.is_always_live || uses.producer[id] < 0) continue;
    const auto producer = static_cast<std::size_t>(uses.producer[id]);
    CHECK(v.first_step >= report.operations[producer].first_step);
    CHECK(v.first_step <= report.operations[producer].end_step);
  }
  CHECK(checked > 0);
}

}  // namespace

TEST_CASE("ipu: a profile is of the program that is printed") {
  const Graph graphs[] = {test::lenet(),       test::encoder_layer(), networks::resnet50(),
                          networks::alexnet(), networks::mobilenet(), networks::encoder(1, 32, 2),
                          networks::decoder(), networks::lstm(4, 8),  networks::mlp()};
  int number = 0;
  for (const Graph& graph : graphs) {
    CAPTURE(number++);
    const ipu::ProfileOptions options{.allow_out_of_memory = true};
    const Program program = ipu::program_for(graph, options);
    const ipu::Report report = ipu::profile(graph, ipu::gc200, options);
    check_order(program, report);
    check_sizes_and_lifetimes(program, report);
  }
}
