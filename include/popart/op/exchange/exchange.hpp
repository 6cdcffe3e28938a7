#pragma once

#include <iosfwd>

namespace popart {

/// When inputs are loaded and anchors are stored.
enum class ExchangeStrategy { JustInTime = 0, OverlapInnerLoop, OverlapLoops, OverlapStep, N };

std::ostream& operator<<(std::ostream& stream, const ExchangeStrategy& strategy);

}  // namespace popart
