#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CAST_HPP
#define HALFTONE_OP_CAST_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// The same numbers as elements of another type.
///
/// x         any shape
/// to        element type of y; required
/// saturate  for float8: what is too large becomes the largest number, else infinity (NaN where
///           there is none)
/// round_mode  for float8e8m0
/// limits    between floats: to nearest, ties to even. From floats to integers: cut off, and what
///           is out of range becomes the nearest integer of the type, NaN 0. Between integers: the
///           low bits. To bool: whether it is not 0; NaN is true. To string: the shortest decimal number
///           that gives the element again, "NaN", "INF", "-INF"; a text that is no number is an
///           InputError
/// source    ai.onnx Cast-28
struct Cast {
  ElementType to = ElementType::undefined;
  bool saturate = true;
  ScaleRounding round_mode = ScaleRounding::up;

  static constexpr OpId id{"ai.onnx", "Cast", 6, 9, 13, 19, 21, 23, 24, 25, 28};
  static constexpr Signature signature = "x -> y:U";
  using Elements = Joined<AllTypes, TypeList<String>>;
  using types = TypeList<Elements, BitsOf<Elements>>;

  constexpr void attributes(auto&& visit) {
    visit("to", to);
    visit("saturate", saturate);
    visit("round_mode", round_mode);
  }
  static constexpr void cost(auto& machine, auto in, auto out) { machine.cast(in[0], out[0].type); }
  constexpr Inferred infer(TensorInfo x) const {
    if (to == ElementType::undefined) return Inferred::mismatch("attribute 'to' is missing");
    if (!has_type(Elements{}, to)) {
      return Inferred::types("element type is not offered", ElementType::undefined, to);
    }
    return TensorInfo{to, x.shape};
  }
  template <class X, class Bits>
  void kernel(const KernelCall& call, View<const X> x, View<Bits> y) const {
    kernel::cast(*call.executor, x.data, to, y.data, x.size(), {saturate, round_mode});
  }
  template <class X, class Bits>
  void kernel_block(const X* x, Bits* y, std::int64_t n) const {
    kernel::cast_block(x, to, y, n, {saturate, round_mode});
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
  static constexpr void gradient(auto& g) { g.dx(0) += g.dy(); }
};

}  // namespace halftone::op

#endif
