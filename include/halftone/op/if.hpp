#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_IF_HPP
#define HALFTONE_OP_IF_HPP

namespace halftone::op {

/// Runs one of two subgraphs. Made by the importer; the executor knows it.
///
/// cond      one boolean
/// captured  what the branches read of the outer graph: the inputs of both, in this order
/// outputs   those of the branch; an extent in which the branches differ is known in the run only
/// grad      an If whose branches compute the gradients of what they captured
/// limits    both branches give tensors of the same element types, as many as the node has
/// source    ai.onnx If-16
struct If {
  Subgraph then_branch{}, else_branch{};

  static constexpr OpId id{"ai.onnx", "If", 1, 11, 13, 16, 19, 21, 23, 24, 25};
  static constexpr Signature signature = "cond:B captured:*... -> outputs:*...";
  using types = TypeList<TypeList<bool>, AllTypes>;

  constexpr void attributes(auto&& visit) {
    visit("then_branch", then_branch);
    visit("else_branch", else_branch);
  }

  static constexpr Inferred infer(const Inputs& in) {
    if (in[0].elements() != dynamic && in[0].elements() != 1) {
      return Inferred::mismatch("the condition is not one boolean", 1, in[0].elements());
    }
    if (in.graph_outputs().size() != 2) return Inferred::unknown(in.output_count());
    Vector<TensorInfo> outputs = in.graph_outputs()[0];
    const Vector<TensorInfo>& others = in.graph_outputs()[1];
    for (const std::size_t count : {outputs.size(), others.size()}) {
      if (count != in.output_count()) {
        return Inferred::mismatch("a branch has another number of outputs",
                                  static_cast<std::int64_t>(in.output_count()),
                                  static_cast<std::int64_t>(count));
      }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      TensorInfo& y = outputs[i];
      const TensorInfo& other = others[i];
      if (y.is_known() && other.is_known() && y.type != other.type) {
        return Inferred::types("the branches give different element types", y.type, other.type);
      }
      if (!y.is_known() || !other.is_known() || y.rank() != other.rank()) {
        y = {};
        continue;
      }
      for (std::size_t d = 0; d < y.rank(); ++d) {
        if (y.shape[d] != other.shape[d]) y.shape[d] = dynamic;
      }
    }
    return outputs;
  }

  constexpr void gradient(auto& g) const {
    SubgraphGradient of_branches(g, 1);
    of_branches.record(
        If{.then_branch = of_branches.of(then_branch), .else_branch = of_branches.of(else_branch)});
  }
};

}  // namespace halftone::op

#endif
