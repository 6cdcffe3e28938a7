#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include <halftone/halftone.hpp>

namespace test {

using Random = std::mt19937;
inline std::size_t below(Random& random, std::size_t count) { return random() % count; }

/// 20 nodes over matrices of 6 x 6: products, element-wise ones, views, and changes of two variables.
inline halftone::Graph random_graph(Random& random) {
  using namespace halftone;
  Graph g;
  std::vector<AnyTensor> made{g.input<float>("x", {6, 6}), g.input<float>("z", {6, 6})};
  std::vector<AnyTensor> variables;
  for (const char* name : {"v", "w"}) {
    std::vector<float> values(36);
    for (float& value : values) value = static_cast<float>(below(random, 100)) / 100;
    variables.push_back(parameter<float, Shape<6, 6>>(g, name, values));
    made.push_back(variables.back());
  }
  const auto any = [&] { return made[below(random, made.size())]; };
  for (int i = 0; i < 20; ++i) {
    switch (below(random, 8)) {
      case 0:
        made.push_back(op::matmul(any(), any()));
        break;
      case 1:
        made.push_back(op::softmax(any()));
        break;
      case 2:
        made.push_back(op::relu(any()));
        break;
      case 3:
        made.push_back(op::transpose(any()));
        break;
      case 4:
        made.push_back(op::tanh(any() + any()));
        break;
      case 5:
        made.push_back(op::identity(any()));
        break;
      case 6:
        made.push_back(op::reshape(op::reshape(any(), constant(g, {36})), constant(g, {6, 6})));
        break;
      default:
        made.push_back(op::copy_var_update(variables[below(random, 2)], op::sigmoid(any())));
    }
  }
  for (std::size_t i = 0; i < 3; ++i) g.add_output(made[made.size() - 1 - i].id);
  return g;
}

}  // namespace test
