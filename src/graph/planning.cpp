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
  node.planning = planning;
}

std::int16_t detail::checked_place(std::string_view what, std::int32_t number, std::int32_t most) {
  if (number < -1 || number >= most) {
    fail(ErrorKind::usage, {.what = what,
                            .expected = "0 to " + std::to_string(most - 1) + ", or -1 for any",
                            .found = std::to_string(number)});
  }
  return static_cast<std::int16_t>(number);
}

void set_ipu(Node& node, std::int32_t ipu) {
  node.place.ipu = detail::checked_place("the number of an IPU is out of range", ipu, most_ipus);
}

void inherit_planning(Node& node, const Planning& planning) {
  if (is_planned(node.op->id.name)) node.planning = planning;
}

}  // namespace halftone
