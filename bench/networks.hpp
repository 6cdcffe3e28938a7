#pragma once

#include <cmath>
#include <string>

#include <halftone/halftone.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/in_half.hpp>

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

// Weights are made one after the other, never as arguments of one call: their order is then the
// same with every compiler.
inline AnyTensor batch_norm(Graph& g, AnyTensor x, std::int64_t channels) {
  const auto scale = filled_vector(g, channels, 1, "scale");
  const auto shift = filled_vector(g, channels, 0, "shift");
  const auto mean = filled_vector(g, channels, 0, "mean");
  return op::batch_normalization(x, scale, shift, mean, filled_vector(g, channels, 1, "variance"));
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
  const auto w = weight(g, {out, in});
  return op::gemm(x, w, filled_vector(g, out, 0, "b"), {.trans_b = 1});
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

/// VGG-11 (Simonyan and Zisserman 2014), 133 M parameters.
inline Graph vgg11(std::int64_t batch = 1) {
  Graph g;
  AnyTensor x = g.input<float>("image", {batch, 3, 224, 224});
  std::int64_t channels = 3;
  const std::int64_t filters[]{64, 128, 256, 256, 512, 512, 512, 512};
  for (int layer = 0; layer < 8; ++layer) {
    x = op::relu(conv(g, x, channels, filters[layer], 3, 1, 1, true));
    channels = filters[layer];
    const bool is_pooled = layer < 2 || layer % 2 == 1;
    if (is_pooled) x = op::max_pool(x, {.kernel_shape = {2, 2}, .strides = {2, 2}});
  }
  x = op::relu(dense(g, op::flatten(x), 512 * 7 * 7, 4096));
  x = op::relu(dense(g, x, 4096, 4096));
  output(g, dense(g, x, 4096, 1000), "logits");
  return g;
}

/// AlexNet as in torchvision (Krizhevsky 2014), 61 M parameters if it is 4096 wide.
inline Graph alexnet(std::int64_t batch = 4, std::int64_t width = 4096) {
  Graph g;
  AnyTensor x = g.input<float>("image", {batch, 3, 224, 224});
  const auto pool = [](AnyTensor t) { return max_pool(t, 0); };
  x = pool(op::relu(conv(g, x, 3, 64, 11, 4, 2, true)));
  x = pool(op::relu(conv(g, x, 64, 192, 5, 1, 2, true)));
  x = op::relu(conv(g, x, 192, 384, 3, 1, 1, true));
  x = op::relu(conv(g, x, 384, 256, 3, 1, 1, true));
  x = pool(op::relu(conv(g, x, 256, 256, 3, 1, 1, true)));
  x = op::flatten(x);
  x = op::relu(dense(g, x, 256 * 6 * 6, width));
  x = op::relu(dense(g, x, width, width));
  output(g, dense(g, x, width, 1000), "logits");
  return g;
}

/// Expands six times, filters each channel by itself, and narrows again (Sandler et al. 2018).
inline AnyTensor inverted_residual(Graph& g, AnyTensor x, std::int64_t channels,
                                   std::int64_t filters, std::int64_t stride, std::int64_t expand) {
  const std::int64_t wide = channels * expand;
  const auto relu6 = [](AnyTensor t) { return op::clip(t, 0.f, 6.f); };
  AnyTensor y = x;
  if (expand != 1) {
    y = relu6(batch_norm(g, conv(g, y, channels, wide, 1, 1, 0, false), wide));
  }
  const op::Conv by_channel{
      .kernel_shape = {3, 3}, .strides = {stride, stride}, .pads = {1, 1, 1, 1}, .group = wide};
  y = relu6(batch_norm(g, op::conv(y, weight(g, {wide, 1, 3, 3}), by_channel), wide));
  y = batch_norm(g, conv(g, y, wide, filters, 1, 1, 0, false), filters);
  return stride == 1 && channels == filters ? x + y : y;
}

/// MobileNet V2, 3.5 M parameters.
inline Graph mobilenet(std::int64_t batch = 1, std::int64_t size = 224) {
  Graph g;
  AnyTensor x = g.input<float>("image", {batch, 3, size, size});
  x = op::clip(batch_norm(g, conv(g, x, 3, 32, 3, 2, 1, false), 32), 0.f, 6.f);
  struct Stage {
    std::int64_t expand, filters, blocks, stride;
  };
  const Stage stages[]{{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                       {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  std::int64_t channels = 32;
  for (const Stage& stage : stages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      x = inverted_residual(g, x, channels, stage.filters, i == 0 ? stage.stride : 1, stage.expand);
      channels = stage.filters;
    }
  }
  x = op::clip(batch_norm(g, conv(g, x, channels, 1280, 1, 1, 0, false), 1280), 0.f, 6.f);
  output(g, dense(g, op::flatten(op::global_average_pool(x)), 1280, 1000), "logits");
  return g;
}

/// x [..., in] times a weight plus a bias.
inline AnyTensor linear(Graph& g, AnyTensor x, std::int64_t in, std::int64_t out) {
  const AnyTensor y = op::matmul(x, weight(g, {in, out}));
  return y + filled_vector(g, out, 0, "b");
}
inline AnyTensor layer_norm(Graph& g, AnyTensor x, std::int64_t width) {
  const auto scale = filled_vector(g, width, 1, "scale");
  return op::layer_normalization(x, scale, filled_vector(g, width, 0, "shift"));
}
inline AnyTensor reshaped(Graph& g, AnyTensor x, const Dims& shape) {
  return op::reshape(x, constant(g, shape));
}

inline AnyTensor dropped(AnyTensor x, float ratio) {
  return ratio == 0 ? x : AnyTensor(op::dropout(x, op::Dropout{.ratio = ratio}));
}

/// Keys and values of earlier tokens, [batch, heads, tokens, size], and then of all. The new ones are
/// joined to them or, with positions, written into them.
struct Cache {
  AnyTensor key, value;
  AnyTensor positions{};  ///< [batch]
};

/// Multi-head attention (Vaswani et al. 2017) of x [batch, tokens, width]. A share of the weights is
/// dropped in training.
inline AnyTensor attention(Graph& g, AnyTensor x, std::int64_t width, std::int64_t heads,
                           Cache* cache = nullptr, float drop_ratio = 0) {
  const std::int64_t size = width / heads;
  const auto split = [&](AnyTensor t) {
    return op::transpose(reshaped(g, t, {0, 0, heads, size}), {.perm = {0, 2, 1, 3}});
  };
  const AnyTensor query = split(linear(g, x, width, width));
  AnyTensor key = split(linear(g, x, width, width));
  AnyTensor value = split(linear(g, x, width, width));
  if (cache != nullptr) {
    const auto append = [&](AnyTensor past, AnyTensor more) -> AnyTensor {
      if (cache->positions.is_absent()) return op::concat(past, more, {.axis = 2});
      return op::tensor_scatter(past, more, cache->positions);
    };
    key = cache->key = append(cache->key, key);
    value = cache->value = append(cache->value, value);
  }
  const AnyTensor scores = op::matmul(query, op::transpose(key, {.perm = {0, 1, 3, 2}})) *
                           (1 / std::sqrt(static_cast<float>(size)));
  const AnyTensor weights = dropped(op::softmax(scores, {.axis = -1}), drop_ratio);
  const AnyTensor mixed = op::matmul(weights, value);
  const AnyTensor joined = reshaped(g, op::transpose(mixed, {.perm = {0, 2, 1, 3}}), {0, 0, width});
  return linear(g, joined, width, width);
}

/// BERT-base's encoder: 12 layers of 12 heads, 768 wide, normalized behind each part; 85 M
/// parameters. In training it drops a share of each part's results and of the weights of attention.
inline Graph encoder(std::int64_t batch = 1, std::int64_t tokens = 128, int layers = 12,
                     std::int64_t width = 768, float drop_ratio = 0) {
  Graph g;
  AnyTensor x = g.input<float>("x", {batch, tokens, width});
  for (int i = 0; i < layers; ++i) {
    g.push_scope("layer" + std::to_string(i));
    const AnyTensor mixed = attention(g, x, width, width / 64, nullptr, drop_ratio);
    x = layer_norm(g, x + dropped(mixed, drop_ratio), width);
    const AnyTensor wide = linear(g, x, width, 4 * width);
    const AnyTensor gelu = wide * 0.5f * (op::erf(wide * std::sqrt(0.5f)) + 1.f);
    x = layer_norm(g, x + dropped(linear(g, gelu, 4 * width, width), drop_ratio), width);
    g.pop_scope();
  }
  output(g, x, "y");
  return g;
}

/// BERT-Large with the words of 15 % of its tokens, which pre-training predicts; 370 M parameters.
inline Graph bert_large(std::int64_t batch, std::int64_t tokens) {
  constexpr std::int64_t width = 1024, words = 30'522;
  Graph g;
  const AnyTensor token = g.input<std::int64_t>("token", {batch, tokens});
  const auto embedded = op::gather(weight(g, {words, width}), token);
  AnyTensor x = layer_norm(g, embedded + weight(g, {tokens, width}, "position"), width);
  for (int i = 0; i < 24; ++i) {
    g.push_scope("layer" + std::to_string(i));
    x = layer_norm(g, x + attention(g, x, width, width / 64), width);
    const AnyTensor wide = op::gelu(linear(g, x, width, 4 * width));
    x = layer_norm(g, x + linear(g, wide, 4 * width, width), width);
    g.pop_scope();
  }
  const AnyTensor masked =
      op::slice(x, constant(g, {0}), constant(g, {tokens * 15 / 100}), constant(g, {1}));
  output(g, linear(g, masked, width, words), "logits");
  return g;
}

/// GPT-2's form of Gelu, in operators that every peer has.
inline AnyTensor tanh_gelu(AnyTensor x) {
  const AnyTensor inner = (x + x * x * x * 0.044715f) * 0.7978845608f;
  return x * 0.5f * (op::tanh(inner) + 1.f);
}

/// One step of a decoder of 2 layers, normalized before each part as GPT-2 (Radford et al. 2019):
/// one token a sequence, keys and values of the `past` tokens before it in a cache. The cache is an input
/// and an output of the model, or stays on the machine with room for the new token.
inline Graph decoder(std::int64_t batch = 1, std::int64_t past = 127, bool keeps_cache = false) {
  constexpr std::int64_t width = 768, heads = 12, words = 8192;
  Graph g;
  const AnyTensor token = g.input<std::int64_t>("token", {batch, 1});
  AnyTensor positions;
  if (keeps_cache) positions = g.input<std::int64_t>("positions", {batch});
  AnyTensor x = op::gather(weight(g, {words, width}), token);
  for (int i = 0; i < 2; ++i) {
    const std::string layer = std::to_string(i);
    const Dims shape{batch, heads, past + (keeps_cache ? 1 : 0), width / heads};
    const AnyTensor past_key = g.input<float>("past_key_" + layer, shape);
    const AnyTensor past_value = g.input<float>("past_value_" + layer, shape);
    Cache cache{past_key, past_value, positions};
    g.push_scope("layer" + layer);
    x = x + attention(g, layer_norm(g, x, width), width, heads, &cache);
    const AnyTensor wide = linear(g, layer_norm(g, x, width), width, 4 * width);
    x = x + linear(g, tanh_gelu(wide), 4 * width, width);
    g.pop_scope();
    output(g, cache.key, "key_" + layer);
    output(g, cache.value, "value_" + layer);
    if (!keeps_cache) continue;
    keep_state(past_key, cache.key);
    keep_state(past_value, cache.value);
  }
  output(g, linear(g, layer_norm(g, x, width), width, words), "logits");
  return g;
}

/// nanoGPT's size for characters (Karpathy 2022): 6 layers of 6 heads, 384 wide, 10.7 M parameters.
/// All tokens see each other: a mask would change neither work nor memory.
inline Graph small_gpt(std::int64_t batch = 4, std::int64_t tokens = 1024, int layers = 6) {
  constexpr std::int64_t width = 384, heads = 6, words = 65;
  Graph g;
  const AnyTensor token = g.input<std::int64_t>("token", {batch, tokens});
  AnyTensor x =
      op::gather(weight(g, {words, width}), token) + weight(g, {tokens, width}, "position");
  for (int i = 0; i < layers; ++i) {
    g.push_scope("layer" + std::to_string(i));
    x = x + attention(g, layer_norm(g, x, width), width, heads);
    const AnyTensor wide = linear(g, layer_norm(g, x, width), width, 4 * width);
    x = x + linear(g, op::gelu(wide), 4 * width, width);
    g.pop_scope();
  }
  output(g, linear(g, layer_norm(g, x, width), width, words), "logits");
  return g;
}

/// Two layers of LSTM cells, 256 wide, over sequences of 64 numbers, and a layer of 10 classes.
inline Graph lstm(std::int64_t batch = 16, std::int64_t steps = 64) {
  constexpr std::int64_t hidden = 256;
  Graph g;
  AnyTensor x = g.input<float>("x", {steps, batch, 64}), last;
  for (const std::int64_t in : {std::int64_t{64}, hidden}) {
    const op::LSTM layer{.hidden_size = hidden};
    const auto w = weight(g, {1, 4 * hidden, in});
    const auto [y, y_h, y_c] = op::lstm(x, w, weight(g, {1, 4 * hidden, hidden}), layer);
    x = reshaped(g, y, {steps, batch, hidden});
    last = y_h;
  }
  output(g, dense(g, reshaped(g, last, {batch, hidden}), hidden, 10), "logits");
  return g;
}

/// Three dense layers, 512 wide, for images of 28 x 28; 0.67 M parameters.
inline Graph mlp(std::int64_t batch = 64) {
  Graph g;
  AnyTensor x = g.input<float>("x", {batch, 784});
  x = op::relu(dense(g, x, 784, 512));
  x = op::relu(dense(g, x, 512, 512));
  output(g, dense(g, x, 512, 10), "logits");
  return g;
}

/// Two convolutions of 5 x 5 and two dense layers for images of 28 x 28; 3.3 M parameters.
inline Graph lenet(std::int64_t batch = 64) {
  Graph g;
  op::MaxPool pool;
  pool.kernel_shape = pool.strides = {2, 2};
  AnyTensor x = g.input<float>("x", {batch, 1, 28, 28});
  x = op::max_pool(op::relu(conv(g, x, 1, 32, 5, 1, 2, true)), pool);
  x = op::max_pool(op::relu(conv(g, x, 32, 64, 5, 1, 2, true)), pool);
  x = op::relu(dense(g, op::flatten(x), 64 * 7 * 7, 1024));
  output(g, dense(g, x, 1024, 10), "logits");
  return g;
}

/// ResNet-18 (He et al. 2015) for small images, 10 classes, 11.2 M parameters.
inline Graph resnet18(std::int64_t batch = 8, std::int64_t size = 64) {
  Graph g;
  AnyTensor x = g.input<float>("x", {batch, 3, size, size});
  x = max_pool(op::relu(batch_norm(g, conv(g, x, 3, 64, 7, 2, 3, false), 64)), 1);
  std::int64_t channels = 64;
  for (int block = 0; block < 8; ++block) {
    const std::int64_t width = std::int64_t{64} << (block / 2), stride = width / channels;
    AnyTensor y = op::relu(batch_norm(g, conv(g, x, channels, width, 3, stride, 1, false), width));
    y = batch_norm(g, conv(g, y, width, width, 3, 1, 1, false), width);
    if (stride != 1) x = batch_norm(g, conv(g, x, channels, width, 1, stride, 0, false), width);
    x = op::relu(y + x);
    channels = width;
  }
  output(g, dense(g, op::flatten(op::global_average_pool(x)), 512, 10), "logits");
  return g;
}

/// Two layers of the encoder above, and 2 classes that the first token gives.
inline Graph classifier(std::int64_t batch = 4, std::int64_t tokens = 128, std::int64_t width = 768,
                        float drop_ratio = 0) {
  Graph g = encoder(batch, tokens, 2, width, drop_ratio);
  const AnyTensor first = op::slice(g["y"], constant(g, {0}), constant(g, {1}), constant(g, {1}));
  g.outputs.clear();
  output(g, linear(g, reshaped(g, first, {batch, width}), width, 2), "logits");
  return g;
}

/// One step of SGD with momentum on the mean of the first output.
inline Graph training(Graph g) {
  const AnyTensor loss = op::mean(AnyTensor{&g, g.outputs[0]}, {.keepdims = 0});
  g.outputs.clear();
  train(g, loss, Sgd{.momentum = 0.9f});
  output(g, loss, "loss");
  return g;
}

}  // namespace networks
