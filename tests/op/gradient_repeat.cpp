#include "gradient_check.hpp"

#include <string>

#include "../error_of.hpp"

using namespace gradient_test;
using test::error_of;

namespace {

using List = std::vector<AnyTensor>;

constexpr TensorInfo row{ElementType::float64, {3}};

AnyTensor add_input(Graph& body, const TensorInfo& info) {
  return {&body, body.add_input(info, {})};
}
Subgraph add(Graph& graph, Graph body) {
  graph.graphs.push_back(std::move(body));
  return {static_cast<std::int32_t>(graph.graphs.size()) - 1};
}
List record_node(Graph& graph, const auto& op, std::vector<TensorId> inputs,
                 const std::vector<TensorInfo>& infos) {
  const std::size_t node =
      graph.add_node(descriptor<std::remove_cvref_t<decltype(op)>>, pack(op), inputs, infos);
  List y;
  for (const TensorId id : graph.nodes[node].outputs) y.push_back({&graph, id});
  return y;
}

/// A loop of so many passes: s' = tanh(s * w) + slow, slow' = slow * w / (pass + 1), and the slices
/// s * slow. w is captured. `is_copied`: the body gives the condition that it got through an Identity.
List record_loop(Graph& graph, std::int64_t passes, const List& x, bool is_copied = false) {
  Graph body;
  const AnyTensor number = add_input(body, {ElementType::int64, {}});
  const AnyTensor go = add_input(body, {ElementType::boolean, {}});
  const AnyTensor s = add_input(body, row), slow = add_input(body, row), w = add_input(body, row);
  const AnyTensor next = op::add(op::tanh(op::mul(s, w)), slow);
  const AnyTensor later =
      op::div(op::mul(slow, w), op::add(op::cast(number, {.to = ElementType::float64}), 1.));
  const AnyTensor slice = op::mul(s, slow);
  const TensorId keep_going = is_copied ? op::identity(go).id : go.id;
  body.outputs = {keep_going, next.id, later.id, w.id, slice.id};
  const Subgraph inner = add(graph, std::move(body));
  const AnyTensor most = constant<std::int64_t>(graph, std::span(&passes, 1), {});
  const bool yes = true;
  const AnyTensor first = constant<bool>(graph, std::span(&yes, 1), {});
  return record_node(graph, op::Loop{.body = inner}, {most.id, first.id, x[0].id, x[1].id, x[2].id},
                     {row, row, row, {ElementType::float64, {passes, 3}}});
}

/// The same written out, without w's output.
List record_passes(Graph& graph, std::int64_t passes, const List& x) {
  AnyTensor s = x[0], slow = x[1], stacked;
  for (std::int64_t i = 0; i < passes; ++i) {
    const AnyTensor part = op::unsqueeze(op::mul(s, slow), constant(graph, Dims{0}));
    stacked =
        i == 0 ? part : AnyTensor(op::concat(std::vector<AnyTensor>{stacked, part}, {.axis = 0}));
    s = op::add(op::tanh(op::mul(s, x[2])), slow);
    slow = op::div(op::mul(slow, x[2]), static_cast<double>(i + 1));
  }
  return {s, slow, stacked};
}

/// Scans rows forwards and columns backwards: s' = s * row + w, and the slices sin(s) * column,
/// which are stacked from the last to the first along axis 1.
List record_scan(Graph& graph, const List& x) {
  Graph body;
  const AnyTensor s = add_input(body, row), w = add_input(body, row);
  const AnyTensor by_row = add_input(body, row), by_column = add_input(body, row);
  const AnyTensor next = op::add(op::mul(s, by_row), w);
  const AnyTensor slice = op::mul(op::sin(s), by_column);
  body.outputs = {next.id, w.id, slice.id};
  const Subgraph inner = add(graph, std::move(body));
  return record_node(graph,
                     op::Scan{.body = inner,
                              .num_scan_inputs = 2,
                              .scan_input_axes = {0, -1},
                              .scan_input_directions = {0, 1},
                              .scan_output_axes = {1},
                              .scan_output_directions = {1}},
                     {x[0].id, x[1].id, x[2].id, x[3].id},
                     {row, row, {ElementType::float64, {3, 4}}});
}

}  // namespace

TEST_CASE("gradient of Loop") {
  for (const std::int64_t passes : {0, 1, 4}) {
    CAPTURE(passes);
    for (const bool is_copied : {false, true}) {
      check_gradients(
          {scattered({3}), scattered({3}, -1, 1, 2), scattered({3}, -1, 1, 3)},
          [&](Graph& graph, auto& in) { return record_loop(graph, passes, in, is_copied); });
    }
  }
}

TEST_CASE("gradient of one state of a Loop, and of what is captured alone") {
  check_gradients({scattered({3}), scattered({3}, -1, 1, 2), scattered({3}, -1, 1, 3)},
                  [&](Graph& graph, auto& in) { return record_loop(graph, 3, in)[0]; });
  check_gradients({scattered({3})}, [&](Graph& graph, auto& in) {
    const double some[] = {1, 0.5, 2};
    const AnyTensor start = constant<double>(graph, std::span(some), {3});
    return record_loop(graph, 3, {start, start, in[0]})[0];
  });
}

TEST_CASE("gradient of Scan") {
  check_gradients({scattered({3}), scattered({3}, -1, 1, 2), scattered({4, 3}, -1, 1, 3),
                   scattered({3, 4}, -1, 1, 4)},
                  [](Graph& graph, auto& in) { return record_scan(graph, in); });
}

TEST_CASE("gradient of Call") {
  check_gradients({scattered({3}), scattered({3}, -1, 1, 2)}, [](Graph& graph, auto& in) {
    Graph body;
    const AnyTensor a = add_input(body, row), b = add_input(body, row);
    body.outputs = {op::mul(op::exp(a), b).id, b.id};
    const Subgraph callee = add(graph, std::move(body));
    const List once =
        record_node(graph, op::Call{.callee = callee}, {in[0].id, in[1].id}, {row, row});
    return record_node(graph, op::Call{.callee = callee}, {once[0].id, once[1].id}, {row, row})[0];
  });
}

TEST_CASE("gradient of a Loop in a Call") {
  check_gradients({scattered({3}), scattered({3}, -1, 1, 2), scattered({3}, -1, 1, 3)},
                  [](Graph& graph, auto& in) {
                    Graph body;
                    const List x{add_input(body, row), add_input(body, row), add_input(body, row)};
                    const List y = record_loop(body, 2, x);
                    body.outputs = {y[0].id, y[1].id};
                    const Subgraph callee = add(graph, std::move(body));
                    return record_node(graph, op::Call{.callee = callee},
                                       {in[0].id, in[1].id, in[2].id}, {row, row});
                  });
}

// What is checked against central differences is a gradient itself.
TEST_CASE("gradients of gradients: of operators, Loop, Scan and Call") {
  const auto derivative = [](Graph& graph, const List& y, const List& x) {
    AnyTensor loss;
    for (const AnyTensor& t : y) {
      const AnyTensor part = op::sum(op::mul(t, t), none, {.keepdims = 0});
      loss = loss.is_absent() ? part : AnyTensor(op::add(loss, part));
    }
    std::vector<TensorId> wanted;
    for (const AnyTensor& t : x) wanted.push_back(t.id);
    List dx;
    for (const TensorId id : differentiate(graph, loss.id, wanted)) dx.push_back({&graph, id});
    return dx;
  };
  const std::vector<AnyArray> three = [] {
    std::vector<AnyArray> x;
    for (std::uint64_t i = 1; i < 4; ++i) x.push_back(scattered({3}, -1, 1, i));
    return x;
  }();
  check_gradients(three, [&](Graph& graph, auto& in) {
    return derivative(graph, record_passes(graph, 3, in), in);
  });
  check_gradients(three, [&](Graph& graph, auto& in) {
    const List y = record_loop(graph, 3, in);
    return derivative(graph, {y[0], y[1], y[3]}, in);
  });
  check_gradients({scattered({3}), scattered({3}, -1, 1, 2), scattered({4, 3}, -1, 1, 3),
                   scattered({3, 4}, -1, 1, 4)},
                  [&](Graph& graph, auto& in) {
                    const List y = record_scan(graph, in);
                    return derivative(graph, {y[0], y[2]}, in);
                  });
  check_gradients({scattered({3, 3}), scattered({3, 2}, -1, 1, 2)}, [&](Graph& graph, auto& in) {
    return derivative(graph, {op::softmax(op::matmul(in[0], in[1]), {.axis = -1})}, in);
  });
}

TEST_CASE("gradients of loops that have none") {
  const auto refused = [](std::int64_t passes, bool is_random) {
    return error_of([&] {
      Graph graph;
      const AnyTensor x{&graph, graph.add_input(row, "x")};
      Graph body;
      add_input(body, {ElementType::int64, {}});
      const AnyTensor go = add_input(body, {ElementType::boolean, {}});
      const AnyTensor s = add_input(body, row);
      AnyTensor next = op::exp(s);
      if (is_random) {
        next = op::mul(next, op::random_uniform_like(next));
      }
      body.outputs = {go.id, next.id};
      const Subgraph inner = add(graph, std::move(body));
      const TensorId most = passes > 0 ? constant<std::int64_t>(graph, std::span(&passes, 1), {}).id
                                       : graph.add_input({ElementType::int64, {}}, "M");
      const AnyTensor y =
          record_node(graph, op::Loop{.body = inner}, {most, no_tensor, x.id}, {row})[0];
      const AnyTensor loss = op::sum(y, none, {.keepdims = 0});
      differentiate(graph, loss.id, std::span(&x.id, 1));
    });
  };
  CHECK(refused(2, false) == "no error");
  CHECK(refused(0, false).starts_with("unsupported"));
  CHECK(refused(0, false).find("number of passes") != std::string::npos);
  CHECK(refused(2, true).find("other random numbers") != std::string::npos);
}
