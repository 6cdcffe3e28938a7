#include <cstdio>
#include <halftone/halftone.hpp>
int main() {
  halftone::Session net(halftone::onnx::load("examples/digits/cnn_trained.onnx"));
  halftone::Array<float> image({1, 1, 8, 8});
  const auto result = net.run({{"image", image}});
  for (const float logit : result["logits"].values<float>()) std::printf("%.3f\n", logit);
}
