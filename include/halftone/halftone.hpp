#pragma once

// Everything that a program needs to read, build and run models; kernels stay in the core.
// Outside: static.hpp (programs without the core), kernels.hpp.

// First: the compiler's errors name the way to it, which is short so.
#include <halftone/graph/model.hpp>

#include <halftone/base/array.hpp>
#include <halftone/base/error.hpp>
#include <halftone/base/log.hpp>
#include <halftone/base/view.hpp>
#include <halftone/composed.hpp>
#include <halftone/graph/registry.hpp>
#include <halftone/onnx.hpp>
#include <halftone/op/list.hpp>
#include <halftone/session/session.hpp>
#include <halftone/session/weights.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/keep_state.hpp>
#include <halftone/transform/off_chip.hpp>
#include <halftone/transform/serialize_batch.hpp>
#include <halftone/transform/shard.hpp>
#include <halftone/var_updates.hpp>
