#include "cli/spreading.hpp"

#include <string>

#include <halftone/base/error.hpp>

#include "base/describe.hpp"

namespace halftone::cli {

Recomputation parse_recomputation(std::string_view name) {
  constexpr std::string_view names[] = {"none", "standard", "norm_only", "all", "pipeline"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (name == names[i]) return static_cast<Recomputation>(i);
  }
  fail(ErrorKind::usage, {.what = "there is no recomputation of that name",
                          .expected = "none, standard, norm_only, all or pipeline",
                          .found = detail::quoted(name)});
}

}  // namespace halftone::cli
