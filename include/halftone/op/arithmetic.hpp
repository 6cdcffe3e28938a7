#pragma once
#include <halftone/base/math.hpp>
#include <halftone/op/list.hpp>
namespace halftone::op {
struct Add {
  static constexpr OpId id{"ai.onnx", "Add", 7, 13, 14};
  static constexpr Signature signature = "a b -> c";
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto a, auto b) { return a + b; }
  static constexpr auto backward(auto dc, auto, auto) { return std::tuple(dc, dc); }
};
struct Sub {
  static constexpr OpId id{"ai.onnx", "Sub", 7, 13, 14};
  static constexpr Signature signature = "a b -> c";
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto a, auto b) { return a - b; }
  static constexpr auto backward(auto dc, auto, auto) { return std::tuple(dc, -dc); }
};
struct Mul {
  static constexpr OpId id{"ai.onnx", "Mul", 7, 13, 14};
  static constexpr Signature signature = "a b -> c";
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto a, auto b) { return a * b; }
};
struct Div {
  static constexpr OpId id{"ai.onnx", "Div", 7, 13, 14};
  static constexpr Signature signature = "a b -> c";
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto a, auto b) { return a / b; }
};
struct Neg {
  static constexpr OpId id{"ai.onnx", "Neg", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto a) { return -a; }
};
struct Exp {
  static constexpr OpId id{"ai.onnx", "Exp", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto a) { return math::exp(a); }
};
struct Sigmoid {
  static constexpr OpId id{"ai.onnx", "Sigmoid", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto a) { return 1/(1 + exp(-a)); }
};
struct Relu {
  static constexpr OpId id{"ai.onnx", "Relu", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return select(x > 0, x, 0); }
};
struct Greater {
  static constexpr OpId id{"ai.onnx", "Greater", 9, 13};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto a, auto b) { return a > b; }
};
struct Where {
  static constexpr OpId id{"ai.onnx", "Where", 9, 16};
  static constexpr Signature signature = "c:B a b -> y";
  using types = TypeList<TypeList<bool>, BitTypes>;
  static constexpr auto forward(auto c, auto a, auto b) { return math::select(c, a, b); }
};
}
