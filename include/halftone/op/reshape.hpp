#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_RESHAPE_HPP
#define HALFTONE_OP_RESHAPE_HPP

namespace halftone::op {

/// The same elements in another shape, without a copy.
///
/// x       any shape
/// shape   the new extents: 0 copies the one of x at that place (unless allowzero), -1 stands for
///         what is left over, once
/// limits  while shape is not known, y has its number of dimensions, all of unknown extent
/// source  ai.onnx Reshape-14
struct Reshape {
  bool allowzero = false;

  static constexpr OpId id{"ai.onnx", "Reshape", 5, 13, 14, 19, 21, 23, 24, 25};
  static constexpr Signature signature = "x shape:I -> y@x";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;

  constexpr void attributes(auto&& visit) { visit("allowzero", allowzero); }

  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    if (in[1].rank() != 1) {
      return Inferred::mismatch("the shape is not a vector", 1,
                                static_cast<std::int64_t>(in[1].rank()));
    }
    const std::int64_t rank = in[1].shape[0];
    if (rank > static_cast<std::int64_t>(max_rank)) {
      return Inferred::mismatch("too many dimensions", max_rank, rank);
    }
    if (!in.is_constant(1)) {
      if (rank == dynamic) return Inferred::unknown();
      if (rank == 0 && x.elements() != dynamic && x.elements() != 1) {
        return Inferred::mismatch("the number of elements differs", x.elements(), 1);
      }
      return TensorInfo{x.type, Dims::filled(static_cast<std::size_t>(rank), dynamic)};
    }
    // Extents that are copied need not be known to find the one that is left over.
    Dims shape, mine, others = x.shape;
    std::size_t left_over = max_rank;
    bool has_zero = false;
    for (const std::int64_t wanted : in.integers(1)) {
      const std::size_t i = shape.size();
      std::int64_t extent = wanted;
      if (extent == -1) {
        if (left_over != max_rank) return Inferred::mismatch("two extents are -1");
        left_over = i;
      } else if (extent < 0) {
        return Inferred::mismatch("an extent is negative", 0, extent);
      } else if (extent == 0 && !allowzero) {
        if (i >= x.rank()) {
          return Inferred::mismatch("an extent is copied that the input does not have",
                                    static_cast<std::int64_t>(x.rank()),
                                    static_cast<std::int64_t>(i));
        }
        extent = x.shape[i];
        others[i] = 1;
      } else {
        has_zero = has_zero || extent == 0;
        mine.push_back(extent);
      }
      shape.push_back(extent);
    }
    const std::int64_t have = product(others), want = product(mine);
    if (left_over != max_rank) {
      if (allowzero && has_zero) return Inferred::mismatch("extents 0 and -1 with allowzero");
      shape[left_over] = dynamic;
      if (have != dynamic) {
        if (want == 0 || have % want != 0) {
          return Inferred::mismatch("the extents do not divide the number of elements", have, want);
        }
        shape[left_over] = have / want;
      }
    } else if (have != dynamic && have != want && (product(x.shape) != 0 || product(shape) != 0)) {
      return Inferred::mismatch("the number of elements differs", product(x.shape), product(shape));
    }
    return TensorInfo{x.type, shape};
  }
  static constexpr void gradient(auto& g) {
    g.dx(0) += GradientScope::reshape_to(g.dy(), g.x().info().shape);
  }
};

}  // namespace halftone::op

#endif
