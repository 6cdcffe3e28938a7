// The programs of PopXL's user guide in C++, with the results that it documents.
//
//   popxl [PROGRAM...]
//
// The program runs all of them if it gets no names. mnist reads examples/digits/digits.csv.
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
constexpr Program all[] = {
    {"simple_addition", programs::simple_addition},
    {"tensor_addition", programs::tensor_addition},
    {"basic_graph", programs::basic_graph},
    {"create_multi_graphs_from_same_func", programs::create_multi_graphs_from_same_func},
    {"multi_callsites_of_a_graph", programs::multi_callsites_of_a_graph},
    {"call_with_info", programs::call_with_info},
    {"repeat_graph_0", programs::repeat_graph_0},
    {"repeat_graph_1", programs::repeat_graph_1},
    {"repeat_graph_2", programs::repeat_graph_2},
    {"in_sequence", programs::in_sequence},
    {"autodiff", programs::autodiff},
    {"nested_session_contexts", programs::nested_session_contexts},
    {"tensor_get_write", programs::tensor_get_write},
    {"tensor_get_write_adv", programs::tensor_get_write_adv},
    {"replication", programs::replication},
    {"remote_variable", programs::remote_variable},
    {"remote_variable_replica_grouped", programs::remote_variable_replica_grouped},
    {"rts_var", programs::rts_var},
    {"remote_rts_var", programs::remote_rts_var},
    {"leaky_relu", programs::leaky_relu},
    {"code_loading", programs::code_loading},
    {"code_loading_nested", programs::code_loading_nested},
    {"float8_inference", programs::float8_inference},
    {"distributed_simple_example", programs::distributed_simple_example},
    {"distributed_rts_simple_example", programs::distributed_rts_simple_example},
    {"distributed_rts_simple_example_manual_remote_buffer",
     programs::distributed_rts_simple_example_manual_remote_buffer},
    {"distributed_rts_complex_example", programs::distributed_rts_complex_example},
    {"mnist", [] { programs::mnist("examples/digits/digits.csv"); }},
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
      if (std::any_of(std::begin(all), std::end(all), has_name)) continue;
      std::printf("there is no program '%s'\n", names[i]);
      return 2;
    }
    for (const Program& program : all) {
      if (!is_wanted(program.name, count, names)) continue;
      std::printf("%s\n", program.name);
      program.run();
    }
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}
