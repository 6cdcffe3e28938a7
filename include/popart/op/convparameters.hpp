#pragma once

#include <cstdint>
#include <vector>

#include <popart/datatype.hpp>
#include <popart/names.hpp>

namespace popart {

/// A convolution in numbers. Shapes are those of the spatial axes alone.
struct ConvParameters {
  /// The changes that are made to the data or the weights first, for each spatial axis.
  struct Input {
    std::vector<int64_t> lowerTruncation, upperTruncation, dilation, lowerPadding, upperPadding;
    std::vector<bool> flip;
    bool operator==(const Input&) const = default;
  };
  /// The changes that are made to the result.
  struct Output {
    std::vector<int64_t> lowerTruncation, upperTruncation, stride, lowerPadding, upperPadding;
    bool operator==(const Output&) const = default;
  };

  DataType type = DataType::UNDEFINED;
  int64_t batchSize = 0;
  int64_t numInChannelsPerGroup = 0, numOutChannelsPerGroup = 0, numGroups = 0;
  Shape inputShape, kernelShape;
  Input inputTransformation, kernelTransformation;
  Output outputTransformation;
  bool operator==(const ConvParameters&) const = default;
};

}  // namespace popart
