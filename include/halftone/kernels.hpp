#pragma once

/// The kernels in sight: what the compiled core instantiates for each instruction set, and what
/// header-only programs include. Costs compile time; programs that link the core do not need it.
#include <halftone/op/list.hpp>

#include <halftone/kernel/elementwise.hpp>
