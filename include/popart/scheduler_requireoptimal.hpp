#pragma once

namespace popart {

/// Whether a schedule has to be the best one, or any that nodes can run in. There is one schedule
/// here, the one that runs.
enum class RequireOptimalSchedule { Yes = 1, No = 0 };

}  // namespace popart
