#pragma once

#include <concepts>
#include <string>

#include <halftone/base/error.hpp>

#include "contains.hpp"

namespace test {

/// The kind of the error that f() throws, and its text; "no error" if there is none. Others than E
/// go on.
template <class E = halftone::Error, std::invocable F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return std::string(name(e.kind())) + ": " + e.what();
  }
  return "no error";
}

}  // namespace test
