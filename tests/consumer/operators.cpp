// Operators and typed graphs without exceptions and without run-time type information.
#include <halftone/op/list.hpp>

using namespace halftone;

constexpr Graph model() {
  Graph g;
  const auto x = input<float, Shape<2, 3>>(g, "x");
  output(g, op::relu(op::matmul(x, x.transposed()) + 1), "y");
  return g;
}
static_assert(model().nodes.size() == 4);
