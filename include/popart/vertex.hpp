#pragma once

#include <iosfwd>
#include <string>

namespace popart {

/// Whether a way leads to the loss.
enum class PathToLoss { Undefined = 0, Yes, No };
/// Whether a way leads from the loss.
enum class PathFromLoss { Undefined = 0, Yes, No };
/// Whether something is scheduled before the gradients.
enum class ScheduledPreLoss { Undefined = 0, Yes, No };

std::ostream& operator<<(std::ostream& stream, PathToLoss path);
std::ostream& operator<<(std::ostream& stream, PathFromLoss path);
std::ostream& operator<<(std::ostream& stream, ScheduledPreLoss when);

/// What a tensor and an operator have in common.
class Vertex {
 public:
  Vertex() = default;
  virtual ~Vertex();

  PathToLoss toLoss = PathToLoss::Undefined;
  PathFromLoss fromLoss = PathFromLoss::Undefined;
  ScheduledPreLoss scheduledPreLoss = ScheduledPreLoss::Undefined;

  bool isPreLoss() const { return toLoss == PathToLoss::Yes; }
  virtual std::string str() const = 0;
};

}  // namespace popart
