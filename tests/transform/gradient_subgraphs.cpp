// Gradients through bodies; If, Loop and Scan have their own in tests/op/gradient_if.cpp and
// tests/op/gradient_repeat.cpp.
#include <doctest/doctest.h>

#include <vector>

#include <halftone/graph/gradient.hpp>
#include <halftone/halftone.hpp>

#include "error_of.hpp"

using namespace halftone;

namespace {

constexpr TensorInfo row{ElementType::float64, {3}};

AnyTensor formula(const AnyTensor& x, const AnyTensor& w) { return op::tanh(op::mul(x, w)); }

/// The formula twice, each time in a Call of one body or written out.
Graph twice(bool in_body) {
  Graph g, body;
  body.add_output(formula(body.input<double>("x", {3}), body.input<double>("w", {3})).id);
  const AnyTensor w = g.input<double>("w", {3});
  AnyTensor y = g.input<double>("x", {3});
  for (int i = 0; i < 2; ++i) {
    if (!in_body) {
      y = formula(y, w);
      continue;
    }
    const std::size_t n = g.add_node(descriptor<op::Call>, pack(op::Call{.callee = {0}}),
                                     {y.id, w.id}, {&row, 1}, {});
    y = {&g, g.nodes[n].outputs[0]};
  }
  if (in_body) g.graphs.push_back(std::move(body));
  const AnyTensor loss = op::sum(y, none, {.keepdims = 0});
  const std::vector<TensorId> wanted = g.inputs;
  g.outputs = differentiate(g, loss.id, wanted);
  return g;
}

}  // namespace

// The law: the gradient of a Call is that of its body in its place, bit for bit.
TEST_CASE("gradient of subgraphs: a body has the gradient that its nodes have in its place") {
  Engine plain(twice(false)), called(twice(true));
  const Array<double> w({3}, {0.5, -1, 2}), x({3}, {0.1, 0.2, -0.3});
  const std::vector<AnyView> in{w, x};
  plain.run(in);
  called.run(in);
  for (std::size_t o = 0; o < 2; ++o) {
    const std::span<const double> a = plain.output(o).values<double>(),
                                  b = called.output(o).values<double>();
    for (std::size_t i = 0; i < 3; ++i) CHECK(a[i] == b[i]);
  }
}
