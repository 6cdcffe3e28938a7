#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_SQUEEZE_HPP
#define HALFTONE_OP_SQUEEZE_HPP

#include <halftone/op/axes.hpp>

namespace halftone::op {

/// Removes dimensions of one element, without a copy.
///
/// x       any shape
/// axes    which ones, from the end if negative; absent: all of extent 1
/// source  ai.onnx Squeeze-13
struct Squeeze {
  static constexpr OpId id{"ai.onnx", "Squeeze", 13, 21, 23, 24, 25};
  static constexpr Signature signature = "x axes:I? -> y@x";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;

  static constexpr Inferred infer(const Inputs& in) {
    const TensorInfo& x = in[0];
    TensorInfo y{x.type, {}};
    if (!in.has(1)) {
      for (const std::int64_t extent : x.shape) {
        if (extent == dynamic) return Inferred::unknown();
        if (extent != 1) y.shape.push_back(extent);
      }
      return y;
    }
    if (!in.is_constant(1)) return Inferred::unknown();
    const Axes axes(in.integers(1), x.rank());
    if (!axes.ok()) return axes.mismatch();
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (!axes.contains(i)) {
        y.shape.push_back(x.shape[i]);
      } else if (contradict(x.shape[i], 1)) {
        return Inferred::mismatch("a dimension to remove has not one element", 1, x.shape[i]);
      }
    }
    return y;
  }
  static constexpr void gradient(auto& g) {
    g.dx(0) += GradientScope::reshape_to(g.dy(), g.x().info().shape);
  }
};

/// Squeeze whose axes are an attribute.
struct Squeeze_1 {
  Dims axes{};

  static constexpr OpId id{"ai.onnx", "Squeeze", 1, 11};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) { visit("axes", axes); }
  constexpr AnyTensor expand(auto x) const {
    if (axes.empty()) return squeeze(x);
    return squeeze(x, constant(*x.graph, axes));
  }
};

/// Inserts dimensions of one element, without a copy.
///
/// x       any shape
/// axes    where the new dimensions are in y, from its end if negative
/// source  ai.onnx Unsqueeze-13
struct Unsqueeze {
  static constexpr OpId id{"ai.onnx", "Unsqueeze", 13, 21, 23, 24, 25};
  static constexpr Signature signature = "x axes:I -> y@x";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;

  static constexpr Inferred infer(const Inputs& in) {
    const TensorInfo& x = in[0];
    if (!in.is_constant(1)) return Inferred::unknown();
    const std::vector<std::int64_t> given = in.integers(1);
    const std::size_t rank = x.rank() + given.size();
    if (rank > max_rank) {
      return Inferred::mismatch("too many dimensions", max_rank, static_cast<std::int64_t>(rank));
    }
    const Axes axes(given, rank);
    if (!axes.ok()) return axes.mismatch();
    TensorInfo y{x.type, {}};
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      y.shape.push_back(axes.contains(i) ? 1 : x.shape[next++]);
    }
    return y;
  }
  static constexpr void gradient(auto& g) {
    g.dx(0) += GradientScope::reshape_to(g.dy(), g.x().info().shape);
  }
};

/// Unsqueeze whose axes are an attribute.
struct Unsqueeze_1 {
  Dims axes{};

  static constexpr OpId id{"ai.onnx", "Unsqueeze", 1, 11};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) { visit("axes", axes); }
  constexpr AnyTensor expand(auto x) const { return unsqueeze(x, constant(*x.graph, axes)); }
};

}  // namespace halftone::op

#endif
