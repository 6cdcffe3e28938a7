#pragma once

#include <halftone/base/element_type.hpp>

namespace ipu_test {

inline constexpr halftone::ElementType f16 = halftone::ElementType::float16,
                                       f32 = halftone::ElementType::float32;

}  // namespace ipu_test
