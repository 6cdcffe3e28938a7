#include <halftone/kernel/fault.hpp>

#include <string>

#include <halftone/base/error.hpp>

void halftone_index_error(std::int64_t index, std::int64_t extent) {
  const std::string range =
      extent == 0 ? std::string("none, the dimension is empty")
                  : "-" + std::to_string(extent) + " to " + std::to_string(extent - 1);
  halftone::fail(
      halftone::ErrorKind::input,
      {.what = "an index is out of range", .expected = range, .found = std::to_string(index)});
}

void halftone_category_error(std::int64_t number) {
  halftone::fail(halftone::ErrorKind::input,
                 {.what = "a number is none of the categories", .found = std::to_string(number)});
}
