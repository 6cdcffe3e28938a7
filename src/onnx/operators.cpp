#include "onnx/operators.hpp"

#include <halftone/op/list.hpp>

namespace halftone::onnx {

OperatorTable builtin_operators() { return builtin::table; }

}  // namespace halftone::onnx
