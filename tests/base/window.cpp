#include <halftone/base/window.hpp>

#include <doctest/doctest.h>

#include <initializer_list>

using halftone::AutoPad;
using halftone::Dims;
using halftone::dynamic;
using halftone::Pads;
using halftone::Window;
using halftone::WindowAttributes;

namespace {

constexpr Window over(const Dims& input, const WindowAttributes& given) {
  return Window::over(input.span(), given);
}

// A convolution of ResNet-50: [224, 224] by 7 x 7, stride 2, pads 3.
static_assert(over({224, 224}, {.kernel = {7, 7}, .strides = {2, 2}, .pads = {3, 3, 3, 3}})
                  .output == Dims{112, 112});
static_assert(over({dynamic, 5}, {.kernel = {3, 3}}).output == Dims{dynamic, 3});

/// How many windows fit when they are laid down one by one.
std::int64_t counted(std::int64_t input, std::int64_t begin, std::int64_t end, std::int64_t reach,
                     std::int64_t stride, bool ceil_mode) {
  std::int64_t n = 0;
  for (std::int64_t first = -begin; first + reach <= input + end; first += stride) ++n;
  const std::int64_t next = -begin + n * stride;
  // One more covers what is left, unless it starts in the pads behind the input.
  const bool is_left = next - stride + reach < input + end;
  return ceil_mode && is_left && next < input ? n + 1 : n;
}

}  // namespace

TEST_CASE("window: outputs are the windows that can be laid down") {
  for (std::int64_t input = 1; input <= 9; ++input)
    for (std::int64_t kernel = 1; kernel <= 4; ++kernel)
      for (std::int64_t stride = 1; stride <= 4; ++stride)
        for (std::int64_t dilation = 1; dilation <= 3; ++dilation)
          for (std::int64_t begin = 0; begin <= 2; ++begin)
            for (std::int64_t end = 0; end <= 2; ++end)
              for (const bool ceil_mode : {false, true}) {
                const Window w = over({input}, {.kernel = {kernel},
                                                .strides = {stride},
                                                .dilations = {dilation},
                                                .pads = {begin, end},
                                                .ceil_mode = ceil_mode});
                const std::int64_t reach = (kernel - 1) * dilation + 1;
                if (input + begin + end < reach) {
                  REQUIRE(w.reason == "the window is larger than the padded input");
                } else {
                  REQUIRE(w.ok());
                  REQUIRE(w.output[0] == counted(input, begin, end, reach, stride, ceil_mode));
                }
              }
}

TEST_CASE("window: SAME gives ceil(input / stride) windows that cover the input") {
  for (std::int64_t input = 1; input <= 9; ++input)
    for (std::int64_t kernel = 1; kernel <= 5; ++kernel)
      for (std::int64_t stride = 1; stride <= 4; ++stride)
        for (std::int64_t dilation = 1; dilation <= 2; ++dilation) {
          WindowAttributes given{.kernel = {kernel}, .strides = {stride}, .dilations = {dilation}};
          given.auto_pad = AutoPad::same_upper;
          const Window upper = over({input}, given);
          given.auto_pad = AutoPad::same_lower;
          const Window lower = over({input}, given);
          REQUIRE(upper.output[0] == (input + stride - 1) / stride);
          REQUIRE(lower.output[0] == upper.output[0]);
          const std::int64_t total = upper.pad_begin(0) + upper.pad_end(0);
          REQUIRE(total == lower.pad_begin(0) + lower.pad_end(0));
          REQUIRE((upper.pad_end(0) - upper.pad_begin(0)) == total % 2);
          REQUIRE((lower.pad_begin(0) - lower.pad_end(0)) == total % 2);
          // The last window ends where the padded input does, if there are pads.
          const std::int64_t last = (upper.output[0] - 1) * stride + upper.reach(0);
          REQUIRE((total == 0 ? last <= input : last == input + total));
        }
}

TEST_CASE("window: VALID ignores pads and ceil_mode") {
  const Window w = over({8, 7}, {.kernel = {3, 2},
                                 .strides = {2, 2},
                                 .pads = {1, 1, 1, 1},
                                 .auto_pad = AutoPad::valid,
                                 .ceil_mode = true});
  CHECK(w.output == Dims{3, 3});
  CHECK(w.pads == Pads{0, 0, 0, 0});
}

TEST_CASE("window: nonsense has a reason") {
  const auto reason = [](const Dims& input, const WindowAttributes& given) {
    return over(input, given).reason;
  };
  CHECK(reason({4, 4}, {.kernel = {3}}) == "kernel_shape needs one number per spatial dimension");
  CHECK(reason({4}, {.kernel = {3}, .strides = {1, 1}}) ==
        "strides need one number per spatial dimension");
  CHECK(reason({4}, {.kernel = {3}, .dilations = {1, 1}}) ==
        "dilations need one number per spatial dimension");
  CHECK(reason({4}, {.kernel = {3}, .pads = {1}}) == "pads need two numbers per spatial dimension");
  CHECK(reason({4}, {.kernel = {0}}) == "kernel_shape is out of range");
  CHECK(reason({4}, {.kernel = {1}, .strides = {0}}) == "strides are out of range");
  CHECK(reason({4}, {.kernel = {1}, .strides = {-1}}) == "strides are out of range");
  CHECK(reason({4}, {.kernel = {1}, .dilations = {0}}) == "dilations are out of range");
  CHECK(reason({4}, {.kernel = {1}, .pads = {0, -1}}) == "pads are out of range");
  CHECK(reason({4}, {.kernel = {INT64_MAX}, .dilations = {INT64_MAX}}) ==
        "kernel_shape is out of range");
  CHECK(reason({INT64_MAX}, {.kernel = {3}, .pads = {1, 1}}) == "spatial extent is too large");
  CHECK(reason({0}, {.kernel = {3}, .auto_pad = AutoPad::same_upper}) ==
        "spatial extent leaves no output");
  CHECK(reason({1, 1, 1, 1, 1, 1, 1}, {.kernel = {1, 1, 1, 1, 1, 1, 1}}) ==
        "too many spatial dimensions");
  const Window large = over({4}, {.kernel = {6}});
  CHECK(large.reason == "the window is larger than the padded input");
  CHECK(large.expected == 6);
  CHECK(large.found == 4);
}
