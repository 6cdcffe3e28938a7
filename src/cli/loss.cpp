#include "cli/loss.hpp"

#include <algorithm>

#include <halftone/op/list.hpp>

namespace halftone::cli {
namespace {

/// The node that computes a tensor, null if it is no node's.
const Node* producer(const Graph& graph, TensorId id) {
  for (const Node& node : graph.nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end()) return &node;
  }
  return nullptr;
}

}  // namespace

std::optional<Loss> loss_named(std::string_view name) {
  if (name == "cross_entropy") return Loss::cross_entropy;
  if (name == "mse") return Loss::squared;
  if (name == "l1") return Loss::absolute;
  return {};
}

TensorInfo label_info_of(Loss loss, const TensorInfo& y) {
  TensorInfo label{ElementType::int32, y.shape};
  if (loss == Loss::cross_entropy) {
    label.shape.pop_back();
  } else {
    label.type = y.type;
  }
  return label;
}

AnyTensor record_loss(Graph& graph, AnyTensor y, Loss loss, const TensorInfo& info, bool of_each) {
  if (loss == Loss::own) return y;
  const AnyTensor label{&graph, graph.add_input(info, label_name)};
  if (loss == Loss::cross_entropy) {
    op::Nll nll;
    if (of_each) nll.reduction = LossReduction::no_reduction;
    const Node* const last = producer(graph, y.id);
    const bool is_probability = last != nullptr && last->op->id == op::Softmax::id;
    if (!is_probability) {
      nll.input_is_log_probability = 1;
      if (last == nullptr || !(last->op->id == op::LogSoftmax::id)) {
        y = op::log_softmax(y, {.axis = -1});
      }
    }
    return op::nll_loss(y, label, nll);
  }
  const AnyTensor difference = y - label;
  const AnyTensor size =
      loss == Loss::squared ? AnyTensor(difference * difference) : op::abs(difference);
  return of_each ? size : op::mean(size, {.keepdims = 0});
}

}  // namespace halftone::cli
