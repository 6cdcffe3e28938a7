#include <halftone/op/max_unpool.hpp>

#include <halftone/base/error.hpp>
#include <halftone/op/pool.hpp>

#include "movement.hpp"

using namespace run_op_test;
using op::MaxUnpool;

TEST_CASE_TEMPLATE("max unpool: takes max pool back", T, float, double, half) {
  const Array<T> x = scattered<T>({2, 3, 6, 8}, 1, 2);
  const op::MaxPool pool{.kernel_shape = {2, 2}, .strides = {2, 2}};
  const auto pooled = run_all(pool, {x}, 2);
  const AnyArray y = run(MaxUnpool{.kernel_shape = {2, 2}, .strides = {2, 2}}, pooled);
  CHECK(y.info() == x.info());
  // The largest elements are in their places, all others are 0.
  std::vector<double> expected(288);
  for (const std::int64_t i : pooled[1].template values<std::int64_t>()) {
    expected[static_cast<std::size_t>(i)] = doubles(x)[static_cast<std::size_t>(i)];
  }
  CHECK(doubles(y) == expected);
}

TEST_CASE("max unpool: the ONNX specification's example of a larger output") {
  const Array<float> x({1, 1, 2, 2}, {5, 6, 7, 8});
  const Array<std::int64_t> at({1, 1, 2, 2}, {5, 7, 13, 15});
  const MaxUnpool op{.kernel_shape = {2, 2}, .strides = {2, 2}};
  check_equal<float>(run(op, {x, at, indices({1, 1, 5, 5})}), {1, 1, 5, 5},
                     {0, 0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 8, 0, 0, 0, 0, 0, 0});
  CHECK(infer(MaxUnpool{.kernel_shape = {3, 2}, .strides = {2, 1}, .pads = {1, 0, 0, 1}}, {x, at})
            .outputs[0]
            .shape == Dims{1, 1, 4, 2});
  CHECK(run(op, {Array<float>({0, 1, 2, 2}), Array<std::int64_t>({0, 1, 2, 2})}).info().shape ==
        Dims{0, 1, 4, 4});
}

TEST_CASE("max unpool: what does not fit") {
  const Array<float> x({1, 1, 2, 2});
  const Array<std::int64_t> at({1, 1, 2, 2});
  const MaxUnpool op{.kernel_shape = {2, 2}};
  CHECK(reason(MaxUnpool{}, {x, at}) == "kernel_shape needs one number per spatial dimension");
  CHECK(reason(op, {x, Array<std::int64_t>({1, 1, 2, 3})}) ==
        "indices have another shape than the input");
  CHECK(reason(op, {x, at, indices({3, 3})}) == "output_shape needs one number per dimension");
  CHECK(reason(op, {x, at, indices({2, 1, 3, 3})}) == "output_shape is out of range");
  CHECK(reason(MaxUnpool{.kernel_shape = {1, 1}, .pads = {1, 1, 1, 1}}, {x, at}).empty());
  CHECK(reason(MaxUnpool{.kernel_shape = {1, 1}, .pads = {2, 2, 1, 1}}, {x, at}) ==
        "pads leave no output");
  for (const std::int64_t wrong : {-1, 9}) {
    const Array<std::int64_t> outside({1, 1, 2, 2}, {0, 1, 2, wrong});
    CHECK_THROWS_AS(run(op, {x, outside}), InputError);
  }
}
