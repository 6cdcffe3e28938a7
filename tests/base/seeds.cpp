#include <halftone/seeds.hpp>

#include <doctest/doctest.h>

#include <set>

#include "error_of.hpp"

using namespace halftone;

TEST_CASE("seeds: shapes without dimensions of one, reproducible, all different") {
  CHECK(create_seeds(10).info().shape == Dims{2});
  CHECK(create_seeds(10, 0, 3, 1, 4).info().shape == Dims{3, 4, 2});
  CHECK(create_seeds(10, 0, 3, 5, 4).info().shape == Dims{3, 5, 4, 2});
  std::set<std::uint64_t> seen;
  const auto seeds = create_seeds(10, 0, 10, 10, 10);
  for (std::int64_t i = 0; i < 1000; ++i) {
    seen.insert(two_uint32_to_uint64({seeds[2 * i], seeds[2 * i + 1]}));
  }
  CHECK(seen.size() == 1000);
  const auto same = create_seeds(7, 3, 2), other = create_seeds(10, 0, 2);
  for (std::int64_t i = 0; i < 4; ++i) CHECK(same[i] == other[i]);
  CHECK(create_seeds(11)[0] != create_seeds(10)[0]);
  CHECK(test::contains(test::error_of([] { create_seeds(1, 0, 0); }), "at least one step"));
}

TEST_CASE("seeds: words of a number, the more significant one first") {
  static_assert(uint64_to_two_uint32(0x1234567890abcdef)[0] == 0x12345678);
  static_assert(uint64_to_two_uint32(0x1234567890abcdef)[1] == 0x90abcdef);
  static_assert(two_uint32_to_uint64({0x12345678, 0x90abcdef}) == 0x1234567890abcdef);
}
