#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_DET_HPP
#define HALFTONE_OP_DET_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone {

namespace kernel {

/// The determinant of a matrix [n, n], by elimination with the largest pivot of each column.
/// Overwrites the matrix.
inline double determinant(double* a, std::int64_t n) {
  double result = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (__builtin_fabs(a[i * n + k]) > __builtin_fabs(a[pivot * n + k])) pivot = i;
    }
    const double top = a[pivot * n + k];
    result *= pivot == k ? top : -top;
    if (top == 0) return 0;
    for (std::int64_t j = k; j < n && pivot != k; ++j) {
      const double kept = a[k * n + j];
      a[k * n + j] = a[pivot * n + j];
      a[pivot * n + j] = kept;
    }
    for (std::int64_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / top;
      if (factor == 0) continue;
      for (std::int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return result;
}

}  // namespace kernel

namespace op {

/// Determinants of matrices.
///
/// x       [..., n, n]
/// y       [...]; the determinant of a matrix without elements is 1
/// limits  computed in double; singular up to rounding
/// source  ai.onnx Det-11
struct Det {
  static constexpr OpId id{"ai.onnx", "Det", 11, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool compiled_once = true;

  static constexpr void cost(auto& machine, auto in, auto) {
    // Elimination: n^3 / 3 multiplications and subtractions of each matrix.
    machine.repeat((in[0].shape.back() + 2) / 3);
    machine.pass("Mul", in[0]);
    machine.pass("Sub", in[0]);
  }
  static constexpr Inferred infer(TensorInfo x) {
    const std::size_t rank = x.rank();
    if (rank < 2) {
      return Inferred::mismatch("the input has no matrices", 2, static_cast<std::int64_t>(rank));
    }
    if (contradict(x.shape[rank - 2], x.shape[rank - 1])) {
      return Inferred::mismatch("the matrices are not square", x.shape[rank - 2],
                                x.shape[rank - 1]);
    }
    x.shape.pop_back();
    x.shape.pop_back();
    return x;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    const std::int64_t n = x.extent(x.rank - 1), size = n * n, count = y.size();
    const std::int64_t tasks = task_count(x);
    kernel::parallel_for(*call.executor, tasks, [&](std::int64_t task) {
      double* const a = static_cast<double*>(call.workspace) + task * size;
      for (std::int64_t i = count * task / tasks; i < count * (task + 1) / tasks; ++i) {
        for (std::int64_t k = 0; k < size; ++k) a[k] = static_cast<double>(x[i * size + k]);
        y[i] = static_cast<T>(kernel::determinant(a, n));
      }
    });
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<T>) const {
    const std::int64_t n = x.extent(x.rank - 1);
    return static_cast<std::size_t>(task_count(x) * n * n) * sizeof(double);
  }

 private:
  template <class T>
  static constexpr std::int64_t task_count(View<const T> x) {
    const std::int64_t n = x.extent(x.rank - 1), count = x.size(0, x.rank - 2);
    const std::int64_t worth = x.size() / 1024 * (n / 8 + 1), tasks = worth > 16 ? 16 : worth;
    return tasks > count ? count : tasks < 1 ? 1 : tasks;
  }
};

}  // namespace op
}  // namespace halftone

#endif
