#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <halftone/ipu/target.hpp>

/// Cycles of element-wise vertices on one tile of six workers. n: elements on the tile.
/// source: poplibs' popops estimators.
namespace halftone::ipu {

/// A loop that takes `cycles` for every `unroll` elements. unroll 0: `cycles` and an overhead of 4
/// for each vector; -1: for each element.
struct Loop {
  int cycles = 0, unroll = 0;
};

/// What an element-wise operator costs, by element type; `in_place` where that differs.
struct ElementwiseCost {
  std::string_view op;
  Loop float32{}, float16{}, int32{};
  Loop float32_in_place{}, float16_in_place{};
  int inputs = 1;

  constexpr Loop loop(ElementType type, bool is_in_place) const {
    const bool is_half = size_in_bytes(type) <= 2 && is_floating_point(type);
    if (!is_floating_point(type)) return int32.cycles != 0 ? int32 : float32;
    const Loop in_place = is_half ? float16_in_place : float32_in_place;
    if (is_in_place && in_place.cycles != 0) return in_place;
    return is_half ? float16 : float32;
  }
};

namespace detail {

/// By ONNX name. Operators that the machine has no vertex for have the sum of those they are made
/// of.
inline constexpr ElementwiseCost elementwise_costs[] = {
    {"Exp", {6, 2}, {4, 4}},
    {"Log", {12, 2}, {4, 4}, {}, {14, 2}, {6, 4}},
    {"Tanh", {12, 2}, {4, 4}, {}, {10, 2}, {2, 4}},
    {"Sigmoid", {12, 2}, {6, 4}, {}, {10, 2}, {4, 4}},
    {"Sqrt", {10, 2}, {23, 4}, {110, -1}},
    {"Reciprocal", {6, 2}, {15, 4}},
    {"Erf", {41, 1}, {13, 1}},
    {"Gelu", {10, 2}, {5, 4}},
    {"GeluErf", {22, 1}, {16, 1}},
    {"Swish", {15, 2}, {9, 4}},
    {"Sin", {2300, -1}, {25, 1}},
    {"Cos", {2300, -1}, {25, 1}},
    {"Tan", {5100, 1}, {5700, 1}},
    {"Asin", {102, -1}, {102, -1}},
    {"Neg", {2, 2}, {2, 4}, {2, -1}, {3, 2}, {3, 4}},
    {"Relu", {3, 2}, {3, 4}, {}, {2, 2}, {2, 4}},
    {"Abs", {1, -1}, {1, -1}, {2, -1}, {1, 0}, {1, 0}},
    {"Ceil", {2, 0}, {2, 0}},
    {"Floor", {2, 0}, {2, 0}},
    {"Round", {2, 0}, {2, 0}},
    {"Sign", {5, 0}, {5, 0}},
    {"IsNaN", {3, 0}, {3, 0}},
    {"IsInf", {3, 0}, {5, 0}},
    {"Expm1", {4, -1}, {5, 0}},
    {"Log1p", {18, 0}, {18, 0}},
    {"Not", {17, -1}, {17, -1}, {17, -1}},
    {"BitwiseNot", {1, 0}, {1, 0}, {1, -1}},
    {"Add", {3, 2}, {3, 4}, {7, 1}, {}, {}, 2},
    {"Sub", {3, 2}, {3, 4}, {7, 1}, {}, {}, 2},
    {"Mul", {3, 2}, {3, 4}, {7, 1}, {}, {}, 2},
    {"Div", {10, 2}, {21, 4}, {277, 1}, {}, {}, 2},
    {"Max", {3, 2}, {4, 4}, {7, 1}, {4, 2}, {4, 4}, 2},
    {"Min", {3, 2}, {4, 4}, {7, 1}, {4, 2}, {4, 4}, 2},
    {"Pow", {312, 1}, {325, 1}, {32, 1}, {}, {}, 2},
    {"Atan2", {272, 2}, {578, 4}, {}, {}, {}, 2},
    {"Mod", {133, 2}, {300, 4}, {292, 1}, {}, {}, 2},
    {"Equal", {14, 4}, {9, 4}, {22, 4}, {}, {}, 2},
    {"Less", {14, 4}, {9, 4}, {22, 4}, {}, {}, 2},
    {"Greater", {14, 4}, {9, 4}, {22, 4}, {}, {}, 2},
    {"LessOrEqual", {14, 4}, {9, 4}, {26, 4}, {}, {}, 2},
    {"GreaterOrEqual", {14, 4}, {9, 4}, {26, 4}, {}, {}, 2},
    {"And", {5, 4}, {5, 4}, {5, 4}, {}, {}, 2},
    {"Or", {5, 4}, {5, 4}, {5, 4}, {}, {}, 2},
    {"Xor", {14, 4}, {9, 4}, {22, 4}, {}, {}, 2},
    {"BitwiseAnd", {7, 1}, {3, 4}, {7, 1}, {}, {}, 2},
    {"BitwiseOr", {7, 1}, {3, 4}, {7, 1}, {}, {}, 2},
    {"BitwiseXor", {7, 1}, {5, 2}, {7, 1}, {}, {}, 2},
    {"BitwiseXnor", {7, 1}, {6, 2}, {7, 1}, {}, {}, 2},
    {"Where", {5, 1}, {5, 1}, {5, 1}, {}, {}, 3},
    {"Clip", {2, 2}, {2, 4}, {7, 1}, {}, {}, 3},
    {"Scale", {2, 2}, {2, 4}, {6, 1}},
    {"ScaledAdd", {3, 2}, {3, 4}, {26, 3}, {}, {}, 2},
    // Of losses: over the probabilities, and over the labels.
    {"CrossEntropy", {9, 1}, {9, 1}},
    {"OneHot", {74, 1}, {74, 1}, {74, 1}},
};

constexpr std::int64_t loop_cycles(const Target& t, Loop loop, std::int64_t elements,
                                   ElementType type) {
  if (loop.unroll > 0) return divide_up(elements, loop.unroll) * loop.cycles;
  const std::int64_t q = loop.unroll == 0 ? t.vector_width(type) : 1;
  return (loop.cycles + 4) * (elements + q - 1) / q;
}

}  // namespace detail

constexpr std::int64_t supervisor_cycles = 11;

/// The row of an operator by its ONNX name, null if it has none.
constexpr const ElementwiseCost* find_elementwise(std::string_view op) {
  for (const ElementwiseCost& cost : detail::elementwise_costs) {
    if (cost.op == op) return &cost;
  }
  return nullptr;
}

/// A function of one tensor, the tile's elements in one region.
constexpr std::int64_t unary_cycles(const Target& t, const ElementwiseCost& op, std::int64_t n,
                                    ElementType type, bool is_in_place = false) {
  const std::int64_t w = t.worker_contexts;
  const std::int64_t base = is_in_place ? 55 : op.op == "Exp" ? 33 : 17;
  const std::int64_t loop =
      detail::loop_cycles(t, op.loop(type, is_in_place), divide_up(n, w), type);
  return 9 + supervisor_cycles + w * (base + loop);
}

/// A function of two tensors of one layout.
constexpr std::int64_t binary_cycles(const Target& t, const ElementwiseCost& op, std::int64_t n,
                                     ElementType type, bool is_in_place = false) {
  const std::int64_t w = t.worker_contexts;
  const std::int64_t base = is_in_place ? 58 : type == ElementType::float32 ? 29 : 26;
  const std::int64_t loop =
      detail::loop_cycles(t, op.loop(type, is_in_place), divide_up(n, w), type);
  return supervisor_cycles + w * (base + loop);
}

/// One operand is a scalar.
constexpr std::int64_t scalar_broadcast_cycles(const Target& t, const ElementwiseCost& op,
                                               std::int64_t n, ElementType type) {
  const std::int64_t w = t.worker_contexts;
  Loop loop = op.loop(type, false);
  if (!is_floating_point(type)) {
    if (loop.unroll == 1 && loop.cycles == 7) loop.cycles = 6;
  } else if (op.op == "Add" || op.op == "Sub" || op.op == "Mul") {
    loop.cycles = 2;
  } else if (op.op == "Div") {
    loop.cycles = type == ElementType::float32 ? 6 : 8;
    loop.unroll = 2;
  } else if (op.op == "Max" || op.op == "Min") {
    loop.cycles = 3;
  } else if (loop.unroll == 4 && loop.cycles == 14) {
    loop.cycles = 12;
  } else if (loop.unroll == 4 && loop.cycles == 9) {
    loop.cycles = 8;
  }
  return supervisor_cycles + w * (20 + detail::loop_cycles(t, loop, divide_up(n, w), type));
}

/// One operand is a vector of `columns`, the other has `rows` rows of it. Workers take rows, or
/// columns.
constexpr std::int64_t vector_broadcast_cycles(const Target& t, std::int64_t rows,
                                               std::int64_t columns, ElementType type,
                                               bool is_split_by_row = true,
                                               bool is_aligned = true) {
  const std::int64_t w = t.worker_contexts, v = t.vector_width(type);
  if (is_split_by_row) {
    rows = divide_up(rows, w);
  } else {
    columns = divide_up(columns, w);
  }
  const std::int64_t row = (is_aligned ? 7 : 25) + 2 * (columns + v - 1) / v;
  return supervisor_cycles + w * (15 + rows * row);
}

/// y += a x, without pointer scaling.
constexpr std::int64_t scaled_add_cycles(const Target& t, std::int64_t n, ElementType type) {
  const std::int64_t w = t.worker_contexts;
  if (!is_floating_point(type)) return 73 + 26 * (n / 3 + n % 3);
  const std::int64_t v = t.vector_width(type), remainder = n % v;
  const std::int64_t vectors = std::max<std::int64_t>(n / v / w, 1);
  constexpr std::int64_t half_tail[] = {0, 5, 12, 18};
  const std::int64_t tail = remainder == 0 ? 0 : v == 2 ? 8 : half_tail[remainder % 4];
  const std::int64_t supervisor = 21 + 11 + (remainder != 0 ? 13 : 7) + 12 + 6;
  return supervisor + w * (15 + 6 + 3 * (vectors - 1) + 4 + tail);
}

/// popnn's fused non-linearity of `o` cycles a vector, `o_v` in the loop.
constexpr std::int64_t nonlinearity_cycles(const Target& t, std::int64_t n, ElementType type,
                                           std::int64_t o, std::int64_t o_v) {
  const std::int64_t w = t.worker_contexts, v = t.vector_width(type);
  const std::int64_t vectors = std::max<std::int64_t>(divide_up(n / v, w), 1);
  return 9 + w * (20 + 2 + o + (vectors - 1) * o_v + 1 + o + (v == 2 ? 3 : 4));
}

/// n random numbers: uniform 4 cycles a vector, normal 4, Bernoulli 1, dropout 2.
constexpr std::int64_t random_cycles(const Target& t, std::int64_t n, ElementType type,
                                     std::int64_t cycles_per_vector) {
  const std::int64_t w = t.worker_contexts;
  return 4 + w * (24 + divide_up(divide_up(n, w), t.vector_width(type)) * cycles_per_vector);
}

}  // namespace halftone::ipu
