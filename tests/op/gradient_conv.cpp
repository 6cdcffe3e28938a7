#include "gradient_check.hpp"

using namespace gradient_test;

namespace {

void check_conv(const Dims& x, const Dims& w, const op::Conv& attributes) {
  check_gradients({scattered(x), scattered(w, -1, 1, 2), scattered({w[0]}, -1, 1, 3)},
                  [&](Graph&, auto& in) { return op::conv(in[0], in[1], in[2], attributes); });
}

void check_transposed(const Dims& x, const Dims& w, const op::ConvTranspose& attributes) {
  check_gradients(
      {scattered(x), scattered(w, -1, 1, 2), scattered({w[1] * attributes.group}, -1, 1, 3)},
      [&](Graph&, auto& in) { return op::conv_transpose(in[0], in[1], in[2], attributes); });
}

}  // namespace

TEST_CASE("gradient of Conv") {
  check_conv({2, 3, 9}, {4, 3, 3}, {});
  check_conv({2, 3, 7, 8}, {4, 3, 3, 2}, {.pads = {1, 0, 2, 1}});
  check_conv({2, 3, 9, 8}, {4, 3, 3, 3}, {.strides = {2, 3}, .pads = {1, 1, 1, 1}});
  check_conv({1, 2, 10, 9}, {2, 2, 3, 2}, {.strides = {2, 1}, .dilations = {2, 3}});
  check_conv({2, 6, 5, 5}, {4, 3, 3, 3}, {.pads = {1, 1, 1, 1}, .group = 2});
  check_conv({2, 4, 5, 5}, {4, 1, 3, 3}, {.group = 4});
  check_conv({1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}, {.strides = {1, 2, 1}});
  check_conv({1, 2, 7, 6}, {2, 2, 2, 3}, {.strides = {2, 2}, .auto_pad = AutoPad::same_lower});
  // A kernel that never touches x in places, and strides beyond the kernel.
  check_conv({1, 1, 3, 3}, {1, 1, 2, 2}, {.strides = {3, 3}, .pads = {3, 3, 3, 3}});
  // Channels in whole blocks and in parts of one; taps that lie together, apart, or in runs of a
  // stride; an output that is one column wide.
  check_conv({2, 18, 6, 5}, {7, 18, 3, 3}, {.pads = {1, 1, 1, 1}});
  check_conv({2, 9, 7, 3}, {5, 9, 3, 3}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
  check_conv({1, 8, 5, 2}, {3, 8, 3, 3}, {.strides = {1, 2}, .pads = {1, 1, 1, 1}});
  check_conv({2, 12, 6, 6}, {20, 12, 1, 1}, {.strides = {2, 2}});
  check_conv({1, 10, 12, 11}, {4, 10, 7, 6}, {.strides = {2, 2}, .pads = {3, 3, 3, 3}});
  check_conv({1, 16, 9, 10}, {3, 16, 3, 3}, {.dilations = {2, 3}, .pads = {2, 2, 2, 2}});
  check_conv({2, 11, 9}, {4, 11, 3}, {.pads = {1, 1}});
  // Several blocks of pixels, across images.
  check_conv({3, 40, 20, 20}, {2, 40, 3, 3}, {.pads = {1, 1, 1, 1}});
}

TEST_CASE("gradient of ConvTranspose") {
  check_transposed({2, 3, 5}, {3, 2, 3}, {});
  check_transposed({2, 3, 4, 5}, {3, 2, 3, 3}, {.strides = {2, 2}, .pads = {1, 1, 0, 1}});
  check_transposed({1, 4, 4, 3}, {4, 2, 2, 3},
                   {.strides = {3, 2}, .dilations = {2, 1}, .output_padding = {4, 1}, .group = 2});
  check_transposed({1, 2, 3, 4}, {2, 2, 3, 3}, {.strides = {2, 2}, .output_shape = {10, 8}});
  check_transposed({1, 2, 3, 4}, {2, 2, 3, 3},
                   {.strides = {2, 2}, .auto_pad = AutoPad::same_upper});
}
