#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace popart {

/// Types of the attributes of operators.
class Attributes {
 public:
  using Int = int64_t;
  using Ints = std::vector<int64_t>;
  using Float = float;
  using Floats = std::vector<float>;
  using String = std::string;
  using Strings = std::vector<std::string>;
};

}  // namespace popart
