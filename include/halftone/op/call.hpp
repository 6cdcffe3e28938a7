#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CALL_HPP
#define HALFTONE_OP_CALL_HPP

#include <halftone/op/repeat.hpp>

namespace halftone::op {

/// Runs a subgraph once.
///
/// inputs          those of the callee, then what it captures of the graph around it
/// outputs         those of the callee
/// modifiedInputs  numbers of the inputs that the callee changes: they have the new values when the
///                 Call has run; at most 255
/// grad            a Call that computes the gradients of the inputs; none if it changes any
/// limits          callees of one name are graphs of their own
/// source          ai.graphcore Call-1
struct Call {
  Subgraph callee{};
  InputNumbers modified_inputs{};

  static constexpr OpId id{"ai.graphcore", "Call", 1};
  static constexpr Signature signature = "inputs:*... -> outputs:*...";
  using types = TypeList<AllTypes>;

  constexpr void attributes(auto&& visit) {
    visit("callee", callee);
    visit("modifiedInputs", modified_inputs);
  }

  constexpr bool modifies(std::size_t input) const {
    return modified_inputs.contains(static_cast<std::int64_t>(input));
  }

  constexpr Inferred infer(const Inputs& in) const {
    for (const std::int64_t number : modified_inputs) {
      if (number >= 0 && number < static_cast<std::int64_t>(in.size())) continue;
      return Inferred::mismatch("modifiedInputs names an input that there is not",
                                static_cast<std::int64_t>(in.size()) - 1, number);
    }
    if (in.graph_outputs().empty()) return Inferred::unknown(in.output_count());
    Vector<TensorInfo> outputs = in.graph_outputs()[0];
    if (outputs.size() < in.output_count()) {
      return Inferred::mismatch("the callee has another number of outputs",
                                static_cast<std::int64_t>(in.output_count()),
                                static_cast<std::int64_t>(outputs.size()));
    }
    outputs.resize(in.output_count());
    return outputs;
  }

  constexpr void gradient(auto& g) const {
    if (!modified_inputs.empty()) {
      halftone::detail::refuse_gradient(
          g.graph(), g.node(), {.what = "a call that changes what it is given has no gradient"});
    }
    SubgraphGradient of_callee(g, 0);
    of_callee.record(Call{.callee = of_callee.of(callee)});
  }
};

}  // namespace halftone::op

#endif
