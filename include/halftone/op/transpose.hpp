#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_TRANSPOSE_HPP
#define HALFTONE_OP_TRANSPOSE_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/axes.hpp>

namespace halftone::op {

/// Permutes the dimensions: dimension i of y is dimension perm[i] of x.
///
/// x       any shape
/// perm    every dimension once; empty: in reverse order
/// source  ai.onnx Transpose-13
struct Transpose {
  Dims perm{};

  static constexpr OpId id{"ai.onnx", "Transpose", 1, 13, 21, 23, 24, 25};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<BitTypes>;

  constexpr void attributes(auto&& visit) { visit("perm", perm); }

  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(TensorInfo x) const {
    const auto rank = static_cast<std::int64_t>(x.rank());
    if (!perm.empty() && perm.size() != x.rank()) {
      return Inferred::mismatch("perm has another number of dimensions", rank,
                                static_cast<std::int64_t>(perm.size()));
    }
    TensorInfo y{x.type, {}};
    Dims seen;
    for (std::size_t i = 0; i < x.rank(); ++i) {
      const auto from = static_cast<std::int64_t>(source(i, x.rank()));
      if (from < 0 || from >= rank) return Inferred::mismatch("perm is out of range", rank, from);
      if (seen.contains(from)) return Inferred::mismatch("a dimension is named twice", 0, from);
      seen.push_back(from);
      y.shape.push_back(x.shape[static_cast<std::size_t>(from)]);
    }
    return y;
  }

  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    const Dims from = kernel::row_major_strides(x.shape());
    const Dims to = kernel::row_major_strides(y.shape());
    kernel::Box box;
    for (std::size_t i = 0; i < y.rank; ++i) {
      box.add(y.extent(i), to[i], from[source(i, y.rank)]);
    }
    kernel::copy<T>(*call.executor, box, x.data, y.data);
  }
  constexpr void gradient(auto& g) const {
    const std::size_t rank = g.x().info().rank();
    Dims inverse = Dims::filled(rank, 0);
    for (std::size_t i = 0; i < rank; ++i) inverse[source(i, rank)] = static_cast<std::int64_t>(i);
    g.dx(0) += op::transpose(g.dy(), {.perm = inverse});
  }

 private:
  constexpr std::size_t source(std::size_t i, std::size_t rank) const {
    return perm.empty() ? rank - 1 - i : static_cast<std::size_t>(perm[i]);
  }
};

}  // namespace halftone::op

#endif
