#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_LRN_HPP
#define HALFTONE_OP_LRN_HPP

#include <halftone/base/math.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/op/normalization.hpp>

namespace halftone::op {

/// Local response normalization: y = x / (bias + alpha / size * s)^beta, where s is the sum of x^2
/// over `size` neighbouring channels.
///
/// x, y    [batch, channels, spatial...]
/// size    channels c - (size - 1) / 2 to c + size / 2, as far as there are such
/// grad    with b = bias + alpha / size * s, dx = dy * b^-beta - 2 * alpha * beta / size * x * the
///         sum of dy * x * b^(-beta-1) over the channels whose s this one is in
/// limits  half and bfloat16 are computed in float; PopART's is an approximation
/// source  ai.onnx LRN-13; Krizhevsky et al. 2012
struct LRN {
  std::int64_t size = required;
  float alpha = 1e-4f, beta = 0.75f, bias = 1;

  static constexpr OpId id{"ai.onnx", "LRN", 1, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr std::uint32_t by_sample = 1;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("size", size);
    visit("alpha", alpha);
    visit("beta", beta);
    visit("bias", bias);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    machine.pass("Mul", in[0]);
    machine.pool(in[0], size, false);
    machine.pass("Pow", in[0]);
    machine.pass("Div", in[0]);
  }
  constexpr Inferred infer(TensorInfo x) const {
    if (x.rank() < 2) {
      return Inferred::mismatch("the input has no channels", 2,
                                static_cast<std::int64_t>(x.rank()));
    }
    if (size < 1) return Inferred::mismatch("size is not positive", 1, size);
    return x;
  }

  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    using S = halftone::detail::Compute<T>;
    constexpr std::int64_t block = 256;
    const std::int64_t channels = x.extent(1), pixels = x.size(2, x.rank);
    const std::int64_t blocks = (pixels + block - 1) / block;
    const std::int64_t below = (size - 1) / 2, above = size / 2;
    const S weight = static_cast<S>(alpha) / static_cast<S>(size);
    kernel::parallel_for(*call.executor, x.extent(0) * blocks, [&](std::int64_t task) {
      const std::int64_t start = task % blocks * block;
      const std::int64_t n = pixels - start < block ? pixels - start : block;
      const T* const from = x.data + task / blocks * channels * pixels + start;
      T* const to = y.data + task / blocks * channels * pixels + start;
      for (std::int64_t c = 0; c < channels; ++c) {
        S sums[block] = {};
        const std::int64_t last = channels - c > above ? c + above : channels - 1;
        for (std::int64_t k = c > below ? c - below : 0; k <= last; ++k) {
          for (std::int64_t i = 0; i < n; ++i) {
            const S v = static_cast<S>(from[k * pixels + i]);
            sums[i] += v * v;
          }
        }
        for (std::int64_t i = 0; i < n; ++i) sums[i] = static_cast<S>(bias) + weight * sums[i];
        if (beta == 0.75f) {
          for (std::int64_t i = 0; i < n; ++i) {
            const S root = math::sqrt(sums[i]);
            sums[i] = root * math::sqrt(root);
          }
        } else {
          for (std::int64_t i = 0; i < n; ++i) sums[i] = math::pow(sums[i], static_cast<S>(beta));
        }
        for (std::int64_t i = 0; i < n; ++i) {
          const std::int64_t at = c * pixels + i;
          to[at] = static_cast<T>(static_cast<S>(from[at]) / sums[i]);
        }
      }
    });
  }
  constexpr void gradient(auto& g) const {
    const auto x = halftone::detail::wide(g.x()), dy = halftone::detail::wide(g.dy());
    const Dims shape = x.info().shape;
    // Sums over neighbouring channels are pooling along them.
    const Dims lines{shape[0], 1, shape[1], product(shape.span().subspan(2))};
    const std::int64_t below = (size - 1) / 2, above = size / 2;
    const auto sums = [&](auto t, std::int64_t begin, std::int64_t end) {
      const auto pooled = op::average_pool(
          halftone::detail::reshaped(t, lines),
          {.kernel_shape = {size, 1}, .pads = {begin, 0, end, 0}, .count_include_pad = 1});
      return halftone::detail::reshaped(pooled, shape);
    };
    const auto base = sums(x * x, below, above) * double(alpha) + double(bias);
    const auto power = op::pow(base, -double(beta));
    const auto shared = sums(dy * x * power / base, above, below);
    g.dx(0) += dy * power - x * shared * (2 * double(alpha) * double(beta));
  }
};

}  // namespace halftone::op

#endif
