#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/base/array.hpp>

#include "cli/commands.hpp"

namespace halftone::cli {

/// One kind of number that each sample has: an input of the network, or the label.
struct Feature {
  std::string name;
  AnyArray values;   ///< [samples, ...]
  double scale = 1;  ///< values are multiplied by it when they are used
};

/// Samples to train with.
struct Dataset {
  std::vector<Feature> features;
  std::string source;  ///< files, for people

  std::int64_t samples() const { return features.empty() ? 0 : features[0].values.info().shape[0]; }
  const Feature* find(std::string_view name) const;
};

/// A feature that a training needs, and how many numbers it has for a sample; -1: not known.
struct WantedFeature {
  std::string name;
  std::int64_t numbers = 0;
};

/// Reads files for training: tensors NAME=FILE, of which the first dimension counts samples, or one
/// table of numbers (without a name), whose rows are samples and whose columns are the features of
/// `wanted` in their order, the label last.
///
/// wanted  in a table, a feature of unknown size takes the columns that are left
/// errors  InputError with the file and line: what is no number, rows of different lengths,
///         files with different numbers of samples, unknown or missing names; IoError
Dataset read_dataset(std::span<const InputFile> files, std::span<const WantedFeature> wanted);

/// Numbers separated by commas, semicolons, tabs or blanks, one row a line; a first line without
/// numbers names the columns. Result: [rows, columns].
AnyArray parse_table(std::string_view text, const std::string& path);

/// Throws InputError with the first sample that has anything but integers from `low` to `high`.
void check_integers(const Feature& feature, double low, double high);

/// Copies the samples `which` of a feature to `to`, converted to its element type; all of them
/// together have as many elements as `to`.
void gather(const Feature& feature, std::span<const std::int64_t> which, AnyArray& to);

}  // namespace halftone::cli
