#pragma once

namespace popart {

/// The passes in which AiGraphcoreOpset1::tensorremap gives a tensor another layout.
enum class TensorRemapType { FwdBwdReverse = 0, FwdBwd, Fwd };

}  // namespace popart
