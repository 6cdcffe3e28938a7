#pragma once

#include <any>

namespace popart {

/// The names under which PopART's headers have it.
using std::any;
using std::any_cast;
using std::bad_any_cast;

}  // namespace popart
