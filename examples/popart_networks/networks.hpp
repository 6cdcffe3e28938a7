#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <popart/builder.hpp>
#include <popart/tensorinfo.hpp>
#include <string>
#include <vector>

/// Networks made with PopART's builder; bench/networks.hpp has the same ones in the library's own
/// functions.
class NetworkBuilder {
 public:
  using TensorId = popart::TensorId;
  using Extents = std::vector<int64_t>;

  NetworkBuilder() : builder_(popart::Builder::create()), onnx_(builder_->aiOnnxOpset17()) {}

  /// AlexNet as in torchvision (Krizhevsky 2014), 61 M parameters if it is 4096 wide. Gives logits.
  TensorId alexnet(int64_t batch, int64_t width = 4096) {
    TensorId x = input({batch, 3, 224, 224}, "image");
    x = pool(onnx_.relu({conv(x, 3, 64, 11, 4, 2)}));
    x = pool(onnx_.relu({conv(x, 64, 192, 5, 1, 2)}));
    x = onnx_.relu({conv(x, 192, 384, 3, 1, 1)});
    x = onnx_.relu({conv(x, 384, 256, 3, 1, 1)});
    x = pool(onnx_.relu({conv(x, 256, 256, 3, 1, 1)}));
    x = onnx_.flatten({x});
    x = onnx_.relu({dense(x, 256 * 6 * 6, width)});
    x = onnx_.relu({dense(x, width, width)});
    return output(dense(x, width, 1000));
  }

  /// BERT-base's encoder: 12 heads, 768 wide, normalized behind each part; 85 M parameters in 12
  /// layers. Gives y [batch, tokens, 768].
  TensorId encoder(int64_t batch, int64_t tokens, int layers = 12) {
    constexpr int64_t width = 768;
    TensorId x = input({batch, tokens, width}, "x");
    for (int i = 0; i < layers; ++i) {
      const popart::NameContext scope(*builder_, "layer" + std::to_string(i));
      x = normalized(onnx_.add({x, attention(x, width, 12)}), width);
      const TensorId wide = linear(x, width, 4 * width);
      const TensorId half = onnx_.mul({wide, number(0.5f)});
      const TensorId erf = onnx_.erf({onnx_.mul({wide, number(std::sqrt(0.5f))})});
      const TensorId gelu = onnx_.mul({half, onnx_.add({erf, number(1)})});
      x = normalized(onnx_.add({x, linear(gelu, 4 * width, width)}), width);
    }
    return output(x);
  }

  std::string model() const { return builder_->getModelProto(); }
  int64_t parameters() const { return parameters_; }

 private:
  TensorId input(const Extents& shape, const std::string& name) {
    return builder_->addInputTensor(popart::TensorInfo("FLOAT", shape), name);
  }
  TensorId output(const TensorId& id) {
    builder_->addOutputTensor(id);
    return id;
  }
  TensorId initialized(const Extents& shape, const std::vector<float>& values) {
    parameters_ += static_cast<int64_t>(values.size());
    return builder_->addInitializedInputTensor({values.data(), popart::TensorInfo("FLOAT", shape)},
                                               "w");
  }
  TensorId number(float value) {
    return onnx_.constant({&value, popart::TensorInfo("FLOAT", Extents{})});
  }
  TensorId numbers(const Extents& values) {
    return onnx_.constant(
        {values.data(), popart::TensorInfo("INT64", Extents{static_cast<int64_t>(values.size())})});
  }

  /// Random numbers, uniform, whose scale keeps the size of activations (He et al. 2015).
  TensorId weight(const Extents& shape) {
    int64_t elements = 1;
    for (const int64_t extent : shape) elements *= extent;
    const auto fan_in = static_cast<float>(elements) / static_cast<float>(shape[0]);
    const float scale = std::sqrt(6 / fan_in) / 2147483648.f;
    std::vector<float> values(static_cast<std::size_t>(elements));
    for (float& value : values) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      value = static_cast<float>(static_cast<int32_t>(state_ >> 32)) * scale;
    }
    return initialized(shape, values);
  }
  TensorId filled(int64_t size, float value) {
    return initialized({size}, std::vector<float>(static_cast<std::size_t>(size), value));
  }

  TensorId conv(const TensorId& x, int64_t channels, int64_t filters, int64_t kernel,
                int64_t stride, int64_t pad) {
    const TensorId w = weight({filters, channels, kernel, kernel}), b = filled(filters, 0);
    return onnx_.conv({x, w, b}, {}, 1, {kernel, kernel}, {pad, pad, pad, pad}, {stride, stride});
  }
  TensorId pool(const TensorId& x) {
    return onnx_.maxpool({x}, 1, {3, 3}, 0, {}, {}, 0, {2, 2})[0];
  }
  TensorId dense(const TensorId& x, int64_t in, int64_t out) {
    const TensorId w = weight({out, in}), b = filled(out, 0);
    return onnx_.gemm({x, w, b}, 1, 1, 0, 1);
  }
  TensorId linear(const TensorId& x, int64_t in, int64_t out) {
    const TensorId y = onnx_.matmul({x, weight({in, out})});
    return onnx_.add({y, filled(out, 0)});
  }
  TensorId normalized(const TensorId& x, int64_t width) {
    const TensorId scale = filled(width, 1), shift = filled(width, 0);
    return onnx_.layernormalization({x, scale, shift}, 1)[0];
  }
  /// Multi-head attention (Vaswani et al. 2017) of x [batch, tokens, width].
  TensorId attention(const TensorId& x, int64_t width, int64_t heads) {
    const int64_t size = width / heads;
    const auto split = [&](const TensorId& t) {
      return onnx_.transpose({onnx_.reshape({t, numbers({0, 0, heads, size})})}, {0, 2, 1, 3});
    };
    const TensorId query = split(linear(x, width, width));
    const TensorId key = split(linear(x, width, width));
    const TensorId value = split(linear(x, width, width));
    const TensorId products = onnx_.matmul({query, onnx_.transpose({key}, {0, 1, 3, 2})});
    const TensorId scores = onnx_.mul({products, number(1 / std::sqrt(static_cast<float>(size)))});
    const TensorId mixed = onnx_.matmul({onnx_.softmax({scores}, -1), value});
    const TensorId joined =
        onnx_.reshape({onnx_.transpose({mixed}, {0, 2, 1, 3}), numbers({0, 0, width})});
    return linear(joined, width, width);
  }

  std::unique_ptr<popart::Builder> builder_;
  popart::AiOnnxOpset17 onnx_;
  uint64_t state_ = 1;
  int64_t parameters_ = 0;
};
