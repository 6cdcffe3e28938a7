#include "cli/loss.hpp"

#include <algorithm>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"

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

TensorInfo label_info_for(Loss loss, const TensorInfo& y, std::string_view output) {
  if (loss != Loss::cross_entropy) return y;
  if (y.rank() < 2) {
    fail(ErrorKind::model, {.what = "the output has no dimension for classes",
                            .tensor = output,
                            .expected = "[batch, ..., classes]",
                            .found = detail::to_text(y)});
  }
  TensorInfo label{ElementType::int32, y.shape};
  label.shape.pop_back();
  return label;
}

AnyTensor record_loss(Graph& graph, AnyTensor y, Loss loss, const TensorInfo& label_info,
                      bool of_each) {
  if (loss == Loss::own) return y;
  const AnyTensor label{&graph, graph.add_input(label_info, label_name)};
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

void hold_numbers(Graph& graph) {
  const auto hold = [&](TensorId id) {
    if (id == no_tensor) return;
    TensorRecord& t = graph.tensor(id);
    if (t.role == Role::variable && t.info.rank() == 0) t.role = Role::constant;
  };
  for (const Node& node : graph.nodes) {
    const bool has_numbers = node.op->id == op::Pow::id || node.op->id == op::Clip::id ||
                             node.op->id == op::Where::id || node.op->id == op::Max::id ||
                             node.op->id == op::Min::id;
    if (!has_numbers) continue;
    const std::size_t first = node.op->id == op::Pow::id || node.op->id == op::Clip::id ? 1 : 0;
    for (std::size_t i = first; i < node.inputs.size(); ++i) hold(node.inputs[i]);
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const std::string_view name = graph.name(static_cast<TensorId>(i));
    if (name.starts_with("val_") && name.find_first_not_of("0123456789", 4) == name.npos) {
      hold(static_cast<TensorId>(i));
    }
  }
}

}  // namespace halftone::cli
