#include "cli/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::cli {
namespace {

constexpr double chart_width = 800, chart_height = 450;
/// Of the area where the curves are.
constexpr double left_edge = 80, right_edge = chart_width - 20, top_edge = 40,
                 bottom_edge = chart_height - 60;
constexpr std::size_t most_points = 400;
constexpr const char* colors[] = {"#1f6fb4", "#d95f02", "#2a9d4a", "#7a4fa3"};

/// Text for the inside of an SVG element.
std::string text_of(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return safe;
}

/// At most so many points, the means of neighbours; without those that are no numbers.
Curve thinned(const Curve& curve) {
  Curve all{curve.name, {}, {}};
  for (std::size_t i = 0; i < std::min(curve.x.size(), curve.y.size()); ++i) {
    if (!std::isfinite(curve.x[i]) || !std::isfinite(curve.y[i])) continue;
    all.x.push_back(curve.x[i]);
    all.y.push_back(curve.y[i]);
  }
  const std::size_t together = (all.x.size() + most_points - 1) / most_points;
  if (together < 2) return all;
  Curve few{curve.name, {}, {}};
  for (std::size_t i = 0; i < all.x.size(); i += together) {
    const std::size_t n = std::min(together, all.x.size() - i);
    double x = 0, y = 0;
    for (std::size_t j = i; j < i + n; ++j) {
      x += all.x[j];
      y += all.y[j];
    }
    few.x.push_back(x / static_cast<double>(n));
    few.y.push_back(y / static_cast<double>(n));
  }
  return few;
}

/// A scale from numbers to places, with round numbers to write at it.
struct Axis {
  double low = 0, high = 1, from = 0, to = 1;
  bool is_logarithmic = false;

  double place(double value) const {
    const double share = is_logarithmic ? std::log(value / low) / std::log(high / low)
                                        : (value - low) / (high - low);
    return from + share * (to - from);
  }
  std::vector<double> marks() const {
    std::vector<double> all;
    if (is_logarithmic) {
      for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
        for (const double digit : {1.0, 2.0, 5.0}) {
          if (digit * power >= low && digit * power <= high) all.push_back(digit * power);
        }
      }
      return all;
    }
    const double rough = (high - low) / 6, power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double digit : {5.0, 2.0, 1.0}) {
      if (digit * power >= rough) step = digit * power;
    }
    // Sums would drift from round numbers.
    for (double i = std::ceil(low / step); i * step <= high + 1e-9 * step; ++i) {
      all.push_back(i * step);
    }
    return all;
  }
};

}  // namespace

std::string draw_chart(const std::vector<Curve>& curves, std::string_view title,
                       std::string_view x_name, std::string_view y_name) {
  constexpr double none = std::numeric_limits<double>::infinity();
  const auto range = [](const std::vector<Curve>& all, auto member, Axis& axis) {
    axis.low = none, axis.high = -none;
    for (const Curve& curve : all) {
      for (const double value : curve.*member) {
        axis.low = std::min(axis.low, value);
        axis.high = std::max(axis.high, value);
      }
    }
    if (axis.low > axis.high) axis.low = 0, axis.high = 1;
    if (axis.low == axis.high) axis.high = axis.low + (axis.low == 0 ? 1 : std::fabs(axis.low));
  };
  Axis x{.from = left_edge, .to = right_edge}, y{.from = bottom_edge, .to = top_edge};
  std::vector<Curve> drawn;
  for (const Curve& curve : curves) drawn.push_back(thinned(curve));
  range(drawn, &Curve::x, x);
  range(drawn, &Curve::y, y);
  y.is_logarithmic = y.low > 0 && y.high > 30 * y.low;
  if (!y.is_logarithmic && y.low > 0) y.low = 0;

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\" font-size=\"15\">{3}</text>\n",
      chart_width, chart_height, left_edge, text_of(title));
  const auto line = [&](double x1, double y1, double x2, double y2, const char* color) {
    svg += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1,
        x2, y2, color);
  };
  for (const double mark : y.marks()) {
    line(left_edge, y.place(mark), right_edge, y.place(mark), "#dddddd");
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.4g}</text>\n",
                       left_edge - 8, y.place(mark) + 4, mark);
  }
  for (const double mark : x.marks()) {
    line(x.place(mark), bottom_edge, x.place(mark), bottom_edge + 5, "#444444");
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.6g}</text>\n",
                       x.place(mark), bottom_edge + 20, mark);
  }
  line(left_edge, bottom_edge, right_edge, bottom_edge, "#444444");
  line(left_edge, top_edge, left_edge, bottom_edge, "#444444");
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     (left_edge + right_edge) / 2, chart_height - 14, text_of(x_name));
  svg += fmt::format(
      "<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      (top_edge + bottom_edge) / 2, text_of(y_name));
  for (std::size_t c = 0; c < drawn.size(); ++c) {
    const char* const color = colors[c % std::size(colors)];
    std::string points;
    for (std::size_t i = 0; i < drawn[c].x.size(); ++i) {
      points += fmt::format("{:.1f},{:.1f} ", x.place(drawn[c].x[i]), y.place(drawn[c].y[i]));
    }
    svg +=
        fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                    points, color);
    if (drawn[c].x.size() == 1) {
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                         x.place(drawn[c].x[0]), y.place(drawn[c].y[0]), color);
    }
    const double beside = top_edge + 14 + 18 * static_cast<double>(c);
    line(right_edge - 150, beside - 4, right_edge - 126, beside - 4, color);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", right_edge - 120, beside,
                       text_of(drawn[c].name));
  }
  return svg + "</svg>\n";
}

}  // namespace halftone::cli
