#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_LOOP_HPP
#define HALFTONE_OP_LOOP_HPP

#include <halftone/op/repeat.hpp>

namespace halftone::op {

/// Runs a subgraph again and again, with values that go from pass to pass.
///
/// M        most passes, one number; absent: as many as the condition allows
/// cond     one boolean: whether there is a first pass; absent: the body's condition does not count
/// carried  the first values of the states, then what the body captures of the graph around it
/// outputs  the last values of the states, then what the passes give, stacked along a new first
///          dimension
/// body     (pass number, condition, states...) -> (condition, states..., slices...)
/// modifiedInputs  numbers of the inputs that the body changes, which it returns as it got them: they
///                 have the new values when the Loop has run
/// grad     a Scan from the last pass to the first, of passes whose number is known before the run;
///          none if it changes any input
/// limits   states may change their shapes from pass to pass, slices may not. Without any pass
///          unknown extents of the slices count as 0. A loop without M and cond would not end: it
///          is refused. PopART wants a constant M, which is not needed here
/// source   ai.onnx Loop-16
struct Loop {
  Subgraph body{};
  InputNumbers modified_inputs{};

  static constexpr OpId id{"ai.onnx", "Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25};
  static constexpr Signature signature = "M:I? cond:B? carried:*... -> outputs:*...";
  using types = TypeList<TypeList<std::int64_t, std::int32_t>, TypeList<bool>, AllTypes>;

  constexpr void attributes(auto&& visit) {
    visit("body", body);
    visit("modifiedInputs", modified_inputs);
  }
  constexpr bool modifies(std::size_t input) const {
    return modified_inputs.contains(static_cast<std::int64_t>(input));
  }

  /// Where states and stacked outputs are; false if the body does not fit the node.
  static constexpr bool describe(const Node& node, const Graph& inner, Repeat& repeat) {
    repeat = {.is_loop = true, .first_state = 2, .body_state = 2, .body_result = 1};
    repeat.states = node.inputs.size() > 2 ? node.inputs.size() - 2 : 0;
    if (inner.inputs.size() != 2 + repeat.states || inner.outputs.size() < 1 + repeat.states) {
      return false;
    }
    repeat.stacked = inner.outputs.size() - 1 - repeat.states;
    return true;
  }

  static constexpr Inferred infer(const Inputs& in) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (in.has(i) && in[i].elements() != dynamic && in[i].elements() != 1) {
        return Inferred::mismatch(
            i == 0 ? "the number of passes is not one number" : "the condition is not one boolean",
            1, in[i].elements());
      }
    }
    if (in.graph_outputs().empty()) return Inferred::unknown(in.output_count());
    const Vector<TensorInfo>& inner = in.graph_outputs()[0];
    const std::size_t states = in.size() > 2 ? in.size() - 2 : 0;
    Vector<TensorInfo> outputs;
    for (std::size_t i = 1; i < inner.size(); ++i) {
      const TensorInfo& y = inner[i];
      if (i <= states) {
        const TensorInfo& first = in[1 + i];
        if (first.is_known() && y.is_known() && first.type != y.type) {
          return Inferred::types("a state changes its element type", first.type, y.type);
        }
        outputs.push_back(either(first, y));
        continue;
      }
      if (y.rank() == max_rank) {
        return Inferred::mismatch("too many dimensions", max_rank, max_rank + 1);
      }
      outputs.push_back(y);
      if (y.is_known()) outputs.back().shape.insert(0, in.passes());
    }
    if (outputs.size() < in.output_count()) {
      return Inferred::mismatch("the body has another number of outputs",
                                static_cast<std::int64_t>(in.output_count() + 1),
                                static_cast<std::int64_t>(inner.size()));
    }
    outputs.resize(in.output_count());
    return outputs;
  }

  constexpr void gradient(auto& g) const {
    if (!modified_inputs.empty()) {
      halftone::detail::refuse_gradient(
          g.graph(), g.node(), {.what = "a loop that changes what it is given has no gradient"});
    }
    record_repeat_gradient(g);
  }
};

}  // namespace halftone::op

#endif
