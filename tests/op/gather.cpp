#include <halftone/op/gather.hpp>

#include <halftone/base/error.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

template <class T, class I>
void check_gather(const Dims& shape, std::int64_t axis, const Array<I>& which,
                  const halftone::kernel::Executor& executor = {}) {
  const Array<T> x = counted<T>(shape);
  const std::size_t at = normalized_axis(axis, shape.size());
  const Dims& inner = which.info().shape;
  Dims expected(shape.span().first(at));
  for (const std::int64_t n : inner) expected.push_back(n);
  for (const std::int64_t n : shape.span().subspan(at + 1)) expected.push_back(n);
  check_moved(run(op::Gather{.axis = axis}, {x, which}, executor), expected, x,
              [&](const Dims& index) {
                Dims source(index.span().first(at)), picked(index.span().subspan(at, inner.size()));
                const I i = which[position(inner, picked)];
                source.push_back(i < 0 ? i + shape[at] : i);
                for (const std::int64_t n : index.span().subspan(at + inner.size())) {
                  source.push_back(n);
                }
                return source;
              });
}

}  // namespace

TEST_CASE_TEMPLATE("gather: every axis, both index types", T, std::uint8_t, half, float, double) {
  const Array<std::int64_t> wide({2, 3}, {0, -1, 2, 1, -3, 0});
  const Array<std::int32_t> narrow({4}, {2, 2, 0, -2});
  const Array<std::int64_t> one({}, {1});
  for (std::int64_t axis = -3; axis < 3; ++axis) {
    check_gather<T>({3, 4, 5}, axis, wide);
    check_gather<T>({3, 4, 5}, axis, narrow);
    check_gather<T>({3, 4, 5}, axis, one);
    check_gather<T>({3, 4, 5}, axis, Array<std::int64_t>({0}));
  }
  check_gather<T>({3}, 0, one);
  check_gather<T>({3, 0}, 0, one);
}

TEST_CASE("gather: large ones are divided") {
  Array<std::int32_t> which({1000});
  for (std::size_t i = 0; i < 1000; ++i) which[i] = static_cast<std::int32_t>(i * 37 % 50);
  check_gather<float>({50, 300}, 0, which, backwards());
  check_gather<float>({300, 50}, 1, which, backwards());
}

TEST_CASE("gather: indices out of range are reported") {
  const Array<float> x({3, 2});
  for (const std::int64_t bad : {std::int64_t{3}, std::int64_t{-4}, INT64_MAX, INT64_MIN}) {
    CHECK_THROWS_AS(run(op::Gather{}, {x, indices({0, bad})}), InputError);
  }
  try {
    run(op::Gather{}, {x, indices({0, 3})});
  } catch (const InputError& e) {
    CHECK(e.reason() == "an index is out of range");
    CHECK(e.expected() == "-3 to 2");
    CHECK(e.found() == "3");
  }
  CHECK_THROWS_AS(run(op::Gather{}, {Array<float>({0, 2}), indices({0})}), InputError);
}

TEST_CASE("gather: wrong shapes") {
  CHECK(reason(op::Gather{.axis = 2}, {Array<float>({3, 2}), indices({0})}) ==
        "axis is out of range");
  CHECK(reason(op::Gather{}, {Array<float>(Dims{}), indices({0})}) == "axis is out of range");
  CHECK(reason(op::Gather{}, {Array<float>({1, 1, 1, 1, 1}),
                              Array<std::int64_t>({1, 1, 1, 1, 1})}) == "too many dimensions");
  CHECK(reason(op::Gather{}, {Array<float>({3}), Array<float>({1})}) ==
        "element type is not offered");
}
