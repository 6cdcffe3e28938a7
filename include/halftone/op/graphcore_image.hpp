#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_IMAGE_HPP
#define HALFTONE_OP_GRAPHCORE_IMAGE_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// y[..., c] = (image[..., c] * scale - offsets[c]) * scales[c], and 0 as fourth channel.
///
/// image            [..., 3], uint8 or floating point
/// offsets, scales  [3]
/// y                [..., 4], half for uint8, else the type of the image
/// scale            not 0
/// source           ai.graphcore NormalizeImage-1
struct NormalizeImage {
  float scale = 1;

  static constexpr OpId id{"ai.graphcore", "NormalizeImage", 1};
  static constexpr Signature signature = "image offsets:U scales:U -> y:U";
  using types = TypeList<TypeList<std::uint8_t, half, float>, TypeList<half, float>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("scale", scale); }
  static constexpr void cost(auto& machine, auto in, auto out) {
    TensorInfo image = in[0];
    image.type = out[0].type;
    if (in[0].type != image.type) machine.cast(in[0], image.type);
    for (const char* const name : {"Mul", "Sub", "Mul"}) machine.pass(name, image);
  }
  constexpr Inferred infer(TensorInfo image, TensorInfo offsets, TensorInfo scales) const {
    if (scale > -1e-9f && scale < 1e-9f) return Inferred::mismatch("scale is 0");
    if (image.rank() == 0 || contradict(image.shape.back(), 3)) {
      return Inferred::mismatch("the image has not 3 channels", 3,
                                image.rank() == 0 ? 0 : image.shape.back());
    }
    for (const TensorInfo& list : {offsets, scales}) {
      if (list.rank() != 1 || contradict(list.shape[0], 3)) {
        return Inferred::mismatch("a parameter has not one element per channel", 3,
                                  list.elements());
      }
    }
    TensorInfo y = image;
    if (image.type == ElementType::uint8) y.type = ElementType::float16;
    if (y.type != offsets.type) {
      return Inferred::types("the parameters have another type than the output", y.type,
                             offsets.type);
    }
    y.shape.back() = 4;
    return y;
  }
  template <class T, class U>
  void kernel(const KernelCall& call, View<const T> image, View<const U> offsets,
              View<const U> scales, View<U> y) const {
    const std::int64_t pixels = y.size() / 4;
    constexpr std::int64_t task = 1 << 14;
    kernel::parallel_for(*call.executor, (pixels + task - 1) / task, [&](std::int64_t t) {
      const std::int64_t end = pixels - t * task < task ? pixels : (t + 1) * task;
      for (std::int64_t i = t * task; i < end; ++i) {
        for (std::int64_t c = 0; c < 3; ++c) {
          const float value = static_cast<float>(image[3 * i + c]) * scale;
          y[4 * i + c] = static_cast<U>((value - static_cast<float>(offsets[c])) *
                                        static_cast<float>(scales[c]));
        }
        y[4 * i + 3] = static_cast<U>(0.f);
      }
    });
  }
};

}  // namespace halftone::op

#endif
