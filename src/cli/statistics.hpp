#pragma once

#include <cstdint>
#include <string>

#include <halftone/base/array.hpp>

namespace halftone::cli {

/// What a person wants to know about a tensor's values.
struct Statistics {
  std::int64_t elements = 0, not_a_number = 0;
  double min = 0, mean = 0, max = 0;  ///< of those that are numbers; 0 if there are none
};
Statistics statistics_of(AnyView tensor);

/// The first values: "0.5 -1 3 ...".
std::string first_values(AnyView tensor, std::int64_t most);

}  // namespace halftone::cli
