// static_digits FILE: classifies the 360 test images of digits.csv with a network that the compiler
// knows: no library, no file of a model, no memory from the heap.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "digits.hpp"  // halftone compile cnn_trained.onnx --size batch=1 --emit header

namespace {

constexpr int pixels = 64, test_images = 360, most_images = 2000;
float images[most_images][pixels];  // 0 to 1
int labels[most_images];

/// Returns how many images the file has.
int read_images(std::FILE* file) {
  char line[1024];
  int count = 0;
  while (count < most_images && std::fgets(line, sizeof line, file) != nullptr) {
    if (line[0] < '0' || line[0] > '9') continue;
    char* at = line;
    for (float& pixel : images[count]) {
      pixel = std::strtof(at, &at) / 16;
      ++at;  // the comma
    }
    labels[count++] = std::atoi(at);
  }
  return count;
}

halftone::Static<digits::Model> network;

}  // namespace

int main(int argc, char** argv) {
  std::FILE* const file = argc > 1 ? std::fopen(argv[1], "r") : nullptr;
  const int count = file != nullptr ? read_images(file) : 0;
  if (count < test_images) {
    std::fputs("static_digits examples/digits/digits.csv\n", stderr);
    return 2;
  }
  int right = 0;
  for (int i = count - test_images; i < count; ++i) {
    network.run(images[i]);
    const auto logits = network.output<"logits">();
    right += std::max_element(logits.begin(), logits.end()) - logits.begin() == labels[i];
  }
  std::printf("%d of %d right\n", right, test_images);
}
