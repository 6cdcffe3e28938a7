#pragma once

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/list.hpp>
#include <halftone/op/product_types.hpp>

namespace halftone::op {

/// Matrix product, as numpy's matmul: y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n].
///
/// a, b    [..., m, k] and [..., k, n]; dimensions in front broadcast. Of rank 1: a row a [k], a
///         column b [k], without m (n) in y
/// limits  rank 0 is refused; half and bfloat16 sum in float
/// source  ai.onnx MatMul-13
struct MatMul {
  static constexpr OpId id{"ai.onnx", "MatMul", 1, 9, 13};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<ProductTypes>;
  static constexpr int packed_input = 1;

  static constexpr Inferred infer(TensorInfo a, TensorInfo b) {
    if (a.rank() == 0 || b.rank() == 0) {
      return Inferred::mismatch("a factor is a scalar", 1, 0);
    }
    const std::int64_t inner = a.shape.back();
    const std::int64_t other = b.shape[b.rank() == 1 ? 0 : b.rank() - 2];
    if (agree(inner, other) == -2) {
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
  std::size_t workspace(const KernelCall& call, View<const T> a, View<const T> b, View<T> y) const {
    return kernel::matmul_workspace<T>(call, a, b, y);
  }
  template <class T>
  std::size_t packed_bytes(const KernelCall& call, View<const T> a, View<const T> b,
                           View<T> y) const {
    return kernel::matmul_packed_bytes<T>(call, a, b, y);
  }
  template <class T>
  void pack(const KernelCall&, void* packed, View<const T> a, View<const T> b, View<T> y) const {
    kernel::matmul_pack<T>(packed, a, b, y);
  }
};

}  // namespace halftone::op
