#pragma once

#include <utility>
#include <vector>

#include <halftone/base/array.hpp>

namespace halftone::op {

/// The outputs of an operator that has one.
inline std::vector<AnyArray> one_output(AnyArray array) {
  std::vector<AnyArray> list;
  list.push_back(std::move(array));
  return list;
}

}  // namespace halftone::op
