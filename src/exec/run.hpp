#pragma once

#include "bind.hpp"

namespace halftone {

/// Runs the steps of a program in their order; `measure` adds to Bound::times.
void run(Bound& bound, bool measure = false);

/// Steps that are no node's own kernel. `call.op` is the TensorInfo of what is copied, the
/// Bound::Control or the Bound::Foreign.
void run_copy(const KernelCall& call);
void run_branch(const KernelCall& call);
void run_call(const KernelCall& call);
void run_repetition(const KernelCall& call);
void run_foreign(const KernelCall& call);

/// Copies a pass's slice out of a tensor, or into it.
void take_slice(const Repetition::Stack& stack, const void* whole, std::int64_t pass, void* slice);
void put_slice(const Repetition::Stack& stack, void* whole, std::int64_t pass, const void* slice);

/// The number of passes that a Loop's first input allows; null: it has none.
std::int64_t most_passes(ElementType type, const void* data);

}  // namespace halftone
