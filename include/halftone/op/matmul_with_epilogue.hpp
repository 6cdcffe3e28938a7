#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MATMUL_WITH_EPILOGUE_HPP
#define HALFTONE_OP_MATMUL_WITH_EPILOGUE_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// MatMul by one matrix, or Gemm without factors, with what follows, and with the roundings of the operators
/// it stands for: y = clamp(a b' + addend). Made by the pass `fuse_products`.
///
/// a       [..., m, k]
/// b       [k, n], or with trans_b [n, k]
/// addend  [n], dimensions of 1 in front of it, or as y; may be absent. With `is_bias`, [n] or [1, n], sums
///         begin with it, as those of Gemm do; else it is added to them
/// clamp   whether y is kept between lower and upper; NaN stays
/// source  none
struct MatMulWithEpilogue {
  bool trans_b = false;
  bool is_bias = false;
  bool clamp = false;
  float lower = 0, upper = 0;

  static constexpr OpId id{"halftone", "MatMul", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "a b addend? -> y";
  using types = TypeList<TypeList<float, double>>;
  static constexpr int packed_input = 1;

  constexpr void attributes(auto&& visit) {
    visit("trans_b", trans_b);
    visit("is_bias", is_bias);
    visit("clamp", clamp);
    visit("lower", lower);
    visit("upper", upper);
  }
  constexpr Inferred infer(TensorInfo a, TensorInfo b, TensorInfo) const {
    TensorInfo y = a;
    y.shape.back() = b.shape[trans_b ? 0 : 1];
    return y;
  }
  constexpr std::int64_t flops(auto in, auto out) const {
    const std::int64_t added = in[2].is_known() ? 1 : 0;
    return out[0].elements() * (2 * in[0].shape.back() + added + clamp);
  }

  template <class T>
  void kernel(const KernelCall& call, View<const T> a, View<const T> b, View<const T> addend,
              View<T> y) const {
    kernel::matmul_with_epilogue<T>(*this, call, a, b, addend, y);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> a, View<const T> b,
                                  View<const T>, View<T>) const {
    return kernel::gemm_workspace<T>(*this, call, a, b);
  }
  template <class T>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const T> a, View<const T> b,
                                     View<const T>, View<T>) const {
    return kernel::gemm_packed_bytes<T>(*this, call, a, b);
  }
  template <class T>
  void pack(const KernelCall& call, void* packed, View<const T> a, View<const T> b, View<const T>,
            View<T>) const {
    kernel::gemm_pack<T>(*this, call, packed, a, b);
  }
};

}  // namespace halftone::op

#endif
