#include <doctest/doctest.h>

#include <string_view>

#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>

using namespace halftone;

namespace {

/// Whether a tensor has memory of its own, which reports list by its name.
bool has_memory(const Graph& g, std::string_view name) {
  const ipu::Report r = ipu::profile(g, ipu::gc200);
  for (const ipu::Variable& v : r.variables) {
    if (v.name == name) return true;
  }
  return false;
}

}  // namespace

// The plan of the cpu (program/buffers.hpp) says what is written over what.
TEST_CASE("an element-wise result takes the memory of an operand that nobody reads any more") {
  const auto sum = [](bool keeps_a, bool keeps_b) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {64, 256});
    const AnyTensor a = op::relu(x), b = op::sigmoid(x);
    output(g, a + b, "y");
    if (keeps_a) output(g, a, "a");
    if (keeps_b) output(g, b, "b");
    return has_memory(g, "y");
  };
  CHECK_FALSE(sum(false, false));
  CHECK_FALSE(sum(true, false));
  CHECK_FALSE(sum(false, true));
  CHECK(sum(true, true));
}

TEST_CASE("a result never takes memory that a view of it reads later, or that is too small") {
  const auto behind = [](auto&& view, bool reads_later) {
    Graph g;
    const AnyTensor x = op::relu(g.input<float>("x", {64, 256}));
    const AnyTensor y = op::sigmoid(view(g, x));
    output(g, y, "y");
    if (reads_later) output(g, op::tanh(op::matmul(x, op::transpose(x)) + op::sum(y)), "z");
    return has_memory(g, "y");
  };
  const auto turned = [](Graph&, AnyTensor x) { return op::transpose(x); };
  const auto repeated = [](Graph& g, AnyTensor x) { return op::tile(x, constant(g, {4, 1})); };
  CHECK_FALSE(behind(turned, false));
  CHECK(behind(turned, true));
  CHECK(behind(repeated, false));
}

TEST_CASE("a body leaves the memory of its inputs as it is") {
  Graph g;
  const AnyTensor x = op::relu(g.input<float>("x", {64, 256}));
  Graph body;
  const AnyTensor inner{&body, body.add_input({ElementType::float32, {64, 256}}, "inner")};
  output(body, op::sigmoid(op::transpose(inner)), "in_body");
  g.graphs.push_back(std::move(body));
  op::Call call;
  call.callee.index = 0;
  const TensorInfo infos[]{{ElementType::float32, {256, 64}}};
  for (int i = 0; i < 2; ++i) {
    const std::size_t n = g.add_node(descriptor<op::Call>, pack(call), {x.id}, infos);
    g.add_output(g.nodes[n].outputs[0]);
  }
  CHECK(has_memory(g, "in_body"));
}
