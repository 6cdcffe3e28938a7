#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GEMM_HPP
#define HALFTONE_OP_GEMM_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/product_types.hpp>

namespace halftone::op {

/// General matrix product: y = alpha * a b + beta * c.
///
/// a, b    [m, k] and [k, n], or with trans_a, trans_b their transposes
/// c       broadcasts to [m, n], the shape of y; may be absent
/// limits  for integers alpha and beta are whole numbers
/// source  ai.onnx Gemm-13
struct Gemm {
  float alpha = 1, beta = 1;
  bool trans_a = false, trans_b = false;

  static constexpr OpId id{"ai.onnx", "Gemm", 7, 9, 11, 13};
  static constexpr Signature signature = "a b c? -> y";
  using types = TypeList<ProductTypes>;
  static constexpr int packed_input = 1;

  constexpr void attributes(auto&& visit) {
    visit("alpha", alpha);
    visit("beta", beta);
    visit("transA", trans_a);
    visit("transB", trans_b);
  }

  constexpr void cost(auto& machine, auto in, auto out) const {
    const Dims y = out[0].shape;
    machine.product({.rows = y[0], .inner = in[0].shape[trans_a ? 0 : 1], .columns = y[1]});
    if (alpha != 1) machine.pass("Mul", out[0]);
    if (in[2].is_known()) machine.pass("Add", out[0]);
  }
  constexpr Inferred infer(TensorInfo a, TensorInfo b, TensorInfo c) const {
    if (a.rank() != 2) return mismatch("a factor is not a matrix", 2, a.rank());
    if (b.rank() != 2) return mismatch("a factor is not a matrix", 2, b.rank());
    const std::int64_t inner = a.shape[trans_a ? 0 : 1], other = b.shape[trans_b ? 1 : 0];
    if (contradict(inner, other)) {
      return Inferred::mismatch("inner dimensions differ", inner, other);
    }
    const TensorInfo y{a.type, {a.shape[trans_a ? 1 : 0], b.shape[trans_b ? 0 : 1]}};
    if (c.is_known()) {
      if (c.rank() > 2) return mismatch("the addend has too many dimensions", 2, c.rank());
      for (std::size_t i = 0; i < c.rank(); ++i) {
        const std::int64_t found = c.shape[i], wanted = y.shape[2 - c.rank() + i];
        if (found != 1 && contradict(wanted, found)) {
          return Inferred::mismatch("the addend does not broadcast to the product", wanted, found);
        }
      }
    }
    if (is_integer(a.type) && (!is_whole(alpha) || !is_whole(beta))) {
      return Inferred::mismatch("alpha and beta of integers are not whole numbers");
    }
    return y;
  }
  constexpr std::int64_t flops(auto in, auto out) const {
    return 2 * out[0].elements() * in[0].shape[trans_a ? 0 : 1];
  }

  template <class T>
  void kernel(const KernelCall& call, View<const T> a, View<const T> b, View<const T> c,
              View<T> y) const {
    kernel::gemm_with_addend<T>(*this, call, a, b, c, y);
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
  constexpr void gradient(auto& g) const {
    const auto a = g.x(0), b = g.x(1), dy = g.dy();
    if (g.needs(0)) {
      g.dx(0) += trans_a ? op::gemm(b, dy, {.alpha = alpha, .trans_a = trans_b, .trans_b = true})
                         : op::gemm(dy, b, {.alpha = alpha, .trans_b = !trans_b});
    }
    if (g.needs(1)) {
      g.dx(1) += trans_b ? op::gemm(dy, a, {.alpha = alpha, .trans_a = true, .trans_b = trans_a})
                         : op::gemm(a, dy, {.alpha = alpha, .trans_a = !trans_a});
    }
    if (g.needs(2)) g.dx(2) += beta == 1 ? dy : dy * beta;
  }

 private:
  static constexpr Inferred mismatch(std::string_view reason, std::int64_t expected,
                                     std::size_t found) {
    return Inferred::mismatch(reason, expected, static_cast<std::int64_t>(found));
  }
  /// And of a size that every integer type holds.
  static constexpr bool is_whole(float x) {
    return x > -2147483648.f && x < 2147483648.f &&
           static_cast<float>(static_cast<std::int64_t>(x)) == x;
  }
};

/// Gemm whose attribute `broadcast` says whether c may have another shape than y; both are what the
/// newer meaning does.
struct Gemm_6 {
  float alpha = 1, beta = 1;
  bool trans_a = false, trans_b = false, broadcast = false;

  static constexpr OpId id{"ai.onnx", "Gemm", 1, 6};
  static constexpr Signature signature = "a b c -> y";

  constexpr void attributes(auto&& visit) {
    visit("alpha", alpha);
    visit("beta", beta);
    visit("transA", trans_a);
    visit("transB", trans_b);
    visit("broadcast", broadcast);
  }
  constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b,
                             tensor_handle auto c) const {
    return gemm(a, b, c, {.alpha = alpha, .beta = beta, .trans_a = trans_a, .trans_b = trans_b});
  }
};

}  // namespace halftone::op

#endif
