#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <halftone/kernel/blocked_normalization.hpp>
#include <vector>

#include "convolution.hpp"

// Normalization in blocks of channels is compared with its formulas in double (op::BatchNormalization and
// op::BatchNormalizationGradient have them), in which float's rounding of a number is 2^-24 of it.

namespace {

using namespace halftone::kernel;
using convolution::numbers;
using convolution::reversed;

constexpr std::int64_t N = channel_block<float>;

struct Extents {
  std::int64_t batch, channels, pixels;
};

struct Case {
  BlockedExtents extents;
  std::vector<float> plain, x;

  Case(const Extents& e, unsigned seed, float offset)
      : extents{e.batch, channel_blocks<float>(e.channels), e.pixels, e.channels},
        plain(numbers<float>(e.batch * e.channels * e.pixels, seed, 90)),
        x(activation_size<float>(Layout::blocked, e.batch, e.channels, e.pixels), 55) {
    for (float& v : plain) v = v / 7 + offset;
    block_channels(plain.data(), x.data(), e.batch, e.channels, e.pixels);
  }
  /// The sum of f(index in plain) over a channel's elements.
  double sum(std::int64_t channel, auto&& f) const {
    double all = 0;
    for (std::int64_t n = 0; n < extents.batch; ++n) {
      for (std::int64_t p = 0; p < extents.pixels; ++p) {
        all += f(std::size_t((n * extents.channels + channel) * extents.pixels + p));
      }
    }
    return all;
  }
  double count() const { return double(extents.batch * extents.pixels); }
  std::vector<float> list() const { return std::vector<float>(extents.blocks * N, 66); }
};

/// Blocks in one part and in several, channels that do not fill them, runs that end in an image.
constexpr Extents all[] = {{2, 5, 7},     {3, 40, 130}, {1, 16, 1},
                           {5, 24, 1600}, {2, 200, 9},  {1, 3, 20000}};

template <class F>
std::vector<char> room(F&& bytes) {
  return std::vector<char>(bytes + 64);
}

TEST_CASE("moments of channels in blocks equal their formulas") {
  for (const Extents& e : all) {
    for (const float offset : {0.f, 1000.f}) {
      CAPTURE(e.channels);
      CAPTURE(e.pixels);
      CAPTURE(offset);
      const Case c(e, 3, offset);
      std::vector<float> mean = c.list(), variance = c.list();
      const auto run = [&](const Executor& executor) {
        std::vector<char> memory = room(blocked_moments_workspace<float>(c.extents));
        blocked_moments<float>(executor, c.extents, c.x.data(), mean.data(), variance.data(),
                               convolution::aligned(memory));
      };
      run({});
      for (std::int64_t i = 0; i < c.extents.blocks * N; ++i) {
        if (i >= e.channels) {
          CHECK(mean[i] == 0);
          CHECK(variance[i] == 0);
          continue;
        }
        const double m = c.sum(i, [&](std::size_t at) { return c.plain[at]; }) / c.count();
        const double v = c.sum(i, [&](std::size_t at) {
          return (c.plain[at] - m) * (c.plain[at] - m);
        }) / c.count();
        // One rounding of the mean, sums of 128 floats near it, and of doubles.
        CHECK(std::abs(mean[i] - m) <= 0x1p-24 * (std::abs(m) + 13));
        CHECK(std::abs(variance[i] - v) <= 128 * 0x1p-24 * v);
      }
      const std::vector<float> before = mean, squares = variance;
      run({2, reversed, nullptr});
      CHECK(mean == before);
      CHECK(variance == squares);
    }
  }
}

TEST_CASE("the gradient of a normalization in blocks equals its formula") {
  constexpr double epsilon = 1e-3;
  for (const Extents& e : all) {
    CAPTURE(e.channels);
    CAPTURE(e.pixels);
    const Case c(e, 3, 0.5f), d(e, 4, -0.25f);
    std::vector<float> mean = c.list(), variance = c.list();
    std::vector<char> memory = room(blocked_moments_workspace<float>(c.extents));
    blocked_moments<float>({}, c.extents, c.x.data(), mean.data(), variance.data(),
                           convolution::aligned(memory));
    const std::vector<float> scale = numbers<float>(e.channels, 5, 20);
    std::vector<float> dx(c.x.size(), 77), dscale(e.channels, 77), dbias(e.channels, 77);
    const auto run = [&](const Executor& executor) {
      std::vector<char> own = room(blocked_normalization_gradient_workspace<float>(c.extents));
      blocked_normalization_gradient<float>(executor, c.extents, epsilon, c.x.data(), scale.data(),
                                            d.x.data(), mean.data(), variance.data(), dx.data(),
                                            dscale.data(), dbias.data(), convolution::aligned(own));
    };
    run({});
    std::vector<float> plain(c.plain.size());
    unblock_channels(dx.data(), plain.data(), e.batch, e.channels, e.pixels);
    for (std::int64_t i = 0; i < e.channels; ++i) {
      const double inverse = 1 / std::sqrt(variance[i] + epsilon), m = mean[i];
      const auto z = [&](std::size_t at) { return (c.plain[at] - m) * inverse; };
      const double sum = c.sum(i, [&](std::size_t at) { return d.plain[at]; });
      const double products = c.sum(i, [&](std::size_t at) { return d.plain[at] * z(at); });
      const double size =
          c.sum(i, [&](std::size_t at) { return std::abs(d.plain[at]) * (1 + std::abs(z(at))); });
      CHECK(std::abs(dbias[i] - sum) <= 128 * 0x1p-24 * size);
      CHECK(std::abs(dscale[i] - products) <= 128 * 0x1p-24 * size);
      const double worst = c.sum(i, [&](std::size_t at) {
        const double expected =
            scale[i] * inverse * (d.plain[at] - sum / c.count() - z(at) * products / c.count());
        const double unit = std::abs(scale[i]) * inverse * 13 * (2 + std::abs(z(at)));
        return std::abs(plain[at] - expected) <= 128 * 0x1p-24 * unit ? 0 : 1;
      });
      CHECK(worst == 0);
    }
    for (std::size_t i = 0; i < dx.size(); ++i) {
      const std::int64_t channel =
          std::int64_t(i) / (e.pixels * N) % c.extents.blocks * N + std::int64_t(i) % N;
      if (channel >= e.channels) REQUIRE(dx[i] == 0);
    }
    const std::vector<float> before = dx, scales = dscale;
    run({2, reversed, nullptr});
    CHECK(dx == before);
    CHECK(dscale == scales);
  }
}

TEST_CASE("numbers in blocks are normalized and held between limits") {
  const Case c({3, 20, 33}, 3, 0);
  const std::vector<float> mean = numbers<float>(c.extents.blocks * N, 7, 9);
  std::vector<float> factor(mean.size(), 0), addend(mean.size(), 0), y(c.x.size(), 77);
  for (std::int64_t i = 0; i < c.extents.channels; ++i) factor[i] = 0.5f, addend[i] = 0.25f;
  for (const bool clamps : {false, true}) {
    const float limits[] = {-0.5f, 1};
    normalize_in_blocks<float>({2, reversed, nullptr}, c.extents, c.x.data(), mean.data(),
                               factor.data(), addend.data(), clamps ? limits : nullptr, y.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t channel =
          i / std::size_t(33 * N) % std::size_t(c.extents.blocks) * N + i % N;
      float expected = (c.x[i] - mean[channel]) * factor[channel] + addend[channel];
      if (clamps) expected = std::fmin(std::fmax(expected, -0.5f), 1.f);
      // Kernels for some processors round the product and the sum once.
      REQUIRE(std::abs(y[i] - expected) <= 4 * 0x1p-24f);
    }
  }
}

}  // namespace
