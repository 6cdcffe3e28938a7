#pragma once

#include <cstdint>
#include <string_view>

#include <halftone/base/element_type.hpp>

/// What the inner loops of element-wise vertices cost, by operator and element type.
/// source: poplibs' popops estimators.
namespace halftone::ipu {

/// A loop that takes `cycles` for every `unroll` elements. unroll 0: for each vector, -1: for each
/// element, and besides what a vertex needs to load, to store and to branch.
struct Loop {
  int cycles = 0, unroll = 0;
};

/// Loops by element type; 0 cycles: the machine has none for that type.
struct Loops {
  Loop f32{}, f16{}, i32{}, u32{}, i64{}, u64{}, i16{}, flag{};

  constexpr Loop own(ElementType type) const {
    const int bytes = size_in_bytes(type);
    if (is_floating_point(type)) return bytes <= 2 ? f16 : f32;
    if (type == ElementType::boolean) return flag;
    const bool is_unsigned = type == ElementType::uint32 || type == ElementType::uint64;
    if (bytes == 8) return is_unsigned && u64.cycles != 0 ? u64 : i64;
    if (bytes == 4) return is_unsigned && u32.cycles != 0 ? u32 : i32;
    return i16;
  }
  /// That of a type which has none is the one for whole numbers, or else for float.
  constexpr Loop of(ElementType type) const {
    if (own(type).cycles != 0) return own(type);
    return is_floating_point(type) || i32.cycles == 0 ? (f32.cycles != 0 ? f32 : flag) : i32;
  }
};

/// The loops of an operator's vertices: of operands of one layout, and where one operand is a
/// scalar. Loops in place are given where they differ.
struct ElementwiseCost {
  std::string_view op;
  int inputs = 1;
  Loops plain{}, in_place{}, scalar{}, scalar_in_place{};

  constexpr Loop loop(ElementType type, bool is_in_place = false) const {
    const Loop own = in_place.own(type);
    return is_in_place && own.cycles != 0 ? own : plain.of(type);
  }
  constexpr Loop scalar_loop(ElementType type, bool is_in_place = false) const {
    const Loop own = scalar_in_place.own(type), broadcast = scalar.own(type);
    if (is_in_place && own.cycles != 0) return own;
    return broadcast.cycles != 0 ? broadcast : plain.of(type);
  }
  /// Whether vertices in assembly overlap loads and stores with this operation.
  constexpr bool is_fast(ElementType type) const {
    return is_floating_point(type) && (op == "Add" || op == "Sub" || op == "Mul");
  }
};

namespace detail {

/// By ONNX name.
inline constexpr ElementwiseCost elementwise_costs[] = {
    {.op = "Abs",
     .inputs = 1,
     .plain = {.f32 = {1, -1}, .f16 = {1, -1}, .i32 = {2, -1}, .i64 = {10, -1}},
     .in_place = {.f32 = {1, 0}, .f16 = {1, 0}}},
    {.op = "Asin", .inputs = 1, .plain = {.f32 = {102, -1}, .f16 = {102, -1}}},
    {.op = "BitwiseNot", .inputs = 1, .plain = {.i32 = {1, 0}, .i64 = {3, 0}, .i16 = {2, 4}}},
    {.op = "Ceil", .inputs = 1, .plain = {.f32 = {2, 0}, .f16 = {2, 0}}},
    {.op = "Cos", .inputs = 1, .plain = {.f32 = {2300, -1}, .f16 = {25, 1}}},
    {.op = "Erf", .inputs = 1, .plain = {.f32 = {41, 1}, .f16 = {13, 1}}},
    {.op = "Exp", .inputs = 1, .plain = {.f32 = {6, 2}, .f16 = {4, 4}}},
    {.op = "Expm1", .inputs = 1, .plain = {.f32 = {4, -1}, .f16 = {5, 0}}},
    {.op = "Floor", .inputs = 1, .plain = {.f32 = {2, 0}, .f16 = {2, 0}}},
    {.op = "GeluErf", .inputs = 1, .plain = {.f32 = {22, 1}, .f16 = {16, 1}}},
    {.op = "IsInf", .inputs = 1, .plain = {.f32 = {3, 0}, .f16 = {5, 0}}},
    {.op = "IsNaN", .inputs = 1, .plain = {.f32 = {3, 0}, .f16 = {3, 0}}},
    {.op = "Log",
     .inputs = 1,
     .plain = {.f32 = {12, 2}, .f16 = {4, 4}},
     .in_place = {.f32 = {14, 2}, .f16 = {6, 4}}},
    {.op = "Log1p",
     .inputs = 1,
     .plain = {.f32 = {18, 0}, .f16 = {18, 0}},
     .in_place = {.f16 = {17, 0}}},
    {.op = "Neg",
     .inputs = 1,
     .plain = {.f32 = {2, 2}, .f16 = {2, 4}, .i32 = {2, -1}, .i64 = {5, -1}},
     .in_place = {.f32 = {3, 2}, .f16 = {3, 4}}},
    {.op = "Not", .inputs = 1, .plain = {.flag = {17, -1}}, .in_place = {.flag = {17, 0}}},
    {.op = "Reciprocal", .inputs = 1, .plain = {.f32 = {6, 2}, .f16 = {15, 4}}},
    {.op = "Relu",
     .inputs = 1,
     .plain = {.f32 = {3, 2}, .f16 = {3, 4}},
     .in_place = {.f32 = {2, 2}, .f16 = {2, 4}}},
    {.op = "Round", .inputs = 1, .plain = {.f32 = {2, 0}, .f16 = {2, 0}}},
    {.op = "Sigmoid",
     .inputs = 1,
     .plain = {.f32 = {12, 2}, .f16 = {6, 4}},
     .in_place = {.f32 = {10, 2}, .f16 = {4, 4}}},
    {.op = "Sign", .inputs = 1, .plain = {.f32 = {5, 0}, .f16 = {5, 0}, .i32 = {5, -1}}},
    {.op = "Sin", .inputs = 1, .plain = {.f32 = {2300, -1}, .f16 = {25, 1}}},
    {.op = "Sqrt", .inputs = 1, .plain = {.f32 = {10, 2}, .f16 = {23, 4}, .i32 = {110, -1}}},
    {.op = "Tan", .inputs = 1, .plain = {.f32 = {5100, 1}, .f16 = {5700, 1}}},
    {.op = "Tanh",
     .inputs = 1,
     .plain = {.f32 = {12, 2}, .f16 = {4, 4}},
     .in_place = {.f32 = {10, 2}, .f16 = {2, 4}}},
    // Vertices that no operator here is named after.
    {.op = "Cbrt", .inputs = 1, .plain = {.f32 = {27, 0}, .f16 = {17, 0}}},
    {.op = "CountLeadingZeros", .inputs = 1, .plain = {.i32 = {1, -1}}},
    {.op = "Exp2", .inputs = 1, .plain = {.f32 = {6, 2}, .f16 = {4, 4}}},
    {.op = "IsFinite", .inputs = 1, .plain = {.f32 = {5, 0}, .f16 = {5, 0}}},
    {.op = "PopCount", .inputs = 1, .plain = {.i32 = {1, -1}}},
    {.op = "Rsqrt", .inputs = 1, .plain = {.f32 = {8, 2}, .f16 = {19, 4}}},
    {.op = "Square", .inputs = 1, .plain = {.f32 = {2, 2}, .f16 = {2, 4}, .i32 = {1, 0}}},
    {.op = "Trunc",
     .inputs = 1,
     .plain = {.f32 = {3, 2}, .f16 = {11, 4}},
     .in_place = {.f32 = {4, 2}}},

    {.op = "Add",
     .inputs = 2,
     .plain = {.f32 = {1, 0}, .f16 = {1, 0}, .i32 = {7, 1}, .i64 = {11, 1}},
     .scalar = {.i32 = {6, 1}, .i64 = {9, 1}}},
    {.op = "Sub",
     .inputs = 2,
     .plain = {.f32 = {1, 0}, .f16 = {1, 0}, .i32 = {7, 1}, .i64 = {11, 1}},
     .scalar = {.i32 = {6, 1}, .i64 = {9, 1}}},
    {.op = "Mul",
     .inputs = 2,
     .plain = {.f32 = {1, 0}, .f16 = {1, 0}, .i32 = {7, 1}, .i64 = {30, 1}},
     .in_place = {.i64 = {28, 1}},
     .scalar = {.i32 = {6, 1}, .i64 = {26, 1}}},
    {.op = "Div",
     .inputs = 2,
     .plain = {.f32 = {10, 2},
               .f16 = {21, 4},
               .i32 = {277, 1},
               .u32 = {265, 1},
               .i64 = {130, 1},
               .u64 = {115, 1}},
     .in_place = {.u32 = {264, 1}, .u64 = {113, 1}},
     .scalar = {.f32 = {6, 2}, .f16 = {8, 2}, .u32 = {260, 1}, .i64 = {103, 1}, .u64 = {148, 1}}},
    {.op = "Max",
     .inputs = 2,
     .plain = {.f32 = {3, 2},
               .f16 = {4, 4},
               .i32 = {7, 1},
               .u32 = {8, 1},
               .i64 = {15, 1},
               .u64 = {13, 1}},
     .in_place = {.f32 = {4, 2}},
     .scalar = {.f32 = {3, 2},
                .f16 = {3, 4},
                .i32 = {6, 1},
                .u32 = {7, 1},
                .i64 = {14, 1},
                .u64 = {11, 1}}},
    {.op = "Min",
     .inputs = 2,
     .plain = {.f32 = {3, 2},
               .f16 = {4, 4},
               .i32 = {7, 1},
               .u32 = {8, 1},
               .i64 = {15, 1},
               .u64 = {13, 1}},
     .in_place = {.f32 = {4, 2}},
     .scalar = {.f32 = {3, 2},
                .f16 = {3, 4},
                .i32 = {6, 1},
                .u32 = {8, 1},
                .i64 = {14, 1},
                .u64 = {13, 1}}},
    {.op = "Pow",
     .inputs = 2,
     .plain = {.f32 = {312, 1}, .f16 = {325, 1}, .i32 = {32, 1}},
     .in_place = {.i32 = {34, 1}}},
    {.op = "Atan2", .inputs = 2, .plain = {.f32 = {272, 2}, .f16 = {578, 4}}},
    {.op = "Mod",
     .inputs = 2,
     .plain = {.f32 = {133, 2},
               .f16 = {300, 4},
               .i32 = {292, 1},
               .u32 = {282, 1},
               .i64 = {166, 1},
               .u64 = {149, 1}},
     .in_place = {.i64 = {165, 1}, .u64 = {146, 1}},
     .scalar = {.f32 = {93, 2},
                .f16 = {225, 4},
                .i32 = {280, 1},
                .u32 = {267, 1},
                .i64 = {137, 1},
                .u64 = {178, 1}},
     .scalar_in_place = {.i64 = {135, 1}, .u64 = {179, 1}}},
    {.op = "Equal",
     .inputs = 2,
     .plain = {.f32 = {14, 4}, .f16 = {9, 4}, .i32 = {22, 4}, .i64 = {48, 4}, .flag = {6, 4}},
     .scalar = {.f32 = {12, 4}, .f16 = {8, 4}, .i32 = {16, 4}, .i64 = {32, 4}, .flag = {14, 4}},
     .scalar_in_place = {.flag = {5, 4}}},
    {.op = "NotEqual",
     .inputs = 2,
     .plain = {.f32 = {20, 4}, .f16 = {11, 4}, .i32 = {22, 4}, .i64 = {48, 4}, .flag = {5, 4}},
     .scalar = {.f32 = {18, 4}, .f16 = {10, 4}, .i32 = {16, 4}, .i64 = {32, 4}, .flag = {4, 4}}},
    {.op = "Less",
     .inputs = 2,
     .plain = {.f32 = {14, 4}, .f16 = {9, 4}, .i32 = {22, 4}, .i64 = {56, 4}, .flag = {28, 4}},
     .scalar = {.f32 = {12, 4}, .f16 = {8, 4}, .i32 = {16, 4}, .i64 = {38, 4}, .flag = {16, 4}}},
    {.op = "Greater",
     .inputs = 2,
     .plain = {.f32 = {14, 4}, .f16 = {9, 4}, .i32 = {22, 4}, .i64 = {56, 4}, .flag = {31, 4}},
     .scalar = {.f32 = {12, 4}, .f16 = {8, 4}, .i32 = {16, 4}, .i64 = {38, 4}, .flag = {12, 4}}},
    {.op = "LessOrEqual",
     .inputs = 2,
     .plain = {.f32 = {14, 4}, .f16 = {9, 4}, .i32 = {26, 4}, .i64 = {62, 4}, .flag = {28, 4}},
     .scalar = {.f32 = {12, 4}, .f16 = {8, 4}, .i32 = {20, 4}, .i64 = {50, 4}, .flag = {16, 4}}},
    {.op = "GreaterOrEqual",
     .inputs = 2,
     .plain = {.f32 = {14, 4}, .f16 = {9, 4}, .i32 = {26, 4}, .i64 = {62, 4}, .flag = {28, 4}},
     .scalar = {.f32 = {12, 4}, .f16 = {8, 4}, .i32 = {20, 4}, .i64 = {50, 4}, .flag = {12, 4}}},
    {.op = "And", .inputs = 2, .plain = {.flag = {5, 4}}, .scalar = {.flag = {4, 4}}},
    {.op = "Or", .inputs = 2, .plain = {.flag = {5, 4}}, .scalar = {.flag = {4, 4}}},
    {.op = "BitwiseAnd",
     .inputs = 2,
     .plain = {.i32 = {7, 1}, .i64 = {9, 1}, .i16 = {3, 4}},
     .scalar = {.i32 = {6, 1}, .i64 = {7, 1}, .i16 = {2, 4}}},
    {.op = "BitwiseOr",
     .inputs = 2,
     .plain = {.i32 = {7, 1}, .i64 = {9, 1}, .i16 = {3, 4}},
     .scalar = {.i32 = {6, 1}, .i64 = {7, 1}, .i16 = {2, 4}}},
    {.op = "BitwiseXor",
     .inputs = 2,
     .plain = {.i32 = {7, 1}, .i64 = {9, 1}, .i16 = {5, 2}},
     .scalar = {.i32 = {6, 1}, .i64 = {7, 1}, .i16 = {4, 2}}},
    {.op = "BitwiseXnor",
     .inputs = 2,
     .plain = {.i32 = {7, 1}, .i64 = {9, 1}, .i16 = {6, 2}},
     .scalar = {.i32 = {6, 1}, .i64 = {7, 1}, .i16 = {4, 2}}},
    {.op = "ShiftLeft",
     .inputs = 2,
     .plain = {.i32 = {7, 1}, .i64 = {18, 1}},
     .in_place = {.i64 = {16, 1}},
     .scalar = {.i32 = {6, 1}, .i64 = {16, 1}}},
    {.op = "ShiftRight",
     .inputs = 2,
     .plain = {.i32 = {7, 1}, .i64 = {6, 1}},
     .scalar = {.i32 = {6, 1}, .i64 = {5, 1}}},
    {.op = "ShiftRightSignExtend",
     .inputs = 2,
     .plain = {.i32 = {7, 1}, .i64 = {19, 1}},
     .in_place = {.i64 = {17, 1}},
     .scalar = {.i32 = {6, 1}, .i64 = {17, 1}}},
    {.op = "InverseStdDevToVariance",
     .inputs = 2,
     .plain = {.f32 = {11, 2}, .f16 = {10, 2}},
     .scalar = {.f32 = {11, 2}, .f16 = {10, 2}},
     .scalar_in_place = {.f32 = {7, 0}}},
    {.op = "VarianceToInverseStdDev",
     .inputs = 2,
     .plain = {.f32 = {12, 2}, .f16 = {24, 4}},
     .scalar = {.f32 = {12, 2}, .f16 = {24, 4}}},
};

}  // namespace detail

/// The row of an operator by its ONNX name, null if it has none.
constexpr const ElementwiseCost* find_elementwise(std::string_view op) {
  for (const ElementwiseCost& cost : detail::elementwise_costs) {
    if (cost.op == op) return &cost;
  }
  return nullptr;
}

}  // namespace halftone::ipu
