#include "cli/table.hpp"

#include <doctest/doctest.h>

#include "captured.hpp"

using namespace halftone::cli;

TEST_CASE("tables are aligned by characters, not bytes") {
  Captured captured;
  Table table({{"name"}, {"n", Table::Align::right}, {"note"}});
  table.add({"é", "7", ""});
  table.add({"abcdef", "12", "x"});
  table.print(captured.console().out);
  CHECK(captured.out() == "name     n  note\né        7\nabcdef  12  x\n");
}

TEST_CASE("numbers have three digits and a unit") {
  CHECK(duration(1.84) == "1.84 s");
  CHECK(duration(0.0918) == "91.8 ms");
  CHECK(duration(0.00099996) == "1.00 ms");
  CHECK(duration(2.5e-7) == "250 ns");
  CHECK(duration(100) == "100 s");
  CHECK(count(812) == "812");
  CHECK(count(25.6e6) == "25.6 M");
  CHECK(count(999600) == "1.0 M");
}
