#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <halftone/ipu/elementwise_costs.hpp>
#include <halftone/ipu/nonlinearity.hpp>
#include <halftone/ipu/target.hpp>

/// Cycles of element-wise vertices on one tile of six workers. n: elements on the tile.
/// source: poplibs' popops estimators.
namespace halftone::ipu {

constexpr std::int64_t supervisor_cycles = 11;

namespace detail {

/// A loop over the elements of a worker; `overhead` is that of a vector, or of an element.
constexpr std::int64_t loop_cycles(const Target& t, Loop loop, std::int64_t elements,
                                   ElementType type, std::int64_t overhead) {
  if (loop.unroll > 0) return divide_up(elements, loop.unroll) * loop.cycles;
  const std::int64_t q = loop.unroll == 0 ? t.vector_width(type) : 1;
  return divide_up(elements, q) * (loop.cycles + overhead);
}

/// Cycles for each of so many elements, `width` of them at a time; the last ones count in part.
constexpr std::int64_t in_vectors(std::int64_t cycles, std::int64_t elements, std::int64_t width) {
  return cycles * (elements + width - 1) / width;
}

}  // namespace detail

/// A function of one tensor, the tile's elements in one region.
constexpr std::int64_t unary_cycles(const Target& t, const ElementwiseCost& op, std::int64_t n,
                                    ElementType type, bool is_in_place = false) {
  const std::int64_t w = t.worker_contexts, on_worker = divide_up(n, w);
  const std::int64_t base = is_in_place ? 55 : op.op == "Exp" ? 33 : 17;
  const Loop loop = op.loop(type, is_in_place);
  const std::int64_t cycles = loop.unroll > 0
                                  ? divide_up(on_worker, loop.unroll) * loop.cycles
                                  : detail::in_vectors(loop.cycles + 4, on_worker,
                                                       loop.unroll == 0 ? t.vector_width(type) : 1);
  return 9 + supervisor_cycles + w * (base + cycles);
}

/// A function of two tensors of one layout.
constexpr std::int64_t binary_cycles(const Target& t, const ElementwiseCost& op, std::int64_t n,
                                     ElementType type, bool is_in_place = false) {
  const std::int64_t w = t.worker_contexts;
  const std::int64_t base = is_in_place ? 58 : type == ElementType::float32 ? 29 : 26;
  return supervisor_cycles +
         w * (base + detail::loop_cycles(t, op.loop(type, is_in_place), divide_up(n, w), type,
                                         op.is_fast(type) ? 2 : 5));
}

/// One operand is a scalar.
constexpr std::int64_t scalar_broadcast_cycles(const Target& t, const ElementwiseCost& op,
                                               std::int64_t n, ElementType type,
                                               bool is_in_place = false) {
  const std::int64_t w = t.worker_contexts;
  return supervisor_cycles +
         w * (20 + detail::loop_cycles(t, op.scalar_loop(type, is_in_place), divide_up(n, w), type,
                                       op.is_fast(type) ? 1 : 4));
}

/// One operand has an element for each of `rows` rows of `columns` of the other one. Workers take
/// rows, or columns.
constexpr std::int64_t outer_broadcast_cycles(const Target& t, std::int64_t rows,
                                              std::int64_t columns, ElementType type,
                                              bool is_split_by_row = true, bool is_aligned = true) {
  const std::int64_t w = t.worker_contexts, v = t.vector_width(type);
  (is_split_by_row ? rows : columns) = divide_up(is_split_by_row ? rows : columns, w);
  const std::int64_t row = (is_aligned ? 7 : 25) + detail::in_vectors(2, columns, v);
  return supervisor_cycles + w * (15 + rows * row);
}

namespace detail {

/// A worker's cycles for a vector of `length` that it adds to each of `blocks` rows.
constexpr std::int64_t inner_add_cycles(const Target& t, std::int64_t length, std::int64_t blocks,
                                        ElementType type) {
  if (blocks == 0) return 1;
  if (t.vector_width(type) <= 2) return 7 + length * (8 + 2 * blocks);
  const std::int64_t one_by_one = 6 + length * (5 + 9 * blocks);
  if (length > 2048) return 3 + one_by_one;
  if (length % 8 == 0) {
    return 5 + (blocks == 1 ? 6 + 7 * (length / 8) : 7 + length / 8 * (13 + 2 * blocks));
  }
  if (blocks < 2) return 7 + one_by_one;
  if (length % 4 != 0) return 9 + one_by_one;
  return 15 + length / 4 * (13 + 2 * (blocks / 2 - 1) + blocks % 2);
}

/// The same for products.
constexpr std::int64_t inner_multiply_cycles(const Target& t, std::int64_t length,
                                             std::int64_t blocks, ElementType type,
                                             bool is_in_place) {
  if (t.vector_width(type) <= 2) return blocks == 0 ? 2 : 7 + length * (8 + 2 * blocks);
  if (length % 4 != 0) return 8 + length * (5 + 9 * blocks);
  const std::int64_t vectors = length / 4, plain = 4 + vectors * (7 + 2 * blocks);
  if (is_in_place) return 5 + plain;
  if (length > 2044) return 7 + plain;
  return 9 + (blocks < 2 ? plain : 4 + vectors * (9 + blocks));
}

/// The same for quotients, of which each takes 3 cycles.
constexpr std::int64_t inner_divide_cycles(const Target& t, std::int64_t length,
                                           std::int64_t blocks, ElementType type) {
  if (blocks == 0) return 2;
  const std::int64_t pairs = length / 2;
  if (t.vector_width(type) <= 2) {
    return length % 2 != 0 ? 9 + length * (9 + 4 * (blocks - 1)) : 10 + pairs * (5 + 6 * blocks);
  }
  if (length == 1) {
    const std::int64_t odd = blocks % 2 != 0 ? 8 : 0;
    return 9 + (blocks == 1 ? 15 : 19 + 8 * (blocks / 2 - 1) + odd);
  }
  if (length % 2 != 0) {
    const std::int64_t first = 12 + 9 * (pairs - 1), second = 24 + 10 * (pairs - 1);
    return 10 + blocks / 2 * (first + second) + (blocks % 2 != 0 ? first + 8 : 0);
  }
  return 14 + pairs * (13 + 8 * (blocks - 1));
}

}  // namespace detail

/// One operand is a vector of `slices` slices of `length`, each of which meets `rows` rows of the
/// other one in turn. Workers take rows. For Add, Sub, Mul and Div.
constexpr std::int64_t inner_broadcast_cycles(const Target& t, std::string_view op,
                                              std::int64_t rows, std::int64_t length,
                                              std::int64_t slices, ElementType type,
                                              bool is_in_place = false) {
  const std::int64_t w = t.worker_contexts, blocks = divide_up(rows, w);
  const bool is_half = t.vector_width(type) > 2, is_multiply = op == "Mul";
  const std::int64_t more = slices > 1 ? 17 * slices : 0;
  if (op == "Div") {
    const std::int64_t each = detail::inner_divide_cycles(t, length, blocks, type);
    return 14 + (is_in_place ? 2 : 4) + w * ((is_half ? 24 : 19) + slices * each + more);
  }
  std::int64_t worker = is_half ? 19 : 17;
  // Rows of an odd length begin within a word: workers take two at a time.
  if (is_half && length % 2 != 0) worker += 7 + (rows < w ? 1 : 0);
  if (is_multiply) worker += is_half ? 24 : 17;
  worker +=
      slices * (is_multiply ? detail::inner_multiply_cycles(t, length, blocks, type, is_in_place)
                            : detail::inner_add_cycles(t, length, blocks, type));
  // Where another operator's vertex is entered first, it takes a branch to leave it.
  const bool is_other = is_multiply ? is_in_place : !(op == "Add" && is_in_place);
  return 13 + (is_other ? 6 : 0) + w * (worker + (is_other ? 3 : 2) + more);
}

/// A vertex changes y in one of these ways: y += a x; y -= a x; y = a y + b x (or y - a y + b x);
/// y = a y - b x.
enum class Scaled : std::uint8_t { add, subtract, weighted_add, weighted_subtract };

/// A vertex of `Scaled`. x may have another type than y.
constexpr std::int64_t scaled_add_cycles(const Target& t, std::int64_t n, ElementType type,
                                         ElementType operand, Scaled kind = Scaled::add,
                                         bool is_apart = false) {
  const bool is_subtraction = kind == Scaled::subtract;
  if (!is_floating_point(type)) return 73 + (is_subtraction ? 1 : 0) + 26 * (n / 3 + n % 3);
  const std::int64_t w = t.worker_contexts, v = t.vector_width(type), remainder = n % v;
  const std::int64_t vectors = n / v / w, last = n / v % w;  // the worker that does the remainder
  const std::int64_t supervisor = 50 + (remainder != 0 ? 13 : 7) + (is_subtraction ? 7 : 0) +
                                  (kind == Scaled::weighted_add ? 12 : 0);
  if (v == 4 && size_in_bytes(operand) == 4) {
    constexpr std::int64_t tail[] = {0, 11, 9, 15};
    const auto worker = [](std::int64_t of) { return 19 + (of > 0 ? 9 + 5 * (of - 1) : 0); };
    const std::int64_t first = worker(vectors + (last > 0 ? 1 : 0));
    return supervisor + w * std::max(first, worker(vectors) + 1 + tail[remainder]);
  }
  constexpr std::int64_t tail[] = {0, 5, 12, 18};
  const std::int64_t rest = remainder == 0 ? 0 : v == 2 ? 8 : tail[remainder];
  // Floats of two weights are multiplied one after the other, wherever they lie.
  const bool has_weighted_floats = v == 2 && kind >= Scaled::weighted_add;
  // Operands in different memory elements are loaded at once.
  std::int64_t each = type == operand ? 3 : 4;
  if (is_apart && !has_weighted_floats) each = vectors >= 16 ? 1 : 2;
  return supervisor + w * (19 - (has_weighted_floats ? 1 : 0) +
                           (vectors > 0 ? 6 + each * (vectors - 1) : 0) + rest);
}

/// The sum or difference of two weights, for halves with weights of float: workers take pairs.
constexpr std::int64_t float_weighted_cycles(const Target& t, std::int64_t n,
                                             bool is_apart = false) {
  const std::int64_t w = t.worker_contexts, remainder = n % w;
  const auto worker = [](std::int64_t of) -> std::int64_t {
    constexpr std::int64_t few[] = {6, 20, 19, 28, 6};
    return of <= 4 ? few[of] : 20 + 5 * ((of - 4) / 2 - 1) + of % 2 * 9;
  };
  // poplibs adds what is left over, in elements, to the pairs of one worker, and a pair to those
  // before it.
  const std::int64_t pairs = n / w / 2 * 2, last = n / w % w + divide_up(remainder, 2);
  std::int64_t most = worker(pairs + (last > 0 ? 2 : 0));
  if (last < w) most = std::max(most, worker(pairs + 2 + remainder) + 1);
  return 149 + (is_apart ? 6 : 0) + (remainder == 0 ? 5 : 0) + w * (19 + most);
}

/// x where a condition holds, else y: of one worker, for `regions` of so many elements.
constexpr std::int64_t select_worker_cycles(std::int64_t elements, std::int64_t regions = 1) {
  return 5 + regions * (6 + 5 * elements);
}
/// The same for scalars x and y.
constexpr std::int64_t scalar_select_worker_cycles(std::int64_t elements, ElementType type,
                                                   std::int64_t regions = 1) {
  const int bytes = size_in_bytes(type);
  std::int64_t each = 8 + 4 * elements;
  if (bytes == 2) each = (elements % 2 != 0 ? 23 : 30) + 4 * elements;
  if (bytes == 1) each = 66 + 17 * (elements / 4);
  return 10 + regions * each;
}
/// y = x where one condition for all holds: of one worker, which copies rows.
constexpr std::int64_t row_select_worker_cycles(std::int64_t elements, ElementType type,
                                                std::int64_t regions = 1) {
  const std::int64_t bytes = elements * std::max(size_in_bytes(type), 1);
  return 12 + regions * (35 + bytes / 4 + 5 * (bytes % 4));
}
/// x within two limits: of one worker, for `regions` of so many elements.
constexpr std::int64_t clamp_worker_cycles(const Target& t, std::int64_t elements, ElementType type,
                                           std::int64_t regions = 1) {
  const std::int64_t cycles = is_floating_point(type) ? 2 : 7;
  return 5 + regions * (6 + detail::in_vectors(cycles, elements, t.vector_width(type)));
}

/// A worker's part of the loss of `elements` probabilities: the cross entropy, or a sum of squares.
constexpr std::int64_t loss_worker_cycles(std::int64_t elements, ElementType type,
                                          bool is_cross_entropy) {
  const std::int64_t each = is_cross_entropy ? 9 : 4, base = is_cross_entropy ? 20 : 19;
  if (size_in_bytes(type) == 4) return base + each * elements;
  const std::int64_t odd = elements % 2 != 0 ? (is_cross_entropy ? 11 : 6) : 0;
  return base + 3 + each * (elements / 2) + odd;
}

/// Ones, or given values, at so many indices: of a tile for ones of uint32 to half, else of one
/// worker.
constexpr std::int64_t one_hot_cycles(std::int64_t indices, ElementType index, ElementType type,
                                      bool has_values = false) {
  if (!has_values && index == ElementType::uint32 && type == ElementType::float16) {
    return supervisor_cycles + 74 * indices;
  }
  return 100 * indices;
}

/// The element-wise operator of an ONNX name over n elements of a tile, all operands of one layout.
/// An operator without a vertex takes 10 cycles an element.
constexpr std::int64_t elementwise_cycles(const Target& t, std::string_view op, std::int64_t n,
                                          ElementType type, bool is_in_place = false) {
  const std::int64_t w = t.worker_contexts, on_worker = divide_up(n, w);
  if (op == "Where") return w * select_worker_cycles(on_worker);
  if (op == "Clip") return w * clamp_worker_cycles(t, on_worker, type);
  if (op == "Scale") {
    return scalar_broadcast_cycles(t, *find_elementwise("Mul"), n, type, is_in_place);
  }
  if (op == "ScaledAdd") return scaled_add_cycles(t, n, type, type);
  if (op == "CrossEntropy") return w * loss_worker_cycles(on_worker, type, true);
  if (op == "WeightedAdd") {
    // The weights are hyperparameters, of float.
    return type == ElementType::float16 ? float_weighted_cycles(t, n)
                                        : scaled_add_cycles(t, n, type, type, Scaled::weighted_add);
  }
  if (op == "OneHot" && type == ElementType::float16) {
    return one_hot_cycles(n, ElementType::uint32, type);
  }
  if (op == "OneHot" || op == "OneHotValues") {
    return w * one_hot_cycles(on_worker, ElementType::uint32, type, op == "OneHotValues");
  }
  if (op == "BitShift") op = "ShiftLeft";
  if (op == "Gelu" || op == "Swish") {
    return nonlinearity_cycles(t, op == "Gelu" ? Nonlinearity::gelu : Nonlinearity::swish, n, type,
                               is_in_place);
  }
  if (op == "ClipGradient") {
    const std::int64_t both = binary_cycles(t, *find_elementwise("Less"), n, type) +
                              binary_cycles(t, *find_elementwise("Greater"), n, type);
    return both + 2 * w * select_worker_cycles(on_worker);
  }
  if (op == "ReluGradient") return nonlinearity_gradient_cycles(t, Nonlinearity::relu, n, type);
  const ElementwiseCost* row = find_elementwise(op);
  constexpr ElementwiseCost unlisted{.op = {}, .plain = {.f32 = {10, 1}}};
  if (row == nullptr) return unary_cycles(t, unlisted, n, type);
  return row->inputs == 1 ? unary_cycles(t, *row, n, type, is_in_place)
                          : binary_cycles(t, *row, n, type, is_in_place);
}

}  // namespace halftone::ipu
