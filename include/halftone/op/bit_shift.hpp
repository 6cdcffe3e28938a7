#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_BIT_SHIFT_HPP
#define HALFTONE_OP_BIT_SHIFT_HPP

#include <halftone/base/math.hpp>

namespace halftone {

namespace op {
/// Towards the high bits or the low ones.
enum class ShiftDirection : std::uint8_t { missing, left, right };
}  // namespace op

namespace detail {
inline constexpr std::string_view shift_direction_names[] = {"", "LEFT", "RIGHT"};

/// Bits of a number, or of each number of a vector.
template <class X>
constexpr int bits_of_number() {
  if constexpr (std::is_integral_v<X>) {
    return 8 * static_cast<int>(sizeof(X));
  } else {
    return 8 * static_cast<int>(sizeof(X)) / static_cast<int>(X::size);
  }
}
/// Whether a number, or each number of a vector, has a sign.
template <class X>
constexpr bool is_signed_number() {
  if constexpr (std::is_integral_v<X>) {
    return std::is_signed_v<X>;
  } else {
    return std::is_signed_v<typename X::value_type>;
  }
}
}  // namespace detail

namespace op {
constexpr std::span<const std::string_view> names_of(ShiftDirection) {
  return halftone::detail::shift_direction_names;
}

/// The bits of a moved by b places, element by element.
///
/// a, b       integers of shapes that broadcast together; c has the common shape
/// direction  LEFT or RIGHT, required
/// limits     zeros move in, from the left of a negative number ones. As many places as there are
///            bits, or more, or a negative number of places, leave only what moved in
/// source     ai.onnx BitShift-28, before which the integers are unsigned
struct BitShift {
  ShiftDirection direction = ShiftDirection::missing;

  static constexpr OpId id{"ai.onnx", "BitShift", 11, 28};
  static constexpr Signature signature = "a b -> c";
  using types = TypeList<IntegerTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("direction", direction); }

  constexpr Inferred infer(const Inputs& in) const;

  constexpr auto forward(auto a, auto b) const {
    using X = decltype(a);
    const X last = static_cast<X>(halftone::detail::bits_of_number<X>() - 1);
    const X by = static_cast<X>(b & last);
    const X moved =
        direction == ShiftDirection::left ? static_cast<X>(a << by) : static_cast<X>(a >> by);
    if constexpr (halftone::detail::is_signed_number<X>()) {
      const X zero = static_cast<X>(0), fill = static_cast<X>(a >> last);
      const X gone = direction == ShiftDirection::left ? zero : fill;
      return math::select(b < zero, gone, math::select(b <= last, moved, gone));
    } else {
      return math::select(b <= last, moved, static_cast<X>(0));
    }
  }
};

constexpr Inferred BitShift::infer(const Inputs& in) const {
  if (direction == ShiftDirection::missing) {
    return Inferred::mismatch("attribute 'direction' is missing");
  }
  return halftone::detail::infer_elementwise<BitShift>(in);
}

}  // namespace op
}  // namespace halftone

#endif
