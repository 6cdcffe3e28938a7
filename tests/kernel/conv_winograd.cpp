#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "convolution.hpp"

// Winograd's forms are compared with the definition of the convolution, summed up in double. Where
// results are not exact, the law is: an error is below 16 units in the last place of the largest
// element of the convolution of the absolute values.

namespace {

using namespace convolution;

/// F(edge x edge, taps x taps).
struct Form {
  std::int64_t edge, taps;
};
constexpr Form forms[] = {{2, 3}, {4, 3}, {2, 5}};

struct Case {
  std::string name;
  ConvShape shape;
};

/// Without a given padding outputs are as large as inputs.
ConvShape square(std::int64_t taps, std::int64_t batch, std::int64_t channels, std::int64_t filters,
                 std::int64_t height, std::int64_t width, std::int64_t pad = -1) {
  return shape2(batch, channels, filters, 1, height, width, taps, taps, 1,
                pad < 0 ? taps / 2 : pad);
}

std::vector<Case> cases(std::int64_t taps) {
  const auto shape = [&](auto... extents) { return square(taps, extents...); };
  std::vector<Case> list = {
      {"whole tiles", shape(1, 32, 32, 8, 12)},
      {"odd extents", shape(2, 19, 37, 9, 11)},
      {"no padding", shape(1, 16, 48, 7, 30, 0)},
      {"padding beyond the kernel", shape(1, 16, 16, 2, 3, 5)},
      {"one pixel", shape(1, 16, 8, 1, 1)},
      {"one vector of filters, few tiles", shape(3, 20, 16, 2, 2)},
      {"many images", shape(11, 16, 32, 5, 5)},
      {"several blocks of tiles", shape(1, 130, 16, 31, 29)},
      {"channels in several chains", shape(1, 150, 40, 6, 5)},
      {"more filters than a group of panels", shape(1, 24, 330, 6, 6)},
  };
  ConvShape uneven = shape(2, 20, 18, 12, 10, 0);
  uneven.pads_begin[1] = 2, uneven.pads_end[1] = 0, uneven.pads_begin[2] = 0;
  uneven.pads_end[2] = 3;
  list.push_back({"uneven padding", uneven});
  return list;
}

/// The largest element of the convolution of the absolute values.
double largest_sum(const ConvShape& s, std::vector<float> x, std::vector<float> w) {
  for (float& v : x) v = std::fabs(v);
  for (float& v : w) v = std::fabs(v);
  const std::vector<float> y = reference<float>(s, x, w, {});
  return y.empty() ? 0 : *std::max_element(y.begin(), y.end());
}

/// The largest difference, in units in the last place of `largest`.
double error(const std::vector<float>& y, const std::vector<float>& expected, double largest) {
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    worst = std::max(worst, std::fabs(double(y[i]) - double(expected[i])));
  }
  return worst / std::ldexp(1., std::ilogb(float(largest)) - 23);
}

TEST_CASE("Winograd's convolutions equal the definition in every layout") {
  for (const auto [edge, taps] : forms) {
    for (const Case& c : cases(taps)) {
      CAPTURE(edge);
      CAPTURE(taps);
      CAPTURE(c.name);
      const ConvShape& s = c.shape;
      REQUIRE(conv_plan<float>(s, Layout::blocked, Layout::blocked, edge).kind ==
              ConvKind::winograd);
      const auto x = numbers<float>(s.batch * s.channels * s.input_pixels(), 1, 4);
      const auto w = numbers<float>(s.filters * s.channels * s.kernel_size(), 2, 4);
      const auto bias = numbers<float>(s.filters, 3, 20);
      const auto residual = numbers<float>(s.batch * s.filters * s.output_pixels(), 4, 20);
      const double largest = largest_sum(s, x, w) + 5;
      for (int form = 0; form < 4; ++form) {
        CAPTURE(form);
        ConvEpilogue<float> e;
        if (form > 0) e.bias = bias.data();
        if (form > 1) e.residual = residual.data();
        if (form > 2) e.clamp = true, e.lower = 1, e.upper = 6;
        const auto expected = reference(s, x, w, e);
        std::vector<float> first;
        for (const Layout input : {Layout::plain, Layout::blocked}) {
          for (const Layout output : {Layout::plain, Layout::blocked}) {
            if ((input != output || input == Layout::plain) && form != 3) continue;
            CAPTURE(int(input));
            CAPTURE(int(output));
            const auto y = run<float>(s, input, output, x, w, e, {}, edge);
            // Tiles of edge 2 of small multiples of 1/8 are exact.
            CHECK(error(y, expected, largest) <= (edge == 2 ? 0 : 16));
            if (first.empty()) first = y;
            CHECK(y == first);
            if (form != 3) continue;
            CHECK(run<float>(s, input, output, x, w, e, {2, reversed, nullptr}, edge) == y);
            Seen seen;
            e.post = twice<float>;
            e.context = &seen;
            const auto hooked = run<float>(s, input, output, x, w, e, {}, edge);
            CHECK(seen.elements ==
                  activation_size<float>(output, s.batch, s.filters, s.output_pixels()));
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < y.size(); ++i) wrong += hooked[i] == y[i] + 1 ? 0 : 1;
            CHECK(wrong == 0);
            e.post = nullptr;
          }
        }
      }
    }
  }
}

TEST_CASE("flipped weights of the other order give the same convolution, in every form") {
  for (const auto [edge, taps] : {Form{0, 3}, Form{0, 5}, forms[0], forms[1], forms[2]}) {
    for (const Case& c : cases(taps)) {
      CAPTURE(edge);
      CAPTURE(taps);
      CAPTURE(c.name);
      const ConvShape& s = c.shape;
      const std::int64_t size = s.kernel_size();
      const auto x = numbers<float>(s.batch * s.channels * s.input_pixels(), 1, 4);
      const auto w = numbers<float>(s.filters * s.channels * size, 2, 4);
      CHECK(run<float>(s, Layout::plain, Layout::plain, x, flipped(s, w), {}, {}, edge,
                       halftone::Precision::float32, detail::WeightOrder::transposed) ==
            run<float>(s, Layout::plain, Layout::plain, x, w, {}, {}, edge));
    }
  }
}

TEST_CASE("an image has the same results alone and in any batch") {
  // The number of tiles decides how many rows a register tile has, but not the order of a sum.
  for (const auto [edge, taps] : forms) {
    for (const std::int64_t filters : {16, 32}) {
      for (const std::int64_t size : {1, 2, 7, 10}) {
        CAPTURE(edge);
        CAPTURE(taps);
        CAPTURE(filters);
        CAPTURE(size);
        const std::int64_t batch = 5;
        const ConvShape all = square(taps, batch, 70, filters, size, size);
        ConvShape one = all;
        one.batch = 1;
        auto x = numbers<float>(batch * 70 * size * size, 1, 1000);
        const auto w = numbers<float>(filters * 70 * taps * taps, 2, 1000);
        for (float& v : x) v = std::sqrt(std::fabs(v));  // so that sums are rounded
        const auto y = run<float>(all, Layout::blocked, Layout::blocked, x, w, {}, {}, edge);
        std::vector<float> joined;
        for (std::int64_t i = 0; i < batch; ++i) {
          const auto begin = x.begin() + i * 70 * size * size;
          const std::vector<float> image(begin, begin + 70 * size * size);
          const auto part =
              run<float>(one, Layout::blocked, Layout::blocked, image, w, {}, {}, edge);
          joined.insert(joined.end(), part.begin(), part.end());
        }
        CHECK(joined == y);
      }
    }
  }
}

/// Numbers that Winograd's forms find hard.
struct Inputs {
  std::string name;
  std::int64_t most_edge;  ///< the form that the law holds for
  std::vector<float> x, w;
};

/// In [0, 1].
float uniform(unsigned& seed) {
  seed = seed * 1664525 + 1013904223;
  return float(seed >> 8) * 0x1p-24f;
}

std::vector<Inputs> inputs(std::int64_t channels, std::int64_t filters, std::int64_t size,
                           std::int64_t taps) {
  std::vector<Inputs> list;
  unsigned seed = 5;
  const auto add = [&](const char* name, std::int64_t most_edge, auto&& x, auto&& w) {
    Inputs in{name, most_edge, std::vector<float>(channels * size * size),
              std::vector<float>(filters * channels * taps * taps)};
    for (std::size_t i = 0; i < in.x.size(); ++i) in.x[i] = x(i / size % size, i % size);
    const auto row = static_cast<std::size_t>(taps);
    for (std::size_t i = 0; i < in.w.size(); ++i) in.w[i] = w(i / row % row, i % row);
    list.push_back(in);
  };
  const auto any = [&](auto...) { return 2 * uniform(seed) - 1; };
  const auto positive = [&](auto...) { return .5f + .5f * uniform(seed); };
  const auto constant = [](auto...) { return .1f; };
  const auto wide = [&](auto...) { return std::exp(12 * uniform(seed) - 6) * any(); };
  add("uniform", 4, any, any);
  add("positive", 4, positive, positive);
  add("constant", 4, constant, constant);
  add("of many magnitudes", 4, wide, wide);
  // Signs that make what a position of a tile holds as large as can be: for edge 2 those of x[0] - x[2]
  // and the like, for F(4x4, 3x3) those of 1/2 and -2. Weights have that of the point -1.
  for (const unsigned signs : {0b0100u, 0b1010u, 0b0110u, 0b1100u}) {
    for (const bool is_constant : {false, true}) {
      const auto sign = [=](std::size_t i) { return (signs >> (i + 1) % 4 & 1) != 0 ? -1.f : 1.f; };
      add(
          is_constant ? "constant with signs" : "with signs", 2,
          [&](std::size_t h, std::size_t v) {
            return sign(h) * sign(v) * (is_constant ? 1 : positive());
          },
          [&](std::size_t h, std::size_t v) {
            const float s = (h + v) % 2 == 1 ? -1.f : 1.f;
            return (signs == 0b1010u ? s : 1) * (is_constant ? .1f : positive());
          });
    }
  }
  return list;
}

TEST_CASE("errors of Winograd's convolutions stay below 16 units in the last place") {
  for (const std::int64_t channels : {64, 512}) {
    const std::int64_t filters = 16, size = 8;
    for (const auto [edge, taps] : forms) {
      const ConvShape s = square(taps, 1, channels, filters, size, size);
      for (const Inputs& in : inputs(channels, filters, size, taps)) {
        if (edge > in.most_edge) continue;
        const auto expected = reference<float>(s, in.x, in.w, {});
        const double largest = largest_sum(s, in.x, in.w);
        CAPTURE(channels);
        CAPTURE(in.name);
        CAPTURE(edge);
        CAPTURE(taps);
        const auto y = run<float>(s, Layout::blocked, Layout::blocked, in.x, in.w, {}, {}, edge);
        CHECK(error(y, expected, largest) < 16);
      }
    }
  }
}

TEST_CASE("NaN and infinity stay in the tiles that see them") {
  // One NaN reaches the outputs of the tiles whose input holds it, and no other.
  for (const auto [edge, taps] : forms) {
    const ConvShape s = square(taps, 1, 16, 16, 18, 18);
    const std::int64_t pad = taps / 2;
    auto x = numbers<float>(16 * 18 * 18, 1, 4);
    const auto w = numbers<float>(16 * 16 * taps * taps, 2, 4);
    x[5 * 18 * 18 + 9 * 18 + 9] = __builtin_nanf("");
    ConvEpilogue<float> e;
    e.clamp = true, e.lower = 0, e.upper = 6;
    const auto y = run<float>(s, Layout::blocked, Layout::blocked, x, w, e, {}, edge);
    const auto sees = [&](std::int64_t i) {
      const std::int64_t begin = i / edge * edge - pad;
      return begin <= 9 && 9 < begin + edge + taps - 1;
    };
    for (std::int64_t i = 0; i < 16 * 18 * 18; ++i) {
      const std::int64_t h = i % 324 / 18, v = i % 18;
      const bool is_near = sees(h) && sees(v);
      if (!is_near) CHECK(y[i] == y[i]);
      if (std::abs(h - 9) <= pad && std::abs(v - 9) <= pad) CHECK(y[i] != y[i]);
    }
  }
}

TEST_CASE("other convolutions have no form of Winograd's") {
  const auto kind = [](const ConvShape& s) {
    return conv_plan<float>(s, Layout::blocked, Layout::blocked, 2).kind;
  };
  CHECK(kind(shape2(1, 32, 32, 1, 9, 9, 3, 3, 2, 1)) == ConvKind::blocked);
  CHECK(kind(shape2(1, 32, 32, 1, 9, 9, 3, 3, 1, 2, 2)) == ConvKind::blocked);
  CHECK(kind(shape2(1, 32, 32, 1, 9, 9, 3, 1)) == ConvKind::blocked);
  CHECK(kind(shape2(1, 32, 32, 1, 9, 9, 5, 3)) == ConvKind::blocked);
  CHECK(kind(shape2(1, 32, 32, 1, 9, 9, 7, 7, 1, 3)) == ConvKind::blocked);
  CHECK(kind(shape2(1, 32, 32, 32, 9, 9, 3, 3, 1, 1)) == ConvKind::depthwise);
  CHECK(conv_plan<double>(square(3, 1, 32, 32, 9, 9), Layout::blocked, Layout::blocked, 2).kind ==
        ConvKind::blocked);
}

}  // namespace
