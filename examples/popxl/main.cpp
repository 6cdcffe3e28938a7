// The programs of PopXL's user guide in C++, with the results that it documents.
//
//   popxl [PROGRAM...]
//
// Without names it runs all of them. mnist reads examples/digits/digits.csv.
#include "programs.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>

namespace {
struct Program {
  const char* name;
  void (*run)();
};
constexpr Program programs[] = {
    {"simple_addition", simple_addition},
    {"tensor_addition", tensor_addition},
    {"basic_graph", basic_graph},
    {"create_multi_graphs_from_same_func", create_multi_graphs_from_same_func},
    {"multi_callsites_of_a_graph", multi_callsites_of_a_graph},
    {"call_with_info", call_with_info},
    {"repeat_graph_0", repeat_graph_0},
    {"repeat_graph_1", repeat_graph_1},
    {"repeat_graph_2", repeat_graph_2},
    {"in_sequence", in_sequence},
    {"autodiff", autodiff},
    {"nested_session_contexts", nested_session_contexts},
    {"tensor_get_write", tensor_get_write},
    {"tensor_get_write_adv", tensor_get_write_adv},
    {"replication", replication},
    {"remote_variable", remote_variable},
    {"remote_variable_replica_grouped", remote_variable_replica_grouped},
    {"rts_var", rts_var},
    {"remote_rts_var", remote_rts_var},
    {"leaky_relu", leaky_relu},
    {"mnist", [] { mnist("examples/digits/digits.csv"); }},
};

bool is_wanted(const char* name, int count, char** names) {
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(name, names[i]) == 0) return true;
  }
  return count == 1;
}
}  // namespace

int main(int count, char** names) {
  try {
    for (int i = 1; i < count; ++i) {
      const auto has_name = [&](const Program& p) { return std::strcmp(p.name, names[i]) == 0; };
      if (std::any_of(std::begin(programs), std::end(programs), has_name)) continue;
      std::printf("there is no program '%s'\n", names[i]);
      return 2;
    }
    for (const Program& program : programs) {
      if (!is_wanted(program.name, count, names)) continue;
      std::printf("%s\n", program.name);
      program.run();
    }
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}
