// The law: updates that join gradients themselves give the bits that ReplicatedAllReduce and Update do.
#include <halftone/transform/join_updates.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include <halftone/train.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

constexpr std::int64_t rows = 5, inputs = 201, outputs = 103;

/// A layer whose weight of 81 KiB is shared out among threads, and is another one for each of two
/// groups; its bias is joined by one of them.
struct Layer {
  Graph graph;
  AnyTensor loss;

  explicit Layer(const ReplicaGrouping& grouping) {
    graph.replicas = 4;
    const auto groups = static_cast<std::size_t>(grouping.num_groups());
    std::vector<float> values(groups * inputs * outputs);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 7919 % 255) / 1024 - .125f;
    }
    const auto x = input<float, Shape<rows, inputs>>(graph, "x");
    const auto w = parameter<float, Shape<inputs, outputs>>(
        graph, "w", std::span<const float>(values), {.grouping = grouping});
    const std::vector<float> zeros(outputs);
    const auto b = parameter<float, Shape<outputs>>(graph, "b", std::span<const float>(zeros));
    loss = op::l1_loss(AnyTensor(op::matmul(x, w) + b), {.reduction = LossReduction::mean});
  }
};

template <class Optimizer>
void check(const Optimizer& optimizer, std::size_t joined) {
  for (const auto& grouping : {ReplicaGrouping(4), ReplicaGrouping(4, 2, 2)}) {
    for (const auto reduction : {AccumulationReduction::sum, AccumulationReduction::mean,
                                 AccumulationReduction::running_mean}) {
      const bool has_groups = grouping.num_groups() > 1;
      if (has_groups && reduction == AccumulationReduction::running_mean) continue;
      Layer layer(grouping);
      train(layer.graph, layer.loss, optimizer, {.reduction = reduction});
      CHECK(test::count(join_updates(layer.graph), op::JoinedUpdate::id) == joined);
      // stop_at_nan keeps the nodes as they are.
      const auto variables = [&](bool keeps, int threads) {
        Session session(Graph(layer.graph),
                        {.outputs = {layer.loss}, .threads = threads, .stop_at_nan = keeps});
        AnyArray x(TensorInfo{ElementType::float32, session.given_shape(0)});
        float value = 0;
        for (float& v : x.values<float>()) v = value = value > 1 ? value - 1.9f : value + .37f;
        for (int step = 0; step < 3; ++step) session.run({{"x", x}});
        std::string bytes;
        for (const Port& port : session.variables()) {
          const AnyView view = session.get(port.name);
          bytes.append(static_cast<const char*>(view.data), static_cast<std::size_t>(view.bytes()));
        }
        return bytes;
      };
      const std::string expected = variables(true, 1);
      CHECK(variables(false, 1) == expected);
      CHECK(variables(false, 3) == expected);
    }
  }
}

}  // namespace

TEST_CASE("join updates: joined gradients are updated with the same bits") {
  check(Sgd{}, 2);
  check(Sgd{.momentum = .9f, .weight_decay = .01f, .nesterov = true}, 2);
  check(Adam{.weight_decay = .01f}, 2);
  check(Adam{.max = true}, 2);
  check(Adaptive{.kind = AdaptiveKind::adadelta}, 2);
  check(Adam{.lamb = true}, 0);  // It needs the norms of whole weights.
}

TEST_CASE("join updates: what somebody else reads is joined for all") {
  const auto joined = [](auto&& change) {
    Layer layer{ReplicaGrouping(4)};
    train(layer.graph, layer.loss, Sgd{});
    for (std::size_t n = 0; n < layer.graph.nodes.size(); ++n) {
      if (layer.graph.nodes[n].op->id == op::ReplicatedAllReduce::id) change(layer.graph, n);
    }
    return test::count(join_updates(std::move(layer.graph)), op::JoinedUpdate::id);
  };
  CHECK(joined([](Graph&, std::size_t) {}) == 2);
  CHECK(joined([](Graph& g, std::size_t n) { g.outputs.push_back(g.nodes[n].outputs[0]); }) == 0);
  CHECK(joined([](Graph& g, std::size_t n) { g.outputs.push_back(g.nodes[n].inputs[0]); }) == 0);
  // A gradient that is read after its update would be that of all replicas where ranks join it.
  CHECK(joined([](Graph& g, std::size_t n) { op::neg(AnyTensor{&g, g.nodes[n].inputs[0]}); }) == 0);
}
