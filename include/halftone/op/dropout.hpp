#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_DROPOUT_HPP
#define HALFTONE_OP_DROPOUT_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/cast.hpp>
#include <halftone/op/random.hpp>

namespace halftone::op {

namespace random_rules {

constexpr bool is_ratio(double ratio) { return ratio >= 0 && ratio < 1; }

}  // namespace random_rules

/// In training, drops elements and scales the others up: y = x / (1 - ratio) or, with probability
/// `ratio`, 0. Otherwise the tensor itself.
///
/// x              any shape
/// ratio          in [0, 1), 0.5 if it is not given; an attribute up to version 10
/// training_mode  whether it drops; absent: it does not
/// mask           of x's shape, true where an element is kept
/// seed           see RandomNormal; the same one gives the same mask, in the gradient, say
/// grad           dx = dy, in training where the mask is true: dy / (1 - ratio)
/// limits         a ratio that is known in the run only is brought into [0, 1]; 1 drops everything.
///                PopART refuses the attribute `seed` and has up to version 10 alone, where the
///                session says whether it is training
/// source         ai.onnx Dropout-13; Philox 4x32-10
struct Dropout {
  Optional<float> ratio{};
  Optional<std::int64_t> seed{};

  static constexpr OpId id{"ai.onnx", "Dropout", 10, 12, 13, 22};
  static constexpr Signature signature = "x ratio:R? training_mode:B? seed:S? -> y mask:B?";
  using types = TypeList<FloatTypes, FloatTypes, TypeList<bool>, TypeList<std::uint32_t>>;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) {
    visit("ratio", ratio);
    visit("seed", seed);
  }

  static constexpr void cost(auto& machine, auto in, auto) { machine.random(in[0], 2); }
  constexpr Inferred infer(const Inputs& in) const {
    if (in.has(1) && in[1].elements() != dynamic && in[1].elements() != 1) {
      return Inferred::mismatch("the ratio is not a scalar", 1, in[1].elements());
    }
    if (in.has(2) && in[2].elements() != dynamic && in[2].elements() != 1) {
      return Inferred::mismatch("training_mode is not a scalar", 1, in[2].elements());
    }
    double known = ratio.value_or(0.5f);
    for (const double number : in.numbers(1)) known = number;
    if (!random_rules::is_ratio(known)) {
      return Inferred::mismatch("the ratio is not in [0, 1)");
    }
    Vector<TensorInfo> outputs{in[0]};
    if (in.output_count() > 1) outputs.push_back({ElementType::boolean, in[0].shape});
    return outputs;
  }

  template <class T, class R, class B, class S>
  void kernel(const KernelCall& call, View<const T> x, View<const R> ratio_input,
              View<const B> training_mode, View<const S> words, View<T> y, View<B> mask) const {
    if (training_mode && training_mode[0]) {
      const double share =
          ratio_input ? static_cast<double>(ratio_input[0]) : double{ratio.value_or(0.5f)};
      kernel::dropout<T>(*call.executor, words.data, share, x.data, y.data, mask.data, x.size());
      return;
    }
    if (y.data != x.data) {
      kernel::Box bytes;
      bytes.add(x.size() * std::int64_t{sizeof(T)}, 1, 1);
      kernel::copy<std::uint8_t>(*call.executor, bytes,
                                 reinterpret_cast<const std::uint8_t*>(x.data),
                                 reinterpret_cast<std::uint8_t*>(y.data));
    }
    if (mask) kernel::fill<B>(*call.executor, true, mask.data, mask.size());
  }
  constexpr void gradient(auto& g) const {
    const auto training = g.x(2), mask = g.y(1);
    const bool is_known = g.is_constant(2);
    if (training.is_absent() || (is_known && g.integers(2)[0] == 0)) {
      g.dx(0) += g.dy();
      return;
    }
    if (mask.is_absent()) {
      if (g.x(3).is_absent()) {
        fail(ErrorKind::unsupported,
             {.what = "the gradient of a Dropout in training needs its mask or its seed",
              .tensor = g.y(0).name(),
              .hint = "give the node its second output"});
      }
      g.dx(0) += op::dropout(g.dy(), g.x(1), training, g.x(3), *this);  // the same numbers
      return;
    }
    const auto kept = g.x(1).is_absent()
                          ? g.dy() * (1 / (1 - ratio.value_or(0.5f)))
                          : g.dy() / (1 - op::cast(g.x(1), {.to = g.dy().info().type}));
    const auto where_kept = select(mask, kept, 0);
    if (is_known) {
      g.dx(0) += where_kept;
    } else {
      g.dx(0) += select(training, where_kept, g.dy());
    }
  }
};

/// Dropout whose mask is drawn with another shape and repeated: whole channels, say.
///
/// x              any shape
/// shape          of the mask; broadcasts to that of x
/// ratio          in [0, 1)
/// training_mode  whether it drops; absent: the tensor itself. Models have the input x alone: the
///                session says whether it is training
/// seed           see RandomNormal
/// source         ai.graphcore ShapedDropout-1
struct ShapedDropout {
  Dims shape{};
  float ratio = 0.5f;

  static constexpr OpId id{"ai.graphcore", "ShapedDropout", 1};
  static constexpr Signature signature = "x training_mode:B? seed:S? -> y";
  using types = TypeList<FloatTypes, TypeList<bool>, TypeList<std::uint32_t>>;
  static constexpr bool in_place = true;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("shape", shape);
    visit("ratio", ratio);
  }
  static constexpr void cost(auto& machine, auto in, auto) { machine.random(in[0], 2); }
  constexpr Inferred infer(const Inputs& in) const {
    if (!random_rules::is_ratio(ratio)) {
      return Inferred::mismatch("the ratio is not in [0, 1)");
    }
    if (in.has(1) && in[1].elements() != dynamic && in[1].elements() != 1) {
      return Inferred::mismatch("training_mode is not a scalar", 1, in[1].elements());
    }
    const Dims& extents = in[0].shape;
    if (shape.size() > extents.size()) {
      return Inferred::mismatch("the mask's shape does not broadcast to that of the input",
                                static_cast<std::int64_t>(extents.size()),
                                static_cast<std::int64_t>(shape.size()));
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::int64_t mine = shape[i], other = extents[extents.size() - shape.size() + i];
      if (mine < 0 || (mine != 1 && contradict(other, mine))) {
        return Inferred::mismatch("the mask's shape does not broadcast to that of the input", other,
                                  mine);
      }
    }
    return in[0];
  }

  template <class T, class B, class S>
  void kernel(const KernelCall& call, View<const T> x, View<const B> training_mode,
              View<const S> words, View<T> y) const {
    if (training_mode && training_mode[0]) {
      std::int64_t steps[max_rank] = {}, step = 1;
      for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] != 1) steps[x.rank - shape.size() + i] = step;
        step *= shape[i];
      }
      kernel::shaped_dropout<T>(*call.executor, words.data, double{ratio}, x.extents, steps, x.rank,
                                x.data, y.data, x.size());
      return;
    }
    if (y.data == x.data) return;
    kernel::Box bytes;
    bytes.add(x.size() * std::int64_t{sizeof(T)}, 1, 1);
    kernel::copy<std::uint8_t>(*call.executor, bytes, reinterpret_cast<const std::uint8_t*>(x.data),
                               reinterpret_cast<std::uint8_t*>(y.data));
  }
  constexpr void gradient(auto& g) const {
    const auto training = g.x(1), seed = g.x(2);
    if (training.is_absent()) {
      g.dx(0) += g.dy();
      return;
    }
    if (seed.is_absent()) {
      fail(ErrorKind::unsupported,
           {.what = "the gradient of a ShapedDropout needs its seed", .tensor = g.y(0).name()});
    }
    g.dx(0) += op::shaped_dropout(g.dy(), training, seed, *this);  // the same numbers
  }
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
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    auto y = inputs[0];
    const Vector<TensorId> ids = detail::record(graph, Dropout{.ratio = ratio}, {y.id}, outputs);
    y.id = ids[0];
    if (outputs < 2) return {y};
    auto mask = y;
    mask.id = ids[1];
    return {y, cast(mask, {.to = inputs[0].info().type})};
  }
};

}  // namespace halftone::op

#endif
