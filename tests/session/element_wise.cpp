#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <halftone/halftone.hpp>

using namespace halftone;

// Expected numbers: the same operations of float in a loop, which must agree to the last bit.
namespace {

/// Lengths around the vectors, tiles and tasks that element-wise groups are divided in.
const std::vector<std::int64_t> lengths{0,   1,   4,   15,   16,   17,   31,    32,
                                        33,  63,  64,  127,  128,  129,  255,   300,
                                        512, 640, 999, 1024, 1025, 4099, 32768, 40001};

float x_at(std::int64_t i) { return static_cast<float>(i % 23) * 0.37f - 4; }
float z_at(std::int64_t i) { return static_cast<float>(i % 19) * 0.21f - 1; }

Array<float> array_of(std::int64_t n, float (*at)(std::int64_t)) {
  Array<float> a({n});
  for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i)] = at(i);
  return a;
}

void check(const AnyView& found, std::int64_t n, auto expected) {
  const auto y = found.values<float>();
  REQUIRE(y.size() == static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) REQUIRE(y[static_cast<std::size_t>(i)] == expected(i));
}

}  // namespace

TEST_CASE("element-wise groups: one value through a chain, with numbers, vectors and itself") {
  for (const std::int64_t n : lengths) {
    CAPTURE(n);
    Graph g;
    const AnyTensor x = g.input<float>("x", {n}), z = g.input<float>("z", {n});
    AnyTensor y = op::relu(x * 1.5f + 0.25f) - z;  // number, number, none, vector
    y = y * y;                                     // both operands are the value
    y = z - y;                                     // the value is the second operand
    y = op::maximum(op::sqrt(op::abs(y)), 0.5f);
    output(g, y, "y");
    Session session(std::move(g));
    const auto result = session.run({{"x", array_of(n, x_at)}, {"z", array_of(n, z_at)}});
    check(result["y"], n, [](std::int64_t i) {
      const float product = x_at(i) * 1.5f;
      const float sum = product + 0.25f;
      const float value = (sum > 0 ? sum : 0) - z_at(i);
      const float square = value * value;
      return std::fmax(std::sqrt(std::fabs(z_at(i) - square)), 0.5f);
    });
  }
}

TEST_CASE("element-wise groups: values that are needed again, or are results, are kept") {
  for (const std::int64_t n : lengths) {
    CAPTURE(n);
    Graph g;
    const AnyTensor x = g.input<float>("x", {n});
    const AnyTensor a = x + 1.f;
    const AnyTensor b = a * 2.f;
    const AnyTensor c = b - x;
    const AnyTensor d = c * a;               // a is two nodes back
    const AnyTensor e = op::exp(d * 0.01f);  // no link: the chain is interrupted
    const AnyTensor f = op::relu(e - c) + b;
    output(g, c, "c");
    output(g, f, "f");
    Session session(std::move(g));
    const auto result = session.run({{"x", array_of(n, x_at)}});
    const auto c_at = [](std::int64_t i) { return (x_at(i) + 1.f) * 2.f - x_at(i); };
    check(result["c"], n, c_at);
    const auto found = result["f"].values<float>();
    for (std::int64_t i = 0; i < n; ++i) {
      const float a_i = x_at(i) + 1.f;
      const double difference = std::exp(static_cast<double>(c_at(i) * a_i * 0.01f)) - c_at(i);
      const double expected = (difference > 0 ? difference : 0) + a_i * 2.;
      REQUIRE(found[static_cast<std::size_t>(i)] == doctest::Approx(expected).epsilon(1e-6));
    }
  }
}

TEST_CASE("element-wise groups: rows, columns and limits that are left out") {
  const std::int64_t rows = 37, columns = 53;
  Graph g;
  const AnyTensor x = g.input<float>("x", {rows, columns}), row = g.input<float>("row", {columns});
  const AnyTensor column = g.input<float>("column", {rows, 1}), one = g.input<float>("one", {1, 1});
  const AnyTensor upper = g.input<float>("upper", {});
  AnyTensor y = (x + row) * column - one;
  y = op::clip(y, AnyTensor{&g, no_tensor}, upper) + 0.5f;
  output(g, y, "y");
  Session session(std::move(g));
  Array<float> data({rows, columns}), c({rows, 1});
  for (std::int64_t i = 0; i < rows * columns; ++i) data[static_cast<std::size_t>(i)] = x_at(i);
  for (std::int64_t i = 0; i < rows; ++i) c[static_cast<std::size_t>(i)] = z_at(i);
  const Array<float> number({1, 1}, {0.75f});
  const auto result = session.run({{"x", data},
                                   {"row", array_of(columns, z_at)},
                                   {"column", c},
                                   {"one", number},
                                   {"upper", Array<float>({}, {1.5f})}});
  check(result["y"], rows * columns, [&](std::int64_t i) {
    const float sum = x_at(i) + z_at(i % columns);
    const float product = sum * z_at(i / columns);
    return std::fmin(product - 0.75f, 1.5f) + 0.5f;
  });
}
