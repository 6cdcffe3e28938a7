#include <halftone/op/tile.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

template <class T>
void check_tile(const Dims& shape, const Dims& repeats,
                const halftone::kernel::Executor& executor = {}) {
  const Array<T> x = counted<T>(shape);
  const auto rank = static_cast<std::int64_t>(shape.size());
  Dims expected = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) expected[i] *= repeats[i];
  check_moved(run(op::Tile{}, {x, Array<std::int64_t>({rank}, repeats.span())}, executor), expected,
              x, [&](const Dims& index) {
                Dims source = index;
                for (std::size_t i = 0; i < shape.size(); ++i) source[i] %= shape[i];
                return source;
              });
}

}  // namespace

TEST_CASE_TEMPLATE("tile: y[i] = x[i mod extent]", T, std::uint8_t, half, float, double) {
  check_tile<T>({3}, {4});
  check_tile<T>({}, {});
  check_tile<T>({2, 3}, {1, 1});
  check_tile<T>({2, 3}, {2, 3});
  check_tile<T>({2, 1, 3, 2}, {2, 3, 1, 2});
  check_tile<T>({2, 3}, {0, 2});
  check_tile<T>({0, 3}, {2, 2});
  // More repeated dimensions than a box has room for.
  check_tile<T>({2, 1, 2, 3, 2, 2, 1, 2}, {2, 2, 3, 2, 2, 2, 2, 2});
}

TEST_CASE("tile: large ones are divided") {
  check_tile<float>({30, 70}, {11, 13}, backwards());
  check_tile<float>({300, 1}, {1, 700}, backwards());
}

TEST_CASE("tile: wrong repeats") {
  const Array<float> x({2, 3});
  CHECK(reason(op::Tile{}, {x, indices({1})}) == "repeats need one number per dimension");
  CHECK(reason(op::Tile{}, {x, indices({1, -1})}) == "a number of repeats is negative");
  CHECK(reason(op::Tile{}, {x, Array<std::int64_t>({1, 2})}) == "repeats are not a vector");
  const InputInfo unknown[] = {{x.info()}, {{ElementType::int64, {2}}}};
  CHECK(op::Tile::infer(Inputs(unknown, 1)).outputs[0].shape == Dims{dynamic, dynamic});
}
