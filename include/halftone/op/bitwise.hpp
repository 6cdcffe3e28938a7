#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_BITWISE_HPP
#define HALFTONE_OP_BITWISE_HPP

namespace halftone::op {

/// Types that are looked at bit by bit.
using BitwiseTypes = TypeList<IntegerTypes>;

/// a and b, bit by bit; integers of shapes that broadcast together. source  ai.onnx BitwiseAnd-18
struct BitwiseAnd {
  static constexpr OpId id{"ai.onnx", "BitwiseAnd", 18};
  static constexpr Signature signature = "a b -> c";
  using types = BitwiseTypes;
  static constexpr bool compiled_once = true;
  static constexpr auto forward(auto a, auto b) { return a & b; }
};

/// a or b, bit by bit; integers of shapes that broadcast together. source  ai.onnx BitwiseOr-18
struct BitwiseOr {
  static constexpr OpId id{"ai.onnx", "BitwiseOr", 18};
  static constexpr Signature signature = "a b -> c";
  using types = BitwiseTypes;
  static constexpr bool compiled_once = true;
  static constexpr auto forward(auto a, auto b) { return a | b; }
};

/// Either a or b, bit by bit; integers of shapes that broadcast together. source  ai.onnx
/// BitwiseXor-18
struct BitwiseXor {
  static constexpr OpId id{"ai.onnx", "BitwiseXor", 18};
  static constexpr Signature signature = "a b -> c";
  using types = BitwiseTypes;
  static constexpr bool compiled_once = true;
  static constexpr auto forward(auto a, auto b) { return a ^ b; }
};

/// Whether a and b are equal, bit by bit; integers of shapes that broadcast together. source
/// ai.graphcore BitwiseXnor-1
struct BitwiseXnor {
  static constexpr OpId id{"ai.graphcore", "BitwiseXnor", 1};
  static constexpr Signature signature = "a b -> c";
  using types = BitwiseTypes;
  static constexpr bool compiled_once = true;
  static constexpr auto forward(auto a, auto b) { return ~(a ^ b); }
};

/// Every bit of x turned round; integers of any shape. source  ai.onnx BitwiseNot-18
struct BitwiseNot {
  static constexpr OpId id{"ai.onnx", "BitwiseNot", 18};
  static constexpr Signature signature = "x -> y";
  using types = BitwiseTypes;
  static constexpr bool compiled_once = true;
  static constexpr auto forward(auto x) { return ~x; }
};

/// BitwiseAnd as PopART has it, for 32-bit integers only. source  ai.graphcore BitwiseAnd-1
struct GraphcoreBitwiseAnd {
  static constexpr OpId id{"ai.graphcore", "BitwiseAnd", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "a b -> c";
  using types = BitwiseTypes;
  constexpr auto expand(auto a, auto b) const { return bitwise_and(a, b); }
};

/// BitwiseOr as PopART has it. source  ai.graphcore BitwiseOr-1
struct GraphcoreBitwiseOr {
  static constexpr OpId id{"ai.graphcore", "BitwiseOr", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "a b -> c";
  using types = BitwiseTypes;
  constexpr auto expand(auto a, auto b) const { return bitwise_or(a, b); }
};

/// BitwiseXor as PopART has it. source  ai.graphcore BitwiseXor-1
struct GraphcoreBitwiseXor {
  static constexpr OpId id{"ai.graphcore", "BitwiseXor", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "a b -> c";
  using types = BitwiseTypes;
  constexpr auto expand(auto a, auto b) const { return bitwise_xor(a, b); }
};

/// BitwiseNot as PopART has it. source  ai.graphcore BitwiseNot-1
struct GraphcoreBitwiseNot {
  static constexpr OpId id{"ai.graphcore", "BitwiseNot", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x -> y";
  using types = BitwiseTypes;
  constexpr auto expand(auto x) const { return bitwise_not(x); }
};

}  // namespace halftone::op

#endif
