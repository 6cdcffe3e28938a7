#pragma once

#include <string_view>

#include "cli/commands.hpp"

namespace halftone::cli {

/// A Recomputation by its name. Throws UsageError, listing the names.
Recomputation parse_recomputation(std::string_view name);

}  // namespace halftone::cli
