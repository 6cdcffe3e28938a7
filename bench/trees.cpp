// Trees of a random forest: rows through all trees, by the library and by the plain loop that takes
// one row after another from node to node, and the steps from node to node each does in a second.
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include <halftone/halftone.hpp>

#include "measure.hpp"

using namespace halftone;

namespace {

struct Node {
  float threshold;
  std::int32_t feature, yes, no;  // yes < 0: a leaf, whose weight is the threshold
};

/// Full trees with thresholds at random.
std::vector<std::vector<Node>> forest(int trees, int depth, int features) {
  std::uint32_t seed = 1;
  const auto random = [&] {
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
  };
  std::vector<std::vector<Node>> all(static_cast<std::size_t>(trees));
  for (auto& tree : all) {
    const std::int32_t inner = (1 << depth) - 1;
    for (std::int32_t i = 0; i < 2 * inner + 1; ++i) {
      const float number = static_cast<float>(random()) / static_cast<float>(1 << 23) - 1;
      const auto feature = static_cast<std::int32_t>(random() % static_cast<unsigned>(features));
      tree.push_back(i < inner ? Node{number, feature, 2 * i + 1, 2 * i + 2}
                               : Node{number, 0, -1, -1});
    }
  }
  return all;
}

template <class T>
AnyTensor list(Graph& graph, const std::vector<T>& values) {
  return constant(graph, std::span<const T>(values),
                  Dims{static_cast<std::int64_t>(values.size())});
}

Graph graph_of(const std::vector<std::vector<Node>>& forest, int rows, int features) {
  std::vector<std::int64_t> trees, numbers, feature, yes, no, leaf_trees, leaves, targets;
  std::vector<std::uint8_t> modes;
  std::vector<float> values, weights;
  for (std::size_t t = 0; t < forest.size(); ++t) {
    for (std::size_t i = 0; i < forest[t].size(); ++i) {
      const Node& node = forest[t][i];
      trees.push_back(static_cast<std::int64_t>(t));
      numbers.push_back(static_cast<std::int64_t>(i));
      feature.push_back(node.feature);
      yes.push_back(node.yes);
      no.push_back(node.no);
      modes.push_back(node.yes < 0 ? 6 : 0);
      values.push_back(node.threshold);
      if (node.yes >= 0) continue;
      leaf_trees.push_back(static_cast<std::int64_t>(t));
      leaves.push_back(static_cast<std::int64_t>(i));
      targets.push_back(0);
      weights.push_back(node.threshold);
    }
  }
  Graph graph;
  const AnyTensor x = graph.input<float>("x", Dims{rows, features});
  halftone::Node node = make_node(op::TreeEnsembleRegressor{.n_targets = 1});
  const Slots& slots = slots_of<op::TreeEnsembleRegressor>;
  const auto give = [&](std::string_view name, AnyTensor tensor) {
    for (std::size_t i = 0; i < slots.inputs(); ++i) {
      if (slots.input(i).name == name) node.inputs[i] = tensor.id;
    }
  };
  node.inputs.assign(slots.inputs(), no_tensor);
  give("x", x);
  give("nodes_treeids", list(graph, trees));
  give("nodes_nodeids", list(graph, numbers));
  give("nodes_featureids", list(graph, feature));
  give("nodes_truenodeids", list(graph, yes));
  give("nodes_falsenodeids", list(graph, no));
  give("nodes_modes", list(graph, modes));
  give("nodes_values", list(graph, values));
  give("target_treeids", list(graph, leaf_trees));
  give("target_nodeids", list(graph, leaves));
  give("target_ids", list(graph, targets));
  give("target_weights", list(graph, weights));
  node.outputs = {graph.add_tensor({.info = {ElementType::float32, {rows, 1}}}, "y")};
  graph.add_output(node.outputs[0]);
  graph.nodes.push_back(std::move(node));
  return graph;
}

void plain(const std::vector<std::vector<Node>>& forest, const float* x, int rows, int features,
           float* y) {
  for (int row = 0; row < rows; ++row) {
    float sum = 0;
    for (const auto& tree : forest) {
      const Node* node = tree.data();
      while (node->yes >= 0) {
        node = tree.data() + (x[node->feature] <= node->threshold ? node->yes : node->no);
      }
      sum += node->threshold;
    }
    y[row] = sum;
    x += features;
  }
}

void measure(int trees, int depth, int rows, int features) {
  const auto all = forest(trees, depth, features);
  Array<float> x({rows, features});
  std::uint32_t seed = 3;
  for (float& v : x.values()) {
    seed = seed * 1664525 + 1013904223;
    v = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f;
  }
  std::vector<float> y(static_cast<std::size_t>(rows));
  const Graph graph = graph_of(all, rows, features);
  const double steps = 1e-9 * trees * depth * rows;
  double best[3] = {1e9, 1e9, 1e9};
  Session one(graph, {.threads = 1}), two(graph, {.threads = 2});
  std::int64_t calls[3] = {1, 1, 1};
  for (int i = 0; i < 40; ++i) {
    const double times[] = {
        bench::time_once([&] { plain(all, x.values().data(), rows, features, y.data()); },
                         calls[0]),
        bench::time_once([&] { one.run({{"x", x}}); }, calls[1]),
        bench::time_once([&] { two.run({{"x", x}}); }, calls[2])};
    for (int k = 0; k < 3; ++k) best[k] = times[k] < best[k] ? times[k] : best[k];
  }
  std::printf(
      "%5d trees of depth %2d, %5d rows  plain %7.3f ms  1 thread %7.3f ms (%.2f Gstep/s)  "
      "2 threads %7.3f ms\n",
      trees, depth, rows, 1e3 * best[0], 1e3 * best[1], steps / best[1], 1e3 * best[2]);
  std::fflush(stdout);
}

}  // namespace

int main() {
  measure(500, 8, 1000, 30);
  measure(500, 8, 1, 30);
  measure(100, 6, 1000, 30);
  measure(100, 6, 10000, 10);
  measure(50, 14, 1000, 30);
}
