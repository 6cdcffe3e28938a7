#pragma once

#include <string>
#include <string_view>

#include <halftone/base/error.hpp>

namespace test {

/// The kind of the error that f() throws, and its text; "no error" if there is none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const halftone::Error& e) {
    return std::string(name(e.kind())) + ": " + e.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace test
