#pragma once

// PopXL's words over Halftone: everything that a program needs.

#include <popxl/session.hpp>
#include <popxl/streams.hpp>
#include <popxl/tensor.hpp>
#include <popxl/transforms.hpp>
