#pragma once
#include <halftone/op/list.hpp>
namespace halftone::op {
struct Reshape {
  std::int64_t allowzero = 0;
  static constexpr OpId id{"ai.onnx", "Reshape", 5, 13, 14};
  static constexpr Signature signature = "x shape:I -> y@x";
  using types = TypeList<AllTypes, TypeList<std::int64_t>>;
  constexpr void attributes(auto&& visit) { visit("allowzero", allowzero); }
  constexpr Inferred infer(const Inputs& in) const {
    if (!in.is_constant(1)) return Inferred::unknown();
    Dims d;
    for (auto v : in.integers(1)) d.push_back(v);
    return TensorInfo{in[0].type, d};
  }
};
}
