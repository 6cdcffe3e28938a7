#pragma once

namespace popart {

/// The elements of a tensor that AiGraphcoreOpset1::init makes.
enum class InitType { NoInit = 0, Zero };

}  // namespace popart
