#include <doctest/doctest.h>

#include <cstdint>
#include <halftone/kernel/copy.hpp>
#include <halftone/kernel/gather.hpp>
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

// Whole tiles at whole lines of the cache, and what goes there by way of a buffer.
TEST_CASE_TEMPLATE("transpose_matrix: past the caches", T, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  for (const std::int64_t rows : {16, 33, 80, 192, 1025}) {
    for (const std::int64_t columns : {16, 48, 64, 128, 129, 515}) {
      for (const std::int64_t offset : {0, 1, 7}) {
        const std::int64_t from_row = rows + 3, to_row = columns + (offset == 7 ? 0 : 16);
        std::vector<T> x(columns * from_row), memory(rows * to_row + 160, T(0x5b));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(i * 7 + i / 251);
        const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
        T* const y = memory.data() + (64 - address % 64) / sizeof(T) + offset;
        transpose_matrix(x.data(), from_row, y, to_row, rows, columns, true);
        stream_end();
        std::size_t wrong = offset > 0 && y[-1] != T(0x5b);
        for (std::int64_t i = 0; i <= rows; ++i) {
          for (std::int64_t j = 0; j < to_row && i * to_row + j < rows * to_row + 16; ++j) {
            const bool is_inside = i < rows && j < columns;
            wrong += y[i * to_row + j] != (is_inside ? x[j * from_row + i] : T(0x5b));
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}

// Tasks end where blocks do, whatever the extents: each element arrives once, where it belongs.
TEST_CASE("copy: transpositions of sizes that tasks do not divide") {
  for (const std::int64_t rows : {40, 700, 4097}) {
    for (const std::int64_t columns : {48, 1000}) {
      for (const std::int64_t outer : {1, 3}) {
        std::vector<std::uint32_t> x(outer * rows * columns), y(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::uint32_t(i);
        Box box;
        box.add(outer, rows * columns, rows * columns);
        box.add(rows, columns, 1);
        box.add(columns, 1, rows);
        copy(Executor{}, box, x.data(), y.data());
        std::size_t wrong = 0;
        for (std::int64_t i = 0; i < outer * rows * columns; ++i) {
          const std::int64_t o = i / (rows * columns), r = i / columns % rows, c = i % columns;
          wrong += y[i] != x[(o * columns + c) * rows + r];
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("gather: an output that no cache keeps") {
  constexpr std::int64_t extent = 9, run = 1024, count = (std::int64_t{33} << 20) / (4 * run);
  std::vector<float> x(extent * run), memory(count * run + 16);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i);
  std::vector<std::int64_t> indices(count);
  for (std::int64_t i = 0; i < count; ++i) indices[i] = i * 5 % extent - (i % 2) * extent;
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  float* const y = memory.data() + (64 - address % 64) / 4;
  gather(Executor{}, x.data(), 1, extent, run, indices.data(), count, y);
  std::size_t wrong = 0;
  for (std::int64_t i = 0; i < count * run; ++i) {
    wrong += y[i] != x[i / run * 5 % extent * run + i % run];
  }
  CHECK(wrong == 0);
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
