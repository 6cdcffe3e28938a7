#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_SCATTER_ELEMENTS_HPP
#define HALFTONE_OP_SCATTER_ELEMENTS_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/scatter_mode.hpp>
#include <halftone/op/gather_elements.hpp>

namespace halftone {

namespace detail {
inline constexpr std::string_view scatter_mode_names[] = {"none", "add", "mul", "max", "min"};
}
constexpr std::span<const std::string_view> names_of(ScatterMode) {
  return detail::scatter_mode_names;
}

namespace kernel {
// kernel/indexed.hpp
template <class T>
void scatter(const Executor& executor, ScatterMode mode, const T* x, std::int64_t size,
             const std::int64_t* offsets, std::int64_t count, std::int64_t run, std::int64_t groups,
             const T* updates, T* y);
}  // namespace kernel

namespace detail {

/// The gradient of a scatter. pick(x) takes from x what the indices point to, put(x, updates, mode)
/// scatters updates over it.
template <class G>
constexpr void scatter_gradient(G& g, ScatterMode mode, const auto& pick, const auto& put) {
  const auto x = g.x(0), u = g.x(2), y = g.y(), dy = g.dy();
  auto& graph = g.graph();
  const TensorInfo info = u.info();
  const auto zeros = [&](ElementType type, const Dims& shape) {
    return G::zeros(graph, {type, shape});
  };
  switch (mode) {
    case ScatterMode::replace: {
      if (g.needs(0)) g.dx(0) += put(dy, zeros(info.type, info.shape), ScatterMode::replace);
      if (!g.needs(2)) return;
      // Of several updates of one place the last one stays: that whose number stays there.
      const auto number = [&](std::int64_t i) {
        return AnyTensor{&graph, graph.add_constant({ElementType::int64, {}},
                                                    scalar_bytes(ElementType::int64, i))};
      };
      const auto numbers = op::reshape(op::range(number(0), number(info.elements()), number(1)),
                                       constant(graph, info.shape));
      const auto last =
          pick(put(zeros(ElementType::int64, x.info().shape), numbers, ScatterMode::replace));
      g.dx(2) += select(op::equal(last, numbers), pick(dy), 0);
      return;
    }
    case ScatterMode::add:
      g.dx(0) += dy;
      if (g.needs(2)) g.dx(2) += pick(dy);
      return;
    case ScatterMode::mul: {
      const auto one = op::expand(
          AnyTensor{&graph, graph.add_constant({info.type, {}}, scalar_bytes(info.type, 1))},
          constant(graph, x.info().shape));
      if (g.needs(0)) g.dx(0) += dy * put(one, u, ScatterMode::mul);
      if (!g.needs(2)) return;
      // The product without one factor, and without dividing by zero: of those that are not zero,
      // unless another factor of the place is.
      const auto is_zero = op::cast(op::equal(u, 0), {.to = info.type});
      const auto zero_count =
          pick(put(zeros(info.type, x.info().shape), is_zero, ScatterMode::add));
      const auto factors = u + is_zero;
      const auto rest = pick(dy * put(x, factors, ScatterMode::mul)) / factors;
      g.dx(2) += select(op::equal(zero_count, is_zero), rest, 0);
      return;
    }
    default:
      g.dx(0) += select(op::equal(x, y), dy, 0);
      if (g.needs(2)) g.dx(2) += select(op::equal(u, pick(y)), pick(dy), 0);
  }
}

}  // namespace detail

namespace op {

using ScatteredTypes = Joined<NumericTypes, TypeList<bool>>;

/// A tensor with elements written along a dimension: y[i, indices[i, j, k], k] = updates[i, j, k]
/// for `axis` 1, elsewhere y = x.
///
/// x, y       [a..., n, b...], n the extent along `axis`
/// indices    of x's rank, along other dimensions at most as long; numbers in [-n, n), negative
///            ones count from the end, which PopART does not have
/// updates    the shape of indices
/// reduction  what an update does to the element that is there: take its place, or be added,
///            multiplied, the larger or the smaller of both stays (NaN if one is). Texts can
///            only be replaced
/// grad       of updates: dy at their places, for those that stay; of x: dy, but 0 where it is
///            replaced. The largest and smallest get dy in full, equal ones too
/// limits     updates of one place take effect in their order; an index that is out of range is an
///            InputError of the run; integers wrap
/// source     ai.onnx ScatterElements-18; before 16 there is no reduction, in 16 no max and min
struct ScatterElements {
  std::int64_t axis = 0;
  ScatterMode reduction = ScatterMode::replace;

  static constexpr OpId id{"ai.onnx", "ScatterElements", 11, 13, 16, 18};
  static constexpr Signature signature = "x indices:I updates -> y";
  using types =
      TypeList<Joined<ScatteredTypes, TypeList<String>>, TypeList<std::int32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("reduction", reduction);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    const std::int64_t rows = in[1].shape[normalized_axis(axis, in[1].rank())];
    machine.keep(in[0]);
    machine.scatter(in[0], rows, 1, reduction != ScatterMode::replace,
                    rows > 0 ? in[1].elements() / rows : 0);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo indices, TensorInfo updates) const {
    if (x.type == ElementType::string && reduction != ScatterMode::replace) {
      return Inferred::mismatch("texts can only be replaced");
    }
    const Inferred picked = GatherElements{.axis = axis}.infer(x, indices);
    if (!picked.ok()) return picked;
    if (updates.rank() != indices.rank()) {
      return Inferred::mismatch("updates have another rank than the indices",
                                static_cast<std::int64_t>(indices.rank()),
                                static_cast<std::int64_t>(updates.rank()));
    }
    for (std::size_t i = 0; i < indices.rank(); ++i) {
      if (contradict(indices.shape[i], updates.shape[i])) {
        return Inferred::mismatch("updates have another shape than the indices", indices.shape[i],
                                  updates.shape[i]);
      }
    }
    return x;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> indices, View<const T> updates,
              View<T> y) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    auto* const offsets = static_cast<std::int64_t*>(call.workspace);
    kernel::element_offsets<I>(*call.executor, indices.data, indices.shape(), x.shape(), at,
                               offsets);
    kernel::scatter<T>(*call.executor, reduction, x.data, x.size(), offsets, indices.size(), 1,
                       indices.size(0, at), updates.data, y.data);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const I> indices,
                                  View<const T>, View<T>) const {
    return static_cast<std::size_t>(indices.size()) * sizeof(std::int64_t);
  }
  /// For texts.
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
  constexpr void gradient(auto& g) const {
    const auto indices = g.x(1);
    halftone::detail::scatter_gradient(
        g, reduction,
        [&](const auto& x) -> AnyTensor { return gather_elements(x, indices, {.axis = axis}); },
        [&](const auto& x, const auto& updates, ScatterMode mode) -> AnyTensor {
          return scatter_elements(x, indices, updates, {.axis = axis, .reduction = mode});
        });
  }
};

/// ScatterElements under its first name. source  ai.onnx Scatter-9
struct Scatter {
  std::int64_t axis = 0;

  static constexpr OpId id{"ai.onnx", "Scatter", 9, 11};
  static constexpr Signature signature = "x indices:I updates -> y";

  constexpr void attributes(auto&& visit) { visit("axis", axis); }
  template <std::same_as<AnyTensor> X>
  constexpr AnyTensor expand(X x, X indices, X updates) const {
    return OpFunction<ScatterElements>{}(x, indices, updates, ScatterElements{.axis = axis});
  }
};

/// A tensor with parts of it written: y[indices[i..., :]..., c...] = updates[i..., c...], elsewhere
/// y = x.
///
/// x, y       [n..., c...]
/// indices    [i..., k]: tuples of 1 to rank(x) numbers, each in [-n, n), negative ones count from
///            the end
/// updates    [i..., c...]
/// reduction  as for ScatterElements
/// grad       as for ScatterElements
/// limits     updates of one place take effect in their order; an index that is out of range is an
///            InputError of the run; integers wrap
/// source     ai.onnx ScatterND-18; before 16 there is no reduction, in 16 no max and min
struct ScatterND {
  ScatterMode reduction = ScatterMode::replace;

  static constexpr OpId id{"ai.onnx", "ScatterND", 11, 13, 16, 18};
  static constexpr Signature signature = "x indices:I updates -> y";
  using types = TypeList<Joined<ScatteredTypes, TypeList<String>>, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) { visit("reduction", reduction); }

  constexpr void cost(auto& machine, auto in, auto) const {
    const std::int64_t tuples = in[1].elements() / in[1].shape.back();
    machine.keep(in[0]);
    machine.scatter(in[0], tuples, tuples > 0 ? in[2].elements() / tuples : 0,
                    reduction != ScatterMode::replace);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo indices, TensorInfo updates) const {
    if (x.type == ElementType::string && reduction != ScatterMode::replace) {
      return Inferred::mismatch("texts can only be replaced");
    }
    const Inferred picked = GatherND{}.infer(x, indices);
    if (!picked.ok()) return picked;
    const TensorInfo& part = picked.outputs[0];
    if (!part.is_known()) return x;
    if (updates.rank() != part.rank()) {
      return Inferred::mismatch("updates have another rank than indices and data ask for",
                                static_cast<std::int64_t>(part.rank()),
                                static_cast<std::int64_t>(updates.rank()));
    }
    for (std::size_t i = 0; i < part.rank(); ++i) {
      if (contradict(part.shape[i], updates.shape[i])) {
        return Inferred::mismatch("updates have another shape than indices and data ask for",
                                  part.shape[i], updates.shape[i]);
      }
    }
    return x;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> indices, View<const T> updates,
              View<T> y) const {
    const std::size_t tuples = indices.rank - 1;
    const auto width = static_cast<std::size_t>(indices.extent(tuples));
    const std::int64_t count = indices.size(0, tuples);
    auto* const offsets = static_cast<std::int64_t*>(call.workspace);
    kernel::tuple_offsets<I>(*call.executor, indices.data, 1, count, width, x.shape(), 0, offsets);
    kernel::scatter<T>(*call.executor, reduction, x.data, x.size(), offsets, count,
                       x.size(width, x.rank), 1, updates.data, y.data);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const I> indices,
                                  View<const T>, View<T>) const {
    return static_cast<std::size_t>(indices.size(0, indices.rank - 1)) * sizeof(std::int64_t);
  }
  /// For texts.
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
  constexpr void gradient(auto& g) const {
    const auto indices = g.x(1);
    halftone::detail::scatter_gradient(
        g, reduction, [&](const auto& x) -> AnyTensor { return gather_nd(x, indices); },
        [&](const auto& x, const auto& updates, ScatterMode mode) -> AnyTensor {
          return scatter_nd(x, indices, updates, {.reduction = mode});
        });
  }
};

}  // namespace op
}  // namespace halftone

#endif
