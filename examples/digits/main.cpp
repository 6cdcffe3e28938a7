// Classifies handwritten digits with a trained network.
//
//   digits [FOLDER]     FOLDER holds digits.csv and cnn_trained.onnx

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/onnx.hpp>

namespace {

constexpr std::size_t pixels = 64, classes = 10, test_images = 360;
constexpr int expected_right = 358;

struct Image {
  std::vector<float> values;  // 0 to 1
  int label = 0;
};

std::vector<Image> read_images(const std::string& path) {
  std::ifstream file(path);
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
  return images;
}

/// Turns logits into probabilities.
std::vector<double> softmax(std::span<const float> logits) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  double sum = 0;
  for (const float x : logits) sum += result.emplace_back(std::exp(x - largest));
  for (double& p : result) p /= sum;
  return result;
}

int best(std::span<const float> logits) {
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// Images beside each other, and below each what it is and the two best answers with their scores.
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

int classify(const std::string& folder) {
  const std::vector<Image> all = read_images(folder + "/digits.csv");
  if (all.size() < test_images) {
    std::fprintf(stderr, "%s/digits.csv has %zu images, %zu are needed\n", folder.c_str(),
                 all.size(), test_images);
    return 1;
  }
  const auto images = std::span(all).last(test_images);

  halftone::Session net(halftone::onnx::load(folder + "/cnn_trained.onnx"));

  // All images in one batch.
  halftone::Array<float> batch({test_images, 1, 8, 8});
  for (std::size_t i = 0; i < test_images; ++i) {
    std::copy(images[i].values.begin(), images[i].values.end(), batch.begin() + i * pixels);
  }
  const auto result = net.run({{"image", batch}});
  const std::span<const float> logits = result["logits"].values<float>();

  show(images.first(4), logits);
  int right = 0;
  std::vector<Image> wrong_images;
  std::vector<float> wrong_logits;
  for (std::size_t i = 0; i < test_images; ++i) {
    const auto own = logits.subspan(i * classes, classes);
    if (best(own) == images[i].label) {
      ++right;
    } else if (wrong_images.size() < 4) {
      wrong_images.push_back(images[i]);
      wrong_logits.insert(wrong_logits.end(), own.begin(), own.end());
    }
  }
  std::printf("%d of %zu test images right; wrong:\n\n", right, test_images);
  show(wrong_images, wrong_logits);

  // One by one, as they would come from a camera.
  halftone::Array<float> image({1, 1, 8, 8});
  std::vector<double> microseconds;
  for (int repetition = 0; repetition < 10; ++repetition) {
    for (const Image& next : images) {
      image.assign(next.values);
      const auto start = std::chrono::steady_clock::now();
      net.run({{"image", image}});
      const std::chrono::duration<double, std::micro> time =
          std::chrono::steady_clock::now() - start;
      microseconds.push_back(time.count());
    }
  }
  std::nth_element(microseconds.begin(), microseconds.begin() + microseconds.size() / 2,
                   microseconds.end());
  std::printf("one image takes %.1f us (median of %zu runs, one thread)\n",
              microseconds[microseconds.size() / 2], microseconds.size());
  return right >= expected_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return classify(argc > 1 ? argv[1] : "examples/digits");
  } catch (const halftone::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
