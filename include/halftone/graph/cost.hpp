#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <halftone/base/tensor_info.hpp>
#include <halftone/base/vector.hpp>

namespace halftone {

/// `groups` products of [rows, inner] and [inner, columns], summed over a kernel.
struct ProductExtents {
  std::int64_t groups = 1, rows = 1, inner = 1, columns = 1;
  std::int64_t kernel_rows = 1, kernel_columns = 1;
  std::int64_t input_rows = 0;  ///< positions that all outputs read; 0: as many as `rows`
  std::int64_t width = 0;       ///< outputs in a row of the image; 0: no image
  friend constexpr bool operator==(const ProductExtents&, const ProductExtents&) = default;
};

/// The kinds of work, each the name of the function of `WorkList` that lists it and, behind
/// `lower_`, of the one in ipu/lowering that does it: a new kind is a line here and these two.
#define HALFTONE_WORK_KINDS(KIND) \
  KIND(product)                   \
  KIND(pass)                      \
  KIND(reduce)                    \
  KIND(cast)                      \
  KIND(view)                      \
  KIND(gather)                    \
  KIND(scatter)                   \
  KIND(dynamic_slice)             \
  KIND(keep)                      \
  KIND(move)                      \
  KIND(fill)                      \
  KIND(pool)                      \
  KIND(random)                    \
  KIND(top_k)                     \
  KIND(vertex)                    \
  KIND(transfer)

/// A piece of work that an operator has a machine do. The function of `WorkList` that has the name
/// of its kind says which of the fields it sets and what they mean.
struct Work {
#define HALFTONE_ENUMERATOR(NAME) NAME,
  enum class Kind : std::uint8_t { HALFTONE_WORK_KINDS(HALFTONE_ENUMERATOR) };
#undef HALFTONE_ENUMERATOR
  Kind kind = Kind::view;
  bool is_sum = true;
  ElementType to = ElementType::undefined;
  TensorInfo x{};
  std::string_view op{};  ///< borrowed from the operator's struct
  std::int64_t count = 0, each = 0, groups = 1;
  ProductExtents product{};
  std::int64_t times = 1;  ///< how often it is done, one after the other
  friend constexpr bool operator==(const Work&, const Work&) = default;
};

/// The work of one operator, which `cost(auto& machine, inputs, outputs) const` of its struct lists
/// for inputs and outputs whose extents are known. The machine finds the cycles.
class WorkList {
 public:
  constexpr void product(const ProductExtents& extents) {
    add({.kind = Work::Kind::product, .product = extents});
  }
  /// The element-wise operator of that ONNX name over x.
  constexpr void pass(std::string_view op, const TensorInfo& x) {
    add({.kind = Work::Kind::pass, .x = x, .op = op});
  }
  /// x to so many sums, or largest elements: count.
  constexpr void reduce(const TensorInfo& x, std::int64_t outputs, bool is_sum = true) {
    add({.kind = Work::Kind::reduce, .is_sum = is_sum, .x = x, .count = outputs});
  }
  constexpr void cast(const TensorInfo& x, ElementType to) {
    add({.kind = Work::Kind::cast, .to = to, .x = x});
  }
  /// The outputs are parts of the inputs, or these in another order: nothing moves yet.
  constexpr void view() { add({.kind = Work::Kind::view}); }
  /// `rows` rows of `row_elements` from each of `groups` tables that make up one tensor; or written
  /// to them, or added: x, count, each, groups.
  constexpr void gather(const TensorInfo& tables, std::int64_t rows, std::int64_t row_elements,
                        std::int64_t groups = 1) {
    add({.kind = Work::Kind::gather,
         .x = tables,
         .count = rows,
         .each = row_elements,
         .groups = groups});
  }
  constexpr void scatter(const TensorInfo& tables, std::int64_t rows, std::int64_t row_elements,
                         bool is_sum = true, std::int64_t groups = 1) {
    add({.kind = Work::Kind::scatter,
         .is_sum = is_sum,
         .x = tables,
         .count = rows,
         .each = row_elements,
         .groups = groups});
  }
  /// A part that consists of `slices` along the dimensions where its place is known when it runs,
  /// cut out or written: x, count.
  constexpr void dynamic_slice(const TensorInfo& part, std::int64_t slices) {
    add({.kind = Work::Kind::dynamic_slice, .x = part, .count = slices});
  }
  /// The outcome is the first input but for what follows: a copy, unless it may be overwritten.
  constexpr void keep(const TensorInfo& x) { add({.kind = Work::Kind::keep, .x = x}); }
  /// x comes to the tiles that the work is on.
  constexpr void move(const TensorInfo& x) { add({.kind = Work::Kind::move, .x = x}); }
  /// Every element of y (Work::x) gets one value.
  constexpr void fill(const TensorInfo& y) { add({.kind = Work::Kind::fill, .x = y}); }
  /// Each element of y from the sum, or the largest, of `taps` others: x, count.
  constexpr void pool(const TensorInfo& y, std::int64_t taps, bool is_max) {
    add({.kind = Work::Kind::pool, .is_sum = !is_max, .x = y, .count = taps});
  }
  /// Random numbers: uniform and normal 4 cycles a vector, Bernoulli 1, dropout 2: x, count.
  constexpr void random(const TensorInfo& y, std::int64_t cycles_per_vector) {
    add({.kind = Work::Kind::random, .x = y, .count = cycles_per_vector});
  }
  /// The largest k of each n elements of x: each, count.
  constexpr void top_k(const TensorInfo& x, std::int64_t n, std::int64_t k) {
    add({.kind = Work::Kind::top_k, .x = x, .count = n, .each = k});
  }
  /// A vertex of the operator's own, by its own estimate: the cycles (count) of the one worker that
  /// it takes on each tile of x.
  constexpr void vertex(const TensorInfo& x, std::int64_t worker_cycles) {
    add({.kind = Work::Kind::vertex, .x = x, .count = worker_cycles});
  }
  /// x moves to or from the streaming memory beside the host.
  constexpr void transfer(const TensorInfo& x) { add({.kind = Work::Kind::transfer, .x = x}); }
  /// Each piece that follows is done so many times, at least once.
  constexpr void repeat(std::int64_t times) { times_ = times > 1 ? times : 1; }

  constexpr Vector<Work> work() && { return std::move(work_); }

 private:
  constexpr void add(Work work) {
    work.times = times_;
    work_.push_back(work);
  }

  Vector<Work> work_;
  std::int64_t times_ = 1;
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
