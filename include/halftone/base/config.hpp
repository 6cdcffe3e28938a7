#pragma once

/// Forces the small functions of kernels into their loops.
#define HALFTONE_INLINE inline __attribute__((always_inline))
