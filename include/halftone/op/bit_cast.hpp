#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_BIT_CAST_HPP
#define HALFTONE_OP_BIT_CAST_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// The same bits as elements of another type.
///
/// x       any shape
/// to      element type of y, as wide as that of x; required
/// limits  a bool of other bits than 0 and 1 is true
/// source  ai.onnx BitCast-26
struct BitCast {
  ElementType to = ElementType::undefined;

  static constexpr OpId id{"ai.onnx", "BitCast", 26};
  static constexpr Signature signature = "x -> y:U";
  using types = TypeList<BitTypes, BitTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("to", to); }

  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(TensorInfo x) const {
    if (to == ElementType::undefined) return Inferred::mismatch("attribute 'to' is missing");
    if (!has_type(BitTypes{}, to) || has_objects(to) || has_objects(x.type)) {
      const ElementType wrong = has_objects(x.type) ? x.type : to;
      return Inferred::types("element type is not offered", ElementType::undefined, wrong);
    }
    if (size_in_bytes(to) != size_in_bytes(x.type)) {
      return Inferred::mismatch("element types have different widths, in bytes",
                                size_in_bytes(x.type), size_in_bytes(to));
    }
    return TensorInfo{to, x.shape};
  }
  template <class X, class Y>
  void kernel(const KernelCall&, View<const X> x, View<Y> y) const {
    if constexpr (sizeof(X) == sizeof(Y)) {
      const std::int64_t n = y.size();
      for (std::int64_t i = 0; i < n; ++i) y[i] = x[i];
      if (to == ElementType::boolean) {
        for (std::int64_t i = 0; i < n; ++i) y[i] = y[i] != 0;
      }
    }
  }
};

}  // namespace halftone::op

#endif
