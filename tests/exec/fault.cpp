#include <halftone/kernel/fault.hpp>

#include <doctest/doctest.h>

#include "error_of.hpp"

using test::contains;
using test::error_of;

TEST_CASE("fault: an index that is out of range is an error of the input, with the range") {
  const std::string error = error_of([] { halftone_index_error(7, 3); });
  CHECK(contains(error, "input: "));
  CHECK(contains(error, "-3 to 2"));  // ONNX: indices count from the end if they are negative
  CHECK(contains(error, "7"));
  CHECK(contains(error_of([] { halftone_index_error(0, 0); }), "the dimension is empty"));
  CHECK(contains(error_of([] { halftone_category_error(-4); }), "-4"));
}
