#include "cli/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace halftone::cli {

Statistics statistics_of(AnyView tensor) {
  Statistics result;
  double sum = 0;
  visit_type<AllTypes>(tensor.info.type, [&]<class T>() {
    for (const T element : tensor.values<T>()) {
      const auto value = static_cast<double>(element);
      ++result.elements;
      if (std::isnan(value)) {
        ++result.not_a_number;
        continue;
      }
      const bool is_first = result.elements == result.not_a_number + 1;
      result.min = is_first ? value : std::min(result.min, value);
      result.max = is_first ? value : std::max(result.max, value);
      sum += value;
    }
  });
  const std::int64_t numbers = result.elements - result.not_a_number;
  if (numbers > 0) result.mean = sum / static_cast<double>(numbers);
  return result;
}

std::string first_values(AnyView tensor, std::int64_t most) {
  std::string text;
  visit_type<AllTypes>(tensor.info.type, [&]<class T>() {
    const auto values = tensor.values<T>();
    const std::size_t count = std::min(values.size(), static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text += ' ';
      if constexpr (std::is_integral_v<T>) {
        text += fmt::format("{}", +values[i]);
      } else {
        text += fmt::format("{:.4g}", static_cast<double>(values[i]));
      }
    }
    if (count < values.size()) text += " ...";
  });
  return text;
}

}  // namespace halftone::cli
