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

/// Whether packing a constant right operand of m rows pays: products that would not pack it are
/// faster with b as it is.
template <class T>
constexpr bool packs_b(std::int64_t m, Matrix<const T> b) {
  return is_real<T> && b.columns > 1 && !is_vector_product<T>(m, b) &&
         !is_direct_product<T>(m, b.columns, b.rows, b);
}

}  // namespace detail

/// op::MatMul: y = a b, matrix by matrix.
template <class T>
constexpr std::size_t matmul_packed_bytes(const KernelCall& call, View<const T> a, View<const T> b,
                                          View<T> y) {
  if (!call.is_constant(1) || call.is_constant(0)) return 0;
  const detail::MatMulShape s(a, b, y);
  if (!detail::packs_b(s.m, row_major(b.data, s.k, s.n))) return 0;
  return std::size_t(s.b_count * detail::aligned(packed_b_bytes<T>(s.k, s.n)));
}

template <class T>
void matmul_pack(void* packed, View<const T> a, View<const T> b, View<T> y) {
  const detail::MatMulShape s(a, b, y);
  const std::int64_t bytes = detail::aligned(packed_b_bytes<T>(s.k, s.n));
  for (std::int64_t i = 0; i < s.b_count; ++i) {
    pack_b(row_major(b.data + i * s.k * s.n, s.k, s.n), static_cast<char*>(packed) + i * bytes);
  }
}

template <class T>
constexpr std::size_t matmul_workspace(const KernelCall& call, View<const T> a, View<const T> b,
                                       View<T> y) {
  const detail::MatMulShape s(a, b, y);
  const bool is_packed = matmul_packed_bytes(call, a, b, y) != 0;
  const auto one = gemm_workspace_bytes<T>(s.m, s.n, s.k, is_packed ? Packed::b : Packed::none);
  return std::size_t(s.tasks() * detail::aligned(one));
}

template <class T>
void matmul(const KernelCall& call, View<const T> a, View<const T> b, View<T> y) {
  const detail::MatMulShape s(a, b, y);
  const Packed packed = call.packed != nullptr ? Packed::b : Packed::none;
  const std::int64_t workspace_bytes =
      detail::aligned(gemm_workspace_bytes<T>(s.m, s.n, s.k, packed));
  const std::int64_t packed_bytes = detail::aligned(packed_b_bytes<T>(s.k, s.n));
  const std::int64_t tasks = s.tasks();
  const auto multiply = [&](std::int64_t task, const Executor& executor) {
    void* const workspace = static_cast<char*>(call.workspace) + task * workspace_bytes;
    const std::int64_t end = s.count * (task + 1) / tasks;
    for (std::int64_t i = s.count * task / tasks; i < end; ++i) {
      std::int64_t ia, ib;
      s.operands(i, ia, ib);
      const auto left = row_major(a.data + ia * s.m * s.k, s.m, s.k);
      const auto out = row_major(y.data + i * s.m * s.n, s.m, s.n);
      if (packed == Packed::b) {
        const char* const data = static_cast<const char*>(call.packed) + ib * packed_bytes;
        const PackedB<T> right{reinterpret_cast<const compute_t<T>*>(data), s.k, s.n};
        gemm<T>(left, right, out, {}, workspace, executor);
      } else {
        gemm<T>(left, row_major(b.data + ib * s.k * s.n, s.k, s.n), out, {}, workspace, executor);
      }
    }
  };
  if (tasks == 1) {
    multiply(0, *call.executor);
  } else {
    parallel_for(*call.executor, tasks, [&](std::int64_t task) { multiply(task, {}); });
  }
}

/// op::Gemm: y = alpha a' b' + beta c, where ' may transpose and c broadcasts to y.
template <class T>
constexpr Matrix<const T> gemm_operand(View<const T> x, bool is_transposed) {
  const auto matrix = row_major(x.data, x.extent(0), x.extent(1));
  return is_transposed ? matrix.transposed() : matrix;
}

template <class T, class Op>
constexpr std::size_t gemm_packed_bytes(const Op& op, const KernelCall& call, View<const T> a,
                                        View<const T> b) {
  if (!call.is_constant(1)) return 0;
  const auto right = gemm_operand(b, op.trans_b);
  if (!detail::packs_b(gemm_operand(a, op.trans_a).rows, right)) return 0;
  return std::size_t(packed_b_bytes<T>(right.rows, right.columns));
}

template <class T, class Op>
void gemm_pack(const Op& op, void* packed, View<const T> b) {
  pack_b(gemm_operand(b, op.trans_b), packed);
}

template <class T, class Op>
constexpr std::size_t gemm_workspace(const Op& op, const KernelCall& call, View<const T> a,
                                     View<const T> b, View<T> y) {
  const bool is_packed = gemm_packed_bytes(op, call, a, b) != 0;
  const std::int64_t k = gemm_operand(b, op.trans_b).rows;
  return std::size_t(
      gemm_workspace_bytes<T>(y.extent(0), y.extent(1), k, is_packed ? Packed::b : Packed::none));
}

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
  if (call.packed != nullptr) {
    const PackedB<T> packed{static_cast<const S*>(call.packed), right.rows, right.columns};
    gemm<T>(left, packed, out, epilogue, call.workspace, *call.executor);
  } else {
    gemm<T>(left, right, out, epilogue, call.workspace, *call.executor);
  }
}

}  // namespace halftone::kernel
