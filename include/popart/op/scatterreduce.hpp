#pragma once

namespace popart {

/// What becomes of elements that are scattered to one place.
enum class ScatterReduction { Sum = 0, Max, Min, Mul, None };

}  // namespace popart
