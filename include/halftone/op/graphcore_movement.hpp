#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_MOVEMENT_HPP
#define HALFTONE_OP_GRAPHCORE_MOVEMENT_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/depth_to_space.hpp>
#include <halftone/op/slice.hpp>

namespace halftone::op {

/// The tensor itself; a node that stays where Identity would go. source  ai.graphcore Nop-1
struct Nop {
  static constexpr OpId id{"ai.graphcore", "Nop", 1};
  static constexpr Signature signature = "x -> y@x";
  using types = TypeList<BitTypes>;
  static constexpr Inferred infer(TensorInfo x) { return x; }
  static constexpr void gradient(auto& g) { g.dx(0) += g.dy(); }
};

/// The tensor itself; no gradient passes. source  ai.graphcore Detach-1
struct Detach {
  static constexpr OpId id{"ai.graphcore", "Detach", 1};
  static constexpr Signature signature = "x -> y@x";
  using types = TypeList<BitTypes>;
  static constexpr Inferred infer(TensorInfo x) { return x; }
  static constexpr void gradient(auto&) {}
};

/// The tensor itself. source  ai.graphcore TensorRemap-1
///
/// like        a tensor whose layout on the machine x takes there; not looked at
/// remap_type  what the gradient does with the layout
struct TensorRemap {
  std::int64_t remap_type = 0;

  static constexpr OpId id{"ai.graphcore", "TensorRemap", 1};
  static constexpr Signature signature = "x like? -> y";
  constexpr void attributes(auto&& visit) { visit("remap_type", remap_type); }
  constexpr auto expand(auto x, auto) const { return identity(x); }
};

/// Gives a variable the elements of another tensor.
///
/// variable, x  one shape and type; y is the variable, changed
/// source       ai.graphcore CopyVarUpdate-1
struct CopyVarUpdate {
  static constexpr OpId id{"ai.graphcore", "CopyVarUpdate", 1};
  static constexpr Signature signature = "variable& x -> y@variable";
  using types = TypeList<BitTypes>;
  static constexpr bool compiled_once = true;

  static constexpr void cost(auto& machine, auto in, auto) { machine.move(in[1]); }
  static constexpr Inferred infer(TensorInfo variable, TensorInfo x) {
    if (variable.rank() != x.rank()) {
      return Inferred::mismatch("the variable has another number of dimensions",
                                static_cast<std::int64_t>(variable.rank()),
                                static_cast<std::int64_t>(x.rank()));
    }
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (contradict(variable.shape[i], x.shape[i])) {
        return Inferred::mismatch("the variable has another shape", variable.shape[i], x.shape[i]);
      }
    }
    return variable;
  }
  template <class T>
  void kernel(const KernelCall& call, View<T>, View<const T> x, View<T> y) const {
    kernel::Box box;
    box.add(y.size(), 1, 1);
    kernel::copy<T>(*call.executor, box, x.data, y.data);
  }
};

/// Every strides[i]-th element along dimension i, from the first one on.
///
/// strides  one per dimension, at least 1
/// grad     dx = dy where the elements were, 0 elsewhere
/// source   ai.graphcore Subsample-1
struct Subsample {
  Dims strides{};

  static constexpr OpId id{"ai.graphcore", "Subsample", 1};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<BitTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("strides", strides); }
  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(TensorInfo x) const {
    if (strides.size() != x.rank()) {
      return Inferred::mismatch("strides are not one per dimension",
                                static_cast<std::int64_t>(x.rank()),
                                static_cast<std::int64_t>(strides.size()));
    }
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (strides[i] < 1) return Inferred::mismatch("a stride is less than 1", 1, strides[i]);
      std::int64_t& extent = x.shape[i];
      if (extent > 0) extent = (extent - 1) / strides[i] + 1;
    }
    return x;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    const Dims from = kernel::row_major_strides(x.shape());
    const Dims to = kernel::row_major_strides(y.shape());
    kernel::Box box;
    for (std::size_t i = 0; i < y.rank; ++i) {
      box.add(y.extent(i), to[i], y.extent(i) > 1 ? from[i] * strides[i] : 0);
    }
    kernel::copy<T>(*call.executor, box, x.data, y.data);
  }
  constexpr void gradient(auto& g) const {
    const Dims shape = g.x().info().shape;
    const auto list = [&](const Dims& values) { return constant(g.graph(), values).id; };
    Dims axes;
    for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    const auto dx = detail::record(
        g.graph(), SliceGradient{.shape = shape},
        {g.dy().id, list(Dims::filled(shape.size(), 0)), list(shape), list(axes), list(strides)},
        1);
    g.dx(0) += AnyTensor{&g.graph(), dx[0]};
  }
};

/// Turns round the order of elements along some dimensions.
///
/// dimensions  each once; from the end if negative, which PopART refuses
/// source      ai.graphcore Reverse-1
struct Reverse {
  Dims dimensions{};

  static constexpr OpId id{"ai.graphcore", "Reverse", 1};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) { visit("dimensions", dimensions); }
  constexpr AnyTensor expand(auto x) const {
    if (dimensions.empty()) return identity(x);
    const std::size_t n = dimensions.size();
    auto numbers = [&](std::int64_t value) { return constant(*x.graph, Dims::filled(n, value)); };
    return slice(x, numbers(-1), numbers(INT64_MIN), constant(*x.graph, dimensions), numbers(-1));
  }
};

/// Reshape whose new extents are an attribute: 0 copies one of x, -1 stands for what is left over.
/// source  ai.graphcore Reshape-1
struct GraphcoreReshape {
  Dims shape{};

  static constexpr OpId id{"ai.graphcore", "Reshape", 1};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) { visit("shape", shape); }
  constexpr AnyTensor expand(auto x) const { return reshape(x, constant(*x.graph, shape)); }
};

/// Slice whose numbers are attributes.
///
/// axes    from the end if negative; empty: the first ones
/// steps   empty: 1
/// limits  as ONNX's Slice: what PopART refuses (steps beyond 1 and -1) or computes otherwise
///         (start behind end: nothing) follows ONNX
/// source  ai.graphcore Slice-1
struct GraphcoreSlice {
  Dims starts{}, ends{}, axes{}, steps{};

  static constexpr OpId id{"ai.graphcore", "Slice", 1};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) {
    visit("starts", starts);
    visit("ends", ends);
    visit("axes", axes);
    visit("steps", steps);
  }
  constexpr AnyTensor expand(auto x) const {
    Graph& graph = *x.graph;
    Dims dimensions = axes, by = steps;
    for (std::size_t i = 0; axes.empty() && i < starts.size(); ++i) {
      dimensions.push_back(static_cast<std::int64_t>(i));
    }
    if (steps.empty()) by = Dims::filled(starts.size(), 1);
    return slice(x, constant(graph, starts), constant(graph, ends), constant(graph, dimensions),
                 constant(graph, by));
  }
};

/// Moves channels into blocks of height and width, see DepthToSpace.
/// source  ai.graphcore DepthToSpace-1, which is ai.onnx DepthToSpace-11
struct GraphcoreDepthToSpace {
  std::int64_t blocksize = required;
  DepthOrder mode = DepthOrder::dcr;

  static constexpr OpId id{"ai.graphcore", "DepthToSpace", 1};
  static constexpr Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) {
    visit("blocksize", blocksize);
    visit("mode", mode);
  }
  constexpr AnyTensor expand(auto x) const {
    return OpFunction<DepthToSpace>{}(x, DepthToSpace{.blocksize = blocksize, .mode = mode});
  }
};

/// Weights of the convolution that takes a gradient back: input and output channels of each group
/// change places and spatial dimensions are turned round.
///
/// w        [groups * m, c, ...]; y: [groups * c, m, ...]
/// group    number of groups
/// grad     dw = dy flipped the same way
/// limits   group_flip is about the layout on the machine
/// source   ai.graphcore ConvFlipWeights-1
struct ConvFlipWeights {
  std::int64_t group = 1, group_flip = 0;

  static constexpr OpId id{"ai.graphcore", "ConvFlipWeights", 1};
  static constexpr Signature signature = "w -> y";
  using types = TypeList<BitTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("group", group);
    visit("group_flip", group_flip);
  }
  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(TensorInfo w) const {
    if (w.rank() < 2) {
      return Inferred::mismatch("the weights have no channels", 2,
                                static_cast<std::int64_t>(w.rank()));
    }
    if (group < 1) return Inferred::mismatch("group is less than 1", 1, group);
    const std::int64_t outputs = w.shape[0], inputs = w.shape[1];
    if (outputs != dynamic && outputs % group != 0) {
      return Inferred::mismatch("the groups do not divide the channels evenly", outputs, group);
    }
    w.shape[0] = inputs == dynamic ? dynamic : inputs * group;
    w.shape[1] = outputs == dynamic ? dynamic : outputs / group;
    return w;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> w, View<T> y) const {
    if (y.size() == 0) return;
    const std::int64_t m = y.extent(1), c = w.extent(1), run = w.size(2, w.rank);
    // Turning round all spatial dimensions turns round the whole run.
    kernel::Box box;
    box.add(group, m * c * run, m * c * run);
    box.add(c, m * run, run);
    box.add(m, run, c * run);
    box.add(run, 1, -1);
    kernel::copy<T>(*call.executor, box, w.data + run - 1, y.data);
  }
  constexpr void gradient(auto& g) const {
    g.dx(0) += OpFunction<ConvFlipWeights>{}(g.dy(), *this);
  }
};

}  // namespace halftone::op

#endif
