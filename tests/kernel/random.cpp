#include <halftone/kernel/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace halftone;
using namespace halftone::kernel;

TEST_CASE("philox: lanes have the words of one block each, whatever the counter") {
  constexpr std::int64_t lanes = random_detail::lanes;
  constexpr std::int64_t word = std::int64_t{1} << 32;
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{5}, word - 3, 7 * word - 1}) {
    std::vector<std::uint32_t> words(4 * lanes);
    random_detail::philox_lanes(first, {0xdeadbeef, 7}, words.data());
    for (std::int64_t l = 0; l < lanes; ++l) {
      const std::int64_t n = first + l;
      const auto expected =
          philox({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32), 0, 0},
                 {0xdeadbeef, 7});
      CHECK(std::equal(expected.begin(), expected.end(), words.data() + 4 * l));
    }
  }
}

// The law of dropout(): a word of the seed's below the ratio's share of all drops its element.
TEST_CASE_TEMPLATE("dropout: each element has a word of its own", T, float, double, half,
                   bfloat16) {
  const std::uint32_t seed[] = {3, 9};
  for (const double ratio : {0., 0.25, 0.9, 1.}) {
    for (const std::int64_t n : {1, 3, 17, 255, 256, 1000, 20000}) {
      std::vector<T> x, y(static_cast<std::size_t>(n + 1), T(7));
      for (std::int64_t i = 0; i < n; ++i) x.push_back(static_cast<T>(i % 100 - 50));
      std::vector<std::uint8_t> mask(static_cast<std::size_t>(n + 1), 9);
      dropout<T>({}, seed, ratio, x.data(), y.data(), reinterpret_cast<bool*>(mask.data()), n);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const auto block = philox({static_cast<std::uint32_t>(i / 4), 0, 0, 0}, {3, 9});
        const bool is_kept = static_cast<double>(block[at % 4]) >= ratio * 0x1p32;
        using C = halftone::detail::Compute<T>;
        const C scale = static_cast<C>(ratio < 1 ? 1 / (1 - ratio) : 0);
        wrong += mask[at] != (is_kept ? 1 : 0);
        wrong += y[at] != (is_kept ? static_cast<T>(static_cast<C>(x[at]) * scale) : T{});
      }
      CHECK(wrong == 0);
      CHECK(mask.back() == 9);
      CHECK(y.back() == T(7));
    }
  }
}
