#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace halftone::cli {
namespace {

/// How many characters a UTF-8 text has.
std::size_t display_width(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return n;
}

}  // namespace

void Table::print(std::FILE* to) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  const auto line = [&](auto cell) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& word = cell(i);
      const std::string padding(widths[i] - display_width(word), ' ');
      if (i > 0) text += "  ";
      text += columns_[i].align == Align::right ? padding + word : word + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    fmt::print(to, "{}\n", text);
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    line([&](std::size_t i) -> const std::string& { return row[i]; });
  }
}

std::string duration(double seconds) {
  constexpr std::array<std::string_view, 4> units{"s", "ms", "us", "ns"};
  std::size_t unit = 0;
  // 0.9996 ms would become 1000 us.
  while (unit + 1 < units.size() && seconds < 0.9995) {
    seconds *= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", seconds,
                     seconds < 9.995   ? 2
                     : seconds < 99.95 ? 1
                                       : 0,
                     units[unit]);
}

std::string count(double number) {
  constexpr std::array<std::string_view, 5> units{"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  for (; unit + 1 < units.size() && number >= 999.5; ++unit) number /= 1000;
  return fmt::format("{:.{}f}{}", number, unit == 0 && number == static_cast<int>(number) ? 0 : 1,
                     units[unit]);
}

}  // namespace halftone::cli
