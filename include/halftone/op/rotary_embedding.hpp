#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ROTARY_EMBEDDING_HPP
#define HALFTONE_OP_ROTARY_EMBEDDING_HPP

#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/gather.hpp>
#include <halftone/op/normalization.hpp>
#include <halftone/op/slice.hpp>
#include <halftone/op/transpose.hpp>

namespace halftone::kernel {

/// Where heads of `size` elements lie in [batch, heads, steps, size] or [batch, steps, heads, size].
struct HeadLayout {
  std::int64_t batch, heads, steps, size;
  std::int64_t head_stride, step_stride;
};

// kernel/rotary_embedding.hpp
template <class T, class Row>
void rotary_embedding(const Executor& executor, const HeadLayout& at, bool is_interleaved,
                      std::int64_t half, const T* x, const T* cos, const T* sin, const Row& row,
                      T* y);

}  // namespace halftone::kernel

namespace halftone::op {

/// Turns each pair of elements of each head by an angle that depends on the step: (a, b) becomes
/// (cos * a - sin * b, sin * a + cos * b).
///
/// x, y          [batch, heads, steps, size], or [batch, steps, heads * size] with num_heads
/// cos, sin      [batch, steps, pairs], or with position_ids [positions, pairs]; an extent of 1
///               serves for all
/// position_ids  [batch, steps], rows of cos and sin
/// rotary_embedding_dim  twice the pairs: elements of a head that are turned, the others stay; 0: all
/// interleaved   1: pairs are neighbours; 0: element i and element i + pairs
/// grad          dx is dy turned back; those of cos and sin sum over the heads
/// limits        a position that is out of range is an InputError of the run
/// source        ai.onnx RotaryEmbedding-23; Su et al. 2021, arXiv:2104.09864
struct RotaryEmbedding {
  std::int64_t interleaved = 0, rotary_embedding_dim = 0, num_heads = 0;

  static constexpr OpId id{"ai.onnx", "RotaryEmbedding", 23};
  static constexpr Signature signature = "x cos sin position_ids:I? -> y";
  using types = TypeList<FloatTypes, TypeList<std::int64_t>>;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) {
    visit("interleaved", interleaved);
    visit("rotary_embedding_dim", rotary_embedding_dim);
    visit("num_heads", num_heads);
  }
  static constexpr void cost(auto& machine, auto in, auto) {
    machine.pass("Mul", in[0]);
    machine.pass("Mul", in[0]);
    machine.pass("Add", in[0]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    const bool is_flat = x.rank() == 3;
    if (!is_flat && x.rank() != 4) {
      return Inferred::mismatch("the input has neither three nor four dimensions", 4,
                                static_cast<std::int64_t>(x.rank()));
    }
    if (is_flat && num_heads < 1) {
      return Inferred::mismatch("an input of three dimensions needs num_heads", 1, num_heads);
    }
    std::int64_t size = x.shape.back();
    if (is_flat && size != dynamic) {
      if (size % num_heads != 0) {
        return Inferred::mismatch("the heads do not divide the last dimension evenly", size,
                                  num_heads);
      }
      size /= num_heads;
    }
    std::int64_t turned = rotary_embedding_dim == 0 ? size : rotary_embedding_dim;
    if (turned != dynamic) {
      if (turned < 0 || turned % 2 != 0) {
        return Inferred::mismatch("the number of elements to turn is not even", 2, turned);
      }
      if (size != dynamic && turned > size) {
        return Inferred::mismatch("more elements are to be turned than a head has", size, turned);
      }
    }
    const std::int64_t pairs = turned == dynamic ? dynamic : turned / 2;
    const std::int64_t steps = x.shape[is_flat ? 1 : 2];
    const bool has_positions = in.has(3);
    for (std::size_t i = 1; i < 3; ++i) {
      const Dims& table = in[i].shape;
      if (table.size() != (has_positions ? 2 : 3)) {
        return Inferred::mismatch("cos or sin has not the right number of dimensions",
                                  has_positions ? 2 : 3, static_cast<std::int64_t>(table.size()));
      }
      if (contradict(table.back(), pairs)) {
        return Inferred::mismatch("cos or sin has not one number for each pair", pairs,
                                  table.back());
      }
      for (std::size_t d = 0; d + 1 < table.size(); ++d) {
        const std::int64_t wanted = has_positions ? in[1].shape[0] : d == 0 ? x.shape[0] : steps;
        if ((has_positions || table[d] != 1) && contradict(table[d], wanted)) {
          return Inferred::mismatch("cos or sin does not fit the input", wanted, table[d]);
        }
      }
      if (!has_positions && contradict(table[0], in[1].shape[0])) {
        return Inferred::mismatch("cos and sin have different shapes", in[1].shape[0], table[0]);
      }
      if (!has_positions && contradict(table[1], in[1].shape[1])) {
        return Inferred::mismatch("cos and sin have different shapes", in[1].shape[1], table[1]);
      }
    }
    if (has_positions) {
      const Dims& ids = in[3].shape;
      if (ids.size() != 2) {
        return Inferred::mismatch("position_ids are no matrix", 2,
                                  static_cast<std::int64_t>(ids.size()));
      }
      for (std::size_t d = 0; d < 2; ++d) {
        const std::int64_t wanted = d == 0 ? x.shape[0] : steps;
        if (ids[d] != 1 && contradict(ids[d], wanted)) {
          return Inferred::mismatch("position_ids do not fit the input", wanted, ids[d]);
        }
      }
    }
    return x;
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const T> cosines, View<const T> sines,
              View<const I> position_ids, View<T> y) const {
    const bool is_flat = x.rank == 3;
    kernel::HeadLayout at{.batch = x.extent(0),
                          .heads = is_flat ? num_heads : x.extent(1),
                          .steps = x.extent(is_flat ? 1 : 2),
                          .size = is_flat ? x.extent(2) / num_heads : x.extent(3),
                          .head_stride = 0,
                          .step_stride = 0};
    at.head_stride = is_flat ? at.size : at.steps * at.size;
    at.step_stride = is_flat ? at.heads * at.size : at.size;
    const std::int64_t half = cosines.extent(cosines.rank - 1), rows = cosines.extent(0);
    const auto place = [](const auto& t, std::int64_t sample, std::int64_t step) {
      const std::int64_t i = t.extent(0) == 1 ? 0 : sample, k = t.extent(1) == 1 ? 0 : step;
      return i * t.extent(1) + k;
    };
    for (std::int64_t i = 0; position_ids && i < position_ids.size(); ++i) {
      if (position_ids[i] < 0 || position_ids[i] >= rows) {
        halftone_index_error(position_ids[i], rows);
      }
    }
    kernel::rotary_embedding<T>(
        *call.executor, at, interleaved != 0, half, x.data, cosines.data, sines.data,
        [&](std::int64_t sample, std::int64_t step) {
          return position_ids ? position_ids[place(position_ids, sample, step)]
                              : place(cosines, sample, step);
        },
        y.data);
  }
  constexpr void gradient(auto& g) const {
    using halftone::detail::reshaped;
    auto& graph = g.graph();
    if (g.needs(0)) {
      g.dx(0) += OpFunction<RotaryEmbedding>{}(g.dy(), g.x(1), neg(g.x(2)), g.x(3), *this);
    }
    if (!g.needs(1) && !g.needs(2)) return;
    const Dims shape = g.x().info().shape;
    const Dims table = g.x(1).info().shape;
    const std::int64_t pairs = table.back();
    const bool is_flat = shape.size() == 3;
    const std::int64_t heads = is_flat ? num_heads : shape[1];
    const std::int64_t steps = shape[is_flat ? 1 : 2];
    const std::int64_t heads_at = is_flat ? 2 : 1;
    // The elements of one side of the pairs, with the heads summed over later.
    const auto side = [&](auto t, bool second) {
      t = halftone::detail::wide(t);
      if (is_flat) t = reshaped(t, {shape[0], steps, heads, shape[2] / heads});
      const std::int64_t start = second ? (interleaved != 0 ? 1 : pairs) : 0;
      const std::int64_t step = interleaved != 0 ? 2 : 1;
      const std::int64_t end = interleaved != 0 ? 2 * pairs : start + pairs;
      return AnyTensor(op::slice(t, constant(graph, {start}), constant(graph, {end}),
                                 constant(graph, {3}), constant(graph, {step})));
    };
    const auto a = side(g.x(), false), b = side(g.x(), true);
    const auto da = side(g.dy(), false), db = side(g.dy(), true);
    const auto add_to = [&](std::size_t input, AnyTensor terms) {
      auto d = AnyTensor(op::sum(terms, constant(graph, {heads_at}), {.keepdims = 0}));
      if (!g.x(3).is_absent()) {
        d = GradientScope::sum_to(d, {g.x(3).info().shape[0], g.x(3).info().shape[1], pairs});
        const auto sums = halftone::detail::record(graph, GatherGradient{.axis = 0, .shape = table},
                                                   {d.id, g.x(3).id}, 1);
        d = AnyTensor{&graph, sums[0]};
      }
      g.dx(input) += d;
    };
    if (g.needs(1)) add_to(1, da * a + db * b);
    if (g.needs(2)) add_to(2, db * a - da * b);
  }
};

}  // namespace halftone::op

#endif
