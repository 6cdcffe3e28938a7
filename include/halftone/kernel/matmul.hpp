#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/gemm.hpp>

namespace halftone::kernel {

namespace detail {

/// numpy's matmul as products of matrices: `count` of them, or one if the right operand is the same
/// for all, since the left one's rows then follow each other.
struct MatMulShape {
  std::int64_t m = 1, n = 1, k = 1, count = 1;
  std::size_t batch_rank = 0;
  std::int64_t extents[max_rank]{}, a_stride[max_rank]{}, b_stride[max_rank]{};  ///< in matrices
  std::int64_t b_count = 1;  ///< matrices that b holds

  template <class T>
  constexpr MatMulShape(View<const T> a, View<const T> b, View<T> y) {
    const std::size_t a_batch = a.rank > 2 ? a.rank - 2 : 0, b_batch = b.rank > 2 ? b.rank - 2 : 0;
    k = a.extent(a.rank - 1);
    m = a.rank > 1 ? a.extent(a.rank - 2) : 1;
    n = b.rank > 1 ? b.extent(b.rank - 1) : 1;
    b_count = b.size(0, b_batch);
    if (b_count == 1) {
      m *= a.size(0, a_batch);
      return;
    }
    batch_rank = a_batch > b_batch ? a_batch : b_batch;
    std::int64_t a_step = 1, b_step = 1;
    for (std::size_t d = batch_rank; d-- > 0;) {
      extents[d] = y.extent(d);
      const std::size_t behind = batch_rank - d;
      const std::int64_t a_extent = behind <= a_batch ? a.extent(a_batch - behind) : 1;
      const std::int64_t b_extent = behind <= b_batch ? b.extent(b_batch - behind) : 1;
      a_stride[d] = a_extent == 1 ? 0 : a_step;
      b_stride[d] = b_extent == 1 ? 0 : b_step;
      a_step *= a_extent;
      b_step *= b_extent;
      count *= extents[d];
    }
  }

  /// Which matrices product i multiplies.
  void operands(std::int64_t i, std::int64_t& a, std::int64_t& b) const {
    a = b = 0;
    for (std::size_t d = batch_rank; d-- > 0;) {
      const std::int64_t at = i % extents[d];
      i /= extents[d];
      a += at * a_stride[d];
      b += at * b_stride[d];
    }
  }
  /// Small products are shared out whole, large ones each divided.
  constexpr std::int64_t tasks() const {
    const bool small = double(m) * double(n) * double(k) < double(1 << 23);
    return count <= 1 || !small ? 1 : count < 16 ? count : 16;
  }
};

constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Calls f with an object whose type is std::type_identity of what packed right operands are made of
/// in this precision, see PackedB.
template <class T, class F>
constexpr auto with_elements(Precision precision, F&& f) {
  if constexpr (std::is_same_v<T, float> && has_tiles<float, BfloatPair>) {
    if (precision == Precision::bfloat16) return f(std::type_identity<BfloatPair>{});
  }
  if constexpr (std::is_same_v<T, float> && has_tiles<float, half>) {
    if (precision == Precision::float16) return f(std::type_identity<half>{});
  }
  return f(std::type_identity<compute_t<T>>{});
}

/// Weights of so many elements are read from beyond L1, where 16 bits pay with any number of rows.
inline constexpr double many_weights = 1 << 14;
/// Products of so many rows, columns and steps gain more in bfloat16 than rounding their factors costs:
/// one factor, if the other one is constant, or both.
inline constexpr double rounding_work = 64. * 64 * 64, rounding_both_work = 96. * 96 * 96;
inline constexpr std::int64_t rounding_rows = 8, rounding_columns = 32;
/// With AMX that is so of a few columns, too, if their weights are constant.
inline constexpr std::int64_t rounding_columns_in_amx = 4;

/// A product of [m, k] by b [k, n] in one precision: what form its right operand takes.
struct ProductForm {
  std::int64_t m = 1;
  bool is_constant = false;
  Precision precision = Precision::float32;

  /// Whether the operands are made of less than 32 bits.
  template <class T>
  constexpr bool is_narrow(Matrix<const T> b) const {
    if (!std::is_same_v<T, float> || precision == Precision::float32) return false;
    const double weights = double(b.rows) * double(b.columns);
    if (is_constant && weights >= many_weights) return b.columns >= Vec<float>::size;
    const std::int64_t least_columns =
        is_constant && takes_amx<BfloatPair>() ? rounding_columns_in_amx : rounding_columns;
    return precision == Precision::bfloat16 && m >= rounding_rows && b.columns >= least_columns &&
           double(m) * weights >= (is_constant ? rounding_work : rounding_both_work);
  }
  /// Whether packing a constant right operand pays: products that would not pack it are faster with
  /// b as it is.
  template <class T>
  constexpr bool packs(Matrix<const T> b) const {
    if (!is_real<T> || !is_constant || b.columns <= 1) return false;
    return is_narrow(b) ||
           (!is_vector_product<T>(m, b) && !is_direct_product<T>(m, b.columns, b.rows, b));
  }
  /// Calls f as with_elements does.
  template <class T, class F>
  constexpr auto with_elements_of(Matrix<const T> b, F&& f) const {
    return with_elements<T>(is_narrow(b) ? precision : Precision::float32, f);
  }
  template <class T>
  constexpr std::int64_t packed_bytes(Matrix<const T> b) const {
    if (!packs(b)) return 0;
    return with_elements_of(
        b, [&]<class W>(std::type_identity<W>) { return packed_b_bytes<T, W>(b.rows, b.columns); });
  }
  template <class T>
  void pack(Matrix<const T> b, void* packed) const {
    with_elements_of(b, [&]<class W>(std::type_identity<W>) { pack_b<W>(b, packed); });
  }
  template <class T>
  constexpr std::int64_t workspace_bytes(Matrix<const T> b) const {
    return with_elements_of(b, [&]<class W>(std::type_identity<W>) {
      return gemm_workspace_bytes<T, W>(m, b.columns, b.rows, packs(b) ? Packed::b : Packed::none);
    });
  }
  /// `packed`: what pack has made of b, or null.
  template <class T>
  void multiply(Matrix<const T> a, Matrix<const T> b, const void* packed, Matrix<T> y,
                const Epilogue<T>& epilogue, void* workspace, const Executor& executor) const {
    with_elements_of(b, [&]<class W>(std::type_identity<W>) {
      if (packed != nullptr) {
        const PackedB<T, W> right{static_cast<const W*>(packed), b.rows, b.columns};
        return gemm<T, W>(a, right, y, epilogue, workspace, executor);
      }
      // The conditions stand one in the other because clang looks at the call before it knows W.
      if constexpr (std::is_same_v<T, float>) {
        if constexpr (std::is_same_v<W, BfloatPair>) {
          return gemm_in_bfloat16(a, b, y, epilogue, workspace, executor);
        }
      }
      gemm<T>(a, b, y, epilogue, workspace, executor);
    });
  }
};

/// The form of op::MatMul's products, whose right operand may be packed.
constexpr ProductForm form_of(const KernelCall& call, const MatMulShape& s) {
  return {s.m, call.is_constant(1) && !call.is_constant(0), call.precision};
}

}  // namespace detail

/// op::MatMul: y = a b, matrix by matrix.
template <class T>
constexpr std::size_t matmul_packed_bytes(const KernelCall& call, View<const T> a, View<const T> b,
                                          View<T> y) {
  const detail::MatMulShape s(a, b, y);
  const auto right = row_major(b.data, s.k, s.n);
  return std::size_t(s.b_count * detail::aligned(detail::form_of(call, s).packed_bytes(right)));
}

template <class T>
void matmul_pack(const KernelCall& call, void* packed, View<const T> a, View<const T> b,
                 View<T> y) {
  const detail::MatMulShape s(a, b, y);
  const detail::ProductForm form = detail::form_of(call, s);
  const std::int64_t bytes = detail::aligned(form.packed_bytes(row_major(b.data, s.k, s.n)));
  for (std::int64_t i = 0; i < s.b_count; ++i) {
    form.pack(row_major(b.data + i * s.k * s.n, s.k, s.n), static_cast<char*>(packed) + i * bytes);
  }
}

template <class T>
constexpr std::size_t matmul_workspace(const KernelCall& call, View<const T> a, View<const T> b,
                                       View<T> y) {
  const detail::MatMulShape s(a, b, y);
  const std::int64_t one = detail::form_of(call, s).workspace_bytes(row_major(b.data, s.k, s.n));
  return std::size_t(s.tasks() * detail::aligned(one));
}

template <class T>
void matmul(const KernelCall& call, View<const T> a, View<const T> b, View<T> y) {
  const detail::MatMulShape s(a, b, y);
  const detail::ProductForm form = detail::form_of(call, s);
  const auto first = row_major(b.data, s.k, s.n);
  const std::int64_t workspace_bytes = detail::aligned(form.workspace_bytes(first));
  const std::int64_t packed_bytes = detail::aligned(form.packed_bytes(first));
  const std::int64_t tasks = s.tasks();
  const auto multiply = [&](std::int64_t task, const Executor& executor) {
    void* const workspace = static_cast<char*>(call.workspace) + task * workspace_bytes;
    const std::int64_t end = s.count * (task + 1) / tasks;
    for (std::int64_t i = s.count * task / tasks; i < end; ++i) {
      std::int64_t ia, ib;
      s.operands(i, ia, ib);
      const void* packed = nullptr;
      if (call.packed != nullptr)
        packed = static_cast<const char*>(call.packed) + ib * packed_bytes;
      form.multiply<T>(row_major(a.data + ia * s.m * s.k, s.m, s.k),
                       row_major(b.data + ib * s.k * s.n, s.k, s.n), packed,
                       row_major(y.data + i * s.m * s.n, s.m, s.n), {}, workspace, executor);
    }
  };
  if (tasks == 1) {
    multiply(0, *call.executor);
  } else {
    parallel_for(*call.executor, tasks, [&](std::int64_t task) { multiply(task, {}); });
  }
}

template <class T>
constexpr Matrix<const T> gemm_operand(View<const T> x, bool is_transposed) {
  const auto matrix = row_major(x.data, x.extent(0), x.extent(1));
  return is_transposed ? matrix.transposed() : matrix;
}

namespace detail {

/// The form of products by one matrix, for all rows of `a`.
template <class Op, class A>
constexpr ProductForm form_of(const Op& op, const KernelCall& call, View<const A> a) {
  std::int64_t rows = a.size(0, a.rank - 1);
  if constexpr (requires { op.trans_a; }) {
    if (op.trans_a) rows = a.extent(1);
  }
  return {rows, call.is_constant(1), call.precision};
}

/// The epilogue of op::MatMulWithEpilogue and op::PairedMatMul.
template <class T, class Op>
Epilogue<T> epilogue_of(const Op& op, View<const T> addend, Matrix<T> y) {
  Epilogue<T> epilogue;
  if (op.is_bias && addend) {
    epilogue.addend = addend.data;
  } else if (addend) {
    epilogue.residual = addend.data;
    epilogue.residual_row_stride = addend.size() == y.columns ? 0 : y.columns;
  }
  if constexpr (requires { op.clamp; }) {
    epilogue.clamp = op.clamp;
    epilogue.lower = op.lower;
    epilogue.upper = op.upper;
  }
  return epilogue;
}

}  // namespace detail

template <class T, class Op, class A>
constexpr std::size_t gemm_packed_bytes(const Op& op, const KernelCall& call, View<const A> a,
                                        View<const T> b) {
  return std::size_t(detail::form_of(op, call, a).packed_bytes(gemm_operand(b, op.trans_b)));
}

template <class T, class Op, class A>
void gemm_pack(const Op& op, const KernelCall& call, void* packed, View<const A> a,
               View<const T> b) {
  detail::form_of(op, call, a).pack(gemm_operand(b, op.trans_b), packed);
}

template <class T, class Op, class A>
constexpr std::size_t gemm_workspace(const Op& op, const KernelCall& call, View<const A> a,
                                     View<const T> b) {
  return std::size_t(detail::form_of(op, call, a).workspace_bytes(gemm_operand(b, op.trans_b)));
}

/// op::Gemm: y = alpha a' b' + beta c, where ' may transpose and c broadcasts to y.
template <class T, class Op>
void gemm_with_addend(const Op& op, const KernelCall& call, View<const T> a, View<const T> b,
                      View<const T> c, View<T> y) {
  using S = compute_t<T>;
  Epilogue<T> epilogue;
  epilogue.alpha = static_cast<S>(op.alpha);
  if (c) {
    epilogue.beta = static_cast<S>(op.beta);
    epilogue.addend = c.data;
    const std::int64_t columns = c.rank > 0 ? c.extent(c.rank - 1) : 1;
    epilogue.addend_column_stride = columns == 1 ? 0 : 1;
    epilogue.addend_row_stride = c.rank < 2 || c.extent(0) == 1 ? 0 : columns;
  }
  const auto left = gemm_operand(a, op.trans_a), right = gemm_operand(b, op.trans_b);
  const auto out = row_major(y.data, y.extent(0), y.extent(1));
  detail::form_of(op, call, a)
      .template multiply<T>(left, right, call.packed, out, epilogue, call.workspace,
                            *call.executor);
}

/// y = clamp(a b' + addend), see op::MatMulWithEpilogue.
template <class T, class Op>
void matmul_with_epilogue(const Op& op, const KernelCall& call, View<const T> a, View<const T> b,
                          View<const T> addend, View<T> y) {
  const detail::ProductForm form = detail::form_of(op, call, a);
  const auto right = gemm_operand(b, op.trans_b);
  const auto out = row_major(y.data, form.m, right.columns);
  form.multiply<T>(row_major(a.data, form.m, right.rows), right, call.packed, out,
                   detail::epilogue_of(op, addend, out), call.workspace, *call.executor);
}

/// The same of rows that are what AMX takes, as they are.
template <class F, class Op>
void paired_matmul(const Op& op, const KernelCall& call, View<const bfloat16> a, View<const F> b,
                   View<const F> addend, View<F> y) {
  if constexpr (detail::has_tiles<F, BfloatPair>) {
    const auto right = gemm_operand(b, op.trans_b);
    const auto out = row_major(y.data, a.size(0, a.rank - 1), right.columns);
    const auto* const rows = reinterpret_cast<const BfloatPair*>(a.data);
    const auto* const packed = static_cast<const BfloatPair*>(call.packed);
    detail::multiply<F, BfloatPair>({nullptr, out.rows, right.rows, 0, 0}, rows, right, packed, out,
                                    detail::epilogue_of(op, addend, out), call.workspace,
                                    *call.executor);
  }
}

}  // namespace halftone::kernel
