#include <halftone/kernel/abort.hpp>

#include <doctest/doctest.h>

#include "error_of.hpp"

TEST_CASE("abort: a model that stops the program throws, and the program goes on") {
  const std::string error = test::error_of([] { halftone_abort(); });
  CHECK(test::contains(error, "input: "));
  CHECK(test::contains(error, "Abort"));
}
