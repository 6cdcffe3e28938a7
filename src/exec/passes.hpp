#pragma once

#include <span>
#include <vector>

#include "bind.hpp"

namespace halftone {

struct Late;

/// Runs a Loop or Scan; `call.op` is its Bound::Control.
void run_repetition(const KernelCall& call);

/// The same for a late one; returns the node's outputs.
std::vector<AnyArray> run_late_passes(Late& late, std::span<const AnyView> inputs);

}  // namespace halftone
