#include <halftone/transform/fuse_addends.hpp>

#include <doctest/doctest.h>

#include <vector>

#include <halftone/halftone.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

AnyTensor matrix(Graph& g, const Dims& shape) {
  const TensorInfo info{ElementType::float32, shape};
  std::vector<float> values(static_cast<std::size_t>(info.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 5 % 17) / 17 - 0.3f;
  return constant<float>(g, values, shape);
}

std::size_t fused(const Graph& g) {
  return test::count(fuse_addends(Graph(g)), op::MatMulWithAddend::id);
}

}  // namespace

// The sum is rounded, then the addend is added, as the two operators do: vectors, small and packed
// products, rows and columns that fill no tile, more terms than one pass over them takes.
TEST_CASE("fuse addends: a bias and a tensor beside a product give the same bits") {
  for (const auto& [x, n] : {std::pair<Dims, std::int64_t>{{1, 40}, 33},
                             {{3, 5, 24}, 16},
                             {{5, 24}, 1},
                             {{2, 64, 128}, 128},
                             {{61, 70}, 259},
                             {{97, 2100}, 70}}) {
    CAPTURE(n);
    Dims y = x, front = x;
    y.back() = n;
    for (std::int64_t& extent : front) extent = 1;
    front.back() = n;
    for (const Dims& shape : {Dims{n}, front, y}) {
      for (const bool is_first : {false, true}) {
        Graph g;
        const AnyTensor a = g.input<float>("a", x), c = g.input<float>("c", shape);
        const AnyTensor product = op::matmul(a, matrix(g, {x.back(), n}));
        output(g, op::tanh(is_first ? c + product : product + c), "y");
        CHECK(fused(g) == 1);
        CHECK(test::results(fuse_addends(Graph(g))) == test::results(g));
      }
    }
  }
}

TEST_CASE("fuse addends: what is read twice, broadcasts or is rounded in between stays as it is") {
  const auto with = [](auto&& make) {
    Graph g;
    output(g, AnyTensor(make(g, g.input<float>("a", {6, 8}))), "y");
    return fused(g);
  };
  CHECK(with([](Graph& g, const AnyTensor& a) {
          return op::matmul(a, matrix(g, {8, 4})) + matrix(g, {4});
        }) == 1);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          const AnyTensor y = op::matmul(a, matrix(g, {8, 4}));
          return op::relu(y) + (y + matrix(g, {4}));
        }) == 0);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          return op::matmul(a, matrix(g, {8, 4})) + matrix(g, {6, 1});
        }) == 0);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          return op::matmul(a, matrix(g, {8, 4})) + matrix(g, {1});
        }) == 0);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          return op::matmul(a, matrix(g, {8, 4})) + matrix(g, {3, 6, 4});
        }) == 0);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          return op::matmul(a, matrix(g, {2, 8, 4})) + matrix(g, {4});
        }) == 0);
  CHECK(with([](Graph& g, const AnyTensor& a) {
          const AnyTensor half = op::cast(a, {.to = ElementType::float16});
          const AnyTensor w = op::cast(matrix(g, {8, 4}), {.to = ElementType::float16});
          return op::matmul(half, w) + op::cast(matrix(g, {4}), {.to = ElementType::float16});
        }) == 0);
  Graph given;  // the product is asked for, too
  const AnyTensor product = op::matmul(given.input<float>("a", {6, 8}), matrix(given, {8, 4}));
  output(given, product, "product");
  output(given, product + matrix(given, {4}), "y");
  CHECK(fused(given) == 0);
}
