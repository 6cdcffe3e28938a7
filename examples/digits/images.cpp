#include "images.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace digits {
namespace {

/// Turns logits into probabilities.
std::vector<double> softmax(std::span<const float> logits) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  double sum = 0;
  for (const float x : logits) sum += result.emplace_back(std::exp(x - largest));
  for (double& p : result) p /= sum;
  return result;
}

bool is_right(const Image& image, std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin() == image.label;
}

}  // namespace

std::vector<Image> read_images(const std::string& folder) {
  std::ifstream file(folder + "/digits.csv");
  std::vector<Image> images;
  for (std::string line; std::getline(file, line);) {
    std::istringstream numbers(line);
    Image image;
    char comma = 0;
    for (float value; image.values.size() < pixels && numbers >> value >> comma;) {
      image.values.push_back(value / 16);
    }
    if (image.values.size() == pixels && numbers >> image.label) images.push_back(std::move(image));
  }
  if (images.size() <= test_images) {
    throw std::runtime_error(folder + "/digits.csv has " + std::to_string(images.size()) +
                             " images, more than " + std::to_string(test_images) + " are needed");
  }
  return images;
}

halftone::Array<float> batch_of(std::span<const Image> images) {
  halftone::Array<float> batch({static_cast<std::int64_t>(images.size()), 1, 8, 8});
  for (std::size_t i = 0; i < images.size(); ++i) {
    std::copy(images[i].values.begin(), images[i].values.end(), batch.begin() + i * pixels);
  }
  return batch;
}

void show(std::span<const Image> images, std::span<const float> logits) {
  constexpr char shades[] = " .:-=+*#%@";
  for (std::size_t row = 0; row < 8; ++row) {
    for (const Image& image : images) {
      for (std::size_t column = 0; column < 8; ++column) {
        const char shade = shades[static_cast<int>(image.values[8 * row + column] * 9)];
        std::printf("%c%c", shade, shade);
      }
      std::printf("    ");
    }
    std::printf("\n");
  }
  for (const Image& image : images)
    std::printf("%-20s", ("a " + std::to_string(image.label)).c_str());
  std::printf("\n");
  for (std::size_t i = 0; i < images.size(); ++i) {
    std::vector<double> scores = softmax(logits.subspan(i * classes, classes));
    for (int place = 0; place < 2; ++place) {
      const auto largest = std::max_element(scores.begin(), scores.end());
      std::printf("%d: %5.1f %%%s", static_cast<int>(largest - scores.begin()), 100 * *largest,
                  place == 0 ? ", " : "  ");
      *largest = -1;
    }
  }
  std::printf("\n\n");
}

int count_right(std::span<const Image> images, std::span<const float> logits) {
  int right = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    right += is_right(images[i], logits.subspan(i * classes, classes)) ? 1 : 0;
  }
  return right;
}

int report(std::span<const Image> images, std::span<const float> logits) {
  std::vector<Image> wrong_images;
  std::vector<float> wrong_logits;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto own = logits.subspan(i * classes, classes);
    if (is_right(images[i], own) || wrong_images.size() == 4) continue;
    wrong_images.push_back(images[i]);
    wrong_logits.insert(wrong_logits.end(), own.begin(), own.end());
  }
  const int right = count_right(images, logits);
  std::printf("%d of %zu test images right (%.1f %%)%s\n\n", right, images.size(),
              100.0 * right / static_cast<double>(images.size()),
              wrong_images.empty() ? "" : "; wrong:");
  if (!wrong_images.empty()) show(wrong_images, wrong_logits);
  return right;
}

}  // namespace digits
