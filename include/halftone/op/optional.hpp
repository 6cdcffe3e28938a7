#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_OPTIONAL_HPP
#define HALFTONE_OP_OPTIONAL_HPP

namespace halftone::op {

/// A value that may be absent, with the input in it if there is one.
///
/// input   a tensor or a sequence
/// type    of the input, where it is absent
/// source  ai.onnx Optional-28
struct MakeOptional {
  ElementType type = ElementType::undefined;

  static constexpr OpId id{"ai.onnx", "Optional", 15, 28};
  static constexpr Signature signature = "input? -> output:O";
  using types = TypeList<AnyTypes>;

  constexpr void attributes(auto&& visit) { visit("type", type); }
  constexpr Inferred infer(const Inputs& in) const {
    const ElementType item = in.has(0) ? in[0].type : type;
    if (optional_of(item) == ElementType::undefined) {
      return Inferred::mismatch("an optional value is a tensor or a sequence of tensors", 0,
                                static_cast<std::int64_t>(item));
    }
    return TensorInfo{optional_of(item), {}};
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

/// What an optional value holds; a tensor or sequence itself.
///
/// limits  a value that holds nothing is an InputError
/// source  ai.onnx OptionalGetElement-28
struct OptionalGetElement {
  static constexpr OpId id{"ai.onnx", "OptionalGetElement", 15, 18, 28};
  static constexpr Signature signature = "input -> output:V";
  using types = TypeList<AnyTypes>;

  static constexpr Inferred infer(TensorInfo x) {
    if (!is_optional(x.type)) return x;
    if (is_tensor(item_of(x.type))) return Inferred::unknown();
    return TensorInfo{item_of(x.type), {}};
  }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

/// Whether an optional value holds something, as a bool scalar: false for an input that is absent,
/// true for tensors and sequences.
///
/// source  ai.onnx OptionalHasElement-28
struct OptionalHasElement {
  static constexpr OpId id{"ai.onnx", "OptionalHasElement", 15, 18, 28};
  static constexpr Signature signature = "input? -> output:B";
  using types = TypeList<AnyTypes>;

  static constexpr Inferred infer(const Inputs&) { return TensorInfo{ElementType::boolean, {}}; }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

}  // namespace halftone::op

#endif
