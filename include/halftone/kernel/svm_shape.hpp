#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/post_transform.hpp>

namespace halftone {

/// How a support vector machine compares a row x with a support vector v: x v,
/// (gamma x v + coef0)^degree, e^(-gamma (x - v)^2), tanh(gamma x v + coef0).
enum class SvmKernel : std::uint8_t { linear, poly, rbf, sigmoid };

namespace detail {
inline constexpr std::string_view svm_kernel_names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
}
constexpr std::span<const std::string_view> names_of(SvmKernel) { return detail::svm_kernel_names; }

namespace kernel {

/// A support vector machine; lists belong to the caller.
struct SvmShape {
  SvmKernel kernel = SvmKernel::linear;
  float gamma = 0, coef0 = 0, degree = 0;
  /// Without support vectors the coefficients [classes, features] are compared with the rows.
  bool is_linear = false;
  bool has_probabilities = false, all_positive = false;
  std::int64_t vectors = 0, features = 0, classes = 0;
  const float* coefficients = nullptr;  ///< [classes - 1, vectors]
  const float* rho = nullptr;           ///< [pairs]
  const float *prob_a = nullptr, *prob_b = nullptr;
  const std::int64_t* vectors_per_class = nullptr;

  constexpr std::int64_t pairs() const { return classes * (classes - 1) / 2; }
  /// Of a classifier's scores.
  constexpr std::int64_t columns() const {
    return is_linear || has_probabilities ? classes : classes > 2 ? pairs() : 2;
  }
};

// kernel/svm.hpp. T: the type of x.
template <class T>
std::size_t svm_packed_bytes(const SvmShape& svm);
template <class T>
void svm_pack(const SvmShape& svm, const float* vectors, float* transposed);
template <class T>
std::size_t svm_workspace(const SvmShape& svm, std::int64_t rows, bool is_packed);
template <class T>
void svm_classify(const SvmShape& svm, PostTransform transform, const float* vectors,
                  const void* packed, void* workspace, const T* x, std::int64_t rows,
                  const std::int64_t* labels, std::int64_t* y, float* z, const Executor& executor);
template <class T>
void svm_regress(const SvmShape& svm, bool one_class, const float* vectors, const void* packed,
                 void* workspace, const T* x, std::int64_t rows, float* y,
                 const Executor& executor);

}  // namespace kernel
}  // namespace halftone
