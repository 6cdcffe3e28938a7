#pragma once

/// The kernels in sight: what the compiled core instantiates for each instruction set, and what
/// header-only programs include. Costs compile time; programs that link the core do not need it.
#include <halftone/op/list.hpp>

#include <halftone/kernel/batch_normalization.hpp>
#include <halftone/kernel/cast.hpp>
#include <halftone/kernel/convolution.hpp>
#include <halftone/kernel/copy.hpp>
#include <halftone/kernel/elementwise.hpp>
#include <halftone/kernel/fused_conv.hpp>
#include <halftone/kernel/gather.hpp>
#include <halftone/kernel/matmul.hpp>
#include <halftone/kernel/pad.hpp>
#include <halftone/kernel/pool.hpp>
#include <halftone/kernel/random.hpp>
#include <halftone/kernel/reduce.hpp>
#include <halftone/kernel/softmax.hpp>
