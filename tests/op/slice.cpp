#include <halftone/op/slice.hpp>

#include <algorithm>

#include "movement.hpp"

using namespace run_op_test;

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();

/// The positions that the specification names: starts are clamped to [0, extent] ([0, extent - 1]
/// if the step is negative), ends to [0, extent] ([-1, extent - 1]).
std::vector<std::int64_t> positions(std::int64_t extent, std::int64_t start, std::int64_t end,
                                    std::int64_t step) {
  const auto clamp = [&](std::int64_t i, std::int64_t low, std::int64_t high) {
    if (i < 0) i += extent;
    return std::min(std::max(i, low), high);
  };
  std::vector<std::int64_t> all;
  const std::int64_t first = clamp(start, 0, step > 0 ? extent : extent - 1);
  const std::int64_t last = step > 0 ? clamp(end, 0, extent) : clamp(end, -1, extent - 1);
  for (std::int64_t i = first; step > 0 ? i < last : i > last; i += step) {
    all.push_back(i);
    if (step > extent || step < -extent) break;
  }
  return all;
}

template <class T>
void check_slice(const Dims& shape, std::vector<std::int64_t> starts,
                 std::vector<std::int64_t> ends, std::vector<std::int64_t> axes,
                 std::vector<std::int64_t> steps, const halftone::kernel::Executor& executor = {}) {
  const Array<T> x = counted<T>(shape);
  std::vector<std::vector<std::int64_t>> kept(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) kept[d] = positions(shape[d], 0, shape[d], 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = normalized_axis(axes[i], shape.size());
    kept[axis] = positions(shape[axis], starts[i], ends[i], steps[i]);
  }
  Dims expected;
  for (const auto& list : kept) expected.push_back(static_cast<std::int64_t>(list.size()));
  const Dims n{static_cast<std::int64_t>(axes.size())};
  const auto list = [&](const std::vector<std::int64_t>& values) {
    Array<std::int64_t> a(n);
    for (std::size_t i = 0; i < values.size(); ++i) a[i] = values[i];
    return a;
  };
  check_moved(run(op::Slice{}, {x, list(starts), list(ends), list(axes), list(steps)}, executor),
              expected, x, [&](Dims index) {
                for (std::size_t d = 0; d < index.size(); ++d) {
                  index[d] = kept[d][static_cast<std::size_t>(index[d])];
                }
                return index;
              });
}

}  // namespace

TEST_CASE("slice: one dimension, all starts, ends and steps") {
  for (const std::int64_t extent : {0, 1, 5}) {
    for (const std::int64_t start : {lowest, -7l, -5l, -2l, 0l, 1l, 4l, 5l, 9l, largest}) {
      for (const std::int64_t end : {lowest, -7l, -5l, -1l, 0l, 2l, 5l, 9l, largest}) {
        for (const std::int64_t step : {lowest, -3l, -2l, -1l, 1l, 2l, 7l, largest}) {
          check_slice<float>({extent}, {start}, {end}, {0}, {step});
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("slice: several dimensions", T, std::uint8_t, half, float, double) {
  check_slice<T>({4, 5, 6}, {1, 2}, {3, 5}, {0, 1}, {1, 1});
  check_slice<T>({4, 5, 6}, {1, 5}, {3, 0}, {0, 2}, {1, -1});
  check_slice<T>({4, 5, 6}, {-1, 0}, {lowest, largest}, {-3, -1}, {-1, 2});
  check_slice<T>({4, 5, 6}, {2}, {largest}, {-1}, {1});
  check_slice<T>({4, 5, 6}, {3}, {3}, {1}, {1});
  check_slice<T>({9, 33}, {-1, -1}, {lowest, lowest}, {0, 1}, {-2, -3});
}

TEST_CASE("slice: large ones are divided") {
  check_slice<float>({300, 1000}, {-1, 1}, {lowest, 999}, {0, 1}, {-1, 1}, backwards());
  check_slice<float>({300, 1000}, {0}, {largest}, {1}, {2}, backwards());
}

TEST_CASE("slice: examples of the ONNX specification, with int32 and without axes and steps") {
  const Array<float> x({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Array<std::int32_t> starts({2}, {1, 0}), ends({2}, {2, 3}), axes({2}, {0, 1}),
      steps({2}, {1, 2});
  check_equal<float>(run(op::Slice{}, {x, starts, ends, axes, steps}), {1, 2}, {5, 7});
  check_equal<float>(
      run(op::Slice{}, {x, Array<std::int32_t>({2}, {0, 1}), Array<std::int32_t>({2}, {-1, 1000})}),
      {1, 3}, {2, 3, 4});
}

TEST_CASE("slice: wrong attributes") {
  const Array<float> x({2, 4});
  const op::Slice slice;
  CHECK(reason(slice, {x, indices({0}), indices({1}), indices({2})}) == "axis is out of range");
  CHECK(reason(slice, {x, indices({0}), indices({1, 1})}) ==
        "starts, ends, axes and steps have different lengths");
  CHECK(reason(slice, {x, indices({0, 0}), indices({1, 1}), indices({0, -2})}) ==
        "a dimension is named twice");
  CHECK(reason(slice, {x, indices({0}), indices({1}), indices({1}), indices({0})}) ==
        "a step is 0");
  CHECK(reason(slice, {x, indices({0, 0, 0}), indices({1, 1, 1})}) == "axis is out of range");
}

TEST_CASE("slice: version 1 has attributes") {
  const Array<float> x({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  check_equal<float>(run_expanded<op::Slice>(
                         op::Slice_1{.starts = {0, 1}, .ends = {-1, 1000}, .axes = {0, 1}}, {x}),
                     {1, 3}, {2, 3, 4});
  check_equal<float>(run_expanded<op::Slice>(op::Slice_1{.starts = {1}, .ends = {2}}, {x}), {1, 4},
                     {5, 6, 7, 8});
}

TEST_CASE("slice: while starts are not known, neither are the extents") {
  const InputInfo in[]{{.info = {ElementType::float32, {4, 5}}},
                       {.info = {ElementType::int64, {1}}},
                       {.info = {ElementType::int64, {1}}}};
  const Inferred y = op::Slice::infer(Inputs(in, 1));
  CHECK(y.outputs[0] == TensorInfo{ElementType::float32, {dynamic, dynamic}});
}
