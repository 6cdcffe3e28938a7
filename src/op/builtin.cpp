#include "op/builtin.hpp"

#include <halftone/op/list.hpp>

namespace halftone {

OperatorTable builtin_operators() { return builtin::table; }

}  // namespace halftone
