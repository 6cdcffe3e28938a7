#include "base/describe.hpp"

namespace halftone::detail {

std::string list_of(std::span<const std::string_view> names) {
  constexpr std::size_t most = 24;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    text += (i == 0 ? "" : ", ") + quoted(names[i]);
  }
  return text + (names.size() > most ? ", ..." : "");
}

std::string name_of(const Graph& graph, TensorId id) {
  if (id == no_tensor) return "-";
  return graph.name(id).empty() ? "#" + std::to_string(id) : escaped(graph.name(id));
}

}  // namespace halftone::detail
