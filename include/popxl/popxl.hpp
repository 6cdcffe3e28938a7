#pragma once

// PopXL's words over Halftone: everything that a program needs.

#include <popxl/call.hpp>
#include <popxl/error.hpp>
#include <popxl/ir.hpp>
#include <popxl/ops.hpp>
#include <popxl/session.hpp>
#include <popxl/streams.hpp>
#include <popxl/tensor.hpp>
#include <popxl/transforms.hpp>
