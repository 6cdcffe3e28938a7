#pragma once

#include <string>
#include <vector>

#include <popxl/popxl.hpp>

/// Handwritten digits in batches.
constexpr int batch = 30, train_batches = 47, test_batches = 12;
struct Batch {
  popxl::Array<float> images{{batch, 64}};  ///< 8 x 8 pixels from 0 to 1
  popxl::Array<std::int32_t> labels{{batch}};
};
/// All of examples/digits/digits.csv: lines of 64 pixels from 0 to 16 and the label.
std::vector<Batch> read_digits(const std::string& csv);
