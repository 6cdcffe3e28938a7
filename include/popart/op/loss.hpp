#pragma once

#include <iosfwd>

namespace popart {

/// How the elements of a loss become one number.
enum class ReductionType { Sum = 0, Mean, NoReduction };

std::ostream& operator<<(std::ostream& stream, const ReductionType& type);

}  // namespace popart
