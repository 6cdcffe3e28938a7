#include <halftone/halftone.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

using namespace halftone;

// An operator of which no node is recorded has a function like any other. Expected numbers follow
// from the formulas in the operators' docstrings.
TEST_CASE("functions of operators that only expand: dynamic, typed and of several outputs") {
  Graph g;
  const AnyTensor x = g.input<float>("x", Dims{2, 2});
  const auto t = input<float, Shape<2, 2>>(g, "t");
  output(g, op::einsum(x, t, {.equation = "ij,jk->ik"}), "product");
  output(g, op::square(t), "square");
  output(g, op::fmod(x, 2), "fmod");
  output(g, op::increment_mod(t, {.increment = 1, .modulus = 3}), "increment");
  output(g, op::reverse(op::detach(x), {.dimensions = {1}}), "reverse");
  output(g, op::l1_loss(x, {.lambda = 0.5f}), "l1");
  output(g, op::quantize_linear(t, 0.5f, constant<std::int8_t>(g, std::vector<std::int8_t>{1}, {})),
         "quantized");
  const std::array<AnyTensor, 3> quantized = op::dynamic_quantize_linear(x);
  output(g, op::dequantize_linear(quantized[0], quantized[1], quantized[2]), "again");
  const std::vector<AnyTensor> all = op::all_reduce(x, t);
  REQUIRE(all.size() == 2);
  output(g, all[1], "second");
  CHECK_THROWS_AS(op::einsum(x, t, {.equation = "ij,jk->il"}), Error);

  Session session(std::move(g), {.threads = 1});
  const Array<float> a({2, 2}, {1, -2, 3.5f, 4}), b({2, 2}, {0.5f, 1, -1.5f, 2});
  const Result y = session.run({{"x", a}, {"t", b}});
  const auto check = [&](const char* name, const std::vector<float>& expected) {
    CAPTURE(std::string(name));
    const auto* data = static_cast<const float*>(y[name].data);
    REQUIRE(y[name].info.type == ElementType::float32);
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(data[i] == expected[i]);
  };
  check("product", {3.5f, -3, -4.25f, 11.5f});
  check("square", {0.25f, 1, 2.25f, 4});
  check("fmod", {1, 0, 1.5f, 0});
  check("increment", {1.5f, 2, -0.5f, 0});
  check("reverse", {-2, 1, 4, 3.5f});
  check("l1", {5.25f / 4});
  check("second", {1.5f, -1, 2, 6});
  const auto* q = static_cast<const std::int8_t*>(y["quantized"].data);
  CHECK(std::vector<std::int8_t>(q, q + 4) == std::vector<std::int8_t>{2, 3, -2, 5});
  const auto* again = static_cast<const float*>(y["again"].data);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(again[i] == doctest::Approx(a[i]).epsilon(0.5 * 6 / 255));
  }
}
