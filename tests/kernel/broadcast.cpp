#include <halftone/kernel/broadcast.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <vector>

using halftone::kernel::BroadcastInput;
using Shape = std::vector<std::int64_t>;

namespace {

std::int64_t size_of(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

/// Index of the input's element that output number i reads, by numpy's rule digit by digit.
std::int64_t source_of(const Shape& output, const Shape& input, std::int64_t i) {
  std::int64_t offset = 0, stride = 1;
  for (std::size_t k = 0; k < output.size(); ++k) {
    const std::int64_t extent = output[output.size() - 1 - k];
    const std::int64_t digit = i % extent;
    i /= extent;
    if (k >= input.size()) continue;
    const std::int64_t own = input[input.size() - 1 - k];
    offset += own == 1 ? 0 : digit * stride;
    stride *= own;
  }
  return offset;
}

/// Every block size in some list, blocks one after the other, against source_of; nothing is written
/// behind the block.
template <class E>
void check(const Shape& output, const Shape& input) {
  const std::int64_t n = size_of(output);
  std::vector<E> data(static_cast<std::size_t>(size_of(input)));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<E>(i * 7 + 1);
  const BroadcastInput plan(output.data(), output.size(), input.data(), input.size(), sizeof(E));
  for (const std::int64_t block : {1, 2, 3, 5, 16, 31, 64, 100, 1000}) {
    for (std::int64_t first = 0; first < n; first += block) {
      const std::int64_t count = n - first < block ? n - first : block;
      std::vector<E> temporary(static_cast<std::size_t>(count) + 8, static_cast<E>(99));
      const auto* got =
          static_cast<const E*>(plan.fetch(data.data(), first, count, temporary.data()));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t source = source_of(output, input, first + i);
        REQUIRE(got[i] == data[static_cast<std::size_t>(source)]);
      }
      for (std::size_t i = static_cast<std::size_t>(count); i < temporary.size(); ++i) {
        REQUIRE(temporary[i] == static_cast<E>(99));
      }
    }
  }
}

}  // namespace

TEST_CASE("broadcast: blocks hold what numpy's rule says") {
  const Shape pairs[][2] = {
      {{24}, {24}},
      {{24}, {1}},
      {{24}, {}},
      {{}, {}},
      {{1, 1}, {1}},
      {{2, 3, 4}, {3, 4}},
      {{2, 3, 4}, {4}},
      {{2, 3, 4}, {3, 1}},
      {{2, 3, 4}, {2, 1, 1}},
      {{2, 3, 4}, {2, 1, 4}},
      {{2, 3, 4}, {2, 3, 1}},
      {{2, 3, 4}, {1, 3, 1}},
      {{5, 1, 7, 1, 3}, {1, 7, 1, 1}},
      {{5, 2, 7, 2, 3}, {5, 1, 7, 1, 3}},
      {{2, 3, 2, 3, 2, 3}, {3, 1, 3, 1, 3}},
      {{3, 2, 2, 2, 2, 2, 2, 2}, {3, 1, 2, 1, 2, 1, 2, 1}},
      {{6, 70}, {70}},
      {{6, 70}, {6, 1}},
      {{4, 3, 33}, {4, 1, 33}},
      {{9, 3}, {3}},
      {{40, 5}, {40, 1}},
  };
  for (const auto& [output, input] : pairs) {
    CAPTURE(output.size());
    check<std::uint8_t>(output, input);
    check<std::uint16_t>(output, input);
    check<float>(output, input);
    check<std::int64_t>(output, input);
  }
}

TEST_CASE("broadcast: dense and uniform inputs are told apart") {
  const Shape output{2, 3, 4}, full{1, 2, 3, 4}, row{4}, one{1, 1};
  const auto input = [&](const std::int64_t* extents, std::size_t rank) {
    return BroadcastInput(output.data(), output.size(), extents, rank, 4);
  };
  CHECK(input(full.data() + 1, 3).is_dense());
  CHECK_FALSE(input(row.data(), 1).is_dense());
  CHECK_FALSE(input(row.data(), 1).is_uniform());
  CHECK(input(one.data(), 2).is_uniform());
  CHECK(input(nullptr, 0).is_uniform());
  const float values[] = {1, 2, 3, 4};
  float temporary[4];
  // A piece of one row is read in place.
  CHECK(input(row.data(), 1).fetch(values, 5, 3, temporary) == values + 1);
}
