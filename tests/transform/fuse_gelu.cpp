#include <halftone/transform/fuse_gelu.hpp>

#include <doctest/doctest.h>

#include <cmath>

#include <halftone/halftone.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

/// A graph of one input whose output is `make(x)`.
template <class Make>
Graph of(Make&& make) {
  Graph g;
  output(g, AnyTensor(make(g.input<float>("x", {3, 37}))), "y");
  return g;
}
template <class Make>
std::size_t fused(Make&& make) {
  return test::count(fuse_gelu(of(make)), op::GeluErf::id);
}

}  // namespace

// The forms of PyTorch's, TensorFlow's and other exporters, and of this library's typed functions.
TEST_CASE("fuse gelu: products of x, a half and the sum in any order") {
  const float root = std::sqrt(2.f), inverse = std::sqrt(.5f);
  const auto check = [&](auto make) {
    const Graph g = of(make);
    const Graph one = fuse_gelu(Graph(g));
    CHECK(test::count(one, op::GeluErf::id) == 1);
    // Each of the two rounds five numbers up to 1, the largest x.
    test::for_each_pair(test::results(Graph(g)), test::results(one),
                        [](float p, float q) { CHECK(std::abs(p - q) <= 10 * 0x1p-24f); });
  };
  check([&](auto x) { return x * (op::erf(x / root) + 1.f) * .5f; });
  check([&](auto x) { return x * .5f * (op::erf(x / root) + 1.f); });
  check([&](auto x) { return x * ((1.f + op::erf(x * inverse)) * .5f); });
  check([&](auto x) { return (1.f + op::erf(inverse * x)) * (.5f * x); });
  check([&](auto x) { return (op::erf(x / root) + 1.f) * x / 2.f; });
}

TEST_CASE("fuse gelu: what is no gelu stays as it is") {
  const float root = std::sqrt(2.f);
  const auto sum = [&](auto x) { return op::erf(x / root) + 1.f; };
  CHECK(fused([&](auto x) { return x * sum(x) * .5f; }) == 1);
  CHECK(fused([&](auto x) { return x * sum(x) * .25f; }) == 0);
  CHECK(fused([&](auto x) { return x * sum(x); }) == 0);
  CHECK(fused([&](auto x) { return sum(x) * .5f; }) == 0);
  CHECK(fused([&](auto x) { return x * (op::erf(x / 1.5f) + 1.f) * .5f; }) == 0);
  CHECK(fused([&](auto x) { return x * (op::erf(x / root) + 2.f) * .5f; }) == 0);
  CHECK(fused([&](auto x) { return op::abs(x) * sum(x) * .5f; }) == 0);
  CHECK(fused([&](auto x) {
          const AnyTensor read_twice = sum(x);
          return x * read_twice * .5f + read_twice;
        }) == 0);
}

TEST_CASE("fuse gelu: graphs that are trained keep their operators") {
  Graph g = of([](auto x) { return x * .5f * (op::erf(x * std::sqrt(.5f)) + 1.f); });
  g.nodes[0].place.part = Part::backward;
  CHECK(test::count(fuse_gelu(g), op::GeluErf::id) == 0);
}
