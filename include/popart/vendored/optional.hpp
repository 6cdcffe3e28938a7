#pragma once

#include <optional>

/// The name under which PopART's headers have it.
namespace nonstd {
using std::bad_optional_access;
using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
}  // namespace nonstd
