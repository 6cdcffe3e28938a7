#pragma once

#include <functional>
#include <string>
#include <vector>

#include "networks.hpp"

/// The models that bench/versus measures beside peers, with random weights: 22 in all.
namespace zoo {

using namespace halftone;
using networks::batch_norm;
using networks::conv;
using networks::dense;
using networks::weight;

inline AnyTensor conv_relu(Graph& g, AnyTensor x, std::int64_t channels, std::int64_t filters,
                           std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return op::relu(conv(g, x, channels, filters, kernel, stride, pad, true));
}
inline AnyTensor conv_norm(Graph& g, AnyTensor x, std::int64_t channels, std::int64_t filters,
                           std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return batch_norm(g, conv(g, x, channels, filters, kernel, stride, pad, false), filters);
}
/// A filter for each channel, 3 x 3 or larger, of the same extents but for the stride.
inline AnyTensor depthwise(Graph& g, AnyTensor x, std::int64_t channels, std::int64_t kernel,
                           std::int64_t stride) {
  const std::int64_t pad = kernel / 2;
  const op::Conv by_channel{.kernel_shape = {kernel, kernel},
                            .strides = {stride, stride},
                            .pads = {pad, pad, pad, pad},
                            .group = channels};
  const auto w = weight(g, {channels, 1, kernel, kernel});
  return batch_norm(g, op::conv(x, w, by_channel), channels);
}
inline AnyTensor average_pool(AnyTensor x, std::int64_t size) {
  op::AveragePool pool;
  pool.kernel_shape = pool.strides = {size, size};
  return op::average_pool(x, pool);
}
inline AnyTensor classified(Graph& g, AnyTensor x, std::int64_t channels) {
  return dense(g, op::flatten(op::global_average_pool(x)), channels, 1000);
}
inline AnyTensor images(Graph& g, std::int64_t batch) {
  return g.input<float>("image", {batch, 3, 224, 224});
}

/// SqueezeNet 1.1 (Iandola et al. 2016), 1.2 M parameters.
inline Graph squeezenet(std::int64_t batch = 1) {
  Graph g;
  AnyTensor x = networks::max_pool(conv_relu(g, images(g, batch), 3, 64, 3, 2, 0), 0);
  std::int64_t channels = 64;
  const auto fire = [&](std::int64_t squeezed, std::int64_t filters) {
    const AnyTensor s = conv_relu(g, x, channels, squeezed, 1, 1, 0);
    const AnyTensor small = conv_relu(g, s, squeezed, filters, 1, 1, 0);
    x = op::concat(small, conv_relu(g, s, squeezed, filters, 3, 1, 1), {.axis = 1});
    channels = 2 * filters;
  };
  fire(16, 64), fire(16, 64);
  x = networks::max_pool(x, 0);
  fire(32, 128), fire(32, 128);
  x = networks::max_pool(x, 0);
  fire(48, 192), fire(48, 192), fire(64, 256), fire(64, 256);
  x = conv_relu(g, x, channels, 1000, 1, 1, 0);
  output(g, op::flatten(op::global_average_pool(x)), "logits");
  return g;
}

/// DenseNet-121 (Huang et al. 2016), 8 M parameters.
inline Graph densenet121(std::int64_t batch = 1) {
  Graph g;
  AnyTensor x = op::relu(conv_norm(g, images(g, batch), 3, 64, 7, 2, 3));
  x = networks::max_pool(x, 1);
  std::int64_t channels = 64;
  constexpr std::int64_t growth = 32;
  const std::int64_t layers[]{6, 12, 24, 16};
  for (int block = 0; block < 4; ++block) {
    for (std::int64_t i = 0; i < layers[block]; ++i) {
      AnyTensor y = op::relu(batch_norm(g, x, channels));
      y = op::relu(conv_norm(g, y, channels, 4 * growth, 1, 1, 0));
      x = op::concat(x, conv(g, y, 4 * growth, growth, 3, 1, 1, false), {.axis = 1});
      channels += growth;
    }
    x = op::relu(batch_norm(g, x, channels));
    if (block == 3) break;
    x = average_pool(conv(g, x, channels, channels / 2, 1, 1, 0, false), 2);
    channels /= 2;
  }
  output(g, classified(g, x, channels), "logits");
  return g;
}

/// ShuffleNet V2 of width 1 (Ma et al. 2018), 2.3 M parameters.
inline Graph shufflenet(std::int64_t batch = 1) {
  Graph g;
  AnyTensor x = op::relu(conv_norm(g, images(g, batch), 3, 24, 3, 2, 1));
  x = networks::max_pool(x, 1);
  std::int64_t channels = 24, size = 56;
  const auto branch = [&](AnyTensor y, std::int64_t from, std::int64_t filters,
                          std::int64_t stride) {
    y = op::relu(conv_norm(g, y, from, filters, 1, 1, 0));
    return op::relu(conv_norm(g, depthwise(g, y, filters, 3, stride), filters, filters, 1, 1, 0));
  };
  const auto half_of = [&](AnyTensor y, std::int64_t begin, std::int64_t end) {
    return op::slice(y, constant(g, {begin}), constant(g, {end}), constant(g, {1}));
  };
  const auto shuffled = [&](AnyTensor y) {
    y = networks::reshaped(g, y, {batch, 2, channels / 2, size, size});
    y = op::transpose(y, {.perm = {0, 2, 1, 3, 4}});
    return networks::reshaped(g, y, {batch, channels, size, size});
  };
  for (const auto& [filters, blocks] : {std::pair{116, 4}, {232, 8}, {464, 4}}) {
    for (int i = 0; i < blocks; ++i) {
      const std::int64_t part = filters / 2;
      AnyTensor left, right;
      if (i == 0) {
        left = depthwise(g, x, channels, 3, 2);
        left = op::relu(conv_norm(g, left, channels, part, 1, 1, 0));
        right = branch(x, channels, part, 2);
        size /= 2;
      } else {
        left = half_of(x, 0, part);
        right = branch(half_of(x, part, filters), part, part, 1);
      }
      channels = filters;
      x = shuffled(op::concat(left, right, {.axis = 1}));
    }
  }
  output(g, classified(g, op::relu(conv_norm(g, x, channels, 1024, 1, 1, 0)), 1024), "logits");
  return g;
}

/// EfficientNet B0 (Tan and Le 2019), 5.3 M parameters.
inline Graph efficientnet_b0(std::int64_t batch = 1) {
  Graph g;
  const auto silu = [](AnyTensor x) { return x * op::sigmoid(x); };
  AnyTensor x = silu(conv_norm(g, images(g, batch), 3, 32, 3, 2, 1));
  struct Stage {
    std::int64_t expand, filters, blocks, stride, kernel;
  };
  const Stage stages[]{{1, 16, 1, 1, 3},  {6, 24, 2, 2, 3},  {6, 40, 2, 2, 5}, {6, 80, 3, 2, 3},
                       {6, 112, 3, 1, 5}, {6, 192, 4, 2, 5}, {6, 320, 1, 1, 3}};
  std::int64_t channels = 32;
  for (const Stage& stage : stages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      const std::int64_t wide = channels * stage.expand, stride = i == 0 ? stage.stride : 1;
      AnyTensor y = stage.expand == 1 ? x : silu(conv_norm(g, x, channels, wide, 1, 1, 0));
      y = silu(depthwise(g, y, wide, stage.kernel, stride));
      const std::int64_t squeezed = channels / 4;
      AnyTensor gate = silu(conv(g, op::global_average_pool(y), wide, squeezed, 1, 1, 0, true));
      gate = op::sigmoid(conv(g, gate, squeezed, wide, 1, 1, 0, true));
      y = conv_norm(g, y * gate, wide, stage.filters, 1, 1, 0);
      x = stride == 1 && channels == stage.filters ? x + y : y;
      channels = stage.filters;
    }
  }
  output(g, classified(g, silu(conv_norm(g, x, channels, 1280, 1, 1, 0)), 1280), "logits");
  return g;
}

/// Two layers of GPT-2's size over `tokens`, normalized before each part, without a mask.
inline Graph gpt2(std::int64_t tokens = 128) {
  constexpr std::int64_t width = 768, words = 8192;
  Graph g;
  const AnyTensor token = g.input<std::int64_t>("token", {1, tokens});
  const auto embedded = op::gather(weight(g, {words, width}), token);
  AnyTensor x = embedded + weight(g, {tokens, width}, "position");
  for (int i = 0; i < 2; ++i) {
    x = x + networks::attention(g, networks::layer_norm(g, x, width), width, 12);
    const AnyTensor wide = networks::linear(g, networks::layer_norm(g, x, width), width, 4 * width);
    x = x + networks::linear(g, networks::tanh_gelu(wide), 4 * width, width);
  }
  x = networks::layer_norm(g, x, width);
  output(g, op::matmul(x, weight(g, {width, words})), "logits");
  return g;
}

/// Two layers of GRU cells, 256 wide, over 64 steps of 128 numbers.
inline Graph gru(std::int64_t batch = 1) {
  constexpr std::int64_t hidden = 256, steps = 64;
  Graph g;
  AnyTensor x = g.input<float>("x", {steps, batch, 128});
  for (const std::int64_t in : {std::int64_t{128}, hidden}) {
    const op::GRU layer{.hidden_size = hidden};
    const auto w = weight(g, {1, 3 * hidden, in});
    const auto [y, y_h] = op::gru(x, w, weight(g, {1, 3 * hidden, hidden}), layer);
    x = networks::reshaped(g, y, {steps, batch, hidden});
  }
  output(g, x, "y");
  return g;
}

struct Model {
  std::string name;
  std::function<Graph()> make;
};

inline std::vector<Model> models() {
  using namespace networks;
  return {{"alexnet_b1", [] { return alexnet(1); }},
          {"alexnet_b4", [] { return alexnet(4); }},
          {"bert_base_s128", [] { return encoder(1, 128, 12, 768); }},
          {"bert_tiny_s128", [] { return encoder(1, 128, 2, 128); }},
          {"densenet121_b1", [] { return densenet121(); }},
          {"efficientnet_b0_b1", [] { return efficientnet_b0(); }},
          {"gpt2_2l_s128", [] { return gpt2(); }},
          {"gpt2_2l_step", [] { return decoder(); }},
          {"gru_b1", [] { return gru(); }},
          {"lenet_b1", [] { return lenet(1); }},
          {"lenet_b64", [] { return lenet(64); }},
          {"lstm_b1", [] { return lstm(1); }},
          {"lstm_b16", [] { return lstm(16); }},
          {"mlp_b1", [] { return mlp(1); }},
          {"mlp_b64", [] { return mlp(64); }},
          {"mobilenet_v2_b1", [] { return mobilenet(); }},
          {"resnet18_b1", [] { return resnet18(1, 224); }},
          {"resnet50_b1", [] { return resnet50(1); }},
          {"resnet50_b8", [] { return resnet50(8); }},
          {"shufflenet_b1", [] { return shufflenet(); }},
          {"squeezenet_b1", [] { return squeezenet(); }},
          {"vgg11_b1", [] { return vgg11(); }}};
}

}  // namespace zoo
