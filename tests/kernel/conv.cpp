#include <doctest/doctest.h>

#include <cmath>
#include <halftone/base/bfloat16.hpp>
#include <halftone/base/half.hpp>
#include <string>
#include <vector>

#include "convolution.hpp"

// Expected values come from the definition of the convolution, as seven loops in double over inputs
// that are small multiples of 1/8: all sums are exact in float, so equality is exact too.

namespace {

using namespace convolution;

struct Case {
  std::string name;
  ConvShape shape;
};

std::vector<Case> cases() {
  std::vector<Case> list = {
      {"3x3", shape2(1, 32, 32, 1, 14, 14, 3, 3, 1, 1)},
      {"3x3 odd channels", shape2(2, 19, 37, 1, 9, 11, 3, 3, 1, 1)},
      {"3x3 stride 2", shape2(1, 33, 16, 1, 15, 13, 3, 3, 2, 1)},
      {"3x3 dilated", shape2(1, 17, 20, 1, 12, 12, 3, 3, 1, 2, 2)},
      {"3x3 dilated by 3, stride 2", shape2(1, 16, 16, 1, 17, 19, 3, 3, 2, 3, 3)},
      {"small images", shape2(5, 20, 18, 1, 2, 2, 3, 3, 1, 1)},
      {"small images, uneven", shape2(9, 33, 40, 1, 4, 3, 3, 3, 1, 1)},
      {"small images, stride 2", shape2(7, 16, 32, 1, 5, 4, 3, 3, 2, 1)},
      {"small images, 1x1 stride 2", shape2(3, 40, 16, 1, 4, 5, 1, 1, 2)},
      {"small images, 1x1 stride 2 padded", shape2(3, 40, 16, 1, 4, 5, 1, 1, 2, 1)},
      {"small images, dilated", shape2(4, 16, 16, 1, 5, 6, 3, 3, 1, 2, 2)},
      {"small images in groups", shape2(3, 64, 32, 2, 3, 3, 3, 3, 1, 1)},
      {"more small images than fit", shape2(11, 600, 16, 1, 5, 5, 3, 3, 1, 1)},
      {"many filters", shape2(1, 10, 300, 1, 9, 8, 3, 3, 1, 1)},
      {"small images, many filters", shape2(3, 10, 270, 1, 2, 3, 3, 3, 1, 1)},
      {"no padding", shape2(1, 32, 48, 1, 10, 30, 3, 3)},
      {"1x1", shape2(2, 40, 70, 1, 7, 9, 1, 1)},
      {"1x1 stride 2", shape2(1, 32, 64, 1, 14, 15, 1, 1, 2)},
      {"1x1 padded", shape2(1, 32, 20, 1, 5, 6, 1, 1, 1, 1)},
      {"1x7", shape2(1, 20, 20, 1, 8, 17, 1, 7, 1, 3)},
      {"7x1 stride 3", shape2(1, 20, 20, 1, 18, 8, 7, 1, 3, 2)},
      {"even kernel", shape2(1, 18, 18, 1, 8, 8, 2, 4, 1, 1)},
      {"first layer 7x7 stride 2", shape2(1, 3, 64, 1, 40, 38, 7, 7, 2, 3)},
      {"first layer 3x3", shape2(2, 3, 10, 1, 20, 33, 3, 3, 1, 1)},
      {"first layer 11x11 stride 4", shape2(1, 3, 33, 1, 47, 51, 11, 11, 4, 2)},
      {"patches 4x4", shape2(1, 3, 24, 1, 16, 20, 4, 4, 4)},
      {"one channel, dilated", shape2(3, 1, 6, 1, 14, 14, 5, 5, 1, 0, 2)},
      {"few channels, long rows of the kernel", shape2(2, 1, 20, 1, 9, 30, 4, 12, 1, 3)},
      {"few channels, padding beyond the kernel", shape2(2, 2, 35, 1, 6, 7, 3, 3, 2, 5)},
      {"few channels, stride beyond the kernel", shape2(1, 3, 16, 1, 30, 33, 3, 3, 5)},
      {"few channels, many filters", shape2(1, 3, 300, 1, 12, 11, 3, 3, 1, 1)},
      {"seven channels", shape2(1, 7, 6, 1, 9, 10, 3, 3, 1, 1)},
      {"depthwise", shape2(2, 35, 35, 35, 13, 21, 3, 3, 1, 1)},
      {"depthwise stride 2", shape2(1, 48, 48, 48, 15, 16, 3, 3, 2, 1)},
      {"depthwise stride 3 dilated", shape2(1, 16, 16, 16, 17, 23, 3, 5, 3, 4, 2)},
      {"depthwise 5x5", shape2(1, 16, 16, 16, 12, 20, 5, 5, 1, 2)},
      {"depthwise 5x5 stride 2", shape2(1, 17, 17, 17, 12, 31, 5, 5, 2, 2)},
      {"depthwise wider than x", shape2(1, 20, 20, 20, 3, 2, 5, 5, 1, 2)},
      {"depthwise, two filters each", shape2(1, 6, 12, 6, 8, 8, 3, 3, 1, 1)},
      {"groups of 2, 3x3", shape2(2, 34, 34, 17, 9, 13, 3, 3, 1, 1)},
      {"groups of 4, 3x3", shape2(1, 40, 40, 10, 7, 21, 3, 3, 1, 1)},
      {"groups of 4, 3x3 stride 2", shape2(2, 32, 32, 8, 12, 17, 3, 3, 2, 1)},
      {"groups of 4, no padding", shape2(1, 16, 16, 4, 5, 12, 3, 3)},
      {"groups of 4, one column", shape2(1, 16, 16, 4, 5, 1, 3, 3, 1, 1)},
      {"groups of 4, dilated", shape2(1, 24, 24, 6, 12, 11, 3, 3, 1, 2, 2)},
      {"groups of 4, 5x5 stride 2", shape2(1, 20, 20, 5, 12, 11, 5, 5, 2, 2)},
      {"groups of 4, 1x1", shape2(1, 20, 20, 5, 6, 7, 1, 1)},
      {"groups of 8, 3x3", shape2(1, 72, 72, 9, 8, 10, 3, 3, 1, 1)},
      {"groups of 8, 3x3 stride 2", shape2(1, 32, 32, 4, 8, 19, 3, 3, 2, 1)},
      {"groups of 32", shape2(1, 64, 96, 2, 9, 9, 3, 3, 1, 1)},
      {"groups of 4", shape2(2, 24, 12, 6, 9, 8, 3, 3, 2, 1)},
      {"padding beyond the kernel", shape2(1, 16, 16, 1, 2, 3, 3, 3, 1, 5)},
      {"long sums", shape2(1, 70, 20, 1, 5, 5, 5, 5, 1, 2)},
      {"kernel larger than x", shape2(1, 16, 16, 1, 2, 2, 5, 5)},
      {"no channels", shape2(1, 0, 4, 1, 5, 5, 3, 3, 1, 1)},
      {"no filters", shape2(1, 4, 0, 1, 5, 5, 3, 3, 1, 1)},
      {"no images", shape2(0, 4, 4, 1, 5, 5, 3, 3, 1, 1)},
      {"one pixel", shape2(1, 16, 8, 1, 1, 1, 1, 1)},
      {"1-D", shape2(2, 16, 24, 1, 1, 50, 1, 5, 2, 0)},
  };
  ConvShape uneven = shape2(1, 20, 18, 1, 12, 10, 3, 4, 2, 0);
  uneven.pads_begin[1] = 2, uneven.pads_end[1] = 0, uneven.pads_begin[2] = 0,
  uneven.pads_end[2] = 3;
  uneven.stride[2] = 1;
  list.push_back({"uneven padding", uneven});
  ConvShape rows = shape2(2, 3, 20, 1, 12, 10, 3, 3, 1, 2);
  rows.dilation[1] = 2;
  list.push_back({"few channels, rows dilated", rows});
  ConvShape deep = shape2(2, 6, 8, 2, 7, 9, 3, 2, 2, 1);
  deep.input[0] = 5, deep.kernel[0] = 3, deep.pads_begin[0] = 1, deep.dilation[0] = 2;
  list.push_back({"3-D", deep});
  list.push_back({"dilated rows, padding beyond", shape2(2, 20, 37, 1, 7, 9, 3, 3, 1, 5, 2)});
  list.push_back({"dilated beyond x", shape2(1, 40, 20, 1, 10, 8, 3, 3, 1, 9, 9)});
  list.push_back({"dilated rows, stride 2, groups", shape2(1, 32, 32, 2, 11, 9, 3, 3, 2, 4, 4)});
  const auto shape3 = [](std::int64_t batch, std::int64_t channels, std::int64_t filters,
                         std::int64_t depth, std::int64_t kernel_d, std::int64_t size,
                         std::int64_t kernel, std::int64_t stride_d, std::int64_t stride) {
    ConvShape s =
        shape2(batch, channels, filters, 1, size, size + 2, kernel, kernel, stride, kernel / 2);
    s.input[0] = depth, s.kernel[0] = kernel_d, s.stride[0] = stride_d;
    s.pads_begin[0] = s.pads_end[0] = kernel_d / 2;
    return s;
  };
  list.push_back({"3-D 3x3x3", shape3(2, 20, 37, 5, 3, 9, 3, 1, 1)});
  list.push_back({"3-D 3x3x3 stride 2", shape3(1, 16, 33, 6, 3, 8, 3, 2, 2)});
  list.push_back({"3-D 3x1x1", shape3(1, 35, 20, 7, 3, 5, 1, 1, 1)});
  list.push_back({"3-D 3x1x1 stride 2", shape3(2, 16, 16, 8, 3, 5, 1, 2, 1)});
  list.push_back({"3-D 1x3x3", shape3(1, 16, 40, 4, 1, 8, 3, 1, 1)});
  list.push_back({"3-D 1x1x1", shape3(2, 24, 20, 3, 1, 4, 1, 1, 1)});
  list.push_back({"3-D 1x1x1 stride 2", shape3(1, 32, 20, 5, 1, 9, 1, 2, 2)});
  list.push_back({"3-D first layer", shape3(1, 3, 40, 5, 3, 17, 7, 1, 2)});
  list.push_back({"3-D one channel", shape3(2, 1, 18, 6, 5, 7, 3, 2, 1)});
  list.push_back({"3-D small images", shape3(5, 20, 18, 2, 3, 2, 3, 1, 1)});
  list.push_back({"3-D of one frame", shape3(1, 20, 18, 1, 3, 8, 3, 1, 1)});
  ConvShape hollow = shape3(2, 18, 20, 7, 2, 6, 3, 1, 1);
  hollow.pads_begin[0] = 2, hollow.pads_end[0] = 0, hollow.dilation[0] = 3;
  list.push_back({"3-D dilated, uneven padding", hollow});
  ConvShape bare = shape3(2, 32, 20, 4, 2, 6, 3, 1, 1);
  for (int i = 0; i < 3; ++i) bare.pads_begin[i] = bare.pads_end[i] = 0;
  list.push_back({"3-D without padding", bare});
  ConvShape grouped = shape3(1, 32, 64, 4, 3, 5, 3, 1, 1);
  grouped.groups = 2;
  list.push_back({"3-D groups of 16", grouped});
  ConvShape line = shape2(1, 5, 7, 1, 1, 40, 1, 3, 1, 0);
  line.pads_begin[2] = 2;
  list.push_back({"1-D causal", line});
  return list;
}

template <class T>
void check(const Case& c, bool layouts,
           halftone::Precision precision = halftone::Precision::float32) {
  CAPTURE(c.name);
  const auto run = [&](auto&&... with) { return convolution::run<T>(with..., 0, precision); };
  const ConvShape& s = c.shape;
  const auto x = numbers<T>(s.batch * s.channels * s.input_pixels(), 1, 4);
  const auto w = numbers<T>(s.filters * s.channels_per_group() * s.kernel_size(), 2, 4);
  const auto bias = numbers<T>(s.filters, 3, 20);
  const auto residual = numbers<T>(s.batch * s.filters * s.output_pixels(), 4, 20);
  for (int form = 0; form < 4; ++form) {
    CAPTURE(form);
    ConvEpilogue<T> e;
    if (form > 0) e.bias = bias.data();
    if (form > 1) e.residual = residual.data();
    if (form > 2) e.clamp = true, e.lower = 1, e.upper = 6;
    const auto expected = reference(s, x, w, e);
    for (const Layout input : {Layout::plain, Layout::blocked}) {
      for (const Layout output : {Layout::plain, Layout::blocked}) {
        if (!layouts && (input != output || input == Layout::blocked) && form != 3) continue;
        CAPTURE(int(input));
        CAPTURE(int(output));
        const auto y = run(s, input, output, x, w, e, Executor{});
        REQUIRE(y.size() == expected.size());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < y.size(); ++i) wrong += y[i] == expected[i] ? 0 : 1;
        CHECK(wrong == 0);
        if (form != 3) continue;
        CHECK(run(s, input, output, x, w, e, Executor{2, reversed, nullptr}) == y);
        Seen seen;
        e.post = twice<T>;
        e.context = &seen;
        const auto hooked = run(s, input, output, x, w, e, Executor{});
        CHECK(seen.elements == activation_size<T>(output, s.batch, s.filters, s.output_pixels()));
        wrong = 0;
        for (std::size_t i = 0; i < y.size(); ++i) wrong += hooked[i] == T(y[i] + T(1)) ? 0 : 1;
        CHECK(wrong == 0);
        e.post = nullptr;
      }
    }
  }
}

TEST_CASE_TEMPLATE("conv equals its definition", T, float, double) {
  for (const Case& c : cases()) check<T>(c, true);
}

TEST_CASE("conv of small images: one has the same bits alone and in any batch, in any layout") {
  for (const ConvShape& all :
       {shape2(5, 70, 40, 1, 2, 2, 3, 3, 1, 1), shape2(6, 33, 16, 1, 5, 4, 3, 3, 2, 1),
        shape2(3, 300, 7, 1, 1, 1, 1, 1), shape2(5, 64, 32, 2, 3, 6, 3, 3, 1, 1)}) {
    CAPTURE(all.channels);
    ConvShape one = all;
    one.batch = 1;
    const std::int64_t x_size = all.channels * all.input_pixels();
    auto x = numbers<float>(all.batch * x_size, 1, 1000);
    const auto w =
        numbers<float>(all.filters * all.channels_per_group() * all.kernel_size(), 2, 1000);
    for (float& v : x) v = std::sqrt(std::fabs(v));  // so that sums are rounded
    const auto y = run<float>(all, Layout::blocked, Layout::blocked, x, w, {}, {});
    CHECK(run<float>(all, Layout::plain, Layout::blocked, x, w, {}, {}) == y);
    CHECK(run<float>(all, Layout::plain, Layout::plain, x, w, {}, {}) == y);
    std::vector<float> joined;
    for (std::int64_t i = 0; i < all.batch; ++i) {
      const std::vector<float> image(x.begin() + i * x_size, x.begin() + (i + 1) * x_size);
      const auto part = run<float>(one, Layout::blocked, Layout::blocked, image, w, {}, {});
      joined.insert(joined.end(), part.begin(), part.end());
    }
    CHECK(joined == y);
  }
}

/// The convolution with the code of `kinds` only.
template <class T>
std::vector<T> run_kinds(unsigned kinds, const auto&... with) {
  switch (kinds) {
    case 0:
      return run<T, 0>(with...);
    case conv_by_channel:
      return run<T, conv_by_channel>(with...);
    case conv_winograd_2:
      return run<T, conv_winograd_2>(with...);
    case conv_winograd_4:
      return run<T, conv_winograd_4>(with...);
    case conv_winograd_5x5:
      return run<T, conv_winograd_5x5>(with...);
  }
  FAIL("no program has these kinds alone: " << kinds);
  return {};
}

// The law: what conv_kinds leaves out is never what conv_plan chooses.
TEST_CASE_TEMPLATE("conv needs the code of its own kinds only", T, float, double) {
  for (const Case& c : cases()) {
    const ConvShape& s = c.shape;
    const auto x = numbers<T>(s.batch * s.channels * s.input_pixels(), 1, 4);
    const auto w = numbers<T>(s.filters * s.channels_per_group() * s.kernel_size(), 2, 4);
    for (const std::int64_t edge : {0, 2, 4}) {
      if (edge != 0 && !has_winograd(s, edge)) continue;
      for (const Layout layout : {Layout::plain, Layout::blocked}) {
        CAPTURE(c.name);
        CAPTURE(edge);
        CAPTURE(int(layout));
        const unsigned kinds = conv_kinds(s.groups, edge, s.kernel[2]);
        const auto all = run<T>(s, layout, layout, x, w, {}, {}, edge);
        CHECK(run_kinds<T>(kinds, s, layout, layout, x, w, ConvEpilogue<T>{}, Executor{}, edge) ==
              all);
      }
    }
  }
}

TEST_CASE("conv in bfloat16 equals its definition for numbers that bfloat16 holds") {
  if (!detail::multiplies_pairs()) return;
  for (const Case& c : cases()) check<float>(c, true, halftone::Precision::bfloat16);
}

TEST_CASE("conv in bfloat16 sums products of rounded operands") {
  if (!detail::multiplies_pairs()) return;
  // The reference convolves what base/ has rounded in double; a float sum of k terms is off by at most k
  // units in the last place of the sum of magnitudes, which is at most k here.
  const auto round = [](std::vector<float> v) {
    for (float& value : v) value = float(halftone::bfloat16(value));
    return v;
  };
  // Pairs of channels; of rows, of odd and even numbers, with strides and a dilation.
  const ConvShape shapes[] = {
      shape2(2, 40, 35, 1, 9, 11, 3, 3, 1, 1), shape2(2, 3, 35, 1, 19, 23, 7, 7, 2, 3),
      shape2(1, 1, 20, 1, 9, 11, 3, 3, 1, 1), shape2(1, 4, 20, 1, 12, 11, 4, 3, 2, 1),
      shape2(1, 3, 40, 1, 15, 11, 5, 2, 1, 2, 2)};
  for (const ConvShape& s : shapes) {
    CAPTURE(s.channels);
    CAPTURE(s.kernel[1]);
    const ConvPlan plan =
        conv_plan<float>(s, Layout::plain, Layout::plain, 2, halftone::Precision::bfloat16);
    const bool has_lines = s.channels < 5 && !detail::multiplies_in_amx();
    CHECK(plan.kind == (has_lines ? ConvKind::line : ConvKind::blocked));
    CHECK(plan.pairs);
    std::vector<float> x = numbers<float>(s.batch * s.channels * s.input_pixels(), 1, 1000);
    std::vector<float> w = numbers<float>(s.filters * s.channels * s.kernel_size(), 2, 1000);
    for (std::vector<float>* v : {&x, &w}) {
      for (float& value : *v) value *= 8.f / 1001;
    }
    const std::vector<float> expected = reference(s, round(x), round(w), {});
    const float most = float(s.channels * s.kernel_size());
    for (const Layout layout : {Layout::plain, Layout::blocked}) {
      const auto y = convolution::run<float>(s, layout, layout, x, w, {}, {}, 2,
                                             halftone::Precision::bfloat16);
      std::size_t wrong = 0, exact = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const float error = y[i] - expected[i];
        wrong += !(error <= most * most * 0x1p-24f && error >= -most * most * 0x1p-24f);
      }
      const auto wide = convolution::run<float>(s, layout, layout, x, w, {}, {});
      for (std::size_t i = 0; i < y.size(); ++i) exact += y[i] == wide[i];
      CHECK(wrong == 0);
      CHECK(exact < y.size() / 8);  // float32 gives other numbers
      CHECK(convolution::run<float>(s, layout, layout, x, flipped(s, w), {}, {}, 2,
                                    halftone::Precision::bfloat16,
                                    detail::WeightOrder::transposed) == y);
    }
  }
}

// The law: normalizing where x is copied is normalizing x first.
TEST_CASE("conv normalizes what it copies") {
  std::size_t tried = 0;
  for (const Case& c : cases()) {
    const ConvShape& s = c.shape;
    const std::int64_t blocks = channel_blocks<float>(s.channels) * channel_block<float>;
    auto mean = numbers<float>(s.channels, 3, 8), factor = numbers<float>(s.channels, 4, 20);
    auto addend = numbers<float>(s.channels, 5, 20);
    for (auto* list : {&mean, &factor, &addend}) {
      for (float& v : *list) v *= 0.3f;
      list->resize(static_cast<std::size_t>(blocks));
    }
    const auto x = numbers<float>(s.batch * s.channels * s.input_pixels(), 1, 1000);
    const auto w = numbers<float>(s.filters * s.channels_per_group() * s.kernel_size(), 2, 1000);
    for (const bool clears_negatives : {false, true}) {
      auto normalized = x;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t at = i / s.input_pixels() % s.channels;
        const float d = x[i] - mean[at];
        normalized[i] = has_fma ? std::fma(d, factor[at], addend[at]) : d * factor[at] + addend[at];
        if (clears_negatives && !(normalized[i] > 0)) normalized[i] = 0;
      }
      for (const auto precision : {halftone::Precision::float32, halftone::Precision::bfloat16}) {
        const ConvPlan plan = conv_plan<float>(s, Layout::blocked, Layout::blocked, 0, precision);
        if (!detail::normalizes_copies(plan)) continue;
        CAPTURE(c.name);
        CAPTURE(int(precision));
        ++tried;
        ConvEpilogue<float> e;
        const auto expected =
            run<float>(s, Layout::blocked, Layout::blocked, normalized, w, e, {}, 0, precision);
        e.input = {mean.data(), factor.data(), addend.data(), clears_negatives};
        CHECK(run<float>(s, Layout::blocked, Layout::blocked, x, w, e, {}, 0, precision) ==
              expected);
        CHECK(run<float>(s, Layout::blocked, Layout::plain, x, w, e, Executor{2, reversed, nullptr},
                         0, precision) == expected);
      }
    }
  }
  CHECK(tried > 40);
}

TEST_CASE_TEMPLATE("conv of narrow floats rounds the exact sum once", T, halftone::half,
                   halftone::bfloat16) {
  for (const Case& c : cases()) check<T>(c, false);
}

TEST_CASE_TEMPLATE("conv of integers wraps around", T, std::int8_t, std::uint8_t, std::int32_t,
                   std::int64_t) {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const ConvShape& s = c.shape;
    const auto x = numbers<T>(s.batch * s.channels * s.input_pixels(), 5, 100);
    const auto w = numbers<T>(s.filters * s.channels_per_group() * s.kernel_size(), 6, 100);
    const auto bias = numbers<T>(s.filters, 7, 100);
    ConvEpilogue<T> e;
    e.bias = bias.data();
    const auto y = run<T>(s, Layout::plain, Layout::plain, x, w, e, {});
    CHECK(y == reference(s, x, w, e));
  }
}

TEST_CASE("conv keeps NaN and infinity apart") {
  // One NaN in the middle reaches the 3 x 3 outputs around it and no other.
  std::vector<halftone::Precision> precisions{halftone::Precision::float32};
  if (detail::multiplies_pairs()) precisions.push_back(halftone::Precision::bfloat16);
  for (const halftone::Precision precision : precisions) {
    for (const std::int64_t channels : {3, 16}) {
      CAPTURE(name(precision));
      CAPTURE(channels);
      const ConvShape s = shape2(1, channels, 16, 1, 9, 9, 3, 3, 1, 1);
      const Layout input = channels == 3 ? Layout::plain : Layout::blocked;
      auto x = numbers<float>(channels * 81, 1, 4);
      const auto w = numbers<float>(16 * channels * 9, 2, 4);
      x[2 * 81 + 4 * 9 + 4] = __builtin_nanf("");
      ConvEpilogue<float> e;
      e.clamp = true, e.lower = 0, e.upper = 6;
      const auto y = run<float>(s, input, Layout::blocked, x, w, e, {}, 0, precision);
      for (int i = 0; i < 16 * 81; ++i) {
        const int h = i % 81 / 9, v = i % 9;
        CHECK((y[i] != y[i]) == (h >= 3 && h <= 5 && v >= 3 && v <= 5));
      }
    }
  }
}

TEST_CASE("the fast kinds are chosen where they should be") {
  const auto kind = [](const ConvShape& s, Layout in) {
    return conv_plan<float>(s, in, Layout::blocked).kind;
  };
  CHECK(kind(shape2(1, 64, 64, 1, 56, 56, 3, 3, 1, 1), Layout::blocked) == ConvKind::blocked);
  CHECK(kind(shape2(1, 64, 64, 1, 56, 56, 1, 1), Layout::plain) == ConvKind::blocked);
  CHECK(kind(shape2(1, 3, 64, 1, 224, 224, 7, 7, 2, 3), Layout::plain) == ConvKind::line);
  CHECK(kind(shape2(1, 64, 64, 64, 56, 56, 3, 3, 1, 1), Layout::blocked) == ConvKind::depthwise);
  CHECK(kind(shape2(1, 64, 64, 2, 56, 56, 3, 3, 1, 1), Layout::blocked) == ConvKind::blocked);
  CHECK(kind(shape2(1, 64, 64, 32, 56, 56, 3, 3, 1, 1), Layout::blocked) == ConvKind::depthwise);
  CHECK(kind(shape2(1, 64, 128, 32, 56, 56, 3, 3, 1, 1), Layout::blocked) == ConvKind::general);
  // A blocked 1x1 reads x in place, as does anything without padding and stride.
  CHECK_FALSE(conv_plan<float>(shape2(1, 64, 64, 1, 56, 56, 1, 1), Layout::blocked, Layout::blocked)
                  .copies);
  CHECK_FALSE(conv_plan<float>(shape2(1, 64, 64, 1, 56, 56, 3, 3), Layout::blocked, Layout::blocked)
                  .copies);
  ConvShape deep = shape2(1, 64, 64, 1, 28, 28, 3, 3);
  deep.input[0] = 8, deep.kernel[0] = 3;
  CHECK(kind(deep, Layout::plain) == ConvKind::blocked);
  CHECK_FALSE(conv_plan<float>(deep, Layout::blocked, Layout::blocked).copies);
  deep.channels = 3;
  CHECK(kind(deep, Layout::plain) == ConvKind::line);
}

}  // namespace
