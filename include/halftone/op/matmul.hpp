#pragma once
#include <halftone/op/list.hpp>
namespace halftone::op {
struct MatMul {
  static constexpr OpId id{"ai.onnx", "MatMul", 1, 9, 13};
  static constexpr Signature signature = "a b -> y";
  static constexpr Inferred infer(TensorInfo a, TensorInfo b) {
    if (agree(a.shape[1], b.shape[0]) == -2) return Inferred::mismatch("inner dimensions differ", a.shape[1], b.shape[0]);
    return TensorInfo{a.type, {a.shape[0], b.shape[1]}};
  }
  template <class T> void kernel(View<const T> a, View<const T> b, View<T> y) const { y[0] = a[0]*b[0]; }
};
}
