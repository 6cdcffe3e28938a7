#pragma once

#include <iosfwd>

namespace popart {

/// Whether replicas get different data from a stream, or all the same.
enum class ReplicatedStreamMode { Replicate, Broadcast };

std::ostream& operator<<(std::ostream& stream, const ReplicatedStreamMode& mode);

}  // namespace popart
