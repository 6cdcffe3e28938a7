#pragma once

#include <cstdint>

#include <halftone/base/array.hpp>

/// Casts of tensors between wider floats and float8 on the host.
///
/// source  popxl.utils.host_pow2scale_cast_to_fp8, host_pow2scale_cast_from_fp8, host_fp8_mse_scale
namespace halftone {

/// x 2^log2_scale in float8, rounded to nearest, ties to even.
///
/// x                float16, bfloat16, float32 or float64
/// type             float8_e4m3fnuz (PopXL's float8_143) or float8_e5m2fnuz (float8_152)
/// log2_scale       in [-32, 32)
/// nan_on_overflow  what is too large becomes NaN; else the largest number of its sign. Infinities
///                  become NaN either way
/// errors           UsageError: another type, a scale that is out of range
AnyArray host_pow2scale_cast_to_fp8(const AnyView& x, ElementType type, int log2_scale = 0,
                                    bool nan_on_overflow = true);
/// x 2^log2_scale in a wider type, from float8.
AnyArray host_pow2scale_cast_from_fp8(const AnyView& x, ElementType type, int log2_scale = 0);
/// The scale in [-31, 31] with the least squared error of the way to float8 and back; of equal ones the
/// least.
int host_fp8_mse_scale(const AnyView& x, ElementType type);

}  // namespace halftone
