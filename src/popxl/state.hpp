#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <popxl/ir.hpp>

namespace popxl::detail {

struct GraphState {
  halftone::Graph graph;
  std::string id, name;
  std::vector<std::size_t> by_ref;  ///< numbers of inputs
  std::vector<GraphState*> called;
  std::vector<std::pair<int, Graph::Hook>> hooks;
};

/// A variable that is in a file.
struct MappedVariable {
  halftone::TensorId id = halftone::no_tensor;
  Memmap file;
  std::span<std::byte> bytes;
};

struct IrState {
  int id = 0;
  std::int64_t host_transfers = 1;
  int subgraphs = 0;
  bool is_taken = false;                            ///< by a session
  std::vector<std::unique_ptr<GraphState>> graphs;  ///< the main one first
  std::vector<MappedVariable> mapped;
  std::vector<std::string> dot_checks;
  std::string dot_folder;

  GraphState& main() { return *graphs.front(); }
  /// Throws a RuntimeError if a session has taken the Ir.
  void must_be_open(std::string_view what) const;
};

/// Makes a graph with a name that is unique in its Ir.
Graph add_graph(const std::shared_ptr<IrState>& ir, std::string_view base);
/// Makes the graph of a gradient: "layer_subgraph(0)_bwd", with a number if there is one already.
Graph add_backward(const Ir& ir, const Graph& forward);
/// Writes a variable's value to its file.
void write_back(const MappedVariable& variable, std::span<const std::byte> value);
/// Throws a ValueError unless a tensor is of that graph.
void must_be_in(const Graph& graph, const AnyTensor& tensor, std::string_view what);

}  // namespace popxl::detail
