#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/base/describe.hpp>
#include <halftone/graph/describe.hpp>

// Further texts of what a model says, for the core alone.
namespace halftone::detail {

inline std::string_view text_of(const std::vector<char>& characters) {
  return {characters.data(), characters.size()};
}
/// "'a', 'b'"; not more names than a person reads.
std::string list_of(std::span<const std::string_view> names);
/// A tensor's name, or "#12" for one without; "-": there is none.
std::string name_of(const Graph& graph, TensorId id);

}  // namespace halftone::detail
