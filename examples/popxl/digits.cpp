#include "digits.hpp"

#include <fstream>
#include <stdexcept>

std::vector<Batch> read_digits(const std::string& csv) {
  std::vector<Batch> all(train_batches + test_batches);
  std::ifstream file(csv);
  for (Batch& some : all) {
    for (std::size_t i = 0; i < batch; ++i) {
      char comma;
      for (std::size_t k = 0; k < 64; ++k) {
        file >> some.images[64 * i + k] >> comma;
        some.images[64 * i + k] /= 16;
      }
      file >> some.labels[i];
    }
  }
  if (!file) throw std::runtime_error(csv + " cannot be read");
  return all;
}
