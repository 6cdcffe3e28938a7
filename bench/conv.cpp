// Rates of convolutions, one thread, batch 1, as shares of the peak measured in the same run, and the
// time of layers, and of the gradients of their weights, by the direct sum beside that by Winograd's forms.
#include <span>

#include <halftone/kernel/conv.hpp>
#include <halftone/kernel/conv_gradient.hpp>

#include "narrow_peak.hpp"

namespace {

using namespace halftone::kernel;

double layer(const char* model, std::int64_t channels, std::int64_t filters, std::int64_t size,
             std::int64_t kernel, std::int64_t stride, Layout input, Layout output,
             std::int64_t groups = 1, std::int64_t batch = 1,
             halftone::Precision precision = halftone::Precision::float32) {
  ConvShape s;
  s.batch = batch, s.channels = channels, s.filters = filters, s.groups = groups;
  s.input[1] = s.input[2] = size;
  s.kernel[1] = s.kernel[2] = kernel;
  s.stride[1] = s.stride[2] = stride;
  for (int a = 1; a < 3; ++a) s.pads_begin[a] = s.pads_end[a] = kernel / 2;
  const char* const layouts = input != output          ? " from plain"
                              : input == Layout::plain ? " plain"
                                                       : "";
  ConvPlan plan = conv_plan<float>(s, input, output, 0, precision);
  if (plan.amx) {  // as `pair_channels` has it
    if (input == Layout::blocked && conv_takes_pairs(plan)) input = Layout::pairs;
    if (output == Layout::blocked && conv_makes_pairs(plan)) output = Layout::pairs;
    plan = conv_plan<float>(s, input, output, 0, precision);
  }
  bench::Buffer<float> x(activation_size<float>(input, batch, channels, s.input_pixels()));
  bench::Buffer<float> y(activation_size<float>(output, batch, filters, s.output_pixels()));
  bench::Buffer<float> w(filters * channels / groups * kernel * kernel), bias(filters);
  bench::Buffer<char> packed(plan.packed_bytes), workspace(plan.workspace_bytes);
  x.randomize(1), w.randomize(2), bias.randomize(3);
  if (input == Layout::pairs) {
    auto* const pairs = reinterpret_cast<halftone::bfloat16*>(x.data());
    const std::int64_t words = activation_size<float>(input, batch, channels, s.input_pixels());
    for (std::int64_t i = 0; i < 2 * words; ++i) pairs[i] = float(i % 17) / 8 - 1;
  }
  conv_pack(plan, w.data(), packed.data());
  ConvEpilogue<float> e;
  e.bias = bias.data();
  e.clamp = true;
  e.upper = 1e30f;
  char name[100];
  std::snprintf(name, sizeof(name), "conv %-9s %lldx%lld %lld to %lld%s /%lld %lld^2%s", model,
                (long long)kernel, (long long)kernel, (long long)channels, (long long)filters,
                plan.pairs   ? " bfloat16"
                : groups > 1 ? " grouped"
                             : "",
                (long long)stride, (long long)size, layouts);
  const double flops = 2.0 * double(batch * filters * s.output_pixels() * kernel * kernel) *
                       double(channels / groups);
  return bench::report(
      name, "GFLOP/s", "peak", 1e-9 * flops,
      [&] { conv(plan, x.data(), packed.data(), y.data(), e, workspace.data()); },
      plan.pairs ? bench::pair_peak : bench::fma_rate<float>, 0.2);
}

/// A layer of taps x taps by each form, in turn; every call has other weights, more of them than caches hold.
void forms(const char* model, std::int64_t channels, std::int64_t filters, std::int64_t size,
           std::int64_t taps = 3) {
  ConvShape s;
  s.channels = channels, s.filters = filters;
  for (int a = 1; a < 3; ++a) {
    s.input[a] = size, s.kernel[a] = taps;
    s.pads_begin[a] = s.pads_end[a] = taps / 2;
  }
  constexpr Layout blocked = Layout::blocked;
  bench::Buffer<float> x(activation_size<float>(blocked, 1, channels, s.input_pixels()));
  bench::Buffer<float> y(activation_size<float>(blocked, 1, filters, s.output_pixels()));
  bench::Buffer<float> w(filters * channels * taps * taps);
  x.randomize(1), w.randomize(2);
  struct Form {
    ConvPlan plan;
    std::int64_t copies;
    bench::Buffer<char> packed, workspace;
    double best = 1e9;
    explicit Form(const ConvPlan& p)
        : plan(p),
          copies((std::int64_t{64} << 20) / p.packed_bytes + 1),
          packed(copies * p.packed_bytes),
          workspace(p.workspace_bytes) {}
  };
  Form all[]{Form(conv_plan<float>(s, blocked, blocked)),
             Form(conv_plan<float>(s, blocked, blocked, 2)),
             Form(conv_plan<float>(s, blocked, blocked, 4)),
             Form(conv_plan<float>(s, blocked, blocked, 0,
                                   detail::multiplies_pairs() ? halftone::Precision::bfloat16
                                                              : halftone::Precision::float32))};
  for (Form& form : all) {
    for (std::int64_t i = 0; i < form.copies; ++i) {
      conv_pack(form.plan, w.data(), form.packed.data() + i * form.plan.packed_bytes);
    }
  }
  const double begin = bench::now();
  for (std::int64_t i = 0; bench::now() - begin < 1; ++i) {
    for (Form& form : all) {
      const char* const packed = form.packed.data() + i % form.copies * form.plan.packed_bytes;
      const double start = bench::now();
      conv(form.plan, x.data(), packed, y.data(), {}, form.workspace.data());
      const double seconds = bench::now() - start;
      if (seconds < form.best) form.best = seconds;
    }
  }
  std::printf("%-9s %lldx%lld %4lld to %4lld %3lld^2   direct %7.3f ms", model, (long long)taps,
              (long long)taps, (long long)channels, (long long)filters, (long long)size,
              1e3 * all[0].best);
  for (const Form& form : std::span(all).subspan(1)) {
    if (form.plan.edge == 0 && !form.plan.pairs) continue;  // there is no such form here
    const char* const name = form.plan.edge == 2   ? "F(2x2)"
                             : form.plan.edge == 4 ? "F(4x4)"
                                                   : "bfloat16";
    std::printf("   %s %7.3f ms, %.2f times as fast", name, 1e3 * form.best,
                all[0].best / form.best);
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// The gradient of the weights of a layer of taps x taps of so many images, by each form in turn.
void gradients(const char* model, std::int64_t channels, std::int64_t filters, std::int64_t size,
               std::int64_t batch, std::int64_t taps = 3) {
  const std::int64_t of_x[] = {batch, channels, size, size}, of_dy[] = {batch, filters, size, size};
  const std::int64_t of_dw[] = {filters, channels, taps, taps};
  bench::Buffer<float> x(batch * channels * size * size), dy(batch * filters * size * size);
  bench::Buffer<float> dw(filters * channels * taps * taps);
  x.randomize(1), dy.randomize(2);
  const halftone::View<const float> from{x.data(), of_x, 4}, with{dy.data(), of_dy, 4};
  const halftone::View<float> to{dw.data(), of_dw, 4};
  const halftone::Window window = halftone::Window::over(
      std::span(of_x).subspan(2),
      {.kernel = {taps, taps}, .pads = {taps / 2, taps / 2, taps / 2, taps / 2}});
  constexpr std::int64_t edges[] = {0, 2, 4};
  double best[] = {1e9, 1e9, 1e9};
  const double begin = bench::now();
  while (bench::now() - begin < 1) {
    for (int i = 0; i < (taps == 3 ? 3 : 2); ++i) {
      const WeightGradientForm form{.edge = edges[i]};
      bench::Buffer<char> workspace(
          std::int64_t(convolution_weight_gradient_workspace<float>(window, form, from, with, to)));
      const Executor alone;
      halftone::KernelCall call;
      call.workspace = workspace.data();
      call.executor = &alone;
      for (int round = 0; round < 2; ++round) {  // the first one has pages that are new
        const double start = bench::now();
        convolution_weight_gradient<float>(window, form, call, from, with, to);
        const double seconds = bench::now() - start;
        if (seconds < best[i]) best[i] = seconds;
      }
    }
  }
  const double flops = 2e-9 * double(batch * size * size * channels * filters * taps * taps);
  std::printf(
      "gradient %-7s %lldx%lld %4lld to %4lld %3lld^2, %lld images   direct %7.3f ms, %.0f "
      "GFLOP/s",
      model, (long long)taps, (long long)taps, (long long)channels, (long long)filters,
      (long long)size, (long long)batch, 1e3 * best[0], flops / best[0]);
  for (int i = 1; i < (taps == 3 ? 3 : 2); ++i) {
    std::printf("   F(%lldx%lld) %7.3f ms, %.2f times as fast", (long long)edges[i],
                (long long)edges[i], 1e3 * best[i], best[0] / best[i]);
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// The layers of ResNet-50.
void resnet(halftone::Precision precision) {
  constexpr Layout blocked = Layout::blocked;
  struct {
    std::int64_t channels, filters, size, kernel, stride;
  } constexpr layers[]{
      {64, 64, 56, 1, 1},    {64, 64, 56, 3, 1},    {64, 256, 56, 1, 1},    {256, 64, 56, 1, 1},
      {256, 128, 56, 1, 1},  {128, 128, 56, 3, 2},  {256, 512, 56, 1, 2},   {128, 512, 28, 1, 1},
      {512, 128, 28, 1, 1},  {128, 128, 28, 3, 1},  {512, 256, 28, 1, 1},   {256, 256, 28, 3, 2},
      {512, 1024, 28, 1, 2}, {256, 1024, 14, 1, 1}, {1024, 256, 14, 1, 1},  {256, 256, 14, 3, 1},
      {1024, 512, 14, 1, 1}, {512, 512, 14, 3, 2},  {1024, 2048, 14, 1, 2}, {512, 2048, 7, 1, 1},
      {2048, 512, 7, 1, 1},  {512, 512, 7, 3, 1},
  };
  for (const auto& l : layers) {
    layer("resnet50", l.channels, l.filters, l.size, l.kernel, l.stride, blocked, blocked, 1, 1,
          precision);
  }
}

}  // namespace

int main() {
  const Layout b = Layout::blocked, p = Layout::plain;
  layer("resnet50", 3, 64, 224, 7, 2, p, b);
  resnet(halftone::Precision::float32);
  if (detail::multiplies_pairs()) resnet(halftone::Precision::bfloat16);
  layer("vgg", 3, 64, 224, 3, 1, p, b);
  layer("vgg", 64, 64, 224, 3, 1, b, b);
  layer("vgg", 256, 256, 56, 3, 1, b, b);
  layer("lenet", 1, 32, 28, 5, 1, p, b, 1, 64);
  layer("lenet", 32, 64, 14, 5, 1, b, b, 1, 64);
  layer("mobilenet", 32, 32, 112, 3, 1, b, b, 32);
  layer("mobilenet", 96, 96, 112, 3, 2, b, b, 96);
  layer("mobilenet", 144, 144, 56, 3, 1, b, b, 144);
  layer("mobilenet", 576, 576, 14, 3, 1, b, b, 576);
  layer("mobilenet", 960, 960, 7, 3, 1, b, b, 960);
  layer("mobilenet", 16, 96, 112, 1, 1, b, b);
  layer("mobilenet", 144, 24, 56, 1, 1, b, b);
  layer("isolated", 64, 64, 56, 3, 1, p, p);
  layer("isolated", 256, 256, 14, 3, 1, p, p);
  layer("isolated", 64, 256, 56, 1, 1, p, p);
  layer("isolated", 144, 144, 56, 3, 1, p, p, 144);
  layer("resnext", 128, 128, 56, 3, 1, b, b, 32);
  layer("resnext", 256, 256, 56, 3, 2, b, b, 32);
  layer("resnext", 256, 256, 28, 3, 1, b, b, 32);
  layer("resnext", 512, 512, 14, 3, 1, b, b, 32);
  layer("resnext", 128, 128, 56, 3, 1, p, p, 32);

  forms("resnet", 64, 64, 56);
  forms("resnet", 128, 128, 28);
  forms("resnet", 256, 256, 14);
  forms("resnet", 512, 512, 7);
  forms("vgg", 64, 64, 224);
  forms("vgg", 64, 128, 112);
  forms("vgg", 128, 256, 56);
  forms("vgg", 256, 256, 56);
  forms("vgg", 256, 512, 28);
  forms("vgg", 512, 512, 28);
  forms("vgg", 512, 512, 14);
  forms("lenet", 32, 64, 14, 5);
  forms("alexnet", 64, 192, 27, 5);
  forms("squares", 256, 256, 14, 5);

  gradients("resnet", 64, 64, 56, 8);
  gradients("resnet", 128, 128, 28, 8);
  gradients("resnet", 256, 256, 14, 8);
  gradients("resnet", 512, 512, 7, 8);
  gradients("resnet", 64, 64, 16, 8);
  gradients("resnet", 128, 128, 8, 8);
  gradients("resnet", 256, 256, 4, 8);
  gradients("resnet", 512, 512, 2, 8);
  gradients("vgg", 64, 64, 224, 1);
  gradients("vgg", 256, 256, 56, 2);
  gradients("lenet", 32, 64, 14, 64, 5);
}
