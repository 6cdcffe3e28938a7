#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CAST_LIKE_HPP
#define HALFTONE_OP_CAST_LIKE_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/cast.hpp>

namespace halftone::op {

/// Cast to the element type of another tensor, recorded as that if the type is known.
///
/// x            any shape
/// like         a tensor of that type; its shape and elements are not looked at
/// saturate, round_mode  see Cast
/// source       ai.onnx CastLike-25
struct CastLike {
  bool saturate = true;
  ScaleRounding round_mode = ScaleRounding::up;

  static constexpr OpId id{"ai.onnx", "CastLike", 15, 19, 21, 23, 24, 25};
  static constexpr Signature signature = "x like:U -> y:U";
  using types = TypeList<Cast::Elements, Cast::Elements>;

  constexpr void attributes(auto&& visit) {
    visit("saturate", saturate);
    visit("round_mode", round_mode);
  }
  static constexpr Inferred infer(TensorInfo x, TensorInfo like) {
    return TensorInfo{like.type, x.shape};
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    if (inputs.size() != 2) {
      fail(ErrorKind::model, {.what = "CastLike has a tensor and one of the type to cast to"});
    }
    const ElementType type = inputs[1].info().type;
    if (type == ElementType::undefined) {
      return {OpFunction<CastLike>{}(inputs[0], inputs[1], *this)};
    }
    return {op::cast(inputs[0], as_cast(type))};
  }
  constexpr Cast as_cast(ElementType type) const {
    return {.to = type, .saturate = saturate, .round_mode = round_mode};
  }
  static constexpr void gradient(auto& g) { g.dx(0) += g.dy(); }
};

}  // namespace halftone::op

#endif
