#include <doctest/doctest.h>

#include <halftone/exec/engine.hpp>
#include <halftone/graph/model.hpp>
#include <halftone/op/list.hpp>

using namespace halftone;

TEST_CASE("an engine that only plans leaves large weights alone") {
  constexpr std::int64_t n = 1024;
  Graph g;
  const AnyTensor x = g.input<float>("x", Dims{1, n});
  // Nobody may read these bytes.
  const auto* nowhere = reinterpret_cast<const std::byte*>(std::uintptr_t{4096});
  Bytes weight(Storage::allocate(64), nowhere, sizeof(float) * n * n);
  const TensorId w = g.add_variable({ElementType::float32, {n, n}}, std::move(weight), "w");
  output(g, op::relu(op::matmul(x, AnyTensor{&g, w})), "y");
  Engine engine(std::move(g), {.only_plan = true});
  CHECK_THROWS_AS(engine.run({}), UsageError);
}
