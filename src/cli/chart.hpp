#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halftone::cli {

/// Points that a line joins.
struct Curve {
  std::string name;
  std::vector<double> x, y;
};

/// Curves as an SVG picture, with axes, their numbers and the names. y is logarithmic if its
/// positive values differ by more than a factor of 30; what is no finite number is left out, and
/// curves of many points are drawn through the means of neighbours.
std::string draw_chart(const std::vector<Curve>& curves, std::string_view title,
                       std::string_view x_name, std::string_view y_name);

}  // namespace halftone::cli
