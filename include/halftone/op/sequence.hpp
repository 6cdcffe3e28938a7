#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_SEQUENCE_HPP
#define HALFTONE_OP_SEQUENCE_HPP

namespace halftone {

namespace detail {

/// The info of a sequence of such tensors.
constexpr Inferred sequence_info(ElementType item) { return TensorInfo{sequence_of(item), {}}; }
constexpr Inferred no_sequence(ElementType found) {
  return Inferred::mismatch("the input is no sequence", 0, static_cast<std::int64_t>(found));
}
constexpr bool is_position(const Inputs& in, std::size_t i) {
  return !in.has(i) ||
         (in[i].elements() == 1 &&
          (in[i].type == ElementType::int64 || in[i].type == ElementType::int32)) ||
         in[i].elements() == dynamic;
}

}  // namespace detail

namespace op {

/// A sequence without items.
///
/// dtype   element type of the tensors that may come
/// source  ai.onnx SequenceEmpty-11
struct SequenceEmpty {
  ElementType dtype = ElementType::float32;

  static constexpr OpId id{"ai.onnx", "SequenceEmpty", 11};
  static constexpr Signature signature = "-> output";
  using types = TypeList<AnyTypes>;

  constexpr void attributes(auto&& visit) { visit("dtype", dtype); }
  constexpr Inferred infer(const Inputs&) const {
    if (!is_tensor(dtype) || size_in_bytes(dtype) == 0) {
      return Inferred::types("element type is not offered", ElementType::undefined, dtype);
    }
    return halftone::detail::sequence_info(dtype);
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

/// A sequence of the inputs, which are tensors of one element type.
///
/// source  ai.onnx SequenceConstruct-11
struct SequenceConstruct {
  static constexpr OpId id{"ai.onnx", "SequenceConstruct", 11};
  static constexpr Signature signature = "inputs... -> output_sequence:S";
  using types = TypeList<AnyTypes>;

  static constexpr Inferred infer(const Inputs& in) {
    if (in.size() == 0) return Inferred::mismatch("too few inputs", 1, 0);
    if (!is_tensor(in[0].type)) {
      return Inferred::mismatch("a sequence holds tensors", 0,
                                static_cast<std::int64_t>(in[0].type));
    }
    return halftone::detail::sequence_info(in[0].type);
  }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

/// One item of a sequence.
///
/// position  one integer; counted from the end if it is negative
/// limits    a position outside the sequence is an InputError
/// source    ai.onnx SequenceAt-11
struct SequenceAt {
  static constexpr OpId id{"ai.onnx", "SequenceAt", 11};
  static constexpr Signature signature = "input_sequence:S position:I -> tensor:T";
  using types = TypeList<AnyTypes>;

  static constexpr Inferred infer(const Inputs& in) {
    if (!is_sequence(in[0].type)) return halftone::detail::no_sequence(in[0].type);
    if (!halftone::detail::is_position(in, 1))
      return Inferred::mismatch("the position is not one integer");
    if (is_map(item_of(in[0].type))) return TensorInfo{item_of(in[0].type), {}};
    return Inferred::unknown();
  }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

/// The sequence with one item more.
///
/// tensor    of the sequence's element type
/// position  where the item is to be, up to the number of items; at the end if it is absent
/// limits    a position outside the sequence is an InputError
/// source    ai.onnx SequenceInsert-11
struct SequenceInsert {
  static constexpr OpId id{"ai.onnx", "SequenceInsert", 11};
  static constexpr Signature signature =
      "input_sequence:S tensor:T position:I? -> output_sequence:S";
  using types = TypeList<AnyTypes>;

  static constexpr Inferred infer(const Inputs& in) {
    if (!is_sequence(in[0].type)) return halftone::detail::no_sequence(in[0].type);
    if (item_of(in[0].type) != in[1].type) {
      return Inferred::types("the item is not of the sequence's type", item_of(in[0].type),
                             in[1].type);
    }
    if (!halftone::detail::is_position(in, 2))
      return Inferred::mismatch("the position is not one integer");
    return in[0];
  }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

/// The sequence without one of its items.
///
/// position  the last one if it is absent
/// limits    a position outside the sequence is an InputError
/// source    ai.onnx SequenceErase-11
struct SequenceErase {
  static constexpr OpId id{"ai.onnx", "SequenceErase", 11};
  static constexpr Signature signature = "input_sequence:S position:I? -> output_sequence:S";
  using types = TypeList<AnyTypes>;

  static constexpr Inferred infer(const Inputs& in) {
    if (!is_sequence(in[0].type)) return halftone::detail::no_sequence(in[0].type);
    if (!halftone::detail::is_position(in, 1))
      return Inferred::mismatch("the position is not one integer");
    return in[0];
  }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

/// The number of items, as an int64 scalar.
///
/// source  ai.onnx SequenceLength-11
struct SequenceLength {
  static constexpr OpId id{"ai.onnx", "SequenceLength", 11};
  static constexpr Signature signature = "input_sequence:S -> length:I";
  using types = TypeList<AnyTypes>;

  static constexpr Inferred infer(TensorInfo x) {
    if (!is_sequence(x.type)) return halftone::detail::no_sequence(x.type);
    return TensorInfo{ElementType::int64, {}};
  }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

/// Pieces of a tensor along an axis.
///
/// split     one integer: the pieces have that length, the last one what is left; a list: the
///           lengths; absent: 1
/// keepdims  whether pieces keep the axis where `split` is absent
/// source    ai.onnx SplitToSequence-24
struct SplitToSequence {
  std::int64_t axis = 0;
  bool keepdims = true;

  static constexpr OpId id{"ai.onnx", "SplitToSequence", 11, 24};
  static constexpr Signature signature = "input split:I? -> output_sequence:S";
  using types = TypeList<AnyTypes>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("keepdims", keepdims);
  }
  constexpr Inferred infer(const Inputs& in) const {
    if (!is_tensor(in[0].type)) {
      return Inferred::mismatch("the input is no tensor", 0, static_cast<std::int64_t>(in[0].type));
    }
    if (normalized_axis(axis, in[0].rank()) == in[0].rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(in[0].rank()),
                                axis);
    }
    if (in.has(1) && in[1].rank() > 1) return Inferred::mismatch("split is no list");
    return halftone::detail::sequence_info(in[0].type);
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

/// The items of a sequence behind each other along an axis; along a new one if `new_axis`.
///
/// axis    required; of the result
/// limits  items whose shapes do not fit, and an empty sequence, are InputErrors
/// source  ai.onnx ConcatFromSequence-11
struct ConcatFromSequence {
  std::int64_t axis = required;
  bool new_axis = false;

  static constexpr OpId id{"ai.onnx", "ConcatFromSequence", 11};
  static constexpr Signature signature = "input_sequence:S -> concat_result:T";
  using types = TypeList<AnyTypes>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("new_axis", new_axis);
  }
  constexpr Inferred infer(TensorInfo x) const {
    if (!is_sequence(x.type) || !is_tensor(item_of(x.type)))
      return halftone::detail::no_sequence(x.type);
    return Inferred::unknown();
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

/// Runs a subgraph for every item of a sequence; the results are sequences. The executor knows it.
///
/// input_sequence  its items are the subgraph's first input
/// additional      further inputs of the subgraph: the items of sequences, which have the same
///                 length, and tensors as they are; what the subgraph captures comes last
/// source          ai.onnx SequenceMap-17
struct SequenceMap {
  Subgraph body{};

  static constexpr OpId id{"ai.onnx", "SequenceMap", 17};
  static constexpr Signature signature = "input_sequence:S additional:*... -> out_sequence:*...";
  using types = TypeList<AnyTypes>;

  constexpr void attributes(auto&& visit) { visit("body", body); }
  static constexpr Inferred infer(const Inputs& in) {
    if (!is_sequence(in[0].type)) return halftone::detail::no_sequence(in[0].type);
    if (in.graph_outputs().size() != 1) return Inferred::unknown(in.output_count());
    const Vector<TensorInfo>& results = in.graph_outputs()[0];
    if (results.size() != in.output_count()) {
      return Inferred::mismatch("the subgraph has another number of outputs",
                                static_cast<std::int64_t>(in.output_count()),
                                static_cast<std::int64_t>(results.size()));
    }
    Vector<TensorInfo> outputs;
    for (const TensorInfo& y : results) {
      outputs.push_back(y.is_known() ? TensorInfo{sequence_of(y.type), {}} : TensorInfo{});
    }
    return outputs;
  }
};

}  // namespace op

}  // namespace halftone

#endif
