#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <halftone/base/array.hpp>

namespace digits {

inline constexpr std::size_t pixels = 64, classes = 10, test_images = 360;

struct Image {
  std::vector<float> values;  // 0 to 1
  int label = 0;
};

/// The images of FOLDER/digits.csv: those to train with, and 360 for tests behind them. Throws
/// std::runtime_error if there are too few.
std::vector<Image> read_images(const std::string& folder);

/// Images as one batch, [images, 1, 8, 8].
halftone::Array<float> batch_of(std::span<const Image> images);

/// How many images a network gets right whose logits these are. Prints it, and up to four of the
/// others.
int report(std::span<const Image> images, std::span<const float> logits);
int count_right(std::span<const Image> images, std::span<const float> logits);

/// Images beside each other, and below each what it is and the two best answers with their scores.
void show(std::span<const Image> images, std::span<const float> logits);

}  // namespace digits
