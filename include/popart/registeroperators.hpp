#pragma once

#include <halftone/graph/registry.hpp>

namespace popart {

/// From now on all builders and sessions of the process know these operators beside the library's, and
/// instead of those that have the same name: Builder::customOp adds them, with shapes that follow from
/// their inputs, and sessions run and train them. Of two with one name the one that was registered
/// last counts. It may be called at any time, from any thread.
///
///   namespace mine { using ops = halftone::builtin::with<LeakyRelu>; }
///   popart::registerOperators(mine::ops::table);
///
/// operators  a table that lives as long as the process, as those of operator lists do
/// see        examples/popart_operator; include/halftone/op for what an operator's struct has
void registerOperators(halftone::OperatorTable operators);

}  // namespace popart
