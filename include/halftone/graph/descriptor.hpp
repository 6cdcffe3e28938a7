#pragma once

#include <span>

#include <halftone/base/array.hpp>
#include <halftone/base/vector.hpp>
#include <halftone/graph/attribute.hpp>
#include <halftone/graph/cost.hpp>
#include <halftone/graph/infer.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/graph/signature.hpp>

namespace halftone {

class Graph;
class GradientScope;
using TensorId = std::int32_t;

/// Everything about an operator that code needs that does not know its struct: a table of values
/// and functions, made by the compiler from the struct (`descriptor<Op>`). Descriptors are compared
/// by `id`, since a program and a library may each have one.
struct Descriptor {
  OpId id;
  Slots signature;
  bool elementwise;   ///< has a `forward`: broadcasts, may be fused and run in place
  bool in_groups;     ///< may be fused: element-wise, or has a `kernel_block`
  bool in_place;      ///< output 0 may overwrite input 0
  bool has_bodies;    ///< has a Subgraph among its attributes
  bool has_effect;    ///< does more than compute outputs (prints, aborts): runs once a run
  Reaches reaches;    ///< beside its tensors
  bool only_infos;    ///< the output follows from shapes alone
  bool for_host;      ///< made by passes for the host's own runs: it has no profile
  bool has_gradient;  ///< has a `gradient` or `backward`, or expands to what does
  bool only_expands;  ///< an older form: has an `expand`, but neither inference nor a kernel
  /// Bit i: input i has samples along dimension 0, as the outputs have, which are computed one by one;
  /// the other inputs are the same for all. 0: it is not so, or the operator does not say.
  std::uint32_t by_sample;

  /// Infos of the outputs from those of the inputs; null for what only expands.
  Inferred (*infer)(std::span<const Word> attributes, const Inputs& inputs);
  /// Multiplications and additions for these inputs and outputs, whose extents are known: what
  /// `Op::flops` says, one an element for element-wise operators, else 0.
  std::int64_t (*flops)(std::span<const Word> attributes, std::span<const TensorInfo> inputs,
                        std::span<const TensorInfo> outputs);
  /// The attributes of Op{}.
  Vector<Word> (*defaults)();
  /// Shows each attribute to the visitor, which may change it.
  void (*attributes)(Vector<Word>& attributes, AttributeVisitor& visitor);
  /// Records newer operators with the same meaning; null for the newest meaning itself.
  Vector<TensorId> (*expand)(Graph& graph, std::span<const Word> attributes,
                             std::span<const TensorId> inputs, std::size_t outputs);
  /// The kernel for these element types (one for each type variable); null run: there is none.
  /// The core has those of the library's own operators, one set per instruction set.
  Kernel (*kernel)(std::span<const ElementType> types);
  /// Computes the outputs, whatever their shapes are, from values that may be texts, sequences,
  /// optional values or maps; null: there is only a kernel. An operator that has both runs its
  /// kernel if neither an input nor an output has objects (has_objects()).
  Vector<AnyArray> (*run)(std::span<const Word> attributes, std::span<const AnyView> inputs,
                          std::size_t outputs);
  /// Records the gradient of a node; null if there is none, or if it expands to what has one.
  void (*gradient)(std::span<const Word> attributes, GradientScope& g);
  /// Element types that a type variable allows.
  bool (*allows)(int type_variable, ElementType type);
  /// Returns the work that the operator has a machine do for inputs and outputs whose extents are
  /// known; null for operators that do not say.
  Vector<Work> (*cost)(std::span<const Word> attributes, std::span<const TensorInfo> inputs,
                       std::span<const TensorInfo> outputs);
  /// Whether a node changes an input because its attributes say so, beside the signature; null for
  /// operators of which only the signature does.
  bool (*modifies)(std::span<const Word> attributes, std::size_t input);
  /// The words that an attribute's list (see Slot::attribute) consists of, which become their
  /// numbers here, from 0; null, or nothing, for other lists.
  std::span<const std::string_view> (*choices)(std::string_view attribute);
};

}  // namespace halftone
