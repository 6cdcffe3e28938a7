#pragma once

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/cast.hpp>
#include <halftone/op/list.hpp>

namespace halftone::op {

/// Dropout as inference has it: the tensor itself, without a copy where that is possible.
///
/// x              any shape
/// ratio          share of elements that training drops; an attribute up to version 10
/// training_mode  false or absent
/// mask           of x's shape, true: every element is kept
/// seed           of training
/// grad           dx = dy
/// source         ai.onnx Dropout-13
struct Dropout {
  Optional<float> ratio{};
  Optional<std::int64_t> seed{};

  static constexpr OpId id{"ai.onnx", "Dropout", 10, 12, 13, 22};
  static constexpr Signature signature = "x ratio:R? training_mode:B? -> y@x mask:B?";
  using types = TypeList<FloatTypes, FloatTypes, TypeList<bool>>;

  constexpr void attributes(auto&& visit) {
    visit("ratio", ratio);
    visit("seed", seed);
  }

  static constexpr Inferred infer(const Inputs& in) {
    if (in.has(1) && in[1].elements() != dynamic && in[1].elements() != 1) {
      return Inferred::mismatch("the ratio is not a scalar", 1, in[1].elements());
    }
    if (in.has(2)) {
      if (!in.is_constant(2)) {
        return Inferred::mismatch("training_mode is not known before the run");
      }
      for (const std::byte b : in.data(2)) {
        if (b != std::byte{0}) {
          return Inferred::mismatch("training_mode is true, only inference is offered", 0, 1);
        }
      }
    }
    std::vector<TensorInfo> outputs{in[0]};
    if (in.output_count() > 1) outputs.push_back({ElementType::boolean, in[0].shape});
    return outputs;
  }

  template <class T, class R, class B>
  void kernel(const KernelCall& call, View<const T> x, View<const R>, View<const B>, View<T> y,
              View<B> mask) const {
    if (y && y.data != x.data) {
      kernel::Box bytes;
      bytes.add(x.size() * std::int64_t{sizeof(T)}, 1, 1);
      kernel::copy<std::uint8_t>(*call.executor, bytes,
                                 reinterpret_cast<const std::uint8_t*>(x.data),
                                 reinterpret_cast<std::uint8_t*>(y.data));
    }
    if (mask) kernel::fill<B>(*call.executor, true, mask.data, mask.size());
  }
  static void gradient(auto& g) { g.dx(0) += g.dy(); }
};

/// Dropout whose mask has the type of x. The session, not is_test, says whether it is training.
struct Dropout_1 {
  float ratio = 0.5f;
  std::int64_t is_test = 0;

  static constexpr OpId id{"ai.onnx", "Dropout", 1, 6, 7};
  static constexpr Signature signature = "x -> y mask?";

  constexpr void attributes(auto&& visit) {
    visit("ratio", ratio);
    visit("is_test", is_test);
  }
  std::vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    auto y = inputs[0];
    const std::vector<TensorId> ids =
        detail::record(graph, descriptor<Dropout>, pack(Dropout{.ratio = ratio}), {y.id}, outputs);
    y.id = ids[0];
    if (outputs < 2) return {y};
    auto mask = y;
    mask.id = ids[1];
    return {y, cast(mask, {.to = inputs[0].info().type})};
  }
};

}  // namespace halftone::op
