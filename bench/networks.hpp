#pragma once

#include <cmath>
#include <string>

#include <halftone/halftone.hpp>

/// Networks with random weights, made with the functions of the operators.
namespace networks {

using namespace halftone;

/// A weight with Kaiming's scale, so that activations keep their size through many layers.
inline AnyTensor weight(Graph& g, const Dims& shape, std::string_view name = "w") {
  const double fan_in = static_cast<double>(product(shape)) / static_cast<double>(shape[0]);
  const auto deviation = static_cast<float>(std::sqrt(2 / fan_in));
  return {&g, g.add_variable({ElementType::float32, shape},
                             Initial{Initial::Rule::normal, 0, deviation}, name)};
}
inline AnyTensor filled_vector(Graph& g, std::int64_t size, float value, std::string_view name) {
  return {&g, g.add_variable({ElementType::float32, {size}}, Initial{Initial::Rule::fill, value, 0},
                             name)};
}

inline AnyTensor conv(Graph& g, AnyTensor x, std::int64_t channels, std::int64_t filters,
                      std::int64_t kernel, std::int64_t stride, std::int64_t pad, bool bias) {
  const auto w = weight(g, {filters, channels, kernel, kernel});
  const op::Conv attributes{
      .kernel_shape = {kernel, kernel}, .strides = {stride, stride}, .pads = {pad, pad, pad, pad}};
  return bias ? op::conv(x, w, filled_vector(g, filters, 0, "b"), attributes)
              : op::conv(x, w, attributes);
}

inline AnyTensor batch_norm(Graph& g, AnyTensor x, std::int64_t channels) {
  return op::batch_normalization(
      x, filled_vector(g, channels, 1, "scale"), filled_vector(g, channels, 0, "shift"),
      filled_vector(g, channels, 0, "mean"), filled_vector(g, channels, 1, "variance"));
}

/// Windows of 3 x 3, stride 2.
inline AnyTensor max_pool(AnyTensor x, std::int64_t pad) {
  op::MaxPool pool;
  pool.kernel_shape = {3, 3};
  pool.strides = {2, 2};
  pool.pads = {pad, pad, pad, pad};
  return op::max_pool(x, pool);
}

inline AnyTensor dense(Graph& g, AnyTensor x, std::int64_t in, std::int64_t out) {
  return op::gemm(x, weight(g, {out, in}), filled_vector(g, out, 0, "b"), {.trans_b = 1});
}

inline AnyTensor bottleneck(Graph& g, AnyTensor x, std::int64_t& channels, std::int64_t width,
                            std::int64_t stride) {
  auto y = op::relu(batch_norm(g, conv(g, x, channels, width, 1, 1, 0, false), width));
  y = op::relu(batch_norm(g, conv(g, y, width, width, 3, stride, 1, false), width));
  y = batch_norm(g, conv(g, y, width, 4 * width, 1, 1, 0, false), 4 * width);
  if (channels != 4 * width || stride != 1) {
    x = batch_norm(g, conv(g, x, channels, 4 * width, 1, stride, 0, false), 4 * width);
  }
  channels = 4 * width;
  return op::relu(y + x);
}

/// ResNet-50 (He et al. 2015, with the stride in the 3x3 convolution), 25.6 M parameters.
inline Graph resnet50(std::int64_t batch = 1) {
  Graph g;
  AnyTensor x = g.input<float>("image", {batch, 3, 224, 224});
  x = op::relu(batch_norm(g, conv(g, x, 3, 64, 7, 2, 3, false), 64));
  x = max_pool(x, 1);
  std::int64_t channels = 64;
  const std::int64_t blocks[]{3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    g.push_scope("layer" + std::to_string(stage + 1));
    for (std::int64_t i = 0; i < blocks[stage]; ++i) {
      x = bottleneck(g, x, channels, std::int64_t{64} << stage, i == 0 && stage > 0 ? 2 : 1);
    }
    g.pop_scope();
  }
  x = dense(g, op::flatten(op::global_average_pool(x)), 2048, 1000);
  output(g, x, "logits");
  return g;
}

/// AlexNet as in torchvision (Krizhevsky 2014), 61 M parameters.
inline Graph alexnet(std::int64_t batch = 4) {
  Graph g;
  AnyTensor x = g.input<float>("image", {batch, 3, 224, 224});
  const auto pool = [](AnyTensor t) { return max_pool(t, 0); };
  x = pool(op::relu(conv(g, x, 3, 64, 11, 4, 2, true)));
  x = pool(op::relu(conv(g, x, 64, 192, 5, 1, 2, true)));
  x = op::relu(conv(g, x, 192, 384, 3, 1, 1, true));
  x = op::relu(conv(g, x, 384, 256, 3, 1, 1, true));
  x = pool(op::relu(conv(g, x, 256, 256, 3, 1, 1, true)));
  x = op::flatten(x);
  x = op::relu(dense(g, x, 256 * 6 * 6, 4096));
  x = op::relu(dense(g, x, 4096, 4096));
  output(g, dense(g, x, 4096, 1000), "logits");
  return g;
}

}  // namespace networks
