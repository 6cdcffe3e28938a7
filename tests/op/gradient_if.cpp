#include "gradient_check.hpp"

using namespace gradient_test;

namespace {

/// A branch with so many vectors of 3 as inputs, whose outputs are what f makes of them.
std::int32_t add_branch(Graph& graph, std::size_t inputs, auto&& f) {
  Graph body;
  std::vector<AnyTensor> x;
  for (std::size_t i = 0; i < inputs; ++i) {
    x.push_back({&body, body.add_input({ElementType::float64, {3}}, "c" + std::to_string(i))});
  }
  for (const AnyTensor& y : f(body, x)) body.add_output(y.id);
  graph.graphs.push_back(std::move(body));
  return static_cast<std::int32_t>(graph.graphs.size()) - 1;
}

std::vector<AnyTensor> record_if(Graph& graph, std::vector<TensorId> inputs, std::int32_t yes,
                                 std::int32_t no, std::size_t outputs) {
  const std::vector<TensorInfo> infos(outputs, TensorInfo{ElementType::float64, {3}});
  const std::size_t node =
      graph.add_node(descriptor<op::If>, pack(op::If{.then_branch = {yes}, .else_branch = {no}}),
                     std::move(inputs), infos);
  std::vector<AnyTensor> y;
  for (const TensorId id : graph.nodes[node].outputs) y.push_back({&graph, id});
  return y;
}

AnyTensor is_below(AnyTensor x, double limit) {
  return op::less(op::sum(x, none, {.keepdims = 0}), limit);
}

using List = std::vector<AnyTensor>;

}  // namespace

TEST_CASE("gradient of If") {
  for (const double limit : {-100., 100.}) {
    check_gradients(
        {scattered({3}), scattered({3}, -1, 1, 2), scattered({3}, -1, 1, 3)},
        [&](Graph& graph, auto& in) {
          // One branch does not look at the third, the other passes one on as it is.
          const std::int32_t yes = add_branch(
              graph, 3, [](Graph&, const List& x) { return List{x[0] * x[1], op::exp(x[0])}; });
          const std::int32_t no = add_branch(
              graph, 3, [](Graph&, const List& x) { return List{x[2], x[0] * x[2] * x[2]}; });
          return record_if(graph, {is_below(in[0], limit).id, in[0].id, in[1].id, in[2].id}, yes,
                           no, 2);
        });
  }
}

TEST_CASE("gradient of an If with one output that matters") {
  check_gradients({scattered({3})}, [](Graph& graph, auto& in) {
    const std::int32_t both =
        add_branch(graph, 1, [](Graph&, const List& x) { return List{op::sin(x[0]), x[0]}; });
    return record_if(graph, {is_below(in[0], 0).id, in[0].id}, both, both, 2)[0];
  });
}

TEST_CASE("gradient of an If in an If") {
  for (const double limit : {-100., 100.}) {
    check_gradients({scattered({3}), scattered({3}, -1, 1, 2)}, [&](Graph& graph, auto& in) {
      const std::int32_t yes = add_branch(graph, 2, [&](Graph& body, const List& x) {
        const std::int32_t product =
            add_branch(body, 2, [](Graph&, const List& v) { return List{v[0] * v[1] * v[1]}; });
        const std::int32_t quotient =
            add_branch(body, 2, [](Graph&, const List& v) { return List{v[0] * op::exp(v[1])}; });
        const AnyTensor twice = x[0] * 2;
        return record_if(body, {is_below(x[1], limit).id, twice.id, x[1].id}, product, quotient, 1);
      });
      const std::int32_t no =
          add_branch(graph, 2, [](Graph&, const List& x) { return List{x[0] + x[1]}; });
      return record_if(graph, {is_below(in[0], 100).id, in[0].id, in[1].id}, yes, no, 1);
    });
  }
}
