#pragma once

#include <cstdint>
#include <string_view>

#include <halftone/base/tensor_info.hpp>

namespace halftone {

/// What an operator has a machine do: `cost(auto& machine, inputs, outputs) const` of its struct
/// calls these, one after another, for a piece of work each. The machine has the cycles.
class CostVisitor {
 public:
  /// `groups` products of [rows, inner] and [inner, columns], summed over a kernel.
  struct ProductExtents {
    std::int64_t groups = 1, rows = 1, inner = 1, columns = 1;
    std::int64_t kernel_rows = 1, kernel_columns = 1;
    std::int64_t input_rows = 0;  ///< positions that all outputs read; 0: as many as `rows`
    std::int64_t width = 0;       ///< outputs in a row of the image; 0: no image
  };
  virtual void product(const ProductExtents& extents) = 0;
  /// The element-wise operator of that ONNX name over x.
  virtual void pass(std::string_view op, const TensorInfo& x) = 0;
  /// x to so many sums (or largest elements).
  virtual void reduce(const TensorInfo& x, std::int64_t outputs, bool is_sum = true) = 0;
  virtual void cast(const TensorInfo& x, ElementType to) = 0;
  /// The outputs are parts of the inputs, or these in another order: nothing moves yet.
  virtual void view() = 0;
  /// `rows` rows of `row_elements` from each of `groups` tables that make up one tensor; or written
  /// to them, or added.
  virtual void gather(const TensorInfo& tables, std::int64_t rows, std::int64_t row_elements,
                      std::int64_t groups = 1) = 0;
  virtual void scatter(const TensorInfo& tables, std::int64_t rows, std::int64_t row_elements,
                       bool is_sum = true, std::int64_t groups = 1) = 0;
  /// A part that consists of `slices` along the dimensions where its place is known when it runs,
  /// cut out or written.
  virtual void dynamic_slice(const TensorInfo& part, std::int64_t slices) = 0;
  /// The outcome is the first input but for what follows: a copy, unless it may be overwritten.
  virtual void keep(const TensorInfo& x) = 0;
  /// x comes to the tiles that the work is on.
  virtual void move(const TensorInfo& x) = 0;
  /// One value in all of y.
  virtual void fill(const TensorInfo& y) = 0;
  /// Each element of y from `taps` others.
  virtual void pool(const TensorInfo& y, std::int64_t taps, bool is_max) = 0;
  /// Random numbers: uniform and normal 4 cycles a vector, Bernoulli 1, dropout 2.
  virtual void random(const TensorInfo& y, std::int64_t cycles_per_vector) = 0;
  /// The largest k of each n elements of x.
  virtual void top_k(const TensorInfo& x, std::int64_t n, std::int64_t k) = 0;
  /// A vertex of the operator's own, by its own estimate: cycles of the one worker that it takes on
  /// each tile of x.
  virtual void vertex(const TensorInfo& x, std::int64_t worker_cycles) = 0;
  /// x comes from memory behind the host's, or goes there.
  virtual void transfer(const TensorInfo& x) = 0;
  /// What follows runs so many times, one after the other.
  virtual void repeat(std::int64_t times) = 0;

 protected:
  ~CostVisitor() = default;
};

/// How often 1 is doubled until it is n: log2(n), rounded up.
constexpr std::int64_t doublings(std::int64_t n) {
  std::int64_t count = 0;
  while (count < 62 && (std::int64_t{1} << count) < n) ++count;
  return count;
}

namespace detail {

/// y [n, channels, ...], each element from `taps` of x [batch, channels, ...] at places that are
/// known when it runs.
constexpr void interpolation_cost(auto& machine, const TensorInfo& x, const TensorInfo& y,
                                  std::int64_t taps, std::int64_t batch) {
  const std::int64_t channels = y.shape[1];
  machine.repeat(taps);
  machine.gather(x, y.elements() / channels / batch, channels, batch);
  machine.pass("Mul", y);
  machine.pass("Add", y);
}

}  // namespace detail

}  // namespace halftone
