#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <halftone/base/bfloat16.hpp>
#include <halftone/halftone.hpp>
#include <halftone/kernel/fused_conv.hpp>
#include <vector>

#include "convolution.hpp"

namespace {

using namespace halftone::kernel;
using convolution::aligned;
using convolution::numbers;
using convolution::shape2;
using halftone::KernelCall;
using halftone::View;

/// Numbers that bfloat16 holds.
std::vector<float> held(std::int64_t n, unsigned seed) {
  std::vector<float> v = numbers<float>(n, seed, 1000);
  for (float& x : v) x = float(halftone::bfloat16(x));
  return v;
}

/// This runs one convolution with any choice of pairs; it takes and gives plain tensors.
class Convolution {
 public:
  Convolution(const ConvShape& shape, bool clamps, halftone::Precision precision)
      : s_(shape), precision_(precision) {
    op_.strides = {s_.stride[1], s_.stride[2]};
    op_.dilations = {s_.dilation[1], s_.dilation[2]};
    op_.pads = {s_.pads_begin[1], s_.pads_begin[2], s_.pads_end[1], s_.pads_end[2]};
    op_.group = s_.groups;
    op_.block = channel_block<float>;
    op_.blocked_input = op_.blocked_output = true;
    op_.clamp = clamps;
    op_.lower = -100.f;
    op_.upper = 300.f;
    x_ = held(s_.batch * s_.channels * s_.input_pixels(), 1);
    w_ = held(s_.filters * s_.channels_per_group() * s_.kernel_size(), 2);
    b_ = numbers<float>(s_.filters, 3, 1000);
    for (unsigned i = 0; i < 3; ++i) {
      lists_[i] = numbers<float>(s_.channels, 5 + i, 20);
      lists_[i].resize(channel_blocks<float>(s_.channels) * channel_block<float>);
    }
    residual_ = held(s_.batch * s_.filters * s_.output_pixels(), 4);
  }

  std::vector<float> run(InPairs in_pairs, bool has_residual, bool normalizes, bool is_packed,
                         int threads) const {
    std::vector<float> x = brought(x_, s_.channels, s_.input_pixels(), in_pairs.x);
    std::vector<float> residual =
        brought(residual_, s_.filters, s_.output_pixels(), in_pairs.residual);
    std::vector<float> y(
        activation_size<float>(layout(in_pairs.y), s_.batch, s_.filters, s_.output_pixels()) + 16,
        77.f);
    const Executor executor{threads, threads > 1 ? convolution::reversed : nullptr, nullptr};
    const std::int64_t x_extents[]{s_.batch, 0, s_.input[1], s_.input[2], 0};
    const std::int64_t w_extents[]{s_.filters, s_.channels_per_group(), s_.kernel[1], s_.kernel[2]};
    const View<const float> x_view{x.data(), x_extents, 5}, w{w_.data(), w_extents, 4},
        b{b_.data(), w_extents, 1};
    const View<const float> added{has_residual ? residual.data() : nullptr, x_extents, 5};
    KernelCall call;
    call.executor = &executor;
    call.precision = precision_;
    call.constants = is_packed ? 2 : 0;
    ConvNormalization<float> normalization;
    if (normalizes) {
      normalization = {lists_[0].data(), lists_[1].data(), lists_[2].data(), true};
    }
    std::vector<char> packed(fused_conv_packed_bytes(op_, call, x_view, w, in_pairs) + 64);
    if (is_packed) {
      call.packed = aligned(packed);
      fused_conv_pack(op_, call, aligned(packed), x_view, w, in_pairs);
    }
    const std::size_t bytes = fused_conv_workspace(op_, call, x_view, w, normalizes, in_pairs);
    std::vector<char> workspace(bytes + 128, 0x7f);
    call.workspace = aligned(workspace);
    fused_conv(op_, call, x_view, w, b, added, normalization, View<float>{y.data(), x_extents, 5},
               in_pairs);
    CHECK(aligned(workspace)[bytes] == 0x7f);
    for (std::size_t i = y.size() - 16; i < y.size(); ++i) CHECK(y[i] == 77.f);
    return plain(y, in_pairs.y);
  }

 private:
  static Layout layout(bool in_pairs) { return in_pairs ? Layout::pairs : Layout::blocked; }
  std::vector<float> brought(const std::vector<float>& v, std::int64_t channels,
                             std::int64_t pixels, bool in_pairs) const {
    std::vector<float> blocks(activation_size<float>(Layout::blocked, s_.batch, channels, pixels));
    block_channels(v.data(), blocks.data(), s_.batch, channels, pixels);
    if (!in_pairs) return blocks;
    std::vector<float> pairs(activation_size<float>(Layout::pairs, s_.batch, channels, pixels));
    detail::convert_pairs<false>(blocks.data(), s_.batch, channels, pixels, pairs.data(), {});
    return pairs;
  }
  std::vector<float> plain(const std::vector<float>& y, bool in_pairs) const {
    const std::int64_t pixels = s_.output_pixels();
    std::vector<float> blocks(
        activation_size<float>(Layout::blocked, s_.batch, s_.filters, pixels));
    if (in_pairs) {
      detail::convert_pairs<true>(y.data(), s_.batch, s_.filters, pixels, blocks.data(), {});
      // Pairs that are made of y's floats again are y, so that missing channels are zero.
      std::vector<float> again(activation_size<float>(Layout::pairs, s_.batch, s_.filters, pixels));
      detail::convert_pairs<false>(blocks.data(), s_.batch, s_.filters, pixels, again.data(), {});
      CHECK(std::memcmp(again.data(), y.data(), again.size() * sizeof(float)) == 0);
    } else {
      std::copy_n(y.begin(), blocks.size(), blocks.begin());
    }
    std::vector<float> result(s_.batch * s_.filters * pixels);
    unblock_channels(blocks.data(), result.data(), s_.batch, s_.filters, pixels);
    return result;
  }

  ConvShape s_;
  halftone::Precision precision_;
  halftone::op::FusedConv op_;
  std::vector<float> x_, w_, b_, residual_, lists_[3];
};

}  // namespace

// The laws: numbers that bfloat16 holds are the same in pairs, and y in pairs is y rounded.
TEST_CASE("a convolution of pairs is that of the numbers that they hold") {
  const ConvShape shapes[] = {
      shape2(1, 64, 64, 1, 9, 11, 1, 1),        shape2(2, 96, 48, 1, 7, 40, 1, 1),
      shape2(1, 48, 96, 1, 9, 35, 3, 3, 1, 1),  shape2(1, 64, 32, 1, 13, 15, 3, 3, 2, 1),
      shape2(1, 128, 64, 1, 14, 14, 1, 1, 2),   shape2(5, 64, 80, 1, 3, 4, 3, 3, 1, 1),
      shape2(3, 80, 32, 1, 7, 7, 1, 1),         shape2(2, 40, 20, 1, 6, 5, 3, 3, 1, 1),
      shape2(1, 12, 32, 1, 8, 9, 3, 3, 1, 1),   shape2(1, 64, 64, 2, 6, 7, 3, 3, 1, 1),
      shape2(2, 96, 96, 96, 9, 37, 3, 3, 1, 1), shape2(1, 80, 80, 80, 15, 33, 3, 3, 2, 1),
      shape2(2, 48, 48, 48, 11, 9, 5, 5, 2, 2), shape2(1, 32, 32, 32, 8, 19, 3, 2, 1, 0, 2),
      shape2(1, 24, 24, 24, 8, 7, 3, 3, 1, 1),  shape2(2, 32, 32, 1, 9, 70, 1, 5),
      shape2(9, 64, 32, 1, 2, 2, 2, 2),         shape2(1, 32, 32, 32, 4, 400, 3, 3, 1, 1),
      shape2(1, 32, 32, 32, 11, 9, 2, 2, 3),
  };
  std::vector<halftone::Precision> precisions{halftone::Precision::float32};
  if (detail::multiplies_pairs()) precisions.push_back(halftone::Precision::bfloat16);
  std::size_t wrong = 0, different = 0;
  for (const ConvShape& s : shapes) {
    for (const halftone::Precision precision : precisions) {
      for (const bool clamps : {false, true}) {
        CAPTURE(s.channels);
        CAPTURE(s.filters);
        CAPTURE(s.kernel[1]);
        CAPTURE(int(precision));
        const Convolution c(s, clamps, precision);
        for (const int form : {0, 1, 2}) {
          const bool has_residual = form == 1, normalizes = form == 2;
          const std::vector<float> expected = c.run({}, has_residual, normalizes, true, 1);
          for (int choice = 1; choice < 8; ++choice) {
            const InPairs in_pairs{(choice & 1) != 0, (choice & 2) != 0, (choice & 4) != 0};
            if ((in_pairs.residual && !has_residual) || (in_pairs.x && normalizes)) continue;
            CAPTURE(choice);
            const std::vector<float> y =
                c.run(in_pairs, has_residual, normalizes, choice % 3 != 0, 1);
            for (std::size_t i = 0; i < y.size(); ++i) {
              const float rounded = float(halftone::bfloat16(expected[i]));
              wrong += y[i] != (in_pairs.y ? rounded : expected[i]);
              different += rounded != expected[i];
            }
            CHECK(wrong == 0);
            CHECK(c.run(in_pairs, has_residual, normalizes, choice % 3 == 0, 2) == y);
          }
        }
      }
    }
  }
  CHECK(different > 1000);
}
