#pragma once

#include <halftone/kernel/gemm_direct.hpp>
#include <halftone/kernel/gemm_packed.hpp>
#include <halftone/kernel/gemm_vector.hpp>

namespace halftone::kernel {

/// Which operand of a product is packed already.
enum class Packed : std::uint8_t { none, a, b };

/// Scratch memory that gemm needs, in bytes, for any strides of the operands; W as in PackedB.
template <class T, class W = compute_t<T>>
constexpr std::int64_t gemm_workspace_bytes(std::int64_t m, std::int64_t n, std::int64_t k,
                                            Packed packed = Packed::none) {
  if constexpr (!detail::is_real<T>) {
    return 0;
  } else {
    const std::int64_t blocked =
        detail::packed_product_bytes<T, W>(m, n, k, packed == Packed::a, packed == Packed::b);
    if (packed != Packed::none || !std::is_same_v<W, compute_t<T>> || (m != 1 && n != 1)) {
      return blocked;
    }
    const std::int64_t vector = detail::vector_product_bytes<T>(m == 1 ? n : m, k);
    return vector > blocked ? vector : blocked;
  }
}

namespace detail {

template <class T, class W = compute_t<T>>
void multiply(Matrix<const T> a, const left_t<compute_t<T>, W>* packed_a, Matrix<const T> b,
              const std::type_identity_t<W>* packed_b, Matrix<T> y, const Epilogue<T>& epilogue,
              void* workspace, const Executor& executor) {
  const Parts tiles(y.rows, rows_of_tile<W>());
  multiply_packed<T, W>({y.rows,
                         y.columns,
                         elements_of<W>(a.columns),
                         a,
                         packed_a,
                         b,
                         packed_b,
                         y,
                         &epilogue,
                         tiles,
                         {},
                         false},
                        workspace, executor);
}

}  // namespace detail

/// y[m, n] = clamp(alpha * sum over k of a[m, k] * b[k, n] + beta * addend + residual), see
/// Epilogue. a and b may have any strides; y's columns must be contiguous unless n is 1. y must not
/// overlap a, b, addend or residual.
///
/// Sums are in the compute type (float for half and bfloat16; integers wrap around), rounded once,
/// over ascending k in one chain that starts from a bias per column where there is one; only m = 1
/// (n = 1) with contiguous columns of b (rows of a) sums in lanes, see dot_columns. The order
/// depends on the shape and strides, never on the number of threads.
///
/// workspace: gemm_workspace_bytes<T>(m, n, k) bytes, 64-byte aligned.
template <class T>
void gemm(Matrix<const std::type_identity_t<T>> a, Matrix<const std::type_identity_t<T>> b,
          Matrix<T> y, const Epilogue<std::type_identity_t<T>>& epilogue, void* workspace,
          const Executor& executor = {}) {
  if (y.rows == 0 || y.columns == 0) return;
  if constexpr (!detail::is_real<T>) {
    detail::multiply_simple<T>(a, b, y, epilogue);
  } else {
    if (detail::is_vector_product<T>(y.rows, b)) {
      detail::multiply_vector<T>(a.data, a.column_stride, b, y.data, y.column_stride, epilogue,
                                 workspace, executor);
      if (epilogue.post != nullptr) {
        epilogue.post(epilogue.context, y.data, 0, 0, 1, y.columns, y.row_stride);
      }
      return;
    }
    if (detail::is_vector_product<T>(y.columns, a.transposed())) {
      detail::multiply_vector<T>(b.data, b.row_stride, a.transposed(), y.data, y.row_stride,
                                 epilogue.transposed(), workspace, executor);
      if (epilogue.post != nullptr) {
        epilogue.post(epilogue.context, y.data, 0, 0, y.rows, 1, y.row_stride);
      }
      return;
    }
    if constexpr (std::is_same_v<T, compute_t<T>>) {
      if (detail::is_direct_product<T>(y.rows, y.columns, a.columns, b)) {
        detail::multiply_direct<T>(a, b, y, epilogue, executor);
        return;
      }
    }
    detail::multiply<T>(a, nullptr, b, nullptr, y, epilogue, workspace, executor);
  }
}

/// The same with both operands rounded to bfloat16 on the way;
/// workspace: gemm_workspace_bytes<float, BfloatPair>(m, n, k).
inline void gemm_in_bfloat16([[maybe_unused]] Matrix<const float> a,
                             [[maybe_unused]] Matrix<const float> b,
                             [[maybe_unused]] Matrix<float> y,
                             [[maybe_unused]] const Epilogue<float>& epilogue,
                             [[maybe_unused]] void* workspace,
                             [[maybe_unused]] const Executor& executor = {}) {
  if constexpr (detail::has_tiles<float, BfloatPair>) {
    if (y.rows == 0 || y.columns == 0) return;
    detail::multiply<float, BfloatPair>(a, nullptr, b, nullptr, y, epilogue, workspace, executor);
  }
}

/// The same with b packed before by pack_b<W>, as constant weights are; pairs of bfloat16 have a rounded
/// to bfloat16, too, and half is widened on the way.
/// workspace: gemm_workspace_bytes<T, W>(m, n, k, Packed::b).
template <class T, class W = compute_t<T>>
void gemm(Matrix<const std::type_identity_t<T>> a, PackedB<std::type_identity_t<T>, W> b,
          Matrix<T> y, const Epilogue<std::type_identity_t<T>>& epilogue, void* workspace,
          const Executor& executor = {}) {
  if (y.rows == 0 || y.columns == 0) return;
  if constexpr (!detail::is_real<T>) {
    detail::multiply_simple<T>(a, row_major<const T>(b.data, b.rows, b.columns), y, epilogue);
  } else {
    detail::multiply<T, W>(a, nullptr, {nullptr, b.rows, b.columns, 0, 0}, b.data, y, epilogue,
                           workspace, executor);
  }
}

/// The same with a packed before by pack_a; workspace: gemm_workspace_bytes<T>(m, n, k, Packed::a).
template <class T>
void gemm(PackedA<std::type_identity_t<T>> a, Matrix<const std::type_identity_t<T>> b, Matrix<T> y,
          const Epilogue<std::type_identity_t<T>>& epilogue, void* workspace,
          const Executor& executor = {}) {
  if (y.rows == 0 || y.columns == 0) return;
  if constexpr (!detail::is_real<T>) {
    detail::multiply_simple<T>(row_major<const T>(a.data, a.rows, a.columns), b, y, epilogue);
  } else {
    detail::multiply<T>({nullptr, a.rows, a.columns, 0, 0}, a.data, b, nullptr, y, epilogue,
                        workspace, executor);
  }
}

}  // namespace halftone::kernel
