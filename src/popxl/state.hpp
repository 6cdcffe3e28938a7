#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <popxl/ir.hpp>

namespace popxl::detail {

/// Where the operator that makes a tensor runs; of a variable, the first one that reads it.
struct Place {
  int ipu = -1;
  bool is_known = false, on_io_tiles = false;
};

struct GraphState {
  halftone::Graph graph;
  std::string id, name;
  std::vector<std::size_t> by_ref;  ///< numbers of inputs
  std::vector<GraphState*> called;
  std::vector<std::pair<int, Graph::Hook>> hooks;
  std::vector<Place> places;  ///< of tensors, by id, as far as something says them
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

/// What the contexts say that are open: the innermost IPU, or -1, and whether the tiles are those for IO.
Place current_place();
/// The innermost op_debug_context; empty: there is none.
std::string_view current_debug_name();
/// The graph of the current Ir that a tensor is in; null if there is none.
GraphState* state_of(const AnyTensor& tensor);
/// Where a tensor is, as far as it is known.
Place place_of(const AnyTensor& tensor);

/// Numbers in another type, as the host casts them.
AnyArray converted(const AnyView& data, ElementType type);
/// 32 bits for 64.
ElementType downcast_type(ElementType type);
/// Makes a graph with a name that is unique in its Ir.
Graph add_graph(const std::shared_ptr<IrState>& ir, std::string_view base);
/// Makes the graph of a gradient: "layer_subgraph(0)_bwd", with a number if there is one already.
Graph add_backward(const Ir& ir, const Graph& forward);
/// The result of a function of the library, whose UsageError is a ValueError here.
template <class F>
auto as_value_error(F&& f, std::string_view tensor = {}) {
  try {
    return f();
  } catch (const halftone::UsageError& e) {
    throw ValueError({.what = e.reason(),
                      .tensor = tensor,
                      .expected = e.expected(),
                      .found = e.found(),
                      .hint = e.hint()});
  }
}
/// The handles of tensors of a graph.
std::vector<AnyTensor> handles(const Graph& graph, std::span<const halftone::TensorId> ids);
/// Throws a ValueError unless a tensor is of that graph.
void must_be_in(const Graph& graph, const AnyTensor& tensor, std::string_view what);

}  // namespace popxl::detail
