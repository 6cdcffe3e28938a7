#pragma once

#include <cstdio>
#include <span>
#include <string>

#include <popxl/popxl.hpp>

template <std::int64_t... D>
using F = popxl::Tensor<float, popxl::Shape<D...>>;
using Number = F<>;

/// Prints numbers behind a name.
template <class T>
void show(const char* name, std::span<const T> values) {
  std::printf("  %s", name);
  for (const T value : values) std::printf(" %g", static_cast<double>(value));
  std::printf("\n");
}
template <class T>
void show(const char* name, const popxl::Array<T>& values) {
  show(name, values.values());
}

/// The programs of PopXL's user guide, by its names.
namespace programs {
void simple_addition();
void tensor_addition();
void basic_graph();
void create_multi_graphs_from_same_func();
void multi_callsites_of_a_graph();
void call_with_info();
void repeat_graph_0();
void repeat_graph_1();
void repeat_graph_2();
void in_sequence();
void autodiff();
void nested_session_contexts();
void tensor_get_write();
void tensor_get_write_adv();
void replication();
void remote_variable();
void remote_variable_replica_grouped();
void rts_var();
void remote_rts_var();
void leaky_relu();
void code_loading();
void code_loading_nested();
void float8_inference();
void distributed_simple_example();
void distributed_rts_simple_example();
void distributed_rts_simple_example_manual_remote_buffer();
void distributed_rts_complex_example();
void mnist(const std::string& csv);
}  // namespace programs
