#include <doctest/doctest.h>

#include <cstdint>
#include <halftone/kernel/copy.hpp>
#include <vector>

// The law of a transposition, element by element, for rows at any distance: those whose distance
// makes a matrix go through a buffer, and tiles that overlap at the borders.

using namespace halftone::kernel;

TEST_CASE_TEMPLATE("transpose_matrix: distances of rows and sizes around blocks and tiles", T,
                   std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  for (const std::int64_t rows : {1, 3, 8, 31, 64, 65, 130, 260}) {
    for (const std::int64_t columns : {2, 7, 16, 33, 64, 100, 129}) {
      for (const std::int64_t gap : {0, 5, 512}) {
        const std::int64_t from_row = gap == 512 ? 512 : rows + gap;
        const std::int64_t to_row = gap == 512 ? 1024 : columns + gap;
        std::vector<T> x(columns * from_row), y(rows * to_row, T(0x5b));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(i * 7 + i / 251);
        std::vector<T> expected = y;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            expected[i * to_row + j] = x[j * from_row + i];
          }
        }
        transpose_matrix(x.data(), from_row, y.data(), to_row, rows, columns);
        CHECK((y == expected));
      }
    }
  }
}

TEST_CASE("simplified: dimensions of one element go, those that follow each other join") {
  Box box;
  box.add(2, 60, 60);
  box.add(1, 7, 9);
  box.add(3, 20, 20);
  box.add(4, 5, 5);
  box.add(5, 1, -1);
  const Box s = detail::simplified(box);
  CHECK(s.rank == 2);
  CHECK(s.extents[0] == 24);
  CHECK(s.to[0] == 5);
  CHECK(s.extents[1] == 5);
  CHECK(s.from[1] == -1);
}
