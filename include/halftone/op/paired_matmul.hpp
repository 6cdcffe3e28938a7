#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_PAIRED_MATMUL_HPP
#define HALFTONE_OP_PAIRED_MATMUL_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// MatMul, or Gemm without factors, of rows that are in bfloat16 already, where it would round them to it:
/// pairs of their elements are what AMX multiplies. Made by the pass `round_rows`.
///
/// a       [..., m, k] in bfloat16; k is a multiple of 32
/// b       [k, n], or with trans_b [n, k]; a constant of as many elements as always become pairs
/// addend  [n], dimensions of 1 in front of it, or as y; may be absent. With `is_bias`, [n] or [1, n], sums
///         begin with it, as those of Gemm do; else it is added to them
/// source  none
struct PairedMatMul {
  bool trans_b = false;
  bool is_bias = false;

  static constexpr OpId id{"halftone", "PairedMatMul", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "a:A b:F addend:F? -> y:F";
  using types = TypeList<TypeList<bfloat16>, TypeList<float>>;
  static constexpr int packed_input = 1;

  constexpr void attributes(auto&& visit) {
    visit("trans_b", trans_b);
    visit("is_bias", is_bias);
  }
  constexpr Inferred infer(TensorInfo a, TensorInfo b, TensorInfo) const {
    TensorInfo y{ElementType::float32, a.shape};
    y.shape.back() = b.shape[trans_b ? 0 : 1];
    return y;
  }
  static constexpr std::int64_t flops(auto in, auto out) {
    return 2 * out[0].elements() * in[0].shape.back() + (in[2].is_known() ? out[0].elements() : 0);
  }

  template <class A, class F>
  void kernel(const KernelCall& call, View<const A> a, View<const F> b, View<const F> addend,
              View<F> y) const {
    kernel::paired_matmul<F>(*this, call, a, b, addend, y);
  }
  template <class A, class F>
  constexpr std::size_t workspace(const KernelCall& call, View<const A> a, View<const F> b,
                                  View<const F>, View<F>) const {
    return kernel::gemm_workspace<F>(*this, call, a, b);
  }
  template <class A, class F>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const A> a, View<const F> b,
                                     View<const F>, View<F>) const {
    return kernel::gemm_packed_bytes<F>(*this, call, a, b);
  }
  template <class A, class F>
  void pack(const KernelCall& call, void* packed, View<const A> a, View<const F> b, View<const F>,
            View<F>) const {
    kernel::gemm_pack<F>(*this, call, packed, a, b);
  }
};

}  // namespace halftone::op

#endif
