#include "exec/initial.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <halftone/halftone.hpp>

#include "error_of.hpp"

using namespace halftone;

namespace {

std::vector<float> floats(const Graph& g, std::string_view name) {
  const std::span<const std::byte> bytes = g.tensor(g.find(name)).data.span();
  const auto* data = reinterpret_cast<const float*>(bytes.data());
  return {data, data + bytes.size() / sizeof(float)};
}
struct Moments {
  double mean = 0, deviation = 0;
};
Moments moments(const std::vector<float>& x) {
  Moments m;
  const auto n = static_cast<double>(x.size());
  for (const float v : x) m.mean += static_cast<double>(v) / n;
  for (const float v : x) m.deviation += std::pow(static_cast<double>(v) - m.mean, 2) / n;
  m.deviation = std::sqrt(m.deviation);
  return m;
}

}  // namespace

// The mean of n independent numbers deviates by their deviation / sqrt(n); five times that is
// passed in one of two million draws.
TEST_CASE("initial: numbers have the mean, the deviation and the range of their rule") {
  constexpr double n = 100 * 200;
  Graph g;
  parameter<float, Shape<100, 200>>(g, "normal", normal{2, -1});
  parameter<float, Shape<100, 200>>(g, "uniform", uniform{-1, 3});
  parameter<float, Shape<100, 200>>(g, "glorot");
  parameter<float, Shape<3, 2>>(g, "ones", ones);
  initialize_variables(g, 1);
  CHECK(floats(g, "ones") == std::vector<float>(6, 1));
  const auto check = [&](std::string_view name, double mean, double deviation) {
    CAPTURE(name);
    const Moments m = moments(floats(g, name));
    CHECK(std::abs(m.mean - mean) <= 5 * deviation / std::sqrt(n));
    CHECK(std::abs(m.deviation / deviation - 1) <= 5 / std::sqrt(2 * n));
  };
  check("normal", -1, 2);
  check("uniform", 1, 4 / std::sqrt(12.));
  // Glorot and Bengio 2010: a deviation of sqrt(2 / (in + out)), from limits sqrt(3) times that.
  check("glorot", 0, std::sqrt(2. / 300));
  for (const float v : floats(g, "uniform")) CHECK((v >= -1 && v < 3));
  for (const float v : floats(g, "glorot")) CHECK(std::abs(v) <= std::sqrt(6.f / 300));
}

TEST_CASE("initial: numbers follow from the seed and the name alone") {
  const auto made = [](std::vector<const char*> names, std::uint64_t seed) {
    Graph g;
    for (const char* name : names) parameter<float, Shape<40>>(g, name, normal{});
    initialize_variables(g, seed);
    return g;
  };
  const Graph ab = made({"a", "b"}, 1), ba = made({"b", "x", "a"}, 1), other = made({"a", "b"}, 2);
  CHECK(floats(ab, "a") == floats(ba, "a"));
  CHECK(floats(ab, "b") == floats(ba, "b"));
  CHECK(floats(ab, "a") != floats(ab, "b"));
  CHECK(floats(ab, "a") != floats(other, "a"));
}

TEST_CASE("initial: data stay as they are, and unknown shapes are refused") {
  Graph g;
  parameter<float, Shape<2>>(g, "data", std::vector<float>{5, 6});
  const TensorId open = g.add_variable({ElementType::float32, {1}}, Initial{}, "open");
  g.tensor(open).info.shape = {dynamic};
  const std::string error = test::error_of([&] { initialize_variables(g, 1); });
  CHECK(test::contains(error, "model: "));
  CHECK(test::contains(error, "'open'"));
  g.tensor(open).info.shape = {0};
  initialize_variables(g, 1);
  CHECK(floats(g, "data") == std::vector<float>{5, 6});
}
