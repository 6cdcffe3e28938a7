#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace halftone::cli {

/// Rows of words in aligned columns, two blanks apart, under a line of titles.
class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell for each column. What comes from elsewhere has to be `escaped`.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  void print(std::FILE* to) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// With three digits and a unit: "812 us", "1.84 s".
std::string duration(double seconds);
/// "812", "25.6 k", "25.6 M".
std::string count(double number);

}  // namespace halftone::cli
