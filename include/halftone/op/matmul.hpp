#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MATMUL_HPP
#define HALFTONE_OP_MATMUL_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/product_types.hpp>

namespace halftone::op {

/// Matrix product, as numpy's matmul: y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n].
///
/// a, b    [..., m, k] and [..., k, n]; dimensions in front broadcast. Of rank 1: a row a [k], a
///         column b [k], without m (n) in y
/// limits  rank 0 is refused; half and bfloat16 sum in float; float8 in models, with a power of two
///         as third input: MatMulPow2Scaled
/// source  ai.onnx MatMul-13
struct MatMul {
  static constexpr OpId id{"ai.onnx", "MatMul", 1, 9, 13};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<ProductTypes>;
  static constexpr int packed_input = 1;

  static constexpr void cost(auto& machine, auto in, auto out) {
    // A matrix that all share is one product with more rows.
    const std::int64_t inner = in[0].shape.back(),
                       columns = in[1].rank() > 1 ? in[1].shape.back() : 1;
    const std::int64_t matrix = inner * columns;
    const std::int64_t groups = matrix > 0 ? in[1].elements() / matrix : 1;
    const std::int64_t outputs = out[0].elements(), each = groups * columns;
    machine.product({.groups = groups,
                     .rows = each > 0 ? outputs / each : 0,
                     .inner = inner,
                     .columns = columns});
  }
  static constexpr Inferred infer(TensorInfo a, TensorInfo b) {
    if (a.rank() == 0 || b.rank() == 0) {
      return Inferred::mismatch("a factor is a scalar", 1, 0);
    }
    const std::int64_t inner = a.shape.back();
    const std::int64_t other = b.shape[b.rank() == 1 ? 0 : b.rank() - 2];
    if (contradict(inner, other)) {
      return Inferred::mismatch("inner dimensions differ", inner, other);
    }
    Broadcast batch;
    batch.add(Dims(a.shape.span().first(a.rank() > 2 ? a.rank() - 2 : 0)));
    batch.add(Dims(b.shape.span().first(b.rank() > 2 ? b.rank() - 2 : 0)));
    if (!batch.ok) {
      return Inferred::mismatch("batch dimensions do not broadcast together", batch.expected,
                                batch.found);
    }
    TensorInfo y{a.type, batch.shape};
    if (a.rank() > 1) y.shape.push_back(a.shape[a.rank() - 2]);
    if (b.rank() > 1) y.shape.push_back(b.shape.back());
    return y;
  }
  static constexpr std::int64_t flops(auto in, auto out) {
    return 2 * out[0].elements() * in[0].shape.back();
  }

  template <class T>
  void kernel(const KernelCall& call, View<const T> a, View<const T> b, View<T> y) const {
    kernel::matmul<T>(call, a, b, y);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> a, View<const T> b,
                                  View<T> y) const {
    return kernel::matmul_workspace<T>(call, a, b, y);
  }
  template <class T>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const T> a, View<const T> b,
                                     View<T> y) const {
    return kernel::matmul_packed_bytes<T>(call, a, b, y);
  }
  template <class T>
  void pack(const KernelCall& call, void* packed, View<const T> a, View<const T> b,
            View<T> y) const {
    kernel::matmul_pack<T>(call, packed, a, b, y);
  }
  static constexpr void gradient(auto& g) {
    // Vectors as matrices of one row or column.
    const TensorInfo a = g.x(0).info(), b = g.x(1).info();
    Dims dims = g.y().info().shape;
    const auto with = [&](auto t, const Dims& shape) {
      return GradientScope::reshape_to(t, shape);
    };
    // A matrix that all share: its gradient is one product over all rows.
    if (a.rank() >= 2 && b.rank() == 2 && a.is_static() && a.elements() > 0 && b.elements() > 0) {
      const std::int64_t inner = b.shape[0], rows = a.elements() / inner;
      const auto flat_dy = with(g.dy(), {rows, b.shape[1]});
      if (g.needs(0)) g.dx(0) += with(op::gemm(flat_dy, g.x(1), {.trans_b = true}), a.shape);
      if (g.needs(1)) {
        g.dx(1) += op::gemm(with(g.x(0), {rows, inner}), flat_dy, {.trans_a = true});
      }
      return;
    }
    const auto left = a.rank() == 1 ? with(g.x(0), {1, a.shape[0]}) : g.x(0);
    const auto right = b.rank() == 1 ? with(g.x(1), {b.shape[0], 1}) : g.x(1);
    if (b.rank() == 1) dims.push_back(1);
    if (a.rank() == 1) {
      const std::int64_t columns = dims.back();
      dims.pop_back();
      dims.push_back(1);
      dims.push_back(columns);
    }
    const auto dy = dims == g.y().info().shape ? g.dy() : with(g.dy(), dims);
    const auto transposed = [](auto t) {
      Dims perm;
      const auto rank = static_cast<std::int64_t>(t.info().rank());
      for (std::int64_t i = 0; i < rank; ++i) perm.push_back(i);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      return op::transpose(t, {.perm = perm});
    };
    if (g.needs(0)) {
      const auto da = op::matmul(dy, transposed(right));
      g.dx(0) += a.rank() == 1 ? with(GradientScope::sum_to(da, left.info().shape), a.shape) : da;
    }
    if (g.needs(1)) {
      const auto db = op::matmul(transposed(left), dy);
      g.dx(1) += b.rank() == 1 ? with(GradientScope::sum_to(db, right.info().shape), b.shape) : db;
    }
  }
};

}  // namespace halftone::op

#endif
