#pragma once

// The identifiers of all operators.
#include <popart/graphcoreoperators.hpp>
#include <popart/onnxoperators.gen.hpp>
