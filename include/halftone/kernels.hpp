#pragma once

/// The kernels in sight: what the compiled core instantiates for each instruction set, and what
/// header-only programs include. Costs compile time; programs that link the core do not need it.
#include <halftone/op/list.hpp>

#include <halftone/kernel/arg_extreme.hpp>
#include <halftone/kernel/attention.hpp>
#include <halftone/kernel/attention_gradient.hpp>
#include <halftone/kernel/batch_normalization.hpp>
#include <halftone/kernel/blocked_normalization.hpp>
#include <halftone/kernel/byte_table.hpp>
#include <halftone/kernel/cast.hpp>
#include <halftone/kernel/collective.hpp>
#include <halftone/kernel/columns.hpp>
#include <halftone/kernel/conv_gradient.hpp>
#include <halftone/kernel/conv_transpose.hpp>
#include <halftone/kernel/convolution.hpp>
#include <halftone/kernel/copy.hpp>
#include <halftone/kernel/ctc.hpp>
#include <halftone/kernel/cumsum.hpp>
#include <halftone/kernel/elementwise.hpp>
#include <halftone/kernel/fourier.hpp>
#include <halftone/kernel/fused_conv.hpp>
#include <halftone/kernel/gather.hpp>
#include <halftone/kernel/grid_sample.hpp>
#include <halftone/kernel/indexed.hpp>
#include <halftone/kernel/integer_product.hpp>
#include <halftone/kernel/joined_update.hpp>
#include <halftone/kernel/layer_normalization.hpp>
#include <halftone/kernel/lp_pool.hpp>
#include <halftone/kernel/matmul.hpp>
#include <halftone/kernel/pad.hpp>
#include <halftone/kernel/pool.hpp>
#include <halftone/kernel/print.hpp>
#include <halftone/kernel/random.hpp>
#include <halftone/kernel/recurrent.hpp>
#include <halftone/kernel/recurrent_gradient.hpp>
#include <halftone/kernel/reduce.hpp>
#include <halftone/kernel/resize.hpp>
#include <halftone/kernel/roi.hpp>
#include <halftone/kernel/rotary_embedding.hpp>
#include <halftone/kernel/softmax.hpp>
#include <halftone/kernel/sort.hpp>
#include <halftone/kernel/svm.hpp>
#include <halftone/kernel/top_k.hpp>
#include <halftone/kernel/update.hpp>
#include <halftone/kernel/weight_bits.hpp>
