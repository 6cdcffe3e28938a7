#pragma once

#include <cstring>

#include "bind.hpp"

namespace halftone {

/// Copies between memory that may be null if there are no bytes.
inline void copy_bytes(void* to, const void* from, std::int64_t bytes) {
  if (bytes != 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// Runs the steps of a program in their order.
void run(Bound& bound);

/// Steps that are no node's own kernel. `call.op` is the TensorInfo of what is copied, the
/// Bound::Control or the Bound::Foreign. See also passes.hpp and late.hpp.
void run_copy(const KernelCall& call);
void run_branch(const KernelCall& call);
void run_call(const KernelCall& call);
void run_parts(const KernelCall& call);
void run_foreign(const KernelCall& call);

}  // namespace halftone
