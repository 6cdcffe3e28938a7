#pragma once

#include <iosfwd>

namespace popart {

/// How a Resize computes elements between those that there are.
enum class ResizeMode { Nearest, Linear, Cubic, N };
/// The rule that says which of two neighbours is the nearest one.
enum class ResizeNearestMode { RoundPreferFloor, RoundPreferCeil, Floor, Ceil, Pytorch, N };
/// The rule that says where an element of the output lies in the input.
enum class ResizeCoordinateTransformationMode {
  HalfPixel,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  TfCropAndResize,
  N
};

std::ostream& operator<<(std::ostream& stream, const ResizeMode& mode);

}  // namespace popart
