// The law: a table gives the bytes that the operators give, for every byte.
#include <halftone/transform/tabulate_bytes.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/transform/dead_code.hpp>

#include "exec/fold.hpp"
#include "results.hpp"

using namespace halftone;

namespace {

AnyTensor one(Graph& g, float value) { return constant<float>(g, std::vector{value}, {}); }

template <class T>
AnyTensor dequantized(Graph& g, const AnyTensor& x, float scale, T zero) {
  return op::dequantize_linear(x, one(g, scale), constant<T>(g, std::vector<T>{zero}, {}));
}
template <class T>
AnyTensor quantized(Graph& g, const AnyTensor& x, float scale, T zero) {
  return op::quantize_linear(x, one(g, scale), constant<T>(g, std::vector<T>{zero}, {}));
}

/// A graph after the constant folding that the core does, and the pass.
Graph tabulated(Graph g) {
  kernel::Executor executor;
  REQUIRE(infer(g, &evaluate_constant, &executor).empty());
  return without_dead_code(tabulate_bytes(std::move(g), &evaluate_constant, &executor));
}

constexpr std::int64_t rows = 7, columns = 256;

/// Bytes of all values.
template <class T>
AnyTensor bytes(Graph& g) {
  return op::cast(g.input<float>("x", {rows, columns}), {.to = element_type<T>});
}

template <class T, class Build>
void check(Build&& build, std::size_t tables) {
  Graph g;
  const AnyTensor x = bytes<T>(g);
  output(g, build(g, x), "y");
  const Graph table = tabulated(g);
  CHECK(test::count(table, op::ByteTable::id) == tables);
  AnyArray given({ElementType::float32, {rows, columns}});
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    given.values<float>()[static_cast<std::size_t>(i)] =
        static_cast<float>(static_cast<T>(i % columns));
  }
  // A session would make tables itself, but for stop_at_nan, which keeps the nodes as they are.
  const auto run = [&](const Graph& graph) {
    Session session(graph, {.stop_at_nan = true});
    auto y = session.run({{"x", given}});
    const auto* const data = static_cast<const std::byte*>(y["y"].data);
    return std::vector<std::byte>(data, data + y["y"].bytes());
  };
  CHECK(run(table) == run(g));
}

}  // namespace

TEST_CASE("tabulate bytes: activations of quantized tensors are tables") {
  const auto gelu = [](Graph& g, const AnyTensor& x) {
    const AnyTensor v = dequantized<std::uint8_t>(g, x, 0.04f, 130);
    return quantized<std::int8_t>(g, op::gelu(v), 0.02f, -100);
  };
  check<std::uint8_t>(gelu, 1);
  check<std::int8_t>(
      [](Graph& g, const AnyTensor& x) {
        const AnyTensor v = dequantized<std::int8_t>(g, x, 0.1f, 3);
        const AnyTensor gate = quantized<std::uint8_t>(g, op::sigmoid(v), 1 / 255.f, 0);
        const AnyTensor product = op::mul(v, dequantized<std::uint8_t>(g, gate, 1 / 255.f, 0));
        return quantized<std::int8_t>(g, product, 0.07f, 5);
      },
      1);  // the gate has a table of its own, which nothing reads
}

TEST_CASE("tabulate bytes: functions of two tensors, of channels and of few nodes stay") {
  check<std::uint8_t>(
      [](Graph& g, const AnyTensor& x) {
        const AnyTensor other = op::cast(op::neg(g["x"]), {.to = ElementType::uint8});
        const AnyTensor sum = op::add(dequantized<std::uint8_t>(g, x, 0.1f, 3),
                                      dequantized<std::uint8_t>(g, other, 0.1f, 3));
        return quantized<std::uint8_t>(g, sum, 0.1f, 3);
      },
      0);
  check<std::uint8_t>(
      [](Graph& g, const AnyTensor& x) {
        std::vector<float> slopes(columns, 0.25f);
        slopes[3] = 2;
        const AnyTensor v = op::mul(dequantized<std::uint8_t>(g, x, 0.1f, 3),
                                    constant<float>(g, slopes, {columns}));
        return quantized<std::uint8_t>(g, v, 0.1f, 3);
      },
      0);
  check<std::uint8_t>(
      [](Graph&, const AnyTensor& x) { return op::cast(x, {.to = ElementType::int8}); }, 0);
}

TEST_CASE("tabulate bytes: long functions stay, however often they read their own values") {
  const auto doubled = [](int times) {
    return [times](Graph& g, const AnyTensor& x) {
      AnyTensor v = dequantized<std::uint8_t>(g, x, 0.5f, 0);
      for (int i = 0; i < times; ++i) v = op::add(v, v);
      return quantized<std::uint8_t>(g, v, std::ldexp(1.f, times), 0);
    };
  };
  check<std::uint8_t>(doubled(3), 1);
  check<std::uint8_t>(doubled(40), 0);  // 2^40 ways to the bytes
}
