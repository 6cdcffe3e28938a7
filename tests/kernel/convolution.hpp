#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <halftone/kernel/conv.hpp>
#include <type_traits>
#include <vector>

/// Convolutions as kernels: made-up numbers, the definition, and one run in any layout.
namespace convolution {

using namespace halftone::kernel;

inline ConvShape shape2(std::int64_t batch, std::int64_t channels, std::int64_t filters,
                        std::int64_t groups, std::int64_t height, std::int64_t width,
                        std::int64_t kernel_h, std::int64_t kernel_w, std::int64_t stride = 1,
                        std::int64_t pad = 0, std::int64_t dilation = 1) {
  ConvShape s;
  s.batch = batch, s.channels = channels, s.filters = filters, s.groups = groups;
  s.input[1] = height, s.input[2] = width;
  s.kernel[1] = kernel_h, s.kernel[2] = kernel_w;
  s.stride[1] = s.stride[2] = stride;
  s.dilation[1] = s.dilation[2] = dilation;
  s.pads_begin[1] = s.pads_begin[2] = s.pads_end[1] = s.pads_end[2] = pad;
  return s;
}

template <class T>
std::vector<T> numbers(std::int64_t n, unsigned seed, int range) {
  std::vector<T> v(n);
  for (T& x : v) {
    seed = seed * 1664525 + 1013904223;
    const int i = int(seed >> 16) % (2 * range + 1) - range;
    x = std::is_integral_v<T> ? T(i) : T(float(i) / 8);
  }
  return v;
}

/// The weights in the other order, see WeightOrder.
inline std::vector<float> flipped(const ConvShape& s, const std::vector<float>& w) {
  const std::int64_t size = s.kernel_size();
  std::vector<float> all(w.size());
  for (std::int64_t i = 0; i < s.filters * s.channels; ++i) {
    const std::int64_t f = i / s.channels, c = i % s.channels;
    for (std::int64_t t = 0; t < size; ++t) {
      all[(c * s.filters + f) * size + size - 1 - t] = w[i * size + t];
    }
  }
  return all;
}

/// The definition, in the compute type's own arithmetic for integers and in double otherwise.
template <class T>
std::vector<T> reference(const ConvShape& s, const std::vector<T>& x, const std::vector<T>& w,
                         const ConvEpilogue<T>& e) {
  using R = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
  std::vector<T> y(s.batch * s.filters * s.output_pixels());
  std::size_t at = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t f = 0; f < s.filters; ++f)
      for (std::int64_t od = 0; od < s.output(0); ++od)
        for (std::int64_t oh = 0; oh < s.output(1); ++oh)
          for (std::int64_t ow = 0; ow < s.output(2); ++ow, ++at) {
            R sum = e.bias ? R(e.bias[f]) : R(0);
            for (std::int64_t c = 0; c < s.channels_per_group(); ++c)
              for (std::int64_t t = 0; t < s.kernel_size(); ++t) {
                const std::int64_t k[3] = {t / s.kernel[2] / s.kernel[1],
                                           t / s.kernel[2] % s.kernel[1], t % s.kernel[2]};
                const std::int64_t o[3] = {od, oh, ow};
                std::int64_t i[3];
                bool inside = true;
                for (int a = 0; a < 3; ++a) {
                  i[a] = o[a] * s.stride[a] - s.pads_begin[a] + k[a] * s.dilation[a];
                  inside = inside && i[a] >= 0 && i[a] < s.input[a];
                }
                if (!inside) continue;
                const std::int64_t channel = f / s.filters_per_group() * s.channels_per_group() + c;
                sum +=
                    R(x[((n * s.channels + channel) * s.input[0] + i[0]) * s.input[1] * s.input[2] +
                        i[1] * s.input[2] + i[2]]) *
                    R(w[(f * s.channels_per_group() + c) * s.kernel_size() + t]);
              }
            if (e.residual) sum += R(e.residual[at]);
            if (e.clamp && !std::is_integral_v<T>) {
              sum = sum < R(e.lower) ? R(e.lower) : sum > R(e.upper) ? R(e.upper) : sum;
            }
            y[at] = T(sum);
          }
  return y;
}

template <class T>
T* aligned(std::vector<T>& v) {
  const auto address = reinterpret_cast<std::uintptr_t>(v.data());
  return reinterpret_cast<T*>((address + 63) / 64 * 64);
}

/// An executor of two threads that runs the tasks in reverse order.
inline void reversed(void*, std::int64_t count, Executor::Task task, void* context) {
  for (std::int64_t i = count; i-- > 0;) task(context, i);
}

struct Seen {
  std::int64_t elements = 0;
};
template <class T>
void twice(void* context, T* block, std::int64_t, std::int64_t, std::int64_t rows,
           std::int64_t columns, std::int64_t ld) {
  static_cast<Seen*>(context)->elements += rows * columns;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) block[i * ld + j] = T(block[i * ld + j] + T(1));
  }
}

/// Kinds: those of whose code there is any.
template <class T, unsigned Kinds = every_conv>
std::vector<T> run(const ConvShape& s, Layout input, Layout output, const std::vector<T>& x,
                   const std::vector<T>& w, ConvEpilogue<T> e, const Executor& executor,
                   std::int64_t edge = 0,
                   halftone::Precision precision = halftone::Precision::float32,
                   detail::WeightOrder order = detail::WeightOrder::plain) {
  const ConvPlan plan = conv_plan<T>(s, input, output, edge, precision);
  std::vector<char> packed(plan.packed_bytes + 64), workspace(plan.workspace_bytes + 64 + 64, 0x7f);
  char* const guard = aligned(workspace) + plan.workspace_bytes;
  conv_pack<T, Kinds>(plan, w.data(), aligned(packed), {}, order);
  std::vector<T> from(activation_size<T>(input, s.batch, s.channels, s.input_pixels()));
  std::vector<T> to(activation_size<T>(output, s.batch, s.filters, s.output_pixels()), T(77));
  std::vector<T> residual(to.size());
  if (input == Layout::blocked) {
    block_channels(x.data(), from.data(), s.batch, s.channels, s.input_pixels());
  } else {
    from = x;
  }
  if (e.residual != nullptr && output == Layout::blocked) {
    block_channels(e.residual, residual.data(), s.batch, s.filters, s.output_pixels());
    e.residual = residual.data();
  }
  const char mark = 0x7f;
  *guard = mark;
  conv<T, Kinds>(plan, from.data(), aligned(packed), to.data(), e, aligned(workspace), executor);
  CHECK(*guard == mark);
  if (e.post == nullptr) {  // the law: weights that it packs itself give the same bits
    const std::int64_t bytes = conv_unpacked_bytes<T>(plan);
    std::vector<char> room(bytes + 64 + 64, mark);
    std::vector<T> same(to.size(), T(77));
    conv_unpacked<T, Kinds>(plan, from.data(), w.data(), same.data(), e, aligned(room), executor,
                            order);
    CHECK(aligned(room)[bytes] == mark);
    const std::size_t size = to.size() * sizeof(T);
    CHECK((size == 0 || std::memcmp(same.data(), to.data(), size) == 0));
  }
  if (output == Layout::plain) return to;
  std::vector<T> plain(s.batch * s.filters * s.output_pixels());
  unblock_channels(to.data(), plain.data(), s.batch, s.filters, s.output_pixels());
  std::vector<T> again(to.size());
  block_channels(plain.data(), again.data(), s.batch, s.filters, s.output_pixels());
  std::size_t other = 0;  // the missing channels are zero
  for (std::size_t i = 0; i < to.size(); ++i) other += again[i] != to[i] && to[i] == to[i];
  CHECK(other == 0);
  return plain;
}

}  // namespace convolution
