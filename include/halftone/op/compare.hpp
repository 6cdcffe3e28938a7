#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_COMPARE_HPP
#define HALFTONE_OP_COMPARE_HPP

#include <halftone/base/math.hpp>
#include <halftone/op/broadcast_by_attribute.hpp>

namespace halftone::op {

/// a > b, element by element, as bool; false if one is NaN.
///
/// a, b    numbers of shapes that broadcast together; y has the common shape
/// source  ai.onnx Greater-7
struct Greater {
  static constexpr OpId id{"ai.onnx", "Greater", 7, 9, 13};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto a, auto b) { return a > b; }
};

/// a < b, element by element, as bool; false if one is NaN.
///
/// a, b    numbers of shapes that broadcast together; y has the common shape
/// source  ai.onnx Less-7
struct Less {
  static constexpr OpId id{"ai.onnx", "Less", 7, 9, 13};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto a, auto b) { return a < b; }
};

/// a == b, element by element, as bool; NaN equals nothing, zeros of both signs are equal.
///
/// a, b    numbers, bool or texts, of shapes that broadcast together; y has the common shape
/// source  ai.onnx Equal-19
struct Equal {
  static constexpr OpId id{"ai.onnx", "Equal", 7, 11, 13, 19};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<Joined<NumericTypes, TypeList<bool, String>>>;
  static constexpr auto forward(auto a, auto b) { return a == b; }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

/// a >= b, element by element, as bool; false if one is NaN.
///
/// a, b    numbers of shapes that broadcast together; y has the common shape
/// source  ai.onnx GreaterOrEqual-12
struct GreaterOrEqual {
  static constexpr OpId id{"ai.onnx", "GreaterOrEqual", 12, 16};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto a, auto b) { return a >= b; }
};

/// a <= b, element by element, as bool; false if one is NaN.
///
/// a, b    numbers of shapes that broadcast together; y has the common shape
/// source  ai.onnx LessOrEqual-12
struct LessOrEqual {
  static constexpr OpId id{"ai.onnx", "LessOrEqual", 12, 16};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto a, auto b) { return a <= b; }
};

/// Whether both are true; a, b: bool, of shapes that broadcast together. source  ai.onnx And-7
struct And {
  static constexpr OpId id{"ai.onnx", "And", 7};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<TypeList<bool>>;
  // Not &&: that would be a branch in the loop.
  static constexpr bool forward(bool a, bool b) { return (a & b) != 0; }
};

/// Whether one is true; a, b: bool, of shapes that broadcast together. source  ai.onnx Or-7
struct Or {
  static constexpr OpId id{"ai.onnx", "Or", 7};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<TypeList<bool>>;
  static constexpr bool forward(bool a, bool b) { return (a | b) != 0; }
};

/// Whether one of both is true; a, b: bool, of shapes that broadcast together. source  ai.onnx
/// Xor-7
struct Xor {
  static constexpr OpId id{"ai.onnx", "Xor", 7};
  static constexpr Signature signature = "a b -> y";
  using types = TypeList<TypeList<bool>>;
  static constexpr bool forward(bool a, bool b) { return a != b; }
};

/// Whether x is false; x: bool, any shape. source  ai.onnx Not-1
struct Not {
  static constexpr OpId id{"ai.onnx", "Not", 1};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<TypeList<bool>>;
  static constexpr bool forward(bool x) { return !x; }
};

/// a where the condition is true, else b, element by element.
///
/// c       bool; a, b: any one type; all of shapes that broadcast together; y has the common shape
/// grad    da = dy where c is true, else 0; db the other way round; nothing reaches c
/// limits  elements are moved, so NaN keeps its bits
/// source  ai.onnx Where-9
struct Where {
  static constexpr OpId id{"ai.onnx", "Where", 9, 16};
  static constexpr Signature signature = "c:B a b -> y";
  using types = TypeList<TypeList<bool>, BitTypes>;

  static constexpr auto forward(auto c, auto a, auto b) {
    if constexpr (std::is_unsigned_v<decltype(a)>) {
      // No branch, so that the compiler makes vectors of it.
      using T = decltype(a);
      const auto bits = static_cast<T>(T(0) - static_cast<T>(c));
      return static_cast<T>((a & bits) | (b & static_cast<T>(~bits)));
    } else {
      return math::select(c, a, b);
    }
  }
  static constexpr auto backward(auto dy, auto c, auto, auto) {
    return std::tuple(none, select(c, dy, 0), select(c, 0, dy));
  }
};

/// Greater with the attributes `broadcast` and `axis`.
struct Greater_1 : detail::BroadcastByAttribute<Greater> {
  static constexpr OpId id{"ai.onnx", "Greater", 1};
  static constexpr bool differentiable = false;
};
/// Less with the attributes `broadcast` and `axis`.
struct Less_1 : detail::BroadcastByAttribute<Less> {
  static constexpr OpId id{"ai.onnx", "Less", 1};
  static constexpr bool differentiable = false;
};
/// Equal with the attributes `broadcast` and `axis`.
struct Equal_1 : detail::BroadcastByAttribute<Equal> {
  static constexpr OpId id{"ai.onnx", "Equal", 1};
  static constexpr bool differentiable = false;
};
/// And with the attributes `broadcast` and `axis`.
struct And_1 : detail::BroadcastByAttribute<And> {
  static constexpr OpId id{"ai.onnx", "And", 1};
  static constexpr bool differentiable = false;
};
/// Or with the attributes `broadcast` and `axis`.
struct Or_1 : detail::BroadcastByAttribute<Or> {
  static constexpr OpId id{"ai.onnx", "Or", 1};
  static constexpr bool differentiable = false;
};
/// Xor with the attributes `broadcast` and `axis`.
struct Xor_1 : detail::BroadcastByAttribute<Xor> {
  static constexpr OpId id{"ai.onnx", "Xor", 1};
  static constexpr bool differentiable = false;
};

}  // namespace halftone::op

namespace halftone {

template <tensor_handle A, class B>
constexpr auto operator>(const A& a, const B& b) {
  return op::greater(a, b);
}
template <scalar A, tensor_handle B>
constexpr auto operator>(const A& a, const B& b) {
  return op::greater(a, b);
}
template <tensor_handle A, class B>
constexpr auto operator<(const A& a, const B& b) {
  return op::less(a, b);
}
template <scalar A, tensor_handle B>
constexpr auto operator<(const A& a, const B& b) {
  return op::less(a, b);
}
template <tensor_handle A, class B>
constexpr auto operator>=(const A& a, const B& b) {
  return op::greater_or_equal(a, b);
}
template <scalar A, tensor_handle B>
constexpr auto operator>=(const A& a, const B& b) {
  return op::greater_or_equal(a, b);
}
template <tensor_handle A, class B>
constexpr auto operator<=(const A& a, const B& b) {
  return op::less_or_equal(a, b);
}
template <scalar A, tensor_handle B>
constexpr auto operator<=(const A& a, const B& b) {
  return op::less_or_equal(a, b);
}

}  // namespace halftone

#endif
