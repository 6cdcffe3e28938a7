#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_RANDOM_HPP
#define HALFTONE_OP_RANDOM_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

namespace random_rules {

using SeedTypes = TypeList<std::uint32_t>;

constexpr bool is_float_type(ElementType type) { return has_type(FloatTypes{}, type); }

constexpr Inferred infer_random(ElementType type, const Dims& shape) {
  if (!is_float_type(type)) {
    return Inferred::types("element type is not offered", ElementType::undefined, type);
  }
  for (const std::int64_t extent : shape) {
    if (extent < 0) return Inferred::mismatch("an extent is negative", 0, extent);
  }
  return TensorInfo{type, shape};
}

/// With the shape of x, and its type if no other is asked for.
constexpr Inferred infer_random_like(ElementType type, const Inputs& in) {
  if (type == ElementType::undefined) type = in[0].type;
  if (!is_float_type(type)) {
    return Inferred::types("element type is not offered", ElementType::undefined, type);
  }
  return TensorInfo{type, in[0].shape};
}

}  // namespace random_rules

/// Random numbers of a Gaussian. They follow from `seed`, two words that the session derives from
/// its own seed, the run and the node (from the attribute `seed` instead of session and node if
/// that is given): not from the number of threads, and the same for float, half and bfloat16 but
/// for rounding.
///
/// y       [shape]
/// dtype   element type of y
/// limits  not cut off. PopART refuses the attribute `seed`
/// source  ai.onnx RandomNormal-1; Philox 4x32-10, Box and Muller
struct RandomNormal {
  ElementType dtype = ElementType::float32;
  float mean = 0, scale = 1;
  Optional<float> seed{};
  Dims shape{};

  static constexpr OpId id{"ai.onnx", "RandomNormal", 1, 22};
  static constexpr Signature signature = "seed:S? -> y";
  using types = TypeList<random_rules::SeedTypes, FloatTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("dtype", dtype);
    visit("mean", mean);
    visit("scale", scale);
    visit("seed", seed);
    visit("shape", shape);
  }
  static constexpr void cost(auto& machine, auto, auto out) { machine.random(out[0], 4); }
  constexpr Inferred infer(const Inputs&) const { return random_rules::infer_random(dtype, shape); }

  template <class S, class T>
  void kernel(const KernelCall& call, View<const S> words, View<T> y) const {
    kernel::random_normal<T>(*call.executor, words.data, mean, scale, y.data, y.size());
  }
};

/// Random numbers in [low, high); see RandomNormal. What is rounded to T may be `high`.
///
/// source  ai.onnx RandomUniform-1
struct RandomUniform {
  ElementType dtype = ElementType::float32;
  float low = 0, high = 1;
  Optional<float> seed{};
  Dims shape{};

  static constexpr OpId id{"ai.onnx", "RandomUniform", 1, 22};
  static constexpr Signature signature = "seed:S? -> y";
  using types = TypeList<random_rules::SeedTypes, FloatTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("dtype", dtype);
    visit("low", low);
    visit("high", high);
    visit("seed", seed);
    visit("shape", shape);
  }
  static constexpr void cost(auto& machine, auto, auto out) { machine.random(out[0], 4); }
  constexpr Inferred infer(const Inputs&) const { return random_rules::infer_random(dtype, shape); }

  template <class S, class T>
  void kernel(const KernelCall& call, View<const S> words, View<T> y) const {
    kernel::random_uniform<T>(*call.executor, words.data, low, high, y.data, y.size());
  }
};

/// RandomNormal with the shape of x.
///
/// dtype   element type of y; that of x if it is not given
/// source  ai.onnx RandomNormalLike-1
struct RandomNormalLike {
  ElementType dtype = ElementType::undefined;
  float mean = 0, scale = 1;
  Optional<float> seed{};

  static constexpr OpId id{"ai.onnx", "RandomNormalLike", 1, 22};
  static constexpr Signature signature = "x seed:S? -> y:U";
  using types = TypeList<BitTypes, random_rules::SeedTypes, FloatTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("dtype", dtype);
    visit("mean", mean);
    visit("scale", scale);
    visit("seed", seed);
  }
  static constexpr void cost(auto& machine, auto, auto out) { machine.random(out[0], 4); }
  constexpr Inferred infer(const Inputs& in) const {
    return random_rules::infer_random_like(dtype, in);
  }

  template <class X, class S, class T>
  void kernel(const KernelCall& call, View<const X>, View<const S> words, View<T> y) const {
    kernel::random_normal<T>(*call.executor, words.data, mean, scale, y.data, y.size());
  }
};

/// RandomUniform with the shape of x.
///
/// dtype   element type of y; that of x if it is not given
/// source  ai.onnx RandomUniformLike-1
struct RandomUniformLike {
  ElementType dtype = ElementType::undefined;
  float low = 0, high = 1;
  Optional<float> seed{};

  static constexpr OpId id{"ai.onnx", "RandomUniformLike", 1, 22};
  static constexpr Signature signature = "x seed:S? -> y:U";
  using types = TypeList<BitTypes, random_rules::SeedTypes, FloatTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("dtype", dtype);
    visit("low", low);
    visit("high", high);
    visit("seed", seed);
  }
  static constexpr void cost(auto& machine, auto, auto out) { machine.random(out[0], 4); }
  constexpr Inferred infer(const Inputs& in) const {
    return random_rules::infer_random_like(dtype, in);
  }

  template <class X, class S, class T>
  void kernel(const KernelCall& call, View<const X>, View<const S> words, View<T> y) const {
    kernel::random_uniform<T>(*call.executor, words.data, low, high, y.data, y.size());
  }
};

/// 1 with the probability that the element of x says, else 0.
///
/// x       any shape, numbers in [0, 1]; what is less never gives 1, what is more always
/// dtype   element type of y: number or bool; that of x if it is not given
/// source  ai.onnx Bernoulli-15
struct Bernoulli {
  ElementType dtype = ElementType::undefined;
  Optional<float> seed{};

  static constexpr OpId id{"ai.onnx", "Bernoulli", 15, 22};
  static constexpr Signature signature = "x seed:S? -> y:U";
  using types = TypeList<FloatTypes, random_rules::SeedTypes, BitTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("dtype", dtype);
    visit("seed", seed);
  }
  static constexpr void cost(auto& machine, auto, auto out) { machine.random(out[0], 1); }
  constexpr Inferred infer(const Inputs& in) const {
    const ElementType type = dtype == ElementType::undefined ? in[0].type : dtype;
    if (type != ElementType::boolean && !has_type(NumericTypes{}, type)) {
      return Inferred::types("element type is not offered", ElementType::undefined, type);
    }
    return TensorInfo{type, in[0].shape};
  }

  template <class T, class S, class U>
  void kernel(const KernelCall& call, View<const T> x, View<const S> words, View<U> y) const {
    const auto one = static_cast<U>(
        one_bits(dtype == ElementType::undefined ? halftone::element_type<T> : dtype));
    kernel::bernoulli<T, U>(*call.executor, words.data, x.data, one, y.data, y.size());
  }

 private:
  static constexpr std::uint64_t one_bits(ElementType type) {
    switch (type) {
      case ElementType::float16:
        return 0x3c00;
      case ElementType::bfloat16:
        return 0x3f80;
      case ElementType::float32:
        return 0x3f800000;
      case ElementType::float64:
        return 0x3ff0000000000000;
      default:
        return 1;
    }
  }
};

/// Draws class numbers whose probabilities are in proportion to exp(x).
///
/// x       [batch, classes], at least one class
/// y       [batch, sample_size]
/// dtype   element type of y: int32 or int64
/// source  ai.onnx Multinomial-7
struct Multinomial {
  ElementType dtype = ElementType::int32;
  std::int64_t sample_size = 1;
  Optional<float> seed{};

  static constexpr OpId id{"ai.onnx", "Multinomial", 7, 22};
  static constexpr Signature signature = "x seed:S? -> y:I";
  using types = TypeList<FloatTypes, random_rules::SeedTypes, TypeList<std::int32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("dtype", dtype);
    visit("sample_size", sample_size);
    visit("seed", seed);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    // Sums of the classes' probabilities, and a search in them for each number.
    const std::int64_t steps = doublings(in[0].shape[1]);
    machine.pass("Exp", in[0]);
    machine.repeat(steps);
    machine.pass("Add", in[0]);
    machine.repeat(1);
    machine.random(out[0], 4);
    machine.repeat(steps);
    machine.pass("Less", out[0]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    if (dtype != ElementType::int32 && dtype != ElementType::int64) {
      return Inferred::types("element type is not offered", ElementType::undefined, dtype);
    }
    if (in[0].rank() != 2) {
      return Inferred::mismatch("the input is no matrix", 2,
                                static_cast<std::int64_t>(in[0].rank()));
    }
    if (in[0].shape[1] == 0) return Inferred::mismatch("there are no classes");
    if (sample_size < 0) return Inferred::mismatch("sample_size is negative", 0, sample_size);
    return TensorInfo{dtype, {in[0].shape[0], sample_size}};
  }

  template <class T, class S, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const S>,
                                  View<I>) const {
    return static_cast<std::size_t>(x.size()) * sizeof(double);
  }
  template <class T, class S, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const S> words, View<I> y) const {
    kernel::multinomial<T, I>(*call.executor, words.data, x.data, x.extent(0), x.extent(1),
                              sample_size, static_cast<double*>(call.workspace), y.data);
  }
};

/// The seed of one node: two words from the state of random numbers. Recorded by the pass
/// `seed_random`.
///
/// state   [6], two words each: the session's seed, the number of the run, the passes of loops
/// seed    [2]
/// number  of the node
/// fixed   with the number of the run takes the place of the session's seed and of the number
struct DeriveSeed {
  std::int64_t number = 0;
  Optional<std::int64_t> fixed{};

  static constexpr OpId id{"halftone", "DeriveSeed", 1};
  static constexpr Signature signature = "state -> seed";
  using types = TypeList<random_rules::SeedTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("number", number);
    visit("fixed", fixed);
  }
  static constexpr Inferred infer(TensorInfo) { return TensorInfo{ElementType::uint32, {2}}; }

  template <class T>
  void kernel(View<const T> state, View<T> seed) const {
    kernel::derive_seed<T>(state.data, number, fixed.present, fixed.value, seed.data);
  }
};

/// The state of random numbers for the next pass of a loop. Recorded by the pass `seed_random`.
///
/// state, next  [6], see DeriveSeed
/// number       of the loop
struct AdvanceRandom {
  std::int64_t number = 0;

  static constexpr OpId id{"halftone", "AdvanceRandom", 1};
  static constexpr Signature signature = "state -> next";
  using types = TypeList<random_rules::SeedTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("number", number); }
  static constexpr Inferred infer(TensorInfo state) { return state; }

  template <class T>
  void kernel(View<const T> state, View<T> next) const {
    kernel::advance_random<T>(state.data, number, next.data);
  }
};

}  // namespace halftone::op

#endif
