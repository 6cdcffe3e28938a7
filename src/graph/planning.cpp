#include <halftone/graph/planning.hpp>

#include <algorithm>
#include <string>

#include "base/describe.hpp"

namespace halftone {

bool is_planned(std::string_view op) {
  constexpr std::string_view products[] = {
      "Conv", "ConvTranspose", "ConvWeightGradient", "Gemm", "GRU",
      "LSTM", "MatMul",        "MultiConv",          "RNN",  "RecurrentGradient"};
  return std::find(std::begin(products), std::end(products), op) != std::end(products);
}

void set_planning(Node& node, const Planning& planning) {
  const std::string text = detail::node_text(*node.op, {});
  const float proportion = planning.available_memory_proportion;
  if ((proportion != 0 || planning.partials != ElementType::undefined) &&
      !is_planned(node.op->id.name)) {
    fail(ErrorKind::usage,
         {.what = "the operator is no product: nothing is planned for it", .node = text});
  }
  if (!(proportion >= 0 && proportion <= 1)) {
    fail(ErrorKind::usage, {.what = "the available memory proportion is out of range",
                            .node = text,
                            .expected = "above 0, up to 1",
                            .found = std::to_string(proportion)});
  }
  if (planning.partials != ElementType::undefined && planning.partials != ElementType::float32 &&
      planning.partials != ElementType::float16) {
    fail(ErrorKind::usage,
         {.what = "the type of partial sums is neither float nor float16", .node = text});
  }
  set_ipu(node, planning.ipu);
  node.planning = planning;
}

void set_ipu(Node& node, std::int32_t ipu) {
  if (ipu < -1 || ipu >= most_ipus) {
    const std::string text = detail::node_text(*node.op, {});
    fail(ErrorKind::usage, {.what = "the number of a node's IPU is out of range",
                            .node = text,
                            .expected = "0 to 63, or -1 for any",
                            .found = std::to_string(ipu)});
  }
  node.planning.ipu = ipu;
}

void inherit_planning(Node& node, const Planning& planning) {
  node.planning.ipu = planning.ipu;
  if (is_planned(node.op->id.name)) node.planning = planning;
}

}  // namespace halftone
