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

  static constexpr OpId id{"ai.onnx", "If", 1, 11, 13, 16, 19, 21};
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
    std::vector<TensorInfo> outputs = in.graph_outputs()[0];
    const std::vector<TensorInfo>& others = in.graph_outputs()[1];
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
        return Inferred::mismatch("the branches give different element types",
                                  static_cast<std::int64_t>(y.type),
                                  static_cast<std::int64_t>(other.type));
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

  void gradient(auto& g) const {
    auto& graph = g.graph();
    std::vector<std::size_t> arriving, wanted;
    for (std::size_t i = 0; i < g.outputs(); ++i) {
      if (g.has_dy(i)) arriving.push_back(i);
    }
    for (std::size_t i = 1; i < g.inputs(); ++i) {
      if (g.needs(i)) wanted.push_back(i);
    }
    std::vector<TensorId> inputs;
    std::vector<TensorInfo> infos;
    for (std::size_t i = 0; i < g.inputs(); ++i) inputs.push_back(g.x(i).id);
    for (const std::size_t i : arriving) inputs.push_back(g.dy(i).id);
    for (const std::size_t i : wanted) infos.push_back(g.x(i).info());

    const auto branch = [&](Subgraph forward) {
      Graph body = graph.graphs[static_cast<std::size_t>(forward.index)];
      std::vector<TensorId> outputs, gradients, captured;
      for (const std::size_t i : arriving) {
        const TensorId y = body.outputs[i];
        outputs.push_back(y);
        gradients.push_back(body.add_input(body.info(y), {}));
      }
      for (const std::size_t i : wanted) captured.push_back(body.inputs[i - 1]);
      const std::vector<TensorId> found = differentiate(body, outputs, gradients, captured);
      body.outputs.clear();
      // An output of its own: a gradient that passes through is an input of the branch.
      const auto give = [&](auto dx) { body.add_output(identity(dx).id); };
      for (std::size_t i = 0; i < found.size(); ++i) {
        give(found[i] == no_tensor ? g.zeros(body, infos[i]) : AnyTensor{&body, found[i]});
      }
      graph.graphs.push_back(std::move(body));
      return Subgraph{static_cast<std::int32_t>(graph.graphs.size()) - 1};
    };
    const If backward{.then_branch = branch(then_branch), .else_branch = branch(else_branch)};
    const std::size_t node = add_node(graph, backward, std::move(inputs), infos);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      g.dx(wanted[i]) += AnyTensor{&graph, graph.nodes[node].outputs[i]};
    }
  }
};

}  // namespace halftone::op

#endif
