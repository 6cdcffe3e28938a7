#pragma once

// POpCmp and PTensorCmp: operators and tensors in the order of ids.
#include <popart/op.hpp>
#include <popart/tensor.hpp>
