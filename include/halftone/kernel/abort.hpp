#pragma once

/// Throws InputError: the model has an Abort, and its condition is true. As with
/// kernel/fault.hpp, the name is the same for kernels of all instruction sets. Defined in the core.
extern "C" [[noreturn]] void halftone_abort();
