#include "gradient_check.hpp"

using namespace gradient_test;

TEST_CASE("gradient of Clip with either limit left out") {
  const Array<double> x = apart({12}, 0.3), lower({}, {-0.7}), upper({}, {0.8});
  const auto limit = [](Graph& g, const Array<double>& v) {
    return constant(g, std::span<const double>(&v[0], 1), Dims{});
  };
  check_gradients({x}, [](Graph&, auto& in) { return op::clip(in[0]); });
  check_gradients({x}, [&](Graph& g, auto& in) { return op::clip(in[0], limit(g, lower)); });
  check_gradients({x}, [&](Graph& g, auto& in) { return op::clip(in[0], none, limit(g, upper)); });
  check_gradients(
      {x}, [&](Graph& g, auto& in) { return op::clip(in[0], limit(g, lower), limit(g, upper)); });
}

TEST_CASE("gradient of Pow whose exponent has another type") {
  const Array<double> x = scattered({2, 3}, 0.5, 2), y = scattered({3}, -2, 2);
  check_gradients({x, integers({2, 3, -1})},
                  [](Graph&, auto& in) { return op::pow(in[0], in[1]); });
  check_gradients({x, y}, [](Graph&, auto& in) { return op::pow(in[0], in[1]); });
  // The base is rounded to float here, which both the gradient and its central difference show.
  check_gradients({x, y},
                  [](Graph&, auto& in) {
                    return op::pow(op::cast(in[0], {.to = ElementType::float32}), in[1]);
                  },
                  {.tolerance = 2e-2, .step = 1e-2});
}
